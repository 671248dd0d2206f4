"""Arguments that come from outside, checked: labels, numbers of threads."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.errors import InputError


def check_threads(n_threads: Any) -> int:
    """Return a number of threads, or say what it should be."""
    try:
        number = operator.index(n_threads)
    except TypeError:
        number = 0
    if number < 1:
        raise InputError(f"n_threads must be a whole number of at least 1, or None, not {str(n_threads)[:40]}")
    return number


def check_labels(y: Any) -> NDArray[Any]:
    """Return labels or values as an array of NumPy, or say why they cannot be any.

    Raises
    ------
    InputError
        Lists of different lengths, complex numbers, dates.
    """
    try:
        y = np.asarray(y)
    except ValueError as e:
        raise InputError(f"y is not a list of labels or values: {e}") from e
    if y.dtype.kind == "c":
        raise InputError("y holds complex numbers; svmpress works on real ones")
    if y.dtype.kind in "mM":
        raise InputError("y holds dates or durations; convert them to numbers or text")
    return y


def refuse_bad_pointers(indptr: NDArray[Any], name: str) -> None:
    """Refuse row pointers of a CSR matrix that decrease: SciPy checks them only if the last is not 0.

    It follows them to memory that is not the matrix's, to read there and to write.
    """
    if (indptr[1:] < indptr[:-1]).any():
        raise InputError(f"{name} is damaged: its row pointers decrease")
