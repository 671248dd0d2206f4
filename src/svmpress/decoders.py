"""Decoders: from the M numbers of a kernel expansion to an answer.

Every decoder turns decision values ``F`` (n, M) into ``scores(F)``, what ``decision_function`` returns, and
``labels(F)``, what ``predict`` returns. The sign convention of svmpress is fixed here and nowhere else, and it is
scikit-learn's: with two classes a positive value means the *later* class; in one-vs-one a positive value of the
machine (i, j), i < j, means the *first* class of the pair. Machines are ordered (0, 1), (0, 2), ..., (1, 2), ...

The order of ``classes`` is the source's: sorted in scikit-learn, in order of appearance in LibSVM.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from svmpress.errors import InputError

Floats = NDArray[np.floating[Any]]


def class_pairs(n_classes: int) -> NDArray[np.intp]:
    """Return the pairs (i, j), i < j, in the order of the machines, (M, 2).

    Examples
    --------
    >>> class_pairs(3).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    return np.stack(np.triu_indices(n_classes, k=1), axis=1)


def class_goals(F: Floats, classes: NDArray[np.intp], n_classes: int) -> Floats:
    """Return what K outputs, one a class, should be: halfway between ±1 and the votes of machines for pairs, (n, K).

    A machine's vote counts in full from a value of 1 on, and in proportion below, so that the votes tell how sure they
    are, whatever the size of values.

    Examples
    --------
    >>> class_goals(np.array([[2.0, 0.5, -1.0]]), np.array([0]), 3).tolist()
    [[0.875, -1.0, -0.375]]
    """
    votes = np.clip(F, -1, 1) @ pair_signs(n_classes).astype(np.float64) / (n_classes - 1)
    labels = np.where(np.equal.outer(classes, np.arange(n_classes)), 1.0, -1.0)
    return np.asarray((labels + votes) / 2)


