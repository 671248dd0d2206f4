"""One output a class, for devices: a vector then has K coefficients, and not one for each of K(K-1)/2 pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from svmpress.decoders import Argmax, PairDAG, PairVote, class_goals
from svmpress.methods import Outcome, Problem
from svmpress.numerics import arrays, chosen_rows
from svmpress.objectives import ProjectedError, variable_projection

_STEPS, _RIDGE = 60, 1e-6
_ROWS = 20_000
"""More rows than these are not worth their time for K outputs of some hundred vectors."""


def one_output_a_class(problem: Problem, outcome: Outcome) -> Outcome:
    """Return an outcome of three and more classes with K outputs, and an outcome of any other kind as it is.

    Vectors are moved for new targets, with the best coefficients at every step: halfway between the labels (the
    source's answers where there are none) and its votes, which tell how sure it is. Sums of its values would not do,
    since values of machines differ in size.
    """
    decoder = outcome.decoder or problem.source.decoder
    if not isinstance(decoder, PairVote | PairDAG) or decoder.n_classes < 3:
        return outcome
    K = decoder.n_classes
    X = problem.source.expansion.vectors if problem.rows is None else problem.rows
    some = chosen_rows(X.shape[0], _ROWS, problem.seed)
    X = np.asarray(arrays.dense(arrays.take(X, some)), dtype=np.float64)
    F = problem.values(X)
    known = problem.y is not None and problem.rows is not None
    classes = problem.y[some] if problem.y is not None and known else problem.source.decoder.positions(F)
    targets = class_goals(F, classes, K)
    e = outcome.expansion
    V = np.asarray(arrays.dense(e.vectors), dtype=np.float64)
    error = ProjectedError(e.kernel, X, targets, V, ridge=_RIDGE, max_bytes=problem.max_bytes)
    found = variable_projection(error, V, max_iter=_STEPS, progress=problem.stage("one output a class"))
    expansion = replace(e, vectors=found.vectors, coef=found.coef, intercept=found.intercept, coef_mask=None)
    note = f"one output a class, {K} for {e.n_outputs}, fitted to {'labels' if known else 'answers'} and votes"
    return replace(
        outcome, expansion=expansion, decoder=Argmax(decoder.classes), copies=False, notes=(*outcome.notes, note)
    )
