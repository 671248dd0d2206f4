"""NumPy archives: a zip of ``.npy`` arrays, read a block of rows at a time without unpacking the archive.

Rows are ``X`` (n, d), dense, or CSR in four parts ``X_data``, ``X_indices``, ``X_indptr``, ``X_shape``; labels are
``y`` (n,). An archive with several parts names them ``X_train``, ``y_train``, ``X_test``, ...: ``split`` chooses.
Names may be in lower case, and what ``scipy.sparse.save_npz`` writes is read too. A member of the zip is a stream:
its rows follow one another, so memory holds one block, compressed or not. The exception is an array in
Fortran order, which has no row order to follow and is read whole. Pickled objects are refused.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import zipfile
from collections.abc import Generator, Iterator, Mapping
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from svmpress.data.columns import refuse_named_columns
from svmpress.data.source import Block, ReadOptions, first_bad, narrow_indices, open_binary
from svmpress.errors import FormatError, shown
from svmpress.numerics import Rows, arrays
from svmpress.storage import current_limits, reading

_PARTS = ("data", "indices", "indptr", "shape")
_WORD = 16
"""Bytes in which the name of a sparse format has room."""


class _Member:
    """One array of the archive, read from its first entry to its last."""

    def __init__(self, archive: zipfile.ZipFile, member: str, where: str) -> None:
        self.where = f"{where}: {shown(member.removesuffix('.npy'))}"
        self.archive_bytes = archive.fp.seek(0, os.SEEK_END) if archive.fp is not None else 0
        self.stream: IO[bytes] = archive.open(member)
        try:
            version = np.lib.format.read_magic(self.stream)
            read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
            self.shape, self.fortran, self.dtype = read[version](self.stream)
        except Exception as e:  # whatever NumPy's reader of headers makes of bytes that are none
            raise FormatError(f"{self.where} is not an array") from e
        if min(self.shape, default=0) < 0:
            raise FormatError(f"{self.where} is not an array")
        if self.dtype.hasobject:
            raise FormatError(f"{self.where} holds Python objects; save numbers or text instead")
        self._whole: NDArray[Any] | None = None
        self._position = 0

    @property
    def item_bytes(self) -> int:
        """The bytes of one entry along the first axis."""
        return max(1, self.dtype.itemsize * math.prod(self.shape[1:]))

    def read(self, count: int) -> NDArray[Any]:
        """Return the next ``count`` entries along the first axis."""
        if self.fortran and len(self.shape) > 1:
            return self._read_fortran(count)
        wanted = count * self.item_bytes
        current_limits().check_memory(wanted, self.archive_bytes, self.where)
        content = self.stream.read(wanted)
        if len(content) != wanted:
            raise FormatError(f"{self.where} is truncated")
        self._check_text(content)
        return np.frombuffer(content, dtype=self.dtype).reshape((count, *self.shape[1:]))

    def _check_text(self, content: bytes) -> None:
        """Refuse numbers that are no characters, of which Python makes no text."""
        if self.dtype.kind == "U":
            codes = np.frombuffer(content, dtype=np.dtype(np.uint32).newbyteorder(self.dtype.byteorder))
            if codes.size and codes.max() > sys.maxunicode:
                raise FormatError(f"{self.where} holds text with what is no character")

    def _read_fortran(self, count: int) -> NDArray[Any]:
        if self._whole is None:
            whole = self.shape[0] * self.item_bytes
            current_limits().check_memory(whole, self.archive_bytes, self.where)
            content = self.stream.read(whole + 1)
            if len(content) != whole:
                raise FormatError(f"{self.where} is truncated")
            self._whole = np.frombuffer(content, dtype=self.dtype).reshape(self.shape, order="F")
        start, self._position = self._position, self._position + count
        return np.ascontiguousarray(self._whole[start : start + count])


def stream(path: str | os.PathLike[str], options: ReadOptions) -> Iterator[Block]:
    """Yield the rows of an archive in blocks of about ``options.block_bytes``."""
    where = str(path)
    refuse_named_columns(options, where)
    with open_binary(path) as raw, reading(where, "NumPy archive"), zipfile.ZipFile(raw) as archive:
        yield from _stream(archive, where, options)


def _stream(archive: zipfile.ZipFile, where: str, options: ReadOptions) -> Iterator[Block]:
    members = {name.removesuffix(".npy").lower(): name for name in archive.namelist()}
    if "schema.json" in members:
        raise FormatError(f"{where} is a model, not data; commands that take both name the model first")
    prefix, suffix = _choose(members, where, options)
    labels = _labels(archive, members, f"y{suffix}", where, options)
    if prefix in members:
        blocks = _dense(_Member(archive, members[prefix], where), options.block_bytes)
    else:
        if prefix == "" and _Member(archive, members["format"], where).stream.read(_WORD) != b"csr":
            raise FormatError(f"{where} is a sparse matrix that is not CSR; save matrix.tocsr() instead")
        blocks = _csr(archive, {p: members[f"{prefix}_{p}".lstrip("_")] for p in _PARTS}, where, options.block_bytes)
    with contextlib.closing(blocks):
        row = 0
        for X, n_rows in blocks:
            if labels is not None and labels.shape[0] != n_rows:
                raise FormatError(f"{where} has {n_rows} rows and {labels.shape[0]} labels")
            _check(X, row, where, shown(members.get(prefix, prefix).removesuffix(".npy")) or "the matrix")
            y = None if labels is None else labels.read(X.shape[0]).reshape(-1)
            if y is not None and y.dtype.kind == "f" and not np.isfinite(y).all():
                raise FormatError(f"{where}: the label of row {row + int(np.argmin(np.isfinite(y)))} is not finite")
            yield Block(X, y, row, (row + X.shape[0]) / n_rows)
            row += X.shape[0]
    if row == 0:
        raise FormatError(f"{where} has no rows")


def _check(X: Rows, row: int, where: str, name: str) -> None:
    bad = first_bad(X)
    if bad is not None:
        place, column, what = bad
        raise FormatError(f"{where}: the value of {name} at row {row + place}, column {column} is {what}")


def _holds_rows(members: Mapping[str, str], prefix: str) -> bool:
    return prefix in members or all(f"{prefix}_{p}".lstrip("_") in members for p in _PARTS)


def _choose(members: Mapping[str, str], where: str, options: ReadOptions) -> tuple[str, str]:
    """Return the name of the rows in the archive and the suffix of their labels."""
    tails = {name[2:] for name in members if name.startswith("x_")}
    tails |= {tail.removesuffix(f"_{p}") for tail in tails for p in _PARTS}
    splits = sorted(tail for tail in tails if _holds_rows(members, f"x_{tail}"))
    asked = options.split.lower() if options.split else None
    if asked is not None:
        if asked not in splits:
            known = shown(", ".join(splits)) or "no parts"
            raise FormatError(f"{where} has no part {options.split!r}; it has {known}")
        return f"x_{asked}", f"_{asked}"
    if _holds_rows(members, "x"):
        return "x", ""
    if _holds_rows(members, "") and "format" in members:  # scipy.sparse.save_npz
        return "", ""
    chosen = options.default_split if options.default_split in splits else None
    if len(splits) == 1 or chosen:
        chosen = chosen or splits[0]
        return f"x_{chosen}", f"_{chosen}"
    if splits:
        raise FormatError(f"{where} has the parts {shown(', '.join(splits))}; choose one with split (--split)")
    raise FormatError(f"{where} holds {shown(', '.join(sorted(members))) or 'nothing'}, but no array X")


def _labels(
    archive: zipfile.ZipFile, members: Mapping[str, str], name: str, where: str, options: ReadOptions
) -> _Member | None:
    if isinstance(options.label, str):  # y5 with the part train: y5_train, else y5 itself
        name = options.label.lower() + name.removeprefix("y")
        name = name if name in members else options.label.lower()
    if options.labels is False or (options.labels is None and name not in members):
        return None
    if name not in members:
        raise FormatError(f"{where} has no labels: there is no array {shown(name)!r}")
    member = _Member(archive, members[name], where)
    if member.dtype.kind not in "biufUS" or np.prod(member.shape[1:]) != 1 or len(member.shape) == 0:
        raise FormatError(f"{member.where} has shape {member.shape} and type {member.dtype}; labels are one per row")
    return member


def _dense(member: _Member, block_bytes: int) -> Generator[tuple[Rows, int], None, None]:
    if len(member.shape) != 2:
        raise FormatError(
            f"{member.where} must be two-dimensional (rows, features), not {len(member.shape)}-dimensional"
        )
    if member.dtype.kind not in "biuf":
        raise FormatError(f"{member.where} holds {member.dtype}, not numbers")
    current_limits().check("features", member.shape[1], member.where)
    n = member.shape[0]
    for rows in arrays.blocks(n, member.item_bytes, block_bytes):
        X = member.read(rows.stop - rows.start)
        yield X if X.dtype in (np.float32, np.float64) else X.astype(np.float64), n


def _csr(
    archive: zipfile.ZipFile, names: Mapping[str, str], where: str, block_bytes: int
) -> Generator[tuple[Rows, int], None, None]:
    data, indices, indptr, shape = (_Member(archive, names[p], where) for p in _PARTS)
    n, d = (int(v) for v in shape.read(2))
    current_limits().check("features", d, where)
    if data.shape != indices.shape or indptr.shape != (n + 1,):
        raise FormatError(f"{where}: the CSR parts do not fit together")
    per_row = (data.item_bytes + indices.item_bytes) * max(1, data.shape[0] // max(1, n))
    start = int(indptr.read(1)[0])
    for rows in arrays.blocks(n, per_row, block_bytes):
        ends = indptr.read(rows.stop - rows.start).astype(np.int64)
        pointers = np.concatenate([[start], ends]) - start
        start = int(ends[-1])
        if (np.diff(pointers) < 0).any():
            raise FormatError(f"{where}: the CSR row pointers decrease")
        columns = indices.read(int(pointers[-1]))
        if columns.size and not (columns.min() >= 0 and columns.max() < d):
            raise FormatError(f"{where}: a CSR column index is outside 0..{d - 1}")
        values = data.read(int(pointers[-1])).astype(np.float64)
        yield narrow_indices(sparse.csr_array((values, columns, pointers), shape=(rows.stop - rows.start, d))), n
