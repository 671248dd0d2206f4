"""Columns of sparse rows: of a hundred million, most may be zero, and cost nothing if they are left out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Rows = Any
"""CSR rows; see :mod:`svmpress.numerics.arrays`."""

_FEW_COLUMNS = 2**16
"""Columns up to which nobody looks which of them are zero."""


def common_columns(X: Rows, V: Rows) -> tuple[Rows, Rows]:
    """Return CSR rows and vectors without columns that are zero in all of both, where these are most of the columns.

    SciPy's transpose takes memory for every column, and of a hundred million most may be zero.

    Examples
    --------
    >>> X = sparse.csr_array(([1.0], [10**8], [0, 1]), shape=(1, 10**9))
    >>> [part.shape for part in common_columns(X, X)]
    [(1, 1), (1, 1)]
    """
    if X.shape[1] <= max(_FEW_COLUMNS, 2 * (X.nnz + V.nnz)):
        return X, V
    columns = np.union1d(X.indices, V.indices)
    return select_columns(X, columns), select_columns(V, columns)


def select_columns(X: Rows, columns: NDArray[Any]) -> Rows:
    """Return CSR rows with these columns only, which are sorted and include all that are not zero."""
    parts = (X.data, np.searchsorted(columns, X.indices).astype(X.indices.dtype), X.indptr)
    return sparse.csr_array(parts, shape=(X.shape[0], max(1, columns.size)))
