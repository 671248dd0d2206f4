"""Held-out rows: what a model scores on them, whether a change helps, and the smallest model that loses little.

A score is the accuracy of a classifier, the R² of a regressor, and the agreement with the source where there is no y.
All are fractions, and larger is better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from svmpress import arrays
from svmpress.arrays import Rows
from svmpress.errors import InputError
from svmpress.model import Decoder, KernelExpansion
from svmpress.objective import Floats
from svmpress.problem import Method, Outcome, Problem

HELD_OUT = 0.2
"""The share of rows that judges, as in the paper."""
_ENOUGH = 2500
"""Rows that judge well: small sets hold out up to twice the share to come near it."""


@dataclass(frozen=True)
class SizePoint:
    """One size on the way: its score and loss on held-out rows."""

    vectors: int
    score: float
    drop: float

    def __str__(self) -> str:
        return f"{self.vectors} vectors: score {self.score:.4f} on held-out rows, {self.drop:+.4f} lost"


def split_rows(n: int, seed: int, most: int = 10_000) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return positions of the rows to fit and of the rows that judge; at least one of each."""
    if n < 2:
        raise InputError("at least two rows are needed to hold some out")
    wanted = max(HELD_OUT * n, min(2 * HELD_OUT * n, _ENOUGH))
    held = int(np.clip(round(wanted), 1, min(most, n - 1)))
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[held:]), np.sort(order[:held])


@dataclass(frozen=True, eq=False)
class Verdict:
    """How good each judging row is answered, (k,): their mean is the score."""

    goodness: Floats

    @property
    def score(self) -> float:
        """The mean goodness: accuracy, agreement or R²."""
        return float(self.goodness.mean())


class Judge:
    """Scores expansions on held-out rows.

    Parameters
    ----------
    problem : Problem
        With rows; its ``y``, if any, is what a model should answer.
    rows : (k,)
        Positions of the rows that judge.
    """

    def __init__(self, problem: Problem, rows: NDArray[np.intp]) -> None:
        assert problem.rows is not None
        self._X: Rows = arrays.take(problem.rows, rows)
        self._decoder = problem.source.decoder
        self._max_bytes = problem.max_bytes
        source = np.asarray(problem.source.expansion.decision_values(self._X, self._max_bytes))
        if self._decoder.classes is None:
            self._wanted = source if problem.y is None else problem.y[rows]
        elif problem.y is None:
            self._wanted = self._decoder.labels(source)
        else:
            self._wanted = self._decoder.classes[problem.y[rows]]
        self.reference = self.verdict(source)
        """What the source itself gets."""

    def verdict(self, F: Floats, decoder: Decoder | None = None) -> Verdict:
        """Return how good decision values F answer the judging rows."""
        decoder = decoder or self._decoder
        if decoder.classes is not None:
            return Verdict((decoder.labels(F) == self._wanted).astype(np.float64))
        spread = float(np.mean(np.sum((self._wanted - self._wanted.mean(axis=0)) ** 2, axis=1)))
        return Verdict(1.0 - np.sum((F - self._wanted) ** 2, axis=1) / max(spread, 1e-300))

    def of(self, expansion: KernelExpansion, decoder: Decoder | None = None) -> Verdict:
        """Return how good an expansion answers the judging rows."""
        return self.verdict(np.asarray(expansion.decision_values(self._X, self._max_bytes)), decoder)


def search_size(problem: Problem, way: Method, max_drop: float) -> tuple[Outcome | None, tuple[SizePoint, ...]]:
    """Return the smallest model that loses at most ``max_drop`` on held-out rows, and every size that was tried.

    Sizes double until one is good enough; bisection then narrows the last gap to a tenth. Each size starts from the
    next smaller result where the method can. The size that is found is fitted once more on all rows.
    """
    rows = problem.rows if problem.rows is not None else problem.source.expansion.vectors
    problem = replace(problem, rows=rows)
    fit, held = split_rows(rows.shape[0], problem.seed)
    judge = Judge(problem, held)
    part = replace(problem, rows=arrays.take(rows, fit), y=None if problem.y is None else problem.y[fit])
    curve: dict[int, SizePoint] = {}
    found: dict[int, Outcome] = {}

    def good(m: int) -> bool:
        found[m] = _run(way, part, m, found)
        score = judge.of(found[m].expansion, found[m].decoder).score
        curve[m] = SizePoint(m, score, judge.reference.score - score)
        return curve[m].drop <= max_drop

    n, low, m = problem.source.n_vectors, 0, 2
    while m < n and not good(m):
        low, m = m, 2 * m
    best = None if m >= n else _run(way, problem, _bisect(low, m, good), found)
    return best, tuple(curve[k] for k in sorted(curve))


def _bisect(low: int, high: int, good: Callable[[int], bool]) -> int:
    while high - low > max(1, high // 10):
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high


def _run(way: Method, problem: Problem, m: int, found: dict[int, Outcome]) -> Outcome:
    smaller = [k for k in found if k <= m]
    return way.run(problem, m, found[max(smaller)] if smaller else None)
