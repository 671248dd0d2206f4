"""What a search is for, and what a curve of sizes says about it.

A trial at some C and gamma yields a curve: sizes ``m_1 < m_2 < ...`` and the score of the compressed model at each,
with the uncompressed machine as its last point unless that is above a limit. From it the Gaussian processes are given

    minimise size       value      log2 m*, where m* is the size at which the curve first reaches ``min_accuracy``
                        violation  ``min_accuracy`` less the best score of the curve: feasible at 0 or below
    maximise accuracy   value      the negative best score among the sizes that the limits allow

The curve is first made to rise (isotonic regression), since the scores of single sizes are noisy. m* is read between
two sizes by interpolation in log m, because scores of neighbouring sizes differ by little and a step function would
hide that from the model. A limit on size needs no probability: sizes above it are never tried.

Gaussian processes expect smooth functions, and far from the goal these are cliffs: an SVM that hardly learns needs a
hundred times the vectors and misses the accuracy by half. :meth:`Goal.shaped` flattens what is far from the best,
without changing any order near it or which trials are feasible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from sklearn.isotonic import isotonic_regression

from svmpress.compression import Budget
from svmpress.errors import InputError
from svmpress.model import KernelModel
from svmpress.tuning.records import Point

Cost = Literal["vectors", "bytes", "latency"]

_BYTES = 8
"""Bytes of a number: models are trained in double precision."""
_OCTAVES = 3.0
"""Doublings above the best size beyond which all sizes look alike."""
_FINE = 0.02
"""Differences of a score beyond which they count less and less."""


@dataclass(frozen=True)
class Goal:
    """An accuracy to reach with the smallest model, or limits under which to be most accurate.

    Parameters
    ----------
    min_accuracy : float, optional
        The score (accuracy, R² or agreement) that the compressed model must reach on held-out rows.
    max_vectors, max_bytes, max_latency : optional
        Limits on the size: vectors, bytes of vectors and coefficients, seconds per prediction on this machine.
    minimise : "vectors", "bytes" or "latency"
        What "smallest" means.

    Examples
    --------
    >>> print(Goal(min_accuracy=0.97, max_vectors=100))
    fewest vectors with accuracy >= 0.97 and at most 100 vectors
    >>> print(Goal(max_bytes=64_000))
    highest accuracy with at most 64,000 bytes
    """

    min_accuracy: float | None = None
    max_vectors: int | None = None
    max_bytes: int | None = None
    max_latency: float | None = None
    minimise: Cost = "vectors"

    def __post_init__(self) -> None:
        if self.minimise not in get_args(Cost):
            raise InputError(f"cannot minimise {self.minimise!r}; choose one of {', '.join(get_args(Cost))}")
        if self.min_accuracy is None and not self._limits():
            raise InputError("give min_accuracy, or a limit on the size: max_vectors, max_bytes or max_latency")
        accuracy = self.min_accuracy
        if accuracy is not None and (isinstance(accuracy, bool) or not math.isfinite(accuracy) or accuracy > 1):
            raise InputError(f"min_accuracy must be a fraction of at most 1, not {accuracy!r}")
        self._limits()

    def _limits(self) -> list[Budget]:
        """Return the limits as budgets, which check their own values."""
        vectors, size, seconds = self.max_vectors, self.max_bytes, self.max_latency
        limits = [] if vectors is None else [Budget(vectors=vectors)]
        limits += [] if size is None else [Budget(max_bytes=size)]
        return limits + ([] if seconds is None else [Budget(max_latency=seconds)])

    def __str__(self) -> str:
        return self.described("accuracy")

    def described(self, score: str) -> str:
        """Return the goal in words, for a score of this name."""
        limits = []
        if self.max_vectors is not None:
            limits.append(f"at most {self.max_vectors:,} vectors")
        if self.max_bytes is not None:
            limits.append(f"at most {self.max_bytes:,} bytes")
        if self.max_latency is not None:
            limits.append(f"at most {self.max_latency:.3g} s per prediction")
        if self.min_accuracy is None:
            return f"highest {score} with {' and '.join(limits)}"
        least = {"vectors": "fewest vectors", "bytes": "fewest bytes", "latency": "fastest model"}[self.minimise]
        return f"{least} with {' and '.join([f'{score} >= {self.min_accuracy:g}', *limits])}"

    def limit(self, source: KernelModel) -> int | None:
        """Return the most vectors that the limits allow a model of this shape; None if there are no limits."""
        return min((budget.size(source) for budget in self._limits()), default=None)

    def cost(self, point: Point, n_features: int) -> float:
        """Return what is minimised: vectors, bytes, or the multiply-adds of one prediction for latency."""
        entries = point.vectors * (n_features + point.outputs)
        return {"vectors": point.vectors, "bytes": _BYTES * (entries + point.outputs), "latency": entries}[
            self.minimise
        ]

    def is_met(self, point: Point) -> bool:
        """Return whether a compressed model is good enough; sizes above a limit are never tried."""
        return self.min_accuracy is None or point.score >= self.min_accuracy

    def observed(self, curve: Sequence[Point], gain: float = 0.0) -> tuple[float, float | None]:
        """Return value and violation of a trial's curve; the violation is None if there is no constraint.

        ``gain`` is what the score is expected to gain on all rows (:mod:`svmpress.tuning.finals`).
        """
        curve = rising(curve)
        best = curve[-1].score
        if self.min_accuracy is None:
            return -best, None
        wanted = self.min_accuracy - gain
        return math.log2(crossing(curve, wanted) or curve[-1].vectors), wanted - best

    def shaped(self, seen: Sequence[tuple[float, float | None]]) -> list[tuple[float, float | None]]:
        """Return values and violations as the Gaussian processes see them: far from the best, differences shrink.

        Examples
        --------
        >>> Goal(min_accuracy=0.9).shaped([(3.0, -0.01), (4.0, 0.0), (11.0, 0.0)])[2][0]
        6.0
        """
        if self.min_accuracy is None:
            top = min((value for value, _ in seen), default=0.0)
            return [(math.asinh((value - top) / _FINE), None) for value, _ in seen]
        best = min((value for value, violation in seen if (violation or 0.0) <= 0), default=math.inf)
        return [(min(value, best + _OCTAVES), math.asinh((violation or 0.0) / _FINE)) for value, violation in seen]


def rising(curve: Sequence[Point]) -> list[Point]:
    """Return the curve that never falls and is nearest to one that does, by size.

    A score is a mean over some hundred rows: a size that happens to do well is no reason to believe that larger ones
    are worse.

    Examples
    --------
    >>> [p.score for p in rising([Point(2, 1, 0.5), Point(4, 1, 0.9), Point(8, 1, 0.7)])]
    [0.5, 0.8, 0.8]
    """
    points = sorted(curve, key=lambda p: p.vectors)
    scores = isotonic_regression([p.score for p in points])
    return [replace(p, score=round(float(score), 12)) for p, score in zip(points, scores, strict=True)]


def crossing(curve: Sequence[Point], wanted: float) -> float | None:
    """Return the size at which a rising curve reaches a score, between sizes by interpolation in log m.

    Examples
    --------
    >>> curve = [Point(4, 1, 0.8), Point(16, 1, 0.9)]
    >>> round(crossing(curve, 0.85), 6), crossing(curve, 0.95)
    (8.0, None)
    """
    before: Point | None = None
    for point in curve:
        if point.score >= wanted:
            if before is None:
                return float(point.vectors)
            share = (wanted - before.score) / (point.score - before.score)
            return float(before.vectors * (point.vectors / before.vectors) ** share)
        before = point
    return None
