"""What the support vectors of a one-vs-one SVM tell of the rows that it was trained on.

A coefficient has the sign of its row's side, so the class of every support vector can be read off the model. Whether
they are the rows, or only the hard ones among them, can be told too: a row that is a support vector of many machines
would not have been missed, and one that is a support vector of a single machine nearly was. How many rows were missed
by all is what ecologists ask of species that no trap has caught; Chao's estimate of 1984 is f₁² / 2f₂, with f₁ and f₂
the numbers of rows in one machine and in two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.arrays import Floats
from svmpress.decoders import PairDAG, PairVote, class_pairs
from svmpress.model import KernelModel

_MISSED = 0.05
"""Rows that may have been missed, for one that was not. Chao's estimate is a lower bound."""


def class_parts(coef: NDArray[np.floating[Any]], n_classes: int) -> Floats:
    """Return how much each vector speaks for each class, (m, K), in the machines of pairs with coefficients (m, M)."""
    parts = np.zeros((coef.shape[0], n_classes))
    for p, (i, j) in enumerate(class_pairs(n_classes)):  # coefficients > 0 belong to the first class of a pair
        parts[:, i] += np.maximum(coef[:, p], 0)
        parts[:, j] += np.maximum(-coef[:, p], 0)
    return parts


def missed_rows(coef: NDArray[np.floating[Any]]) -> float:
    """Return about how many rows are in no machine, given the coefficients (m, M) of those that are in some.

    Examples
    --------
    >>> missed_rows(np.array([[1.0, 0, 0], [1, 2, 0], [0, 1, 1], [3, 1, 2]]))
    0.25
    """
    machines = np.bincount(np.count_nonzero(coef, axis=1), minlength=3)
    once, twice = float(machines[1]), float(machines[2])
    return once**2 / (2 * twice) if twice else once * (once - 1) / 2


def training_labels(source: KernelModel) -> NDArray[np.intp] | None:
    """Return the classes of the source's vectors, (m,), as positions, if these are (nearly) all the rows it knew.

    Returns
    -------
    (m,) or None
        None if they may be few of the rows, or are none: vectors that have been moved speak for several classes.
    """
    decoder, coef = source.decoder, source.expansion.coef
    if not isinstance(decoder, PairVote | PairDAG) or decoder.n_classes < 3:
        return None
    parts = class_parts(coef, decoder.n_classes)
    if (np.count_nonzero(parts, axis=1) != 1).any() or missed_rows(coef) > _MISSED * coef.shape[0]:
        return None
    return np.asarray(parts.argmax(axis=1))
