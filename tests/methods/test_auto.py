"""The default method: accuracy on rows that nothing was chosen by, on every kind of model and data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_blobs
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, SVR, OneClassSVM

import svmpress
from problems import problem_of
from svmpress.decoders import Argmax, PairDAG, PairVote, pair_mask
from svmpress.formats import save_cost
from svmpress.methods import CANDIDATES, Auto, LarsSVM


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order] / 16, y[order]
    return X[:900], y[:900], X[900:], y[900:]


@pytest.fixture(scope="module")
def digits_svc(digits):
    svc = SVC(C=10, gamma=0.5).fit(*digits[:2])
    assert svc.score(*digits[2:]) > 0.98
    return svc


def rings(n: int, seed: int):
    """Three classes, one around the other."""
    rng = np.random.default_rng(seed)
    y, angle = rng.integers(0, 3, n), rng.uniform(0, 2 * np.pi, n)
    radius = 1 + y + 0.15 * rng.standard_normal(n)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), y


def noisy(n: int, seed: int, flip: float):
    """Two classes beside a wave, some labels wrong."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    y = (np.sin(2 * X[:, 0]) > 0.8 * X[:, 1]) ^ (rng.uniform(size=n) < flip)
    return X, np.where(y, "in", "out")


def surface(n: int, seed: int):
    """A regression with noise of standard deviation 0.1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    return X, np.sin(X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def rings_svc():
    X, y = rings(600, 0)
    return X, y, SVC(C=10, gamma=1.0).fit(X, y)


SHORT = Auto(work=1e9)
"""Where it is not the point how good the result is."""


def lost(source, small, X, y) -> float:
    """The accuracy (or R²) that compression costs on these rows."""
    if y.dtype.kind == "f":
        return r2_score(y, source.predict(X)) - r2_score(y, small.predict(X))
    return float(np.mean(source.predict(X) == y) - np.mean(small.predict(X) == y))


# ---------------------------------------------------------------------------------------------------------
# Accuracy
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("ratio", "points"), [(0.05, 0.02), (0.1, 0.015)])
def test_digits_keep_their_accuracy(digits, digits_svc, ratio, points):
    X, y, X_test, y_test = digits
    losses = []
    for state in (0, 1):
        result = svmpress.compress(digits_svc, X, y, ratio=ratio, random_state=state)
        assert result.model.n_vectors == int(ratio * digits_svc.support_.size + 0.5)
        losses.append(lost(digits_svc, result.model, X_test, y_test))
    assert np.mean(losses) <= points


@pytest.mark.slow
def test_it_is_far_better_than_selecting_support_vectors(digits, digits_svc):
    X, y, X_test, y_test = digits
    moved = svmpress.compress(digits_svc, X, y, ratio=0.05).model
    selected = svmpress.compress(digits_svc, ratio=0.05, method=LarsSVM("decision", refit=True)).model
    assert lost(digits_svc, selected, X_test, y_test) > lost(digits_svc, moved, X_test, y_test) + 0.1


@pytest.mark.parametrize(("vectors", "points"), [(7, 0.015), (15, 0.005)])
def test_rings_are_kept_apart(vectors, points):
    X, y = rings(600, 0)
    X_test, y_test = rings(2000, 1)
    svc = SVC(C=10, gamma=1.0).fit(X, y)
    assert svc.score(X_test, y_test) > 0.99
    small = svmpress.compress(svc, X, y, vectors=vectors).model
    assert lost(svc, small, X_test, y_test) <= points


@pytest.mark.parametrize(("ratio", "points"), [pytest.param(0.02, 0.03, marks=pytest.mark.slow), (0.05, 0.015)])
def test_wrong_labels_do_not_mislead(ratio, points):
    X, y = noisy(1000, 0, flip=0.15)
    X_test, y_test = noisy(4000, 1, flip=0.0)
    svc = SVC(C=10, gamma=1.0).fit(X, y)
    small = svmpress.compress(svc, X, y, ratio=ratio).model
    assert set(small.predict(X_test)) == {"in", "out"}
    assert lost(svc, small, X_test, y_test) <= points


@pytest.mark.parametrize(
    ("ratio", "points"), [(0.01, 0.03), pytest.param(0.05, 0.005, marks=pytest.mark.slow), (0.1, 0.002)]
)
@pytest.mark.parametrize("with_y", [True, False])
def test_a_regressor_keeps_its_r2(ratio, points, with_y):
    X, y = surface(600, 0)
    X_test, y_test = surface(1000, 1)
    svr = SVR(C=10, gamma=0.3, epsilon=0.05).fit(X, y)
    small = svmpress.compress(svr, X, y if with_y else None, ratio=ratio).model
    assert small.task == "regression"
    assert lost(svr, small, X_test, y_test) <= points
    assert r2_score(svr.predict(X_test), small.predict(X_test)) > 1 - 2 * points


@pytest.mark.slow
def test_y_wins_where_a_regressor_learned_the_noise_by_heart():
    X, y = surface(800, 0)
    y = y + 0.7 * np.random.default_rng(2).standard_normal(800)
    svr = SVR(C=100, gamma=3.0, epsilon=0.01).fit(X, y)
    result = svmpress.compress(svr, X, y, vectors=30)
    assert lost(svr, result.model, *surface(2000, 1)) < -0.1


@pytest.mark.parametrize("other", ["another regression", "other values"])
def test_y_that_cannot_judge_is_not_used(other):
    """A regression that is no SVM, whose like cannot be trained; and one of other values than those of y."""
    X, y = surface(400, 0)
    if other == "another regression":
        source, given = KernelRidge(kernel="rbf", gamma=0.3, alpha=0.1).fit(X, y), y
    else:
        source, given = SVR(C=10, gamma=0.3).fit(X, y), np.exp(y)
    result = svmpress.compress(source, X, given, vectors=20, method=SHORT)
    without = svmpress.compress(source, X, vectors=20, method=SHORT)
    assert set(result.warnings + result.notes) - set(without.warnings + without.notes)  # that is said
    np.testing.assert_array_equal(result.model.expansion.coef, without.model.expansion.coef)
    assert r2_score(source.predict(X), result.model.predict(X)) > 0.98


def test_a_one_class_svm_agrees_at_a_tenth(rng):
    X = rng.standard_normal((500, 3)) * [1, 0.5, 0.2]
    detector = OneClassSVM(nu=0.2, gamma=0.5).fit(X)
    X_test = 1.2 * rng.standard_normal((2000, 3)) * [1, 0.5, 0.2]
    small = svmpress.compress(detector, X, ratio=0.1).model
    assert small.task == "outlier"
    assert np.mean(small.predict(X_test) == detector.predict(X_test)) > 0.98
    without_rows = svmpress.compress(detector, ratio=0.1).model
    assert np.mean(without_rows.predict(X_test) == detector.predict(X_test)) > 0.93


@pytest.mark.parametrize(
    "source",
    [
        KernelRidge(kernel="laplacian", gamma=0.3, alpha=0.1),
        *(
            pytest.param(source, marks=pytest.mark.slow)
            for source in (
                KernelRidge(kernel="chi2", gamma=0.3, alpha=0.1),
                KernelRidge(kernel="poly", gamma=0.3, degree=5, coef0=1.0, alpha=0.1),
                SVR(kernel="poly", gamma=0.3, degree=5, coef0=1.0),
                SVR(kernel="sigmoid", gamma=0.1),
            )
        ),
        SVR(kernel="linear"),
    ],
    ids=lambda source: f"{type(source).__name__}-{source.kernel}",
)
def test_other_kernels_keep_their_r2(source):
    X, y = surface(300, 0)
    X_test, y_test = surface(600, 1)
    if source.kernel == "chi2":
        X, X_test = X + 3.01, X_test + 3.01  # features >= 0
    source.fit(X, y)
    small = svmpress.compress(source, X, y, ratio=0.1).model
    assert small.n_vectors < 0.11 * len(X)
    assert small.kernel.name == source.kernel
    assert lost(source, small, X_test, y_test) <= 0.01
    assert r2_score(source.predict(X_test), small.predict(X_test)) > 0.99
    if small.kernel.nonnegative:
        assert (small.expansion.vectors >= 0).all()


def test_several_targets_at_once(rng):
    X, y = surface(400, 0)
    Y = np.stack([y, X[:, 0] ** 2, np.cos(X[:, 1])], axis=1)
    ridge = KernelRidge(kernel="rbf", gamma=0.3, alpha=0.1).fit(X, Y)
    X_test = surface(500, 1)[0]
    for labels in (Y, None):
        small = svmpress.compress(ridge, X, labels, ratio=0.1, method=SHORT).model
        assert small.n_outputs == 3
        assert r2_score(ridge.predict(X_test), small.predict(X_test)) > 0.99


def test_one_vs_rest_stays_one_vs_rest():
    X, y = rings(600, 0)
    X_test, y_test = rings(2000, 1)
    rest = OneVsRestClassifier(SVC(C=10, gamma=1.0)).fit(X, y)
    result = svmpress.compress(rest, X, y, vectors=15, method=SHORT)
    assert isinstance(result.model.decoder, Argmax)
    assert lost(rest, result.model, X_test, y_test) <= 0.01


# ---------------------------------------------------------------------------------------------------------
# With less to go by
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_without_labels_and_without_rows(digits, digits_svc):
    X, _, X_test, y_test = digits
    no_labels = svmpress.compress(digits_svc, X, ratio=0.1).model
    assert lost(digits_svc, no_labels, X_test, y_test) <= 0.02
    no_rows = svmpress.compress(digits_svc, ratio=0.1).model
    assert lost(digits_svc, no_rows, X_test, y_test) <= 0.03


@pytest.mark.parametrize("form", [sparse.csr_array, lambda X: X.astype(np.float32)], ids=["csr", "float32"])
def test_sparse_and_single_precision_rows_are_as_good(form):
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(40, 0.1), size=4)  # words of four topics
    y = rng.integers(0, 4, 900)
    X = np.stack([rng.multinomial(30, topics[c]) for c in y]) / 30
    svc = SVC(C=10, gamma=2.0).fit(form(X[:500]), y[:500])
    small = svmpress.compress(svc, form(X[:500]), y[:500], vectors=12).model
    assert isinstance(small.expansion.vectors, np.ndarray)
    assert np.mean(small.predict(form(X[500:])) == y[500:]) > svc.score(form(X[500:]), y[500:]) - 0.02


@pytest.mark.slow
def test_the_order_of_the_rows_does_not_matter(rng):
    X, y = rings(600, 0)
    X_test, y_test = rings(2000, 1)
    svc = SVC(C=10, gamma=1.0).fit(X, y)
    for order in (np.argsort(y, kind="stable"), rng.permutation(600), np.argsort(X[:, 0])):
        small = svmpress.compress(svc, X[order], y[order], vectors=10).model
        assert lost(svc, small, X_test, y_test) <= 0.015


def test_fewer_rows_than_vectors_are_joined_by_those():
    X, y = rings(600, 0)
    svc = SVC(C=10, gamma=5.0).fit(X, y)
    result = svmpress.compress(svc, X[:10], y[:10], vectors=20, method=SHORT)
    assert result.model.n_vectors == 20
    assert result.notes  # that y is not used, and why
    assert np.mean(result.model.predict(X) == svc.predict(X)) > 0.97


def test_repeated_rows_do_no_harm():
    X, y = rings(300, 0)
    X_test, y_test = rings(2000, 1)
    svc = SVC(C=10, gamma=1.0).fit(X, y)
    small = svmpress.compress(svc, np.repeat(X, 4, axis=0), np.repeat(y, 4), vectors=10, method=SHORT).model
    assert lost(svc, small, X_test, y_test) <= 0.015


# ---------------------------------------------------------------------------------------------------------
# Layouts
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (4, 10))])
def test_the_libsvm_layout_needs_no_copies(digits, n_classes, tmp_path):
    X, y, X_test, y_test = (part[digits[i // 2 * 2 + 1] < n_classes] for i, part in enumerate(digits))
    svc = SVC(C=10, gamma=0.5).fit(X, y)
    result = svmpress.compress(svc, X, y, ratio=0.1, layout="libsvm")
    small = result.model
    assert isinstance(small.decoder, PairVote)
    mask = small.expansion.coef_mask
    assert mask is not None
    classes = {tuple(row) for row in pair_mask(np.arange(n_classes), n_classes).tolist()}
    assert {tuple(row) for row in mask.tolist()} <= classes
    assert save_cost(small, "libsvm") == small.n_vectors == round(0.1 * svc.support_.size)
    assert lost(svc, small, X_test, y_test) <= 0.02

    svmpress.save(small, tmp_path / "small.model")
    again = svmpress.load(tmp_path / "small.model")
    assert again.n_vectors == small.n_vectors
    np.testing.assert_array_equal(again.predict(X_test), small.predict(X_test))


@pytest.mark.slow
def test_the_shared_layout_costs_copies_and_no_mask(digits, digits_svc):
    X, y, *_ = digits
    small = svmpress.compress(digits_svc, X, y, ratio=0.03).model
    assert small.expansion.coef_mask is None
    assert save_cost(small, "libsvm") > small.n_vectors


def test_two_classes_need_no_mask_and_no_copies():
    X, y = noisy(300, 0, flip=0.1)
    small = svmpress.compress(SVC(gamma=1.0).fit(X, y), X, y, ratio=0.1, layout="libsvm", method=SHORT).model
    assert small.expansion.coef_mask is None
    assert save_cost(small, "libsvm") == small.n_vectors


@pytest.mark.slow
def test_a_class_without_vectors_is_no_trouble(digits):
    X, y, X_test, _ = digits
    X, y = X[:200], y[:200]
    small = svmpress.compress(SVC(C=10, gamma=0.5).fit(X, y), X, y, vectors=6, layout="libsvm").model
    assert small.n_vectors == 6
    assert np.isfinite(small.decision_values(X_test)).all()


def test_easy_classes_are_told_apart_whatever_the_decoder():
    X, y = make_blobs(600, 4, centers=6, cluster_std=0.5, random_state=2)
    source = svmpress.from_estimator(SVC(gamma=0.1).fit(X, y))
    for decoder in (source.decoder, PairDAG(source.classes_)):
        result = svmpress.compress(source.with_decoder(decoder), X, y, vectors=12, method=SHORT)
        assert result.model.n_outputs in (6, 15)
        assert isinstance(result.model.decoder, Argmax) == (result.model.n_outputs == 6)
        assert np.mean(result.model.predict(X) == y) > 0.98


@pytest.mark.slow
def test_classes_win_where_the_source_learned_the_noise_by_heart():
    def blobs(n, seed):
        X, y = make_blobs(n, centers=[[0, 0], [2, 0], [1, 2], [3, 2]], cluster_std=1.0, random_state=seed)
        return X, y

    X, y = blobs(800, 0)
    svc = SVC(C=1000, gamma=10).fit(X, y)
    result = svmpress.compress(svc, X, y, vectors=20)
    assert lost(svc, result.model, *blobs(4000, 1)) < -0.05
    copy = svmpress.compress(svc, X, y, vectors=20, method=Auto(copies_only=True))
    assert isinstance(copy.model.decoder, PairVote)
    assert lost(svc, result.model, *blobs(4000, 1)) < lost(svc, copy.model, *blobs(4000, 1))


@pytest.mark.slow
def test_wrong_labels_of_pairs_in_the_libsvm_layout(digits):
    X, y, X_test, y_test = digits
    wrong = np.random.default_rng(0)
    y = np.where(wrong.random(len(y)) < 0.15, wrong.integers(0, 10, len(y)), y)
    source = SVC(C=10, gamma=1.0).fit(X, y)
    result = svmpress.compress(source, X, y, ratio=0.1, layout="libsvm")
    assert save_cost(result.model, "libsvm") == result.model.n_vectors
    assert isinstance(result.model.decoder, PairVote)
    assert lost(source, result.model, X_test, y_test) < 0.0


# ---------------------------------------------------------------------------------------------------------
# The same again, and what it says
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["shared", "libsvm"])
def test_two_runs_are_bit_equal(layout):
    X, y = rings(200, 0)
    svc = SVC(C=10, gamma=1.0).fit(X, y)
    given = {"vectors": 8, "layout": layout, "method": SHORT}
    one, two = (svmpress.compress(svc, X, y, random_state=4, **given) for _ in range(2))
    for name in ("vectors", "coef", "intercept"):
        np.testing.assert_array_equal(getattr(one.model.expansion, name), getattr(two.model.expansion, name))
    assert one.model.kernel == two.model.kernel
    assert one.notes == two.notes
    assert [replace(d, seconds=0) for d in one.decisions] == [replace(d, seconds=0) for d in two.decisions]
    other = svmpress.compress(svc, X, y, random_state=5, **given)
    assert not np.array_equal(one.model.expansion.vectors, other.model.expansion.vectors)


def test_the_global_random_state_plays_no_part():
    X, y = rings(300, 0)
    svc = SVC(C=10, gamma=1.0).fit(X, y)
    results = []
    for seed in (0, 1):
        np.random.seed(seed)  # noqa: NPY002 - what a user of the old interface does
        results.append(svmpress.compress(svc, X, y, vectors=6, method=SHORT).model.expansion.vectors)
    np.testing.assert_array_equal(*results)


# ---------------------------------------------------------------------------------------------------------
# What was decided
# ---------------------------------------------------------------------------------------------------------


def test_decisions_are_records_that_agree_with_what_they_say(rings_svc):
    X, y, svc = rings_svc
    result = svmpress.compress(svc, X, y, vectors=8, method=SHORT)
    assert result.decisions
    names = [c.name for c in CANDIDATES]
    decisions = [d for d in result.decisions if d.candidate in names]
    assert [d.candidate for d in decisions] == sorted((d.candidate for d in decisions), key=names.index)
    for d in result.decisions:
        assert d.before <= 1
        assert d.after <= 1
        assert d.standard_error >= 0
        assert d.steps > 0
        assert d.seconds > 0
        assert d.after > d.before or not d.adopted  # a tie goes to the champion
        assert f"- {d}" in result.summary()
    assert "descent" in result.trace
    values = [point.value for point in result.trace["descent"]]
    assert values[-1] <= values[0]


def test_without_candidates_the_source_is_copied(rings_svc):
    X, y, svc = rings_svc
    result = svmpress.compress(svc, X, y, vectors=12, method=Auto(work=1e9, candidates=()))
    assert {d.candidate for d in result.decisions} <= {"start"}
    assert isinstance(result.model.decoder, PairVote)
    assert np.mean(result.model.predict(X) == svc.predict(X)) > 0.95


def test_copies_only_never_looks_at_y(rings_svc):
    X, y, svc = rings_svc
    way = Auto(work=1e8, copies_only=True)
    given, without, wrong = (
        svmpress.compress(svc, X, labels, vectors=8, method=way) for labels in (y, None, np.roll(y, 7))
    )
    for other in (without, wrong):
        np.testing.assert_array_equal(given.model.expansion.coef, other.model.expansion.coef)
        assert [d.after for d in given.decisions] == [d.after for d in other.decisions]


def test_a_plain_copy_keeps_its_probabilities():
    X, y = noisy(600, 0, flip=0.1)
    sigmoid = {"probA": -np.ones(1), "probB": np.zeros(1)}
    source = replace(svmpress.from_estimator(SVC(C=10, gamma=1.0).fit(X, y)), probability=sigmoid)
    copy = svmpress.compress(source, X, vectors=5, method=Auto(work=1e8, candidates=())).model
    assert copy.probability["probA"] == pytest.approx(sigmoid["probA"], rel=0.1)  # values are nearly the same
    assert svmpress.compress(source, X, y, vectors=5, method=SHORT).model.has_probability


def test_a_class_too_rare_to_be_held_out_is_told():
    X, y = make_blobs(301, centers=3, random_state=0)
    y = np.where(y == 2, 1, y)
    y[-1] = 2
    result = svmpress.compress(SVC(gamma=0.1).fit(X, y), X, y, vectors=6, method=SHORT)
    assert any("too rare" in note and note.endswith(": 2") for note in result.notes)
    assert 2 in result.model.classes_


def test_work_can_be_limited(rings_svc):
    X, y, svc = rings_svc
    X_test, y_test = rings(2000, 1)

    def iterations(work):
        result = svmpress.compress(svc, X, y, vectors=8, method=Auto(work=work))
        return sum(points[-1].iteration for points in result.trace.values()), result

    few, small = iterations(1e6)
    many, _ = iterations(1e9)
    assert few < many
    assert lost(svc, small.model, X_test, y_test) <= 0.1


def test_a_smaller_result_is_grown(rings_svc):
    X, y, svc = rings_svc
    problem = problem_of(svc, X, y)
    smaller = SHORT.run(problem, 6)
    grown = SHORT.run(problem, 9, smaller)
    assert grown.expansion.n_vectors == 9
    assert (
        np.mean(svmpress.KernelModel(grown.expansion, grown.decoder or problem.source.decoder).predict(X) == y) > 0.97
    )
