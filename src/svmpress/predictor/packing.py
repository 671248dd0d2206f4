"""How a model is laid out for the compiled predictor.

A *panel* is as many columns of a matrix as a SIMD register has lanes, stored row by row: a matrix ``B`` (k, c)
becomes ``P`` (panels, k, lanes) with ``P[p, i, l] = B[i, p lanes + l]``, padded with zeros. Both products of a
prediction, rows times vectors and kernel values times coefficients, then read their right-hand side from front to
back. The vectors are packed as ``B = Vᵀ`` (d, m), the coefficients as ``B = A`` (m, M).

Constants of the kernel are folded in here, in double precision, so that the sums which the predictor computes are
the arguments of ``2^t`` and ``tanh`` themselves (``native/fused.h`` lists them).

*Groups.* In a one-vs-one model a vector serves only the pairs of its own class, 25 of 325 for 26 letters. A group is
a run of panels of vectors with the columns in which any of them has a coefficient; the others are never touched.
Vectors come sorted by class, so that a few runs suffice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import class_pairs
from svmpress.numerics import arrays

Matrix = NDArray[np.float64]


class Kernel(Protocol):
    """What the predictor wants to know of a kernel."""

    @property
    def name(self) -> str:
        """Its name, as in model files."""

    @property
    def params(self) -> dict[str, float]:
        """Its parameters by name."""


CODES = {"rbf": 0, "laplacian": 1, "sigmoid": 2, "poly": 3, "linear": 4}
"""The kernels that the compiled predictor knows, by their number in ``native/fused.h``."""

_LEAST_DENSITY = 0.05
"""CSR vectors with fewer values than this stay with SciPy's product of two sparse matrices."""

_FEW_WEIGHTS = 2**23
"""Weights of a linear model that may be many more than the values of its CSR vectors."""

_MOST_USED = 0.7
"""Coefficients are grouped if panels use at most this part of their columns."""

_SCATTER = 3
"""What adding a group's sums to their outputs costs, in panels."""

_LONGEST_RUN = 128
"""Panels in one group at most; bounds the time of packing."""

_LOG2E = math.log2(math.e)


def can_pack(kernel: Kernel, vectors: arrays.Rows, n_outputs: int) -> bool:
    """Return whether the predictor is made for such a model."""
    if kernel.name not in CODES:
        return False
    if not arrays.is_csr(vectors) or vectors.nnz >= _LEAST_DENSITY * math.prod(vectors.shape):
        return True
    return kernel.name == "linear" and vectors.shape[1] * n_outputs <= max(_FEW_WEIGHTS, vectors.nnz)


