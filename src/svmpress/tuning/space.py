"""Which parameters are searched, and where.

Parameters are those of scikit-learn's estimators, named as ``set_params`` names them: ``svc__C`` in a pipeline. A short
name (``C``) will do where it is unique. By default

    C         s · 2^[-4, 10]      s = 1, or the standard deviation of a regressor's targets
    gamma     g · 2^[-6, 5]       g = 1 / (d · var), scikit-learn's "scale", after the steps before the SVM
    nu        [0.02, 0.6]         of NuSVC, which has no C
    alpha     2^[-14, 2]          of KernelRidge

on a logarithmic scale; everything else stays as the estimator has it. A linear kernel has no gamma. nu of a one-class
SVM says what an outlier is, and is never searched by itself; its gamma is only where labels can tell which is better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from svmpress.errors import InputError
from svmpress.numerics import Rows, arrays
from svmpress.tuning.records import plain

_NU, _ALPHA = (0.02, 0.6), (2.0**-14, 4.0)
_REAL = ("C", "gamma", "nu", "alpha", "epsilon", "coef0", "tol")
"""Parameters that are real numbers, whatever the type of the estimator's value."""
_PLAIN = (str, bool, int, float, type(None))
"""What a file of records, and Optuna, can keep."""
_C_RANGE, _GAMMA_RANGE = (2.0**-4, 2.0**10), (2.0**-6, 2.0**5)


@dataclass(frozen=True)
class Parameter:
    """One parameter and its range.

    Parameters
    ----------
    name : str
        As ``set_params`` wants it.
    low, high : float
        Searched on a logarithmic scale where ``low`` is positive and the values are no integers.
    integer : bool
    choices : tuple
        Values to choose from, instead of a range.

    Examples
    --------
    >>> round(Parameter("C", 1.0, 100.0).at(0.5), 6)
    10.0
    """

    name: str
    low: float = 0.0
    high: float = 0.0
    integer: bool = False
    choices: tuple[Any, ...] = ()

    @property
    def log(self) -> bool:
        """Whether the scale is logarithmic."""
        return not self.choices and not self.integer and self.low > 0

    def at(self, u: float) -> Any:
        """Return the value at a share u in [0, 1) of the range."""
        if self.choices:
            return self.choices[min(int(u * len(self.choices)), len(self.choices) - 1)]
        if self.integer:
            return int(self.low + min(int(u * (self.high - self.low + 1)), self.high - self.low))
        if self.log:
            return float(math.exp(math.log(self.low) + u * (math.log(self.high) - math.log(self.low))))
        return float(self.low + u * (self.high - self.low))

    def nearest(self, value: Any) -> Any:
        """Return the value of the range that is nearest to one that may lie outside."""
        if self.choices:
            return self.choices[self.choices.index(value)] if value in self.choices else self.choices[0]
        return type(self.at(0.0))(min(max(value, self.low), self.high))


def default_space(estimator: Any, X: Rows, y: Any, *, labelled: bool) -> tuple[Parameter, ...]:
    """Return the parameters that are searched when the caller names none.

    Parameters
    ----------
    estimator : estimator
        Not fitted.
    X : (n, d)
    y : (n,) or None
        Values of a regression set the scale of C.
    labelled : bool
        Whether there is something to judge by.
    """
    params = estimator.get_params(deep=True)
    spread = 1.0 if y is None or y.dtype.kind not in "f" else float(np.std(y)) or 1.0
    space: list[Parameter] = []
    for short, (low, high), scale in (("C", _C_RANGE, spread), ("nu", _NU, 1.0), ("alpha", _ALPHA, 1.0)):
        name = _named(params, short)
        one_class = name is not None and _svm_of(estimator, name).__class__.__name__ == "OneClassSVM"
        if name is None or one_class or (short == "nu" and space):
            continue
        space.append(Parameter(name, low * scale, high * scale))
    gamma, kernel = _named(params, "gamma"), _named(params, "kernel")
    if gamma is not None and (kernel is None or params[kernel] != "linear") and labelled:
        base = typical_gamma(estimator, X)
        space.append(Parameter(gamma, base * _GAMMA_RANGE[0], base * _GAMMA_RANGE[1]))
    return tuple(space)


