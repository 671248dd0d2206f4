"""Scores: how good each of many rows is answered, so that a difference of means has a standard error.

A score is the accuracy of a classifier, the R² of a regressor, and the agreement with the source where there is no y.
All are fractions, and larger is better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmpress.numerics import Floats


@dataclass(frozen=True, eq=False)
class Score:
    """How good each held-out row is answered, (k,): their mean is the score."""

    goodness: Floats

    @property
    def mean(self) -> float:
        """Accuracy, agreement or R²."""
        return float(self.goodness.mean())

    def of(self, which: NDArray[np.bool_]) -> Score:
        """Return the score on some of the rows, (k,)."""
        return Score(self.goodness[which])

    def standard_error_of_gain(self, other: Score) -> float:
        """Return the standard error of the difference of two means on the same rows."""
        return float((self.goodness - other.goodness).std() / np.sqrt(self.goodness.size))

    def gain_over(self, other: Score) -> float:
        """Return how much better than ``other`` this is, in standard errors of the difference.

        Examples
        --------
        >>> round(Score(np.array([1.0, 1.0, 1.0, 1.0])).gain_over(Score(np.array([0.0, 1.0, 1.0, 1.0]))), 3)
        1.155
        """
        return (self.mean - other.mean) / max(self.standard_error_of_gain(other), 1e-12)


@dataclass(frozen=True, eq=False)
class Check:
    """How choices did on held-out rows, (k,): the best small model of a search beside the teacher that it is made of.

    Neither has seen these rows. The small model is from before the last descent, so that it is a little worse than
    what comes out in the end.

    Parameters
    ----------
    small, teacher : Score
    """

    small: Score
    teacher: Score
