"""dlib's ``reduce`` and svmpress, side by side on one and the same SVM.

dlib (package ``dlib-bin``) can shrink an RBF SVM, too: it projects it onto random rows and then moves them by L-BFGS.
Its Python interface takes only what its own trainer returned, ``auto_train_rbf_classifier``, which standardises the
rows and searches for C and gamma by the clock. So that the pair is fair,

- dlib trains an SVM with no time to search: it keeps its first guess, C = 1 and gamma = 1 on standardised features, and
  the same rows give the same SVM on every run and in every process;
- that SVM is read out into a :class:`~svmpress.model.KernelModel` (``f(x) = Σ α_j k(v_j, z) - b``,
  ``z = (x - means) * invstd_devs``), which svmpress compresses to the same sizes with what ``reduce`` is given: the
  rows, and no labels;
- ``reduce`` always draws the same positions of the rows that it is given, so the seed shuffles the rows: repeats
  differ, and their mean says what its random start makes of it.

Their source is not the teacher of the other methods, and with many features a poor SVM: compare them with each other.
dlib asks for two classes, six rows of each, and dense rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmpress.compression import compress
from svmpress.decoders import Sign
from svmpress.errors import MissingExtraError
from svmpress.kernels import RBF
from svmpress.model import KernelExpansion, KernelModel, Scaling
from svmpress.numerics import arrays
from svmpress.study.costs import built
from svmpress.study.task import Built, NotApplicable, Task

_FEWEST = 6
"""Rows of each class that dlib asks for."""


@dataclass(frozen=True)
class DlibReduce:
    """dlib's ``reduce`` on the SVM that dlib trained.

    Parameters
    ----------
    eps : float
        When its L-BFGS stops; dlib's own default.
    """

    eps: float = 1e-3
    name: str = "dlib"
    label: str = "dlib reduce"
    grows: bool = False
    seeded: bool = True

    def build(self, task: Task, sizes: Sequence[int], seed: int) -> Iterator[Built]:
        """Yield what ``reduce`` makes of dlib's SVM at each size, answered by svmpress."""
        dlib = _dlib()
        df = train(task)
        X = arrays.take(task.X, np.random.default_rng(seed).permutation(task.X.shape[0]))
        for size in sizes:
            start = time.perf_counter()
            small = dlib.reduce(df, np.ascontiguousarray(X, dtype=np.float64), size, self.eps)
            seconds = time.perf_counter() - start
            yield built(task, size, read(small, task), seconds, _about(read(df, task), task))


@dataclass(frozen=True)
class DlibPair:
    """svmpress on the very SVM that :class:`DlibReduce` reduces."""

    name: str = "dlib-pair"
    label: str = "svmpress on dlib's SVM"
    grows: bool = False
    seeded: bool = True

    def build(self, task: Task, sizes: Sequence[int], seed: int) -> Iterator[Built]:
        """Yield dlib's SVM compressed to each size."""
        source = read(train(task), task)
        for size in sizes:
            start = time.perf_counter()
            small = compress(source, task.X, vectors=size, random_state=seed).model
            yield built(task, size, small, time.perf_counter() - start, _about(source, task))


def train(task: Task) -> Any:
    """Return the SVM that dlib trains on a task: the same for the same rows.

    Raises
    ------
    NotApplicable
        Where dlib cannot train on the rows.
    """
    dlib = _dlib()
    classes = task.teacher.classes_
    if classes is None or classes.size != 2:
        raise NotApplicable("dlib's reduce takes SVMs of two classes only")
    if arrays.is_csr(task.X):
        raise NotApplicable("dlib's reduce takes dense rows only")
    later = task.y == classes[1]
    if min(later.sum(), (~later).sum()) < _FEWEST:
        raise NotApplicable(f"dlib's trainer needs at least {_FEWEST} rows of each class")
    X = np.ascontiguousarray(task.X, dtype=np.float64)
    return dlib.auto_train_rbf_classifier(X, np.where(later, 1.0, -1.0), 0.0, False)


def read(df: Any, task: Task) -> KernelModel:
    """Return a normalised RBF decision function of dlib as a model of svmpress with the task's classes."""
    vectors = np.array([np.ravel(v) for v in df.basis_vectors])
    coef, means, factor = (np.ravel(np.array(a)) for a in (df.alpha, df.means, df.invstd_devs))
    expansion = KernelExpansion(RBF(df.kernel_function.gamma), vectors, coef[:, None], np.array([-df.b]))
    assert task.teacher.classes_ is not None
    return KernelModel(expansion, Sign(task.teacher.classes_), scaling=Scaling(means, factor))


def _dlib() -> Any:
    try:
        import dlib
    except ImportError as e:
        raise MissingExtraError("the comparison with dlib", "dlib-bin", "study") from e
    return dlib


def _about(source: KernelModel, task: Task) -> str:
    accuracy = float(np.mean(source.predict(task.X_test) == task.y_test))
    return f"source: dlib's SVM, {source.n_vectors} vectors, test accuracy {accuracy:.4f}"
