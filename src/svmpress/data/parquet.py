"""Parquet tables, by record batches; needs ``pyarrow``, the extra ``parquet``.

Every column but the label is a feature: numbers or booleans, no nulls. The label may be text. Where columns are named,
:mod:`svmpress.data.columns` says which is what.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.data.columns import sort_columns
from svmpress.data.source import Block, ReadOptions, column_name, first_bad, open_binary
from svmpress.errors import FormatError, MissingExtraError
from svmpress.storage import current_limits, reading


def stream(path: str | os.PathLike[str], options: ReadOptions) -> Iterator[Block]:
    """Yield the rows of a table in blocks of about ``options.block_bytes``."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as e:
        raise MissingExtraError("reading Parquet", "pyarrow", "parquet") from e
    where = str(path)
    with (
        open_binary(path) as raw,
        reading(where, "Parquet file"),
        pyarrow.parquet.ParquetFile(raw, pre_buffer=False) as file,  # else what has been read stays in memory
    ):
        yield from _stream(file, where, options)


def _stream(file: Any, where: str, options: ReadOptions) -> Iterator[Block]:
    schema = file.schema_arrow
    names = [str(name) for name in schema.names]
    if not names:
        raise FormatError(f"{where} has no columns")
    current_limits().check("features", len(names), where)
    text = [position for position, column in enumerate(schema) if options.keep_text and not _is_numeric(column.type)]
    table = sort_columns(names, len(names), text, options, where)
    features, label = table.features, table.label
    for position in features:
        _check_type(schema.field(position).type, f"{where}, {column_name(names, position)}")
    used = sorted({*features, *table.carried.values(), *([] if label is None else [label])})
    some: list[str] | None = [names[position] for position in used]
    if len(set(names)) != len(names) or len(used) == len(names):
        used, some = list(range(len(names))), None
    at = {position: place for place, position in enumerate(used)}
    sizes = _row_group_sizes(file)
    first, last = options.row_groups or (0, len(sizes))
    start = row = sum(sizes[:first])
    n = sum(sizes[first:last])
    size = max(1, options.block_bytes // (8 * len(names)))
    for batch in file.iter_batches(batch_size=size, columns=some, row_groups=list(range(first, last))):
        X = np.empty((batch.num_rows, len(features)))
        for j, position in enumerate(features):
            X[:, j] = _numbers(batch.column(at[position]), f"{where}, {column_name(names, position)}", row)
        bad = first_bad(X)
        if bad is not None:
            place, j, what = bad
            raise FormatError(f"{where}, {column_name(names, features[j])}: the value of row {row + place} is {what}")
        y = None if label is None else _labels(batch.column(at[label]), where, row)
        carried = {name: _as_is(batch.column(at[position])) for name, position in table.carried.items()}
        yield Block(X, y, row, (row + batch.num_rows - start) / n, carried=carried, table=table)
        row += batch.num_rows
    if row == start:
        raise FormatError(f"{where} has no rows")


def row_group_sizes(path: str | os.PathLike[str]) -> list[int]:
    """Return the rows of each row group of a file."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as e:
        raise MissingExtraError("reading Parquet", "pyarrow", "parquet") from e
    with open_binary(path) as raw, reading(path, "Parquet file"), pyarrow.parquet.ParquetFile(raw) as file:
        return _row_group_sizes(file)


def _row_group_sizes(file: Any) -> list[int]:
    return [int(file.metadata.row_group(k).num_rows) for k in range(file.metadata.num_row_groups)]


def _is_numeric(kind: Any) -> bool:
    from pyarrow import types

    numeric = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return any(test(kind) for test in numeric)


def _as_is(column: Any) -> NDArray[Any]:
    """Return a column that no one computes with, missing values and all."""
    import pyarrow

    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _check_type(kind: Any, where: str) -> None:
    if not _is_numeric(kind):
        raise FormatError(f"{where}: the type is {kind}; features must be numbers")


def _numbers(column: Any, where: str, row: int) -> NDArray[np.float64]:
    """Return a column as float64, or name its first null."""
    _check_nulls(column, where, "value", row)
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _check_nulls(column: Any, where: str, what: str, row: int) -> None:
    if column.null_count:
        first = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise FormatError(f"{where}: the {what} of row {row + first} is missing")


def _labels(column: Any, where: str, row: int) -> NDArray[Any]:
    import pyarrow

    _check_nulls(column, where, "label", row)
    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    y = np.asarray(column.to_numpy(zero_copy_only=False))
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise FormatError(f"{where}: the label of row {row + int(np.argmin(np.isfinite(y)))} is not finite")
    return y
