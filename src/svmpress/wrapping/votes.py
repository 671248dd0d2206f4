"""Votes of classifiers that share kernel and scaling: one set of vectors, the members' outputs side by side.

Members of a bag have most of their vectors in common, and functions that are nearly the same. As one model of many
outputs they are compressed to one set of vectors, and a row's kernel values are computed once for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from svmpress.decoders import Decoder, Identity
from svmpress.formats import can_convert, from_estimator, merged
from svmpress.model import KernelModel, Scaling
from svmpress.wrapping.base import Part, Small, Wrapped
from svmpress.wrapping.fitted import FittedForGood


def _has_means(estimator: Any) -> bool:
    return bool(estimator.means)


class KernelVote(ClassifierMixin, FittedForGood):  # type: ignore[misc]
    """The class that most of some SVMs name, of equally many the first.

    Parameters
    ----------
    model : KernelModel
        The outputs of all members side by side.
    decoders : sequence of Decoder
        Of each member, whose labels are positions in ``classes``.
    weights : (k,)
        What each member's vote counts.
    classes : (K,)
        What the classes are called.
    means : bool
        Whether there are mean scores and shares of votes, as a bag has them.
    """

    def __init__(
        self,
        model: KernelModel,
        decoders: Sequence[Decoder],
        weights: NDArray[np.float64],
        classes: NDArray[Any],
        means: bool,
    ) -> None:
        self.model = model
        self.decoders = decoders
        self.weights = weights
        self.classes = classes
        self.means = means

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the answer for each row, (n,)."""
        return self.classes_[np.argmax(self._votes(X), axis=1)]

    @available_if(_has_means)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the share of the votes that each class has, (n, K)."""
        votes = self._votes(X)
        return votes / votes.sum(axis=1, keepdims=True)

    @available_if(_has_means)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the mean of the members' scores, (n,) or (n, K)."""
        return np.asarray(np.mean([d.scores(F) for d, F in self._values(X)], axis=0))

    def _votes(self, X: Any) -> NDArray[np.float64]:
        members = [decoder.labels(F).astype(np.intp) for decoder, F in self._values(X)]
        votes = np.zeros((len(members[0]), len(self.classes)))
        for labels, weight in zip(members, self.weights, strict=True):
            votes[np.arange(len(labels)), labels] += weight
        return votes

    def _values(self, X: Any) -> list[tuple[Decoder, NDArray[Any]]]:
        """Return each member's decoder and decision values."""
        ends = np.cumsum([d.n_outputs for d in self.decoders])[:-1]
        return list(zip(self.decoders, np.split(self.model.decision_values(X), ends, axis=1), strict=True))

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels, in the order of the shares."""
        return self.classes

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


def together(
    members: Sequence[Any], weights: NDArray[np.float64], classes: NDArray[Any], names: Any, *, means: bool
) -> Wrapped | None:
    """Return classifiers whose votes are counted as one source; None where they do not share kernel and scaling."""
    if len(members) < 2 or not all(can_convert(member) for member in members):
        return None
    models = [from_estimator(member) for member in members]
    if not all(_goes_with(model, models[0], classes) for model in models):
        return None
    first, decoders = models[0], tuple(model.decoder for model in models)
    own = None if names is None else tuple(names)
    whole = KernelModel(
        merged([m.expansion for m in models]), Identity(), "regression", first.scaling, feature_names=own
    )

    def rebuild(small: Sequence[Small]) -> KernelVote:
        return KernelVote(small[0].model, decoders, weights, classes, means)

    note = f"{len(members)} SVMs of one kernel have one set of vectors, for their outputs side by side"
    return Wrapped((Part(whole, answers=lambda y: None),), rebuild, (note,))


def _goes_with(model: KernelModel, first: KernelModel, classes: NDArray[Any]) -> bool:
    """Return whether a classifier can have its vectors in common with another one."""
    return (
        model.task == "classification"
        and not model.has_probability
        and model.kernel == first.kernel
        and model.n_features == first.n_features
        and np.array_equal(np.asarray(model.classes_), np.arange(len(classes)))
        and _same_scaling(model.scaling, first.scaling)
    )


def _same_scaling(one: Scaling | None, other: Scaling | None) -> bool:
    if one is None or other is None:
        return one is other
    if one.shift is None or other.shift is None:
        return one.shift is other.shift and np.array_equal(one.factor, other.factor)
    return np.array_equal(one.factor, other.factor) and np.array_equal(one.shift, other.shift)
