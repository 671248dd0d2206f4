"""Data files in: svmlight/LibSVM text, CSV, NumPy archives and Parquet, whole or in blocks.

    stream(path) -> blocks of rows      bounded memory, whatever the size of the file
    read(path)   -> Dataset             the same blocks, put together

One reader a format, each a generator of :class:`Block`; the reading of a whole file is their concatenation, so
there is one parser a format and one set of errors: file, line or row, column, and what is wrong with it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from svmpress.data import delimited, npz, parquet, svmlight
from svmpress.data.files import data_files
from svmpress.data.source import (
    FORMATS,
    Block,
    DataFormat,
    ReadOptions,
    detect_format,
    label_text,
    labels_like,
    narrow_indices,
    open_text,
    settle_labels,
    text_format,
)
from svmpress.data.spool import SpooledShards, spooling
from svmpress.data.tables import TableWriter, table_format, table_writer
from svmpress.errors import InputError
from svmpress.numerics import Rows, arrays
from svmpress.storage import current_limits, reading

__all__ = [
    "DENSE_FROM",
    "FORMATS",
    "Block",
    "DataFormat",
    "Dataset",
    "ReadOptions",
    "SpooledShards",
    "TableWriter",
    "data_files",
    "label_text",
    "labels_like",
    "narrow_indices",
    "read",
    "settle_labels",
    "spooling",
    "stream",
    "streaming",
    "table_format",
    "table_writer",
    "whole",
]

DENSE_FROM = 0.25
"""Rows of svmlight text become dense when at least this share of their values is not zero."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A whole file.

    Parameters
    ----------
    X : (n, d) rows, dense or CSR
    y : (n,), optional
        Labels: int64, float64 or text.
    elastic : bool
        Whether d is only the largest feature index that occurs, as in svmlight text.
    """

    X: Rows
    y: NDArray[Any] | None
    elastic: bool = False


def stream(
    path: str | os.PathLike[str], options: ReadOptions | None = None, **changes: Any
) -> Generator[Block, None, None]:
    r"""Yield the rows of a data file in blocks, in order.

    Parameters
    ----------
    path : path
        ``-`` is standard input, which is text.
    options : ReadOptions, optional
        How to read it.
    **changes
        Single fields of the options.

    Raises
    ------
    InputError, FormatError
        The file cannot be read, or a value in it cannot be used: the message says where.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.svm"
    >>> _ = path.write_text("1 1:0.5 2:1\n-1 2:3\n")
    >>> [block.X.toarray().tolist() for block in stream(path)]
    [[[0.5, 1.0], [0.0, 3.0]]]
    """
    options = replace(options or ReadOptions(), **changes)
    if options.format not in (None, *FORMATS):
        raise InputError(f"unknown data format {options.format!r}; svmpress reads {', '.join(FORMATS)}")
    with reading("standard input" if str(path) == "-" else path):
        form = options.format or detect_format(path)
        if form in ("npz", "parquet"):
            yield from (npz.stream if form == "npz" else parquet.stream)(path, options)
        else:
            with open_text(path) as file:
                reader = svmlight.stream if (form or text_format(file.head())) == "svmlight" else delimited.stream
                yield from reader(file, options)


def read(
    path: str | os.PathLike[str],
    options: ReadOptions | None = None,
    *,
    progress: Callable[[str, int, int], None] | None = None,
    **changes: Any,
) -> Dataset:
    r"""Return a whole data file; see :func:`stream` for the arguments.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.csv"
    >>> _ = path.write_text("width,height,label\n1,2,cat\n3,4,dog\n")
    >>> read(path).y.tolist()
    ['cat', 'dog']
    """
    parts: list[Block] = []
    taken, size = 0, None if str(path) == "-" or not os.path.isfile(path) else os.path.getsize(path)
    with contextlib.closing(stream(path, options, **changes)) as blocks:
        for block in blocks:
            parts.append(block)
            taken += arrays.stored_bytes(block.X)
            if size is not None:
                current_limits().check_memory(taken, size, path)
            if progress is not None:
                done = block.first_row + block.X.shape[0]
                progress("reading", done, round(done / block.fraction) if block.fraction else 0)
    return whole(parts)


def whole(parts: Sequence[Block]) -> Dataset:
    """Return all blocks of a file, in order, as one."""
    y = None
    if parts[0].y is not None:
        y = settle_labels(np.concatenate([part.y for part in parts if part.y is not None]))
    return Dataset(_concatenated([part.X for part in parts]), y, parts[0].elastic)


def _concatenated(parts: list[Rows]) -> Rows:
    if not arrays.is_csr(parts[0]):
        return np.concatenate(parts)
    width = max(part.shape[1] for part in parts)
    stacked = sparse.vstack([arrays.widen(part, width) for part in parts], format="csr")
    X = narrow_indices(sparse.csr_array(stacked))
    n, d = X.shape
    return X.toarray() if X.nnz >= DENSE_FROM * n * d else X
