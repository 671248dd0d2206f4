"""What every reader of data files shares: how to read, what comes out, opening and recognising a file.

A reader turns a file into an iterator of :class:`Block`: consecutive rows, few enough for memory. Labels in a
block are as the file has them (text stays text), because one block cannot know what the others hold;
:func:`settle_labels` decides for a whole file and :func:`labels_like` for a given model.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from svmpress.errors import FormatError, InputError, shown
from svmpress.numerics import Rows, arrays
from svmpress.storage import current_limits

if TYPE_CHECKING:
    from svmpress.data.columns import Columns

DataFormat = Literal["svmlight", "csv", "npz", "parquet"]

FORMATS: tuple[DataFormat, ...] = ("svmlight", "csv", "npz", "parquet")
"""The data formats by name."""

LABEL_NAMES = ("label", "target", "y", "class")
"""Names that make a column of a table the label when the caller names none."""

_SUFFIXES: dict[str, DataFormat] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".npz": "npz",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}
_COMPRESSED = {".gz", ".bz2", ".xz"}
_OPENERS: tuple[tuple[bytes, Any], ...] = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
)
_MODEL_STARTS = (b"svm_type ", b"kernel_type ", b"solver_type ", b"SVM-light Version")
_PEEK = 1 << 16


@dataclass(frozen=True)
class ReadOptions:
    """How to read a data file; each field is also an option on the command line.

    Parameters
    ----------
    format : "svmlight", "csv", "npz" or "parquet", optional
        None: by suffix, else by content.
    label : str or int, optional
        The label column of a table, by name or by position from 0 (negative: from the end). None: the column
        named label, target, y or class, in any case, else the last.
    labels : bool, optional
        Whether the file has labels; None: it may or may not.
    split : str, optional
        Which part of an NPZ file with ``X_train``, ``X_test``, ... to read; it must be there.
    default_split : str, optional
        Which part to read when ``split`` is None and the file has several.
    header : bool, optional
        Whether the first line of a CSV file names the columns; None: see :mod:`svmpress.data.delimited`.
    zero_based : bool
        Whether the feature indices of svmlight text start at 0 instead of 1.
    n_features : int, optional
        How many features the model has: settles whether a table without names has a label column.
    feature_names : tuple of str, optional
        Names of the model's features: columns of a table with names are matched by name, in this order, and others
        than these and the label are left out.
    columns : tuple of str, optional
        The feature columns of a table by name, in the order of the model, whatever the model calls them.
    keep : tuple of str
        Columns of a table that are no features and go with the rows, such as an id.
    keep_text : bool
        Whether columns without a number go with the rows, too; else they are an error.
    like : Columns, optional
        The columns of a file that came before: those of this one are the same, matched by name where both have names.
    block_bytes : int
        About how much of the file makes one block.
    row_groups : (int, int), optional
        The first row group of a Parquet file to read, and the first not to; None: all.
    """

    format: DataFormat | None = None
    label: str | int | None = None
    labels: bool | None = True
    split: str | None = None
    default_split: str | None = None
    header: bool | None = None
    zero_based: bool = False
    n_features: int | None = None
    feature_names: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    keep: tuple[str, ...] = ()
    keep_text: bool = False
    like: Columns | None = None
    block_bytes: int = 4 * 2**20
    row_groups: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows of a file, or of several files one after the other.

    Parameters
    ----------
    X : (k, d) rows, dense or CSR
    y : (k,), optional
        Labels as the file has them.
    first_row : int
        Where the block starts, in rows from 0; rows of the files before count.
    fraction : float, optional
        How much of the files has been read, from 0 to 1, if that is known.
    elastic : bool
        Whether d is only the largest feature index of this block, as in svmlight text: columns of zeros may be missing.
    carried : mapping of str to (k,) arrays
        Columns of a table that are neither features nor the label.
    table : Columns, optional
        What the columns of the file are, if it is a table.
    file : str
        The file that the rows are of.
    """

    X: Rows
    y: NDArray[Any] | None
    first_row: int
    fraction: float | None = None
    elastic: bool = False
    carried: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    table: Columns | None = None
    file: str = ""


