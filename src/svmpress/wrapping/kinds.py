"""Every kind of wrapper, and who takes it apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingClassifier, BaggingRegressor, VotingClassifier, VotingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from svmpress.errors import InputError
from svmpress.formats import can_convert
from svmpress.model import KernelModel
from svmpress.wrapping import calibrated, many, one, pipeline
from svmpress.wrapping.base import Wrapped

KINDS: tuple[tuple[Any, Callable[[Any], Wrapped]], ...] = (
    (Pipeline, pipeline.unwrapped),
    (FrozenEstimator, one.frozen),
    (TransformedTargetRegressor, one.transformed),
    (CalibratedClassifierCV, calibrated.unwrapped),
    ((MultiOutputClassifier, MultiOutputRegressor), many.multi_output),
    ((BaggingClassifier, BaggingRegressor), many.bagging),
    ((VotingClassifier, VotingRegressor), many.voting),
)
"""Classes of estimators, and what takes a layer off them; searches are known by what they have."""


def unwrapped(estimator: Any) -> Wrapped | None:
    """Return what is inside an estimator; None where it is no wrapper."""
    if hasattr(estimator, "best_estimator_") or isinstance(estimator, (GridSearchCV, RandomizedSearchCV)):
        return one.searched(estimator)  # searches of other packages, too
    for kinds, take in KINDS:
        if isinstance(estimator, kinds):
            _check_fitted(estimator)
            return take(estimator)
    return None


def is_known(estimator: Any) -> bool:
    """Return whether an estimator is an SVM or a wrapper of one."""
    if can_convert(estimator) or isinstance(estimator, KernelModel):
        return True
    try:
        wrapped = unwrapped(estimator)
    except InputError:
        return False
    return wrapped is not None and all(is_known(part.source) for part in wrapped.parts)


def _check_fitted(estimator: Any) -> None:
    try:
        check_is_fitted(estimator)
    except NotFittedError as e:
        raise InputError(f"the {type(estimator).__name__} is not fitted: call its fit first") from e
