"""A KernelModel as a fitted estimator of scikit-learn: what stands in the place of an SVM once it is compressed.

Unlike those of :func:`svmpress.to_estimator`, which are scikit-learn's own and predict as slowly, these predict with
the model itself. They are made by ``compress()`` and cannot be fitted again: a pipeline whose other steps learn
something new in a cross-validation, while its SVM stays, would answer nonsense without a word.
"""

from __future__ import annotations

from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from svmpress.errors import InputError
from svmpress.model import KernelModel


class FittedForGood(BaseEstimator):  # type: ignore[misc]
    """An estimator that cannot be fitted again."""

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> NoReturn:
        """Raise an error that says what to do instead."""
        raise InputError(
            f"a {type(self).__name__} was made by compress() and cannot be fitted again: fit the source and compress "
            "it, or use CompressedClassifier, CompressedRegressor or CompressedOutlierDetector, which do both"
        )

    def __sklearn_clone__(self) -> Self:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _KernelEstimator(FittedForGood):
    """What the three have in common."""

    def __init__(self, model: KernelModel) -> None:
        self.model = model

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the answer for each row, (n,)."""
        return self.model.predict(X)

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return self.model.n_features

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the features, where they have any."""
        if self.model.feature_names is None:
            raise AttributeError("the features of this model have no names")
        return np.array(self.model.feature_names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _has_probability(estimator: Any) -> bool:
    return bool(estimator.model.has_probability)


class KernelClassifier(ClassifierMixin, _KernelEstimator):  # type: ignore[misc]
    """A classifier that answers as its model does.

    Parameters
    ----------
    model : KernelModel
    """

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels, in the order of the scores and probabilities."""
        return np.asarray(self.model.classes_)

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the scores of each row, (n,) or (n, K)."""
        return self.model.decision_function(X)

    @available_if(_has_probability)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the probability of each class, (n, K)."""
        return self.model.predict_proba(X)


class KernelRegressor(RegressorMixin, _KernelEstimator):  # type: ignore[misc]
    """A regressor that answers as its model does.

    Parameters
    ----------
    model : KernelModel
    """


class KernelOutlierDetector(OutlierMixin, _KernelEstimator):  # type: ignore[misc]
    """A one-class SVM that answers as its model does: +1 is an inlier, -1 an outlier.

    Parameters
    ----------
    model : KernelModel
    """

    @property
    def offset_(self) -> float:
        """What is taken off the score of a row to decide."""
        return -float(self.model.expansion.intercept[0])

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the signed distance from the boundary, positive inside, (n,)."""
        return self.model.decision_function(X)

    def score_samples(self, X: Any) -> NDArray[Any]:
        """Return the score of each row before the offset, (n,)."""
        return self.decision_function(X) + self.offset_


def fitted_estimator(model: KernelModel) -> Any:
    """Return a model as a fitted estimator; see :func:`svmpress.wrapping.fitted_estimator`."""
    kinds = {"classification": KernelClassifier, "regression": KernelRegressor, "outlier": KernelOutlierDetector}
    return kinds[model.task](model)
