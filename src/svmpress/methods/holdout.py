"""Held-out rows: which they are, and what a small model scores on them.

A score is the accuracy of a classifier, the R² of a regressor, and the agreement with the source where there is no y.
All are fractions, and larger is better.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Decoder
from svmpress.errors import InputError
from svmpress.methods.base import Problem
from svmpress.methods.score import Score
from svmpress.model import KernelExpansion
from svmpress.numerics import Floats, Rows, arrays, lazy_property

HELD_OUT = 0.2
"""The share of rows that is held out, as in the paper."""
_ENOUGH = 2500
"""Rows that tell enough: of small sets up to twice the share is held out to come near it."""
_MOST = 10_000


def split_rows(
    n: int, seed: int, classes: NDArray[np.intp] | None = None, held_out: int | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return positions of the rows to fit and of the rows that are held out; at least one of each.

    Parameters
    ----------
    n : int
    seed : int
    classes : (n,), optional
        Of each class the same share is held out; the only row of a class is not.
    held_out : int, optional
        How many rows; by default a fifth, and up to two fifths of few.

    Examples
    --------
    >>> fit, held = split_rows(10, 0, np.array([0] * 8 + [1] * 2))
    >>> len(fit), len(held), np.bincount(np.array([0] * 8 + [1] * 2)[held]).tolist()
    (6, 4, [3, 1])
    """
    if n < 2:
        raise InputError("at least two rows are needed to hold some out")
    wanted = max(HELD_OUT * n, min(2 * HELD_OUT * n, _ENOUGH)) if held_out is None else held_out
    held = int(np.clip(round(wanted), 1, min(_MOST, n - 1)))
    order = np.random.default_rng(seed).permutation(n)
    if classes is not None:
        order = order[np.argsort(_places(classes[order]), kind="stable")]
    return np.sort(order[held:]), np.sort(order[:held])


def _places(classes: NDArray[np.intp]) -> Floats:
    """Return where each row is among those of its class, from 0 to 1, (n,): the first come first of every class."""
    places = np.empty(len(classes))
    for c in np.unique(classes):
        own = np.flatnonzero(classes == c)
        places[own] = 1.0 if own.size == 1 else (np.arange(own.size) + 0.5) / own.size
    return places


class Holdout:
    """Held-out rows with what they should be answered.

    Parameters
    ----------
    problem : Problem
        With rows; its ``y``, if any, is what a model should answer, else what the source answers is.
    rows : (k,)
        Positions of the held-out rows.
    """

    def __init__(self, problem: Problem, rows: NDArray[np.intp]) -> None:
        assert problem.rows is not None
        self.X: Rows = arrays.take(problem.rows, rows)
        self._problem = problem
        self._decoder = problem.source.decoder
        if self._decoder.classes is None:
            self._wanted = self._values_of_source if problem.y is None else problem.y[rows]
        elif problem.y is None:
            self._wanted = self._decoder.labels(self._values_of_source)
        else:
            self._wanted = self._decoder.classes[problem.y[rows]]

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @lazy_property
    def _values_of_source(self) -> Floats:
        return self._problem.values(self.X)

    @lazy_property
    def source(self) -> Score:
        """What the source itself scores."""
        return self.score_values(self._values_of_source)

    def score_values(self, F: Floats, decoder: Decoder | None = None) -> Score:
        """Return how good decision values F (k, M) answer the rows."""
        decoder = decoder or self._decoder
        if decoder.classes is not None:
            return Score((decoder.labels(F) == self._wanted).astype(np.float64))
        spread = float(np.mean(np.sum((self._wanted - self._wanted.mean(axis=0)) ** 2, axis=1)))
        return Score(1.0 - np.sum((F - self._wanted) ** 2, axis=1) / max(spread, 1e-300))

    def values(self, expansion: KernelExpansion) -> Floats:
        """Return the decision values of an expansion at the rows, (k, M)."""
        return np.asarray(expansion.decision_values(self.X, self._problem.max_bytes))

    def score(self, expansion: KernelExpansion, decoder: Decoder | None = None) -> Score:
        """Return how good an expansion answers the rows."""
        return self.score_values(self.values(expansion), decoder)
