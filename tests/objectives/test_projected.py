"""Objectives: gradients against numerical derivatives, projections against plain least squares, on every library."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from svmpress.decoders import class_pairs, pair_mask
from svmpress.kernels import KERNELS, RBF, Linear, Polynomial
from svmpress.numerics import pieces, to_numpy
from svmpress.objectives import ExpansionObjective, Parameters, ProjectedError, SquaredError
from test_kernels import conformance_kernel, fourth_order

N, D, M, OUTPUTS = 14, 3, 4, 3
WIDE = sorted(name for name in KERNELS if conformance_kernel(name).has_width)


@pytest.fixture(params=sorted(KERNELS))
def kernel(request):
    return conformance_kernel(request.param)


@pytest.fixture
def X(rng):
    """Rows on a grid, some zeros: no value comes near one of the vectors', where a kernel may have a kink."""
    return rng.integers(0, 20, (N, D)) / 10 * (rng.uniform(size=(N, D)) < 0.8)


@pytest.fixture
def V(rng):
    return rng.integers(0, 20, (M, D)) / 10 + rng.uniform(0.03, 0.07, (M, D))


@pytest.fixture
def A(rng):
    return rng.standard_normal((M, OUTPUTS))


@pytest.fixture
def b(rng):
    return rng.standard_normal(OUTPUTS)


@pytest.fixture
def T(rng):
    return rng.standard_normal((N, OUTPUTS))


def numerical_gradient(f, x, step: float = 1e-3):
    """The derivative of f by each entry of x, of the shape of x."""

    def moved(i, value):
        y = x.copy()
        y.flat[i] = value
        return f(y)

    return np.array([fourth_order(lambda t, i=i: moved(i, t), x.flat[i], step) for i in range(x.size)]).reshape(x.shape)


def assert_gradient(actual, f, x, tol: float = 1e-7) -> None:
    expected = numerical_gradient(f, np.asarray(x, dtype=float))
    np.testing.assert_allclose(actual, expected, rtol=tol, atol=tol * max(np.abs(expected).max(), 1e-3))


# ---------------------------------------------------------------------------------------------------------
# ExpansionObjective
# ---------------------------------------------------------------------------------------------------------


def test_the_squared_error_is_that_of_the_expansion(kernel, X, V, A, b, T):
    got = ExpansionObjective(X, SquaredError(T)).value_and_grad(Parameters(kernel, V, A, b))
    left = np.sum((kernel.gram(X, V) @ A + b - T) ** 2)
    assert got.value == pytest.approx(left / np.sum((T - T.mean(axis=0)) ** 2), rel=1e-12)
    assert got.gamma is None


def test_every_derivative_is_the_numerical_one(kernel, X, V, A, b, T):
    objective = ExpansionObjective(X, SquaredError(T))
    at = Parameters(kernel, V, A, b)

    def value(**change):
        return objective.value_and_grad(replace(at, **change)).value

    got = objective.value_and_grad(at, width=kernel.has_width)
    assert_gradient(got.vectors, lambda x: value(vectors=x), V)
    assert_gradient(got.coef, lambda x: value(coef=x), A)
    assert_gradient(got.intercept, lambda x: value(intercept=x), b)
    if kernel.has_width:
        slope = fourth_order(lambda g: value(kernel=kernel.with_gamma(g)), kernel.params["gamma"], 1e-3)
        assert got.gamma == pytest.approx(slope, rel=1e-7)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_every_library_and_blocks_of_any_size_agree(backend, kernel, form, X, V, A, b, T, assert_close):
    width = kernel.has_width
    expected = ExpansionObjective(X, SquaredError(T)).value_and_grad(Parameters(kernel, V, A, b), width=width)
    rows = sparse.csr_array(X) if form == "csr" else backend.asarray(X)
    there = Parameters(kernel, *(backend.asarray(a) for a in (V, A, b)))
    for max_bytes in (None, 3000, 1):
        objective = ExpansionObjective(rows, SquaredError(backend.asarray(T)), max_bytes)
        got = objective.value_and_grad(there, width=width)
        for name in ("vectors", "coef", "intercept"):
            assert_close(getattr(got, name), getattr(expected, name))
        assert got.value == pytest.approx(expected.value, rel=1e-12)
        assert got.gamma == pytest.approx(expected.gamma, rel=1e-11) if width else got.gamma is None


