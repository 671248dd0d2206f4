"""The reduced-set method: a distance that is the naive one, a true gradient, and never a step that makes it grow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import svmpress
from problems import problem_of
from svmpress.errors import InputError
from svmpress.kernels import RBF, Polynomial
from svmpress.methods import ReducedSet, RkhsDistance
from svmpress.methods.reduced_set import _FixedPoint
from svmpress.model import KernelExpansion
from svmpress.numerics import to_numpy


@pytest.fixture(scope="module")
def digits():
    """An SVC of four digits and the rows that it was trained on."""
    X, y = load_digits(n_class=4, return_X_y=True)
    X = X[:300] / 16
    return SVC(gamma=0.1, C=5).fit(X, y[:300]), X, y[:300]


@pytest.fixture
def source(rng) -> KernelExpansion:
    return KernelExpansion(RBF(0.3), rng.standard_normal((30, 3)), rng.standard_normal((30, 2)), rng.standard_normal(2))


def naive_distance(source, V, B):
    """``Σ_p ||Ψ_p - Ψ'_p||²`` from one Gram matrix over all vectors, relative to ``Σ_p ||Ψ_p||²``."""
    U, G = np.concatenate([source.vectors, V]), np.concatenate([source.coef, -B])
    K = source.kernel.gram(source.vectors, source.vectors)
    return np.trace(G.T @ source.kernel.gram(U, U) @ G) / np.trace(source.coef.T @ K @ source.coef)


def test_the_value_is_the_distance_in_the_kernels_space(source, rng, backend, assert_close):
    V = rng.standard_normal((5, 3))
    found = RkhsDistance(source, backend).value_and_grad(backend.asarray(V))
    assert found.value == pytest.approx(naive_distance(source, V, to_numpy(found.coef)), rel=1e-6)
    best, *_ = np.linalg.lstsq(
        source.kernel.gram(V, V), source.kernel.gram(V, source.vectors) @ source.coef, rcond=None
    )
    np.testing.assert_allclose(to_numpy(found.coef), best, rtol=1e-5, atol=1e-6)
    assert_close(found.intercept, source.intercept)


@pytest.mark.parametrize("kernel", [RBF(0.3), Polynomial(0.2, 1.0, 3)], ids=lambda k: k.name)
@pytest.mark.parametrize("max_bytes", [None, 20_000], ids=["kept", "blocked"])
def test_the_gradient_is_that_of_the_value(kernel, max_bytes, rng):
    source = KernelExpansion(kernel, rng.standard_normal((30, 3)), rng.standard_normal((30, 2)), np.zeros(2))
    distance = RkhsDistance(source, max_bytes=max_bytes)
    V, direction, h = rng.standard_normal((4, 3)), rng.standard_normal((4, 3)), 1e-3
    f = [distance.value_and_grad(V + t * h * direction).value for t in (-2, -1, 1, 2)]
    slope = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h)
    assert slope == pytest.approx(float(np.sum(distance.value_and_grad(V).vectors * direction)), rel=1e-6)


def test_the_distance_never_grows_with_a_vector(digits):
    svc, *_ = digits
    problem = problem_of(svc)
    start = ReducedSet().start(problem, 30)
    assert start.vectors.shape == (30, 64)
    assert np.all(np.diff(start.distance) < 0)
    distance = RkhsDistance(problem.source.expansion)
    for k in (1, 7, 30):
        assert distance.value_and_grad(start.vectors[:k]).value == pytest.approx(start.distance[k - 1], rel=1e-6)


def test_coefficients_along_the_path_are_the_best_for_its_vectors(digits):
    svc, *_ = digits
    expansion = problem_of(svc).source.expansion
    path = _FixedPoint(expansion, expansion.kernel.gamma, 25)
    path.run(0, 10, lambda done, total: None)
    V = path.V + path.centre
    best = np.linalg.solve(expansion.kernel.gram(V, V), expansion.kernel.gram(V, expansion.vectors) @ expansion.coef)
    np.testing.assert_allclose(path.B, best, rtol=1e-5, atol=1e-5 * np.abs(best).max())


