"""The grammar of LibSVM's model files: from untrusted text to a checked header and arrays.

A file is a header of ``key values`` lines, a line ``SV``, and a line ``coefficients index:value ...`` for each vector.
:func:`parse` accepts the keys in any order, LibSVM's and ThunderSVM's, any line ends and any blanks, and refuses
everything else with the number of the line. Nothing is allocated by what the header claims, only by what is there. A
last line without its end is refused: half a number is a number too, and a truncated file would pass for a model.

LibSVM reads no line after the last vector. There, a model of svmpress says which scaling it belongs to: see
:mod:`~svmpress.formats.pair`.
"""

from __future__ import annotations

import array
import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from scipy import sparse

from svmpress.decoders import Floats
from svmpress.errors import FormatError, shown
from svmpress.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid
from svmpress.model import Task
from svmpress.numerics import Rows
from svmpress.storage import current_limits

KERNELS: dict[str, type[Kernel]] = {
    "linear": Linear,
    "polynomial": Polynomial,
    "rbf": RBF,
    "sigmoid": Sigmoid,
}
"""The kernels by LibSVM's names."""

TASKS: dict[str, Task] = {
    "c_svc": "classification",
    "nu_svc": "classification",
    "one_class": "outlier",
    "epsilon_svr": "regression",
    "nu_svr": "regression",
}
"""What each ``svm_type`` is for."""

SCALED_BY = [b"#", b"svmpress:", b"scaled", b"by"]
"""How the line after the last vector begins that says the digest of the range file."""

PROBABILITY = ("probA", "probB", "prob_density_marks")

_INTEGERS = ("degree", "nr_class", "total_sv", "label", "nr_sv")
_NUMBERS = ("gamma", "coef0", "rho", "coef", *PROBABILITY)  # coef: the weights that ThunderSVM adds
_NAMES = ("svm_type", "kernel_type")
_MAX_INDEX = 2**31 - 1
_DENSITY_MARKS = 10

Header = dict[str, list[Any]]


@dataclass(frozen=True, eq=False)
class Parsed:
    """What a model file says, as it says it.

    Parameters
    ----------
    header : dict of lists
        The values of each key, checked to be complete and consistent.
    coef : (K-1, l)
        ``sv_coef``.
    vectors : (l, d) CSR
    first_index : 1 or 0
        What the file calls the first feature; 0 when some vector uses the index 0.
    digest : str
        Of the whole file, as :func:`svmpress.formats.pair.digest` makes it.
    scaled_by : str, optional
        The digest of the range file that belongs to the model.
    """

    header: Header
    coef: Floats
    vectors: Rows
    first_index: int
    digest: str
    scaled_by: str | None


