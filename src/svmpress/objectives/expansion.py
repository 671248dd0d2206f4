"""A loss of decision values as a function of vectors, coefficients, intercepts and width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from svmpress.kernels import Kernel
from svmpress.numerics import (
    Array,
    Rows,
    arrays,
)


class Loss(Protocol):
    """A function of the decision values of some rows."""

    n_outputs: int

    def value_and_grad(self, F: Array, rows: slice) -> tuple[Array, Array]:
        """Return the loss of the decision values ``F`` (k, M) of these rows, a scalar, and its gradient (k, M)."""


@dataclass(frozen=True, eq=False)
class Parameters:
    """Where a refinement is: V (m, d), A (m, M), b (M,) and the kernel with its width."""

    kernel: Kernel
    vectors: Array
    coef: Array
    intercept: Array


@dataclass(frozen=True, eq=False)
class Gradient:
    """A value and the derivatives with respect to the parameters; ``gamma`` is None where it was not asked for."""

    value: float
    vectors: Array
    coef: Array
    intercept: Array
    gamma: float | None


class SquaredError:
    """``Σ_i Σ_p (F_ip - T_ip)² / scale``: equation 10 of the paper, with ``scale`` making it relative.

    Parameters
    ----------
    targets : (n, M)
    """

    def __init__(self, targets: Array) -> None:
        self.targets = targets
        self.n_outputs = int(targets.shape[1])
        xp = arrays.namespace(targets)
        self.scale = float(xp.sum((targets - xp.mean(targets, axis=0)) ** 2)) or 1.0

    def value_and_grad(self, F: Array, rows: slice) -> tuple[Array, Array]:
        """Return the loss and its gradient; see :class:`Loss`."""
        R = F - self.targets[rows, :]
        return arrays.namespace(R).sum(R * R) / self.scale, R * (2 / self.scale)


class ExpansionObjective:
    """A loss of decision values as a function of vectors, coefficients, intercepts and width.

    Parameters
    ----------
    rows : (n, d)
    loss : Loss
    max_bytes : int, optional
        Working memory.
    """

    def __init__(self, rows: Rows, loss: Loss, max_bytes: int | None = None) -> None:
        self.rows, self.loss, self.max_bytes = rows, loss, max_bytes

    def value_and_grad(self, at: Parameters, *, width: bool = False) -> Gradient:
        """Return the loss and its derivatives; that of γ only if ``width``."""
        V, A = at.vectors, at.coef
        xp = arrays.namespace(V, A)
        value, slope = 0.0, 0.0
        dV, dA, db = xp.zeros_like(V), xp.zeros_like(A), xp.zeros_like(at.intercept)
        per_row = 8 * (5 * V.shape[0] + 4 * A.shape[1] + 2 * V.shape[1])
        for block in arrays.blocks(self.rows.shape[0], per_row, self.max_bytes):
            X = arrays.take(self.rows, block)
            K = at.kernel.gram(X, V)
            part, dF = self.loss.value_and_grad(xp.matmul(K, A) + at.intercept, block)
            G = xp.matmul(dF, A.T)
            value += float(part)
            dV = dV + at.kernel.pullback(X, V, K, G)
            dA = dA + xp.matmul(K.T, dF)
            db = db + xp.sum(dF, axis=0)
            if width:
                slope += at.kernel.pullback_gamma(X, V, K, G)
        return Gradient(value, dV, dA, db, slope if width else None)