def test_the_distance_never_grows_in_the_descent(digits):
    svc, *_ = digits
    problem, method = problem_of(svc), ReducedSet(max_iter=20)
    start = method.start(problem, 12)
    found = method.descend(problem, start.vectors)
    values = [point.value for point in found.trace]
    assert np.all(np.diff(values) <= 0)
    assert found.value == pytest.approx(values[-1])
    assert found.value < 0.9 * start.distance[-1]
    assert found.value == pytest.approx(naive_distance(problem.source.expansion, found.vectors, found.coef), rel=1e-6)


def test_a_vector_found_by_the_fixed_point_is_stationary(rng):
    """One vector for one machine: the slope of D at the point found is 0, and no support vector does better."""
    source = KernelExpansion(RBF(0.3), rng.standard_normal((20, 2)), rng.uniform(0.5, 1, (20, 1)), np.zeros(1))
    model = svmpress.KernelModel(source, svmpress.decoders.Identity(), "regression")
    start = ReducedSet(fixed_point=500).start(problem_of(model), 1)
    distance = RkhsDistance(source)
    at = distance.value_and_grad(start.vectors)
    assert np.max(np.abs(at.vectors)) < 0.01
    assert at.value < min(distance.value_and_grad(v[None]).value for v in source.vectors)


def test_a_tenth_of_the_vectors_answers_like_the_source(digits):
    svc, X, _ = digits
    few = svmpress.compress(svc, vectors=20, method=ReducedSet())
    assert few.model.n_vectors == 20
    assert np.mean(few.model.predict(X) == svc.predict(X)) > 0.97
    np.testing.assert_array_equal(few.model.expansion.intercept, few.source.expansion.intercept)
    assert "distance" in few.summary()


def test_the_data_are_not_looked_at(digits):
    svc, X, y = digits
    a = svmpress.compress(svc, vectors=5, method=ReducedSet(max_iter=3)).model.expansion
    b = svmpress.compress(svc, X, y, vectors=5, method=ReducedSet(max_iter=3)).model.expansion
    np.testing.assert_array_equal(a.vectors, b.vectors)


def test_sparse_support_vectors_give_the_dense_result(digits):
    svc, X, y = digits
    csr = SVC(gamma=0.1, C=5).fit(sparse.csr_matrix(X), y)
    a = svmpress.compress(svc, vectors=6, method=ReducedSet(max_iter=0)).model.expansion
    b = svmpress.compress(csr, vectors=6, method=ReducedSet(max_iter=0)).model.expansion
    np.testing.assert_allclose(a.vectors, b.vectors, atol=1e-4)


def test_other_kernels_start_from_support_vectors(digits):
    _, X, y = digits
    svc = SVC(kernel="poly", degree=2, gamma=0.1, coef0=1).fit(X, y)
    result = svmpress.compress(svc, vectors=15, method=ReducedSet(max_iter=30))
    values = [p.value for p in result.trace["reduced set"]]
    assert values[-1] < values[0]
    assert result.model.n_vectors == 15


def test_vectors_that_add_nothing_are_not_added():
    X = np.repeat(np.array([[0.0, 0.0], [9.0, 9.0]]), 4, axis=0)
    source = KernelExpansion(RBF(1.0), X, np.ones((8, 1)), np.zeros(1))
    model = svmpress.KernelModel(source, svmpress.decoders.Identity(), "regression")
    result = svmpress.compress(model, vectors=5, method=ReducedSet(max_iter=2))
    assert result.model.n_vectors == 2
    assert "depend" in result.message
    np.testing.assert_allclose(result.model.predict(X), model.predict(X), rtol=1e-8)


def test_what_it_cannot_do_is_said(digits, source):
    svc, *_ = digits
    with pytest.raises(InputError, match="layout='shared'"):
        svmpress.compress(svc, vectors=5, layout="libsvm", method=ReducedSet())
    with pytest.raises(InputError, match="source's kernel only"):
        RkhsDistance(source).value_and_grad(source.vectors[:2], RBF(0.7))
