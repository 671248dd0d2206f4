"""Held-out rows: which they are, and what a model scores on them.

A score is the accuracy of a classifier, the R² of a regressor, and the agreement with the source where there is no y.
All are fractions, and larger is better. Of a classifier, margins can be asked for besides: they tell more of each row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Decoder, PairDAG, PairVote, positions_of
from svmpress.errors import InputError
from svmpress.methods.base import Problem
from svmpress.model import KernelExpansion
from svmpress.numerics import Floats, Rows, arrays
from svmpress.objectives import sides_of

HELD_OUT = 0.2
"""The share of rows that judges, as in the paper."""
_ENOUGH = 2500
"""Rows that judge well: small sets hold out up to twice the share to come near it."""


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
        """The mean goodness: accuracy, agreement or R² (or minus the squared hinge, where margins were asked for)."""
        return float(self.goodness.mean())

    def of(self, which: NDArray[np.bool_]) -> Verdict:
        """Return the verdict on some of the rows, (k,)."""
        return Verdict(self.goodness[which])

    def gain_over(self, other: Verdict) -> float:
        """Return how much better than ``other`` this is, in standard errors of the difference.

        Examples
        --------
        >>> round(Verdict(np.array([1.0, 1.0, 1.0, 1.0])).gain_over(Verdict(np.array([0.0, 1.0, 1.0, 1.0]))), 3)
        1.155
        """
        gain = self.goodness - other.goodness
        return float(gain.mean() / max(gain.std() / np.sqrt(gain.size), 1e-12))


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
        source = problem.values(self._X)
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

    def margins(self, expansion: KernelExpansion, decoder: Decoder | None = None) -> Verdict:
        """Return how close a classifier's values come to the margins on the right side: minus the squared hinge."""
        decoder = decoder or self._decoder
        assert decoder.classes is not None
        F = np.asarray(expansion.decision_values(self._X, self._max_bytes))
        wanted = positions_of(self._wanted, decoder.classes)
        sides = sides_of(wanted, decoder.classes.size, isinstance(decoder, PairVote | PairDAG))
        short = np.maximum(0.0, 1 - sides * F) * np.abs(sides)
        return Verdict(-np.sum(short**2, axis=1) / np.abs(sides).sum(axis=1))
