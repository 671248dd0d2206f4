"""svmlight / LibSVM text: one row a line, ``label index:value index:value ... # comment``.

Indices are whole numbers that increase along the line, from 1 on (from 0 with ``zero_based``); values that are
not named are 0. ``qid:`` is skipped. scikit-learn's compiled loader does the reading; when it refuses a block, a
slow reader goes through the same lines to say which line and why.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from svmpress.data.columns import refuse_named_columns
from svmpress.data.source import Block, ReadOptions, TextFile, narrow_indices
from svmpress.errors import FormatError, shown
from svmpress.numerics import Rows, arrays
from svmpress.storage import current_limits

_MAX_INDEX = 2**31 - 1
_MOST_DIGITS = 1_000


def stream(file: TextFile, options: ReadOptions) -> Iterator[Block]:
    """Yield the rows of an open file in blocks of about ``options.block_bytes`` of text."""
    refuse_named_columns(options, file.name)
    labelled = options.labels is not False
    if options.labels is None:  # a first field index:value means that no line has a label
        labelled = not _starts_with_feature(file.head())
    row, line = 0, 1
    while lines := file.lines.readlines(options.block_bytes):
        X, y = _parse(lines, line, file.name, labelled, options.zero_based)
        if X.shape[0]:
            yield Block(X, y if labelled else None, row, file.fraction, elastic=True)
        row, line = row + X.shape[0], line + len(lines)
    if row == 0:
        raise FormatError(f"{file.name} has no rows")


def _starts_with_feature(head: bytes) -> bool:
    for line in head.splitlines():
        fields = line.split(b"#", 1)[0].split()
        if fields:
            return b":" in fields[0]
    return False


def _parse(
    lines: list[bytes], first_line: int, name: str, labelled: bool, zero_based: bool
) -> tuple[Rows, NDArray[Any]]:
    from sklearn.datasets import load_svmlight_file

    if not labelled:  # here an empty line is a row of zeros
        lines = [b"0 " + line for line in lines]
    text = b"".join(lines)
    try:
        X, y = load_svmlight_file(io.BytesIO(text), zero_based=zero_based)
    except (ValueError, OverflowError) as e:
        _explain(lines, first_line, name, zero_based, str(e))
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        _explain(lines, first_line, name, zero_based, "a value is not finite")
    current_limits().check("features", X.shape[1], name)
    return narrow_indices(arrays.check_rows(X)), y


def _explain(lines: list[bytes], first_line: int, name: str, zero_based: bool, reason: str) -> NoReturn:
    """Raise the error of the first bad line; ``reason`` stands in if the slow reader finds nothing wrong."""
    lowest = 0 if zero_based else 1
    for number, line in enumerate(lines, first_line):
        fields = line.split(b"#", 1)[0].decode("utf-8", "replace").split()
        try:
            if fields:
                _check_label(fields[0])
                _check_features(fields[1:], lowest)
        except ValueError as e:
            raise FormatError(f"{name}, line {number}: {e}") from None
    raise FormatError(f"{name}, lines {first_line}-{first_line + len(lines) - 1}: {reason}")


def _check_label(label: str) -> None:
    if ":" in label:
        raise ValueError(f"the label is missing: the line starts with {shown(label)!r}")
    if not _is_number(label):
        raise ValueError(f"the label {shown(label)!r} is not a number")
    if not math.isfinite(float(label)):
        raise ValueError(f"the label is {shown(label)}")


def _check_features(fields: list[str], lowest: int) -> None:
    previous = lowest - 1
    for field in fields[1:] if fields and fields[0].startswith("qid:") else fields:
        index, colon, value = field.partition(":")
        if not colon:
            raise ValueError(f"{shown(field)!r} is not index:value")
        if not (index.isascii() and index.isdigit()):
            raise ValueError(f"{shown(index)!r} in {shown(field)!r} is not a feature index")
        if len(index) > _MOST_DIGITS:
            raise ValueError(f"feature index {shown(index)} is too large")
        if int(index) < lowest:
            raise ValueError(f"feature index {index}, but indices start at {lowest}")
        if int(index) > _MAX_INDEX:
            raise ValueError(f"feature index {index} is too large")
        if int(index) <= previous:
            raise ValueError(f"feature index {index} comes after {previous}; indices must increase along a line")
        if not _is_number(value):
            raise ValueError(f"feature {index}: {shown(value)!r} is not a number")
        if not math.isfinite(float(value)):
            raise ValueError(f"feature {index} is {'NaN' if math.isnan(float(value)) else 'infinite'}")
        previous = int(index)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
