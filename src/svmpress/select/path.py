"""What a selector returns: the order in which candidates were taken, and the fit after each.

``order[:k]`` are the first k vectors. For k of them the path offers two sets of coefficients: the selector's own
(LARS and the elastic net shrink them by construction) and the least-squares refit on the same vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from svmpress.errors import InputError
from svmpress.numerics import Floats


class SelectionStatus(Enum):
    """Why a selection ended; the value is the message for people."""

    COMPLETE = "as many vectors as asked for were selected"
    EXACT = "fewer vectors already reproduce the targets exactly; more would not change the fit"
    DEPENDENT = "every vector that is left depends linearly on the selected ones"
    ALL = "all candidates were selected"

    @property
    def message(self) -> str:
        """The reason, as a sentence."""
        return self.value


@dataclass(frozen=True, eq=False)
class Selected:
    """The first k vectors of a path.

    Parameters
    ----------
    indices : (k,)
        Positions among the candidates.
    coef : (k, M)
    error : float
        The sum of squares that is left, penalty included.
    """

    indices: NDArray[np.intp]
    coef: Floats
    error: float


@dataclass(frozen=True, eq=False)
class SelectionPath:
    """A selection of up to m vectors, to be read at any size; its coefficients are least squares.

    Parameters
    ----------
    order : (m,)
        Candidates in the order of their selection.
    factor : (m, m)
        Lower Cholesky factor of the Gram matrix of the selected vectors, in order.
    correlations : (m, M)
        Of the selected vectors with the targets.
    total : float
        The sum of squares of the targets.
    status : SelectionStatus
    """

    order: NDArray[np.intp]
    factor: Floats
    correlations: Floats
    total: float
    status: SelectionStatus

    def __len__(self) -> int:
        return len(self.order)

    def _check(self, k: int) -> int:
        if not 0 <= k <= len(self):
            raise InputError(f"the path has {len(self)} vectors, not {k} ({self.status.message})")
        return k

    def at(self, k: int) -> Selected:
        """Return the first k vectors with the selector's own coefficients; a selector that shrinks overrides this."""
        return self.refit(k)

    def refit(self, k: int) -> Selected:
        """Return the first k vectors with their least-squares coefficients."""
        coef = self._least_squares(self._check(k))
        return Selected(self.order[:k], coef, self.total - float(np.sum(coef * self.correlations[:k])))

    def _least_squares(self, k: int) -> Floats:
        half = solve_triangular(self.factor[:k, :k], self.correlations[:k], lower=True, check_finite=False)
        return solve_triangular(self.factor[:k, :k], half, lower=True, trans="T", check_finite=False)


@dataclass(frozen=True, eq=False)
class LarsPath(SelectionPath):
    """A path of least angle regression.

    Parameters
    ----------
    error : (m,)
        The sum of squares left after 1, ..., m vectors with the coefficients of LARS.
    steps : (m,)
        How far each step went towards the least-squares fit on its active vectors, in [0, 1].
    """

    error: Floats
    steps: Floats

    def at(self, k: int) -> Selected:
        """Return the first k vectors with the coefficients of LARS (the LARS-SVM of the paper)."""
        coef = np.zeros((self._check(k), self.correlations.shape[1]))
        for j in range(1, k + 1):  # replay: each step moves towards the least-squares fit on j vectors
            coef[:j] += self.steps[j - 1] * (self._least_squares(j) - coef[:j])
        return Selected(self.order[:k], coef, float(self.error[k - 1]) if k else self.total)