def given_space(estimator: Any, space: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """Return the parameters that the caller names: ``(low, high)``, or a list of values to choose from.

    Whole numbers only are searched where both ends and the estimator's own value are such: degree, but not C.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> for parameter in given_space(SVC(), {"C": (1, 100), "degree": (2, 4)}):
    ...     print(parameter)
    Parameter(name='C', low=1.0, high=100.0, integer=False, choices=())
    Parameter(name='degree', low=2, high=4, integer=True, choices=())
    """
    params = estimator.get_params(deep=True)
    return tuple(_parameter(params, name, values) for name, values in space.items())


def _parameter(params: Mapping[str, Any], short: str, values: Any) -> Parameter:
    name = _named(params, short)
    if name is None:
        raise InputError(f"the estimator has no parameter {short!r} to search")
    if isinstance(values, tuple) and len(values) == 2 and all(_is_number(v) for v in values):
        low, high = map(plain, values)
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise InputError(f"the range of {short} must be (low, high) with low < high, not {values!r}")
        if _counts(name, params[name], low, high):
            return Parameter(name, low, high, integer=True)
        return Parameter(name, float(low), float(high))
    if isinstance(values, list) and values:
        choices = tuple(map(plain, values))
        odd = [v for v in choices if not isinstance(v, _PLAIN) or (isinstance(v, float) and not math.isfinite(v))]
        if odd:
            raise InputError(f"the values of {short} must be numbers, texts, True, False or None, not {odd[0]!r}")
        return Parameter(name, choices=choices)
    raise InputError(f"the space of {short} must be (low, high) or a list of values, not {values!r}")


def _counts(name: str, own: Any, low: Any, high: Any) -> bool:
    """Return whether only whole numbers will do: ``(1, 1000)`` is a fine range of C, and ``C=1`` a fine value."""
    short = name.rpartition("__")[2]
    return short not in _REAL and all(isinstance(v, (int, np.integer)) for v in (own, low, high))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _named(params: Mapping[str, Any], short: str) -> str | None:
    """Return the one parameter with this name, full or short."""
    if short in params:
        return short
    names = [name for name in params if name.rsplit("__", 1)[-1] == short]
    if len(names) > 1:
        raise InputError(f"the estimator has several parameters {short!r} ({', '.join(names)}): name one in full")
    return names[0] if names else None


def _svm_of(estimator: Any, name: str) -> Any:
    owner = name.rpartition("__")[0]
    return estimator.get_params(deep=True)[owner] if owner else estimator


def typical_gamma(estimator: Any, X: Rows) -> float:
    """Return ``1 / (d var)`` of the rows after the steps before the SVM: scikit-learn's "scale".

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> typical_gamma(SVC(), np.array([[1.0, -1.0], [-1.0, 1.0]]))
    0.5
    """
    if isinstance(estimator, Pipeline) and len(estimator.steps) > 1:
        X = clone(estimator[:-1]).fit_transform(X)
    mean_square = float(arrays.square_norms(X).mean()) / X.shape[1]
    variance = mean_square - float(arrays.column_means(X).mean()) ** 2
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def as_given(estimator: Any, space: Sequence[Parameter], X: Rows) -> dict[str, Any]:
    """Return the estimator's own values of the parameters, as near as the ranges allow: the first trial."""
    params = estimator.get_params(deep=True)
    values = {}
    for parameter in space:
        value = params[parameter.name]
        if not parameter.choices and not _is_number(value):  # "scale", "auto", None
            value = typical_gamma(estimator, X) if value == "scale" else 1.0 / X.shape[1]
        values[parameter.name] = parameter.nearest(value)
    return values
