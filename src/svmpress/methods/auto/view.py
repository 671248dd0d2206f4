"""Views of rows: what is fitted, sorted by class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Decoder, PairDAG, PairVote
from svmpress.numerics import Array, Floats, Rows, lazy_property

_MOST_DIRECTIONS = 2000
"""More are not looked for."""
_NOTHING = 1e-12
"""Energy, relative to the largest, of directions that are rounding."""


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
        """The energies of the targets' principal directions, (r,), the least first, and the directions, (M, r).

        r is M, or where outputs are more than rows, or very many, the number of rows that directions are found on:
        200 classes have 19,900 pairs, and their matrix of products would take hours.
        """
        T = self.targets - self.targets.mean(axis=0)
        n, M = T.shape
        if min(n, _MOST_DIRECTIONS) >= M:
            energy, directions = np.linalg.eigh(T.T @ T)
            return np.maximum(energy, 0.0), directions
        some = T[:: -(-n // _MOST_DIRECTIONS)]
        energy, parts = np.linalg.eigh(some @ some.T)
        told = energy >= max(_NOTHING * energy[-1], np.finfo(float).tiny)
        told[-1] = True  # also where all targets are alike
        directions = some.T @ (parts[:, told] / np.sqrt(np.maximum(energy[told], np.finfo(float).tiny)))
        return energy[told] * (n / len(some)), directions

    def leading(self, count: int) -> Floats:
        """Return the targets' coordinates in their leading directions, (n, count)."""
        T = self.targets - self.targets.mean(axis=0)
        return np.ascontiguousarray(T @ self.spectrum[1][:, -count:])

    @property
    def pairwise(self) -> bool:
        """Whether there is a machine for each pair of classes."""
        return isinstance(self.decoder, PairVote | PairDAG)