@lru_cache(maxsize=16)
def pair_signs(n_classes: int) -> NDArray[np.float32]:
    """Return +1 where a class is the first of a pair and -1 where it is the second, (M, K); float32 counts exactly."""
    signs = np.zeros((n_classes * (n_classes - 1) // 2, n_classes), dtype=np.float32)
    pairs = class_pairs(n_classes)
    for column, sign in ((0, 1.0), (1, -1.0)):
        signs[np.arange(len(pairs)), pairs[:, column]] = sign
    signs.flags.writeable = False
    return signs


def pair_mask(owner: NDArray[np.intp], n_classes: int) -> NDArray[np.bool_]:
    """Return which (vector, machine) entries a LibSVM file can hold, (m, M): vector of class c, pairs with c."""
    mine = np.asarray(owner)[:, None]
    first, second = class_pairs(n_classes).T
    mask: NDArray[np.bool_] = mine == first
    mask |= mine == second
    return mask


@dataclass(frozen=True, eq=False)
class Decoder:
    """What every decoder offers."""

    @property
    def classes(self) -> NDArray[Any] | None:
        """The class labels in the order of the model, or None for a regressor."""
        return None

    @property
    def n_outputs(self) -> int | None:
        """The number of decision values that the decoder reads; None: any."""
        return None

    def scores(self, F: Floats) -> Floats:
        """Return what ``decision_function`` gives for decision values ``F`` (n, M)."""
        raise NotImplementedError

    def labels(self, F: Floats) -> NDArray[Any]:
        """Return what ``predict`` gives for decision values ``F`` (n, M)."""
        raise NotImplementedError

    def positions(self, F: Floats) -> NDArray[np.intp]:
        """Return the position of each row's class, (n,), for decision values ``F`` (n, M); zeros for a regressor."""
        if self.classes is None:
            return np.zeros(F.shape[0], dtype=np.intp)
        return positions_of(self.labels(F), self.classes)


@dataclass(frozen=True, eq=False)
class Identity(Decoder):
    """Regression: the value itself, (n,), or (n, M) when there are several."""

    def scores(self, F: Floats) -> Floats:  # noqa: D102
        return F[:, 0] if F.shape[1] == 1 else F

    def labels(self, F: Floats) -> NDArray[Any]:  # noqa: D102
        return self.scores(F)


@dataclass(frozen=True, eq=False)
class _Classes(Decoder):
    """A decoder that answers with one of some classes."""

    labels_of_classes: NDArray[Any]

    def __post_init__(self) -> None:
        c = np.asarray(self.labels_of_classes)
        if c.ndim != 1 or c.size < 2:
            raise InputError(f"a classifier needs at least two classes, not {c.size}")
        if len(set(c.tolist())) != c.size:
            raise InputError("the classes of a model must be distinct")
        object.__setattr__(self, "labels_of_classes", c)

    @property
    def classes(self) -> NDArray[Any]:
        return self.labels_of_classes

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.classes.size)


@dataclass(frozen=True, eq=False)
class Sign(_Classes):
    """Two classes from one number: positive means the later class; an exact zero means ``zero_class``."""

    zero_class: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_classes != 2:
            raise InputError(f"the sign of one number separates two classes, not {self.n_classes}")

    @property
    def n_outputs(self) -> int:  # noqa: D102
        return 1

    def scores(self, F: Floats) -> Floats:  # noqa: D102
        return F[:, 0]

    def labels(self, F: Floats) -> NDArray[Any]:  # noqa: D102
        later = F[:, 0] >= 0 if self.zero_class == 1 else F[:, 0] > 0
        return self.classes[later.astype(np.intp)]


@dataclass(frozen=True, eq=False)
class Argmax(_Classes):
    """K classes from K numbers: the largest wins (one-vs-rest)."""

    @property
    def n_outputs(self) -> int:  # noqa: D102
        return self.n_classes

    def scores(self, F: Floats) -> Floats:  # noqa: D102
        return F

    def labels(self, F: Floats) -> NDArray[Any]:  # noqa: D102
        return self.classes[np.argmax(F, axis=1)]


@dataclass(frozen=True, eq=False)
class _Pairs(_Classes):
    """K classes from K(K-1)/2 numbers, one for each pair."""

    @property
    def n_outputs(self) -> int:
        return self.n_classes * (self.n_classes - 1) // 2


@dataclass(frozen=True, eq=False)
class PairVote(_Pairs):
    """One-vs-one by votes, as LibSVM and scikit-learn do it.

    Parameters
    ----------
    labels_of_classes : (K,)
    shape : "ovr" or "ovo"
        What ``scores`` returns: votes with the summed confidences as a tie-break, (n, K), of which two classes keep
        the later one's, (n,); or ``F`` itself.
    break_ties : bool
        Whether ``labels`` uses those confidences between classes of equal votes, or takes the first.
    """

    shape: Literal["ovr", "ovo"] = "ovr"
    break_ties: bool = False

    def _votes(self, first: NDArray[np.bool_]) -> Floats:
        # class c is the second of c pairs: those votes it has until the first of the pair takes them
        signs = pair_signs(self.n_classes)
        votes: Floats = first.astype(signs.dtype) @ signs + np.arange(self.n_classes)
        return votes

    def _ovr(self, F: Floats) -> Floats:
        confidence = F @ pair_signs(self.n_classes).astype(F.dtype)
        # scikit-learn's formula: squashed into (-1/3, 1/3), so that confidence never outweighs a vote. It counts an
        # exact zero for the first class of the pair; LibSVM's own votes, in `labels`, for the second
        return self._votes(F >= 0) + confidence / (3 * (np.abs(confidence) + 1))

    def scores(self, F: Floats) -> Floats:  # noqa: D102
        if self.shape == "ovo":
            return F
        scores = self._ovr(F)
        return scores[:, 1] if self.n_classes == 2 else scores  # one number decides between two classes

    def labels(self, F: Floats) -> NDArray[Any]:  # noqa: D102
        return self.classes[np.argmax(self._ovr(F) if self.break_ties else self._votes(F > 0), axis=1)]


@dataclass(frozen=True, eq=False)
class PairDAG(_Pairs):
    """One-vs-one by elimination: the first and the last class that are left meet, and the loser goes.

    All M values are computed anyway when the machines share their vectors, so a DAG saves nothing but votes.
    ``scores`` returns ``F`` itself.
    """

    def scores(self, F: Floats) -> Floats:  # noqa: D102
        return F

    def labels(self, F: Floats) -> NDArray[Any]:  # noqa: D102
        K = self.n_classes
        machine = np.zeros((K, K), dtype=np.intp)
        machine[tuple(class_pairs(K).T)] = np.arange(F.shape[1])
        low, high = np.zeros(F.shape[0], dtype=np.intp), np.full(F.shape[0], K - 1, dtype=np.intp)
        rows = np.arange(F.shape[0])
        for _ in range(K - 1):
            first_wins = F[rows, machine[low, high]] > 0
            high = np.where(first_wins, high - 1, high)
            low = np.where(first_wins, low, low + 1)
        return self.classes[low]


def positions_of(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return where each of the labels (n,) is among the classes (K,); all of them must be there.

    Examples
    --------
    >>> positions_of(np.array(["b", "a", "b"]), np.array(["b", "a"])).tolist()
    [0, 1, 0]
    """
    place = {label: i for i, label in enumerate(classes.tolist())}
    return np.array([place[label] for label in labels.tolist()], dtype=np.intp)
