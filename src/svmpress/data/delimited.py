"""CSV text: one row a line, features and one label column, separated by comma, semicolon, tab or bar.

The separator is the one that occurs most in the first line. That line is a header if no cell of it is a number,
or if a cell is one of the usual names of a label column; ``header=`` decides otherwise. The label may be text;
features are numbers. Cells may be quoted. Which column is what: :mod:`svmpress.data.columns`.
"""

from __future__ import annotations

import csv
import io
import operator
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.data.columns import Columns, sort_columns
from svmpress.data.source import LABEL_NAMES, Block, ReadOptions, TextFile, first_bad
from svmpress.errors import FormatError, shown
from svmpress.storage import current_limits

_DELIMITERS = ",;\t|"
_MISSING = {"", "na", "n/a", "null", "none", "?"}


def stream(file: TextFile, options: ReadOptions) -> Iterator[Block]:
    """Yield the rows of an open file in blocks of about ``options.block_bytes`` of text."""
    text = io.TextIOWrapper(file.lines, encoding="utf-8-sig", newline="")
    try:
        yield from _stream(file, text, options)
    except UnicodeDecodeError as e:
        raise FormatError(f"{file.name} is not UTF-8 text: {e.reason} at byte {e.start}") from e
    except csv.Error as e:
        raise FormatError(f"{file.name} is not a CSV file: {e}") from e
    finally:
        text.detach()  # the wrapper must not close what it was given


def _stream(file: TextFile, text: io.TextIOWrapper, options: ReadOptions) -> Iterator[Block]:
    first_line = _first_line(file.head())
    reader = csv.reader(text, delimiter=max(_DELIMITERS, key=first_line.count), skipinitialspace=True)
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1, current_limits().line))
    first = next((record for record in reader if record), None)
    if first is None:
        raise FormatError(f"{file.name} has no rows")
    names = _names(first, options, file.name)
    pending, numbers = ([first], [reader.line_num]) if names is None else ([], [])
    rows_per_block = max(1, options.block_bytes // (8 * len(first)))
    row, table = 0, None
    for record in reader:
        if record:
            pending.append(record)
            numbers.append(reader.line_num)
        if len(pending) >= rows_per_block:
            table = table or _table(names, len(first), pending, numbers, options, file.name)
            yield _block(pending, numbers, table, row, file.fraction)
            row += len(pending)
            pending, numbers = [], []
    if pending:
        table = table or _table(names, len(first), pending, numbers, options, file.name)
        yield _block(pending, numbers, table, row, 1.0)
    elif row == 0:
        raise FormatError(f"{file.name} has a header and no rows")


def _first_line(head: bytes) -> str:
    lines = head.decode("utf-8-sig", "replace").splitlines()
    return next((line for line in lines if line.strip()), "")


def _names(first: list[str], options: ReadOptions, where: str) -> list[str] | None:
    """Return the names of the columns, or None if the first line is a row."""
    numeric = any(_number(cell) is not None for cell in first)
    named = any(cell.strip().lower() in LABEL_NAMES for cell in first)
    has_header = options.header if options.header is not None else named or not numeric
    current_limits().check("features", len(first), where)
    names = [cell.strip() for cell in first] if has_header else None
    if names and names[0] == "":
        raise FormatError(f"{where}: the first column has no name; if it is a row index, write the file without it")
    return names


def _table(
    names: list[str] | None, n_columns: int, rows: list[list[str]], numbers: list[int], options: ReadOptions, where: str
) -> Columns:
    """Return what the columns are; those without a number in the first rows are text."""
    text = []
    _check_lengths(rows, numbers, n_columns, where)
    for position in range(n_columns) if options.keep_text else ():
        filled = [row[position] for row in rows if row[position].strip().lower() not in _MISSING]
        if filled and all(_number(cell) is None for cell in filled):
            text.append(position)
    return sort_columns(names, n_columns, text, options, where)


def _check_lengths(records: list[list[str]], numbers: list[int], n_columns: int, where: str) -> None:
    for record, number in zip(records, numbers, strict=True):
        if len(record) != n_columns:
            raise FormatError(f"{where}, line {number}: {len(record)} cells, but the first line has {n_columns}")


def _block(records: list[list[str]], numbers: list[int], table: Columns, row: int, fraction: float | None) -> Block:
    _check_lengths(records, numbers, table.n_columns, table.where)
    y: NDArray[Any] | None = None
    if table.label is not None:
        y = np.array([record[table.label].strip() for record in records], dtype=object)
        for label, number in zip(y, numbers, strict=True):
            if label.lower() in _MISSING | {"nan"}:
                raise FormatError(f"{table.where}, line {number}: the label is missing")
    carried = {name: np.array([r[at].strip() for r in records], dtype=object) for name, at in table.carried.items()}
    if table.features != tuple(range(table.n_columns)):
        pick = operator.itemgetter(*table.features)
        records = [list(pick(r)) for r in records] if len(table.features) > 1 else [[pick(r)] for r in records]
    try:
        X = np.array(records, dtype=np.float64)
    except ValueError:
        X = _slow(records, numbers, table)
    bad = first_bad(X)
    if bad is not None:
        place, feature, what = bad
        raise FormatError(f"{table.where}, line {numbers[place]}, {table.column(feature)}: the value is {what}")
    return Block(X, y, row, fraction, carried=carried, table=table)


def _slow(records: list[list[str]], numbers: list[int], table: Columns) -> NDArray[np.float64]:
    """Raise the error of the first cell that is not a number."""
    X = np.empty((len(records), len(table.features)))
    for i, (record, number) in enumerate(zip(records, numbers, strict=True)):
        for j, cell in enumerate(record):
            value = _number(cell)
            if value is None:
                what = (
                    "the value is missing" if cell.strip().lower() in _MISSING else f"{shown(cell)!r} is not a number"
                )
                raise FormatError(f"{table.where}, line {number}, {table.column(j)}: {what}")
            X[i, j] = value
    return X


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
