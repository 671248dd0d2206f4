"""Least angle regression against scikit-learn's, against the paper's own form, and under its optimality conditions."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_moons
from sklearn.linear_model import lars_path as sklearn_lars
from sklearn.svm import SVC

from svmpress.errors import InputError
from svmpress.kernels import RBF, Linear, Polynomial
from svmpress.numerics import Backend
from svmpress.select import SelectionPath, SelectionStatus, lars_svm
from svmpress.select.columns import DenseColumns, GramColumns
from svmpress.select.lars import lars_path


def regression(seed: int, n: int = 60, p: int = 12, n_outputs: int = 1):
    """A well-posed problem: Ω (n, p) and targets (n, M)."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)), rng.standard_normal((n, n_outputs))


def path_of(omega, targets, m: int) -> SelectionPath:
    return lars_path(DenseColumns(omega.T @ omega), omega.T @ targets, m, total=float(np.sum(targets**2)))


def full(path: SelectionPath, k: int, p: int, *, refit: bool = False):
    """The coefficients of k vectors as a row for each of p candidates, (p, M)."""
    selected = path.refit(k) if refit else path.at(k)
    out = np.zeros((p, selected.coef.shape[1]))
    out[selected.indices] = selected.coef
    return out


def sklearn_path(omega, target):
    """scikit-learn's path, (order, coefficients (p, steps + 1)), where it is sound: it ends at least squares."""
    _, active, coefs = sklearn_lars(omega, target, method="lar")
    best = np.linalg.lstsq(omega, target)[0]
    np.testing.assert_allclose(coefs[:, -1], best, rtol=1e-8, atol=1e-10 * np.abs(best).max())
    return active, coefs


# ---------------------------------------------------------------------------------------------------------
# Oracles
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("shape", [(60, 12), (200, 40)])
def test_every_step_is_scikit_learns(seed, shape):
    omega, targets = regression(seed, *shape)
    active, coefs = sklearn_path(omega, targets[:, 0])
    path = path_of(omega, targets, shape[1])
    assert path.order.tolist() == active
    assert path.status is SelectionStatus.COMPLETE
    for k in range(shape[1] + 1):
        np.testing.assert_allclose(full(path, k, shape[1])[:, 0], coefs[:, k], atol=1e-12 * np.abs(coefs).max())


def squared_hinge_like_machine(n: int = 40):
    """Vectors, coefficients and intercept of an SVM with a kernel narrow enough for a well-posed K."""
    X, y = make_moons(n, noise=0.2, random_state=3)
    svc = SVC(C=1.0, gamma=10.0).fit(X, y)
    assert svc.support_.size > n // 2
    return RBF(10.0), svc.support_vectors_, svc.dual_coef_[0], float(svc.intercept_[0])


def test_the_paper_s_eigen_decomposition_has_the_same_path():
    kernel, S, coef, b = squared_hinge_like_machine()
    y = np.sign(coef)
    K = kernel.gram(S, S)
    K_hat = y[:, None] * K
    D, vectors = np.linalg.eigh(K_hat.T @ K_hat + K)  # equation 8: ΩᵀΩ = S D Sᵀ
    omega = np.sqrt(D)[:, None] * vectors.T
    beta = -(vectors.T @ (K_hat.T @ (1 - y * b))) / np.sqrt(D)
    np.testing.assert_allclose(omega.T @ omega, K @ K + K, atol=1e-12)
    active, coefs = sklearn_path(omega, -beta)

    m = len(S)
    path = lars_svm(kernel, S, coef, b, m)
    assert path.order.tolist() == active
    for k in range(m + 1):
        np.testing.assert_allclose(full(path, k, m)[:, 0], coefs[:, k], atol=1e-9 * np.abs(coefs).max())


def test_the_error_of_lars_svm_is_the_objective_of_the_paper():
    kernel, S, coef, b = squared_hinge_like_machine()
    y, K, m = np.sign(coef), kernel.gram(S, S), len(S)
    path = lars_svm(kernel, S, coef, b, m)

    def objective(a):
        return np.sum((1 - (y[:, None] * K) @ a - y * b) ** 2) + a @ K @ a  # equation 7

    for k in range(m + 1):
        assert path.at(k).error == pytest.approx(objective(full(path, k, m)[:, 0]), rel=1e-10)
        assert path.refit(k).error == pytest.approx(objective(full(path, k, m, refit=True)[:, 0]), rel=1e-10)


