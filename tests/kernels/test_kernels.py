"""The conformance kit of kernels: every entry of ``KERNELS`` runs through all of it.

A new kernel needs one line in ``NAIVE`` (its value for one pair, written as plainly as possible) and one in
``NAIVE_SLOPES`` (the derivative of that value by the vector).
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from svmpress.errors import InputError
from svmpress.kernels import KERNELS, RBF, ChiSquared, Kernel, Laplacian, Linear, Polynomial, Sigmoid, kernel_by_name
from svmpress.numerics import to_numpy

GAMMA, COEF0, DEGREE = 0.3, 0.5, 3

NAIVE = {
    "linear": lambda x, v, g: x @ v,
    "poly": lambda x, v, g: (g * (x @ v) + COEF0) ** DEGREE,
    "sigmoid": lambda x, v, g: math.tanh(g * (x @ v) + COEF0),
    "rbf": lambda x, v, g: math.exp(-g * sum((a - b) ** 2 for a, b in zip(x, v, strict=True))),
    "laplacian": lambda x, v, g: math.exp(-g * sum(abs(a - b) for a, b in zip(x, v, strict=True))),
    "chi2": lambda x, v, g: math.exp(-g * sum((a - b) ** 2 / (a + b) for a, b in zip(x, v, strict=True) if a + b > 0)),
}

NAIVE_SLOPES = {
    "linear": lambda x, v: x,
    "poly": lambda x, v: DEGREE * (GAMMA * (x @ v) + COEF0) ** (DEGREE - 1) * GAMMA * x,
    "sigmoid": lambda x, v: GAMMA * x / math.cosh(GAMMA * (x @ v) + COEF0) ** 2,
    "rbf": lambda x, v: 2 * GAMMA * (x - v) * NAIVE["rbf"](x, v, GAMMA),
    "laplacian": lambda x, v: GAMMA * np.sign(x - v) * NAIVE["laplacian"](x, v, GAMMA),
    "chi2": lambda x, v: GAMMA * (x - v) * (3 * x + v) / (x + v) ** 2 * NAIVE["chi2"](x, v, GAMMA),
}


def conformance_kernel(name: str) -> Kernel:
    return kernel_by_name(name, gamma=GAMMA, coef0=COEF0, degree=DEGREE)


def naive_gram(kernel: Kernel, X, V, gamma: float = GAMMA):
    value = NAIVE[kernel.name]
    return np.array([[value(x, v, gamma) for v in V] for x in X])


def fourth_order(f, x: float, step: float = 1e-3) -> float:
    """Return f'(x) by the five-point stencil: its error falls with the fourth power of the step."""
    return (8 * (f(x + step) - f(x - step)) - (f(x + 2 * step) - f(x - 2 * step))) / (12 * step)


@pytest.fixture(params=sorted(KERNELS))
def kernel(request):
    return conformance_kernel(request.param)


@pytest.fixture
def V(rng):
    """Four vectors, positive so that every kernel is defined on them, no value equal to one of the rows."""
    return rng.uniform(0.3, 1.7, size=(4, 5))


@pytest.fixture
def G(rng):
    return rng.normal(size=(12, 4))


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    return request.param


@pytest.fixture(params=["dense", "csr"])
def make_rows(request, backend):
    """Bring NumPy rows to the form under test."""

    def make(full, dtype="float64"):
        return sparse.csr_array(full.astype(dtype)) if request.param == "csr" else backend.asarray(full, dtype)

    return make


def test_every_kernel_has_its_naive_oracle():
    assert set(NAIVE) == set(NAIVE_SLOPES) == set(KERNELS)


# ---------------------------------------------------------------------------------------------------------
# gram
# ---------------------------------------------------------------------------------------------------------


def test_gram_equals_the_naive_loop(kernel, backend, make_rows, dtype, sparse_rows, V, assert_close):
    full = sparse_rows.toarray()
    K = kernel.gram(make_rows(full, dtype), backend.asarray(V, dtype))
    assert to_numpy(K).dtype == dtype
    assert_close(K, naive_gram(kernel, full, V))


def test_gram_of_sparse_vectors(kernel, make_rows, sparse_rows, assert_close):
    full = sparse_rows.toarray()
    assert_close(kernel.gram(make_rows(full), sparse_rows[:4]), naive_gram(kernel, full, full[:4]))


def test_gram_of_the_rows_themselves_is_symmetric(kernel, make_rows, sparse_rows, assert_close):
    rows = make_rows(sparse_rows.toarray())
    K = to_numpy(kernel.gram(rows, rows))
    assert_close(K, K.T)


