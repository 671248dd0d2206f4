"""SVM-light's model files: one machine, as ``svm_learn`` writes it.

The head has one entry a line, each with its name as a comment: kernel type and parameters, the highest feature index,
the number of vectors plus one, the threshold b. A line ``α y  index:value ...`` follows for each vector, and

    f(x) = Σ α y k(x, v) - b        kernels: v·x, (s v·x + r)^d, exp(-g ||v - x||²), tanh(s v·x + r)

A file does not say what f is for. SVM-light's own answer is its sign, so it is read as a classifier of 1 and -1, an
exact zero being -1 as for ``svm_classify``; one that svmpress wrote of a regression says so in the entry that SVM-light
leaves to its users (``-u``), which its programs skip. Those compute kernel values in single precision.
"""

from __future__ import annotations

import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np
from scipy import sparse

from svmpress.decoders import Decoder, Identity, Sign
from svmpress.errors import FormatError, InputError
from svmpress.formats.scales import Ranges, companions, scaling_of
from svmpress.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid
from svmpress.model import KernelExpansion, KernelModel, Task
from svmpress.numerics import Rows, is_csr
from svmpress.storage import current_limits, replacing

_START = b"SVM-light Version"
_VERSION = "SVM-light Version V6.02"
_REGRESSION = "regression"
_MAX_INDEX = 2**31 - 1
_SPARSE_BELOW = 0.3
_NO_FEATURES = (b"qid:", b"sid:", b"cost:")
_HEAD = (
    "kernel type",
    "kernel parameter -d",
    "kernel parameter -g",
    "kernel parameter -s",
    "kernel parameter -r",
    "kernel parameter -u",
    "highest feature index",
    "number of training documents",
    "number of support vectors plus 1",
    "threshold b",
)


def recognises(head: bytes) -> bool:
    """Return whether a file starts like a model of SVM-light."""
    return head.startswith(_START)


# ---------------------------------------------------------------------------------------------------------
# Reading
# ---------------------------------------------------------------------------------------------------------


