"""Scikit-learn meta-estimators: fit an SVM, compress it, predict with the small one.

    fit:  estimator -> clone -> fit -> compress() -> small_          predict:  small_.predict

The estimator may be an SVM or one around it, whatever ``compress()`` takes. They do nothing that
:func:`svmpress.compress` does not do; they make it a step of a ``Pipeline``, a subject of ``GridSearchCV``, and
something to ``clone`` and to pickle. The budget is one of ``vectors``, ``ratio``, ``max_bytes``, ``max_latency`` and
``max_drop``, a tenth of the vectors when none is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    OutlierMixin,
    RegressorMixin,
    clone,
    is_classifier,
    is_outlier_detector,
    is_regressor,
)
from sklearn.svm import SVC, SVR, OneClassSVM
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from svmpress.compression import Compression, ManyCompressions, compress
from svmpress.errors import InputError
from svmpress.formats import can_convert
from svmpress.methods import Effort, Layout, Method
from svmpress.model import KernelModel
from svmpress.numerics import Rows

_NUMBERS = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
"""Rows as SVMs take them."""

__all__ = ["CompressedClassifier", "CompressedOutlierDetector", "CompressedRegressor"]


class _Compressed(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """What the three have in common."""

    _large = ("estimator_", "compression_")

    def __init__(
        self,
        estimator: Any = None,
        *,
        vectors: int | None = None,
        ratio: float | None = None,
        max_bytes: int | None = None,
        max_latency: float | None = None,
        max_drop: float | None = None,
        method: str | Method = "auto",
        effort: Effort = "balanced",
        max_seconds: float | None = None,
        layout: Layout = "shared",
        device: str = "cpu",
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.vectors = vectors
        self.ratio = ratio
        self.max_bytes = max_bytes
        self.max_latency = max_latency
        self.max_drop = max_drop
        self.method = method
        self.effort = effort
        self.max_seconds = max_seconds
        self.layout = layout
        self.device = device
        self.random_state = random_state

    _kind: ClassVar[tuple[Callable[[Any], bool], str]]
    """Tells whether an estimator is of the right kind, and what that is called."""

    def _default(self) -> Any:
        """Return the estimator that None stands for."""
        raise NotImplementedError

    def _inner(self) -> Any:
        if self.estimator is not None and not hasattr(self.estimator, "fit"):
            raise InputError(f"estimator must be an SVM of scikit-learn, not {self.estimator!r}")
        return self._default() if self.estimator is None else self.estimator

    def _fit(self, X: Rows, y: NDArray[Any] | None, fit_params: dict[str, Any]) -> Self:
        """Fit a clone of the inner estimator on checked data, and compress it."""
        inner, known, wanted = self._inner(), *self._kind
        if not known(inner):
            raise InputError(f"{type(self).__name__} needs {wanted}, and {type(inner).__name__} is none")
        if sklearn.get_config()["enable_metadata_routing"]:
            fit_params = process_routing(self, "fit", **fit_params).estimator.fit
        self.estimator_ = clone(inner).fit(X, y, **fit_params)
        self.compression_: Compression = compress(
            self.estimator_,
            X,
            y.ravel() if y is not None and y.ndim == 2 and y.shape[1] == 1 else y,
            vectors=self.vectors,
            ratio=self.ratio,
            max_bytes=self.max_bytes,
            max_latency=self.max_latency,
            max_drop=self.max_drop,
            method=self.method,
            effort=self.effort,
            max_seconds=self.max_seconds,
            layout=self.layout,
            device=self.device,
            random_state=self.random_state,
        )
        self.small_ = self.compression_.estimator
        if not isinstance(self.compression_, ManyCompressions):
            self.model_: KernelModel = self.compression_.model
            if can_convert(inner) and hasattr(self, "feature_names_in_"):
                self.model_ = replace(self.model_, feature_names=tuple(self.feature_names_in_))
        return self

    def _checked(self, X: Any, **how: Any) -> Any:
        """Check rows, with y if it is given: as numbers, unless there are steps of any kind before the SVM."""
        numbers = _NUMBERS if can_convert(self._inner()) else {"skip_check_array": True}
        return validate_data(self, X, **numbers, **how)

    def _rows(self, X: Any) -> Rows:
        """Check rows to predict against those that were fitted."""
        check_is_fitted(self, "small_")
        return self._checked(X, reset=False)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the answer of the small model for each row of X, (n,)."""
        X = self._rows(X)
        return np.asarray(self.small_.predict(X))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where ``fit`` sends its metadata: to the ``fit`` of the inner estimator."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=self._inner(), method_mapping=mapping)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name not in self._large}

    def _repr_html_inner(self) -> str:
        """Return scikit-learn's diagram for notebooks, and once fitted the table of what was compressed below it."""
        made = getattr(self, "compression_", getattr(self, "model_", None))  # a pickle has the model alone
        return str(super()._repr_html_inner()) + ("" if made is None else made._repr_html_())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """Return what notebooks show: the text, and the diagram with its table where diagrams are shown."""
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        return bundle | ({"text/html": self._repr_html_inner()} if "text/html" in bundle else {})

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "small_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self._inner()).input_tags.sparse
        return tags


