"""Fine-tuning with rounding in the loop: vectors move so that their *rounded* selves answer right.

Steps of Adam on small batches. Values are computed with rounded vectors, and the gradient with respect to these is
given to the numbers behind them, as if rounding were not there (the straight-through estimator; Bengio, Léonard,
Courville 2013). Classes are fitted by the cross-entropy of their labels, regressions by the squared error. Some rows
are held out; the state that answers them best is returned, and that may be the start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.exports.quantized.grid import Floats, Grid
from svmpress.kernels import Kernel

_HELD, _MOST_HELD = 0.15, 5000
_BATCH = 128
_UPDATES, _MOST_EPOCHS = 6000, 60
"""Steps at least, where rows are few; and passes over the rows at most."""
_DECAY = (0.9, 0.99)
_SHARPNESS = 4.0
"""Targets of ±1 become log-odds of this size."""


@dataclass(frozen=True, eq=False)
class Tuned:
    """Weights behind the rounding (m, d), coefficients and intercepts; and the scores before and after."""

    V: Floats
    coef: Floats
    intercept: Floats
    before: float
    after: float


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


def tune(
    grid: Grid,
    kernel: Kernel,
    rows: Callable[[NDArray[np.intp], np.random.Generator | None], Floats],
    y: NDArray[Any],
    start: tuple[Floats, Floats, Floats],
    *,
    classes: int,
    seed: int,
    epochs: int | None = None,
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
        Positions of classes, or values.
    start : V (m, d) in levels, coefficients (m, M), intercepts (M,)
    classes : int
        0 for a regression.
    seed : int
    epochs : int, optional
    progress : callable, optional
    """
    rng = np.random.default_rng(seed)
    V, A, b = (np.array(a, dtype=np.float32) for a in start)
    if classes:
        A, b = A * _SHARPNESS, b * _SHARPNESS
    order = rng.permutation(len(y))
    n_held = min(int(_HELD * len(y)), _MOST_HELD)
    held, fit = np.sort(order[:n_held]), order[n_held:]
    X_held = rows(held, None)
    total = epochs or int(np.clip(_UPDATES * _BATCH // max(1, len(fit)), 10, 400))
    total = min(total, _MOST_EPOCHS) if epochs is None and len(fit) > 10_000 else total

    def rounded(V: Floats) -> Floats:
        w = np.clip(np.rint((V - grid.offset) / grid.ratio), 0, grid.weight_top)
        return (grid.offset + grid.ratio * w).astype(np.float32)

    def score() -> float:
        F = kernel.gram(X_held, rounded(V)) @ A + b
        return _goodness(F, y[held], classes)

    best = before = score()
    kept = [V.copy(), A.copy(), b.copy()]
    spread = max(1.0, float(np.ptp(V)))
    adam = _Adam([V, A, b], [0.01 * spread, 0.02 * max(float(np.abs(A).mean()), 1e-6), 0.01])
    steps_done, steps = 0, total * -(-len(fit) // _BATCH)
    low, high = grid.offset, grid.offset + grid.ratio * grid.weight_top
    for epoch in range(total):
        shuffled = rng.permutation(fit)
        for first in range(0, len(shuffled), _BATCH):
            some = shuffled[first : first + _BATCH]
            X, Vq = rows(some, rng), rounded(V)
            K = kernel.gram(X, Vq)
            dF = _slopes(K @ A + b, y[some], classes)
            dV = kernel.pullback(X, Vq, K, dF @ A.T)
            rate = 0.5 * (1 + np.cos(np.pi * steps_done / steps))
            adam.step([dV, K.T @ dF, dF.sum(axis=0)], rate)
            np.clip(V, low, high, out=V)
            steps_done += 1
        now = score()
        if now > best:
            best, kept = now, [V.copy(), A.copy(), b.copy()]
        if progress is not None:
            progress(epoch + 1, total)
    tuned = [a.astype(np.float64) for a in kept]
    return Tuned(tuned[0], tuned[1], tuned[2], before, best)


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


def _goodness(F: Floats, y: NDArray[Any], classes: int) -> float:
    """Return a score that grows: right answers, and the likelihood between equal numbers of these; or the error."""
    if classes == 0:
        return -float(np.mean((F - y) ** 2))
    if F.shape[1] == 1:
        F = np.hstack([-F / 2, F / 2])
    likely = F[np.arange(len(F)), y] - np.log(np.exp(F - F.max(axis=1, keepdims=True)).sum(axis=1)) - F.max(axis=1)
    return float(np.mean(F.argmax(axis=1) == y) + 0.02 * np.mean(likely))
