"""What all trials share: rows, folds, a metric, an estimator; and how a trial is made of them.

A trial trains one SVM a fold and reads every size off one *path*: each size starts from the vectors of the size before,
and is compressed briefly (:mod:`svmpress.tuning.brief`), which ranks C and gamma nearly as well as the real compression
does. The better of its two fits, before and after the steps on labels, is the score of that size.

Rows that judge are never trained on, and never seen by a scaler: the pipeline is cloned and fitted for every fold.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from svmpress.compression import DEFAULT_MEMORY, Compression, compress
from svmpress.errors import InputError, SvmpressWarning
from svmpress.formats import as_model
from svmpress.methods import FitTask, Layout, Method, Problem, Progress, Work
from svmpress.model import KernelModel
from svmpress.numerics import Backend, Rows, arrays, lazy_property
from svmpress.training import sample_rows
from svmpress.tuning.brief import Brief, expansion_of
from svmpress.tuning.records import Point

Metric = Callable[[Any, Any], float]
Fold = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Positions of the rows to fit and of the rows that judge."""

_BRIEF = Brief()
_FEWEST = 2
"""Vectors of the smallest size on a path."""


class TrainingError(Exception):
    """An SVM could not be trained with these parameters; the trial fails, the search goes on."""


@dataclass(frozen=True, eq=False)
class Workbench:
    """What trials share.

    Parameters
    ----------
    estimator : estimator
        Not fitted: an SVM that svmpress reads, or a Pipeline of scalers and one.
    X : (n, d)
    y : (n,) or None
        Without y a model is judged by its agreement with the SVM that it was compressed from.
    stratified : bool
        Whether y holds classes, which every sample must have.
    metric : callable
        ``metric(true, predicted)``, larger is better.
    folds : sequence of (fit, held)
    rows : int
        Most rows that a trial trains on.
    method : str or Method
        The compression of finalists.
    layout : "shared" or "libsvm"
    seed : int
    """

    estimator: Any
    X: Rows
    y: NDArray[Any] | None
    stratified: bool
    metric: Metric
    folds: Sequence[Fold]
    rows: int
    method: str | Method
    layout: Layout
    seed: int

    @property
    def sampled(self) -> bool:
        """Whether trials train on fewer rows than finalists do."""
        return any(fit.size > self.rows for fit, _ in self.folds)

    def trained(self, params: Mapping[str, Any], rows: NDArray[np.intp]) -> KernelModel:
        """Return the SVM of these parameters, trained on some rows.

        Raises
        ------
        TrainingError
            When scikit-learn refuses, for example an impossible nu.
        """
        estimator = clone(self.estimator).set_params(**params)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # max_iter is the caller's choice
                estimator.fit(arrays.take(self.X, rows), None if self.y is None else self.y[rows])
        except ValueError as e:
            raise TrainingError(str(e)) from e
        model = as_model(estimator)
        if model.n_vectors == 0:
            raise TrainingError("the SVM has no support vectors")
        return model

    def sides(self, params: Mapping[str, Any], *, all_rows: bool) -> list[Side]:
        """Return one trained SVM a fold, on all rows to fit or on the sample of a trial."""
        out = []
        for number, (fit, held) in enumerate(self.folds):
            rows = fit
            if not all_rows and fit.size > self.rows:
                rows = sample_rows(fit, self.y if self.stratified else None, self.rows, self.seed + number)
            out.append(Side(self, self.trained(params, rows), rows, held))
        return out

    def compressed(self, source: KernelModel, rows: NDArray[np.intp], m: int, progress: Progress | None) -> Compression:
        """Return the real compression of a source to m vectors, on the rows that it was trained on."""
        y = None if self.y is None else self.y[rows]
        X = arrays.take(self.X, rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SvmpressWarning)  # a trial that is too small is no news
            return compress(
                source,
                X,
                y,
                vectors=m,
                method=self.method,
                layout=self.layout,
                random_state=self.seed,
                progress=progress,
            )


