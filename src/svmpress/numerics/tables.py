"""Tables with named columns: pandas, polars, pyarrow, or whatever else has ``columns`` of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from svmpress.errors import InputError

_SHOWN = 5


def column_names(X: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of a table; None for an array, and where they are not all text.

    Examples
    --------
    >>> import numpy as np
    >>> print(column_names(np.zeros((2, 2))))
    None
    """
    names = getattr(X, "column_names", None)  # pyarrow has the columns themselves under the other name
    names = getattr(X, "columns", None) if names is None else names
    try:
        names = None if names is None else tuple(names)
    except TypeError:
        return None
    return names if names and all(isinstance(name, str) for name in names) else None


def ordered_columns(X: Any, names: Sequence[str] | None) -> Any:
    """Return a table with the columns ``names``, in that order; X itself where either has no names.

    Raises
    ------
    InputError
        When columns are missing, or one of them is there twice.

    Examples
    --------
    >>> import pandas as pd
    >>> ordered_columns(pd.DataFrame({"b": [1.0], "id": [7], "a": [2.0]}), ["a", "b"]).to_numpy().tolist()
    [[2.0, 1.0]]
    """
    given = None if names is None else column_names(X)
    if names is None or given is None or given == tuple(names):
        return X
    check_names(given, names, "X")
    return X.select(list(names)) if hasattr(X, "select") else X[list(names)]


def check_names(given: Sequence[str], names: Sequence[str], where: str) -> None:
    """Refuse a table that lacks one of the columns ``names``, or has it twice."""
    missing = [name for name in names if name not in set(given)]
    if missing:
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        shown = ", ".join(repr(name) for name in missing[:_SHOWN])
        has = ", ".join(repr(name) for name in given[:_SHOWN]) + (", ..." if len(given) > _SHOWN else "")
        plural = "s" if len(missing) > 1 else ""
        raise InputError(f"{where} lacks the column{plural} {shown}{more} of the model; it has {has}")
    twice = next((name for name in names if list(given).count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{where} has several columns named {twice!r}, a feature of the model")