class _Lines:
    """The lines of a file, and where we are, for messages that say so."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path, self.file, self.number = path, file, 0
        self.longest = current_limits().line
        self.sha = hashlib.sha256()
        self.scaled_by: str | None = None

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        text = self.file.readline(self.longest + 1)
        if not text:
            raise StopIteration
        self.number += 1
        current_limits().check("line", len(text), self.path)
        if not text.endswith(b"\n"):
            self.fail("the file ends in the middle of this line, it looks truncated")
        self.sha.update(text.replace(b"\r\n", b"\n"))
        return text

    def fail(self, message: str, number: int | None = None) -> NoReturn:
        raise FormatError(f"{self.path}, line {self.number if number is None else number}: {message}")


def parse(path: Path, file: BinaryIO) -> Parsed:
    """Return the contents of an open model file; messages call it ``path``.

    Raises
    ------
    FormatError
        Which line is wrong, and why.
    """
    _refuse_other_files(path, file)
    lines = _Lines(path, file)
    header = _header(lines)
    start = lines.number + 1
    n_coef, total = header["nr_class"][0] - 1, header["total_sv"][0]
    return _assemble(lines, header, start, *_vectors(lines, n_coef, total))


def _refuse_other_files(path: Path, file: BinaryIO) -> None:
    head = file.read(4096)
    file.seek(3 if head.startswith(b"\xef\xbb\xbf") else 0)  # a byte order mark says nothing here
    if not head.strip():
        raise FormatError(f"{path} is empty")
    if b"\0" in head:
        raise FormatError(f"{path} is a binary file, not a LibSVM model, which is plain text")
    tokens = head.lstrip().split(b"\n", 1)[0].split()
    if _is_number(tokens[0]) and all(b":" in t for t in tokens[1:]):
        raise FormatError(
            f"{path} is a data file (lines 'label index:value ...'), not a model: a LibSVM model starts with svm_type"
        )


def _is_number(token: bytes) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return True


# ---------------------------------------------------------------------------------------------------------
# The header
# ---------------------------------------------------------------------------------------------------------


def _header(lines: _Lines) -> Header:
    """Consume the lines up to ``SV`` and return them by key, checked as a whole."""
    header: Header = {}
    key = ""
    for text in lines:
        tokens = text.split()
        if tokens == [b"SV"]:
            break
        if not tokens:
            continue
        if key != "coef" or not _is_number(tokens[0]):  # ThunderSVM puts the values of coef on the next line
            key = tokens.pop(0).decode("ascii", "replace")
            if key not in (*_NAMES, *_INTEGERS, *_NUMBERS):
                lines.fail(f"{shown(key, 40)!r} is no key of a LibSVM model, which starts with svm_type")
            if key in header:
                lines.fail(f"{key} is there twice")
        header[key] = header.get(key, []) + _values(lines, key, tokens)
    else:
        lines.fail("the file ends without a line 'SV', it looks truncated")
    _check(lines, header)
    return header


def _values(lines: _Lines, key: str, tokens: list[bytes]) -> list[Any]:
    if key in _NAMES:
        return [t.decode("ascii", "replace") for t in tokens]
    kind, name = (int, "integer") if key in _INTEGERS else (float, "number")
    try:
        if any(b"_" in t for t in tokens):  # Python would read 1_000 as a number
            raise ValueError
        values = [kind(t) for t in tokens]
    except ValueError:
        lines.fail(f"{key} holds what is no {name}")
    if kind is float and not np.isfinite(values).all():
        lines.fail(f"{key} holds a NaN or an infinity")
    return values


def _check(lines: _Lines, header: Header) -> None:
    """Refuse a header that is not complete and consistent."""
    for key in (*_NAMES, "nr_class", "total_sv"):
        _need(lines, header, key)
    svm_type, kernel, n_classes = header["svm_type"][0], header["kernel_type"][0], header["nr_class"][0]
    if svm_type not in TASKS:
        lines.fail(f"unknown svm_type {svm_type[:40]!r}; LibSVM has {', '.join(TASKS)}")
    if kernel == "precomputed":
        lines.fail("a precomputed kernel cannot be used: such a file does not hold the vectors")
    if kernel not in KERNELS:
        lines.fail(f"unknown kernel_type {kernel[:40]!r}; LibSVM has {', '.join(KERNELS)}")
    for field in fields(KERNELS[kernel]):
        _need(lines, header, field.name)
    if n_classes < 2 or (n_classes > 2 and TASKS[svm_type] != "classification"):
        lines.fail(f"a {svm_type} model cannot have nr_class {n_classes}")
    n_machines = n_classes * (n_classes - 1) // 2
    _need(lines, header, "rho", n_machines)
    current_limits().check("classes", n_classes, lines.path)
    for key in PROBABILITY:
        if key in header:
            _need(lines, header, key, _DENSITY_MARKS if key == "prob_density_marks" else n_machines)
    marks = header.get("prob_density_marks", [])
    if any(a > b for a, b in itertools.pairwise(marks)):
        lines.fail("prob_density_marks are not in ascending order")
    if TASKS[svm_type] == "classification":
        _check_classes(lines, header, n_classes)


def _check_classes(lines: _Lines, header: Header, n_classes: int) -> None:
    _need(lines, header, "label", n_classes)
    _need(lines, header, "nr_sv", n_classes)
    if min(header["nr_sv"]) < 0 or sum(header["nr_sv"]) != header["total_sv"][0]:
        lines.fail("nr_sv does not add up to total_sv")
    if not all(-(2**31) <= label < 2**31 for label in header["label"]):
        lines.fail("a label is no 32-bit integer")


def _need(lines: _Lines, header: Header, key: str, count: int = 1) -> None:
    if key not in header:
        lines.fail(f"there is no {key} before SV")
    if len(header[key]) != count:
        lines.fail(f"{key} should have {count} value(s), not {len(header[key])}")


# ---------------------------------------------------------------------------------------------------------
# The vectors
# ---------------------------------------------------------------------------------------------------------


def _vectors(
    lines: _Lines, n_coef: int, total: int
) -> tuple[array.array[float], array.array[int], array.array[float], array.array[int]]:
    """Consume the vectors; return coefficients, feature indices, values, and where each vector ends."""
    coef, values = array.array("d"), array.array("d")
    index, ends = array.array("q"), array.array("q", [0])
    for text in lines:
        tokens = text.split()
        if len(ends) > total and (not tokens or _ends_in_trailer(lines, tokens)):
            continue
        if len(ends) > total:
            lines.fail(f"there are more vectors than total_sv {total}")
        try:
            if b"_" in text or len(tokens) < n_coef:
                raise ValueError
            coef.extend([float(t) for t in tokens[:n_coef]])
            pairs = [t.partition(b":") for t in tokens[n_coef:]]
            index.extend([int(i) for i, _, _ in pairs])
            values.extend([float(v) for _, _, v in pairs])
        except (ValueError, OverflowError):
            lines.fail(f"expected {n_coef} coefficient(s), then index:value pairs")
        ends.append(len(index))
    if len(ends) - 1 != total:
        lines.fail(f"{len(ends) - 1} of {total} vectors are there, the file looks truncated")
    return coef, index, values, ends


def _ends_in_trailer(lines: _Lines, tokens: list[bytes]) -> bool:
    """Return whether a line after the vectors says which range file belongs to them, and keep what it says."""
    if tokens[:-1] != SCALED_BY or lines.scaled_by is not None:
        return False
    lines.scaled_by = tokens[-1].decode("ascii", "replace")
    return True


def _assemble(lines: _Lines, header: Header, start: int, coefs: Any, index: Any, values: Any, ends: Any) -> Parsed:
    """Check the numbers of the vectors, of which the first is on line ``start``, and make arrays of them."""
    coef = np.array(coefs, dtype=np.float64).reshape(len(ends) - 1, -1 if len(ends) > 1 else 1)
    columns, data = np.array(index, dtype=np.int64), np.array(values, dtype=np.float64)
    row = np.repeat(np.arange(len(coef)), np.diff(ends))

    def refuse(bad: Any, rows: Any, message: str) -> None:
        if bad.any():
            lines.fail(message, start + int(rows[np.argmax(bad)]))

    refuse(~np.isfinite(coef).all(axis=1), np.arange(len(coef)), "a coefficient is NaN or infinite")
    refuse(~np.isfinite(data), row, "a feature is NaN or infinite")
    refuse((columns < 0) | (columns > _MAX_INDEX), row, f"a feature index is outside 1..{_MAX_INDEX}")
    first_index = 0 if columns.size and columns.min() == 0 else 1
    shape = (len(coef), max(1, int(columns.max(initial=0)) + 1 - first_index))
    current_limits().check("features", shape[1], lines.path)
    vectors = sparse.csr_array((data, columns - first_index, np.array(ends)), shape=shape)
    vectors.sort_indices()
    refuse((np.diff(vectors.indices) == 0) & (np.diff(row) == 0), row, "a feature is there twice")
    vectors.eliminate_zeros()
    return Parsed(header, coef.T, vectors, first_index, lines.sha.hexdigest(), lines.scaled_by)
