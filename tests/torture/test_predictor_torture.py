"""Odd models against fifty digits: the predictor, compiled and not, dense and sparse.

Rounding to a double is off by up to eps = 2^-52 of the number, so no value can be better than eps times what is
added up to make it. The unit here is that: with D the sums behind a kernel value and k' its slope by them, a value may
be off by ``ULPS`` times eps (sum |a_j| (|k_j| + |k'_j| D_j) + |b|).
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy import sparse

from svmpress.kernels import RBF, ChiSquared, Laplacian, Linear, Polynomial, Sigmoid
from svmpress.model import KernelExpansion

ULPS = 4
"""Units that any value of this page may be off."""

RNG = np.random.default_rng(5)
BASE = RNG.normal(size=(12, 5))
COEF = RNG.normal(size=(12, 3))


def exact(kernel, V, A, b, X):
    """Return f at each row and what a unit of its error is, from fifty digits."""
    values, units = np.empty((len(X), A.shape[1])), np.empty((len(X), A.shape[1]))
    centre = V.mean(axis=0)
    eps = float(np.finfo(np.result_type(V, A)).eps)
    with mpmath.workdps(50):
        numbers = [[mpmath.mpf(float(v)) for v in row] for row in V]
        weights = [[mpmath.mpf(float(a)) for a in row] for row in A]
        for i, row in enumerate(X):
            x = [mpmath.mpf(float(v)) for v in row]
            parts = [evaluated(kernel, x, v, centre) for v in numbers]
            for c in range(A.shape[1]):
                terms = [w[c] * k for w, (k, _) in zip(weights, parts, strict=True)]
                values[i, c] = float(mpmath.fsum(terms) + mpmath.mpf(float(b[c])))
                unit = mpmath.fsum(abs(w[c]) * u for w, (_, u) in zip(weights, parts, strict=True)) + abs(float(b[c]))
                units[i, c] = float(unit) * eps
    return values, np.maximum(units, np.finfo(np.result_type(V, A)).tiny)


def evaluated(kernel, x, v, centre):
    """Return k(x, v) and |k| + |k'| D, in which D is what is added up to make the argument of k."""
    p = {name: mpmath.mpf(float(value)) for name, value in kernel.params.items()}
    if isinstance(kernel, RBF):
        k = mpmath.exp(-p["gamma"] * sum((a - c) ** 2 for a, c in zip(x, v, strict=True)))
        apart = sum((a - float(m)) ** 2 + (c - float(m)) ** 2 for a, c, m in zip(x, v, centre, strict=True))
        # by how much the rounding of the centred features moves them
        size = sum(2 * abs(a - c) * (abs(a) + abs(c)) for a, c in zip(x, v, strict=True))
        return k, k * (1 + p["gamma"] * (2 * apart + size))
    if isinstance(kernel, Laplacian):
        size = sum(abs(a) + abs(c) for a, c in zip(x, v, strict=True))
        k = mpmath.exp(-p["gamma"] * sum(abs(a - c) for a, c in zip(x, v, strict=True)))
        return k, k * (1 + p["gamma"] * size)
    if isinstance(kernel, ChiSquared):
        total = sum((a - c) ** 2 / (a + c) for a, c in zip(x, v, strict=True) if a + c > 0)
        size = sum(abs(a) + abs(c) for a, c in zip(x, v, strict=True))
        k = mpmath.exp(-p["gamma"] * total)
        return k, k * (1 + p["gamma"] * size)
    dot = sum(a * c for a, c in zip(x, v, strict=True))
    size = sum(abs(a * c) for a, c in zip(x, v, strict=True))
    if isinstance(kernel, Linear):
        return dot, size
    s, reach = p["gamma"] * dot + p["coef0"], p["gamma"] * size + abs(p["coef0"])
    if isinstance(kernel, Sigmoid):
        k = mpmath.tanh(s)
        return k, abs(k) + (1 - k * k) * reach
    degree = p["degree"]
    return s**degree, abs(s) ** degree + degree * abs(s) ** (degree - 1) * reach


