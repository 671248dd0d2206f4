"""Data files in: svmlight/LibSVM text, CSV, NumPy archives and Parquet, whole or in blocks.

    stream(path) -> blocks of rows      bounded memory, whatever the size of the file
    read(path)   -> Dataset             the same blocks, put together

Several files, the data files of a folder, and those that a pattern matches are one set of rows, one file after the
other. Tables among them have the same columns, matched by name.

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
from svmpress.data.files import Paths, data_files, sizes_of
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
from svmpress.errors import FormatError, InputError
from svmpress.numerics import Rows, arrays
from svmpress.storage import current_limits, reading

__all__ = [
    "DENSE_FROM",
    "FORMATS",
    "Block",
    "DataFormat",
    "Dataset",
    "Paths",
    "ReadOptions",
    "SpooledShards",
    "TableWriter",
    "answers",
    "blocks",
    "data_files",
    "following",
    "label_text",
    "labels_like",
    "narrow_indices",
    "read",
    "row_group_sizes",
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
    """All rows of a file, or of several.

    Parameters
    ----------
    X : (n, d) rows, dense or CSR
    y : (n,), optional
        Labels: int64, float64 or text.
    elastic : bool
        Whether d is only the largest feature index that occurs, as in svmlight text.
    feature_names : tuple of str, optional
        The names of the features, if the rows are of a table with names.
    """

    X: Rows
    y: NDArray[Any] | None
    elastic: bool = False
    feature_names: tuple[str, ...] | None = None


def stream(path: Paths, options: ReadOptions | None = None, **changes: Any) -> Generator[Block, None, None]:
    r"""Yield the rows of data files in blocks, in order.

    Parameters
    ----------
    path : path, or several
        A file, a folder of them, or a pattern such as ``days/*.csv``; ``-`` is standard input, which is text.
    options : ReadOptions, optional
        How to read them.
    **changes
        Single fields of the options.

    Raises
    ------
    InputError, FormatError
        A file cannot be read, a value in it cannot be used, or tables do not have the same columns: the message says
        where.

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
    files = data_files(path)
    sizes = sizes_of(files)
    first_row = 0
    for k, file in enumerate(files):
        last = None
        with contextlib.closing(_stream_one(file, options)) as blocks:
            for block in blocks:
                last = replace(block, first_row=first_row + block.first_row, file=file)
                yield replace(last, fraction=_share(block.fraction, k, sizes))
        if last is not None:
            first_row = last.first_row + last.X.shape[0]
            options = following(options, last)


def following(options: ReadOptions, block: Block) -> ReadOptions:
    """Return how to read the files that follow one: its columns are theirs, unless the options name columns."""
    named = options.like is not None or options.columns is not None or options.feature_names is not None
    return options if named else replace(options, like=block.table)


def _share(of_file: float | None, k: int, sizes: list[int | None]) -> float | None:
    """Return how much of all files has been read when that much has been of file k."""
    if len(sizes) == 1 or of_file is None:
        return of_file
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes) or not sum(known):
        return None
    return (sum(known[:k]) + of_file * known[k]) / sum(known)


def _stream_one(path: str, options: ReadOptions) -> Generator[Block, None, None]:
    with reading("standard input" if path == "-" else path):
        form = options.format or detect_format(path)
        if form in ("npz", "parquet"):
            yield from (npz.stream if form == "npz" else parquet.stream)(path, options)
        else:
            with open_text(path) as file:
                reader = svmlight.stream if (form or text_format(file.head())) == "svmlight" else delimited.stream
                yield from reader(file, options)


def row_group_sizes(path: str | os.PathLike[str], format: DataFormat | None = None) -> list[int] | None:
    """Return the rows of each row group of a Parquet file; None for other files, which are read from their start."""
    return parquet.row_group_sizes(path) if (format or detect_format(path)) == "parquet" else None


def read(
    path: Paths,
    options: ReadOptions | None = None,
    *,
    progress: Callable[[str, int, int], None] | None = None,
    **changes: Any,
) -> Dataset:
    r"""Return all rows of data files; see :func:`stream` for the arguments.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.csv"
    >>> _ = path.write_text("width,height,label\n1,2,cat\n3,4,dog\n")
    >>> read(path).y.tolist()
    ['cat', 'dog']
    """
    return whole(list(blocks(path, options, progress=progress, **changes)))


def blocks(
    path: Paths,
    options: ReadOptions | None = None,
    *,
    progress: Callable[[str, int, int], None] | None = None,
    **changes: Any,
) -> Generator[Block, None, None]:
    """Yield what :func:`stream` does, for one who puts it together: all blocks have labels or none, within limits."""
    files = data_files(path)
    sizes = sizes_of(files)
    taken, size = 0, None if None in sizes else sum(size or 0 for size in sizes)
    first: Block | None = None
    with contextlib.closing(stream(files, options, **changes)) as found:
        for block in found:
            first = first or replace(block, X=block.X[:0], carried={})
            if (block.y is None) != (first.y is None):
                with_labels, without = (first, block) if block.y is None else (block, first)
                raise FormatError(f"{with_labels.file} has labels, and {without.file} has none")
            taken += arrays.stored_bytes(block.X)
            if size is not None:
                current_limits().check_memory(taken, size, files[0] if len(files) == 1 else "the data")
            if progress is not None:
                done = block.first_row + block.X.shape[0]
                progress("reading", done, round(done / block.fraction) if block.fraction else 0)
            yield block


def whole(parts: Sequence[Block]) -> Dataset:
    """Return all blocks of files, in order, as one."""
    y = None
    if parts[0].y is not None:
        y = settle_labels(np.concatenate([part.y for part in parts if part.y is not None]))
    names = (part.table.feature_names for part in parts if part.table is not None)
    elastic = all(part.elastic for part in parts)
    return Dataset(_concatenated(parts), y, elastic, next((n for n in names if n is not None), None))


def _concatenated(blocks: Sequence[Block]) -> Rows:
    width = _common_width(blocks)
    parts = [block.X for block in blocks]
    if not any(map(arrays.is_csr, parts)):
        return np.concatenate(parts)
    stacked = sparse.vstack([arrays.widen(sparse.csr_array(part), width) for part in parts], format="csr")
    X = narrow_indices(sparse.csr_array(stacked))
    n, d = X.shape
    return X.toarray() if X.nnz >= DENSE_FROM * n * d else X


def _common_width(blocks: Sequence[Block]) -> int:
    """Return the number of features of all files; only svmlight text may have fewer than the others."""
    settled = [block for block in blocks if not block.elastic]
    widest = max(blocks, key=lambda block: int(block.X.shape[1]))
    width = int(widest.X.shape[1])
    for block in settled:
        if block.X.shape[1] != width:
            raise FormatError(f"{widest.file} has {width} features, but {block.file} has {block.X.shape[1]}")
    return width