# ---------------------------------------------------------------------------------------------------------
# Opening and recognising
# ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TextFile:
    """An open text file: its decompressed bytes, and how far the reader has come in the file itself."""

    name: str
    lines: io.BufferedReader[Any]
    raw: IO[bytes]
    size: int | None

    @property
    def fraction(self) -> float | None:
        """The share of the file that has been read."""
        return min(1.0, self.raw.tell() / self.size) if self.size else None

    def head(self) -> bytes:
        """Return the first bytes without consuming them."""
        return self.lines.peek(_PEEK)[:_PEEK]


@contextlib.contextmanager
def open_text(path: str | os.PathLike[str]) -> Iterator[TextFile]:
    """Open text that may be compressed by gzip, bzip2 or xz; ``-`` is standard input.

    Raises
    ------
    InputError
        No such file, a directory, no permission.
    FormatError
        Empty, binary, or really a model.
    """
    name = str(path)
    with contextlib.ExitStack() as stack:
        if name == "-":
            if sys.stdin is None:
                raise InputError("cannot read standard input: it is closed")
            raw: Any = sys.stdin.buffer
        else:
            raw = stack.enter_context(open_binary(path))
        start = raw.peek(8)
        inner = raw
        for magic, opener in _OPENERS:
            if start.startswith(magic):
                inner = stack.enter_context(opener(raw))
        lines = io.BufferedReader(_BoundedLines(inner, "standard input" if name == "-" else name, inner is raw), _PEEK)
        size = os.fstat(raw.fileno()).st_size if raw.seekable() else None
        file = TextFile("standard input" if name == "-" else name, lines, raw, size)
        try:
            _check_text(file)
            yield file
        except (EOFError, OSError, lzma.LZMAError, zlib.error) as e:
            if inner is raw or isinstance(e, BrokenPipeError):
                raise
            raise FormatError(f"{file.name} is a damaged compressed file: {e}") from e


class _BoundedLines(io.RawIOBase):
    """Bytes of a text that has no line of more than the limit: each line is held in memory as a whole."""

    def __init__(self, inner: Any, where: str, live: bool) -> None:
        self._read = inner.readinto1 if live else inner.readinto  # what comes through a pipe is not waited for
        self._where, self._run, self._most = where, 0, current_limits().line

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = int(self._read(buffer))
        end = bytes(buffer[:count]).rfind(b"\n")
        self._run = self._run + count if end < 0 else count - end - 1
        if self._run > self._most:
            current_limits().check("line", self._run, self._where)
        return count


