"""Reduced-SVM: the objective falls with every vector, and candidates are judged by what they really bring."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize_scalar

from svmpress.errors import InputError
from svmpress.kernels import RBF, Polynomial, Sigmoid
from svmpress.objectives import sides_of
from svmpress.select import reduced_svm
from svmpress.select.hinge import fit_squared_hinge
from svmpress.select.reduced_svm import _Path

KERNEL, C = RBF(0.5), 5.0


@pytest.fixture
def rings(rng):
    """Two noisy rings that overlap, (200, 2), and their labels."""
    radius = np.repeat([1.0, 2.0], 100) + 0.3 * rng.standard_normal(200)
    angle = rng.uniform(0, 2 * np.pi, 200)
    return np.c_[radius * np.cos(angle), radius * np.sin(angle)], np.repeat([-1.0, 1.0], 100)


@pytest.fixture
def three_classes(rng):
    """Three overlapping clusters, (150, 4), and the sides of their three pairs."""
    classes = np.repeat(np.arange(3), 50)
    X = rng.standard_normal((150, 4)) + 1.5 * np.eye(4)[classes]
    return X, sides_of(classes, 3, pairwise=True)


def equation_1(kernel, X, Y, B, A, b, C):
    """Equation 1 summed over machines, as it is written."""
    Y = Y.reshape(len(Y), -1)
    loss = np.maximum(np.abs(Y) - Y * (kernel.gram(X, B) @ A + b), 0) ** 2
    return np.trace(A.T @ kernel.gram(B, B) @ A) + C * loss.sum()


@pytest.mark.parametrize(
    ("kernel", "most"),
    [(KERNEL, 20), (Polynomial(0.2, 1.0, 3), 9)],  # cubics of two variables have ten dimensions
    ids=["rbf", "poly"],
)
def test_the_objective_falls_with_every_addition(kernel, most, rings):
    X, y = rings
    fits = list(reduced_svm(kernel, X, y, range(1, most + 1), C, seed=3))
    values = [equation_1(kernel, X, y, X[f.indices], f.coef, f.intercept, C) for f in fits]
    assert np.all(np.diff(values) < 0)
    for fit, value in zip(fits, values, strict=True):
        assert fit.objective[-1] == pytest.approx(value, rel=1e-8)
        assert np.all(np.diff(fit.objective) < 0)
        assert len(fit.objective) == len(fit.indices) + 1


def test_machines_share_a_basis_and_the_sum_of_their_objectives_falls(three_classes):
    X, Y = three_classes
    fits = list(reduced_svm(KERNEL, X, Y, [1, 2, 5, 12], C))
    values = [equation_1(KERNEL, X, Y, X[f.indices], f.coef, f.intercept, C) for f in fits]
    assert [f.coef.shape for f in fits] == [(1, 3), (2, 3), (5, 3), (12, 3)]
    assert np.all(np.diff(values) < 0)
    assert fits[-1].objective[-1] == pytest.approx(values[-1], rel=1e-8)


def test_the_objective_falls_between_re_optimisations_too(three_classes):
    X, Y = three_classes
    (lazy,) = reduced_svm(KERNEL, X, Y, [30], C, growth=100.0)
    assert np.all(np.diff(lazy.objective) < 0)
    assert lazy.objective[-1] == pytest.approx(
        equation_1(KERNEL, X, Y, X[lazy.indices], lazy.coef, lazy.intercept, C), rel=1e-8
    )


def test_the_best_candidate_of_the_pool_joins_by_its_exact_decrease(rings):
    """With all rows in the pool and all of them finalists' rivals, a naive search agrees."""
    X, y = rings
    path = _Path(KERNEL, X, y[:, None], C, 200, 1, np.random.default_rng(0), 2**28)
    for _ in range(4):
        assert path.grow()
        path.optimise()
    before = path.objective[-1]

    def decrease(j):
        def value(t):
            B = X[[*path.basis, j]]
            A = np.append(path.coef, t)[:, None]
            return equation_1(KERNEL, X, y, B, A, path.intercept, C)

        return before - minimize_scalar(value, tol=1e-10).fun

    wanted = np.array([decrease(j) if j not in path.basis else 0.0 for j in range(200)])
    path._fill(200)
    assert path.grow()
    found = before - path.objective[-1]
    assert found == pytest.approx(wanted[path.basis[-1]], rel=1e-6)
    assert found >= 0.9 * wanted.max()  # finalists are ranked by a quadratic model


