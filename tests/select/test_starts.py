"""Starts: clusters and rows that LARS picks, for dense and sparse rows, the same on every run."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from svmpress.kernels import RBF
from svmpress.objectives import ProjectedError
from svmpress.select import SelectionStatus, kmeans_centres, lars_rows
from svmpress.select.columns import GramColumns
from svmpress.select.lars import lars_path


def test_centres_lie_in_the_clusters():
    X, y = make_blobs(600, 4, centers=5, cluster_std=0.05, random_state=1)
    centres = kmeans_centres(X, 40, seed=0)
    assert centres.shape == (40, 4)
    distance = np.sqrt(((centres[:, None] - X) ** 2).sum(axis=2)).min(axis=1)
    assert np.median(distance) < 0.05
    means = np.array([X[y == c].mean(axis=0) for c in range(5)])
    assert np.sqrt(((means[:, None] - centres) ** 2).sum(axis=2)).min(axis=1).max() < 0.2  # every cluster has one


def test_centres_are_the_same_for_the_same_seed_and_others_for_another():
    X, _ = make_blobs(300, 3, centers=4, random_state=0)
    np.testing.assert_array_equal(kmeans_centres(X, 10, seed=3), kmeans_centres(X, 10, seed=3))
    assert not np.array_equal(kmeans_centres(X, 10, seed=3), kmeans_centres(X, 10, seed=4))


def test_sparse_rows_have_the_centres_of_dense_ones(rng):
    X = rng.uniform(size=(200, 6)) * (rng.uniform(size=(200, 6)) < 0.4)
    np.testing.assert_allclose(kmeans_centres(sparse.csr_array(X), 8, 0), kmeans_centres(X, 8, 0), atol=1e-12)


def test_no_more_rows_than_centres_are_returned_as_they_are(sparse_rows):
    for m in (12, 30):
        np.testing.assert_array_equal(kmeans_centres(sparse_rows, m, 0), sparse_rows.toarray())
    single = kmeans_centres(sparse_rows.astype(np.float32), 12, 0)
    assert single.dtype == np.float64


def test_fewer_distinct_rows_than_centres_are_no_trouble():
    X = np.tile(np.eye(3), (50, 1))
    centres = kmeans_centres(X, 10, seed=0)
    assert centres.shape == (10, 3)
    assert np.isfinite(centres).all()


def teacher(rng, n=400, n_outputs=3):
    X = rng.standard_normal((n, 4))
    V = rng.standard_normal((30, 4))
    return RBF(0.3), X, RBF(0.3).gram(X, V) @ rng.standard_normal((30, n_outputs))


def test_lars_picks_rows(rng):
    kernel, X, T = teacher(rng)
    V, path = lars_rows(kernel, X, T, 12, seed=0)
    assert V.shape == (12, 4)
    assert len(path) == 12
    assert path.status is SelectionStatus.COMPLETE
    assert all((v == X).all(axis=1).any() for v in V)
    assert len(np.unique(V, axis=0)) == 12


def test_lars_on_all_rows_is_the_plain_path(rng):
    kernel, X, T = teacher(rng)
    V, path = lars_rows(kernel, X, T, 12, seed=5)
    gram = GramColumns(kernel, X, X, ridge=1e-6)
    centred = T - T.mean(axis=0)
    same = lars_path(gram, gram.correlations(centred), 12, total=float(np.sum(centred**2)))
    np.testing.assert_array_equal(V, X[same.order])
    np.testing.assert_allclose(path.error, same.error, rtol=1e-9)


def test_many_outputs_of_few_directions_are_picked_like_the_directions(rng):
    kernel, X, T = teacher(rng)
    turn = np.linalg.qr(rng.standard_normal((40, 3)))[0].T  # 40 outputs that are 3 rotated ones
    few, _ = lars_rows(kernel, X, T, 10, seed=0)
    many, path = lars_rows(kernel, X, T @ turn, 10, seed=0)
    assert path.correlations.shape[1] < 40
    np.testing.assert_array_equal(few, many)


def test_lars_is_a_better_start_than_random_rows(rng):
    kernel, X, T = teacher(rng)

    def error(V):
        return ProjectedError(kernel, X, T, V).value_and_grad(V).value

    V, _ = lars_rows(kernel, X, T, 20, seed=0)
    by_chance = [error(X[rng.permutation(400)[:20]]) for _ in range(5)]
    assert error(V) < 0.8 * min(by_chance)


def test_a_low_rank_cuts_the_number_of_rows(rng):
    X = np.tile(rng.standard_normal((5, 2)), (20, 1))
    V, path = lars_rows(RBF(1.0), X, rng.standard_normal((100, 1)), 9, seed=0)
    assert len(V) == len(path) == 5
    assert path.status is SelectionStatus.DEPENDENT


@pytest.mark.torch
def test_lars_picks_the_same_rows_on_torch(rng):
    from svmpress.numerics import Backend

    kernel, X, T = teacher(rng)
    here, _ = lars_rows(kernel, X, T, 12, seed=0)
    there, _ = lars_rows(kernel, X, T, 12, seed=0, backend=Backend.of("torch"))
    np.testing.assert_array_equal(here, there)
