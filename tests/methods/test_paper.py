"""The method of the paper on every kind of model, machine by machine, and where it fails."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.metrics import r2_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, SVR, OneClassSVM

import svmpress
from problems import problem_of
from svmpress.compression import Status
from svmpress.decoders import PairDAG, Sign
from svmpress.errors import InputError
from svmpress.formats import save_cost
from svmpress.kernels import RBF
from svmpress.methods import LarsSVM, Paper, share
from svmpress.objectives import ExpansionObjective, Parameters, SquaredError
from svmpress.select import SelectionStatus, lars_svm


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(600, noise=0.25, random_state=1)
    return X[:300], y[:300], X[300:], y[300:]


@pytest.fixture(scope="module")
def binary(moons):
    return SVC(C=1.0, gamma=1.0).fit(*moons[:2])


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(600, 2, centers=[[-2, 0], [2, 0], [0, 3]], cluster_std=1.2, random_state=0)
    return X[:300], np.array(["a", "b", "c"])[y[:300]], X[300:], np.array(["a", "b", "c"])[y[300:]]


@pytest.fixture(scope="module")
def three(blobs):
    return SVC(C=1.0, gamma=0.3).fit(*blobs[:2])


# ---------------------------------------------------------------------------------------------------------
# One machine
# ---------------------------------------------------------------------------------------------------------


def test_lars_alone_selects_support_vectors_with_the_coefficients_of_the_path(binary):
    outcome = LarsSVM().run(problem_of(binary), 12)
    f, S = outcome.expansion, binary.support_vectors_
    path = lars_svm(RBF(1.0), S, binary.dual_coef_[0], float(binary.intercept_[0]), 12)
    np.testing.assert_array_equal(f.vectors, S[path.order])
    np.testing.assert_array_equal(f.coef, path.at(12).coef)
    np.testing.assert_array_equal(f.intercept, binary.intercept_)
    assert outcome.path["machine"].status is SelectionStatus.COMPLETE
    assert not outcome.trace


def test_refitted_coefficients_are_those_of_least_squares(binary):
    f = LarsSVM(refit=True).run(problem_of(binary), 12).expansion
    path = lars_svm(RBF(1.0), binary.support_vectors_, binary.dual_coef_[0], float(binary.intercept_[0]), 12)
    np.testing.assert_array_equal(f.coef, path.refit(12).coef)


def test_gradient_support_vectors_start_at_lars_and_fall(binary):
    problem = problem_of(binary)
    outcome, start = Paper(max_iter=60).run(problem, 10), LarsSVM().run(problem, 10).expansion
    values = [point.value for point in outcome.trace["machine"]]
    assert values[-1] < 0.2 * values[0]
    assert all(a >= b for a, b in pairwise(values))

    S, zero = binary.support_vectors_, np.zeros(1)
    wanted = RBF(1.0).gram(S, S) @ binary.dual_coef_.T
    objective = ExpansionObjective(S, SquaredError(wanted))  # equation 10
    for f, value in ((start, values[0]), (outcome.expansion, values[-1])):
        assert objective.value_and_grad(Parameters(RBF(1.0), f.vectors, f.coef, zero)).value == pytest.approx(value)
    np.testing.assert_array_equal(outcome.expansion.intercept, binary.intercept_)


def test_no_iterations_leave_the_vectors_where_lars_found_them(binary):
    still, alone = (way.run(problem_of(binary), 10).expansion for way in (Paper(max_iter=0), LarsSVM()))
    np.testing.assert_array_equal(still.vectors, alone.vectors)
    np.testing.assert_array_equal(still.coef, alone.coef)


def test_a_binary_svm_keeps_its_accuracy_at_a_tenth(binary, moons):
    _, _, X, y = moons
    result = svmpress.compress(binary, method="paper", ratio=0.1)
    assert result.model.n_vectors == round(0.1 * binary.support_.size)
    assert np.mean(result.model.predict(X) == y) > binary.score(X, y) - 0.02
    assert np.mean(result.model.predict(X) == binary.predict(X)) > 0.95


# ---------------------------------------------------------------------------------------------------------
# Several machines
# ---------------------------------------------------------------------------------------------------------


def test_one_vs_one_of_three_classes(three, blobs):
    _, _, X, y = blobs
    result = svmpress.compress(three, method="paper", ratio=0.15)
    small = result.model
    assert small.classes_.tolist() == ["a", "b", "c"]
    assert np.mean(small.predict(X) == y) > three.score(X, y) - 0.03
    assert set(result.path) == {f"machine {pair}" for pair in ("a against b", "a against c", "b against c")}
    assert set(result.trace) == set(result.path)
    # every vector serves one machine, and its class is one of that machine's
    assert (np.count_nonzero(small.expansion.coef, axis=1) == 1).all()
    assert (small.expansion.coef_mask.sum(axis=1) == 2).all()
    assert save_cost(small, "libsvm") == small.n_vectors


def test_the_machines_share_the_vectors_by_their_numbers(three):
    result = svmpress.compress(three, method="lars", vectors=20)
    members = np.count_nonzero(result.source.expansion.coef, axis=0)
    kept = np.count_nonzero(result.model.expansion.coef, axis=0)
    np.testing.assert_array_equal(kept, share(20, members))
    assert result.model.n_vectors == kept.sum() == 20


def test_machines_are_compressed_independently(three):
    """The machine of two classes is that of an SVM with only their support vectors."""
    problem = problem_of(three)
    source, outcome = problem.source.expansion, LarsSVM().run(problem, 20)
    for p in range(3):
        members = np.flatnonzero(source.coef[:, p])
        path = lars_svm(source.kernel, source.vectors[members], source.coef[members, p], float(source.intercept[p]), 7)
        mine = np.flatnonzero(outcome.expansion.coef[:, p])
        np.testing.assert_array_equal(outcome.expansion.vectors[mine], source.vectors[members[path.order[: len(mine)]]])


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    return SVC(C=10, gamma=0.05).fit(X[:600], y[:600]), X[600:], y[600:]


def test_one_vs_one_of_ten_classes(digits):
    svc, X, y = digits
    result = svmpress.compress(svc, method=Paper(max_iter=40), ratio=0.6)
    small = result.model
    assert small.n_vectors == round(0.6 * svc.support_.size)
    assert len(result.path) == 45
    assert np.mean(small.predict(X) == y) > svc.score(X, y) - 0.03
    assert save_cost(small, "libsvm") == small.n_vectors
    eliminated = small.with_decoder(PairDAG(small.classes_))
    assert np.mean(eliminated.predict(X) == small.predict(X)) > 0.97
    assert np.mean(eliminated.predict(X) == y) > svc.score(X, y) - 0.04


def test_a_dag_source_is_compressed_and_stays_one(three, blobs):
    _, _, X, y = blobs
    source = svmpress.from_estimator(three)
    source = source.with_decoder(PairDAG(source.classes_))
    small = svmpress.compress(source, method="paper", ratio=0.15).model
    assert isinstance(small.decoder, PairDAG)
    assert np.mean(small.predict(X) == y) > three.score(X, y) - 0.03


def test_a_machine_without_vectors_answers_with_its_majority(digits):
    svc, X, _ = digits
    result = svmpress.compress(svc, method=Paper(max_iter=5), vectors=30)
    assert result.model.n_vectors == 30
    assert any("15 of 45 machines got no vector" in note for note in result.notes)
    idle = ~result.model.expansion.coef.any(axis=0)
    source = result.source.expansion
    for p in np.flatnonzero(idle):
        mean = source.decision_values(source.vectors[source.coef[:, p] != 0])[:, p].mean()
        assert result.model.expansion.intercept[p] == pytest.approx(mean)
    assert np.isfinite(result.model.decision_values(X)).all()


def test_one_vs_rest(blobs):
    X, y, X_test, y_test = blobs
    rest = OneVsRestClassifier(SVC(C=1.0, gamma=0.3)).fit(X, y)
    result = svmpress.compress(rest, method="paper", ratio=0.15)
    assert result.model.n_outputs == 3
    assert result.model.expansion.coef_mask is None
    assert set(result.path) == {"machine 0", "machine 1", "machine 2"}
    assert np.mean(result.model.predict(X_test) == y_test) > rest.score(X_test, y_test) - 0.03


# ---------------------------------------------------------------------------------------------------------
# A share of each machine
# ---------------------------------------------------------------------------------------------------------


def one_machine(source, p):
    """Return machine p of a one-vs-one model as a binary model of its own: its support vectors, and nothing else."""
    e = source.expansion
    rows = np.flatnonzero(e.coef[:, p])
    alone = replace(
        e, vectors=e.vectors[rows], coef=e.coef[rows, p : p + 1], intercept=e.intercept[[p]], coef_mask=None
    )
    return svmpress.KernelModel(alone, Sign(np.array([0, 1])))


@pytest.mark.parametrize("way", [LarsSVM(), Paper(max_iter=8)], ids=["lars", "paper"])
def test_a_share_of_each_machine_is_each_machine_compressed_by_itself(way, three, blobs):
    """The oracle takes the model apart, compresses each part as a binary SVM, and adds the answers up by hand."""
    source = svmpress.from_estimator(three)
    result = svmpress.compress(source, method=replace(way, share="per-machine"), ratio=0.2)
    ratio = round(0.2 * source.n_vectors) / source.n_vectors
    kept, values = 0, []
    for p in range(3):
        binary = one_machine(source, p)
        k = max(1, round(ratio * binary.n_vectors))
        small = svmpress.compress(binary, method=way, vectors=k).model
        kept += small.n_vectors
        values.append(small.decision_values(blobs[2])[:, 0])
    assert np.count_nonzero(result.model.expansion.coef) == result.model.n_vectors == kept > 0.2 * source.n_vectors
    np.testing.assert_allclose(result.model.decision_values(blobs[2]), np.transpose(values), rtol=1e-10, atol=1e-12)


def test_a_share_of_each_machine_of_ten_classes_costs_what_the_pairs_hold(digits):
    svc, X, y = digits
    support = (svmpress.from_estimator(svc).expansion.coef != 0).sum(axis=0)
    result = svmpress.compress(svc, method=Paper(max_iter=40, share="per-machine"), ratio=0.1)
    each = (result.model.expansion.coef != 0).sum(axis=0)
    assert np.abs(each - 0.1 * support).max() <= 1  # with none left out
    assert each.min() >= 1
    together = svmpress.compress(svc, method=Paper(max_iter=40), ratio=0.1)
    assert result.model.n_vectors == each.sum() > 2 * together.model.n_vectors
    assert any(
        f"{each.sum()} in all; the same share of all together is {together.model.n_vectors}" in note
        for note in result.notes
    )
    accuracy = [np.mean(r.model.predict(X) == y) for r in (result, together)]
    assert accuracy[0] > accuracy[1] + 0.02
    assert save_cost(result.model, "libsvm") == result.model.n_vectors


def test_with_one_machine_both_readings_are_the_same(binary):
    both = [
        svmpress.compress(binary, method=name, ratio=0.1).model.expansion for name in ("paper", "paper-per-machine")
    ]
    np.testing.assert_array_equal(both[0].vectors, both[1].vectors)
    np.testing.assert_array_equal(both[0].coef, both[1].coef)


def test_a_share_of_each_machine_is_no_size_of_the_whole(three, blobs):
    with pytest.raises(InputError, match="unknown share 'each'; choose one of together, per-machine"):
        Paper(share="each")
    for budget in ({"vectors": 9}, {"max_bytes": 10_000}, {"max_drop": 0.1}):
        with pytest.raises(InputError, match="give a ratio as the budget"):
            svmpress.compress(three, method="paper-per-machine", **budget)
    with pytest.raises(InputError, match="give a ratio as the budget"):
        svmpress.compress_path(three, sizes=[4, 9], method="paper-per-machine")
    with pytest.raises(InputError, match="give a ratio as the budget"):
        svmpress.search(*blobs[:2], max_vectors=9, method=Paper(share="per-machine"))
    svmpress.compress(three, method="paper-per-machine")  # a tenth


# ---------------------------------------------------------------------------------------------------------
# Models without labels
# ---------------------------------------------------------------------------------------------------------


def test_a_regressor(rng):
    X = rng.uniform(-3, 3, (400, 2))
    y = np.sin(X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(400)
    svr = SVR(C=10, gamma=0.3, epsilon=0.1).fit(X, y)
    rows = rng.uniform(-3, 3, (400, 2))
    for target in ("labels", "decision"):  # a regressor has no labels: both regress its values
        result = svmpress.compress(svr, method=Paper(target=target, max_iter=200), ratio=0.15)
        assert r2_score(svr.predict(rows), result.model.predict(rows)) > 0.98
        by_target = lars_svm(
            RBF(0.3), svr.support_vectors_, svr.dual_coef_[0], float(svr.intercept_[0]), 5, target="decision"
        )
        np.testing.assert_array_equal(result.path["machine"].order[:5], by_target.order)


def test_a_one_class_svm(rng):
    X = rng.standard_normal((400, 2)) * [1.0, 0.4]
    detector = OneClassSVM(nu=0.2, gamma=0.5).fit(X)
    rows = 2 * rng.standard_normal((500, 2))
    result = svmpress.compress(detector, method="paper", ratio=0.1)
    assert result.model.task == "outlier"
    assert np.mean(result.model.predict(rows) == detector.predict(rows)) > 0.95
    assert set(np.unique(result.model.predict(rows))) == {-1, 1}


@pytest.mark.torch
def test_the_same_on_torch(three):
    here, there = (
        svmpress.compress(three, method=Paper(max_iter=10), ratio=0.1, device=device) for device in ("cpu", "torch")
    )
    np.testing.assert_allclose(there.model.expansion.vectors, here.model.expansion.vectors, rtol=1e-5, atol=1e-5)
    assert isinstance(there.model.expansion.coef, np.ndarray)


# ---------------------------------------------------------------------------------------------------------
# Where the paper's own target fails
# ---------------------------------------------------------------------------------------------------------


def wrong_labels_near_the_boundary(n: int, seed: int, flip: float):
    """Two classes beside a wave; near it a tenth of the labels is wrong."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    side = X[:, 1] - 0.5 * np.sin(2 * X[:, 0])
    wrong = (np.abs(side) < 0.3) & (rng.uniform(size=n) < flip)
    return X, (side > 0) ^ wrong


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_labels_of_a_noisy_plain_hinge_svm_point_the_wrong_way(seed):
    """Right rows are soon beyond the margin and no support vectors, so that wrong labels weigh far too much."""
    X, y = wrong_labels_near_the_boundary(600, seed, flip=0.1)
    X_test, y_test = wrong_labels_near_the_boundary(2000, 100, flip=0.0)
    svc = SVC(C=100, gamma=0.3).fit(X, y)
    assert svc.score(X_test, y_test) > 0.97
    wrong = np.mean(svc.predict(svc.support_vectors_) != y[svc.support_])
    assert wrong > 2 * np.mean(svc.predict(X) != y)  # margin violators are over-represented

    def accuracy(method):
        return np.mean(svmpress.compress(svc, vectors=20, method=method).model.predict(X_test) == y_test)

    for refit in (False, True):
        assert accuracy(LarsSVM("labels", refit)) < 0.75
        assert accuracy(LarsSVM("decision", refit)) > 0.97
    assert accuracy(Paper("decision", max_iter=50)) > 0.97


