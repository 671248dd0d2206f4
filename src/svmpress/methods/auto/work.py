"""Work: how much a compression may do, and what its steps cost.

Work is counted in multiply-adds, not in seconds, so that the same call makes the same model on every machine. Only a
deadline looks at the clock.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from svmpress.model import KernelModel
from svmpress.numerics import Rows, arrays

EFFORTS = {"fast": 0.2, "balanced": 1.0, "thorough": 5.0}
"""Efforts by name, and how much of the usual work each may take."""
_PER_KERNEL_VALUE = 16.0
"""What a kernel value costs beside its products: an exponential, mostly."""
_PER_OUTPUT = 3.0
"""Products of each kernel value for each output: with the targets, the coefficients, and the residuals."""
_TRAINING = 20.0
"""Multiply-adds to spend for each of those that it takes to compute all kernel values of rows and support vectors."""
_PER_MACHINE = 0.5
"""What a machine of the source adds to the cost of each of these: more machines are more to train, and to copy."""
_EVALUATIONS = 200
_LEAST, _MOST = 1e10, 4e12
"""Multiply-adds of a compression: about a second, and some minutes."""
_PER_SOLVE = 4.0
"""How much longer a multiply-add takes in many small systems than in a product of matrices."""
_PER_COORDINATE = 1500.0
"""What the optimiser does with each coordinate of a vector: it goes over the steps that it remembers."""
_PER_CALL = 2e6
"""What an evaluation costs whatever its size: the calls of Python and of the optimiser."""


@dataclass(frozen=True)
class Shape:
    """What the cost of an evaluation depends on.

    Parameters
    ----------
    n, m : int
        Rows and vectors.
    n_features : int
    row_values : float
        Values of a row that are not zero, on average.
    outputs : float
        Outputs of a row that count, on average.
    unknowns : (M,) or None
        Unknowns of each output, where these have systems of their own.
    groups : int
        Groups of rows with Gram matrices of their own.
    """

    n: int
    m: int
    n_features: int
    row_values: float
    outputs: float
    unknowns: NDArray[np.intp] | None = None
    groups: int = 1

    def affordable_outputs(self) -> int:
        """Return how many outputs more cost no more than one evaluation of the projected error as it is."""
        return int(self.projection() / (_PER_OUTPUT * self.n * self.m))

    def margins(self) -> float:
        """Return the multiply-adds of one evaluation of margins."""
        per_value = 2 * self.row_values + _PER_OUTPUT * self.outputs + _PER_KERNEL_VALUE
        return _PER_CALL + self.n * self.m * per_value + _PER_COORDINATE * self.m * self.n_features

    def projection(self, norm: bool = False) -> float:
        """Return the multiply-adds of one evaluation of the projected error."""
        gram, solve = self.n * self.m * self.m / 2, self.m**3 / 6
        if self.unknowns is not None:  # rows of a class enter the systems of its outputs alone
            gram = self.n * self.m * min(self.m, 2 * float(self.unknowns.mean()))
            solve = float(((self.unknowns + 1.0) ** 3).sum()) / 6
            solve += self.groups * float((self.unknowns**2).sum()) / 2  # systems are put together from the groups
            solve *= _PER_SOLVE
        between = self.m * self.m * (2.0 * self.n_features + _PER_KERNEL_VALUE) if norm else 0.0
        return self.margins() + gram + solve + between


@dataclass(eq=False)
class Work:
    """An account of multiply-adds.

    Parameters
    ----------
    total : float
    deadline : float
        On the clock of ``time.perf_counter``: no further step begins after it.
    """

    total: float
    deadline: float = inf
    spent: float = 0.0

    @property
    def left(self) -> float:
        """What is left, in multiply-adds."""
        return max(0.0, self.total - self.spent)

    @property
    def seconds_left(self) -> float | None:
        """Seconds that are left; None: there is no limit."""
        return None if self.deadline == inf else max(0.0, self.deadline - time.perf_counter())

    @contextmanager
    def within(self, share: float) -> Iterator[None]:
        """Leave only a share of the seconds that are left to what is done inside."""
        deadline, now = self.deadline, time.perf_counter()
        self.deadline = deadline if deadline == inf else now + share * max(0.0, deadline - now)
        try:
            yield
        finally:
            self.deadline = deadline

    @property
    def is_late(self) -> bool:
        """Whether the time is up."""
        return self.seconds_left == 0.0


def usual_work(source: KernelModel, rows: Rows, evaluation: float, scale: float = 1.0) -> float:
    """Return the multiply-adds that compressing a source on rows (n, d) may take.

    About what its training took, but enough for a number of evaluations of so many multiply-adds each; ``scale`` times
    that.
    """
    per_value = row_values(rows) + _PER_KERNEL_VALUE + _PER_MACHINE * source.n_outputs
    training = _TRAINING * rows.shape[0] * source.n_vectors * per_value
    return scale * float(np.clip(max(training, _EVALUATIONS * evaluation), _LEAST, _MOST))


def row_values(rows: Rows) -> float:
    """Return how many values of a row are not zero, on average."""
    n, d = rows.shape
    return float(rows.nnz / max(1, n)) if arrays.is_csr(rows) else float(d)
