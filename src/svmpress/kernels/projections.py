"""Kernels of the inner product ``x·v``: linear, polynomial, sigmoid."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from svmpress.kernels.base import Kernel
from svmpress.numerics import (
    Array,
    Rows,
    dot,
    namespace,
    transposed_dot,
)


@dataclass(frozen=True)
class Linear(Kernel):
    """``k(x, v) = x·v``."""

    name: ClassVar[str] = "linear"
    bounded: ClassVar[bool] = False

    def gram(self, X: Rows, V: Rows) -> Array:  # noqa: D102
        return dot(X, V)

    def pullback(self, X: Rows, V: Array, K: Array, G: Array) -> Array:  # noqa: D102
        return transposed_dot(G, X)


@dataclass(frozen=True)
class _Projection(Kernel):
    """A function φ of the affine projection ``s = γ x·v + c₀``: both derivatives follow from φ'."""

    gamma: float = 1.0
    coef0: float = 0.0

    def _affine(self, X: Rows, V: Rows) -> Array:
        S = dot(X, V)
        S *= self.gamma
        S += self.coef0
        return S

    @abstractmethod
    def _slope(self, X: Rows, V: Array, K: Array) -> Array:
        """Return φ'(s), (n, m)."""

    def pullback(self, X: Rows, V: Array, K: Array, G: Array) -> Array:
        return transposed_dot(G * self._slope(X, V, K) * self.gamma, X)

    def pullback_gamma(self, X: Rows, V: Array, K: Array, G: Array) -> float:
        xp = namespace(G)
        return float(xp.sum(G * self._slope(X, V, K) * dot(X, V)))


@dataclass(frozen=True)
class Polynomial(_Projection):
    """``k(x, v) = (γ x·v + c₀)^p``."""

    name: ClassVar[str] = "poly"
    bounded: ClassVar[bool] = False
    degree: float = 3

    def gram(self, X: Rows, V: Rows) -> Array:  # noqa: D102
        return self._affine(X, V) ** self.degree

    @property
    def definite(self) -> bool:  # noqa: D102
        return self.coef0 >= 0 and float(self.degree).is_integer()

    def _slope(self, X: Rows, V: Array, K: Array) -> Array:
        if self.degree == 0:
            return namespace(K).zeros_like(K)
        return self.degree * self._affine(X, V) ** (self.degree - 1)


@dataclass(frozen=True)
class Sigmoid(_Projection):
    """``k(x, v) = tanh(γ x·v + c₀)``."""

    name: ClassVar[str] = "sigmoid"

    @property
    def definite(self) -> bool:  # noqa: D102
        return False

    def gram(self, X: Rows, V: Rows) -> Array:  # noqa: D102
        S = self._affine(X, V)
        return namespace(S).tanh(S)

    def _slope(self, X: Rows, V: Array, K: Array) -> Array:
        return 1 - K * K
