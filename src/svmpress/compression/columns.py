"""Columns that are zero in every vector and every row: left out while a model is compressed, and put back at the end.

The vectors of a small model are dense while they move. Of a million words, a few thousand occur; where a column is zero
everywhere, its slope is, too, and it stays zero.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from svmpress.methods import Problem
from svmpress.model import KernelModel, Scaling
from svmpress.numerics import arrays, select_columns

_MANY = 2**16
"""Columns from which on it is worth looking."""
_SHARE = 4
"""How many columns there must be for each that occurs."""


def narrowed(problem: Problem) -> tuple[Problem, NDArray[Any] | None]:
    """Return the problem without columns of zeros, and which are left; None where it is as it was.

    It is where rows are a sample: a column may occur in the others.
    """
    source, rows = problem.source, problem.rows
    vectors = source.expansion.vectors
    if (
        problem.every is not None
        or source.n_features < _MANY
        or not all(arrays.is_csr(X) for X in (vectors, rows) if X is not None)
    ):
        return problem, None
    columns = np.unique(vectors.indices if rows is None else np.union1d(vectors.indices, rows.indices))
    if columns.size == 0 or source.n_features < _SHARE * columns.size:
        return problem, None
    scaling = source.scaling
    if scaling is not None:
        scaling = Scaling(None if scaling.shift is None else scaling.shift[columns], scaling.factor[columns])
    expansion = replace(source.expansion, vectors=select_columns(vectors, columns))
    rows = None if rows is None else select_columns(rows, columns)
    return replace(
        problem, source=replace(source, expansion=expansion, scaling=scaling, feature_names=None), rows=rows
    ), columns


def widened(model: KernelModel, source: KernelModel, columns: NDArray[Any]) -> KernelModel:
    """Return a model of these columns as one of all columns of the source, with sparse vectors."""
    V = sparse.csr_array(model.expansion.vectors)
    parts = (V.data, columns[V.indices], V.indptr)
    vectors = sparse.csr_array(parts, shape=(V.shape[0], source.n_features))
    expansion = replace(model.expansion, vectors=vectors)
    return replace(model, expansion=expansion, scaling=source.scaling, feature_names=source.feature_names)
