"""Budgets: how many vectors the small model may have.

A budget is exactly one of

    vectors        a number of vectors
    ratio          a share of the source's vectors
    max_bytes      bytes of vectors, coefficients and intercepts
    max_latency    seconds per prediction on this machine: the paper's cost budget B, with ``m = B / e`` for the
                   measured cost e of a kernel entry
    max_drop       the accuracy (or R², or agreement) that may be lost on held-out rows; the size is searched for
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, fields

import numpy as np

from svmpress.errors import InputError
from svmpress.model import KernelExpansion, KernelModel

DEFAULT_RATIO = 0.1
"""The share of vectors when the caller names no budget: where the paper keeps its accuracy."""


@dataclass(frozen=True)
class Budget:
    """Exactly one limit on the size of a compressed model; see the module's docstring.

    Examples
    --------
    >>> Budget.of(ratio=0.01)
    Budget(ratio=0.01)
    """

    vectors: int | None = None
    ratio: float | None = None
    max_bytes: int | None = None
    max_latency: float | None = None
    max_drop: float | None = None

    @classmethod
    def of(
        cls,
        *,
        vectors: int | None = None,
        ratio: float | None = None,
        max_bytes: int | None = None,
        max_latency: float | None = None,
        max_drop: float | None = None,
    ) -> Budget:
        """Return the budget that is given; a tenth of the vectors if none is."""
        given = cls(vectors, ratio, max_bytes, max_latency, max_drop)
        return given if given._given() else cls(ratio=DEFAULT_RATIO)

    def _given(self) -> list[str]:
        return [f.name for f in fields(self) if getattr(self, f.name) is not None]

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
        if self.vectors is not None and self.vectors != int(self.vectors):
            raise InputError(f"vectors must be a whole number, not {self.vectors!r}")

    def __repr__(self) -> str:
        return f"Budget({', '.join(f'{name}={getattr(self, name)!r}' for name in self._given())})"

    def size(self, source: KernelModel) -> int:
        """Return how many vectors the budget buys for a model like ``source``; not for ``max_drop``."""
        d, n_outputs = source.n_features, source.n_outputs
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
