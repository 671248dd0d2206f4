"""One output a class, for devices: a vector then has K coefficients, and not one for each of K(K-1)/2 pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from svmpress.decoders import Argmax, PairDAG, PairVote
from svmpress.methods import Outcome, Problem
from svmpress.numerics import arrays
from svmpress.objectives import MarginObjective, Parameters, ProjectedError, polish, sides_of

_STEPS = 60
_ROWS = 20_000
"""More rows than these are not worth their time for K outputs of some hundred vectors."""


def one_output_a_class(problem: Problem, outcome: Outcome) -> Outcome:
    """Return an outcome of three and more classes with K outputs, and an outcome of any other kind as it is.

    Sums of the source's values would not do, since values of machines differ in size. The coefficients are solved for
    the labels, or for the source's answers where there are none, and then vectors and coefficients together are moved
    until margins are met (equation 1, one class against the rest).
    """
    decoder = outcome.decoder or problem.source.decoder
    if not isinstance(decoder, PairVote | PairDAG) or decoder.n_classes < 3:
        return outcome
    K = decoder.n_classes
    X = problem.source.expansion.vectors if problem.rows is None else problem.rows
    if X.shape[0] > _ROWS:
        some = np.sort(np.random.default_rng(problem.seed).permutation(X.shape[0])[:_ROWS])
    else:
        some = np.arange(X.shape[0])
    X = np.asarray(arrays.dense(arrays.take(X, some)), dtype=np.float64)
    if problem.y is not None and problem.rows is not None:
        classes = problem.y[some]
    else:
        classes = problem.source.decoder.positions(problem.values(X))
    order = np.argsort(classes, kind="stable")
    X, classes = X[order], classes[order]
    sides = sides_of(np.arange(K), K, pairwise=False)
    e = outcome.expansion
    V = np.asarray(arrays.dense(e.vectors), dtype=np.float64)
    solved = ProjectedError(e.kernel, X, sides[classes], V, ridge=1e-6).value_and_grad(V)
    objective = MarginObjective(
        X, sides[classes], np.bincount(classes, minlength=K), sides, trust=False, max_bytes=problem.max_bytes
    )
    start = Parameters(e.kernel, V, np.asarray(solved.coef), np.asarray(solved.intercept))
    found = polish(objective, start, max_iter=_STEPS, progress=problem.stage("one output a class"))
    expansion = replace(e, vectors=found.vectors, coef=found.coef, intercept=found.intercept, coef_mask=None)
    note = f"one output a class, {K} for {e.n_outputs}, fitted to {'labels' if problem.y is not None else 'answers'}"
    return replace(
        outcome, expansion=expansion, decoder=Argmax(decoder.classes), copies=False, notes=(*outcome.notes, note)
    )