def test_permuting_rows_permutes_the_gram(kernel, backend, make_rows, sparse_rows, V, rng, assert_close):
    full, order = sparse_rows.toarray(), rng.permutation(12)
    K = to_numpy(kernel.gram(make_rows(full), backend.asarray(V)))
    assert_close(kernel.gram(make_rows(full[order]), backend.asarray(V)), K[order])


def test_no_rows_and_no_vectors_give_empty_grams(kernel, backend, make_rows, V):
    assert kernel.gram(make_rows(np.zeros((0, 5))), backend.asarray(V)).shape == (0, 4)
    assert kernel.gram(make_rows(np.ones((3, 5))), backend.asarray(np.zeros((0, 5)))).shape == (3, 0)


def test_arguments_are_left_alone(kernel, backend, sparse_rows, V, G):
    """In-place arithmetic must not reach the caller's arrays, of which K and G are the most at risk."""
    held = [backend.asarray(a) for a in (sparse_rows.toarray(), V, naive_gram(kernel, sparse_rows.toarray(), V), G)]
    before = [to_numpy(a).copy() for a in held]
    X, V, K, G = held
    kernel.gram(X, V)
    kernel.pullback(X, V, K, G)
    if kernel.has_width:
        kernel.pullback_gamma(X, V, K, G)
    for a, b in zip(held, before, strict=True):
        np.testing.assert_array_equal(to_numpy(a), b)


def test_not_every_polynomial_is_positive_definite():
    assert Polynomial(gamma=1.0, coef0=1.0, degree=2).definite
    assert not Polynomial(gamma=1.0, coef0=-1.0, degree=2).definite
    assert not Polynomial(gamma=1.0, coef0=1.0, degree=2.5).definite
    assert not Sigmoid().definite
    line = np.array([[1.0], [2.0]])
    assert np.linalg.eigvalsh(Polynomial(gamma=1.0, coef0=-1.0, degree=2).gram(line, line))[0] < 0


@given(scale=st.floats(-3, 3), seed=st.integers(0, 99))
@pytest.mark.parametrize("name", sorted(name for name in KERNELS if conformance_kernel(name).definite))
def test_positive_definite_kernels_have_no_negative_eigenvalue(name, scale, seed):
    X = np.random.default_rng(seed).uniform(size=(8, 3)) * 10.0**scale
    w = np.linalg.eigvalsh(conformance_kernel(name).gram(X, X))
    assert w[0] >= -1e-12 * w[-1]


# ---------------------------------------------------------------------------------------------------------
# pullback
# ---------------------------------------------------------------------------------------------------------


def test_pullback_equals_the_naive_loop(kernel, backend, make_rows, dtype, sparse_rows, V, G, assert_close):
    full = sparse_rows.toarray()
    slope = NAIVE_SLOPES[kernel.name]
    naive = np.array([sum(G[i, j] * slope(x, v) for i, x in enumerate(full)) for j, v in enumerate(V)])
    X, vectors = make_rows(full, dtype), backend.asarray(V, dtype)
    got = kernel.pullback(X, vectors, kernel.gram(X, vectors), backend.asarray(G, dtype))
    assert to_numpy(got).dtype == dtype
    assert_close(got, naive)


def test_pullback_equals_numerical_derivatives(kernel, backend, make_rows, sparse_rows, V, G):
    X = make_rows(sparse_rows.toarray())
    weights = backend.asarray(G)

    def loss(j, k, value):
        moved = V.copy()
        moved[j, k] = value
        return float(backend.xp.sum(weights * kernel.gram(X, backend.asarray(moved))))

    numerical = np.array(
        [[fourth_order(lambda t, j=j, k=k: loss(j, k, t), V[j, k]) for k in range(5)] for j in range(4)]
    )
    vectors = backend.asarray(V)
    got = to_numpy(kernel.pullback(X, vectors, kernel.gram(X, vectors), weights))
    np.testing.assert_allclose(got, numerical, rtol=1e-8, atol=1e-9 * np.abs(numerical).max())


