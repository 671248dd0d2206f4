"""Rows of a data file to compress with: in memory where they are few, else in a scratch folder.

The file is read once. Rows are held until they are more than some bytes; from then on all of them go to disk
(:mod:`svmpress.data.spool`), so that memory does not grow with the file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from svmpress import data
from svmpress.compression.intake import checked
from svmpress.data import streaming
from svmpress.errors import InputError
from svmpress.methods import Progress
from svmpress.model import KernelModel
from svmpress.numerics import Shard, arrays

HELD_BYTES = 2**28
"""Bytes of rows from which on they go to disk."""


@contextlib.contextmanager
def rows_of_file(
    source: KernelModel,
    path: data.Paths,
    options: data.ReadOptions,
    *,
    held_bytes: int | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[KernelModel, Any, Any]]:
    """Give the source, widened if need be, and rows and answers of data files as :func:`compress` takes them.

    Parameters
    ----------
    source : KernelModel
    path : path, or several
        As for :func:`svmpress.data.stream`.
    options : ReadOptions
    held_bytes : int, optional
        Bytes of rows from which on they go to disk, by default :data:`HELD_BYTES`; what is given then are shards, with
        their answers.
    progress : callable, optional

    Raises
    ------
    InputError, FormatError
        As :func:`svmpress.data.stream` raises them; or there is no room on the disk.
    """
    held: list[data.Block] = []
    first_rows: dict[str, int] = {}
    taken, spool, most = 0, None, HELD_BYTES if held_bytes is None else held_bytes
    with contextlib.ExitStack() as stack:
        for block in stack.enter_context(contextlib.closing(data.blocks(path, options, progress=progress))):
            before = first_rows.setdefault(block.file, block.first_row)
            held.append(replace(block, first_row=block.first_row - before))  # of its own file, for messages
            taken += arrays.stored_bytes(block.X)
            if spool is None and taken > most:
                spool = stack.enter_context(data.spooling())
            if spool is not None:
                for part in held:
                    source, shard = _taken(source, part)
                    spool.put(shard)
                held = []
        if spool is not None:
            yield source, spool.finished(data.DENSE_FROM), None
            return
        rows = data.whole(held)
        held.clear()
        source, X = streaming.fit_columns(source, rows.X, elastic=rows.elastic)
        yield source, streaming.prepared(source, X), _answers(source, rows.y)


def _taken(source: KernelModel, block: data.Block) -> tuple[KernelModel, Shard]:
    """Return the source, widened if need be, and a block of rows as its vectors are."""
    source, X = streaming.fit_columns(source, block.X, elastic=block.elastic)
    try:
        y = _answers(source, None if block.y is None else data.settle_labels(block.y), block.first_row)
        return source, checked(streaming.prepared(source, X), y, source)
    except InputError as e:
        raise InputError(f"{block.file}, rows {block.first_row} to {block.first_row + X.shape[0] - 1}: {e}") from e


def _answers(source: KernelModel, y: NDArray[Any] | None, first_row: int = 0) -> NDArray[Any] | None:
    """Return settled labels as the source answers; a one-class model needs none."""
    return None if y is None or source.task == "outlier" else data.labels_like(y, source.classes_, first_row)
