"""Fine-tuning with rounding in the loop: vectors move so that their *rounded* selves answer right.

Steps of Adam on small batches. Values are computed with rounded vectors, and the gradient with respect to these is
given to the numbers behind them, as if rounding were not there (the straight-through estimator; Bengio, Léonard,
Courville 2013). Classes are fitted by the cross-entropy of their labels, and the last state is returned: steps shrink
to nothing, and rows held out cannot say which is the best. The vectors at the start have seen those rows, so that
states look the better the less they have moved. Regressions are fitted by the squared error, and that state is returned
whose error is least on the rows that are fitted: what rounding adds to it is often more than steps can gain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.exports.quantized.grid import Floats, Grid

_BATCH = 128
_STEPS, _MOST_EPOCHS = 20_000, 300
"""Steps of Adam, and passes over the rows at most."""
_STEP_OF_VECTORS, _STEP_OF_COEF = 0.016, 0.017
"""Of the range of the rows, and of the mean coefficient."""
_DECAY = (0.9, 0.99)
_JUDGED = 4000
"""Rows that the error of a regression is measured on."""
_SHARPNESS = 4.0
"""Targets of ±1 become log-odds of this size."""


@dataclass(frozen=True, eq=False)
class Tuned:
    """Vectors behind the rounding (m, d), coefficients and intercepts."""

    V: Floats
    coef: Floats
    intercept: Floats


class _Adam:
    """Adam for a few arrays, each with its own step."""

    def __init__(self, arrays: list[Floats], steps: list[float]) -> None:
        self.arrays, self.steps, self.t = arrays, steps, 0
        self.first = [np.zeros_like(a) for a in arrays]
        self.second = [np.zeros_like(a) for a in arrays]

    def step(self, gradients: list[Floats], rate: float) -> None:
        self.t += 1
        one, two = _DECAY
        correction = np.sqrt(1 - two**self.t) / (1 - one**self.t)
        for i, g in enumerate(gradients):
            self.first[i] = one * self.first[i] + (1 - one) * g
            self.second[i] = two * self.second[i] + (1 - two) * g * g
            size = np.float32(rate * self.steps[i] * correction)
            self.arrays[i] -= size * self.first[i] / (np.sqrt(self.second[i]) + np.float32(1e-12))


def usual_epochs(n: int) -> int:
    """Return how many passes over n rows are usual.

    Examples
    --------
    >>> usual_epochs(1000), usual_epochs(50_000)
    (300, 51)
    """
    return int(np.clip(_STEPS * _BATCH / max(1, n), 10, _MOST_EPOCHS))


def tune(
    grid: Grid,
    kernel: Any,
    rows: Callable[[NDArray[np.intp], np.random.Generator | None], Floats],
    y: NDArray[Any],
    start: tuple[Floats, Floats, Floats],
    some: NDArray[np.intp],
    *,
    rate: float,
    classes: int,
    epochs: int,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> Tuned:
    """Return vectors and coefficients fine-tuned on labels.

    Parameters
    ----------
    grid : Grid
    kernel : Kernel
        Of levels.
    rows : callable
        Returns the levels of some rows, (k, d), float32; with a generator they may be shifted at random.
    y : (n,) int or (n, M) float
        Positions of classes, or values; of two classes 1 where the value should be positive.
    start : V (m, d) in levels, coefficients (m, M), intercepts (M,)
    some : (n,)
        The rows to fit.
    rate : float
        Of all steps.
    classes : int
        0 for a regression.
    epochs, seed : int
    progress : callable, optional
    """
    rng = np.random.default_rng(seed)
    V, A, b = (np.array(a, dtype=np.float32) for a in start)
    if classes:
        A, b = A * np.float32(_SHARPNESS), b * np.float32(_SHARPNESS)
    judged = rows(some[:: -(-len(some) // _JUDGED)], None)
    wanted = y[some[:: -(-len(some) // _JUDGED)]]

    def error() -> float:
        F = kernel.gram(judged, _rounded(V, grid)) @ A + b
        return float(np.mean((F - wanted) ** 2))

    least, kept = (np.inf, [V, A, b]) if classes else (error(), [V.copy(), A.copy(), b.copy()])
    size = _STEP_OF_COEF * max(float(np.abs(A).mean()), 1e-6)
    adam = _Adam([V, A, b], [_STEP_OF_VECTORS * grid.top, size, size / 10])
    low, high = grid.offset, grid.offset + grid.ratio * grid.weight_top
    steps = epochs * -(-len(some) // _BATCH)
    for epoch in range(epochs):
        shuffled = rng.permutation(some)
        for first in range(0, len(shuffled), _BATCH):
            batch = shuffled[first : first + _BATCH]
            X, Vq = rows(batch, rng), _rounded(V, grid)
            K = kernel.gram(X, Vq)
            dF = _slopes(K @ A + b, y[batch], classes)
            gradients = [kernel.pullback(X, Vq, K, dF @ A.T), K.T @ dF, dF.sum(axis=0)]
            adam.step(gradients, rate * 0.5 * (1 + np.cos(np.pi * adam.t / steps)))
            np.clip(V, low, high, out=V)
        now = np.inf if classes else error()
        if now < least:
            least, kept = now, [V.copy(), A.copy(), b.copy()]
        if progress is not None:
            progress(epoch + 1, epochs)
    return Tuned(*(a.astype(np.float64) for a in kept))


def _rounded(V: Floats, grid: Grid) -> Floats:
    """Return the levels of rounded vectors, (m, d)."""
    w = np.clip(np.rint((V - grid.offset) / grid.ratio), 0, grid.weight_top)
    return np.asarray(grid.offset + grid.ratio * w, dtype=np.float32)


def _slopes(F: Floats, y: NDArray[Any], classes: int) -> Floats:
    """Return the derivative of the mean loss with respect to values, (k, M)."""
    if classes == 0:
        return np.asarray((F - y) / len(F), dtype=np.float32)
    if F.shape[1] == 1:
        side = np.where(y == 1, 1.0, -1.0).astype(np.float32)[:, None]
        return np.asarray(-side / (1 + np.exp(side * F)) / len(F), dtype=np.float32)
    E = np.exp(F - F.max(axis=1, keepdims=True))
    E /= E.sum(axis=1, keepdims=True)
    E[np.arange(len(F)), y] -= 1
    return np.asarray(E / len(F), dtype=np.float32)