def test_decision_values_are_regressed_without_penalty():
    kernel, S, coef, b = squared_hinge_like_machine()
    K = kernel.gram(S, S)
    path = lars_svm(kernel, S, coef, b, 10, target="decision")
    same = path_of(K, (K @ coef)[:, None], 10)
    np.testing.assert_array_equal(path.order, same.order)
    np.testing.assert_allclose(path.at(10).coef, same.at(10).coef, rtol=1e-9)


# ---------------------------------------------------------------------------------------------------------
# Optimality
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), p=st.integers(1, 15), n_outputs=st.sampled_from([1, 2, 5]), correlated=st.booleans())
def test_active_correlations_are_equally_long_and_no_other_is_longer(seed, p, n_outputs, correlated):
    omega, targets = regression(seed, 40, p, n_outputs)
    if correlated:
        omega = omega + 3 * omega[:, :1]
    path = path_of(omega, targets, p)
    assert len(path) == p
    before, first = np.inf, np.linalg.norm(omega.T @ targets, axis=1).max()
    for k in range(1, p + 1):
        B = full(path, k, p)
        lengths = np.linalg.norm(omega.T @ (targets - omega @ B), axis=1)
        common = lengths[path.order[0]]
        np.testing.assert_allclose(lengths[path.order[:k]], common, atol=1e-9 * first)
        assert lengths.max() <= common + 1e-9 * first
        if k < p:  # the step ends where the next one ties
            assert lengths[path.order[k]] == pytest.approx(common, abs=1e-9 * first)
        assert common <= before
        before = common
    assert before == pytest.approx(0, abs=1e-9 * first)


def test_one_output_among_zeros_is_the_single_output_path():
    omega, targets = regression(5)
    single = path_of(omega, targets, 12)
    several = path_of(omega, np.hstack([np.zeros((60, 2)), targets]), 12)
    np.testing.assert_array_equal(single.order, several.order)
    np.testing.assert_allclose(several.at(7).coef[:, 2:], single.at(7).coef, rtol=1e-10)
    assert not several.at(7).coef[:, :2].any()


def test_rotating_the_outputs_rotates_the_coefficients(rng):
    omega, targets = regression(6, n_outputs=4)
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    plain, turned = path_of(omega, targets, 12), path_of(omega, targets @ turn, 12)
    np.testing.assert_array_equal(plain.order, turned.order)
    np.testing.assert_allclose(turned.at(6).coef, plain.at(6).coef @ turn, atol=1e-12)


@given(exponent=st.integers(-120, 120), gram_exponent=st.integers(-60, 60), n_outputs=st.sampled_from([1, 3]))
def test_scaling_targets_or_kernel_changes_nothing(exponent, gram_exponent, n_outputs):
    omega, targets = regression(9, n_outputs=n_outputs)
    plain = path_of(omega, targets, 12)
    t, g = 10.0**exponent, 10.0**gram_exponent
    scaled = lars_path(DenseColumns(omega.T @ omega * g), omega.T @ targets * t, 12, total=0.0)
    np.testing.assert_array_equal(plain.order, scaled.order)
    assert scaled.status is plain.status
    np.testing.assert_allclose(scaled.steps, plain.steps, rtol=1e-9)
    np.testing.assert_allclose(scaled.at(9).coef, plain.at(9).coef * (t / g), rtol=1e-7, atol=1e-9 * t / g)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_errors_fall_and_are_those_of_the_coefficients(n_outputs):
    omega, targets = regression(2, n_outputs=n_outputs)
    path = path_of(omega, targets, 12)
    for k in range(13):
        for selected, refit in ((path.at(k), False), (path.refit(k), True)):
            left = np.sum((targets - omega @ full(path, k, 12, refit=refit)) ** 2)
            assert selected.error == pytest.approx(left, rel=1e-10)
        assert path.refit(k).error <= path.at(k).error * (1 + 1e-12)
    assert (np.diff(np.append(path.total, path.error)) < 0).all()
    assert ((path.steps > 0) & (path.steps <= 1)).all()


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_refit_is_least_squares_on_the_selected_and_at_is_shrunken(n_outputs):
    omega, targets = regression(4, n_outputs=n_outputs)
    path = path_of(omega, targets, 12)
    for k in range(1, 13):
        some = omega[:, path.order[:k]]
        np.testing.assert_allclose(path.refit(k).coef, np.linalg.lstsq(some, targets)[0], atol=1e-12)
    assert np.linalg.norm(path.at(5).coef) < np.linalg.norm(path.refit(5).coef)


def test_a_shorter_path_is_the_beginning_of_a_longer_one():
    omega, targets = regression(8, n_outputs=2)
    long, short = path_of(omega, targets, 12), path_of(omega, targets, 5)
    np.testing.assert_array_equal(short.order, long.order[:5])
    np.testing.assert_allclose(short.at(5).coef, long.at(5).coef, rtol=1e-12)