def test_constant_targets_do_not_divide_by_zero(X, V, A, b):
    got = ExpansionObjective(X, SquaredError(np.ones((N, OUTPUTS)))).value_and_grad(Parameters(RBF(0.3), V, A, b))
    assert np.isfinite(got.value)
    assert np.isfinite(got.vectors).all()


# ---------------------------------------------------------------------------------------------------------
# ProjectedError
# ---------------------------------------------------------------------------------------------------------

SIZES = np.array([5, 0, 9])
RIDGE = 1e-5


def weights_of(kind: str):
    if kind == "none":
        return {}
    groups = {"sizes": SIZES}
    if kind == "groups":  # one weight for all outputs of a group
        return {**groups, "weights": np.repeat([[2.0], [1.0], [0.25]], OUTPUTS, axis=1)}
    several = {**groups, "weights": np.array([[1.0, 0.01, 3.0], [1.0, 1.0, 1.0], [0.5, 2.0, 0.01]])}
    if kind == "own rows and a background":
        own = np.array([[1.0, 0.0, 3.0], [1.0, 1.0, 1.0], [0.0, 2.0, 0.5]])
        return {**groups, "weights": own, "background": 0.05, "thin": 3}
    return several


MASK = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]], dtype=bool)


@pytest.fixture(params=["none", "groups", "groups and outputs", "own rows and a background"])
def weights(request):
    return weights_of(request.param)


@pytest.fixture(params=[False, True], ids=["all coefficients", "masked"])
def mask(request):
    return MASK if request.param else None


@pytest.fixture(params=[False, True], ids=["free intercept", "fixed intercept"])
def intercept(request):
    return np.array([0.3, -1.0, 0.1]) if request.param else None


NORMS = [
    (name, norm) for name in sorted(KERNELS) for norm in (0.0, 0.3) if norm == 0 or conformance_kernel(name).definite
]


@pytest.fixture(params=NORMS, ids=lambda pair: f"{pair[0]}, norm {pair[1]}")
def penalised(request):
    """A kernel and a weight of its norm: none where functions have no norm."""
    name, norm = request.param
    return conformance_kernel(name), norm


def directly(
    kernel, X, T, V, *, start=None, sizes=None, weights=None, background=0.0, thin=1, mask=None, intercept=None,
    ridge=RIDGE, norm=0.0,
):  # fmt: skip
    """Each output by itself, by least squares on stacked rows: value, coefficients, intercepts."""
    sizes = np.array([len(X)]) if sizes is None else sizes
    W = np.repeat(np.ones((1, T.shape[1])) if weights is None else weights, sizes, axis=0)
    W[::thin] += background * len(X) / len(X[::thin])
    K, K_VV = kernel.gram(X, V), kernel.gram(V, V)
    mean_square = np.mean(kernel.gram(X, V if start is None else start) ** 2, axis=None if kernel.bounded else 0)
    mean_square = np.broadcast_to(mean_square, len(V))
    coef, constants = np.zeros((len(V), T.shape[1])), np.zeros(T.shape[1])
    value = spread = 0.0
    for p in range(T.shape[1]):
        w, active = W[:, p], np.arange(len(V)) if mask is None else np.flatnonzero(mask[:, p])
        penalty = ridge * mean_square[active] * w.sum()
        columns = K[:, active] if intercept is not None else np.hstack([K[:, active], np.ones((len(X), 1))])
        target = T[:, p] - (0 if intercept is None else intercept[p])
        above = np.sqrt(penalty)[:, None] * np.eye(len(active), columns.shape[1])  # nothing on the intercept
        between = norm * np.mean(np.diagonal(kernel.gram(X, X))) * K_VV
        root = np.linalg.cholesky(between[np.ix_(active, active)] + 1e-13 * np.eye(len(active))).T
        besides = np.hstack([root, np.zeros((len(active), columns.shape[1] - len(active)))])
        stacked = np.vstack([np.sqrt(w)[:, None] * columns, above, besides])
        solution = np.linalg.lstsq(stacked, np.append(np.sqrt(w) * target, np.zeros(2 * len(active))))[0]
        coef[active, p] = solution[: len(active)]
        constants[p] = solution[-1] if intercept is None else intercept[p]
        value += np.sum(w * (columns @ solution - target) ** 2) + penalty @ coef[active, p] ** 2
        value += coef[:, p] @ between @ coef[:, p]
        spread += np.sum(w * (T[:, p] - np.average(T[:, p], weights=w)) ** 2)
    return value / spread, coef, constants


