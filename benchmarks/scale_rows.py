"""The rows and the model of ``scale.py``, in a module that worker processes import: what they keep, they keep."""

from __future__ import annotations

import numpy as np

from svmpress import RBF, KernelExpansion, KernelModel, Sign

FEATURES, VECTORS = 10, 47


def small_model(d: int = FEATURES, m: int = VECTORS, dtype: str = "float64") -> KernelModel:
    """Return a model of two classes, 0 and 1, with random vectors."""
    rng = np.random.default_rng(0)
    V, A = rng.standard_normal((m, d)).astype(dtype), rng.standard_normal((m, 1)).astype(dtype)
    return KernelModel(KernelExpansion(RBF(1 / d), V, A, np.zeros(1, dtype)), Sign(np.array([0, 1])))


def drawn(number: int, n: int) -> np.ndarray:
    """Return the rows (n, d) of a chunk: some that were drawn once, moved by the number of the chunk."""
    if n not in _DRAWN:
        _DRAWN[n] = np.random.default_rng(0).standard_normal((n, FEATURES))
    return _DRAWN[n] + 1e-6 * number


_DRAWN: dict[int, np.ndarray] = {}


def loop_over(numbers: range, n: int) -> int:
    """Add up the labels of chunks, one after the other, on one thread."""
    model = small_model()
    return sum(int(model.predict(drawn(k, n), n_threads=1).sum()) for k in numbers)


def block_of(n: int, block_id: tuple[int, int] = (0, 0)) -> np.ndarray:
    return drawn(block_id[0], n)
