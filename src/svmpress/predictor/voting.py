"""The winner of a one-vs-one vote without asking every machine.

With K classes there are K(K-1)/2 machines, and where they share their vectors, their weighted sums are most of the work
of a prediction: 325 of them for 26 letters, against 16 features. But a class that wins all of its own K-1 pairs has
more votes than any other can have, whatever the remaining machines say. So, for each row:

1. *guess* a class, by the sum of its pairs' values, which is K sums with coefficients that are added up beforehand;
2. *check* it: compute its K-1 machines, and if it wins them all, it is the answer;
3. if not, check once more, the class that beat it most clearly;
4. if that fails, too, compute everything and count the votes.

The answer is always that of the full count: the guess only decides how soon it is found. On letters, nine rows in ten
end at the first check and one in eighty is counted. Steps 1 to 3 are in ``native/vote.h``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from svmpress.numerics import threads

if TYPE_CHECKING:
    from svmpress.decoders import PairVote
    from svmpress.native._compiled import Packed
    from svmpress.predictor import Affine, Predictor

_FEW_ROWS = 2
"""Rows for each class below which checks are incomplete tiles."""
_KERNEL = 25.0
"""What a kernel value costs beside its products, in multiply-adds."""
_COUNT = 20.0
"""What it costs to count the vote of one machine, in multiply-adds."""
_SAVES = 0.7
"""The cost of checks must be at most this part of that of the full count."""


class Ballot:
    """The labels of a one-vs-one model by checks.

    Parameters
    ----------
    machines : Predictor
        Of all K(K-1)/2 pairs.
    n_classes : int
        K.
    """

    def __init__(self, machines: Predictor, n_classes: int) -> None:
        self._machines, self._n_classes = machines, n_classes
        self._packed: Packed | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy without what was packed: it belongs to this machine."""
        return Ballot, (self._machines, self._n_classes)

    @staticmethod
    def pays(n_features: int, n_classes: int, n_vectors: int, work: int, lanes: int) -> bool:
        """Return whether checks are expected to cost less than the full count.

        Parameters
        ----------
        n_features, n_classes, n_vectors : int
        work : int
            Multiply-adds of the weighted sums of all machines for one row.
        lanes : int
            Numbers in one register, which are computed together.
        """

        def whole(k: int) -> int:
            return -(-k // lanes) * lanes

        kernel = whole(n_vectors) * (n_features + _KERNEL)
        checks = kernel + whole(n_vectors) * (whole(n_classes) + whole(n_classes - 1))
        full = kernel + work + _COUNT * n_classes * (n_classes - 1) / 2
        return n_vectors > 0 and checks < _SAVES * full

    def labels(
        self, decoder: PairVote, X: Any, scaling: Affine | None = None, n_threads: int | None = None
    ) -> NDArray[Any] | None:
        """Return what ``decoder`` answers, (n,); None for few rows and for those that the predictor does not read."""
        if not self._machines.reads(X) or X.shape[0] < _FEW_ROWS * self._n_classes:
            return None
        packed = self._packed = self._packed or self._machines.pack_ballot(self._n_classes)
        winner = np.empty(X.shape[0], dtype=np.int64)
        shift, factor = (None, None) if scaling is None else (scaling.shift, scaling.factor)
        if packed.vote_dense(X, winner, n_threads or threads(), shift, factor) >= 0:
            return None  # not finite: the ordinary way says where
        answer = decoder.classes[winner]  # position -1 where the votes are counted now
        undecided = np.flatnonzero(winner < 0)
        if undecided.size:
            F = self._machines.dense(X[undecided], scaling, n_threads)
            assert F is not None
            answer[undecided] = decoder.labels(F)
        return answer
