"""Held-out rows: what a model scores on them, and the smallest model that loses little.

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


@dataclass(frozen=True)
class SizePoint:
    """One size on the way: its score and loss on held-out rows."""

    vectors: int
    score: float
    drop: float

    def __str__(self) -> str:
        return f"{self.vectors} vectors: score {self.score:.4f}, {self.drop:+.4f} lost"


def split_rows(
    n: int, seed: int, share: float = HELD_OUT, most: int = 5000
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return positions of the rows to fit and of the rows that judge; at least one of each."""
    if n < 2:
        raise InputError("at least two rows are needed to hold some out")
    held = int(np.clip(round(share * n), 1, min(most, n - 1)))
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[held:]), np.sort(order[:held])


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
        self.has_answers = problem.y is not None
        if self._decoder.classes is None:
            self._wanted = source if problem.y is None else problem.y[rows]
        elif problem.y is None:
            self._wanted = self._decoder.labels(source)
        else:
            self._wanted = self._decoder.classes[problem.y[rows]]
        self.reference = self.score(source)
        """The score of the source itself."""

    def score(self, F: Floats, decoder: Decoder | None = None) -> float:
        """Return the score of decision values F on the judging rows."""
        decoder = decoder or self._decoder
        if decoder.classes is None:
            spread = float(np.sum((self._wanted - self._wanted.mean(axis=0)) ** 2))
            return 1.0 - float(np.sum((F - self._wanted) ** 2)) / max(spread, 1e-300)
        return float(np.mean(decoder.labels(F) == self._wanted))

    def of(self, expansion: KernelExpansion, decoder: Decoder | None = None) -> float:
        """Return the score of an expansion."""
        return self.score(np.asarray(expansion.decision_values(self._X, self._max_bytes)), decoder)


def search_size(problem: Problem, way: Method, max_drop: float) -> tuple[Outcome | None, tuple[SizePoint, ...]]:
    """Return the smallest model that loses at most ``max_drop`` on held-out rows, and every size that was tried.

    Sizes double until one is good enough; bisection then narrows the last gap to a tenth. Each size starts from the
    previous result where the method can. The size that is found is fitted once more on all rows.
    """
    rows = problem.rows if problem.rows is not None else problem.source.expansion.vectors
    problem = replace(problem, rows=rows)
    fit, held = split_rows(rows.shape[0], problem.seed)
    judge = Judge(problem, held)
    part = replace(problem, rows=arrays.take(rows, fit), y=None if problem.y is None else problem.y[fit])
    curve: dict[int, SizePoint] = {}
    warm: dict[int, Outcome] = {}

    def good(m: int) -> bool:
        outcome = _run(way, part, m, warm)
        warm[m] = outcome
        score = judge.of(outcome.expansion, outcome.decoder)
        curve[m] = SizePoint(m, score, judge.reference - score)
        return curve[m].drop <= max_drop

    n = problem.source.n_vectors
    m, low = min(max(2, problem.source.n_outputs if problem.layout == "libsvm" else 2), max(1, n - 1)), 0
    while m < n and not good(m):
        low, m = m, 2 * m
    if m >= n:
        return None, tuple(curve[k] for k in sorted(curve))
    best = _bisect(low, m, good)
    final = _run(way, problem, best, warm)
    return final, tuple(curve[k] for k in sorted(curve))


def _bisect(low: int, high: int, good: Callable[[int], bool]) -> int:
    while high - low > max(1, high // 10):
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high


def _run(way: Method, problem: Problem, m: int, warm: dict[int, Outcome]) -> Outcome:
    smaller = [k for k in warm if k <= m]
    if smaller and hasattr(way, "run_from"):
        outcome: Outcome = way.run_from(problem, m, warm[max(smaller)])
        return outcome
    return way.run(problem, m)
