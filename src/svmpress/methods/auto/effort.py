"""Effort: how much work a compression may take, and what its steps cost.

Work is counted in floating-point operations, not in seconds, so that the same call makes the same model on every
machine. What is spent follows what training the source took: about as much as tuning it on a small grid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmpress.methods.auto.scene import Scene, Setting, heard_outputs, thin
from svmpress.model import KernelModel
from svmpress.numerics import Rows, arrays

_MOST_WORK = 6e12
"""Floating-point operations of one compression, with few vectors: some three minutes on two cores."""
_LEAST_WORK = 2e10
_MANY, _MORE = 500, 4.0
"""Vectors from which on the work grows with the square of their number, and by what at most: a step costs so much
more, and the number of steps must not fall to nothing."""
_EVALUATIONS = 300
"""Evaluations that the work pays for, within bounds, of half as many vectors again; fewer of fewer."""
_MASKED = 3.0
"""How much more work a mask is worth, within bounds: with few coefficients, vectors must be placed the better."""
_EVALUATION = 2e10
"""Operations of one evaluation of the objective while searching: a third of a second."""
_CALLS = 4e6
"""Operations that could be done in the time that an evaluation takes to call everything, of however few rows."""
_BRIEF = 5e10
"""Operations below which a compression takes a few seconds."""
_SMALL = 5e8
"""Operations of an evaluation below which a second thread does not pay."""


@dataclass(eq=False)
class Effort:
    """The work of compressing to ``m`` vectors; ``spent`` grows as it is done.

    Parameters
    ----------
    m : int
    work : float
        Operations in all.
    n_features : int
    width : float
        Values of a row that are not zero, on average.
    mask : (m, M) bool or None
        Coefficients that may differ from zero, if not all.
    """

    m: int
    work: float
    n_features: int
    width: float
    mask: NDArray[np.bool_] | None
    spent: float = 0.0

    @classmethod
    def of(
        cls, source: KernelModel, rows: Rows, m: int, mask: NDArray[np.bool_] | None, work: float | None = None
    ) -> Effort:
        """Return the usual work for a source and rows (n, d), if none is given."""
        n, d = rows.shape
        width = float(rows.nnz / n) if arrays.is_csr(rows) else float(d)
        training = 200.0 * n * source.expansion.n_vectors * (width + 20)
        usual = float(np.clip(training, _LEAST_WORK, _MOST_WORK))
        if source.decoder.classes is None:  # values must be closer than what labels need
            usual *= 2
        usual *= float(np.clip((m / _MANY) ** 2, 1.0, _MORE))
        if mask is not None:
            usual = max(usual, min(_MASKED * usual, 2 * _MOST_WORK))
        effort = cls(m, work or usual, d, width, mask)
        if work is None:
            outputs, setting = source.expansion.n_outputs, Setting.usual(masked=mask is not None)
            evaluations = _EVALUATIONS * float(np.clip(2 * (m / _MANY - 1), 0.0, 1.0))
            some = effort.sample(n, outputs, setting, 0).size
            least = evaluations * effort.projection(some, outputs, setting)
            effort.work = min(max(usual, least), _MORE * _MOST_WORK)
        return effort

    @property
    def is_brief(self) -> bool:
        """Whether all takes so little that half a second more would be a good part of it."""
        return self.work < _BRIEF

    @property
    def left(self) -> float:
        """The share of the work that is left; at least 0.3, for the last descent must not come short."""
        return max(0.3, 1 - self.spent / self.work)

    def projection(self, n: int, outputs: int, setting: Setting) -> float:
        """Return the operations of one evaluation of the projected error on n rows."""
        m, heard, mask = self.m, float(outputs), self.mask_of(outputs)
        masked = mask is not None
        gram, solve = float(n * m * m), m**3 / 3 + m * m
        if setting.relevance < 1:  # most outputs hear of some rows only
            heard = heard_outputs(n, outputs, masked)
        if mask is not None:
            unknowns = mask.sum(axis=0)
            solve = float(((unknowns + 1.0) ** 3).sum()) / 3
            if setting.relevance < 1:  # of the rows of a class, only the systems of its machines are made
                gram = n * m * (min(m, 2 * float(unknowns.mean())) + m / thin(n, masked))
        elif setting.relevance < 1:  # a system for each output, put together from those of the classes
            solve = outputs * (solve + 4 * np.sqrt(2 * outputs) * m * m)
        between = m * m * (4.0 * self.n_features + 200) if setting.norm else 0.0  # vectors are dense
        return self.margins(n, heard) + gram + solve + between

    def mask_of(self, outputs: int) -> NDArray[np.bool_] | None:
        """Return the mask of the coefficients of so many outputs; None if they have none, as one a class has."""
        return self.mask if self.mask is not None and self.mask.shape[1] == outputs else None

    def margins(self, n: int, heard: float) -> float:
        """Return the operations of one evaluation without a solve, if this many outputs hear of a row."""
        return _CALLS + n * self.m * (4 * self.width + 6 * heard + 200) + 60.0 * self.m * self.n_features

    def finish(self, scene: Scene) -> float:
        """Return the operations of one evaluation of the margins of a scene."""
        outputs = scene.targets.shape[1]
        masked = self.mask_of(outputs) is not None
        heard = heard_outputs(scene.n, outputs, masked) if scene.pairwise else outputs
        return self.margins(scene.n, heard)

    def steps(self, part: float, cost: float, least: int, most: int) -> int:
        """Return how many evaluations of this cost a part of the work buys."""
        return int(np.clip(part * self.work / cost, least, most))

    def is_small(self, n: int, outputs: int) -> bool:
        """Return whether an evaluation is so short that threads would wait for each other longer than they work."""
        return self.projection(n, outputs, Setting()) < _SMALL

    def sample(self, n: int, outputs: int, setting: Setting, seed: int, *, copies: bool = True) -> NDArray[np.intp]:
        """Return positions of as many of n rows as one evaluation may cost, at least ten for each unknown of a machine.

        Where the values of the source are copied under a mask, a machine has few unknowns and no noise to follow.
        Labels are noisy, and a machine follows those of its own two classes only, so there must be ten of *these* rows
        for each unknown: as many in all as without a mask.
        """
        unknowns = float(self.m)
        if self.mask is not None and copies:
            unknowns = float(self.mask.sum(axis=0).mean())

        def affordable(some: int) -> int:  # at the price of a row among so many
            per_row = (self.projection(some, outputs, setting) - self.projection(0, outputs, setting)) / max(1, some)
            return int(max(10 * unknowns, 2000, _EVALUATION / max(1.0, per_row)))

        most = affordable(min(n, affordable(n)))
        if n <= most:
            return np.arange(n)
        return np.sort(np.random.default_rng(seed).permutation(n)[:most])