def _answers_by(method: str) -> Callable[[Any], bool]:
    """Return what tells whether an estimator has a method: its small one has, or the inner one that is to be fitted."""
    return lambda estimator: hasattr(getattr(estimator, "small_", None) or estimator._inner(), method)


class CompressedClassifier(ClassifierMixin, _Compressed):  # type: ignore[misc]
    """A kernel SVM classifier that is compressed once it is fitted.

    Parameters
    ----------
    estimator : classifier, optional
        What is fitted and compressed: an SVM, or an estimator around one or several (a Pipeline, a
        CalibratedClassifierCV, a search); ``SVC()`` by default.
    vectors, ratio, max_bytes, max_latency, max_drop
        The budget, at most one of them; a tenth of the vectors by default. See :func:`svmpress.compress`.
    method, effort, max_seconds, layout, device, random_state
        As for :func:`svmpress.compress`.

    Attributes
    ----------
    small_ : estimator
        The small estimator, in the same wrapper as the inner one.
    model_ : KernelModel
        The small model in it: ``svmpress.save(clf.model_, "small.model")``. Not there where several SVMs were
        compressed one by one.
    compression_ : Compression
        How it was made; ``compression_.summary()`` is for people.
    estimator_ : estimator
        The fitted estimator that was compressed.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    A pickle holds ``small_`` and ``model_`` and not ``compression_`` and ``estimator_``, which keep the large model
    alive: it is as small as the model is.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = CompressedClassifier(SVC(C=10), vectors=6).fit(X, y)
    >>> clf.model_.n_vectors
    6
    """

    _kind = (is_classifier, "a classifier")

    def _default(self) -> Any:
        return SVC()

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit and compress; ``fit_params`` such as ``sample_weight`` go to the inner estimator."""
        X, y = self._checked(X, y=y)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        weight = fit_params.get("sample_weight")
        if weight is not None and len(set(y[np.asarray(weight) > 0].tolist())) < 2 <= len(set(y.tolist())):
            raise InputError("sample_weight leaves rows of one class only, and a classifier needs two")
        self._fit(X, y, fit_params)
        self.classes_ = self.small_.classes_
        return self

    @available_if(_answers_by("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the scores of each row as the inner estimator defines them, (n,) or (n, K)."""
        X = self._rows(X)
        return np.asarray(self.small_.decision_function(X))

    @available_if(_answers_by("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the probability of each class, (n, K), where the inner estimator has them."""
        X = self._rows(X)
        return np.asarray(self.small_.predict_proba(X))


class CompressedRegressor(RegressorMixin, _Compressed):  # type: ignore[misc]
    """A kernel regressor that is compressed once it is fitted.

    Parameters, attributes and what is pickled are as for :class:`CompressedClassifier`; the estimator is ``SVR()``
    by default.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = CompressedRegressor(vectors=8).fit(X, np.sin(X[:, 0]))
    >>> model.score(X, np.sin(X[:, 0])) > 0.9
    True
    """

    _kind = (is_regressor, "a regressor")

    def _default(self) -> Any:
        return SVR()

    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit and compress; ``fit_params`` such as ``sample_weight`` go to the inner estimator."""
        X, y = self._checked(X, y=y, multi_output=True, y_numeric=True)
        y = np.asarray(y)
        return self._fit(X, y, fit_params)


class CompressedOutlierDetector(OutlierMixin, _Compressed):  # type: ignore[misc]
    """A one-class SVM that is compressed once it is fitted: +1 is an inlier, -1 an outlier.

    Parameters, attributes and what is pickled are as for :class:`CompressedClassifier`; the estimator is
    ``OneClassSVM()`` by default.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> detector = CompressedOutlierDetector(vectors=10).fit(X)
    >>> detector.predict([[0.0, 0.0], [9.0, 9.0]]).tolist()
    [1, -1]
    """

    _kind = (is_outlier_detector, "a one-class SVM")

    def _default(self) -> Any:
        return OneClassSVM()

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> Self:
        """Fit and compress; y is ignored, ``fit_params`` such as ``sample_weight`` go to the inner estimator."""
        X = self._checked(X)
        self._fit(X, None, fit_params)
        self.offset_ = -float(self.model_.expansion.intercept[0])
        return self

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the signed distance from the boundary, positive inside, (n,)."""
        X = self._rows(X)
        return np.asarray(self.small_.decision_function(X))

    def score_samples(self, X: Any) -> NDArray[Any]:
        """Return the score of each row before the offset, (n,): ``decision_function + offset_``."""
        return self.decision_function(X) + self.offset_
