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
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    try:
        names = columns.tolist() if hasattr(columns, "tolist") else list(columns)
    except TypeError:
        return None
    if set(map(type, names)) != {str}:  # pyarrow has the columns themselves under that name
        names = list(getattr(X, "column_names", ()))
    return tuple(names) if names and set(map(type, names)) == {str} else None


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


def as_array(X: Any, names: Sequence[str] | None) -> Any:
    """Return a table as an array, its columns in the order of ``names``; anything else as it is.

    Examples
    --------
    >>> import pandas as pd
    >>> as_array(pd.DataFrame({"b": [1.0], "a": [2.0]}), ["a", "b"]).tolist()
    [[2.0, 1.0]]
    """
    if not (hasattr(X, "columns") and hasattr(X, "to_numpy")):
        return ordered_columns(X, names)
    given = None if names is None else column_names(X)
    if given is not None and names is not None and given != tuple(names) and set(given) == set(names):
        places = {name: place for place, name in enumerate(given)}
        if len(places) == len(given):  # to choose columns of a table takes far longer than those of an array
            return X.to_numpy()[:, [places[name] for name in names]]
    return ordered_columns(X, names).to_numpy()


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
