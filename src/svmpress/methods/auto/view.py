"""Views of rows: what is fitted, sorted by class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Decoder, PairDAG, PairVote
from svmpress.numerics import Array, Floats, Rows, lazy_property


@dataclass(frozen=True, eq=False)
class View:
    """Rows with the targets of one kind.

    Parameters
    ----------
    X : (n, d)
        Sorted by class.
    classes : (n,)
        What they are sorted by.
    known : (n,) or (n, M)
        What is true of each row: positions of classes, or values; the teacher's answer where that is not known.
    targets : (n, M)
    decoder : Decoder
        What makes answers of values like the targets.
    placed : (n, d) and (n, M)
        Rows and targets on the device to compute on.
    """

    X: Rows
    classes: NDArray[np.intp]
    known: NDArray[Any]
    targets: Floats
    decoder: Decoder
    placed: tuple[Array, Array]

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.classes)

    @lazy_property
    def spectrum(self) -> tuple[Floats, Floats]:
        """The energies of the targets' principal directions, (M,), the least first, and the directions, (M, M)."""
        T = self.targets - self.targets.mean(axis=0)
        energy, directions = np.linalg.eigh(T.T @ T)
        return np.maximum(energy, 0.0), directions

    def leading(self, count: int) -> Floats:
        """Return the targets' coordinates in their leading directions, (n, count)."""
        T = self.targets - self.targets.mean(axis=0)
        return np.ascontiguousarray(T @ self.spectrum[1][:, -count:])

    @property
    def pairwise(self) -> bool:
        """Whether there is a machine for each pair of classes."""
        return isinstance(self.decoder, PairVote | PairDAG)
