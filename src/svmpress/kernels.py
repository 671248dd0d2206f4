"""Kernels: the value of every pair (``gram``) and the way back from it to the vectors (``pullback``).

A kernel is a frozen dataclass whose fields are its parameters. With rows ``X`` (n, d) and vectors ``V`` (m, d),

    gram(X, V)              ->  K,     (n, m)   K_ij = k(x_i, v_j)
    pullback(X, V, K, G)    ->  dL/dV, (m, d)   given K = gram(X, V) and G = dL/dK, (n, m)
    pullback_gamma(...)     ->  dL/dγ, a number, for kernels that have a ``gamma``

That is all that compression needs of a kernel. Both are matrix products wherever the mathematics allows, in
whichever array library the arguments belong to; rows may be CSR. To add a kernel, write these methods and list
the class in :data:`KERNELS`: the conformance tests then run on it.

The paper's RBF kernel has the width σ; here ``gamma = 1 / 2σ²`` as in LibSVM and scikit-learn.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from svmpress.arrays import (
    Array,
    Rows,
    any_negative,
    blocks,
    dense,
    dot,
    namespace,
    squared_distances,
    take,
    transposed_dot,
)
from svmpress.errors import InputError

_CUBE_BYTES = 4 * 2**20
"""Size of the (rows, m, d) temporaries of the kernels that are no matrix product: stays in cache."""


@dataclass(frozen=True)
class Kernel(ABC):
    """What every kernel offers; see the module's docstring for the shapes."""

    name: ClassVar[str]
    nonnegative: ClassVar[bool] = False
    """Whether the kernel is defined for features >= 0 only."""
    width_matters: ClassVar[bool] = False
    """Whether another gamma makes other functions; where it only scales the vectors there is nothing to learn."""
    bounded: ClassVar[bool] = True
    """Whether values stay within [-1, 1], so that no vector's column outgrows the others'."""

    def __post_init__(self) -> None:
        for key, value in self.params.items():
            if not isinstance(value, (int, float)) or not math.isfinite(value):
                raise InputError(f"{key} of the {self.name} kernel must be a finite number, not {value!r}")
        if self.params.get("gamma", 0) < 0:
            raise InputError(f"gamma of the {self.name} kernel must not be negative, not {self.params['gamma']!r}")
        if self.params.get("degree", 0) < 0:
            raise InputError(f"degree of the {self.name} kernel must not be negative, not {self.params['degree']!r}")

    @property
    def params(self) -> dict[str, float]:
        """The parameters by name."""
        return asdict(self)

    @property
    def definite(self) -> bool:
        """Whether every Gram matrix is positive semi-definite, so that functions have a norm."""
        return True

    @property
    def has_width(self) -> bool:
        """Whether there is a ``gamma`` to learn."""
        return "gamma" in self.params

    def with_gamma(self, gamma: float) -> Kernel:
        """Return this kernel with another width."""
        changes: dict[str, Any] = {"gamma": float(gamma)}
        return replace(self, **changes)

    @abstractmethod
    def gram(self, X: Rows, V: Rows) -> Array:
        """Return k(x_i, v_j) for every pair, (n, m)."""

    @abstractmethod
    def pullback(self, X: Rows, V: Array, K: Array, G: Array) -> Array:
        """Return dL/dV, (m, d), given ``K = gram(X, V)`` and ``G = dL/dK``, both (n, m)."""

    def pullback_gamma(self, X: Rows, V: Array, K: Array, G: Array) -> float:
        """Return dL/dγ given ``K = gram(X, V)`` and ``G = dL/dK``."""
        raise InputError(f"the {self.name} kernel has no width to learn")


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


KERNELS: dict[str, type[Kernel]] = {k.name: k for k in (RBF, Polynomial, Sigmoid, Linear, Laplacian, ChiSquared)}
"""Every kernel by its name on the command line and in files."""


def kernel_by_name(name: str, **params: float) -> Kernel:
    """Return a kernel from its name; parameters that it does not have are ignored.

    Examples
    --------
    >>> kernel_by_name("rbf", gamma=0.5, degree=3)
    RBF(gamma=0.5)
    """
    if name not in KERNELS:
        raise InputError(f"unknown kernel {name!r}; svmpress knows {', '.join(sorted(KERNELS))}")
    kind = KERNELS[name]
    known = {k: v for k, v in params.items() if k in kind.__dataclass_fields__}
    return kind(**known)
