"""Where vectors start: centres of rows, or a smaller model grown."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmpress.methods.auto.task import FitTask
from svmpress.methods.base import vector_classes
from svmpress.numerics import Floats, Rows, arrays
from svmpress.select import kmeans_centres


def start_names(task: FitTask) -> list[str]:
    """Return the starts that there are for a task, the plainest first."""
    if task.owner is not None:
        return ["k-means", "support vectors"]
    names = ["k-means"]
    if task.smaller is not None and task.smaller.n_vectors <= task.m:
        names.append("smaller model")
    return names


def start_vectors(task: FitTask, name: str) -> Floats:
    """Return the vectors of a start by its name, (m, d).

    Parameters
    ----------
    task : FitTask
    name : str
        ``"k-means"``, ``"smaller model"`` or, under a mask, ``"support vectors"``.
    """
    problem, X = task.problem, task.rows
    if task.owner is not None:
        return _by_class(task, of_source=name == "support vectors")
    if name == "smaller model":
        assert task.smaller is not None
        grown = np.asarray(arrays.dense(task.smaller.vectors), dtype=np.float64)
        return np.concatenate([grown, _centres(X, task.m - len(grown), problem.seed, X)])
    return kmeans_centres(X, task.m, problem.seed)


def _by_class(task: FitTask, *, of_source: bool) -> Floats:
    """Return centres of the rows of each class, or of the teacher's vectors of each class, for vectors of classes."""
    assert task.owner is not None
    counts, seed = np.bincount(task.owner, minlength=task.n_classes), task.problem.seed
    rows: Rows = task.teacher.vectors if of_source else task.rows
    classes: NDArray[np.intp] = vector_classes(task.teacher, task.n_classes) if of_source else task.answers
    members = [arrays.take(rows, np.flatnonzero(classes == c)) for c in range(len(counts))]
    parts = [_centres(own, int(k), seed, rows) for own, k in zip(members, counts, strict=True)]
    return np.concatenate(parts)


def _centres(X: Rows, k: int, seed: int, others: Rows) -> Floats:
    """Return k centres of X, with random other rows where X has too few."""
    return _filled(kmeans_centres(X, k, seed) if X.shape[0] and k else np.empty((0, others.shape[1])), others, k, seed)


def _filled(V: Floats, others: Rows, m: int, seed: int) -> Floats:
    """Return m vectors: V, and random rows where these are too few."""
    if len(V) >= m:
        return V[:m]
    pick = np.random.default_rng(seed).integers(0, others.shape[0], m - len(V))
    return np.concatenate([V, np.asarray(arrays.dense(arrays.take(others, pick)), dtype=np.float64)])