def open_binary(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file, or say in a sentence why it cannot be read."""
    try:
        return open(path, "rb", buffering=_PEEK)
    except OSError as e:
        raise InputError(f"cannot read {shown(str(path))}: {(e.strerror or str(e)).lower()}") from e


def _check_text(file: TextFile) -> None:
    head = file.head()
    if not head.strip():
        raise FormatError(f"{file.name} is empty")
    if b"\0" in head:
        raise FormatError(f"{file.name} is a binary file, not svmlight or CSV text")
    if head.lstrip().startswith(_MODEL_STARTS):
        raise FormatError(f"{file.name} is a model, not data; commands that take both name the model first")


def detect_format(path: str | os.PathLike[str]) -> DataFormat | None:
    """Return the format of a data file by its suffix (before .gz, .bz2 or .xz), else by its content.

    None for a pipe, which can be read only once: its text says which, see :func:`text_format`.
    """
    suffix = _suffix(path)
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    if str(path) == "-" or not Path(path).is_file():
        return None
    with open_binary(path) as f:
        start = f.read(8)
    if start.startswith(b"PK"):
        return "npz"
    if start.startswith(b"PAR1"):
        return "parquet"
    with open_text(path) as text:
        return text_format(text.head())


def has_data_suffix(path: str | os.PathLike[str]) -> bool:
    """Return whether the name of a file says that it holds rows."""
    return _suffix(path) in _SUFFIXES


def _suffix(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a file in lower case, that of its content if it is compressed."""
    suffixes = [s.lower() for s in Path(path).suffixes]
    while suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def text_format(head: bytes) -> DataFormat:
    """Say "svmlight" if a line near the start has ``index:value`` and no other separator, else "csv"."""
    for line in head.splitlines()[:20]:
        data = line.split(b"#", 1)[0]
        if any(sep in data for sep in (b",", b";", b"|")) or (b"\t" in data and b":" not in data):
            return "csv"
        if b":" in data:
            return "svmlight"
    return "svmlight"


# ---------------------------------------------------------------------------------------------------------
# Columns and values
# ---------------------------------------------------------------------------------------------------------


def column_name(names: list[str] | None, position: int) -> str:
    """Return how messages call a column: its name, or its position from 0."""
    return f"column {shown(names[position])!r}" if names else f"column {position} (from 0)"


def first_bad(X: Rows) -> tuple[int, int, str] | None:
    """Return row, column and name of the first value that is NaN or infinite, or None."""
    values = X.data if arrays.is_csr(X) else X
    bad = ~np.isfinite(values)
    if not bad.any():
        return None
    first = int(np.argmax(bad))
    if arrays.is_csr(X):
        row, column = int(np.searchsorted(X.indptr, first, side="right")) - 1, int(X.indices[first])
    else:
        row, column = divmod(first, X.shape[1])
    return row, column, "NaN" if np.isnan(values.ravel()[first]) else "infinite"


def narrow_indices(X: Rows) -> Rows:
    """Return CSR rows with 32-bit indices where they fit: scikit-learn's solvers take no others."""
    if max(X.nnz, *X.shape) >= 2**31:
        return X
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sparse.csr_array(parts, shape=X.shape)


# ---------------------------------------------------------------------------------------------------------
# Labels
# ---------------------------------------------------------------------------------------------------------


def settle_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Return the labels of a whole file: int64 if all are whole numbers, else float64, else text.

    Examples
    --------
    >>> settle_labels(np.array(["1", "2.0"], dtype=object)).tolist()
    [1, 2]
    >>> settle_labels(np.array(["1", "b"], dtype=object)).tolist()
    ['1', 'b']
    """
    try:
        numbers = y.astype(np.float64)
    except (ValueError, TypeError):
        return y.astype(str)
    if not np.isfinite(numbers).all():
        return y.astype(str) if y.dtype.kind in "OUS" else numbers
    whole = bool(np.all(numbers == np.rint(numbers)) and np.all(np.abs(numbers) < 2**53))
    return numbers.astype(np.int64) if whole else numbers


def labels_like(y: NDArray[Any], classes: NDArray[Any] | None, first_row: int = 0) -> NDArray[Any]:
    """Return labels in the type of a model's classes (None: a regressor), so that they can be compared.

    Examples
    --------
    >>> labels_like(np.array([1.0, 2.0]), np.array(["1", "2"])).tolist()
    ['1', '2']
    """
    if classes is not None and classes.dtype.kind not in "iufb":
        return np.array([label_text(v) for v in y.tolist()], dtype=object)
    try:
        return y.astype(np.float64)
    except (ValueError, TypeError):
        kind = "the model answers with numbers" if classes is None else "the classes of the model are numbers"
        for i, v in enumerate(y.tolist()):
            try:
                float(v)
            except (ValueError, TypeError):
                raise InputError(f"the label of row {first_row + i} is {shown(repr(v))}, but {kind}") from None
        raise


def label_text(value: Any) -> str:
    """Return a label or a predicted value as ``svm-predict`` writes it: numbers with ``%.17g``."""
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    return f"{float(value):.17g}" if isinstance(value, (int, float, np.number)) else str(value)
