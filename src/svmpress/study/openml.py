"""Data sets from the network, by name, for those who have no NPZ files of them.

Four of the paper's sets are on OpenML, 20 Newsgroups comes with a function of scikit-learn, and Ohsumed is on
neither. Any other name is looked up on OpenML as it is. Splits: MNIST's official one (the last 10,000 rows are the
test rows), the usual one of letters (the last 4,000), 20 Newsgroups' by date, and for all others a fifth of the rows,
stratified, with seed 0. scikit-learn caches what it has fetched.
"""

from __future__ import annotations

import warnings
from typing import Any
from urllib.error import URLError

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import fetch_20newsgroups_vectorized, fetch_openml
from sklearn.model_selection import train_test_split

from svmpress.errors import InputError
from svmpress.numerics import Rows

NAMES: dict[str, tuple[str, int]] = {
    "pageblocks": ("page-blocks", 1),
    "magic": ("MagicTelescope", 1),
    "letters": ("letter", 1),
    "mnist": ("mnist_784", 1),
}
"""Name and version on OpenML of the sets that are there."""
_TEST_ROWS = {"letters": 4_000, "mnist": 10_000}
"""The sets whose test rows are the last."""
NOT_TO_BE_HAD = {
    "ohsumed": "the set ohsumed is on no server that svmpress knows: give --data a folder with ohsumed.npz",
}

Parts = tuple[Rows, NDArray[Any], Rows, NDArray[Any]]


def fetch(name: str) -> Parts:
    """Return the rows and labels to train on, and those to test on, as they are at the source.

    Raises
    ------
    InputError
        Without a network, for a name that OpenML does not have, or for features that are no numbers.
    """
    if name in NOT_TO_BE_HAD:
        raise InputError(NOT_TO_BE_HAD[name])
    try:
        if name == "20news":
            return _newsgroups()
        there, version = NAMES.get(name, (name, 1))
        with warnings.catch_warnings():  # several versions being active is no news to the caller
            warnings.simplefilter("ignore", UserWarning)
            X, y = fetch_openml(there, version=version, return_X_y=True, as_frame=False, parser="liac-arff")
    except (URLError, OSError) as e:
        reason = getattr(e, "reason", None) or e
        raise InputError(
            f"cannot fetch the set {name} from the network ({reason}): give --data a folder with {name}.npz"
        ) from e
    except ValueError as e:
        raise InputError(f"OpenML has no set {name} that can be used: {e}") from e
    return _split(name, _numbers(name, X), _labels(name, np.asarray(y)))


def _newsgroups() -> Parts:
    train, test = (fetch_20newsgroups_vectorized(subset=part, normalize=False) for part in ("train", "test"))
    X, X_test = (sparse.csr_array(part.data.astype(np.float64)) for part in (train, test))
    return X, np.asarray(train.target), X_test, np.asarray(test.target)


def _numbers(name: str, X: Any) -> Rows:
    is_sparse = bool(sparse.issparse(X))
    try:
        rows: Any = sparse.csr_array(X, dtype=np.float64) if is_sparse else np.asarray(X, dtype=np.float64)
    except (ValueError, TypeError) as e:
        raise InputError(f"the set {name} of OpenML has features that are no numbers") from e
    if not np.all(np.isfinite(rows.data if is_sparse else rows)):
        raise InputError(f"the set {name} of OpenML has missing values")
    return rows


def _labels(name: str, y: NDArray[Any]) -> NDArray[Any]:
    """Return labels as the study has them: text against the rest for page blocks, gamma against hadron for magic."""
    if name == "pageblocks":
        return np.where(y.astype(str) == "1", 1, -1)
    if name == "magic":
        return np.where(np.char.startswith(np.char.lower(y.astype(str)), "g"), 1, -1)
    return y.astype(np.int64) if name == "mnist" else y.astype(str)


def _split(name: str, X: Rows, y: NDArray[Any]) -> Parts:
    if name in _TEST_ROWS:
        first = len(y) - _TEST_ROWS[name]
        return X[:first], y[:first], X[first:], y[first:]
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=0, stratify=y)
    return X[train], y[train], X[test], y[test]
