"""Wrappers around several estimators: outputs of their own, bags of rows, votes.

Regressors of one kernel are one function: those of several outputs become columns of coefficients, those whose mean is
the answer a mean of coefficients. They are compressed all at once, and the small one computes each kernel value once.
Other members are compressed one by one. Members that are no SVMs stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import BaggingClassifier, BaggingRegressor, VotingClassifier, VotingRegressor
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.utils import Bunch

from svmpress.decoders import Identity
from svmpress.errors import InputError
from svmpress.formats import can_convert, from_estimator, merged
from svmpress.model import KernelModel
from svmpress.numerics import ordered_columns
from svmpress.wrapping.base import Part, Small, Wrapped, encoded


def multi_output(estimator: MultiOutputClassifier | MultiOutputRegressor) -> Wrapped:
    """Return the estimator of each output; all of them as one where they are regressors of one kernel."""
    together = _as_one(estimator.estimators_)
    if together is not None:
        return _single(_named(together, estimator))
    parts = [
        Part(member, answers=partial(_column, k), name=f"output {k + 1}")
        for k, member in enumerate(estimator.estimators_)
    ]
    return Wrapped(tuple(parts), lambda small: _with_members(estimator, [s.estimator for s in small]))


def bagging(estimator: BaggingClassifier | BaggingRegressor) -> Wrapped:
    """Return the members of a bag; their mean where they are regressors of one kernel and of all features."""
    members, features = estimator.estimators_, estimator.estimators_features_
    whole = all(np.array_equal(f, np.arange(estimator.n_features_in_)) for f in features)
    if whole:
        together = _as_one(members, np.full(len(members), 1 / len(members)))
        if together is not None:
            return _single(_named(together, estimator))
    names = getattr(estimator, "feature_names_in_", None)
    parts = [
        Part(member, _columns(own, names), _encoded(estimator, member), f"member {k + 1}")
        for k, (member, own) in enumerate(zip(members, features, strict=True))
    ]
    return Wrapped(tuple(parts), lambda small: _with_members(estimator, [s.estimator for s in small]))


def voting(estimator: VotingClassifier | VotingRegressor) -> Wrapped:
    """Return the members of a vote that are SVMs; their weighted mean where all are regressors of one kernel."""
    members = estimator.estimators_
    if isinstance(estimator, VotingRegressor):
        weights = np.ones(len(members)) if estimator.weights is None else np.asarray(_used_weights(estimator), float)
        together = _as_one(members, weights / weights.sum())
        if together is not None:
            return _single(_named(together, estimator))
    from svmpress.wrapping.kinds import is_known

    known = [k for k, member in enumerate(members) if is_known(member)]
    if not known:
        raise InputError(f"the {type(estimator).__name__} has no member that svmpress can read")
    names = [name for name, member in estimator.estimators if member != "drop"]
    parts = [Part(members[k], answers=_encoded(estimator, members[k]), name=names[k]) for k in known]

    def rebuild(small: Sequence[Small]) -> Any:
        rest = list(members)
        for k, one in zip(known, small, strict=True):
            rest[k] = one.estimator
        whole = _with_members(estimator, rest)
        whole.named_estimators_ = Bunch(**dict(zip(names, rest, strict=True)))
        return whole

    others = [names[k] for k in range(len(members)) if k not in known]
    return Wrapped(tuple(parts), rebuild, tuple(f"{name} is no SVM and stays as it is" for name in others))


def _used_weights(estimator: Any) -> list[float]:
    return [w for w, (_, member) in zip(estimator.weights, estimator.estimators, strict=True) if member != "drop"]


def _single(model: KernelModel) -> Wrapped:
    return Wrapped((Part(model),), lambda small: small[0].estimator)


def _named(model: KernelModel, estimator: Any) -> KernelModel:
    names = getattr(estimator, "feature_names_in_", None)
    return model if names is None else replace(model, feature_names=tuple(names))


def _with_members(estimator: Any, members: list[Any]) -> Any:
    whole = copy(estimator)
    whole.estimators_ = members
    return whole


def _as_one(members: Sequence[Any], weights: NDArray[np.float64] | None = None) -> KernelModel | None:
    """Return regressors as one model: a column each, or their weighted mean; None where they do not share a kernel."""
    if not all(can_convert(member) for member in members):
        return None
    models = [from_estimator(member) for member in members]
    first = models[0]
    alike = all(
        m.task == "regression" and m.n_outputs == 1 and m.kernel == first.kernel and m.scaling is None for m in models
    )
    if not alike:
        return None
    expansion = merged([m.expansion for m in models])
    if weights is not None:
        w = weights[:, None]
        expansion = replace(expansion, coef=expansion.coef @ w, intercept=expansion.intercept @ w)
    return KernelModel(expansion, Identity(), "regression")


def _column(k: int, y: Any) -> Any:
    if y is None:
        return None
    a = np.asarray(y)
    if a.ndim != 2:
        raise InputError(f"y of several outputs must be a table, not an array of shape {a.shape}")
    return a[:, k]


def _columns(features: NDArray[np.intp], names: NDArray[Any] | None) -> Callable[[Any], Any]:
    """Return what takes a member's features out of rows."""

    def rows(X: Any) -> Any:
        if X is None:
            return None
        X = ordered_columns(X, None if names is None else tuple(names))
        X = X if hasattr(X, "shape") and not hasattr(X, "columns") else np.asarray(X)
        return (X.tocsr() if hasattr(X, "tocsr") else X)[:, features]

    return rows


def _encoded(estimator: Any, member: Any) -> Callable[[Any], Any]:
    """Return what turns labels into those of a member, which has numbers for classes; None if it lacks some."""

    def answers(y: Any) -> Any:
        if y is None or not hasattr(estimator, "classes_"):
            return y
        place = encoded(np.asarray(estimator.classes_), y)
        return place if np.isin(place, member.classes_).all() else None

    return answers