# ---------------------------------------------------------------------------------------------------------
# Exactly m, or a status that says why not
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_duplicates_of_selected_candidates_change_nothing(n_outputs):
    omega, targets = regression(0, n_outputs=n_outputs)
    plain = path_of(omega, targets, 12)
    doubled = path_of(np.hstack([omega, omega[:, ::2], omega[:, :5]]), targets, 12)
    columns = np.concatenate([np.arange(12), np.arange(0, 12, 2), np.arange(5)])
    np.testing.assert_array_equal(columns[doubled.order], plain.order)
    np.testing.assert_allclose(doubled.steps, plain.steps, rtol=1e-9)
    assert doubled.status is SelectionStatus.COMPLETE


def test_more_than_the_independent_candidates_is_a_status():
    omega, targets = regression(0)
    path = path_of(np.hstack([omega, omega @ np.ones((12, 1)), omega]), targets, 20)
    assert path.status is SelectionStatus.DEPENDENT
    assert len(path) == 12
    np.testing.assert_allclose(path.at(12).error, path_of(omega, targets, 12).at(12).error, rtol=1e-9)


def test_a_kernel_of_low_rank_ends_the_path_without_trying_every_candidate(rng):
    class Counted(DenseColumns):
        fetched = 0

        def columns(self, which):
            Counted.fetched += len(which)
            return super().columns(which)

    omega = rng.standard_normal((50, 6)) @ rng.standard_normal((6, 300))
    path = lars_path(Counted(omega.T @ omega), omega.T @ rng.standard_normal((50, 2)), 20)
    assert path.status is SelectionStatus.DEPENDENT
    assert len(path) == Counted.fetched == 6


def test_targets_that_few_candidates_reproduce_are_a_status(rng):
    omega = np.linalg.qr(rng.standard_normal((30, 10)))[0]
    path = path_of(omega, omega[:, [2, 5, 7]] @ np.array([[3.0], [2.0], [1.0]]), 8)
    assert path.status is SelectionStatus.EXACT
    assert path.order.tolist() == [2, 5, 7]
    np.testing.assert_allclose(path.at(3).coef, [[3], [2], [1]], rtol=1e-12)
    assert "exactly" in path.status.message


def test_more_than_there_are_takes_all():
    omega, targets = regression(1)
    path = path_of(omega, targets, 13)
    assert path.status is SelectionStatus.ALL
    assert sorted(path.order) == list(range(12))


def test_targets_of_zero_select_nothing():
    path = lars_path(DenseColumns(np.eye(4)), np.zeros((4, 2)), 2)
    assert path.status is SelectionStatus.EXACT
    assert len(path) == 0
    assert path.at(0).coef.shape == path.refit(0).coef.shape == (0, 2)


def test_ties_are_taken_one_after_the_other():
    path = lars_path(DenseColumns(np.eye(4)), np.array([[2.0], [-2.0], [2.0], [1.0]]), 4)
    assert len(path) == 4
    assert path.order[3] == 3
    np.testing.assert_allclose(path.at(3).coef.ravel()[np.argsort(path.order[:3])], [1, -1, 1], rtol=1e-12)
    np.testing.assert_allclose(path.at(4).coef.ravel()[np.argsort(path.order)], [2, -2, 2, 1], rtol=1e-12)


def test_symmetric_rows_keep_the_conditions(rng):
    half = rng.standard_normal((10, 6))
    omega = np.vstack([np.hstack([half, 0.3 * half]), np.hstack([0.3 * half, half])])  # candidates j and j + 6 tie
    targets = np.tile(rng.standard_normal((10, 1)), (2, 1))
    path = path_of(omega, targets, 12)
    first = np.abs(omega.T @ targets).max()
    for k in range(1, len(path) + 1):
        lengths = np.abs(omega.T @ (targets - omega @ full(path, k, 12)))[:, 0]
        assert lengths.max() <= lengths[path.order[0]] + 1e-9 * first


def test_bad_calls_are_refused():
    gram = DenseColumns(np.eye(3))
    with pytest.raises(InputError, match="must be positive, not 0"):
        lars_path(gram, np.ones((3, 1)), 0)
    with pytest.raises(InputError, match="4 correlations for 3 candidates"):
        lars_path(gram, np.ones((4, 1)), 2)
    path = lars_path(gram, np.array([[3.0], [2.0], [1.0]]), 2)
    for k in (3, -1):
        with pytest.raises(InputError, match=f"the path has 2 vectors, not {k}"):
            path.at(k)
    with pytest.raises(InputError, match="the coefficient zero"):
        lars_svm(RBF(1.0), np.eye(3), np.array([1.0, 0.0, -1.0]), 0.0, 2)


