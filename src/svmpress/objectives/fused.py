"""The passes of an objective over its rows, by the extension module: see ``native/objective.h``.

Computed by array operations, a block of kernel values travels to memory and back a dozen times in one evaluation. Here
it stays in cache. What is computed is the same, for the kernels that the extension knows, on NumPy and CSR.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from svmpress import native
from svmpress.kernels import Kernel
from svmpress.numerics import Floats, Piece, Rows, is_csr, threads
from svmpress.objectives.row_groups import Group

if TYPE_CHECKING:
    from svmpress.native._compiled import Objective

_CODES = {"rbf": 0, "laplacian": 1, "sigmoid": 2, "poly": 3, "linear": 4}
"""The kernels that the extension knows, with its numbers for them."""


class FusedPasses:
    """Both passes over rows in groups, in C; :meth:`for_rows` says whether it can be had.

    Parameters
    ----------
    rows : (n, d) NumPy or CSR
    groups : sequence of Group
    n_outputs : int
    sides : sequence of (k,), optional
        For each group the sides of its outputs; see :class:`~svmpress.objectives.MarginObjective`.
    """

    def __init__(
        self, rows: Rows, groups: Sequence[Group], n_outputs: int, sides: Sequence[Floats] | None = None
    ) -> None:
        compiled, _ = native.load()
        assert compiled is not None
        self._groups, self._n_outputs = groups, n_outputs
        self._n_rows = sum(group.targets.shape[0] for group in groups)
        isa = native.instruction_set(compiled)
        self._lanes = dict(compiled.instruction_sets())[isa] // 8
        every = np.arange(n_outputs)
        self._outputs = np.concatenate([every if g.outputs is None else g.outputs for g in groups]).astype(np.int64)
        table = [(g.rows.start, g.rows.step or 1, *g.targets.shape) for g in groups]
        targets = groups[0].targets if len(groups) == 1 else np.concatenate([g.targets.ravel() for g in groups])
        self._objective: Objective = compiled.Objective(
            isa=isa,
            rows=_as_read(rows),
            n_features=rows.shape[1],
            n_outputs=n_outputs,
            groups=np.array(table, dtype=np.int64),
            targets=np.ascontiguousarray(targets, dtype=np.float64),
            outputs=self._outputs,
            weights=np.concatenate([g.weights for g in groups]),
            sides=None if sides is None else np.concatenate(sides),
        )
        self._kept: Floats | None = None
        self._known = False

    @classmethod
    def for_rows(
        cls,
        kernel: Kernel,
        rows: Rows,
        groups: Sequence[Group],
        n_outputs: int,
        m: int,
        max_bytes: int,
        sides: Sequence[Floats] | None = None,
    ) -> FusedPasses | None:
        """Return the passes for m vectors, or None where the extension does not apply.

        Kernel values are kept between the passes, of CSR rows always, where ``max_bytes`` are enough for it.
        ``SVMPRESS_RUNTIME=numpy`` turns the extension off, and ``SVMPRESS_ISA`` names its instruction set.
        """
        plain = all(isinstance(g.targets, np.ndarray) for g in groups)
        if native.load()[0] is None or kernel.name not in _CODES or not plain or not _reads(rows):
            return None
        kept = 8 * (m + 7) * sum(group.targets.shape[0] for group in groups)
        if is_csr(rows) and kept > max_bytes:
            return None
        passes = cls(rows, groups, n_outputs, sides)
        if kept <= max_bytes:
            passes._kept = np.empty((passes._n_rows, -(-m // passes._lanes) * passes._lanes))
        return passes

    def equations(
        self,
        kernel: Kernel,
        V: Floats,
        grams: Floats,
        shift: Floats | None = None,
        *,
        pieces: NDArray[np.int64] | None = None,
    ) -> Floats:
        """Put ``[K 1]ᵀ[K 1]`` of every group into (g, m+1, m+1); return ``[K 1]ᵀ(T - shift)``, weighted, (m+1, M).

        Parameters
        ----------
        kernel : Kernel
        V : (m, d)
        grams : (>= g, m+1, m+1)
        shift : (M,), optional
        pieces : (r, 5), optional
            Rectangles of the equations that are wanted: group, rows from and to, columns from and to; see
            :func:`rectangles`.
        """
        moments = np.empty((V.shape[0] + 1, self._n_outputs))
        of_outputs = None if shift is None else np.ascontiguousarray(shift[self._outputs], dtype=np.float64)
        self._known = self._kept is not None and kernel.name != "poly"
        kept = self._kept if self._known else None
        self._objective.equations(*_told(kernel, V), of_outputs, grams, moments, kept, pieces, threads())
        return moments

    def slopes(self, kernel: Kernel, V: Floats, coef: Floats, intercept: Floats, factor: float, width: bool) -> Any:
        """Return ``Σ w R²`` of ``R = K A + b - T``, and its slopes by V and γ, times ``factor / 2``.

        At the kernel and V of the last :meth:`equations`; the slope of γ is 0 if not ``width``.
        """
        dV = np.empty(V.shape)
        A, b = (np.ascontiguousarray(a, dtype=np.float64) for a in (coef, intercept))
        error, slope = self._objective.slopes(
            *_told(kernel, V), A, b, factor, False, width, self._kept, self._known, dV, None, threads()
        )
        return error, dV, slope if width else 0.0

    def margins(
        self, kernel: Kernel, V: Floats, coef: Floats, intercept: Floats, factor: float, trust: bool, width: bool
    ) -> Any:
        """Return the error with sides, and its slopes times ``factor / 2`` by V, A, b and γ (0 if not ``width``)."""
        dV, dA = np.empty(V.shape), np.empty((V.shape[0] + 1, self._n_outputs))
        A, b = (np.ascontiguousarray(a, dtype=np.float64) for a in (coef, intercept))
        error, slope = self._objective.slopes(
            *_told(kernel, V), A, b, factor, trust, width, self._kept, False, dV, dA, threads()
        )
        return error, dV, dA[:-1], dA[-1], slope if width else 0.0


def rectangles(pieces: Sequence[tuple[Piece, ...]], m: int) -> NDArray[np.int64] | None:
    """Return the pieces of each group's equations as the extension takes them, (r, 5); None if all are whole."""
    whole = ((slice(0, m), slice(0, m)),)
    if all(of_group == whole for of_group in pieces):
        return None
    table = [(g, r.start, r.stop, c.start, c.stop) for g, of_group in enumerate(pieces) for r, c in of_group]
    return np.array(table, dtype=np.int64)


def _told(kernel: Kernel, V: Floats) -> tuple[int, float, float, float, Floats]:
    given = kernel.params
    gamma, coef0, degree = (float(given.get(name, 0.0)) for name in ("gamma", "coef0", "degree"))
    return _CODES[kernel.name], gamma, coef0, degree, np.ascontiguousarray(V, dtype=np.float64)


def _reads(rows: Rows) -> bool:
    if is_csr(rows):
        return rows.nnz > 0 and rows.shape[1] <= np.iinfo(np.int32).max
    return (
        isinstance(rows, np.ndarray)
        and rows.dtype.char in "fd"
        and rows.dtype.isnative
        and rows.flags.aligned
        and rows.strides[1] == rows.itemsize
        and rows.shape[0] > 0
    )


def _as_read(rows: Rows) -> Any:
    if not is_csr(rows):
        return rows
    return (
        np.ascontiguousarray(rows.data, dtype=np.float64),
        np.ascontiguousarray(rows.indices, dtype=np.int32),
        rows.indptr.astype(np.int64),
    )
