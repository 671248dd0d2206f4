"""Where vectors start: centres of rows, rows that a selection picks, a smaller model grown."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmpress.methods.auto.scene import Scene
from svmpress.methods.data_free import owners
from svmpress.model import KernelExpansion
from svmpress.numerics import Floats, Rows, arrays
from svmpress.select import SelectionPath, elastic_net_rows, kmeans_centres, lars_rows

_MOST_LARS, _MOST_NET = 1000, 200
"""Vectors beyond which LARS and the elastic net are not tried as starts: their time grows with the square."""
_TRIES = 4
"""How often k-means is tried where a start costs little."""


def starts(
    scene: Scene, m: int, smaller: KernelExpansion | None, *, cheap: bool, brief: bool
) -> tuple[dict[str, Floats], dict[str, SelectionPath]]:
    """Return starts (m, d) by name, and the paths of those that were selected.

    Parameters
    ----------
    scene : Scene
    m : int
    smaller : KernelExpansion, optional
        A smaller model to grow.
    cheap : bool
        Whether one more costs little.
    brief : bool
        Whether all takes so little that the elastic net, half a second, would be a good part of it.
    """
    problem, X = scene.problem, scene.X
    seed = problem.seed
    found: dict[str, Floats] = {}
    paths: dict[str, SelectionPath] = {}
    if smaller is not None and smaller.n_vectors <= m:
        grown = np.asarray(arrays.dense(smaller.vectors))
        found["the smaller model and more centres"] = np.concatenate([grown, _centres(X, m - len(grown), seed, X)])
    found["k-means centres"] = kmeans_centres(X, m, seed)
    for again in range(1, _TRIES if cheap else 1):
        found[f"k-means centres, try {again + 1}"] = kmeans_centres(X, m, seed + 1000 * again)
    for name, select, most in (("LARS", lars_rows, _MOST_LARS), ("elastic net", elastic_net_rows, _MOST_NET)):
        if m <= min(most, scene.n // 2) and not (brief and select is elastic_net_rows):
            kernel, backend, progress = problem.source.kernel, problem.backend, problem.stage(name)
            V, path = select(kernel, X, scene.targets, m, seed=seed, backend=backend, progress=progress)
            if len(V) == m:
                found[name], paths[name] = V, path
    return found, paths


def starts_by_class(scene: Scene, owner: NDArray[np.intp], *, of_source: bool) -> dict[str, Floats]:
    """Return starts (m, d) by name, for vectors that each belong to a class.

    Parameters
    ----------
    scene : Scene
    owner : (m,)
        The class of each vector, ascending.
    of_source : bool
        Whether the source's own vectors may be used: not if it has seen the rows that judge.
    """
    counts, seed = np.bincount(owner, minlength=scene.n_classes), scene.problem.seed

    def centres(rows: Rows, classes: NDArray[np.intp]) -> Floats:
        members = [arrays.take(rows, np.flatnonzero(classes == c)) for c in range(len(counts))]
        return np.concatenate([_centres(own, int(k), seed, scene.X) for own, k in zip(members, counts, strict=True)])

    found = {"k-means centres of each class": centres(scene.X, scene.classes)}
    if of_source:
        source = scene.problem.source.expansion
        found["k-means centres of its support vectors"] = centres(source.vectors, owners(source, scene.n_classes))
    return found


def _centres(X: Rows, k: int, seed: int, others: Rows) -> Floats:
    """Return k centres of X, with random other rows where X has too few."""
    centres = kmeans_centres(X, k, seed) if X.shape[0] and k else np.empty((0, others.shape[1]))
    if len(centres) < k:
        pick = np.random.default_rng(seed).integers(0, others.shape[0], k - len(centres))
        centres = np.concatenate([centres, np.asarray(arrays.dense(arrays.take(others, pick)))])
    return centres[:k]