def check(kernel, V, X, A=COEF, b=None, ulps=ULPS):
    """Compare every way to the values with the exact ones."""
    A = A[: len(V)]
    b = np.arange(A.shape[1]).astype(A.dtype) if b is None else b
    values, units = exact(kernel, V, A, b, X)
    ways = {"compiled": V, "sparse": sparse.csr_array(V)}
    for name, vectors in ways.items():
        f = KernelExpansion(kernel, vectors, A, b)
        for rows in (X, sparse.csr_array(X)):
            off = np.abs(f.decision_values(rows).astype(float) - values) / units
            assert np.max(off) <= ulps, f"{name}, {type(rows).__name__}: {np.max(off):.1f} units"
    f = KernelExpansion(kernel, V, A, b)
    plain = kernel.gram(X.astype(float), V.astype(float)) @ A.astype(float) + b
    assert np.max(np.abs(plain - values) / units) <= ulps
    assert f.n_vectors == len(V)


ROWS = np.vstack([BASE[:3], RNG.normal(size=(4, 5)), np.zeros((1, 5))])


@pytest.mark.parametrize(
    "kernel",
    [RBF(0.3), Laplacian(0.3), Sigmoid(0.2, 0.1), Polynomial(0.5, 1.0, 3), Polynomial(0.5, 0.0, 7), Linear()],
    ids=str,
)
@pytest.mark.parametrize("M", [1, 3])
def test_every_kernel(kernel, M):
    check(kernel, BASE, ROWS, COEF[:, :M])


def test_chi_squared():
    check(ChiSquared(0.5), np.abs(BASE), np.abs(ROWS))


@pytest.mark.parametrize("exponent", range(-12, 7, 3))
@pytest.mark.parametrize("kernel", [RBF, Laplacian])
def test_widths(kernel, exponent):
    check(kernel(10.0**exponent), BASE, ROWS)


def test_duplicates_and_one_vector():
    check(RBF(0.5), np.repeat(BASE[:1], 12, axis=0), np.repeat(ROWS[:1], 3, axis=0))
    check(RBF(0.5), BASE[:1], ROWS)
    check(Linear(), BASE[:1], ROWS)


@pytest.mark.parametrize("kernel", [RBF(0.5), Laplacian(0.5)], ids=str)
def test_constant_and_huge_features(kernel):
    """A time in seconds, a million, and a feature that never changes."""
    shift, V, X = np.array([1.7e9, 1e6, 3.0, 0.0, 0.0]), BASE.copy(), ROWS.copy()
    V[:, 2], X[:, 2] = 0.0, 0.0
    f = KernelExpansion(kernel, V + shift, COEF, np.zeros(3))
    values, units = exact(kernel, V + shift, COEF, np.zeros(3), X + shift)
    assert np.max(np.abs(f.decision_values(X + shift) - values) / units) <= ULPS


def test_weights_of_a_million():
    check(RBF(0.5), BASE, ROWS, COEF * np.logspace(-6, 6, 12)[:, None])


@pytest.mark.parametrize("kernel", [RBF(0.3), Laplacian(0.3), Polynomial(0.5, 1.0, 2), Linear()], ids=str)
def test_single_precision(kernel):
    V, A, b = BASE.astype(np.float32), COEF.astype(np.float32), np.zeros(3, np.float32)
    X = ROWS.astype(np.float32)
    values, units = exact(kernel, V, A, b, X)
    off = np.abs(KernelExpansion(kernel, V, A, b).decision_values(X).astype(float) - values) / units
    assert np.max(off) <= ULPS


@pytest.mark.parametrize("scale", [1e-308, 5e-324, 1e-160])
@pytest.mark.parametrize("kernel", [RBF(1e300), Laplacian(1.0), Linear(), Sigmoid(1.0, 0.0)], ids=str)
def test_subnormal_numbers(kernel, scale):
    check(kernel, BASE * scale, ROWS * scale)


def test_a_thousand_classes():
    from svmpress.decoders import Argmax
    from svmpress.model import KernelModel

    A = RNG.normal(size=(12, 1000))
    f = KernelExpansion(RBF(0.3), BASE, A, np.zeros(1000))
    values, units = exact(RBF(0.3), BASE, A[:, ::97], np.zeros(11), ROWS)
    assert np.max(np.abs(f.decision_values(ROWS)[:, ::97] - values) / units) <= ULPS
    labels = KernelModel(f, Argmax(np.arange(1000))).predict(ROWS)
    np.testing.assert_array_equal(labels, np.argmax(f.decision_values(ROWS), axis=1))
