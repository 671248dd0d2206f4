"""What every kernel offers: the value of every pair (``gram``) and the way back to the vectors (``pullback``)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from svmpress.errors import InputError
from svmpress.numerics import (
    Array,
    Rows,
)


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