# ---------------------------------------------------------------------------------------------------------
# How it ends
# ---------------------------------------------------------------------------------------------------------


def test_too_few_independent_vectors_are_told(three):
    source = svmpress.from_estimator(three)
    f = source.expansion
    doubled = replace(
        source,
        expansion=replace(
            f, vectors=np.tile(f.vectors[:5], (20, 1)), coef=np.tile(f.coef[-5:], (20, 1)), coef_mask=None
        ),
    )
    result = svmpress.compress(doubled, method="paper", vectors=60)
    assert result.status is Status.FEWER
    assert result.model.n_vectors < 60
    assert "depends linearly" in result.message
    assert np.mean(result.model.predict(f.vectors) == doubled.predict(f.vectors)) > 0.9


def test_progress_names_machines_and_stages(three):
    seen = set()
    svmpress.compress(
        three, method=Paper(max_iter=3), ratio=0.1, progress=lambda stage, done, total: seen.add((stage, total))
    )
    assert ("machines", 3) in seen
    assert ("gradient, machine a against b", 3) in seen
    assert any(stage == "LARS, machine b against c" for stage, _ in seen)


@pytest.mark.parametrize("sizes", [[5, 3, 0, 2], [1], [7, 7, 7], [100, 1, 1]])
def test_shares_are_proportional_and_add_up(sizes):
    sizes = np.array(sizes)
    for m in range(sizes.sum() + 3):
        parts = share(m, sizes)
        assert parts.sum() == min(m, sizes.sum())
        assert (parts <= sizes).all()
        assert (np.abs(parts - min(m, sizes.sum()) * sizes / sizes.sum()) < 1).all()
