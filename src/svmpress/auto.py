"""The default method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from svmpress import arrays
from svmpress.decoders import PairDAG, PairVote, pair_mask
from svmpress.model import KernelExpansion
from svmpress.objective import ProjectedError
from svmpress.problem import Outcome, Problem
from svmpress.refine import variable_projection


@dataclass(frozen=True)
class Auto:
    """Variable projection from k-means centres."""

    max_iter: int = 100

    def run(self, problem: Problem, m: int) -> Outcome:
        """Return an expansion of at most ``m`` vectors."""
        source = problem.source.expansion
        rng = np.random.default_rng(problem.seed)
        rows = problem.rows if problem.rows is not None else source.vectors
        if rows.shape[0] > 10000:
            rows = arrays.take(rows, np.sort(rng.choice(rows.shape[0], 10000, replace=False)))
        X = problem.backend.asarray(arrays.dense(rows))
        T = source.decision_values(X, problem.max_bytes)
        mask = None
        decoder = problem.source.decoder
        V = (
            MiniBatchKMeans(min(m, X.shape[0]), n_init=1, random_state=problem.seed)
            .fit(arrays.to_numpy(X))
            .cluster_centers_
        )
        if problem.layout == "libsvm" and isinstance(decoder, PairVote | PairDAG):
            mask = pair_mask(np.arange(len(V)) % decoder.n_classes, decoder.n_classes)
        objective = ProjectedError(
            source.kernel, X, T, problem.backend.asarray(V), mask=mask, max_bytes=problem.max_bytes
        )
        refined = variable_projection(objective, V, max_iter=self.max_iter, progress=problem.stage("refine"))
        expansion = KernelExpansion(refined.kernel, refined.vectors, refined.coef, refined.intercept, mask)
        return Outcome(expansion, trace={"refine": refined.trace})