class _Lines:
    """The lines of a file, and where we are, for messages that say so."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path, self.file, self.number = path, file, 0

    def __iter__(self) -> Iterator[bytes]:
        longest = current_limits().line
        while line := self.file.readline(longest + 1):
            self.number += 1
            current_limits().check("line", len(line), self.path)
            if not line.endswith(b"\n"):
                self.fail("the file ends in the middle of this line, it looks truncated")
            yield line

    def fail(self, message: str) -> NoReturn:
        raise FormatError(f"{self.path}, line {self.number}: {message}")


class _Vectors(NamedTuple):
    coef: array.array[float]
    columns: array.array[int]
    values: array.array[float]
    ends: array.array[int]


def read(path: Path, ranges: Ranges = None) -> KernelModel:
    """Return the model of a file of SVM-light, scaled by a range file of ``svm-scale`` if there is one.

    Raises
    ------
    FormatError
        Which line is wrong, and why.
    """
    with path.open("rb") as file:
        lines = _Lines(path, file)
        text = iter(lines)
        first = next(text, b"")
        if not first.startswith(_START):
            lines.fail(f"a model of SVM-light starts with {_START.decode()!r}")
        head = {name: _entry(lines, next(text, b""), name) for name in _HEAD}
        kernel = _kernel(lines, head)
        wanted = _number(lines, head, "number of support vectors plus 1") - 1
        vectors = _vectors(lines, text)
    if len(vectors.coef) != wanted:
        raise FormatError(f"{path}: {len(vectors.coef)} of {wanted:.0f} vectors are there, the file looks truncated")
    try:
        V = _matrix(path, vectors, int(_number(lines, head, "highest feature index")))
        scaling = scaling_of(path, ranges, V.shape[1])
        if scaling is not None and scaling.factor.size > V.shape[1]:
            raise InputError(f"the range file has {scaling.factor.size} features and the model {V.shape[1]}")
        coef, b = np.array(vectors.coef).reshape(-1, 1), _number(lines, head, "threshold b")
        regression = head["kernel parameter -u"].strip() == _REGRESSION
        decoder: Decoder = Identity() if regression else Sign(np.array([-1, 1]), zero_class=0)
        f = KernelExpansion(kernel, V, coef, np.array([-b]))
        task: Task = "regression" if regression else "classification"
        return KernelModel(f, decoder, task, scaling, provenance={"format": "svmlight"})
    except InputError as e:
        raise e if isinstance(e, FormatError) else FormatError(f"{path}: {e}") from e


def _entry(lines: _Lines, line: bytes, name: str) -> str:
    value, comment, what = line.decode("ascii", "replace").partition("#")
    if not comment or not what.strip().startswith(name):
        lines.fail(f"expected a value and '# {name}', not {line[:40].decode('ascii', 'replace').strip()!r}")
    return value


def _number(lines: _Lines, head: dict[str, str], name: str) -> float:
    try:
        if "_" in head[name]:
            raise ValueError
        value = float(head[name])
        if not np.isfinite(value):
            raise ValueError
    except ValueError:
        raise FormatError(f"{lines.path}: the {name} is {head[name].strip()[:40]!r}, which is no number") from None
    return value


def _kernel(lines: _Lines, head: dict[str, str]) -> Kernel:
    kind = _number(lines, head, "kernel type")
    d, g, s, r = (_number(lines, head, f"kernel parameter -{letter}") for letter in "dgsr")
    try:
        if kind == 0:
            return Linear()
        if kind == 1:
            return Polynomial(s, r, d)
        if kind == 2:
            return RBF(g)
        if kind == 3:
            return Sigmoid(s, r)
    except InputError as e:
        raise FormatError(f"{lines.path}: {e}") from e
    raise FormatError(f"{lines.path}: the kernel type is {kind:g}; svmpress reads 0 to 3 (4 is a function of its user)")


def _vectors(lines: _Lines, text: Iterator[bytes]) -> _Vectors:
    """Read the lines of the vectors; what they hold, and nothing else, decides how much memory they take."""
    found = _Vectors(array.array("d"), array.array("q"), array.array("d"), array.array("q", [0]))
    for line in text:
        tokens = line.split(b"#", 1)[0].split()
        if not tokens:
            continue
        try:
            if b"_" in line.split(b"#", 1)[0]:
                raise ValueError
            pairs = [token.partition(b":") for token in tokens[1:] if not token.startswith(_NO_FEATURES)]
            found.coef.append(float(tokens[0]))
            index = [int(i) for i, _, _ in pairs]
            found.columns.extend(index)
            found.values.extend([float(v) for _, _, v in pairs])
        except (ValueError, OverflowError):
            lines.fail("expected a coefficient, then index:value pairs")
        if index and not 1 <= min(index) <= max(index) <= _MAX_INDEX:
            lines.fail(f"a feature index is outside 1..{_MAX_INDEX}")
        if len(set(index)) != len(index):
            lines.fail("a feature is there twice")
        if not np.isfinite([found.coef[-1], *found.values[found.ends[-1] :]]).all():
            lines.fail("a coefficient or a feature is NaN or infinite")
        found.ends.append(len(found.columns))
    return found


def _matrix(path: Path, found: _Vectors, highest: int) -> Rows:
    columns = np.array(found.columns, dtype=np.int64) - 1
    d = max(highest, int(columns.max(initial=0)) + 1)
    if not 1 <= d <= _MAX_INDEX:
        raise FormatError(f"{path}: the highest feature index is {d}, and must be from 1 to {_MAX_INDEX}")
    current_limits().check("features", d, path)
    shape = (len(found.coef), d)
    V = sparse.csr_array((np.array(found.values, dtype=np.float64), columns, np.array(found.ends)), shape=shape)
    V.sort_indices()
    V.eliminate_zeros()
    return V if V.nnz < _SPARSE_BELOW * shape[0] * d or shape[0] == 0 else V.toarray()


# ---------------------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------------------


def obstacles(model: KernelModel) -> list[str]:
    """Return what a file of SVM-light cannot hold of this model; empty when it can be written."""
    found = []
    kernel = model.kernel
    if kernel.name not in ("linear", "poly", "rbf", "sigmoid"):
        found.append(f"SVM-light has no {kernel.name} kernel")
    degree = kernel.params.get("degree", 0)
    if degree != int(degree):
        found.append(f"the degree of SVM-light's polynomial kernel is an integer, not {degree}")
    if model.task == "outlier":
        found.append("SVM-light has no one-class models")
    if model.task == "regression" and model.n_outputs != 1:
        found.append(f"a regression of SVM-light has one output, not {model.n_outputs}")
    if model.task == "classification" and not _is_binary(model):
        found.append("SVM-light separates two classes, which are -1 and 1")
    if model.scaling is not None:
        found.append("SVM-light's files have no place for an input scaling")
    if model.probability:
        found.append("SVM-light's files have no place for probability parameters")
    return found


def _is_binary(model: KernelModel) -> bool:
    return isinstance(model.decoder, Sign) and np.array_equal(np.asarray(model.classes_), [-1, 1])


def write(model: KernelModel, path: Path) -> None:
    """Write a model without :func:`obstacles`; numbers have as many digits as it takes to read them back."""
    foreign = companions(path)
    if foreign:
        raise FormatError(
            f"{foreign[0]} is there and would be applied to the model when it is read, but the model has no scaling: "
            "remove that file or choose another name"
        )
    with replacing(path) as (file,):
        for line in _lines(model):
            file.write(line.encode("ascii") + b"\n")


def _lines(model: KernelModel) -> Iterator[str]:
    f, params = model.expansion, model.kernel.params
    kind = ("linear", "poly", "rbf", "sigmoid").index(model.kernel.name)
    projected = model.kernel.name in ("poly", "sigmoid")
    values: tuple[Any, ...] = (
        kind,
        int(params.get("degree", 3)),
        _text(params.get("gamma", 1.0)) if not projected else "1",
        _text(params["gamma"]) if projected else "1",
        _text(params.get("coef0", 1.0)),
        _REGRESSION if model.task == "regression" else "empty",
        f.n_features,
        f.n_vectors,
        f.n_vectors + 1,
        _text(-f.intercept[0]),
    )
    yield _VERSION
    for value, name in zip(values, _HEAD, strict=True):
        more = ", each following line is a SV (starting with alpha*y)" if name == "threshold b" else ""
        gap = "" if name.endswith("-u") else " "  # SVM-light reads the user's entry up to the mark, blanks and all
        yield f"{value}{gap}# {name}{more}{' ' if name.startswith('kernel parameter') else ''}"
    for i in range(f.n_vectors):
        pairs = [f"{c + 1}:{_text(v)}" for c, v in zip(*_nonzero(f.vectors, i), strict=True)]
        yield " ".join([_text(f.coef[i, 0]), *pairs, "#"])


def _nonzero(vectors: Rows, i: int) -> tuple[list[int], list[float]]:
    row = vectors[[i]].toarray()[0] if is_csr(vectors) else vectors[i]
    columns = np.flatnonzero(row)
    return columns.tolist(), row[columns].tolist()


def _text(value: Any) -> str:
    return repr(float(value)).removesuffix(".0")