@dataclass(eq=False)
class Side:
    """One fold of a trial: a trained SVM, the rows behind it, and the rows that judge it."""

    bench: Workbench
    source: KernelModel
    rows: NDArray[np.intp]
    held: NDArray[np.intp]
    _moved: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    """The vectors of the sizes behind, after they were moved."""

    def __post_init__(self) -> None:
        y = self.bench.y
        self._held_rows = arrays.take(self.bench.X, self.held)
        self._wanted = self.source.predict(self._held_rows) if y is None else y[self.held]

    def score(self, model: KernelModel) -> float:
        """Return the metric of a model on the rows that judge.

        Raises
        ------
        InputError
            When it is no finite number: trials could not be compared.
        """
        score = self.bench.metric(self._wanted, model.predict(self._held_rows))
        try:
            value = float(score)
        except (TypeError, ValueError):
            value = math.nan
        if not math.isfinite(value):
            raise InputError(
                f"the score on {self.held.size:,} held-out rows is {score!r} where a finite number is needed: "
                "hold out more rows, or give another scoring"
            )
        return value

    def grown(self, m: int) -> tuple[KernelModel, float]:
        """Return the model of m vectors, grown from the next smaller one, and its score."""
        smaller = max((k for k in self._moved if k < m), default=0)
        fits = _BRIEF.fits(replace(self._task, m=m), self._moved.get(smaller))
        self._moved[len(fits[0].vectors)] = fits[0].vectors
        models = [replace(self.source, expansion=expansion_of(fit), probability={}) for fit in fits]
        scores = [self.score(model) for model in models]
        best = int(np.argmax(scores))
        return models[best], scores[best]

    @lazy_property
    def _task(self) -> FitTask:
        X = arrays.take(self.bench.X, self.rows)
        X = X if self.source.scaling is None else self.source.scaling(X)
        y = None
        if self.source.task == "classification" and self.bench.y is not None and self.source.classes_ is not None:
            y = np.searchsorted(self.source.classes_, self.bench.y[self.rows])
        silent: Progress = lambda stage, done, total: None  # noqa: E731
        backend = Backend.of("cpu")
        problem = Problem(self.source, X, y, "shared", backend, self.bench.seed, DEFAULT_MEMORY, silent)
        return FitTask(problem, 1, Work(0.0))


def mean_point(models: Sequence[KernelModel], scores: Sequence[float]) -> Point:
    """Return the mean over folds as one point."""
    vectors = round(float(np.mean([m.n_vectors for m in models])))
    return Point(vectors, max(m.n_outputs for m in models), float(np.mean(scores)))


def source_point(sides: Sequence[Side]) -> Point:
    """Return what the SVMs themselves are worth, uncompressed."""
    return mean_point([s.source for s in sides], [s.score(s.source) for s in sides])


def read_path(sides: Sequence[Side], most: int, enough: float | None, until: float = math.inf) -> tuple[Point, ...]:
    """Return the scores of growing sizes, at most ``most`` vectors, by size.

    Sizes double until one scores ``enough``, and then the sizes half an octave around it are read, too; or until two
    doublings have brought nothing. Without ``enough`` a path has the last three doublings up to ``most``. No size but
    the first is begun after the time ``until`` (of the monotonic clock).
    """
    curve: dict[int, Point] = {}

    def read(m: int) -> Point:
        point = curve[m] = _grown(sides, m)
        return point

    with threadpool_limits(limits=1):  # the products are small: threads would wait for each other
        for m in _sizes(most, enough):
            if curve and time.monotonic() > until:
                break
            last, point = max(curve, default=0), read(m)
            if point.vectors < m:  # there are no more distinct rows
                break
            if enough is not None and point.score >= enough:
                around = {round(math.sqrt(last * m)), min(most, round(math.sqrt(2) * m))}
                for k in sorted(around - {0, *curve}):
                    read(k)
                break
            if enough is not None and _stalled([curve[k].score for k in sorted(curve)]):
                break
    return tuple(curve[m] for m in sorted(curve))


def _sizes(most: int, enough: float | None) -> list[int]:
    """Return the sizes of a path: 2, 4, 8, ... and the last one, or the last three doublings.

    Examples
    --------
    >>> _sizes(20, 0.9), _sizes(20, None)
    ([2, 4, 8, 16, 20], [5, 10, 20])
    """
    if enough is None:
        return sorted({max(1, most // 4), max(1, most // 2), most})
    return [2**k for k in range(1, most.bit_length()) if 2**k < most] + [most]


def _stalled(scores: Sequence[float]) -> bool:
    """Return whether the last two scores are no better than the best before them."""
    return len(scores) > 4 and max(scores[-2:]) <= max(scores[:-2])


def _grown(sides: Sequence[Side], m: int) -> Point:
    results = [side.grown(m) for side in sides]
    return mean_point([model for model, _ in results], [score for _, score in results])
