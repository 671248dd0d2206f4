"""A model without data: what its support vectors tell.

The coefficients of a trained SVM carry the labels of its support vectors: those of class c are positive in the machines
of pairs that have c first, negative where it is second, and zero elsewhere. So a model alone has labelled rows. They
are not the data, though: rows that the source is sure of are no support vectors, and a compact class of thousands may
have a handful. What such labels recommend is therefore checked halfway *between* the support vectors of each class,
where rows must be expected that the source is sure of (:func:`midpoints`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import PairDAG, PairVote, Sign
from svmpress.methods.base import Problem, vector_classes
from svmpress.methods.surrogate import ALIKE, is_balanced
from svmpress.numerics import Rows, arrays
from svmpress.objectives import sides_of

_EACH, _MOST = 100, 10_000
"""Points between support vectors of one class; and of all of them, where there are many."""


def inferred_labels(problem: Problem) -> NDArray[np.intp] | None:
    """Return the labels of the source's vectors, (m,), as positions in its classes; None if its coefficients tell none.

    They do if the source is a classifier of two classes or of pairs whose coefficients are as training leaves them (the
    signs of a vector agree with one class, and those of a machine add up to zero: vectors that have been moved do not
    have such), and if it answers nearly all of its vectors with these labels. One that overlapping classes have trained
    does not, and its labels say little about its answers.
    """
    source = problem.source
    decoder, coef = source.decoder, source.expansion.coef
    if source.task != "classification" or not isinstance(decoder, Sign | PairVote | PairDAG) or not is_balanced(coef):
        return None
    if isinstance(decoder, Sign):
        labels = (coef[:, 0] > 0).astype(np.intp)
    else:
        labels = vector_classes(source.expansion, decoder.n_classes)
        sides = sides_of(labels, decoder.n_classes, pairwise=True)
        if (coef * sides < 0).any() or coef[sides == 0].any():
            return None
    answers = decoder.positions(problem.values(source.expansion.vectors))
    return labels if np.mean(answers == labels) >= ALIKE else None


def midpoints(rows: Rows, labels: NDArray[np.intp], seed: int) -> tuple[Rows, NDArray[np.intp]]:
    """Return points halfway between two rows of a class, (k, d), and their classes, (k,): as many of each.

    Parameters
    ----------
    rows : (n, d)
    labels : (n,)
        Of 0 to K - 1.
    seed : int

    Examples
    --------
    >>> points, classes = midpoints(np.array([[0.0], [2.0], [9.0]]), np.array([0, 0, 1]), 0)
    >>> sorted(set(points[classes == 0].ravel().tolist())), set(points[classes == 1].ravel().tolist())
    ([1.0], {9.0})
    """
    rng = np.random.default_rng(seed)
    present = np.unique(labels)
    each = max(1, min(_EACH, _MOST // len(present)))
    ends = []
    for c in present:
        own = np.flatnonzero(labels == c)
        first = rng.integers(0, own.size, each)
        other = first + rng.integers(1, max(2, own.size), each)  # not itself, unless there is no other
        ends.append(own[np.stack([first, other % own.size])])
    one, two = np.concatenate(ends, axis=1)
    return (arrays.take(rows, one) + arrays.take(rows, two)) * 0.5, np.repeat(present, each)
