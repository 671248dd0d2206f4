"""Kernels ``exp(-γ D(x, v))`` of a distance D: RBF, Laplacian, chi-squared."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from svmpress.errors import InputError
from svmpress.kernels.base import Kernel
from svmpress.numerics import (
    Array,
    Rows,
    any_negative,
    blocks,
    common_columns,
    dense,
    dot,
    is_csr,
    namespace,
    squared_distances,
    take,
    transposed_dot,
)

_CUBE_BYTES = 4 * 2**20
"""Size of the (rows, m, d) temporaries of the kernels that are no matrix product: stays in cache."""


@dataclass(frozen=True)
class _Exponential(Kernel):
    """``k = exp(-γ D(x, v))`` for a distance D, so that ``dk/dγ = -D k = k log k / γ``."""

    width_matters: ClassVar[bool] = True
    gamma: float = 1.0

    @abstractmethod
    def _distances(self, X: Rows, V: Rows) -> Array:
        """Return D, (n, m)."""

    def gram(self, X: Rows, V: Rows) -> Array:
        D = self._distances(X, V)
        D *= -self.gamma
        return namespace(D).exp(D)

    def pullback_gamma(self, X: Rows, V: Array, K: Array, G: Array) -> float:
        if self.gamma == 0:
            raise InputError("the derivative with respect to gamma is not available at gamma = 0")
        xp = namespace(K)
        log_K = xp.log(xp.where(K > 0, K, xp.ones_like(K)))  # k log k -> 0 where k underflowed to 0
        return float(xp.sum(G * K * log_K)) / self.gamma


@dataclass(frozen=True)
class RBF(_Exponential):
    """``k(x, v) = exp(-γ ||x - v||²)``."""

    name: ClassVar[str] = "rbf"

    def _distances(self, X: Rows, V: Rows) -> Array:
        return squared_distances(X, V)

    def pullback(self, X: Rows, V: Array, K: Array, G: Array) -> Array:  # noqa: D102
        H = G * K
        H *= 2 * self.gamma
        return transposed_dot(H, X) - namespace(H).sum(H, axis=0)[:, None] * V


@dataclass(frozen=True)
class _Coordinatewise(_Exponential):
    """D is a sum over features of a function that is no product: (rows, m, d) cubes, a cacheful at a time."""

    @abstractmethod
    def _cube(self, X: Array, V: Array) -> Array:
        """Return the summands of D, (n, m, d), for X of shape (n, 1, d) and V of shape (1, m, d)."""

    @abstractmethod
    def _cube_slope(self, X: Array, V: Array) -> Array:
        """Return their derivatives with respect to V, (n, m, d)."""

    def _row_blocks(self, X: Rows, V: Array) -> Any:
        m, d = V.shape
        for rows in blocks(X.shape[0], m * d * 8, _CUBE_BYTES):
            yield rows, dense(take(X, rows), like=V)[:, None, :]

    def _distances(self, X: Rows, V: Rows) -> Array:
        if is_csr(X) and is_csr(V):  # a feature that is zero in both adds nothing
            X, V = common_columns(X, V)
        V = dense(V, like=X)
        xp = namespace(X, V)
        parts = [xp.sum(self._cube(x, V[None, :, :]), axis=2) for _, x in self._row_blocks(X, V)]
        return xp.concat(parts, axis=0) if parts else dot(X, V)

    def pullback(self, X: Rows, V: Array, K: Array, G: Array) -> Array:
        xp = namespace(V)
        H = G * K * -self.gamma
        total = xp.zeros_like(V)
        for rows, x in self._row_blocks(X, V):
            total = total + xp.sum(H[rows, :, None] * self._cube_slope(x, V[None, :, :]), axis=0)
        return total


@dataclass(frozen=True)
class Laplacian(_Coordinatewise):
    """``k(x, v) = exp(-γ ||x - v||₁)``."""

    name: ClassVar[str] = "laplacian"

    def _cube(self, X: Array, V: Array) -> Array:
        return namespace(X, V).abs(X - V)

    def _cube_slope(self, X: Array, V: Array) -> Array:
        return -namespace(X, V).sign(X - V)


@dataclass(frozen=True)
class ChiSquared(_Coordinatewise):
    """``k(x, v) = exp(-γ Σ (x - v)² / (x + v))`` for features >= 0; a feature that is 0 in both adds nothing."""

    name: ClassVar[str] = "chi2"
    nonnegative: ClassVar[bool] = True

    def gram(self, X: Rows, V: Rows) -> Array:  # noqa: D102
        for rows, label in ((X, "rows"), (V, "vectors")):
            if any_negative(rows):
                raise InputError(f"the chi-squared kernel needs features >= 0, and the {label} hold negative ones")
        return super().gram(X, V)

    def _cube(self, X: Array, V: Array) -> Array:
        total = X + V
        xp = namespace(total)
        return (X - V) ** 2 / xp.where(total > 0, total, xp.ones_like(total))

    def _cube_slope(self, X: Array, V: Array) -> Array:
        total = X + V
        xp = namespace(total)
        total = xp.where(total > 0, total, xp.ones_like(total))
        return -(X - V) * (3 * X + V) / (total * total)
