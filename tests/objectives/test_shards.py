"""Sums over shards are those of the same rows in one place, however the rows are divided."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from svmpress.kernels import RBF, ChiSquared, Laplacian, Linear, Polynomial
from svmpress.numerics import LocalShards, Shard, added, drawn_rows, sample_of
from svmpress.objectives import (
    Arrangement,
    MarginObjective,
    Parameters,
    ProjectedError,
    ShardMargins,
    ShardSums,
    arranged,
    sides_of,
)

N, D, M_VECTORS, K = 240, 4, 7, 3
CUTS = [(), (100,), (1, 60, 61, 200)]
KERNELS = [RBF(0.3), Laplacian(0.2), Polynomial(0.5, 1.0, 2), Linear(), ChiSquared(0.4)]


def shards_of(X, cuts=(), **columns) -> LocalShards:
    edges = [0, *cuts, len(columns["targets"])]
    parts = (slice(a, b) for a, b in pairwise(edges))
    return LocalShards(tuple(Shard(X[p], {k: a[p] for k, a in columns.items()}, p.start) for p in parts))


@pytest.fixture
def rows(rng):
    X = rng.uniform(0, 1, (N, D))
    return X, rng.integers(0, K, N), rng.standard_normal((N, K)) + 5.0, X[:M_VECTORS] + 0.1


def same(a, b, ulps=2e4):
    for name in ("value", "vectors", "gamma", "coef", "intercept"):
        x, y = (np.asarray(getattr(p, name), dtype=float) for p in (a, b))
        np.testing.assert_allclose(x, y, rtol=0, atol=ulps * np.finfo(float).eps * max(1.0, np.abs(y).max()))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_the_projected_error_is_that_of_all_rows(rows, kernel, cuts, form):
    X, _, T, V = rows
    common = T.mean(axis=0)
    shards = shards_of(form(X), cuts, targets=T).arranged(arranged, Arrangement(common))
    sums = ShardSums(shards, N, form(X), np.ones((1, K)))
    norm = 0.1 if kernel.definite else 0.0
    got = ProjectedError.over(kernel, sums, V, common=common, weights=np.ones((1, K)), ridge=1e-3, norm=norm)
    expected = ProjectedError(kernel, form(X), T, V, ridge=1e-3, norm=norm)
    same(got.value_and_grad(V, width=kernel.has_width), expected.value_and_grad(V, width=kernel.has_width))


@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("masked", [False, True])
def test_groups_and_a_background_that_no_cut_changes(rows, cuts, masked):
    X, classes, T, V = rows
    weights = np.abs(sides_of(np.arange(K), K, pairwise=True))
    mask = np.arange(M_VECTORS)[:, None] % 3 != np.arange(K) if masked else None
    order = np.argsort(classes, kind="stable")
    common, options = T.mean(axis=0), {"weights": weights, "ridge": 1e-3, "mask": mask}
    # every row is heard: the background of one place and that of shards are the same rows
    how = Arrangement(common, by="classes", thin=1)
    shards = shards_of(X, cuts, targets=T, classes=classes).arranged(arranged, how)
    sums = ShardSums(shards, N, X[order], weights, background=0.1, thin=1, mask=mask)
    got = ProjectedError.over(RBF(0.3), sums, V, common=common, **options).value_and_grad(V, width=True)
    expected = ProjectedError(
        RBF(0.3), X[order], T[order], V, sizes=np.bincount(classes), background=0.1, thin=1, **options
    ).value_and_grad(V, width=True)
    same(got, expected)
    thinned = []
    for some in (cuts, ()):
        how = Arrangement(common, by="classes", thin=4)
        shards = shards_of(X, some, targets=T, classes=classes).arranged(arranged, how)
        sums = ShardSums(shards, N, X[order], weights, background=0.1, thin=4, mask=mask)
        thinned.append(ProjectedError.over(RBF(0.3), sums, V, common=common, **options).value_and_grad(V))
    same(*(thing for thing in thinned))
    assert abs(thinned[0].value - expected.value) > 1e-9


@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("pairwise", [False, True])
@pytest.mark.parametrize("trust", [False, True])
def test_margins_are_those_of_all_rows(rows, cuts, pairwise, trust):
    X, classes, T, V = rows
    at = Parameters(RBF(0.3), V, np.arange(M_VECTORS * K).reshape(-1, K) / 10 - 1, np.array([0.1, 0.2, 0.3]))
    sides = sides_of(np.arange(K), K, pairwise)
    order = np.argsort(classes, kind="stable")
    thin = 1 if pairwise else 0
    shards = shards_of(X, cuts, targets=T, classes=classes)
    shards = shards.arranged(arranged, Arrangement(np.zeros(K), by="classes", thin=thin))
    got = ShardMargins(shards, N, X, sides, trust=trust, thin=max(1, thin)).value_and_grad(at, width=True)
    expected = MarginObjective(X[order], T[order], np.bincount(classes), sides, trust=trust)
    same(got, expected.value_and_grad(at, width=True))


def test_targets_are_clipped_before_they_are_seen_from_their_directions(rows):
    X, _, T, _ = rows
    D = np.array([[1.0], [2.0], [3.0]])
    shard = arranged(Shard(X, {"targets": T}), Arrangement(np.array([0.5]), clip=4.0, directions=D))
    np.testing.assert_allclose(shard.columns["targets"], np.minimum(T, 4.0) @ D - 0.5)


@pytest.mark.parametrize("cuts", CUTS)
def test_guards_count_like_the_rows_of_shards(rows, cuts):
    X, _, T, V = rows
    common, guards = T.mean(axis=0), Shard(V, {"targets": np.zeros((M_VECTORS, K))})
    how = Arrangement(common)
    shards = shards_of(X, cuts, targets=T).arranged(arranged, how)
    every = np.concatenate([X, V]), np.concatenate([T, np.zeros((M_VECTORS, K))])
    sums = ShardSums(shards, N, every[0], np.ones((1, K)), guards=arranged(guards, how))
    got = ProjectedError.over(RBF(0.3), sums, V, common=common, weights=np.ones((1, K)), ridge=1e-3)
    same(got.value_and_grad(V), ProjectedError(RBF(0.3), *every, V, ridge=1e-3).value_and_grad(V))


def test_a_sample_is_the_same_however_rows_are_divided(rows):
    X, classes, T, _ = rows
    whole = sample_of(shards_of(X, targets=T, classes=classes), 50, seed=3)
    for cuts in CUTS:
        found = sample_of(shards_of(X, cuts, targets=T, classes=classes), 50, seed=3)
        np.testing.assert_array_equal(found.X, whole.X)
        np.testing.assert_array_equal(found.columns["classes"], whole.columns["classes"])
    np.testing.assert_array_equal(sample_of(shards_of(X, (7,), targets=T), N, 0).X, X)
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(sample_of(shards_of(X, targets=T), 50, seed=4).X, whole.X)


def test_every_row_is_as_likely_to_be_drawn():
    counts = sum(np.bincount(drawn_rows(10, 4, seed), minlength=10) for seed in range(2000))
    assert np.abs(counts / 2000 - 0.4).max() < 0.05
    drawn = drawn_rows(10**12, 1000, seed=0)  # no memory for each of them
    assert len(np.unique(drawn)) == 1000
    assert drawn[-1] < 10**12


def test_sums_of_several():
    assert added([(1, 2.0)]) == (1, 2.0)
    X, parts = np.ones((3, 2)), LocalShards((Shard(np.ones((3, 2))), Shard(2 * np.ones((1, 2)), first=3)))
    assert parts.sizes == (3, 1)
    assert parts.n_features == 2
    with_more = parts.beside(lambda shard, by: {"double": by * shard.X[:, 0]}, 2)
    assert with_more.each(lambda shard, item: (item, shard.columns["double"].tolist()), ["a", "b"]) == [
        ("a", [2, 2, 2]),
        ("b", [4]),
    ]
    assert X.sum() == 6
