"""CalibratedClassifierCV: probabilities of classes become parameters of the small model.

scikit-learn calibrates one SVM (``ensemble=False``, or a frozen one) or one a fold, whose probabilities are averaged.
Each SVM is compressed with its own parameters (:mod:`svmpress.model.probability`), which ``compress()`` keeps or fits
again. Answers are the most probable classes, which need not be those on whose side of the boundary a row is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV

from svmpress.errors import InputError
from svmpress.formats import from_estimator
from svmpress.model import KernelModel
from svmpress.wrapping import unwrapped as unwrapped_again
from svmpress.wrapping.base import Part, Small, Wrapped, encoded, same
from svmpress.wrapping.fitted import FittedForGood


class CalibratedKernelClassifier(ClassifierMixin, FittedForGood):  # type: ignore[misc]
    """The most probable class, by the mean probability that some classifiers give it.

    Parameters
    ----------
    estimators : list
        Fitted classifiers of the same classes, with a ``predict_proba``.
    classes : (K,)
        What the classes are called.
    """

    def __init__(self, estimators: Sequence[Any], classes: NDArray[Any]) -> None:
        self.estimators = estimators
        self.classes = classes

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the probability of each class, (n, K)."""
        return np.asarray(np.mean([e.predict_proba(X) for e in self.estimators], axis=0))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row, (n,)."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels, in the order of the probabilities."""
        return self.classes

    def __getattr__(self, name: str) -> Any:
        if name in ("n_features_in_", "feature_names_in_"):
            return getattr(self.estimators[0], name)
        raise AttributeError(name)


def unwrapped(estimator: CalibratedClassifierCV) -> Wrapped:
    """Return the SVMs of a calibrated classifier, each with the parameters of its probabilities."""
    classes, layers, parts = estimator.classes_, [], []
    for i, member in enumerate(estimator.calibrated_classifiers_):
        own, positions = member.estimator.classes_, np.arange(len(classes))
        if not np.array_equal(own, classes) and not np.array_equal(own, positions):
            raise InputError("an SVM of the CalibratedClassifierCV has seen rows of some classes only")
        layer = _with_probability(member.estimator, _parameters(member, len(classes)))
        outer = Part(member.estimator, answers=same if np.array_equal(own, classes) else partial(encoded, classes))
        layers.append(Wrapped((outer,), lambda small: small[0].estimator).around(layer))
        parts.append(replace(layers[-1].parts[0], name=f"fold {i + 1}"))

    def rebuild(small: Sequence[Small]) -> Any:
        members = [layer.rebuild([one]) for layer, one in zip(layers, small, strict=True)]
        return CalibratedKernelClassifier(members, classes)

    return Wrapped(tuple(parts), rebuild, layers[0].notes)


def _with_probability(estimator: Any, parameters: Mapping[str, NDArray[Any]]) -> Wrapped:
    """Return the SVM within an estimator, and the steps around it, with parameters of probabilities."""
    layer = unwrapped_again(estimator)
    if layer is None:
        source: KernelModel = replace(from_estimator(estimator), probability=parameters)
        return Wrapped((Part(source),), lambda small: small[0].estimator)
    if len(layer.parts) > 1:
        raise InputError(
            f"a CalibratedClassifierCV around a {type(estimator).__name__} of several SVMs is not supported"
        )
    inner = layer.parts[0].source
    if isinstance(inner, KernelModel):  # a pipeline whose scalers the model keeps
        return replace(layer, parts=(replace(layer.parts[0], source=replace(inner, probability=parameters)),))
    return layer.around(_with_probability(inner, parameters))


def _parameters(member: Any, n_classes: int) -> dict[str, NDArray[Any]]:
    """Return the parameters of one of scikit-learn's calibrated classifiers, of whatever method."""
    calibrators = member.calibrators
    if not hasattr(member.estimator, "decision_function"):
        raise InputError(f"the {type(member.estimator).__name__} that is calibrated has no decision_function")
    if member.method == "temperature":
        return {"inverse_temperature": np.array([float(calibrators[0].beta_)])}
    if len(calibrators) != (1 if n_classes == 2 else n_classes):
        raise InputError("the CalibratedClassifierCV has not one calibrator a class")
    if member.method == "sigmoid":
        slope, offset = (np.array([float(getattr(c, name)) for c in calibrators]) for name in ("a_", "b_"))
        if n_classes == 2:  # the same in LibSVM's terms, whose files have room for it
            return {"probA": slope, "probB": -offset}
        return {"sigmoid_slope": slope, "sigmoid_offset": offset}
    return {
        "isotonic_x": np.concatenate([c.X_thresholds_ for c in calibrators]).astype(np.float64),
        "isotonic_y": np.concatenate([c.y_thresholds_ for c in calibrators]).astype(np.float64),
        "isotonic_points": np.array([float(len(c.X_thresholds_)) for c in calibrators]),
    }
