"""Rows and answers on their way in: checked, scaled, and where they are too many for one place, a sample of them.

Choices need no more rows than a million. Where there are more, or more than memory allows, everything is done on a
sample, and the last steps on all rows, wherever these are: :mod:`svmpress.numerics.shards`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress import distributed
from svmpress.decoders import positions_of
from svmpress.errors import InputError
from svmpress.model import KernelModel
from svmpress.numerics import LocalShards, Rows, Shard, Shards, arrays, check_labels, ordered_columns, sample_of

MOST_ROWS = 2**20
"""Rows that are enough for all choices."""


def taken_in(
    source: KernelModel, X: Any, y: Any, seed: int, max_memory: int
) -> tuple[Rows | None, NDArray[Any] | None, Shards | None]:
    """Return rows, scaled, their answers, and all rows in shards where the first are a sample of these.

    Parameters
    ----------
    source : KernelModel
    X : (n, d), or None
        Rows of any array library, of a data frame, of Dask, or shards that :func:`checked` has seen.
    y : (n,), or None
        Shards have theirs as a column.
    seed : int
    max_memory : int
        Bytes of rows that are held here.
    """
    if X is None:
        if y is not None and source.task != "outlier":
            raise InputError("y was given without X")
        return None, None, None
    if distributed.is_sharded(X) or distributed.is_sharded(y):
        shards: Shards = distributed.shards_of(X, y, checked, source)
    elif hasattr(X, "arranged"):
        shards = X
    else:
        shard = checked(X, y, source)
        answers = shard.columns.get("y")
        if shard.n <= MOST_ROWS and arrays.stored_bytes(shard.X) <= max_memory:
            return shard.X, answers, None
        shards = LocalShards((shard,))
    return _some_of(shards, seed, max_memory)


def _some_of(shards: Shards, seed: int, max_memory: int) -> tuple[Rows, NDArray[Any] | None, Shards | None]:
    n = sum(shards.sizes)
    (stored,) = shards.total(_stored)
    most = int(min(MOST_ROWS, n, max(2, max_memory * n // stored)))
    sample = sample_of(shards, most, seed)
    return sample.X, sample.columns.get("y"), None if most == n else shards


def _stored(shard: Shard) -> tuple[int]:
    return (arrays.stored_bytes(shard.X),)


def checked(X: Any, y: Any, source: KernelModel) -> Shard:
    """Return rows as a source's vectors are, and y as positions in its classes, or as values of a regression."""
    rows = _rows(source, X)
    answers = _answers(source, X, y)
    return Shard(rows, {} if answers is None else {"y": answers})


def _rows(source: KernelModel, X: Any) -> Rows:
    X = ordered_columns(X, source.feature_names)
    X = arrays.check_rows(X, n_features=source.n_features, allow_empty=False)
    X = X if arrays.is_csr(X) else arrays.to_numpy(X)
    return X if source.scaling is None else source.scaling(X)


def _answers(source: KernelModel, X: Any, y: Any) -> NDArray[Any] | None:
    """Return y as positions in the source's classes, or as values of a regression."""
    if y is None or source.task == "outlier":  # y is all inliers, often: to match it would be to find no outlier
        return None
    y = check_labels(y)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if source.classes_ is None:
        try:
            y = y.astype(np.float64)
        except (ValueError, TypeError) as e:
            raise InputError(f"y must be numbers, as the model is a regressor: {e}") from e
        y = y.reshape(n, -1) if y.shape[:1] == (n,) else y
        if y.shape != (n, source.n_outputs):
            raise InputError(f"y must be {n} values for {n} rows, not an array of shape {y.shape}")
        finite = np.isfinite(y).all(axis=1)
        if not finite.all():
            raise InputError(f"y holds NaN or an infinite value at row {int(np.argmin(finite))}")
        return y
    if y.shape != (n,):
        raise InputError(f"y must be {n} labels for {n} rows, not an array of shape {y.shape}")
    classes = source.classes_.tolist()
    unknown = sorted({str(v) for v in set(y.tolist()).difference(classes)})
    if unknown:
        known = ", ".join(str(c) for c in classes)
        raise InputError(f"y holds the label {unknown[0]!r}, which the model does not know; it knows {known}")
    return positions_of(y, source.classes_)