def test_the_projection_is_a_least_squares_solve_for_each_output(penalised, X, V, T, weights, mask, intercept):
    kernel, norm = penalised
    objective = ProjectedError(kernel, X, T, V, mask=mask, intercept=intercept, ridge=RIDGE, norm=norm, **weights)
    got = objective.value_and_grad(V)
    value, coef, constants = directly(kernel, X, T, V, mask=mask, intercept=intercept, norm=norm, **weights)
    assert got.value == pytest.approx(value, rel=1e-8)
    np.testing.assert_allclose(got.coef, coef, rtol=1e-4, atol=1e-6 * np.abs(coef).max())
    np.testing.assert_allclose(got.intercept, constants, rtol=1e-4, atol=1e-6)
    if mask is not None:
        assert not got.coef[~mask].any()


def test_the_gradient_of_the_projection_is_the_numerical_one(penalised, X, V, T, weights, mask, intercept):
    kernel, norm = penalised
    objective = ProjectedError(kernel, X, T, V, mask=mask, intercept=intercept, ridge=RIDGE, norm=norm, **weights)
    got = objective.value_and_grad(V, width=kernel.has_width)
    assert_gradient(got.vectors, lambda x: objective.value_and_grad(x).value, V, tol=1e-5)
    if kernel.has_width:

        def at(gamma):
            return objective.value_and_grad(V, kernel.with_gamma(gamma)).value

        assert got.gamma == pytest.approx(fourth_order(at, kernel.params["gamma"], 1e-3), rel=1e-5, abs=1e-7)
    else:
        assert got.gamma is None


def test_the_ridge_stays_where_it_was_fixed(kernel, X, V, T):
    elsewhere = V + 0.2
    got = ProjectedError(kernel, X, T, V, ridge=1e-2).value_and_grad(elsewhere)
    value, coef, _ = directly(kernel, X, T, elsewhere, start=V, ridge=1e-2)
    assert got.value == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(got.coef, coef, rtol=1e-6)


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("kind", ["none", "groups", "groups and outputs", "own rows and a background"])
@pytest.mark.parametrize("name", WIDE)
def test_the_projection_agrees_on_every_library_and_in_blocks(
    backend, name, kind, form, X, V, T, mask, intercept, assert_close
):
    kernel, weights = conformance_kernel(name), weights_of(kind)
    settings = {"mask": mask, "ridge": RIDGE, "norm": 0.1, **weights}
    expected = ProjectedError(kernel, X, T, V, intercept=intercept, **settings).value_and_grad(V, width=True)
    rows = sparse.csr_array(X) if form == "csr" else backend.asarray(X)
    fixed = None if intercept is None else backend.asarray(intercept)
    V_there, T_there = backend.asarray(V), backend.asarray(T)
    for max_bytes in (None, 800, 1):
        objective = ProjectedError(kernel, rows, T_there, V_there, intercept=fixed, max_bytes=max_bytes, **settings)
        got = objective.value_and_grad(V_there, width=True)
        assert got.value == pytest.approx(expected.value, rel=1e-9)
        for mine, theirs in ((got.vectors, expected.vectors), (got.coef, expected.coef)):
            assert_close(mine, theirs, ulps=1e4)
        assert_close(to_numpy(got.intercept), np.asarray(expected.intercept), ulps=1e4)
        assert got.gamma == pytest.approx(expected.gamma, rel=1e-6, abs=1e-8)


@pytest.fixture(params=[False, True], ids=["one after the other", "side by side"])
def threads(request, monkeypatch):
    if request.param:
        monkeypatch.setattr("svmpress.objectives.sums.WORTH_THREADS", 0)
        monkeypatch.setattr("svmpress.numerics.parallel._THREADS", 2)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_groups_of_fewer_rows_than_features_are_computed_at_once(backend, rng, form, T):
    X, V = rng.standard_normal((N, 20)), rng.standard_normal((M, 20))
    settings = {**weights_of("own rows and a background"), "mask": MASK, "norm": 0.1}
    apart = ProjectedError(RBF(0.02), X, T, V, max_bytes=40 * N * M - 1, **settings).value_and_grad(V, width=True)
    rows = sparse.csr_array(X) if form == "csr" else backend.asarray(X)
    objective = ProjectedError(RBF(0.02), rows, backend.asarray(T), backend.asarray(V), **settings)
    got = objective.value_and_grad(backend.asarray(V), width=True)
    assert got.value == pytest.approx(apart.value, rel=1e-9)
    assert got.gamma == pytest.approx(apart.gamma, rel=1e-6)
    for mine, theirs in ((got.vectors, apart.vectors), (got.coef, apart.coef)):
        np.testing.assert_allclose(to_numpy(mine), theirs, rtol=1e-6, atol=1e-9)


