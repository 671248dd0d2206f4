"""A model without data: what its support vectors tell.

The coefficients of a trained SVM carry the labels of its support vectors: those of class c are positive in the machines
of pairs that have c first, negative where it is second, and zero elsewhere. So a model alone has labelled rows. They
are not the data, though: rows that the source is sure of are no support vectors, and a compact class of thousands may
have a handful. What such labels recommend is therefore checked halfway *between* the support vectors of each class,
where rows must be expected that the source is sure of (:func:`midpoints`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import PairDAG, PairVote, Sign
from svmpress.methods.base import Problem, vector_classes
from svmpress.methods.surrogate import ALIKE, is_balanced
from svmpress.numerics import Rows, arrays
from svmpress.objectives import sides_of

_SAME = 1e-9
"""How near, relative to the largest, random projections of two rows are if the rows are the same."""
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


def with_vectors(problem: Problem) -> tuple[Problem, str]:
    """Return a problem of few rows with the source's vectors among them, and what to say of that.

    A few rows are no substitute for thousands of vectors. Rows that are vectors are not taken twice: a copy of a
    held-out row must not be among those that are fitted. The vectors have the labels that the coefficients tell; where
    they tell none, y is of no use.
    """
    assert problem.rows is not None
    vectors = problem.source.expansion.vectors
    fresh = np.flatnonzero(~are_among(problem.rows, vectors, problem.seed))
    rows = arrays.concatenated(vectors, arrays.take(problem.rows, fresh))
    labels = None if problem.y is None else inferred_labels(problem)
    y = None if problem.y is None or labels is None else np.concatenate([labels, problem.y[fresh]])
    note = "there are fewer rows than the source has vectors: these are rows, too"
    if problem.y is not None and y is None:
        note += ", and y is not used, since theirs is not known"
    return replace(problem, rows=rows, y=y), note


def are_among(rows: Rows, others: Rows, seed: int = 0) -> NDArray[np.bool_]:
    """Return which rows (n, d) are equal to one of others (k, d), (n,).

    Examples
    --------
    >>> are_among(np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([[2.0, 1.0], [0.0, 0.0]])).tolist()
    [False, True]
    """
    direction = np.random.default_rng(seed).normal(size=rows.shape[1])
    own, there = np.asarray(rows @ direction), np.sort(np.asarray(others @ direction))
    near = _SAME * max(float(np.abs(there).max(initial=0.0)), 1e-300)
    found: NDArray[np.bool_] = np.searchsorted(there, own + near, "right") > np.searchsorted(there, own - near)
    return found
