"""The range files of LibSVM's ``svm-scale``: the input scaling that a LibSVM model file cannot hold.

Such a file says ``x``, then ``lower upper``, then ``index min max`` for each feature, and means

    x -> lower + (upper - lower) (x - min) / (max - min)

with 0 for a feature whose min and max are equal, or that is not listed. Our :class:`~svmpress.model.Scaling` is
``(x - shift) * factor``. It is written with ``lower = 0``, ``upper = 2^k``, ``min = shift`` and ``max`` such that the
division on the way back gives the very same factor: the smallest k for which that is possible is taken, and a large
k makes ``max - min`` as precise as the factor itself. ``svm-scale -r`` reads the result like any other range file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Floats
from svmpress.errors import FormatError
from svmpress.model import Scaling

_EXPONENTS = (0, 64, 128, 256, 512)
_MAX_FEATURES = 2**24
"""Features of a range file; they are stored densely, so a hostile index must not decide how many there are."""


def beside(path: Path) -> Path:
    """Return where the range file of a model file is: ``big.model`` has ``big.model.range``."""
    return path.with_name(path.name + ".range")


def range_lines(scaling: Scaling, first_index: int = 1) -> Iterator[str] | None:
    """Return the lines of the range file of a scaling; None when no such file gives the same scaling back.

    Examples
    --------
    >>> import numpy as np
    >>> list(range_lines(Scaling(np.array([2.0, 0.0]), np.array([0.5, 4.0]))))
    ['x', '0.0 1.0', '1 2.0 4.0', '2 0.0 0.25']
    """
    shift = np.zeros_like(scaling.factor) if scaling.shift is None else scaling.shift
    for exponent in _EXPONENTS:
        upper = math.ldexp(1.0, exponent)
        top = _tops(shift, scaling.factor, upper)
        if top is not None:
            return _lines(shift, top, upper, first_index)
    return None


def _lines(shift: Floats, top: Floats, upper: float, first: int) -> Iterator[str]:
    yield "x"
    yield f"0.0 {upper!r}"
    for i, (low, high) in enumerate(zip(shift.tolist(), top.tolist(), strict=True), start=first):
        yield f"{i} {low!r} {high!r}"


def _tops(shift: Floats, factor: Floats, upper: float) -> Floats | None:
    """Return ``max`` for each feature so that ``upper / (max - shift)`` is the factor, bit by bit, or None."""
    with np.errstate(all="ignore"):
        guess = shift + np.where(factor == 0, 0.0, upper / factor)
        top, found = guess.copy(), np.zeros(guess.shape, dtype=bool)
        for candidate in (guess, np.nextafter(guess, np.inf), np.nextafter(guess, -np.inf)):
            fits = np.where(factor == 0, candidate == shift, upper / (candidate - shift) == factor)
            top = np.where(fits & ~found, candidate, top)
            found |= fits & np.isfinite(candidate)
    return top if found.all() else None


def read_range(path: Path, n_features: int, first_index: int = 1) -> Scaling:
    """Return the scaling of a range file, for at least ``n_features`` features.

    Raises
    ------
    FormatError
        When it is no range file, or scales the target as well.
    """
    try:
        lines = path.read_text(encoding="ascii").split("\n")
    except UnicodeDecodeError as e:
        raise FormatError(f"{path} is not a range file of svm-scale: it is not plain text") from e
    if lines[0].strip() == "y":
        raise FormatError(
            f"{path} scales the target too (svm-scale -y), and a model cannot undo that: train on the unscaled target"
        )
    if lines[0].strip() != "x" or len(lines) < 3:
        raise FormatError(f"{path}, line 1: a range file of svm-scale starts with a line 'x'")
    if lines[-1].strip():
        raise FormatError(f"{path} ends in the middle of line {len(lines)}: it looks truncated")
    lower, upper = _numbers(path, 2, lines[1], 2)
    if lower == upper:
        raise FormatError(f"{path}, line 2: lower and upper are equal")
    rows = [_numbers(path, n, line, 3) for n, line in enumerate(lines[2:], start=3) if line.strip()]
    index = np.array([row[0] - first_index for row in rows], dtype=np.float64)
    return _scaling(path, index, np.array([row[1:] for row in rows]).reshape(-1, 2), (lower, upper), n_features)


def _numbers(path: Path, n: int, line: str, count: int) -> list[float]:
    try:
        numbers = [float(t) for t in line.split()]
    except ValueError:
        numbers = []
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise FormatError(f"{path}, line {n}: expected {count} numbers, not {line.strip()[:60]!r}")
    return numbers


def _scaling(
    path: Path,
    index: NDArray[np.float64],
    ends: NDArray[np.float64],
    target: tuple[float, float],
    n_features: int,
) -> Scaling:
    ok = (index >= 0) & (index < _MAX_FEATURES) & (index == np.floor(index))
    if not ok.all() or np.unique(index).size != index.size or n_features > _MAX_FEATURES:
        raise FormatError(f"{path}: features must be distinct, and their numbers at most {_MAX_FEATURES}")
    columns = index.astype(np.intp)
    d = max(n_features, int(columns.max(initial=-1)) + 1)
    shift, factor = np.zeros(d), np.zeros(d)
    lower, upper = target
    low, high = ends.T
    width = high - low
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        factor[columns] = np.where(width == 0, 0.0, (upper - lower) / width)
        shift[columns] = low if lower == 0 else low - lower * width / (upper - lower)
    if not (np.isfinite(shift).all() and np.isfinite(factor).all()):
        raise FormatError(f"{path}: the ranges overflow double precision")
    return Scaling(shift if shift.any() else None, factor)