@pytest.mark.slow
@pytest.mark.usefixtures("threads")
def test_machines_of_pairs_with_many_vectors_are_solved_from_pieces(backend, rng):
    n_classes, each = 6, 25
    V, X = rng.standard_normal((n_classes * each, 3)), rng.standard_normal((300, 3))
    mask, own = pair_mask(np.repeat(np.arange(n_classes), each), n_classes), np.zeros((n_classes, 15))
    for p, pair in enumerate(class_pairs(n_classes)):
        own[pair, p] = 1.0
    settings = {
        "sizes": np.array([60, 40, 0, 100, 70, 30]),
        "weights": own,
        "background": 0.02,
        "thin": 4,
        "mask": mask,
    }
    T, kernel = rng.standard_normal((300, 15)), RBF(0.5)
    assert len(pieces(mask[:, own[0] > 0])) == n_classes
    value, coef, constants = directly(kernel, X, T, V, ridge=1e-3, **settings)
    for max_bytes in (None, 30_000):
        objective = ProjectedError(
            kernel, *map(backend.asarray, (X, T, V)), ridge=1e-3, max_bytes=max_bytes, **settings
        )
        for _ in range(2):  # what the first evaluation left behind does not matter to the second
            got = objective.value_and_grad(backend.asarray(V))
        assert got.value == pytest.approx(value, rel=1e-9)
        np.testing.assert_allclose(to_numpy(got.coef), coef, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(to_numpy(got.intercept), constants, rtol=1e-6)


def test_a_perfect_fit_has_no_error_and_no_gradient(rng):
    X, V = rng.standard_normal((40, 2)), rng.standard_normal((5, 2))
    A, b = rng.standard_normal((5, 2)), np.array([1.0, -2.0])
    kernel = RBF(0.7)
    got = ProjectedError(kernel, X, kernel.gram(X, V) @ A + b, V, ridge=1e-14).value_and_grad(V)
    assert got.value < 1e-10
    assert np.abs(got.vectors).max() < 1e-6
    np.testing.assert_allclose(got.coef, A, rtol=1e-4)
    np.testing.assert_allclose(got.intercept, b, rtol=1e-4)


def test_vectors_of_very_different_length_are_all_of_use(rng):
    """The values of a polynomial grow with the vector; a ridge to the measure of the longest would silence the rest."""
    kernel = Polynomial(1.0, 1.0, 4)
    X = rng.uniform(-1, 1, (60, 2))
    V = rng.uniform(-1, 1, (15, 2)) * np.logspace(0, 3, 15)[:, None]
    T = (X[:, :1] - 0.3) ** 2 * X[:, 1:]  # of degree 3, so that 15 vectors of degree 4 in two features hold it
    assert ProjectedError(kernel, X, T, V).value_and_grad(V).value < 1e-3


def test_a_vector_that_says_nothing_gets_no_coefficient(X, T):
    V = np.vstack([X[:3], np.zeros((1, D))])
    got = ProjectedError(Linear(), X, T, V).value_and_grad(V)
    assert np.isfinite(got.coef).all()
    assert not got.coef[3].any()


def test_identical_vectors_share_their_coefficient(X, T):
    V = np.repeat(X[:2], 3, axis=0)
    got = ProjectedError(RBF(0.3), X, T, V).value_and_grad(V)
    assert np.isfinite(got.coef).all()
    np.testing.assert_allclose(got.coef[0], got.coef[1], rtol=1e-4)
    value, _, _ = directly(RBF(0.3), X, T, V, ridge=1e-7)
    assert got.value == pytest.approx(value, rel=1e-6)


def test_an_output_without_any_vector_is_its_mean(X, V, T):
    mask = np.ones((M, OUTPUTS), dtype=bool)
    mask[:, 1] = False
    got = ProjectedError(RBF(0.3), X, T, V, mask=mask).value_and_grad(V)
    assert not got.coef[:, 1].any()
    assert got.intercept[1] == pytest.approx(T[:, 1].mean())
