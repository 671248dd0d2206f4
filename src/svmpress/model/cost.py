"""What a model costs: bytes, and measured seconds per kernel value."""

from __future__ import annotations

import math
import time

import numpy as np

from svmpress.model.expansion import KernelExpansion
from svmpress.model.kernel_model import KernelModel


def expansion_bytes(expansion: KernelExpansion) -> int:
    """Return the bytes of vectors, coefficients and intercepts, dense, as ``max_bytes`` counts them."""
    m, d, n_outputs = expansion.n_vectors, expansion.n_features, expansion.n_outputs
    return int(expansion.coef.dtype.itemsize * (m * (d + n_outputs) + n_outputs))


def kernel_entry_cost(source: KernelModel, rows: int = 1000, repeats: int = 7) -> tuple[float, float]:
    """Measure ``(e, o)``: seconds per kernel entry and per prediction besides, in batches, on this machine.

    Two dense models of the source's shape and precision, with few and many vectors, answer the same random rows; e is
    the slope between the best times of each, o what is left: mostly the way from decision values to a label.
    """
    rng = np.random.default_rng(0)
    dtype = source.expansion.coef.dtype
    X = np.abs(rng.standard_normal((rows, source.n_features))).astype(dtype)

    def seconds(m: int) -> float:
        expansion = KernelExpansion(
            source.kernel,
            np.abs(rng.standard_normal((m, source.n_features))).astype(dtype),
            rng.standard_normal((m, source.n_outputs)).astype(dtype),
            np.zeros(source.n_outputs, dtype),
        )
        best = math.inf
        for _ in range(repeats):
            start = time.perf_counter()
            source.decoder.labels(expansion.decision_values(X))
            best = min(best, time.perf_counter() - start)
        return best / rows

    few, many = 32, 288
    a, b = seconds(few), seconds(many)
    entry = max((b - a) / (many - few), 1e-12)
    return entry, max(a - few * entry, 0.0)