def test_every_size_read_is_at_its_optimum(rings):
    X, y = rings
    for fit in reduced_svm(KERNEL, X, y, [3, 17], C):
        best = fit_squared_hinge(KERNEL, X, y, X[fit.indices], C)
        assert fit.objective[-1] == pytest.approx(float(best.objective[0]), rel=1e-6)


def test_sizes_are_read_off_one_path(rings):
    X, y = rings
    small, large = reduced_svm(KERNEL, X, y, [4, 12], C, seed=1)
    assert large.indices[:4].tolist() == small.indices.tolist()
    assert len(set(large.indices.tolist())) == 12
    np.testing.assert_array_equal(large.objective[:4], small.objective[:4])


@pytest.mark.parametrize("growth", [1.1, 4 / 3])
def test_a_path_does_not_depend_on_which_sizes_are_read(rings, growth):
    """Beyond twenty vectors not every one is re-optimised: to read a size must not be one more occasion."""
    X, y = rings
    (alone,) = reduced_svm(KERNEL, X, y, [60], C, growth=growth)
    *_, among = reduced_svm(KERNEL, X, y, [17, 23, 37, 60], C, growth=growth)
    np.testing.assert_array_equal(among.indices, alone.indices)
    np.testing.assert_array_equal(among.coef, alone.coef)


def test_the_seed_decides(rings):
    X, y = rings
    runs = [next(reduced_svm(KERNEL, X, y, [8], C, seed=s)).indices.tolist() for s in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]


def test_greedy_choice_beats_a_random_basis(rings):
    X, y = rings
    (greedy,) = reduced_svm(KERNEL, X, y, [10], C)
    random = [
        float(fit_squared_hinge(KERNEL, X, y, X[np.random.default_rng(s).permutation(200)[:10]], C).objective[0])
        for s in range(5)
    ]
    assert greedy.objective[-1] < min(random)


def test_rows_that_cannot_help_end_the_path():
    X = np.repeat(np.array([[0.0], [1.0], [3.0]]), 5, axis=0)
    y = np.repeat([1.0, -1.0, 1.0], 5)
    (fit,) = reduced_svm(RBF(1.0), X, y, [9], C)
    assert len(fit.indices) == 3
    full = fit_squared_hinge(RBF(1.0), X, y, X[[0, 5, 10]], C)
    assert fit.objective[-1] == pytest.approx(float(full.objective[0]), rel=1e-6)


def test_sparse_rows_give_the_dense_path(rings):
    X, y = rings
    (dense,) = reduced_svm(KERNEL, X, y, [6], C)
    (csr,) = reduced_svm(KERNEL, sparse.csr_array(X), y, [6], C)
    assert csr.indices.tolist() == dense.indices.tolist()
    np.testing.assert_allclose(csr.coef, dense.coef, rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sizes": [3, 2]}, "sizes must ascend"),
        ({"sizes": []}, "sizes must ascend"),
        ({"Y": np.full(200, 2.0)}, "Y must hold"),
        ({"pool": 0}, "pool and fresh"),
        ({"growth": 1.0}, "growth above 1"),
        ({"kernel": Sigmoid(0.1)}, "positive definite"),
    ],
)
def test_bad_arguments(rings, change, message):
    X, y = rings
    arguments = {"kernel": KERNEL, "X": X, "Y": y, "sizes": [2], **change}
    with pytest.raises(InputError, match=message):
        next(reduced_svm(**arguments))
