"""The range files of LibSVM's ``svm-scale``: the input scaling that a LibSVM model file cannot hold.

Such a file says ``x``, then ``lower upper``, then ``index min max`` for each feature, and means

    x -> lower + (upper - lower) (x - min) / (max - min)

with 0 for a feature whose min and max are equal, or that is not listed. Our :class:`~svmpress.model.Scaling` is
``(x - shift) * factor``. It is written with ``lower = 0``, ``upper = 1``, ``min = shift``, ``max = min + 1 / factor``,
in as many decimal digits as it takes for the factor, and we read the digits as the exact numbers that they are: the
same scaling comes back, bit by bit. ``svm-scale -r`` reads these files too, in double precision. Where the shift is so
large that ``max - min`` would lose the factor there, ``upper`` is a power of two instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal, InvalidOperation, localcontext
from pathlib import Path

import numpy as np

from svmpress.errors import FormatError, shown
from svmpress.model import Scaling
from svmpress.storage import current_limits

_EXPONENTS = (0, 64, 128, 256, 512)
_PRECISION = 1e-12
"""How precisely ``svm-scale`` shall get the factor, relative."""

_MAX_EXPONENT = 400
"""Decimal exponents beyond those of doubles are rounded like doubles: exact, they could be huge numbers."""

_MAX_DIGITS = 1_200
"""Characters of a number; no double has as many."""

_EXACT = Context(prec=2 * _MAX_DIGITS)
"""Sums of such numbers as they are."""

_CLOSE = Context(prec=120)
"""Quotients, in so many digits that what becomes a double of them is the nearest one."""


def beside(path: Path) -> Path:
    """Return where the range file of a model file is: ``big.model`` has ``big.model.range``."""
    return path.with_name(path.name + ".range")


# ---------------------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------------------


def is_expressible(scaling: Scaling) -> bool:
    """Return whether a range file can hold a scaling; only absurd numbers cannot be."""
    return _upper(scaling) is not None


def range_lines(scaling: Scaling, first_index: int = 1) -> list[str]:
    """Return the lines of the range file of a scaling that is expressible.

    Examples
    --------
    >>> import numpy as np
    >>> range_lines(Scaling(np.array([2.0, 0.0]), np.array([0.5, 4.0])))
    ['x', '0 1', '1 2.0 4', '2 0.0 0.25']
    """
    upper = _upper(scaling)
    if upper is None:
        raise FormatError("the input scaling is too extreme for a range file of svm-scale")
    shift = np.zeros_like(scaling.factor) if scaling.shift is None else scaling.shift
    lines = ["x", f"0 {upper}"]
    for i, (low, factor) in enumerate(zip(shift.tolist(), scaling.factor.tolist(), strict=True), start=first_index):
        lines.append(f"{i} {low!r} {_top(low, factor, upper)}")
    return lines


def _upper(scaling: Scaling) -> int | None:
    """Return the smallest ``upper`` with which double precision keeps every factor, or None."""
    factor = scaling.factor[scaling.factor != 0]
    shift = np.zeros_like(factor) if scaling.shift is None else scaling.shift[scaling.factor != 0]
    for exponent in _EXPONENTS:
        upper = 2.0**exponent
        with np.errstate(all="ignore"):
            there = upper / ((shift + upper / factor) - shift)
            error = np.abs(there / factor - 1)
        if (error <= _PRECISION).all():
            return int(upper)
    return None


def _top(low: float, factor: float, upper: int) -> str:
    """Return ``max`` in enough digits for ``upper / (max - low)`` to round to the factor."""
    if factor == 0:
        return repr(low)
    bottom = Decimal(repr(low))  # the decimal number that the file will say, not the double
    width = _CLOSE.divide(Decimal(upper), Decimal(factor))
    lost = bottom.adjusted() - width.adjusted() if bottom else 0
    with localcontext() as context:
        context.prec = 24 + max(0, lost)
        return format((bottom + width).normalize(), "g")


# ---------------------------------------------------------------------------------------------------------
# Reading
# ---------------------------------------------------------------------------------------------------------


def read_range(path: Path, lines: Sequence[str], n_features: int, first_index: int = 1) -> Scaling:
    """Return the scaling that the lines of a range file say, for at least ``n_features`` features.

    Raises
    ------
    FormatError
        When it is no range file, or scales the target as well.
    """
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
    most = current_limits().features
    features: dict[int, tuple[float, float]] = {}
    for n, line in enumerate(lines[2:], start=3):
        if line.strip():
            index, low, high = _numbers(path, n, line, 3)
            column = index - first_index
            if column % 1 != 0 or not 0 <= column < most or int(column) in features:
                raise FormatError(f"{path}, line {n}: features must be distinct, their numbers at most {most}")
            features[int(column)] = _shift_and_factor(path, n, low, high, lower, upper)
    return _scaling(path, features, n_features)


def _numbers(path: Path, n: int, line: str, count: int) -> list[Decimal]:
    try:
        numbers = [_exact(token) for token in line.split()]
    except (ValueError, ArithmeticError):
        numbers = []
    if len(numbers) != count:
        raise FormatError(f"{path}, line {n}: expected {count} numbers, not {shown(line.strip(), 60)!r}")
    return numbers


def _exact(token: str) -> Decimal:
    """Return the number that a text is, exactly; a NaN or an infinity is an error."""
    if "_" in token or len(token) > _MAX_DIGITS:
        raise ValueError
    number = Decimal(token)
    if not number.is_finite():
        raise InvalidOperation
    if number and not -_MAX_EXPONENT <= number.adjusted() <= _MAX_EXPONENT:
        rounded = float(number)
        if math.isinf(rounded):
            raise OverflowError
        return Decimal(rounded)
    return number


def _shift_and_factor(
    path: Path, n: int, low: Decimal, high: Decimal, lower: Decimal, upper: Decimal
) -> tuple[float, float]:
    width, span = _EXACT.subtract(high, low), _EXACT.subtract(upper, lower)
    shift = low
    if lower:
        shift = _EXACT.subtract(low, _CLOSE.divide(_EXACT.multiply(lower, width), span))
    found = float(shift), float(_CLOSE.divide(span, width)) if width else 0.0
    if not all(map(math.isfinite, found)):
        raise FormatError(f"{path}, line {n}: this range overflows double precision")
    return found


def _scaling(path: Path, features: dict[int, tuple[float, float]], n_features: int) -> Scaling:
    d = max(n_features, max(features, default=-1) + 1)
    current_limits().check("features", d, path)  # they are stored one by one, whatever the file names
    shift, factor = np.zeros(d), np.zeros(d)
    for column, (s, f) in features.items():
        shift[column], factor[column] = s, f
    return Scaling(shift if shift.any() else None, factor)
