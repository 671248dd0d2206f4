"""Answers out, as CSV or Parquet: columns of a block at a time, in bounded memory."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from svmpress.data.source import label_text
from svmpress.errors import MissingExtraError

TableFormat = Literal["csv", "tsv", "parquet"]

_SUFFIXES: dict[str, TableFormat] = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".pq": "parquet"}


class TableWriter(Protocol):
    """What takes the columns of a table, block by block; each block has the same columns."""

    def write(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Write the columns (k,) of some rows."""


def table_format(path: str | None) -> TableFormat | None:
    """Return the kind of table that a file's suffix asks for; None: plain lines.

    Examples
    --------
    >>> table_format("answers.parquet"), table_format("answers.txt")
    ('parquet', None)
    """
    return None if path is None else _SUFFIXES.get(Path(path).suffix.lower())


@contextmanager
def table_writer(file: IO[bytes], form: TableFormat) -> Iterator[TableWriter]:
    """Give a writer into an open file; on leaving the table is complete, and the file still open.

    Raises
    ------
    MissingExtraError
        For Parquet without pyarrow.
    """
    writer = _Parquet(file) if form == "parquet" else _Text(file, "\t" if form == "tsv" else ",")
    yield writer
    writer.finish()


class _Text:
    """CSV, or with another separator: a line of names, then a line for each row."""

    def __init__(self, file: IO[bytes], delimiter: str) -> None:
        self._text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        self._csv = csv.writer(self._text, delimiter=delimiter, lineterminator="\n")
        self._named = False

    def write(self, columns: Mapping[str, NDArray[Any]]) -> None:
        if not self._named:
            self._csv.writerow(columns)
            self._named = True
        self._csv.writerows(zip(*(_cells(a) for a in columns.values()), strict=True))

    def finish(self) -> None:
        self._text.detach()  # the wrapper must not close what it was given


def _cells(a: NDArray[Any]) -> list[str]:
    if a.dtype.kind in "mM":
        return ["" if text == "NaT" else text for text in a.astype(str).tolist()]
    return ["" if value is None else label_text(value) for value in a.tolist()]


class _Parquet:
    """Parquet: the types of the columns are those of the first block."""

    def __init__(self, file: IO[bytes]) -> None:
        try:
            import pyarrow.parquet
        except ImportError as e:
            raise MissingExtraError("writing Parquet", "pyarrow", "parquet") from e
        self._arrow, self._file = pyarrow, file
        self._writer: Any = None

    def write(self, columns: Mapping[str, NDArray[Any]]) -> None:
        table = self._arrow.table({name: self._column(a) for name, a in columns.items()})
        if self._writer is None:
            self._writer = self._arrow.parquet.ParquetWriter(self._file, table.schema)
        self._writer.write_table(table.cast(self._writer.schema))

    def _column(self, a: NDArray[Any]) -> Any:
        if a.dtype.kind in "OU":
            with contextlib.suppress(self._arrow.ArrowInvalid, self._arrow.ArrowTypeError):  # text only, fast
                return self._arrow.array(a, self._arrow.string())
        if a.dtype.kind in "OUS":
            return self._arrow.array([None if v is None else str(v) for v in a.tolist()], self._arrow.string())
        return self._arrow.array(np.ascontiguousarray(a))

    def finish(self) -> None:
        if self._writer is not None:
            self._writer.close()
