"""What people do today to get a small kernel classifier, none of which moves a vector.

    random          support vectors at random, coefficients fitted to the teacher's decision values
    k-means         centres of clusters of the training rows, coefficients likewise
    subsample-svc   an SVC trained on so few rows that it has that many support vectors

The fit of the first two is regularised least squares over all training rows, the solve inside
:class:`svmpress.objectives.ProjectedError` that svmpress has for its own vectors where it copies values. They see no
labels; the third sees nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from svmpress.formats import from_estimator
from svmpress.model import KernelExpansion, KernelModel
from svmpress.numerics import Floats, Rows, arrays
from svmpress.objectives import ProjectedError
from svmpress.select import kmeans_centres
from svmpress.study.costs import built
from svmpress.study.task import Built, NotApplicable, Task

_MAX_BYTES = 2**30
_CLOSE = 0.98
"""A subsample whose SVC has this share of the vectors asked for is near enough."""
_PATIENCE = 12
"""SVCs to train in search of a subsample."""


class Refit:
    """Coefficients and intercepts for given vectors, from the teacher's decision values on the training rows.

    The values are computed once for all sizes; ``seconds`` is how long that took, and part of the time of each.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        start = time.perf_counter()
        values = task.teacher.expansion.decision_values(task.X, _MAX_BYTES)
        self.values = np.ascontiguousarray(values, dtype=np.float64)
        self.seconds = time.perf_counter() - start

    def model(self, V: Rows) -> KernelModel:
        """Return the teacher with vectors V (m, d) instead of its own; sparse ones stay sparse."""
        teacher, here = self.task.teacher, np.asarray(arrays.dense(V), dtype=np.float64)
        error = ProjectedError(teacher.kernel, self.task.X, self.values, here, max_bytes=_MAX_BYTES)
        fit = error.value_and_grad(here)
        return replace(teacher, expansion=KernelExpansion(teacher.kernel, V, fit.coef, fit.intercept))


@dataclass(frozen=True)
class Refitted:
    """Vectors that are picked and then stay where they are, with refitted coefficients.

    Parameters
    ----------
    name, label : str
    pick : callable
        Returns vectors (m, d) for a task, m and a seed.
    """

    name: str
    label: str
    pick: Callable[[Task, int, int], Rows]
    grows: bool = True
    seeded: bool = True

    def build(self, task: Task, sizes: Sequence[int], seed: int) -> Iterator[Built]:
        """Yield a refitted model of each size."""
        refit = Refit(task)
        for size in sizes:
            start = time.perf_counter()
            model = refit.model(self.pick(task, size, seed))
            yield built(task, size, model, refit.seconds + time.perf_counter() - start)


def random_vectors(task: Task, m: int, seed: int) -> Rows:
    """Return random support vectors; a larger model has those of a smaller one, and more."""
    expansion = task.teacher.expansion
    return arrays.take(expansion.vectors, np.random.default_rng(seed).permutation(expansion.n_vectors)[:m])


def centres(task: Task, m: int, seed: int) -> Floats:
    """Return centres of clusters of the training rows."""
    return kmeans_centres(task.X, m, seed)


@dataclass(frozen=True)
class SubsampleSVC:
    """An SVC like the teacher on the first rows of a random order, as many as keep its support vectors within the size.

    The number of support vectors grows with the rows, nearly always, so the number of rows is found by bisection. The
    seconds are those of the whole search.
    """

    name: str = "subsample-svc"
    label: str = "SVC on a subsample"
    grows: bool = False
    seeded: bool = True

    def build(self, task: Task, sizes: Sequence[int], seed: int) -> Iterator[Built]:
        """Yield the SVC of each size."""
        order = two_classes_first(task.y, np.random.default_rng(seed).permutation(len(task.y)))
        for size in sizes:
            if size < 2:
                raise NotApplicable("an SVC has at least two support vectors")
            start = time.perf_counter()
            model, rows = self._search(task, order, size)
            notes = f"trained on {rows} rows"
            yield built(task, size, model, time.perf_counter() - start, notes)

    def _search(self, task: Task, order: NDArray[np.intp], size: int) -> tuple[KernelModel, int]:
        """Return the SVC with the most vectors, not above ``size``, and its number of rows."""

        def trained(rows: int) -> KernelModel:
            some = order[:rows]
            svc = SVC(C=task.C, gamma=task.gamma, cache_size=500)
            return from_estimator(svc.fit(arrays.take(task.X, some), task.y[some]))

        low, high = min(size, len(order)), len(order)  # no SVC has more vectors than rows
        best, step = trained(low), 1.5
        for _ in range(_PATIENCE):
            if low >= high - 1 or best.n_vectors >= _CLOSE * size:
                break
            # the share of rows that become support vectors falls slowly: aim a little beyond it, then bisect
            guess = int(min(low * size / best.n_vectors * 1.1, low * step))
            rows = int(np.clip(guess, low + 1, high if high == len(order) else (low + high) // 2))
            model = trained(rows)
            if model.n_vectors > size:
                high = rows
            else:
                low, best = rows, model
                if rows == len(order):
                    break
        return best, low


def two_classes_first(y: NDArray[np.generic], order: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return an order of rows whose first two are of different classes, so that every part of it can train an SVC.

    Examples
    --------
    >>> two_classes_first(np.array([0, 0, 0, 1]), np.arange(4)).tolist()
    [0, 3, 1, 2]
    """
    other = int(np.argmax(y[order] != y[order[0]]))
    return np.concatenate([order[:1], order[other : other + 1], order[1:other], order[other + 1 :]])
