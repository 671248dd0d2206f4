"""Budgets: how many vectors the small model may have.

A budget is exactly one of

    vectors        a number of vectors
    ratio          a share of the source's vectors
    max_bytes      bytes of vectors, coefficients and intercepts
    max_latency    seconds per prediction on this machine: the paper's cost budget B, with ``m = B / e`` for the
                   measured cost e of a kernel entry
    max_flash      bytes of vectors and coefficients in whole numbers, as C code on a microcontroller has them
    max_drop       the accuracy (or R², or agreement) that may be lost on held-out rows; the size is searched for
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmpress.errors import InputError
from svmpress.exports import table_bytes, vector_bytes
from svmpress.model import KernelModel, kernel_entry_cost

DEFAULT_RATIO = 0.1
"""The share of vectors when the caller names no budget: where the paper keeps its accuracy."""

_LIMITS = ("vectors", "ratio", "max_bytes", "max_latency", "max_flash", "max_drop")


@dataclass(frozen=True)
class Budget:
    """Exactly one limit on the size of a compressed model; see the module's docstring.

    ``weights`` and ``coef`` are the kinds of numbers that ``max_flash`` counts: ``"int4"``, ``"int8"``, ``"int16"`` or
    ``"float"`` for vectors, ``"int8"`` or ``"int16"`` for coefficients.

    Examples
    --------
    >>> Budget.of(ratio=0.01)
    Budget(ratio=0.01)
    """

    vectors: int | None = None
    ratio: float | None = None
    max_bytes: int | None = None
    max_latency: float | None = None
    max_flash: int | None = None
    max_drop: float | None = None
    weights: str = "int8"
    coef: str = "int16"

    @classmethod
    def of(
        cls,
        *,
        vectors: int | None = None,
        ratio: float | None = None,
        max_bytes: int | None = None,
        max_latency: float | None = None,
        max_flash: int | None = None,
        max_drop: float | None = None,
        weights: str = "int8",
        coef: str = "int16",
    ) -> Budget:
        """Return the budget that is given; a tenth of the vectors if none is."""
        given = cls(vectors, ratio, max_bytes, max_latency, max_flash, max_drop, weights, coef)
        return given if given._given() else cls(ratio=DEFAULT_RATIO)

    def _given(self) -> list[str]:
        return [name for name in _LIMITS if getattr(self, name) is not None]

    def __post_init__(self) -> None:
        given = self._given()
        if len(given) > 1:
            raise InputError(f"give exactly one budget, not {' and '.join(given)}")
        for name in given:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
                raise InputError(f"{name} must be a number, not {value!r}")
            if not math.isfinite(value) or value < 0 or (value == 0 and name != "max_drop"):
                kind = "a number of at least 0" if name == "max_drop" else "a positive number"
                raise InputError(f"{name} must be {kind}, not {value!r}")
        if self.ratio is not None and self.ratio > 1:
            raise InputError(f"ratio is a share, at most 1, not {self.ratio!r}: 5 % is 0.05")
        if self.vectors is not None and self.vectors != int(self.vectors):
            raise InputError(f"vectors must be a whole number, not {self.vectors!r}")
        for name, known in (("weights", ("float", "int4", "int8", "int16")), ("coef", ("int8", "int16"))):
            if getattr(self, name) not in known:
                raise InputError(f"unknown {name} {getattr(self, name)!r}; choose one of {', '.join(known)}")

    def __repr__(self) -> str:
        return f"Budget({', '.join(f'{name}={getattr(self, name)!r}' for name in self._given())})"

    def shared(self, parts: int) -> dict[str, Any]:
        """Return the budget as arguments for each of some parts; what can be divided is divided evenly.

        Examples
        --------
        >>> Budget(vectors=10).shared(3), Budget(ratio=0.1).shared(3)
        ({'vectors': 3}, {'ratio': 0.1})
        """
        given = {name: getattr(self, name) for name in self._given()}
        if self.max_flash is not None:
            given |= {"weights": self.weights, "coef": self.coef}
        for name in ("vectors", "max_bytes", "max_flash"):
            if name in given:
                given[name] = max(1, int(given[name]) // parts)
        if self.max_latency is not None:
            given["max_latency"] = self.max_latency / parts
        return given

    def size(self, source: KernelModel) -> int:
        """Return how many vectors the budget buys for a model like ``source``; not for ``max_drop``."""
        d, n_outputs = source.n_features, source.n_outputs
        if self.max_flash is not None:  # three and more classes will have one output each
            return self._size_in_flash(
                d, n_outputs if source.classes_ is None else min(n_outputs, len(source.classes_))
            )
        if self.vectors is not None:
            return int(self.vectors)
        if self.ratio is not None:
            return max(1, int(self.ratio * source.n_vectors + 0.5))
        if self.max_bytes is not None:
            item = source.expansion.coef.dtype.itemsize
            m = int((self.max_bytes // item - n_outputs) // (d + n_outputs))
            if m < 1:
                need = item * (d + 2 * n_outputs)
                raise InputError(f"max_bytes={self.max_bytes} is too small: one vector alone needs {need} bytes")
            return m
        if self.max_latency is not None:
            entry, fixed = kernel_entry_cost(source)
            m = int((self.max_latency - fixed) // entry)
            if m < 1:
                raise InputError(
                    f"max_latency={self.max_latency:g} s is too short: a prediction takes {fixed:.3g} s plus "
                    f"{entry:.3g} s for each vector on this machine"
                )
            return m
        raise InputError(f"{self} does not fix a size")

    def _size_in_flash(self, d: int, n_outputs: int) -> int:
        assert self.max_flash is not None
        coef = "float" if self.weights == "float" else self.coef
        fixed = table_bytes(0, d, n_outputs, self.weights, coef)
        m = int((self.max_flash - fixed) // vector_bytes(d, n_outputs, self.weights, coef))
        if m < 1:
            need = table_bytes(1, d, n_outputs, self.weights, coef)
            raise InputError(f"max_flash={self.max_flash} is too small: one vector alone needs {need} bytes")
        return m