def test_progress_counts_the_selected():
    omega, targets = regression(0)
    seen: list[tuple[int, int]] = []
    lars_path(
        DenseColumns(omega.T @ omega), omega.T @ targets, 4, progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


# ---------------------------------------------------------------------------------------------------------
# Gram columns on demand
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ridge", [0.0, 1.0, 1e-3])
@pytest.mark.parametrize("kernel", [RBF(0.4), Polynomial(0.5, 1.0, 2), Linear()])
@pytest.mark.parametrize("max_bytes", [2**30, 15_000, 1])
def test_columns_are_those_of_the_matrix(backend, rng, kernel, ridge, max_bytes, assert_close):
    X, S = rng.standard_normal((70, 3)), rng.standard_normal((25, 3))
    K = kernel.gram(X, S)
    expected = K.T @ K + ridge * kernel.gram(S, S)
    gram = GramColumns(kernel, X, S, ridge=ridge, max_bytes=max_bytes, backend=backend)
    assert gram.is_cached == (max_bytes == 2**30)
    assert gram.n_candidates == 25
    which = np.array([3, 24, 0])
    assert_close(gram.columns(which), expected[:, which])
    assert_close(gram.diagonal(), np.diagonal(expected))
    T, A = rng.standard_normal((70, 2)), rng.standard_normal((25, 2))
    assert_close(gram.correlations(T), K.T @ T)
    assert_close(gram.kernel_times(A), K @ A)


def test_sparse_candidates_have_the_same_columns(sparse_rows, assert_close):
    dense = sparse_rows.toarray()
    which = np.array([0, 7])
    expected = GramColumns(RBF(0.3), dense, dense, ridge=1.0).columns(which)
    assert_close(GramColumns(RBF(0.3), sparse_rows, sparse_rows, ridge=1.0).columns(which), expected)


@pytest.mark.parametrize("target", ["labels", "decision"])
def test_a_tiny_memory_cap_changes_nothing(rng, target):
    V, coef = rng.standard_normal((300, 4)), rng.standard_normal(300)
    kept = lars_svm(RBF(0.3), V, coef, 0.2, 20, target=target)
    computed_again = lars_svm(RBF(0.3), V, coef, 0.2, 20, target=target, max_bytes=2**16)
    np.testing.assert_array_equal(kept.order, computed_again.order)
    np.testing.assert_allclose(computed_again.at(20).coef, kept.at(20).coef, rtol=1e-6)
    np.testing.assert_allclose(computed_again.error, kept.error, rtol=1e-9)


@pytest.mark.torch
def test_selection_runs_on_torch(rng):
    V, coef = rng.standard_normal((100, 4)), rng.standard_normal(100)
    numpy, torch = (lars_svm(RBF(0.3), V, coef, 0.2, 8, backend=Backend.of(device)) for device in ("cpu", "torch"))
    np.testing.assert_array_equal(numpy.order, torch.order)
    np.testing.assert_allclose(torch.at(8).coef, numpy.at(8).coef, rtol=1e-8)


@pytest.mark.parametrize("cap", [2**22, 2**24])
def test_the_memory_cap_holds(rng, cap):
    n = 3000
    assert 8 * n * n > 4 * cap  # all of K would not fit
    V, coef = rng.standard_normal((n, 3)), rng.choice([-1.0, 1.0], n)
    lars_svm(RBF(0.5), V[:50], coef[:50], 0.0, 2)  # whatever is imported on first use
    tracemalloc.start()
    try:
        path = lars_svm(RBF(0.5), V, coef, 0.0, 3, max_bytes=cap)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(path) == 3
    assert peak < 1.1 * cap + 8 * 60 * n  # K under the cap; a few columns of n numbers beside it


def test_twenty_thousand_support_vectors_take_less_than_two_gigabytes():
    code = """
import resource
import numpy as np
from svmpress.kernels import RBF
from svmpress.select import lars_svm
rng = np.random.default_rng(0)
path = lars_svm(RBF(0.2), rng.standard_normal((20_000, 5)), rng.choice([-1.0, 1.0], 20_000), 0.1, 5)
print(len(path), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    selected, kilobytes = map(int, run.stdout.split())
    assert selected == 5
    in_bytes = kilobytes * (1 if sys.platform == "darwin" else 1024)
    assert 2**27 < in_bytes < 2e9  # more than the interpreter alone: the figure is real
