"""Search: C, gamma and size together. What it says of its model is true, whoever proposes the trials."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import accuracy_score, balanced_accuracy_score, r2_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, OneClassSVM

import svmpress
import svmpress.compression
from svmpress.errors import FormatError, InputError, MissingExtraError
from svmpress.methods import Auto
from svmpress.model import expansion_bytes
from svmpress.plots.figure2 import ring_data
from svmpress.training import held_out
from svmpress.tuning import Records, SearchStatus, default_space, draw_front
from svmpress.tuning.brief import Brief
from svmpress.tuning.goal import Goal, crossing, rising
from svmpress.tuning.proposals import Observation, propose
from svmpress.tuning.records import PROTOCOL, Point, Trial
from svmpress.tuning.space import given_space

QUICK = {"trials": 4, "finalists": 1, "sampler": "random", "method": Auto(work=1e7)}


@pytest.fixture(scope="module")
def rings():
    return ring_data(300, seed=1)


@pytest.fixture(scope="module")
def waves():
    X = np.random.default_rng(0).uniform(-3, 3, (200, 1))
    return X, 100 * np.sin(X[:, 0])


def plain(trials):
    """Return what does not depend on the clock."""
    return [(t.number, t.stage, dict(t.params), t.rows, t.source, t.curve, t.error) for t in trials]


# ---------------------------------------------------------------------------------------------------------
# Goals and curves
# ---------------------------------------------------------------------------------------------------------


def test_crossing_is_between_the_sizes_around_it():
    curve = [Point(2, 1, 0.5), Point(4, 1, 0.8), Point(8, 1, 0.7), Point(16, 1, 0.9), Point(32, 1, 0.85)]
    assert crossing(curve, 0.4) == 2
    assert 2 < crossing(curve, 0.7) < 4
    assert crossing(curve, 0.95) is None


def test_noise_is_taken_out_of_a_curve():
    curve = [Point(2, 1, 0.5), Point(4, 1, 0.8), Point(8, 1, 0.7), Point(16, 1, 0.9), Point(32, 1, 0.85)]
    scores = [p.score for p in rising(curve[::-1])]
    assert scores == pytest.approx([0.5, 0.75, 0.75, 0.875, 0.875])
    assert crossing(rising(curve), 0.8) > crossing(curve, 0.8)  # a lucky size does not pass for a small model


def test_values_and_violations():
    curve = [Point(4, 1, 0.8), Point(16, 1, 0.9)]
    assert Goal(min_accuracy=0.85).observed(curve) == (pytest.approx(3.0), pytest.approx(-0.05))
    assert Goal(min_accuracy=0.95).observed(curve) == (pytest.approx(4.0), pytest.approx(0.05))
    assert Goal(min_accuracy=0.95).observed(curve, gain=0.05)[1] == pytest.approx(0.0)
    assert Goal(max_vectors=20).observed(curve) == (-0.9, None)


def test_shaping_keeps_feasibility_and_the_order_near_the_best():
    goal, rng = Goal(min_accuracy=0.9), np.random.default_rng(0)
    seen = [(float(v), float(c)) for v, c in zip(rng.uniform(2, 12, 50), rng.uniform(-0.1, 0.8, 50), strict=True)]
    shaped = goal.shaped(seen)
    assert [c <= 0 for _, c in shaped] == [c <= 0 for _, c in seen]
    assert np.argsort([c for _, c in shaped]).tolist() == np.argsort([c for _, c in seen]).tolist()
    best = min(v for v, c in seen if c <= 0)
    near = [i for i, (v, _) in enumerate(seen) if v < best + 3]
    assert [shaped[i][0] for i in near] == [seen[i][0] for i in near]
    top = Goal(max_vectors=5).shaped([(-0.9, None), (-0.8, None), (0.5, None)])
    assert top[0][0] == 0
    assert top[0][0] < top[1][0] < top[2][0]


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ({}, "give min_accuracy, or a limit"),
        ({"min_accuracy": 97}, "at most 1"),
        ({"min_accuracy": float("nan")}, "at most 1"),
        ({"max_vectors": 0}, "positive"),
        ({"max_vectors": 2.5}, "whole number"),
        ({"max_bytes": -1}, "positive"),
        ({"min_accuracy": 0.9, "minimise": "flops"}, "cannot minimise 'flops'"),
    ],
)
def test_goals_that_make_no_sense(goal, message, rings):
    with pytest.raises(InputError, match=message):
        svmpress.search(*rings, **goal, **QUICK)


# ---------------------------------------------------------------------------------------------------------
# The space
# ---------------------------------------------------------------------------------------------------------


def names(estimator, X, y=None, labelled=True):
    return [p.name for p in default_space(estimator, X, y, labelled=labelled)]


def test_default_spaces(rings, waves):
    X, _ = rings
    assert names(SVC(), X) == ["C", "gamma"]
    assert names(SVC(kernel="linear"), X) == ["C"]
    assert names(make_pipeline(StandardScaler(), SVC()), X) == ["svc__C", "svc__gamma"]
    assert names(OneVsRestClassifier(SVC()), X) == ["estimator__C", "estimator__gamma"]
    assert names(NuSVC(), X) == ["nu", "gamma"]
    assert names(KernelRidge(kernel="rbf"), X) == ["alpha", "gamma"]
    assert names(OneClassSVM(), X) == ["gamma"]
    assert names(OneClassSVM(), X, labelled=False) == []
    c = default_space(SVR(), *waves, labelled=True)[0]
    assert c.low < np.std(waves[1]) < c.high  # C of a regressor is on the scale of its targets


def test_gamma_is_searched_around_its_scale_after_the_scaler(rings):
    X = 1000 * rings[0]
    gamma = default_space(make_pipeline(StandardScaler(), SVC()), X, None, labelled=True)[1]
    assert gamma.low < 0.5 < gamma.high
    gamma = default_space(SVC(), X, None, labelled=True)[1]
    assert gamma.low < 1 / (2 * X.var()) < gamma.high < 0.5


def test_spaces_of_the_caller(rings):
    space = given_space(make_pipeline(StandardScaler(), SVC()), {"svc__C": (1, 10.0), "kernel": ["rbf", "poly"]})
    assert [p.name for p in space] == ["svc__C", "svc__kernel"]
    assert {space[1].at(u) for u in (0.0, 0.3, 0.6, 0.999)} == {"rbf", "poly"}
    degree = given_space(SVC(), {"degree": (2, 4)})[0]
    assert {degree.at(u) for u in np.linspace(0, 0.999, 50)} == {2, 3, 4}
    for own in (1.0, 1):
        C = given_space(SVC(C=own), {"C": (1, 1000)})[0]
        assert C.at(0.5) == pytest.approx(math.sqrt(1000))  # a range of whole numbers is no range of counts
    gamma = given_space(SVC(), {"gamma": (np.int64(1), np.int64(4))})[0]
    assert gamma.at(0.5) == pytest.approx(2.0)
    coef0 = given_space(SVC(), {"coef0": (-1.0, 1.0)})[0]
    assert coef0.at(0.5) == 0
    for wrong, message in (
        ({"D": (1, 2)}, "no parameter 'D'"),
        ({"C": (2.0, 1.0)}, "low < high"),
        ({"C": 3}, "or a list of values"),
        ({"class_weight": [None, {0: 2}]}, "numbers, texts"),
        ({"C": [1.0, float("nan")]}, "numbers, texts"),
    ):
        with pytest.raises(InputError, match=message):
            svmpress.search(*rings, min_accuracy=0.9, space=wrong, **QUICK)


# ---------------------------------------------------------------------------------------------------------
# What is returned is what was measured
# ---------------------------------------------------------------------------------------------------------


def test_the_score_is_that_of_the_compressed_model_on_rows_it_has_not_seen(rings):
    X, y = rings
    result = svmpress.search(X, y, min_accuracy=0.9, refit=False, **QUICK)
    assert result.feasible
    _, held = held_out(y, len(y), 0.2, 0)
    assert result.score == accuracy_score(y[held], result.model.predict(X[held])) >= 0.9
    assert result.held_out == held.size
    assert result.model.n_vectors == min(p.vectors for f in result.finalists for p in f.curve if p.score >= 0.9)
    assert result.model.n_vectors < result.compression.source.n_vectors / 3
    svc = SVC(**result.params).fit(np.delete(X, held, axis=0), np.delete(y, held))
    assert svc.support_.size == result.compression.source.n_vectors


def test_the_model_is_made_from_all_rows(rings):
    result = svmpress.search(*rings, min_accuracy=0.9, **QUICK)
    assert SVC(**result.params).fit(*rings).support_.size == result.compression.source.n_vectors
    assert len(result.trials) == 4
    assert len(result.finalists) == 1
    text = result.summary()
    for part in (result.status.message, "accuracy >= 0.9", f"{result.score:.4f} on 60 held-out rows", "trials"):
        assert part in text


def test_sizes_are_limited(rings):
    result = svmpress.search(*rings, max_vectors=6, **QUICK)
    assert result.model.n_vectors <= 6
    assert max(p.vectors for t in (*result.trials, *result.finalists) for p in t.curve) <= 6
    assert result.feasible
    result = svmpress.search(*rings, max_bytes=200, **QUICK)
    assert expansion_bytes(result.model.expansion) <= 200
    result = svmpress.search(*rings, min_accuracy=0.5, max_latency=1e-3, minimise="latency", **QUICK)
    assert result.feasible
    with pytest.raises(InputError, match="max_bytes=8 is too small"):
        svmpress.search(*rings, max_bytes=8, **QUICK)


@pytest.mark.parametrize("goal", [Goal(max_vectors=2), Goal(min_accuracy=0.9, max_vectors=2)], ids=str)
def test_the_svm_itself_says_nothing_about_a_limit(goal, monkeypatch):
    """Ten digits by two vectors: every SVM beats its compressions, and is above the limit."""
    X, y = load_digits(return_X_y=True)
    proposals = []

    def noted(space, seen, number, **how):
        proposals.append(seen)
        return propose(space, seen, number, **how)

    monkeypatch.setattr("svmpress.tuning.searching.propose", noted)
    limits = {"min_accuracy": goal.min_accuracy, "max_vectors": goal.max_vectors}
    result = svmpress.search(X[:400] / 16, y[:400], **limits, **QUICK)
    for trial in result.trials:
        assert trial.source.score > max(p.score for p in trial.curve)
        assert trial.source.vectors > 2
    best = [rising(t.curve)[-1] for t in result.trials]
    if goal.min_accuracy is None:
        wanted = [(-p.score, None) for p in best]
    else:
        wanted = [(math.log2(p.vectors), goal.min_accuracy - p.score) for p in best]
    for seen in proposals:
        assert [(o.value, o.violation) for o in seen] == goal.shaped(wanted[: len(seen)])
    assert len(proposals[-1]) == 3
    (finalist,) = result.finalists
    assert finalist.number == max(range(4), key=lambda i: (best[i].score, -i))
    assert result.feasible == (goal.min_accuracy is None)


def test_infeasible_is_said_and_the_closest_returned():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 2)), rng.integers(0, 2, 120)
    result = svmpress.search(X, y, min_accuracy=0.99, **QUICK)
    assert result.status is SearchStatus.INFEASIBLE
    assert "comes closest" in result.summary()
    assert result.score == max(p.score for f in result.finalists for p in f.curve) < 0.99


class Stingy:
    """A compression that is worth nothing below some size: what trials promise is too little."""

    def __init__(self, least):
        self.least = least

    def run(self, problem, m, smaller=None):
        outcome = Brief().run(problem, m)
        if m >= self.least:
            return outcome
        return replace(outcome, expansion=replace(outcome.expansion, coef=0 * outcome.expansion.coef))


def test_a_promise_that_is_not_kept_is_no_reason_to_give_up(rings):
    result = svmpress.search(*rings, min_accuracy=0.9, **(QUICK | {"method": Stingy(12)}))
    assert result.feasible
    assert 12 <= result.model.n_vectors <= 13  # to within a tenth


def test_where_no_compression_will_do_the_svm_itself_is_returned(rings):
    result = svmpress.search(*rings, min_accuracy=0.9, refit=False, **(QUICK | {"method": Stingy(10**9)}))
    assert result.feasible
    assert result.model.n_vectors == result.compression.source.n_vectors
    assert sum(len(f.curve) for f in result.finalists) <= 6  # it does not try for long


def test_cross_validation_means_over_folds(rings):
    result = svmpress.search(*rings, min_accuracy=0.8, cv=3, **QUICK)
    assert result.feasible
    assert result.held_out == 300
    assert result.trials[0].rows == 200
    with pytest.raises(InputError, match="cv must be"):
        svmpress.search(*rings, min_accuracy=0.9, cv=1, **QUICK)


def test_trials_are_sampled_and_finalists_are_not(rings):
    result = svmpress.search(*rings, min_accuracy=0.9, rows=100, **QUICK)
    assert {t.rows for t in result.trials} == {100}
    assert {t.rows for t in result.finalists} == {240}


def test_no_scaler_sees_a_row_that_judges(rings):
    X, y = rings
    _, held = held_out(y, len(y), 0.2, 0)
    mark = X[held].max() + 1000.0
    X = X.copy()
    X[held, 0] += mark  # a scaler that saw these would say so
    seen = []

    class Scaler(MaxAbsScaler):
        def fit(self, X, y=None):
            seen.append(X[:, 0].max())
            return super().fit(X, y)

    svmpress.search(X, y, estimator=make_pipeline(Scaler(), SVC()), min_accuracy=0.5, refit=False, **QUICK)
    assert len(seen) > 5
    assert max(seen) < 1000


# ---------------------------------------------------------------------------------------------------------
# Estimators
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        SVC(kernel="poly", degree=2, coef0=1.0),
        SVC(kernel="sigmoid"),
        NuSVC(),
        OneVsRestClassifier(SVC()),
        make_pipeline(StandardScaler(), SVC(class_weight="balanced")),
    ],
    ids=lambda e: type(e).__name__,
)
def test_classifiers(estimator, rings):
    result = svmpress.search(*rings, estimator=estimator, max_vectors=10, **QUICK)
    assert result.model.n_vectors <= 10
    assert result.score > (0.4 if getattr(estimator, "kernel", "") == "sigmoid" else 0.8)  # no kernel for rings
    assert set(result.model.classes_.tolist()) == {-1, 1}


def test_many_classes_with_text_labels(rings):
    X, y = rings
    text = np.where(y > 0, np.where(X[:, 0] > 0, "east", "west"), "middle")
    result = svmpress.search(X, text, min_accuracy=0.9, **QUICK)  # which no model without one of the classes reaches
    assert result.feasible
    assert set(result.model.predict(X)) == {"east", "west", "middle"}


@pytest.mark.parametrize("estimator", [SVR(), KernelRidge(kernel="laplacian")], ids=lambda e: type(e).__name__)
def test_regressors_are_judged_by_r2(estimator, waves):
    X, y = waves
    result = svmpress.search(X, y, estimator=estimator, min_accuracy=0.8, refit=False, **(QUICK | {"trials": 6}))
    assert result.feasible
    _, held = held_out(None, len(y), 0.2, 0)
    assert result.score_name == "r2"
    assert "fewest vectors with r2 >= 0.8" in result.summary()
    assert result.score == pytest.approx(r2_score(y[held], result.model.predict(X[held])))


def test_one_class(rings):
    X, _ = rings
    found = svmpress.search(X, estimator=OneClassSVM(nu=0.2), min_accuracy=0.9, refit=False, **QUICK)
    assert found.score_name == "agreement"
    assert len(found.trials) == 1  # nothing tells which gamma is better
    _, held = held_out(None, len(X), 0.2, 0)
    agreement = np.mean(found.model.predict(X[held]) == found.compression.source.predict(X[held]))
    assert found.score == agreement >= 0.9
    y = np.where(np.linalg.norm(X, axis=1) < 5, 1, -1)
    found = svmpress.search(X, y, estimator=OneClassSVM(nu=0.2), max_vectors=10, **QUICK)
    assert found.score_name == "accuracy"
    assert len({t.params["gamma"] for t in found.trials}) == 4
    with pytest.raises(InputError, match="must be 1"):
        svmpress.search(X, y + 1, estimator=OneClassSVM(), max_vectors=10, **QUICK)


def test_sparse_rows(rings):
    X, y = rings
    dense = svmpress.search(np.abs(X), y, max_vectors=5, **QUICK)
    thin = svmpress.search(sparse.csr_array(np.abs(X)), y, max_vectors=5, **QUICK)
    assert thin.model.n_vectors == dense.model.n_vectors
    assert thin.score == pytest.approx(dense.score, abs=0.1)


def test_a_setting_that_cannot_be_trained_is_a_failed_trial(rings):
    X, y = rings
    few = np.r_[np.flatnonzero(y > 0)[:15], np.flatnonzero(y < 0)]  # nu is at most twice the share of a class
    space = {"nu": (0.05, 0.9)}
    result = svmpress.search(X[few], y[few], estimator=NuSVC(), space=space, max_vectors=5, **(QUICK | {"trials": 6}))
    failed = [t for t in result.trials if t.error]
    assert failed
    assert len(failed) < 6
    assert "infeasible" in failed[0].error
    assert f"{len(failed)} of them failed" in result.summary()
    with pytest.raises(InputError, match=r"no SVM could be trained: .*infeasible"):
        svmpress.search(X[few], y[few], estimator=NuSVC(nu=0.9), space={"gamma": (0.1, 1.0)}, max_vectors=5, **QUICK)


def test_another_score(rings):
    X, y = rings
    result = svmpress.search(X, y, max_vectors=4, scoring="balanced_accuracy", refit=False, **QUICK)
    _, held = held_out(y, len(y), 0.2, 0)
    assert result.score == balanced_accuracy_score(y[held], result.model.predict(X[held]))
    result = svmpress.search(X, y, max_vectors=4, scoring=lambda true, said: float(np.mean(true == said)), **QUICK)
    assert result.score_name == "<lambda>"
    with pytest.raises(InputError, match="r2 does not score"):
        svmpress.search(X, y, max_vectors=4, scoring="r2", **QUICK)
    with pytest.raises(InputError, match="unknown scoring"):
        svmpress.search(X, y, max_vectors=4, scoring="auc", **QUICK)


def test_a_score_must_be_a_number(rings, waves, tmp_path):
    path = tmp_path / "trials.jsonl"
    for odd in (math.nan, -math.inf, None):
        with pytest.raises(InputError, match=f"on 60 held-out rows is {odd} where a finite number is needed"):
            svmpress.search(*rings, max_vectors=4, scoring=lambda true, said, odd=odd: odd, storage=path, **QUICK)
        assert not path.exists()
    X, y = waves
    for judges in ({"validation": 0.05}, {"cv": 20}):
        with pytest.raises(InputError, match="R² needs at least 2 rows to judge, not 1"):
            svmpress.search(X[:20], y[:20], estimator=SVR(), max_vectors=4, **judges, **QUICK)


def test_scalars_of_numpy_are_numbers(rings, tmp_path):
    space = {"C": list(np.array([1, 10])), "gamma": (np.float32(0.25), np.float32(2))}
    numbers = {"max_vectors": 4, "max_bytes": 999, "random_state": 0, "trials": 3, "finalists": 1, "rows": 99, "cv": 2}
    settings = {"estimator": SVC(C=np.int64(10)), "min_accuracy": 0.5, "sampler": "random", "method": Auto(work=1e7)}
    path = tmp_path / "trials.jsonl"
    odd = {name: np.int64(value) for name, value in numbers.items()} | {"min_accuracy": np.float32(0.5)}
    found = svmpress.search(*rings, storage=path, space=space, **(settings | odd))
    again = svmpress.search(*rings, storage=path, space=space, **(settings | numbers))
    assert plain(again.trials) == plain(found.trials)
    assert found.trials[0].params["C"] == 10
    share = svmpress.search(*rings, max_vectors=2, validation=np.float32(0.25), **QUICK)
    assert 70 < share.held_out < 80


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trials": 0}, "trials must be"),
        ({"finalists": 1.5}, "finalists must be"),
        ({"time_limit": 0}, "time_limit must be"),
        ({"sampler": "tpe"}, "unknown sampler"),
        ({"estimator": SVC}, "must be an estimator"),
        ({"estimator": StandardScaler()}, "no classifier"),
        ({"validation": 1.0}, "between 0 and 1"),
        ({"method": "magic"}, "unknown method"),
        ({"layout": "wide"}, "unknown layout"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_bad_arguments(change, message, rings):
    with pytest.raises(InputError, match=message):
        svmpress.search(*rings, **({"min_accuracy": 0.9} | QUICK | change))


def test_bad_labels(rings):
    X, y = rings
    for labels, message in ((y[:-1], "300 labels"), (None, "needs y"), (np.ones(300), "at least two classes")):
        with pytest.raises(InputError, match=message):
            svmpress.search(X, labels, min_accuracy=0.9, **QUICK)
    with pytest.raises(InputError, match="row 3 is not finite"):
        svmpress.search(X, np.r_[0.0, 1.0, 2.0, np.nan, y[4:]], estimator=SVR(), min_accuracy=0.9, **QUICK)


def test_the_gaussian_processes_are_never_replaced_silently(rings, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"needs optuna: pip install 'svmpress\[search\]'"):
        svmpress.search(*rings, min_accuracy=0.9, trials=2)


# ---------------------------------------------------------------------------------------------------------
# Interruptions
# ---------------------------------------------------------------------------------------------------------


class Interrupting:
    """Accuracy, until it has been asked for often enough."""

    def __init__(self, calls):
        self.left = calls

    def __call__(self, true, said):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return accuracy_score(true, said)


def test_ctrl_c_loses_nothing(rings, tmp_path):
    settings = QUICK | {"min_accuracy": 0.9, "trials": 6, "finalists": 2}
    whole = svmpress.search(*rings, scoring=Interrupting(10**9), **settings)
    path = tmp_path / "trials.jsonl"
    with pytest.raises(KeyboardInterrupt):
        svmpress.search(*rings, scoring=Interrupting(25), storage=path, **settings)
    kept = Records.load(path).trials
    assert 0 < len(kept) < 6
    assert plain(kept) == plain(whole.trials[: len(kept)])
    path.write_bytes(path.read_bytes() + b'{"number": 3, "sta')  # as a crash in the middle of a line leaves it
    again = svmpress.search(*rings, scoring=Interrupting(10**9), storage=path, **settings)
    assert plain(again.trials) == plain(whole.trials)
    assert plain(again.finalists) == plain(whole.finalists)
    np.testing.assert_array_equal(again.model.expansion.vectors, whole.model.expansion.vectors)
    more = svmpress.search(*rings, scoring=Interrupting(10**9), storage=path, **(settings | {"trials": 8}))
    assert plain(more.trials[:6]) == plain(whole.trials)
    assert len(more.trials) == 8


def test_ctrl_c_without_storage_says_where_the_trials_are(rings):
    with pytest.raises(KeyboardInterrupt) as caught:
        svmpress.search(*rings, scoring=Interrupting(12), min_accuracy=0.9, **QUICK)
    (note,) = caught.value.__notes__
    path = Path(note.split("kept in ")[1].split(": ")[0])
    assert Records.load(path).tried
    result = svmpress.search(*rings, scoring=Interrupting(10**9), min_accuracy=0.9, storage=path, **QUICK)
    assert len(result.trials) == 4
    path.unlink()


SCRIPT = """
import sys
import svmpress
import svmpress.compression
from svmpress.methods import Auto
from svmpress.plots import ring_data
svmpress.search(*ring_data(300, seed=1), min_accuracy=0.9, trials=400, finalists=1, sampler="random",
                method=Auto(work=1e7), storage=sys.argv[1])
