"""The squared-hinge solver against independent ones: SVC in the dual, SciPy's minimiser, scikit-learn's LinearSVC."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.svm import SVC, LinearSVC

from svmpress.errors import InputError
from svmpress.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid
from svmpress.select.hinge import HingeStatus, fit_folded, fit_squared_hinge


def objective(K, K_basis, y, a, b, C):
    """Eq. 1, as plainly as it can be written; rows with y = 0 do not count."""
    return a @ K_basis @ a + C * sum(max(0.0, 1 - t * (k @ a + b)) ** 2 for k, t in zip(K, y, strict=True) if t != 0)


def half_gradient(K, K_basis, y, a, b, C):
    pull = C * y * np.maximum(0, np.abs(y) - y * (K @ a + b))
    return np.append(K_basis @ a - K.T @ pull, -pull.sum())


@pytest.fixture
def problem(rng):
    """Noisy two-class rows in three dimensions: no separation, so that active sets change."""
    X = rng.normal(size=(120, 3))
    return X, np.where(X[:, 0] * X[:, 1] + 0.4 * rng.normal(size=120) > 0, 1.0, -1.0)


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("kernel", [RBF(0.5), Laplacian(0.3), Polynomial(0.5, 1.0, 2)], ids=lambda k: k.name)
def test_on_all_rows_it_is_the_squared_hinge_svm_of_the_dual(kernel, C, problem):
    """The dual of eq. 1 is the hard-margin dual with K + I/C.

    Halved, eq. 1 reads ½||w||² + (C/2) Σ ξ², whose Lagrangian gives ξ_i = α_i / C and so ½ αᵀ(K + I/C)α: an SVC
    without a bound on α. Its coefficients are ours: w = Σ α_i y_i φ(x_i).
    """
    X, y = problem
    K = kernel.gram(X, X)
    svc = SVC(kernel="precomputed", C=1e10, tol=1e-9).fit(K + np.eye(len(y)) / C, y)
    dual = K[:, svc.support_] @ svc.dual_coef_[0] + svc.intercept_[0]
    fit = fit_squared_hinge(kernel, X, y, X, C)
    assert fit.status is HingeStatus.CONVERGED
    np.testing.assert_allclose(K @ fit.coef[:, 0] + fit.intercept[0], dual, atol=1e-4)
    # ours is the better optimiser: never above what SVC's answer is worth
    ours = objective(K, K, y, fit.coef[:, 0], fit.intercept[0], C)
    a = np.zeros(len(y))
    a[svc.support_] = svc.dual_coef_[0]
    assert ours <= objective(K, K, y, a, svc.intercept_[0], C) * (1 + 1e-9)
    assert fit.objective[0] == pytest.approx(ours, rel=1e-8)


@given(seed=st.integers(0, 10_000), C=st.sampled_from([0.05, 1.0, 20.0]), bias=st.booleans())
def test_on_a_foreign_basis_scipy_finds_no_better_point(seed, C, bias):
    rng = np.random.default_rng(seed)
    X, basis, y = rng.normal(size=(15, 2)), rng.normal(size=(4, 2)), rng.choice([-1.0, 1.0], size=15)
    kernel = RBF(0.7)
    K, K_basis = kernel.gram(X, basis), kernel.gram(basis, basis)

    def value(z):
        return objective(K, K_basis, y, z[:4], z[4] if bias else 0.0, C)

    def slope(z):
        g = 2 * half_gradient(K, K_basis, y, z[:4], z[4] if bias else 0.0, C)
        return g if bias else g[:4]

    fit = fit_squared_hinge(kernel, X, y, basis, C, bias=bias)
    found = minimize(value, np.zeros(4 + bias), jac=slope, method="BFGS", options={"gtol": 1e-9, "maxiter": 500})
    z = np.append(fit.coef[:, 0], fit.intercept[0])
    assert value(z) == pytest.approx(found.fun, rel=1e-8)
    assert fit.objective[0] == pytest.approx(value(z), rel=1e-10)
    assert bias or fit.intercept[0] == 0


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_without_bias_on_the_axes_it_is_a_linear_svm(C, problem):
    """With the unit vectors as basis and the linear kernel a is w itself. LinearSVC halves the norm: its C is half."""
    X, _ = problem
    y = np.where(X[:, 0] + 0.5 * X[:, 2] + 0.5 * np.sin(9 * X[:, 1]) > 0, 1, -1)
    liblinear = LinearSVC(C=C / 2, fit_intercept=False, dual=False, tol=1e-12).fit(X, y)
    fit = fit_squared_hinge(Linear(), X, y, np.eye(3), C, bias=False)
    np.testing.assert_allclose(fit.coef.T, liblinear.coef_, rtol=1e-5)


@pytest.mark.parametrize("C", [0.01, 1.0, 1e4])
def test_the_gradient_is_zero_at_the_solution(C, problem):
    X, y = problem
    kernel, basis = RBF(0.5), X[:20] + 0.1
    K, K_basis = kernel.gram(X, basis), kernel.gram(basis, basis)
    fit = fit_squared_hinge(kernel, X, y, basis, C)
    g = half_gradient(K, K_basis, y, fit.coef[:, 0], fit.intercept[0], C)
    at_start = half_gradient(K, K_basis, y, np.zeros(20), 0.0, C)
    assert np.abs(g).max() < 1e-9 * np.abs(at_start).max()


def test_the_objective_falls_at_every_step(problem):
    X, y = problem
    path = [fit_squared_hinge(RBF(0.5), X, y, X[:40], 1e4, max_iter=k) for k in range(40)]
    values = [f.objective[0] for f in path]
    assert values[0] == pytest.approx(1e4 * len(y))  # max_iter = 0 evaluates the start, zero
    steps = [f.n_iter[0] for f in path]
    last = steps[-1]
    assert last >= 4
    assert steps == [min(k, last) for k in range(40)]
    assert all(b < a for a, b in pairwise(values[: last + 1]))
    assert path[last - 1].status is HingeStatus.MAX_ITER
    assert path[-1].status is HingeStatus.CONVERGED


def test_several_machines_equal_separate_fits(backend, problem, rng, assert_close):
    """Columns of different difficulty, one of them on half of the rows."""
    X, y = problem
    Y = np.stack([y, rng.choice([-1.0, 1.0], size=120), y], axis=1)
    Y[::2, 2] = 0
    fit = fit_squared_hinge(RBF(0.5), backend.asarray(X), backend.asarray(Y), backend.asarray(X[:25]), 5.0)
    assert (fit.coef.shape, fit.intercept.shape, fit.n_iter.shape) == ((25, 3), (3,), (3,))
    for j in range(3):
        part = Y[:, j] != 0
        alone = fit_squared_hinge(RBF(0.5), X[part], Y[part, j], X[:25], 5.0)
        assert_close(fit.coef[:, [j]], alone.coef, ulps=1e4)
        assert_close(fit.intercept[[j]], alone.intercept, ulps=1e4)
        assert_close(fit.objective[[j]], alone.objective)
        assert fit.n_iter[j] == alone.n_iter[0]


def test_every_library_and_csr_rows_give_the_same_fit(backend, problem, assert_close):
    X, y = problem
    X = X * (np.abs(X) > 0.5)
    basis = X[:25]  # some rows coincide now, so the function is determined and not every coefficient
    K = RBF(0.5).gram(X, basis)
    plain = fit_squared_hinge(RBF(0.5), X, y, basis, 5.0)
    for rows, vectors in (
        (backend.asarray(X), backend.asarray(basis)),
        (sparse.csr_array(X), backend.asarray(basis)),
        (backend.asarray(X), sparse.csr_array(basis)),
        (sparse.csr_array(X), sparse.csr_array(basis)),
    ):
        fit = fit_squared_hinge(RBF(0.5), rows, y, vectors, 5.0)
        assert isinstance(fit.coef, np.ndarray)
        assert_close(fit.objective, plain.objective)
        assert_close(K @ fit.coef + fit.intercept, K @ plain.coef + plain.intercept, ulps=1e4)


def test_float32_rows_are_solved_in_float64(backend, problem):
    X, y = problem
    fit = fit_squared_hinge(RBF(0.5), backend.asarray(X, "float32"), y, backend.asarray(X[:25], "float32"), 5.0)
    exact = fit_squared_hinge(RBF(0.5), X, y, X[:25], 5.0)
    assert fit.coef.dtype == np.float64
    assert fit.status is HingeStatus.CONVERGED
    assert fit.objective[0] == pytest.approx(exact.objective[0], rel=1e-5)


# ---------------------------------------------------------------------------------------------------------
# Starts, memory, degenerate problems
# ---------------------------------------------------------------------------------------------------------


def test_a_warm_start_at_the_solution_stays_there(problem):
    X, y = problem
    fit = fit_squared_hinge(RBF(0.5), X, y, X[:25], 5.0)
    again = fit_squared_hinge(RBF(0.5), X, y, X[:25], 5.0, coef0=fit.coef, intercept0=fit.intercept)
    assert again.n_iter.tolist() == [0]
    np.testing.assert_array_equal(again.coef, fit.coef)


def test_any_start_leads_to_the_same_minimum(problem, rng, assert_close):
    X, y = problem
    fit = fit_squared_hinge(RBF(0.5), X, y, X[:25], 5.0)
    far = fit_squared_hinge(
        RBF(0.5), X, y, X[:25], 5.0, coef0=100 * rng.normal(size=(25, 1)), intercept0=np.array([-50.0])
    )
    assert_close(far.objective, fit.objective)


def test_a_grown_basis_starts_where_the_smaller_one_ended(problem):
    """What Reduced-SVM does: a coefficient of zero for the new vector, then a few steps."""
    X, y = problem
    small = fit_squared_hinge(RBF(0.5), X, y, X[:25], 5.0)
    start = np.vstack([small.coef, [[0.0]]])
    at_start = fit_squared_hinge(RBF(0.5), X, y, X[:26], 5.0, coef0=start, intercept0=small.intercept, max_iter=0)
    grown = fit_squared_hinge(RBF(0.5), X, y, X[:26], 5.0, coef0=start, intercept0=small.intercept)
    assert at_start.objective[0] == pytest.approx(small.objective[0], rel=1e-12)
    assert grown.objective[0] < small.objective[0]


def test_a_small_memory_cap_changes_nothing_but_rounding(problem, rng, assert_close):
    X, y = problem
    Y = np.stack([y, rng.choice([-1.0, 1.0], size=120)], axis=1)
    whole, capped = (fit_squared_hinge(RBF(0.5), X, Y, X[:25], 5.0, max_bytes=b) for b in (None, 1000))
    assert_close(capped.objective, whole.objective)
    assert_close(capped.coef, whole.coef, ulps=1e4)


@pytest.mark.slow
def test_memory_stays_under_the_cap(rng):
    X = rng.normal(size=(20_000, 3))
    Y = np.where(X @ rng.normal(size=(3, 4)) > 0, 1.0, -1.0)
    cap = 6 * 2**20  # the (n, m) gram alone would take 16 MB
    tracemalloc.start()
    try:
        fit_squared_hinge(RBF(0.5), X, Y, X[:100], 1.0, max_bytes=cap)
        assert tracemalloc.get_traced_memory()[1] < 1.25 * cap
    finally:
        tracemalloc.stop()


def test_repeated_basis_vectors_do_no_harm(problem):
    """The system is singular; the function it describes is not."""
    X, y = problem
    once = fit_squared_hinge(RBF(0.5), X, y, X[:10], 5.0)
    thrice = fit_squared_hinge(RBF(0.5), X, y, np.tile(X[:10], (3, 1)), 5.0)
    assert thrice.objective[0] == pytest.approx(once.objective[0], rel=1e-9)
    np.testing.assert_allclose(thrice.coef.reshape(3, 10).sum(0), once.coef[:, 0], rtol=1e-6, atol=1e-6)
    assert np.abs(thrice.coef).max() <= 2 * np.abs(once.coef).max()


def test_vectors_that_mean_nothing_get_no_weight(problem):
    X, y = problem
    fit = fit_squared_hinge(Linear(), X, y, np.zeros((2, 3)), 5.0)
    np.testing.assert_array_equal(fit.coef, np.zeros((2, 1)))
    assert fit.intercept[0] == pytest.approx(y.mean())  # all residuals are active: least squares on a constant


def test_an_indefinite_kernel_has_a_minimum_all_the_same(problem):
    X, y = problem
    kernel = Sigmoid(1.0, -1.0)
    K_basis = kernel.gram(X[:30], X[:30])
    w, U = np.linalg.eigh(K_basis)
    assert w[0] < -0.1  # without its negative part left out, the norm would fall for ever
    fit = fit_squared_hinge(kernel, X, y, X[:30], 1.0)
    positive = U @ np.diag(np.maximum(w, 0)) @ U.T
    g = half_gradient(kernel.gram(X, X[:30]), positive, y, fit.coef[:, 0], fit.intercept[0], 1.0)
    assert fit.status is not HingeStatus.MAX_ITER
    assert np.abs(g).max() < 1e-5


@pytest.mark.parametrize("label", [1.0, -1.0])
def test_one_class_is_its_constant(label, problem):
    X, _ = problem
    fit = fit_squared_hinge(RBF(0.5), X, np.full(120, label), X[:10], 5.0)
    assert fit.objective[0] < 1e-20
    assert fit.status is not HingeStatus.MAX_ITER


@pytest.mark.slow
def test_separable_rows_and_a_large_c_leave_no_loss(problem):
    X, _ = problem
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X = X + y[:, None]
    fit = fit_squared_hinge(RBF(0.5), X, y, X, 1e8)
    margins = y * (RBF(0.5).gram(X, X) @ fit.coef[:, 0] + fit.intercept[0])
    assert margins.min() > 1 - 1e-4


def test_a_tolerance_of_zero_ends_where_rounding_does(problem):
    X, y = problem
    usual = fit_squared_hinge(RBF(0.5), X, y, X[:40], 1e4, max_iter=200)
    finest = fit_squared_hinge(RBF(0.5), X, y, X[:40], 1e4, max_iter=200, tol=0.0)
    assert finest.status is HingeStatus.STALLED
    assert finest.n_iter[0] < 100
    assert finest.objective[0] <= usual.objective[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"C": 0.0}, "C must be a positive number, not 0.0"),
        ({"C": float("nan")}, "C must be a positive number"),
        ({"Y": np.full(120, 2.0)}, "Y must hold -1 and"),
        ({"Y": np.full(120, np.nan)}, "Y must hold -1 and"),
        ({"Y": np.ones(119)}, r"Y has shape \(119, 1\); 120 rows need"),
        ({"basis": np.zeros((0, 3))}, "needs rows and basis vectors, not 120 and 0"),
        ({"coef0": np.zeros((3, 1))}, "coef0 and intercept0 have shapes"),
        ({"coef0": np.full((10, 1), np.inf)}, "must be finite"),
        ({"intercept0": np.zeros(1), "bias": False}, "no meaning without a bias"),
        ({"max_iter": -1}, "must not be negative"),
    ],
)
def test_bad_arguments_are_errors_for_people(change, words, problem):
    X, y = problem
    arguments = {"kernel": RBF(0.5), "X": X, "Y": y, "basis": X[:10]} | change
    with pytest.raises(InputError, match=words):
        fit_squared_hinge(**arguments)


class Folded:
    """Samples as a matrix, for `fit_folded`."""

    def __init__(self, samples, here):
        self.here, self.K = here, samples @ samples.T

    def times(self, alpha):
        return self.here.xp.matmul(self.here.asarray(self.K), alpha)

    def solve_active(self, which, ridge):
        return np.linalg.solve(self.K[np.ix_(which, which)] + ridge * np.eye(len(which)), np.ones(len(which)))


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_dual_variables_are_the_machine_of_the_primal(backend, problem, C):
    X, y = problem
    primal = fit_squared_hinge(Linear(), X, y, np.eye(3), C, bias=False)
    dual = fit_folded(Folded(y[:, None] * X, backend), C, np.zeros(len(y)))
    assert dual.status is HingeStatus.CONVERGED
    assert dual.objective[0] == pytest.approx(primal.objective[0], rel=1e-10)
    np.testing.assert_allclose(X.T @ (y[:, None] * dual.coef), primal.coef, rtol=1e-6, atol=1e-9)
    again = fit_folded(Folded(y[:, None] * X, backend), C, dual.coef[:, 0])
    assert again.n_iter[0] == 0
    assert again.objective[0] <= dual.objective[0]
