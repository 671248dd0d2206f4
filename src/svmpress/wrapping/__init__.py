"""Estimators around an SVM: what is compressed in them, how rows get there, and how the answer is put together again.

A wrapper is three things (:class:`Wrapped`): the sources inside it, how rows and answers of the whole become those of a
source (:class:`Part`), and how small estimators in the places of the sources make a whole again. One file a kind:

    pipeline     Pipeline
    one          GridSearchCV and other searches, FrozenEstimator, TransformedTargetRegressor
    calibrated   CalibratedClassifierCV
    many         MultiOutputClassifier, MultiOutputRegressor, bagging, voting
    fitted       the other way: a KernelModel as a fitted estimator, which takes the place of an SVM

:func:`unwrapped` takes off one layer; what is inside may be wrapped again.
"""

from __future__ import annotations

import os
from typing import Any

from svmpress.model import KernelModel
from svmpress.wrapping.base import Part, Small, Wrapped

__all__ = ["Part", "Small", "Wrapped", "fitted_estimator", "unwrapped"]


def unwrapped(source: Any) -> Wrapped | None:
    """Return what is inside an estimator around others; None for a model, a path, or an SVM itself."""
    held = (source, getattr(source, "model", None), getattr(source, "model_", None))
    if isinstance(source, (str, os.PathLike, type)) or any(isinstance(h, KernelModel) for h in held):
        return None
    from svmpress.wrapping import kinds  # scikit-learn takes a second to load

    return kinds.unwrapped(source)


def fitted_estimator(model: KernelModel) -> Any:
    """Return a model as a fitted estimator of scikit-learn that predicts as the model does, and as fast.

    Examples
    --------
    >>> import numpy as np
    >>> from svmpress.decoders import Sign
    >>> from svmpress.kernels import RBF
    >>> from svmpress.model import KernelExpansion
    >>> f = KernelExpansion(RBF(1.0), np.zeros((1, 2)), np.ones((1, 1)), np.array([-0.5]))
    >>> near = fitted_estimator(KernelModel(f, Sign(np.array(["far", "near"]))))
    >>> near.score([[0.1, 0.0], [3.0, 0.0]], ["near", "far"])
    1.0
    """
    from svmpress.wrapping import fitted

    return fitted.fitted_estimator(model)
