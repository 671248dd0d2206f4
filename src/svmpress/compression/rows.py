"""What was given beside the model: which of it tells something about the model, and what would do harm.

Rows in other units than those of training lie far from every vector: an RBF machine answers all of them with its
intercept, and a model that is fitted to them answers nothing else. Labels may be placeholders (LibSVM's users write 0
for *none*), of another task, or of some classes only. What tells nothing is left out, and said.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from svmpress.errors import InputError
from svmpress.methods import Problem, inferred_labels
from svmpress.model import KernelModel
from svmpress.numerics import Rows, arrays, ordered_columns

_SAMPLE = 1_000
"""Rows and vectors that are looked at."""
_CONSTANT = 0.01
"""Spread of the source's values at rows, relative to that at its vectors, below which they are one and the same."""
_FAR = 10.0
"""Squared distance to the nearest vector, relative to the spread of the vectors, from which on a row is not of their
kind: two vectors that have nothing to do with each other are twice the spread apart."""
_CHANCE = 0.05
"""Agreement beyond chance, as a share of what could be (Cohen's kappa), below which labels are of something else."""
_WORSE = 0.2
"""By how much less of the rows than of its own vectors a source may answer as their labels say."""


def heeded(problem: Problem) -> tuple[Problem, tuple[str, ...]]:
    """Return the problem without rows and labels that tell nothing about the source, and why they do not."""
    if problem.rows is None:
        return problem, ()
    reason = _strange_rows(problem)
    if reason:
        return replace(problem, rows=None, y=None, every=None), (f"the rows are not used: {reason}",)
    reason = "" if problem.y is None else _strange_labels(problem)
    if reason:
        return replace(problem, y=None), (f"the labels are not used: {reason}",)
    return problem, ()


def _strange_rows(problem: Problem) -> str:
    """Return why the rows tell nothing about the source; empty if they tell something."""
    vectors = _some(problem.source.expansion.vectors, problem.seed)
    rows = _some(problem.rows, problem.seed)
    if vectors.shape[0] < 2 or not problem.source.kernel.width_matters:
        return ""
    at_rows, at_vectors = problem.values(rows), problem.values(vectors)
    if rows.shape[0] > 1 and (at_rows.std(axis=0) < _CONSTANT * at_vectors.std(axis=0)).all():
        return "the model gives all of them nearly the same values; are they in the units of its training rows?"
    distance = np.asarray(arrays.squared_distances(rows, vectors)).min(axis=1)
    spread = float(np.mean(arrays.square_norms(vectors)) - np.sum(arrays.column_means(vectors) ** 2))
    if np.median(distance) > _FAR * spread:
        return "most of them lie far from every vector of the model; are they in the units of its training rows?"
    return ""


def _strange_labels(problem: Problem) -> str:
    """Return why y does not say what the source should answer; empty if it does."""
    assert problem.y is not None
    if problem.source.classes_ is None:
        return _strange_values(problem)
    classes, seen = problem.source.classes_, np.unique(problem.y)
    if seen.size == 1:
        return f"all of them are {classes[seen[0]]}"
    if seen.size < classes.size:
        missing = np.setdiff1d(np.arange(classes.size), seen)
        return f"{missing.size} of the {classes.size} classes are not among them, such as {classes[missing[0]]}"
    some = np.random.default_rng(problem.seed).permutation(problem.y.size)[:_SAMPLE]
    wanted = problem.y[some]
    given = problem.source.decoder.positions(problem.values(arrays.take(problem.rows, some)))
    agreement = float(np.mean(given == wanted))
    shares = [np.bincount(a, minlength=classes.size) / a.size for a in (given, wanted)]
    chance = float(shares[0] @ shares[1])
    if agreement - chance < _CHANCE * (1 - chance):
        return f"the model answers {agreement:.1%} of the rows with them, which is no more than chance"
    own = inferred_labels(problem)
    if own is not None:
        known = problem.source.decoder.positions(problem.values(problem.source.expansion.vectors))
        expected = float(np.mean(known == own))
        if agreement < expected - _WORSE:
            return f"the model answers {agreement:.1%} of the rows with them, but {expected:.1%} of its own vectors"
    return ""


def _strange_values(problem: Problem) -> str:
    """Return why values y do not say what a regressor should answer; empty if they do."""
    assert problem.y is not None
    some = np.random.default_rng(problem.seed).permutation(len(problem.y))[:_SAMPLE]
    wanted = problem.y[some]
    spread = np.sum((wanted - wanted.mean(axis=0)) ** 2)
    missed = np.sum((problem.values(arrays.take(problem.rows, some)) - wanted) ** 2)
    if spread == 0:
        return "all values are the same"
    return "the model answers the rows worse than one value for all of them would" if missed > spread else ""


def _some(rows: Rows, seed: int) -> Rows:
    n = rows.shape[0]
    return rows if n <= _SAMPLE else arrays.take(rows, np.random.default_rng(seed).permutation(n)[:_SAMPLE])


def checked_test(source: KernelModel, X: Any, y: Any) -> tuple[Any, Any] | None:
    """Return rows to measure on and their answers; None where there are none."""
    if X is None:
        if y is not None:
            raise InputError("answers to test rows were given without the rows")
        return None
    X = arrays.check_rows(ordered_columns(X, source.feature_names), n_features=source.n_features, allow_empty=False)
    X = X if arrays.is_csr(X) else arrays.to_numpy(X)
    if y is None:
        return X, None
    y = np.asarray(y)
    if source.task == "regression":
        y = y.astype(np.float64).reshape(X.shape[0], -1)
        y = y[:, 0] if y.shape[1] == 1 else y
    if y.shape[:1] != (X.shape[0],):
        raise InputError(f"there are {X.shape[0]} rows to measure on, and {len(y)} answers")
    return X, y