"""


def test_a_killed_search_goes_on(rings, tmp_path):
    path = tmp_path / "trials.jsonl"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(path)])
    try:
        while process.poll() is None and (not path.exists() or path.read_bytes().count(b"\n") < 4):
            time.sleep(0.02)
        assert process.poll() is None
        with pytest.raises(InputError, match="in use by another search"):
            svmpress.search(*rings, min_accuracy=0.9, storage=path, **QUICK)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = Records.load(path).trials
    assert len(kept) >= 3
    settings = QUICK | {"trials": len(kept) + 2}
    result = svmpress.search(*rings, min_accuracy=0.9, storage=path, **settings)
    assert plain(result.trials) == plain(svmpress.search(*rings, min_accuracy=0.9, **settings).trials)


def test_another_search_is_refused(rings, tmp_path):
    X, y = rings
    path = tmp_path / "trials.jsonl"
    svmpress.search(X, y, min_accuracy=0.9, storage=path, **QUICK)
    before = path.read_bytes()
    for change, what in (
        ({"min_accuracy": 0.8}, "the goals differ"),
        ({"estimator": SVC(kernel="poly")}, "the estimators differ"),
        ({"random_state": 1}, "the seeds differ"),
    ):
        with pytest.raises(InputError, match=what):
            svmpress.search(X, y, storage=path, **({"min_accuracy": 0.9} | QUICK | change))
    with pytest.raises(InputError, match="the data differ"):
        svmpress.search(X + 1, y, min_accuracy=0.9, storage=path, **QUICK)
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["", "hello", "hello\n", "{}\n", f'{{"svmpress_search": {PROTOCOL}}}\n', "[1]\n"])
def test_a_file_of_something_else_is_not_overwritten(text, rings, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(FormatError, match="does not hold the records"):
        Records.load(path)
    if text:
        with pytest.raises(FormatError, match="does not hold the records"):
            svmpress.search(*rings, min_accuracy=0.9, storage=path, **QUICK)
        assert path.read_text() == text


def test_records_of_another_protocol(tmp_path):
    path = tmp_path / "trials.jsonl"
    path.write_text('{"svmpress_search": 99, "search": {}}\n')
    with pytest.raises(FormatError, match="another version"):
        Records.load(path)
    with pytest.raises(InputError, match="cannot read"):
        Records.load(tmp_path / "nothing")
    with pytest.raises(InputError, match="cannot write"), Records.kept(tmp_path / "no" / "folder", {}):
        pass


def test_a_disk_that_is_full_loses_no_trial(tmp_path):
    """The operating system refuses files of more than 4 kB: what was kept before can be read, and gone on with."""
    resource = pytest.importorskip("resource", reason="only Unix limits the size of files")
    path = tmp_path / "trials.jsonl"
    trial = Trial(0, "trial", {"C": 1.0}, 10, Point(50, 1, 0.9), (Point(2, 1, 0.6),), 0.1)
    before, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def fill() -> None:
        with Records.kept(path, {"data": "x" * 1000}) as records:
            for _ in range(1000):
                records.append(trial)

    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
        with pytest.raises(InputError, match=r"^cannot write .*trials.jsonl: "):
            fill()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    kept = Records.load(path).trials
    assert len(kept) > 3
    assert all(t == trial for t in kept)
    with Records.kept(path, {"data": "x" * 1000}) as records:
        assert records.trials == kept
        records.append(trial)
    assert len(Records.load(path).trials) == len(kept) + 1


def test_an_estimator_that_cannot_be_compressed_is_named(rings):
    with pytest.raises(InputError, match="LinearSVC"):
        svmpress.search(*rings, max_vectors=3, estimator=LinearSVC(), **QUICK)


def test_the_time_limit_ends_the_trials(rings):
    result = svmpress.search(*rings, min_accuracy=0.9, time_limit=1e-6, **(QUICK | {"trials": 50}))
    assert len(result.trials) == 1
    assert "the time was up after 1 trials" in result.summary()
    assert result.model.n_vectors > 0


def test_progress_shows_the_best_so_far(rings):
    calls = []
    svmpress.search(*rings, min_accuracy=0.9, progress=lambda *call: calls.append(call), **QUICK)
    trials = [(stage, done, total) for stage, done, total in calls if stage.startswith("trials")]
    assert [done for _, done, _ in trials] == [0, 1, 2, 3, 4]
    assert "nothing yet" in trials[0][0]
    assert "vectors, 0." in trials[-1][0]
    assert any(stage.startswith("finalist 1 (best") for stage, _, _ in calls)


# ---------------------------------------------------------------------------------------------------------
# Table and figure
# ---------------------------------------------------------------------------------------------------------


def test_the_table_has_every_size_of_every_trial(rings):
    result = svmpress.search(*rings, min_accuracy=0.9, **QUICK)
    table = list(csv.DictReader(io.StringIO(result.table())))
    assert len(table) == sum(len(t.whole_curve) for t in (*result.trials, *result.finalists))
    assert {(row["stage"], int(row["trial"])) for row in table} >= {("trial", i) for i in range(4)}
    for row in table:
        assert int(row["meets_goal"]) == (float(row["score"]) >= 0.9)
    assert {float(row["C"]) for row in table} == {t.params["C"] for t in result.trials}


def test_nothing_beats_the_front(rings):
    result = svmpress.search(*rings, min_accuracy=0.9, **QUICK)
    points = [(p.vectors, p.score) for t in (*result.trials, *result.finalists) for p in t.whole_curve]
    front = [(p.vectors, p.score) for p in result.front]
    assert set(front) <= set(points)
    for m, score in points:
        assert any(k <= m and s >= score for k, s in front)
    for a in front:
        assert not any(k <= a[0] and s >= a[1] and (k, s) != a for k, s in points)


def test_the_figure_is_a_function_of_the_records(rings, tmp_path):
    from PIL import Image

    path = tmp_path / "trials.jsonl"
    result = svmpress.search(*rings, min_accuracy=0.9, max_vectors=60, storage=path, **QUICK)
    for name, records in (("a.png", result), ("b.png", path), ("c.png", Records.load(path))):
        draw_front(records, tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes() == (tmp_path / "c.png").read_bytes()
    with Image.open(tmp_path / "a.png") as image:
        pixels = np.asarray(image.convert("RGB")).reshape(-1, 3)
    shade = np.abs(pixels.astype(int) - [217, 240, 234]).max(axis=1) < 6  # the green at 15 % on white
    assert 0.01 < shade.mean() < 0.9
    draw_front(path, tmp_path / "a.svg")
    assert "meets the goal" in (tmp_path / "a.svg").read_text() or "<svg" in (tmp_path / "a.svg").read_text()
    with pytest.raises(InputError, match="names no picture format"):
        draw_front(path, tmp_path / "a.txt")


def test_records_survive_json():
    trial = Trial(3, "trial", {"C": 1.5, "kernel": "rbf"}, 10, Point(7, 1, 0.9), (Point(2, 1, 0.5),), 0.1)
    assert Trial.of(json.loads(json.dumps(asdict(trial)))) == trial
    failed = Trial(3, "trial", {"nu": 0.9}, 0, None, (), 0.1, "nu is infeasible")
    assert Trial.of(json.loads(json.dumps(asdict(failed)))) == failed
    assert failed.whole_curve == ()


# ---------------------------------------------------------------------------------------------------------
# Gaussian processes
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.torch
def test_proposals_go_where_it_is_small_and_feasible():
    """The best point is on the edge of the feasible region; the best of all values lies outside of it."""
    space = given_space(SVC(), {"C": (0.01, 100.0), "gamma": (0.01, 100.0)})

    def value_and_violation(params):
        a, b = np.log10(params["C"]), np.log10(params["gamma"])
        return (a - 1) ** 2 + b**2, 0.5 - b  # least at b = 0, feasible from b = 0.5

    def best_of(sampler):
        seen = []
        for number in range(1, 15):
            params = propose(space, seen, number, sampler=sampler, seed=0)
            seen.append(Observation(params, *value_and_violation(params)))
        return min(o.value for o in seen if o.violation <= 0)

    assert best_of("gp") == pytest.approx(0.25, abs=0.05)
    assert best_of("gp") < best_of("random")


@pytest.mark.torch
def test_proposals_depend_on_their_arguments_only():
    space = given_space(SVC(), {"C": (0.1, 10.0), "kernel": ["rbf", "poly"], "degree": (2, 5)})
    seen = [
        Observation(propose(space, [], i, sampler="random", seed=0), float(i % 5), None) for i in range(1, 12)
    ]  # fmt: skip
    first = propose(space, seen, 12, sampler="gp", seed=3)
    assert first == propose(space, seen, 12, sampler="gp", seed=3)
    assert first["kernel"] in ("rbf", "poly")
    assert isinstance(first["degree"], int)


@pytest.mark.torch
def test_a_search_by_gaussian_processes_goes_on_as_it_would_have(rings, tmp_path):
    settings = QUICK | {"min_accuracy": 0.9, "trials": 11, "sampler": "gp", "rows": 150}
    whole = svmpress.search(*rings, scoring=Interrupting(10**9), **settings)
    assert whole.feasible
    path = tmp_path / "trials.jsonl"
    calls = Interrupting(10**9)
    svmpress.search(*rings, scoring=calls, **settings)
    with pytest.raises(KeyboardInterrupt):
        svmpress.search(*rings, scoring=Interrupting(10**9 - calls.left - 12), storage=path, **settings)
    assert len(Records.load(path).tried) >= 8
    again = svmpress.search(*rings, scoring=Interrupting(10**9), storage=path, **settings)
    assert plain(again.trials) == plain(whole.trials)
    assert plain(again.finalists) == plain(whole.finalists)


@pytest.mark.torch
def test_optuna_keeps_its_voice(rings):
    """A search neither talks through Optuna nor silences it for the caller."""
    code = """
    import optuna, svmpress
    from svmpress.methods import Auto
    from svmpress.plots import ring_data
    before = optuna.logging.get_verbosity()
    svmpress.search(*ring_data(200), max_vectors=4, trials=9, finalists=1, method=Auto(work=1e7))
    assert optuna.logging.get_verbosity() == before
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.mark.torch
def test_the_code_of_the_page_runs(rings, tmp_path, monkeypatch):
    page = Path(__file__).parents[2] / "docs" / "search.md"
    text = page.read_text(encoding="utf-8")
    (code,) = re.findall(r"^```py\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    monkeypatch.setitem(
        svmpress.compression.METHODS, "auto", lambda effort: Brief()
    )  # the page does not depend on how it compresses
    monkeypatch.chdir(tmp_path)
    namespace = {"svmpress": svmpress, "X": rings[0], "y": rings[1]}
    exec(compile(code.replace("0.97", "0.9"), page, "exec"), namespace)
    assert namespace["result"].feasible
    assert (tmp_path / "front.png").stat().st_size > 1000


def test_brief_is_a_method(rings):
    svc = SVC().fit(*rings)
    result = svmpress.compress(svc, *rings, vectors=8, method=Brief())
    assert result.model.n_vectors == 8
    assert np.mean(result.model.predict(rings[0]) == svc.predict(rings[0])) > 0.9
    again = svmpress.compress(svc, *rings, vectors=8, method=Brief())
    np.testing.assert_array_equal(again.model.expansion.coef, result.model.expansion.coef)
