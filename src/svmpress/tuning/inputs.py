"""What the caller gave, checked: rows, labels, estimator, score, folds; and a digest that tells two searches apart."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.metrics import accuracy_score, balanced_accuracy_score, r2_score
from sklearn.model_selection import KFold, StratifiedKFold

from svmpress.compression import METHODS, refuse_ratio_only
from svmpress.errors import InputError
from svmpress.methods import Layout, Method
from svmpress.numerics import Rows, arrays, check_labels
from svmpress.training import held_out
from svmpress.tuning.proposals import Sampler
from svmpress.tuning.workbench import Fold, Metric

Kind = Literal["classification", "regression", "outlier"]

METRICS: dict[str, Metric] = {
    "accuracy": accuracy_score,
    "balanced_accuracy": balanced_accuracy_score,
    "r2": r2_score,
}
"""Scores by name; ``scoring=`` also takes a function of true and predicted values."""


def check_arguments(sampler: str, time_limit: float | None, method: str | Method, layout: str, **counts: int) -> None:
    """Raise an error if a choice does not exist or a number makes no sense; numbers are plain ones of Python.

    Raises
    ------
    InputError
        Which one, and what it should be.
    """
    for what, name, known in (("method", method, METHODS), ("layout", layout, get_args(Layout))):
        if isinstance(name, str) and name not in known:
            raise InputError(f"unknown {what} {name!r}; choose one of {', '.join(known)}")
    refuse_ratio_only(method)
    if sampler not in get_args(Sampler):
        raise InputError(f"unknown sampler {sampler!r}; choose one of {', '.join(get_args(Sampler))}")
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(f"{name} must be a whole number of at least 1, not {value!r}")
    if time_limit is not None and not time_limit > 0:
        raise InputError(f"time_limit must be a positive number of seconds, not {time_limit!r}")


def checked(estimator: Any, X: Any, y: Any) -> tuple[Rows, NDArray[Any] | None, Kind]:
    """Return rows, labels and what the estimator is.

    Raises
    ------
    InputError
        When they cannot be used together.
    """
    X = arrays.check_rows(X, allow_empty=False)
    X = X if arrays.is_csr(X) else arrays.to_numpy(X)
    n = X.shape[0]
    kind = _kind(estimator)
    if y is None:
        if kind != "outlier":
            raise InputError(f"{kind} needs y: one label or value for each row")
        return X, None, kind
    y = check_labels(y)
    if y.shape[:1] != (n,) or (y.ndim != 1 and kind != "regression"):
        raise InputError(f"y must be {n} labels for {n} rows, not an array of shape {y.shape}")
    if kind == "regression":
        try:
            y = y.astype(np.float64)
        except (ValueError, TypeError) as e:
            raise InputError(f"y must be numbers, as the estimator is a regressor: {e}") from e
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise InputError(f"y of row {int(np.argmin(np.isfinite(y.reshape(n, -1)).all(axis=1)))} is not finite")
    if kind == "classification" and np.unique(y).size < 2:
        raise InputError(f"all rows have the label {y[0]}; a classifier needs at least two classes")
    if kind == "outlier" and not np.isin(y, (-1, 1)).all():
        raise InputError("the labels of a one-class SVM must be 1 (inlier) and -1 (outlier); leave y out without them")
    return X, y, kind


def _kind(estimator: Any) -> Kind:
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise InputError(f"estimator must be an estimator of scikit-learn, such as SVC(), not {estimator!r}")
    if is_outlier_detector(estimator):
        return "outlier"
    if is_regressor(estimator):
        return "regression"
    if is_classifier(estimator):
        return "classification"
    raise InputError(f"{type(estimator).__name__} is no classifier, regressor or one-class SVM")


def named_metric(scoring: str | Metric | None, kind: Kind, y: NDArray[Any] | None) -> tuple[str, Metric]:
    """Return the name of the score and its function; by default accuracy, R², or agreement where there is no y."""
    if callable(scoring):
        return getattr(scoring, "__name__", type(scoring).__name__), scoring
    if scoring is None:
        if y is None:
            return "agreement", accuracy_score
        return ("r2", r2_score) if kind == "regression" else ("accuracy", accuracy_score)
    if scoring not in METRICS:
        raise InputError(f"unknown scoring {scoring!r}; choose one of {', '.join(METRICS)}, or give a function")
    if (scoring == "r2") != (kind == "regression"):
        raise InputError(f"{scoring} does not score {kind}")
    return scoring, METRICS[scoring]


def check_judges(metric: Metric, folds: Sequence[Fold]) -> None:
    """Raise an error if a score cannot be told from so few rows.

    Raises
    ------
    InputError
        When R², which compares with the variance of the rows, is asked of a single one.
    """
    fewest = min(held.size for _, held in folds)
    if metric is r2_score and fewest < 2:
        raise InputError(f"R² needs at least 2 rows to judge, not {fewest}: hold out more of them, or use fewer folds")


def make_folds(y: NDArray[Any] | None, n: int, cv: int | None, validation: float, seed: int) -> list[Fold]:
    """Return the rows to fit and the rows that judge: one split, or the folds of a cross-validation.

    Stratified by ``y`` unless that is None.

    Examples
    --------
    >>> [held.size for _, held in make_folds(None, 10, 5, 0.2, 0)]
    [2, 2, 2, 2, 2]
    """
    if cv is None:
        return [held_out(y, n, validation, seed)]
    if isinstance(cv, bool) or not isinstance(cv, int) or cv < 2:
        raise InputError(f"cv must be a whole number of at least 2 folds, not {cv!r}")
    fewest = n if y is None else int(np.unique(y, return_counts=True)[1].min())
    if cv > fewest:
        raise InputError(f"{cv} folds need at least {cv} rows{'' if y is None else ' of every class'}, not {fewest}")
    splitter = (KFold if y is None else StratifiedKFold)(cv, shuffle=True, random_state=seed)
    return list(splitter.split(np.zeros(n), y))


def digest(X: Rows, y: NDArray[Any] | None) -> str:
    """Return a digest of the data, by which a file of records knows its own.

    Examples
    --------
    >>> digest(np.zeros((2, 1)), None) == digest(np.ones((2, 1)), None)
    False
    """
    sha = hashlib.sha256(repr(X.shape).encode())
    for a in (X.data, X.indices, X.indptr) if arrays.is_csr(X) else (X,):
        sha.update(np.ascontiguousarray(a).view(np.uint8).data)
    if y is not None:
        sha.update(np.ascontiguousarray(y.astype("U") if y.dtype.kind == "O" else y).tobytes())
    return sha.hexdigest()


def described(estimator: Any) -> str:
    """Return an estimator with all its parameters as text."""
    plain = {k: v for k, v in estimator.get_params(deep=True).items() if not hasattr(v, "get_params") and k != "steps"}
    return f"{type(estimator).__name__} {sorted((k, repr(v)) for k, v in plain.items())}"