def panels(B: Matrix, lanes: int) -> Matrix:
    """Return a (k, c) matrix as panels, (⌈c / lanes⌉, k, lanes).

    Examples
    --------
    >>> panels(np.array([[1.0, 2, 3], [4, 5, 6]]), 2).tolist()
    [[[1.0, 2.0], [4.0, 5.0]], [[3.0, 0.0], [6.0, 0.0]]]
    """
    k, c = B.shape
    n = -(-c // lanes)
    padded = np.zeros((k, n * lanes), dtype=B.dtype)
    padded[:, :c] = B
    return padded.reshape(k, n, lanes).transpose(1, 0, 2)


def pack(
    kernel: Kernel,
    vectors: arrays.Rows,
    coef: NDArray[Any],
    intercept: NDArray[Any],
    lanes: int,
    dtype: np.dtype[Any],
    few_outputs: int,
    runs: Sequence[Run] | None = None,
) -> dict[str, Any]:
    """Return the arguments of ``_compiled.Packed`` other than the instruction set.

    Parameters
    ----------
    kernel, vectors, coef, intercept
        The expansion: (m, d) dense or CSR, (m, M), (M,).
    lanes : int
        Numbers in one register.
    dtype : numpy.dtype
        float32 or float64, the precision to compute in.
    few_outputs : int
        Up to so many outputs, coefficients have their lanes along the vectors.
    runs : sequence of Run, optional
        :func:`runs_of` the coefficients, where they are known.
    """
    A = np.asarray(coef, dtype=np.float64)
    b = np.asarray(intercept, dtype=np.float64)
    parts: dict[str, Any] = {"kernel": CODES[kernel.name], "degree": 0.0, "row_factor": 0.0}
    groups, columns = [(0, -(-vectors.shape[0] // lanes), A.shape[1], -1, 0)], np.zeros(0, dtype=np.int64)
    if kernel.name == "linear":
        V = np.asarray(vectors.T @ A).T  # x·Vᵀ A: as many vectors as there are outputs, whatever m is
        folded, offset, sparse_offset, centre = V, b, b, np.zeros(V.shape[1])
        packed_coef = np.zeros(0)
        groups = [(0, -(-V.shape[0] // lanes), A.shape[1], -1, 0)]
    else:
        V = np.asarray(arrays.dense(vectors), dtype=np.float64)
        folded, offset, sparse_offset, centre = _fold(kernel, V, dtype, parts)
        if A.shape[1] <= few_outputs:
            packed_coef = panels(A.T, lanes).transpose(1, 0, 2)
        else:
            groups, columns, packed_coef = _grouped(A, lanes, runs_of(A, lanes) if runs is None else runs)
    with np.errstate(over="ignore"):  # beyond float32 is infinity, here as in any operation
        arrays_of_model = {
            "vectors": panels(folded.T, lanes),
            "offset": panels(offset[None, :], lanes),
            "offset_sparse": panels(sparse_offset[None, :], lanes),
            "coef": packed_coef,
            "intercept": b,
            "centre": panels(centre[None, :], lanes),
        }
        parts |= {name: np.ascontiguousarray(a, dtype=dtype) for name, a in arrays_of_model.items()}
    return parts | {
        "n_features": vectors.shape[1],
        "n_outputs": A.shape[1],
        "groups": np.array(groups, dtype=np.int64),
        "columns": columns,
    }


def pack_checks(coef: NDArray[Any], intercept: NDArray[Any], n_classes: int, lanes: int) -> tuple[Matrix, Matrix]:
    """Return the machines of each class of a one-vs-one model, as ``native/vote.h`` wants them.

    Parameters
    ----------
    coef, intercept
        (m, M) and (M,), for the M = K(K-1)/2 pairs of K classes.

    Returns
    -------
    checks : (K, panels of K - 1 outputs, vectors, lanes)
        With the number of vectors filled up to whole panels.
    intercepts : (K, K - 1 rounded up to lanes)
    """
    pairs = class_pairs(n_classes)
    own = [np.flatnonzero((pairs == c).any(axis=1)) for c in range(n_classes)]
    A = np.zeros((-(-coef.shape[0] // lanes) * lanes, coef.shape[1]))
    A[: coef.shape[0]] = coef
    checks = np.stack([panels(A[:, columns], lanes) for columns in own])
    intercepts = [panels(np.asarray(intercept, dtype=np.float64)[None, columns], lanes).ravel() for columns in own]
    return checks, np.stack(intercepts)


def _fold(
    kernel: Kernel, V: Matrix, dtype: np.dtype[Any], parts: dict[str, Any]
) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    """Return vectors (m, d) and offsets (m,) for dense and for CSR rows with the kernel's constants, and the centre."""
    gamma, coef0 = kernel.params["gamma"], kernel.params.get("coef0", 0.0)
    zeros, centre = np.zeros(V.shape[0]), np.zeros(V.shape[1])
    if kernel.name == "rbf":
        # Centred as arrays.squared_distances does it, on a point that the precision of the rows can hold. CSR rows x
        # stay as they are, so that x - c is made up for by the offset: (x - c)·v' = x·v' - c·v'.
        parts["row_factor"] = r = -gamma * _LOG2E
        if V.shape[0]:
            centre = V.mean(axis=0).astype(dtype).astype(np.float64)
        centred = V - centre
        folded, offset = -2 * r * centred, r * np.einsum("ij,ij->i", centred, centred)
        return folded, offset, offset - folded @ centre, centre
    if kernel.name == "laplacian":
        parts["row_factor"] = -gamma * _LOG2E
        return V, zeros, np.abs(V).sum(axis=1), centre
    if kernel.name == "sigmoid":
        scale, constant = 2 * _LOG2E * gamma, 2 * _LOG2E * coef0
    elif kernel.name == "poly":
        scale, constant = gamma, coef0
        parts["degree"] = float(kernel.params["degree"])
    else:
        raise AssertionError(f"no packing for {kernel}")
    return scale * V, zeros + constant, zeros + constant, centre


@dataclass(frozen=True)
class Run:
    """Panels of vectors, from ``first`` to before ``last``, and the columns (c,) in which any has a coefficient."""

    first: int
    last: int
    columns: NDArray[np.intp]


def whole_run(m: int, n_outputs: int, lanes: int) -> Run:
    """Return the run of all vectors with all columns."""
    return Run(0, -(-m // lanes), np.arange(n_outputs))


def runs_of(coef: NDArray[Any], lanes: int) -> list[Run]:
    """Return the runs of panels that are to be the groups of these coefficients, (m, M).

    Examples
    --------
    >>> [(run.first, run.last, run.columns.size) for run in runs_of(np.repeat(np.eye(20), 40, axis=0), 8)]
    [(0, 20, 4), (20, 60, 8), (60, 100, 8)]
    """
    m, M = coef.shape
    n = -(-m // lanes)
    padded = np.zeros((n * lanes, M), dtype=bool)
    padded[:m] = np.asarray(coef) != 0
    used = np.any(padded.reshape(n, lanes, M), axis=1)
    if not n or used.mean() >= _MOST_USED:
        return [whole_run(m, M, lanes)]
    return [Run(first, last, np.flatnonzero(used[first:last].any(axis=0))) for first, last in _cheapest(used, lanes)]


def work_of_sums(runs: Sequence[Run], n_outputs: int, lanes: int) -> int:
    """Return what the weighted sums of one row cost in these runs, in multiply-adds.

    Examples
    --------
    >>> work_of_sums(runs_of(np.ones((800, 20)), 8), 20, 8)
    19200
    >>> work_of_sums(runs_of(np.repeat(np.eye(20), 40, axis=0), 8), 20, 8)
    6976
    """
    costs = (_cost(run.last - run.first, run.columns.size, n_outputs, lanes) for run in runs)
    return lanes * lanes * int(sum(costs))


def _cost(n_panels: Any, n_columns: Any, n_outputs: int, lanes: int) -> Any:
    """Return what runs of so many panels cost, in products of panels, where they use so many of the columns."""
    return (n_panels + np.where(n_columns < n_outputs, _SCATTER, 0)) * -(-n_columns // lanes)


def _grouped(
    A: Matrix, lanes: int, runs: Sequence[Run]
) -> tuple[list[tuple[int, int, int, int, int]], NDArray[np.int64], Matrix]:
    """Return the groups as in ``native/fused.h``, the numbers of their columns, and their coefficients as panels."""
    m, M = A.shape
    padded = np.zeros((-(-m // lanes) * lanes, M))
    padded[:m] = A
    groups, numbers, blocks, column_start, coef_start = [], [np.zeros(0, np.intp)], [np.zeros(0)], 0, 0
    for run in runs:
        first, last, columns = run.first, run.last, run.columns
        block = panels(padded[first * lanes : last * lanes, columns], lanes)
        groups.append((first, last, columns.size, -1 if columns.size == M else column_start, coef_start))
        numbers.append(columns)
        blocks.append(block.ravel())
        column_start, coef_start = column_start + columns.size, coef_start + block.size
    return groups, np.concatenate(numbers).astype(np.int64), np.concatenate(blocks)


def _cheapest(used: NDArray[np.bool_], lanes: int) -> list[tuple[int, int]]:
    """Return the runs of panels that cost least, given which columns each panel uses, (n, M).

    A run of ``l`` panels with ``c`` columns costs ``(l + _SCATTER) ⌈c / lanes⌉``, and less with all columns, where
    nothing is scattered; shortest path over where runs end.
    """
    n, M = used.shape
    least, origin = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=np.intp)
    least[0] = 0
    for first in range(n):
        columns = np.logical_or.accumulate(used[first : first + _LONGEST_RUN], axis=0).sum(axis=1)
        cost = least[first] + _cost(np.arange(1, columns.size + 1), columns, M, lanes)
        ends = slice(first + 1, first + 1 + columns.size)
        better = cost < least[ends]
        least[ends][better] = cost[better]
        origin[ends][better] = first
    runs, last = [], n
    while last > 0:
        runs.append((int(origin[last]), last))
        last = int(origin[last])
    return runs[::-1]
