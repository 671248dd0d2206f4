"""Wrappers around one estimator: searches, FrozenEstimator, TransformedTargetRegressor."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.frozen import FrozenEstimator

from svmpress.errors import InputError
from svmpress.wrapping.base import Part, Wrapped


def searched(search: Any) -> Wrapped:
    """Return the best estimator of a search; the small one stands for the whole search."""
    if not hasattr(search, "best_estimator_"):
        reason = "it has refit=False" if not getattr(search, "refit", True) else "call its fit first"
        raise InputError(f"the {type(search).__name__} has no best_estimator_: {reason}")
    return Wrapped((Part(search.best_estimator_),), lambda small: small[0].estimator)


def frozen(estimator: FrozenEstimator) -> Wrapped:
    """Return what is frozen; the small one is frozen again."""
    return Wrapped((Part(estimator.estimator),), lambda small: FrozenEstimator(small[0].estimator))


def transformed(estimator: TransformedTargetRegressor) -> Wrapped:
    """Return the regressor behind transformed values; values go there transformed, too."""

    def answers(y: Any) -> Any:
        if y is None:
            return None
        values = np.asarray(y, dtype=np.float64)
        changed = np.asarray(estimator.transformer_.transform(values.reshape(len(values), -1)))
        return changed[:, 0] if changed.ndim == 2 and changed.shape[1] == 1 else changed

    def rebuild(small: Any) -> Any:
        whole = copy(estimator)
        whole.regressor_ = small[0].estimator
        return whole

    return Wrapped((Part(estimator.regressor_, answers=answers),), rebuild)