def test_pullback_gamma_equals_numerical_derivatives(kernel, backend, make_rows, dtype, sparse_rows, V, G):
    full = sparse_rows.toarray()
    X, vectors, weights = make_rows(full, dtype), backend.asarray(V, dtype), backend.asarray(G, dtype)
    K = kernel.gram(X, vectors)
    if not kernel.has_width:
        with pytest.raises(InputError, match="no width to learn"):
            kernel.pullback_gamma(X, vectors, K, weights)
        return
    numerical = fourth_order(lambda g: (G * naive_gram(kernel, full, V, g)).sum(), GAMMA)
    through_with_gamma = fourth_order(
        lambda g: float((G * to_numpy(kernel.with_gamma(g).gram(make_rows(full), backend.asarray(V)))).sum()), GAMMA
    )
    got = kernel.pullback_gamma(X, vectors, K, weights)
    assert isinstance(got, float)
    assert got == pytest.approx(numerical, rel=1e-8 if dtype == "float64" else 1e-4)
    assert through_with_gamma == pytest.approx(numerical, rel=1e-8)


def test_pullback_of_no_rows_is_zero(kernel, backend, make_rows, V):
    X, vectors, empty = make_rows(np.zeros((0, 5))), backend.asarray(V), backend.asarray(np.zeros((0, 4)))
    np.testing.assert_array_equal(to_numpy(kernel.pullback(X, vectors, empty, empty)), np.zeros((4, 5)))


def test_values_that_underflow_have_no_slope(backend):
    """exp(-γ D) = 0 has log k = -inf, which must not turn the derivatives into NaN."""
    X, V, G = (backend.asarray(a) for a in (np.zeros((1, 2)), np.full((1, 2), 1e3), np.ones((1, 1))))
    for kernel in (RBF(1.0), Laplacian(1.0), ChiSquared(1.0)):
        K = kernel.gram(X, V)
        assert float(K[0, 0]) == 0
        assert kernel.pullback_gamma(X, V, K, G) == 0
        np.testing.assert_array_equal(to_numpy(kernel.pullback(X, V, K, G)), np.zeros((1, 2)))


def test_chi_squared_where_both_features_are_zero(backend):
    X, V = backend.asarray([[0.0, 1.0]]), backend.asarray([[0.0, 2.0]])
    K = ChiSquared(0.5).gram(X, V)
    assert float(K[0, 0]) == pytest.approx(math.exp(-0.5 / 3))
    slope = to_numpy(ChiSquared(0.5).pullback(X, V, K, backend.asarray([[1.0]])))
    assert np.isfinite(slope).all()
    assert slope[0, 0] == 0


def test_a_polynomial_of_degree_zero_is_constant(backend, V):
    X, vectors = backend.asarray(np.ones((3, 5))), backend.asarray(V)
    K = Polynomial(gamma=1.0, coef0=0.0, degree=0).gram(X, vectors)
    np.testing.assert_array_equal(to_numpy(K), np.ones((3, 4)))
    np.testing.assert_array_equal(
        to_numpy(Polynomial(gamma=1.0, coef0=0.0, degree=0).pullback(X, vectors, K, K)), np.zeros((4, 5))
    )


# ---------------------------------------------------------------------------------------------------------
# Parameters
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RBF(-1.0), "gamma of the rbf kernel must not be negative"),
        (lambda: RBF(float("nan")), "gamma of the rbf kernel must be a finite number"),
        (lambda: RBF("scale"), "gamma of the rbf kernel must be a finite number, not 'scale'"),
        (lambda: Polynomial(degree=-1), "degree of the poly kernel must not be negative"),
        (lambda: Sigmoid(coef0=float("inf")), "coef0 of the sigmoid kernel must be a finite number"),
        (
            lambda: kernel_by_name("rfb"),
            "unknown kernel 'rfb'; svmpress knows chi2, laplacian, linear, poly, rbf, sigmoid",
        ),
        (lambda: ChiSquared().gram(-np.ones((1, 1)), np.ones((1, 1))), "features >= 0, and the rows hold negative"),
        (lambda: ChiSquared().gram(np.ones((1, 1)), -np.ones((1, 1))), "features >= 0, and the vectors hold negative"),
        (lambda: RBF(0.0).pullback_gamma(np.ones((1, 1)), *[np.ones((1, 1))] * 3), "not available at gamma = 0"),
    ],
)
def test_bad_parameters_are_errors_for_people(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_kernels_are_equal_by_their_parameters():
    assert kernel_by_name("poly", gamma=0.5, coef0=1.0, degree=2) == Polynomial(gamma=0.5, coef0=1.0, degree=2)
    assert kernel_by_name("linear", gamma=0.5) == Linear()
    assert RBF(1.0).with_gamma(2) == RBF(2.0)
    assert RBF(1.0) != Laplacian(1.0)
