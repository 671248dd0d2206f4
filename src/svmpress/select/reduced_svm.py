"""Reduced-SVM: a basis grown from training rows, each chosen because it lowers the squared-hinge objective.

The baseline that the paper compares with: S. S. Keerthi, O. Chapelle and D. DeCoste, "Building support vector machines
with reduced classifier complexity", JMLR 7, 2006. It compresses no model. It trains one on the rows ``X`` (n, d) with
labels ``Y`` (n, M) in {-1, 0, +1} (0: the row is not part of the machine) whose expansion may have m vectors only, all
of them rows. The objective of machine p is equation 1 of the paper on the basis B,

    E_p = a_pᵀ K_BB a_p + C Σ_i max(0, r_ip)²,        r_ip = 1 - y_ip (K_iB a_p + b_p)

and several machines that share a basis are judged by its sum. A step has two parts.

**Selection.** Row j is a candidate to join the basis. With everything else as it is, its coefficient t_p solves a
problem in one dimension for each machine,

    minimise over t:    2 t (K_jB a_p) + t² k_jj + C Σ_i max(0, r_ip - t y_ip k_ij)²

whose first Newton step from t = 0 lowers its quadratic model by ``h² / q``, with half the slope and half the curvature

    h_jp = K_jB a_p - C Σ_{i active} y_ip r_ip k_ij        q_jp = k_jj + C Σ_{i active} k_ij²

for all candidates and machines in two matrix products. (``K_jB a_p`` is the machine's own value at row j less b_p, so
it costs nothing.) The few candidates that promise most are then solved for exactly, and the largest true decrease wins.
Kernel columns are what costs, so the candidates are a pool that is kept from step to step: the winner and those that
promise least make room for a few fresh random rows. 59 of them hold one of the best twentieth with a chance of 95 %.

**Re-optimisation.** All coefficients and intercepts together, by Newton's method (:mod:`svmpress.select.hinge`) from
where they are: whenever the basis has grown by a tenth since the last time, which is every step while it is small, and
for every size that is read, beside the path. Both parts can only lower the objective, so it falls with every vector.

Memory: the pool and its reserve (n, 109), outputs and residuals (n, M), and what Newton's method is allowed. One path
serves all sizes. On one core a pair of MNIST's digits (12,000 rows) takes 8 seconds for 58 vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmpress.errors import InputError
from svmpress.kernels import Kernel
from svmpress.model import KernelExpansion
from svmpress.numerics import Floats, Rows, arrays
from svmpress.select.hinge import HingeFit, fit_squared_hinge

_FINALISTS = 5
"""Candidates whose one-dimensional problems are solved exactly."""
_AHEAD = 5
"""Steps whose fresh candidates are drawn together: a pass over the rows costs more than their columns."""
_MOST_STEPS, _SLOPE_LEFT = 30, 1e-6
"""Of the one-dimensional problems: Newton steps at most, and the part of the first slope at which they end."""
_NO_DECREASE = 1e-12
"""A decrease below this part of the objective is rounding's."""


@dataclass(frozen=True, eq=False)
class ReducedFit:
    """The machines on the first k vectors of a path, re-optimised.

    Parameters
    ----------
    indices : (k,)
        Rows in the order in which they joined the basis.
    coef : (k, M)
    intercept : (M,)
    objective : (k + 1,)
        Equation 1, summed over machines: of the best constants, and after each vector.
    """

    indices: NDArray[np.intp]
    coef: Floats
    intercept: Floats
    objective: Floats


def reduced_svm(
    kernel: Kernel,
    X: Rows,
    Y: NDArray[np.float64],
    sizes: Sequence[int],
    C: float = 1.0,
    *,
    pool: int = 59,
    fresh: int = 10,
    growth: float = 1.1,
    seed: int = 0,
    max_bytes: int = 2**30,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[ReducedFit]:
    """Grow a basis and yield the machines at each of the sizes.

    Parameters
    ----------
    kernel : Kernel
        Positive definite.
    X : (n, d) rows
        NumPy or CSR.
    Y : (n,) or (n, M)
        +1 and -1, and 0 for a row that is not part of a machine.
    sizes : sequence of int
        Ascending. Sizes that the rows cannot fill are answered with the largest basis that lowers the objective.
    C : float
        Weight of the loss against the squared norm.
    pool, fresh : int
        Candidates at a time, and how many of them are new at each step.
    growth : float
        Re-optimise when the basis is this many times as large as the last time.
    seed : int
    max_bytes : int
        Working memory of Newton's method.
    progress : callable, optional
        Called with (vectors, the largest size).

    Yields
    ------
    ReducedFit

    Examples
    --------
    >>> from svmpress.kernels import RBF
    >>> X = np.arange(20.0)[:, None]
    >>> fit = next(reduced_svm(RBF(0.1), X, np.where(X[:, 0] < 10, -1.0, 1.0), [2]))
    >>> fit.coef.shape, bool(np.all(np.diff(fit.objective) < 0))
    ((2, 1), True)
    """
    Y = np.asarray(Y, dtype=np.float64)
    Y = Y[:, None] if Y.ndim == 1 else Y
    if not len(sizes) or list(sizes) != sorted(sizes) or sizes[0] < 1:
        raise InputError(f"sizes must ascend from at least 1, not {list(sizes)}")
    if pool < 1 or fresh < 1 or growth <= 1:
        raise InputError("pool and fresh must be at least 1, and growth above 1")
    if not kernel.definite:
        raise InputError(f"Reduced-SVM needs a positive definite kernel, which this {kernel.name} kernel is not")
    if Y.shape[0] != X.shape[0] or not np.isin(Y, (-1.0, 0.0, 1.0)).all():
        raise InputError(f"Y must hold -1, 0 or +1 for each of {X.shape[0]} rows")
    path = _Path(kernel, X, Y, C, pool, fresh, np.random.default_rng(seed), max_bytes)
    for size in sizes:
        while path.size < size and path.grow():
            if path.size >= growth * path.optimised:
                path.optimise()
            if progress is not None:
                progress(path.size, sizes[-1])
        yield path.read()


class _Path:
    """A basis and the state of its machines: outputs F (n, M) and residuals R (n, M), 0 outside a machine."""

    def __init__(
        self,
        kernel: Kernel,
        X: Rows,
        Y: Floats,
        C: float,
        pool: int,
        fresh: int,
        rng: np.random.Generator,
        max_bytes: int,
    ) -> None:
        self.kernel, self.X, self.Y, self.C = kernel, X, Y, C
        self.n_pool, self.n_fresh, self.rng, self.max_bytes = pool, fresh, rng, max_bytes
        n, M = Y.shape
        # the rows of all machines, one machine after the other: what all one-dimensional problems at once run over
        self.machine, self.rows = np.nonzero(Y.T)
        self.y = Y[self.rows, self.machine]
        self.first = np.flatnonzero(np.diff(self.machine, prepend=-1))
        self.basis: list[int] = []
        self.coef = np.zeros((0, M))
        # with all residuals active, as they are within [-1, 1], the best constant is the mean label
        self.intercept = Y.sum(axis=0) / np.maximum(np.abs(Y).sum(axis=0), 1)
        self._set_outputs(np.tile(self.intercept, (n, 1)))
        self.objective = [self._loss()]
        self.optimised = 0  # the size when that was last done
        self.pool: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self.columns = np.empty((n, 0))
        self.reserve, self.reserve_columns = self.pool, self.columns
        self.free = np.ones(n, dtype=bool)  # in none of basis, pool and reserve

    @property
    def size(self) -> int:
        return len(self.basis)

    def read(self) -> ReducedFit:
        """Return the machines at their optimum, and go on as if nobody had looked: a path has its own schedule."""
        basis, objective = np.array(self.basis, dtype=np.intp), np.array(self.objective)
        coef, intercept = self.coef, self.intercept
        if self.size > self.optimised and (fit := self._better()) is not None:
            coef, intercept, objective[-1] = fit.coef, fit.intercept, np.sum(fit.objective)
        return ReducedFit(basis, coef, intercept, objective)

    def _set_outputs(self, F: Floats) -> None:
        self.F = F
        self.R = np.abs(self.Y) - self.Y * F

    def _loss(self) -> float:
        return self.C * float(np.sum(np.maximum(self.R, 0) ** 2))

    # -- selection ----------------------------------------------------------------------------------------

    def grow(self) -> bool:
        """Add the best candidate; False when no row lowers the objective."""
        self._fill(self.n_fresh if self.pool.size else self.n_pool)
        hopeless: list[NDArray[np.intp]] = []
        while self.pool.size:
            promise, h, q = self._promises()
            ranked = np.argsort(-promise, kind="stable")
            best, t, decrease = self._exact(ranked[:_FINALISTS], h, q)
            if decrease > _NO_DECREASE * self.objective[-1]:
                self._join(best, t, decrease)
                self._keep(ranked[ranked != best][: max(0, self.n_pool - self.n_fresh)])
                for rows in hopeless:
                    self.free[rows] = True
                return True
            hopeless.append(self.pool)  # rows that depend on the basis: look further, and not at these again
            self.pool, self.columns = self.pool[:0], self.columns[:, :0]
            self._fill(self.n_pool)
        return False

    def _fill(self, most: int) -> None:
        """Take up to ``most`` random rows into the pool, from a reserve whose columns were computed together."""
        if self.reserve.size < most:
            left = np.flatnonzero(self.free)
            new = self.rng.choice(left, min(max(most, _AHEAD * self.n_fresh), left.size), replace=False)
            self.free[new] = False
            if new.size:
                columns = np.asarray(self.kernel.gram(self.X, arrays.take(self.X, new)))
                self.reserve = np.concatenate([self.reserve, new])
                self.reserve_columns = np.concatenate([self.reserve_columns, columns], axis=1)
        self.pool = np.concatenate([self.pool, self.reserve[:most]])
        self.columns = np.concatenate([self.columns, self.reserve_columns[:, :most]], axis=1)
        self.reserve, self.reserve_columns = self.reserve[most:], self.reserve_columns[:, most:]

    def _keep(self, which: NDArray[np.intp]) -> None:
        """Let go of the other candidates; a row that is not in the basis may come back."""
        gone = np.setdiff1d(self.pool, self.pool[which])
        self.free[gone] = True
        self.free[self.basis] = False
        self.pool, self.columns = self.pool[which], np.ascontiguousarray(self.columns[:, which])

    def _promises(self) -> tuple[Floats, Floats, Floats]:
        """Return the decrease that each candidate's quadratic models promise, (c,), and h and q, (c, M)."""
        active = self.R > 0
        own = self.columns[self.pool, np.arange(self.pool.size)]
        h = self.F[self.pool] - self.intercept - self.C * (self.columns.T @ (self.Y * self.R * active))
        q = own[:, None] + self.C * (np.square(self.columns).T @ active.astype(np.float64))
        q = np.maximum(q, np.finfo(np.float64).tiny)
        return np.sum(h * h / q, axis=1), h, q

    def _exact(self, which: NDArray[np.intp], h: Floats, q: Floats) -> tuple[int, Floats, float]:
        """Return the best of some candidates, its coefficients (M,), and by how much it lowers the objective."""
        r = self.R[self.rows, self.machine]
        before = np.maximum(r, 0) ** 2
        best, coef, decrease = int(which[0]), np.zeros(self.Y.shape[1]), -np.inf
        for j in which.tolist():
            s = self.y * self.columns[self.rows, j]
            value = self.F[self.pool[j]] - self.intercept  # K_jB a, (M,)
            own = float(self.columns[self.pool[j], j])
            t = self._minimum(r, s, value, own, h[j], q[j])
            after = np.maximum(r - t[self.machine] * s, 0) ** 2
            fall = self.C * self._sums(before - after) - 2 * value * t - own * t * t
            total = float(np.sum(np.maximum(fall, 0)))
            if total > decrease:
                best, coef, decrease = j, np.where(fall > 0, t, 0.0), total
        return best, coef, decrease

    def _minimum(self, r: Floats, s: Floats, value: Floats, own: float, h: Floats, q: Floats) -> Floats:
        """Return the coefficient of a candidate that is best for each machine, (M,).

        Half the slope, ``value + own t - C Σ_i s_i max(0, r_i - t s_i)``, is piecewise linear and never falls: Newton's
        method for its root, kept inside the bracket known so far. ``r`` and ``s`` are (Σ rows of a machine,).
        """
        t, low, high = -h / q, np.full_like(h, -np.inf), np.full_like(h, np.inf)
        for _ in range(_MOST_STEPS):
            left = r - t[self.machine] * s
            pull = np.where(left > 0, s, 0.0)
            slope = value + own * t - self.C * self._sums(pull * left)
            searching = np.abs(slope) > _SLOPE_LEFT * np.abs(h)
            if not searching.any():
                break
            low, high = np.where(slope < 0, t, low), np.where(slope > 0, t, high)
            newton = t - slope / np.maximum(own + self.C * self._sums(pull * pull), np.finfo(np.float64).tiny)
            inside = (newton > low) & (newton < high)
            with np.errstate(invalid="ignore"):  # of an open bracket, which the step is always inside of
                halfway = (low + high) / 2
            t = np.where(searching, np.where(inside, newton, halfway), t)
        return t

    def _sums(self, of_rows: Floats) -> Floats:
        """Return the sum over the rows of each machine, (M,)."""
        sums = np.zeros(self.Y.shape[1])
        sums[self.machine[self.first]] = np.add.reduceat(of_rows, self.first)
        return sums

    def _join(self, candidate: int, t: Floats, decrease: float) -> None:
        self.basis.append(int(self.pool[candidate]))
        self.coef = np.concatenate([self.coef, t[None, :]])
        self._set_outputs(self.F + self.columns[:, candidate, None] * t)
        self.objective.append(self.objective[-1] - decrease)

    # -- re-optimisation ----------------------------------------------------------------------------------

    def optimise(self) -> None:
        """Re-optimise all coefficients and intercepts."""
        if (fit := self._better()) is not None:
            self.coef, self.intercept = fit.coef, fit.intercept
            self.objective[-1] = float(np.sum(fit.objective))
            f = KernelExpansion(self.kernel, arrays.take(self.X, np.array(self.basis)), self.coef, self.intercept)
            self._set_outputs(np.asarray(f.decision_values(self.X, self.max_bytes), dtype=np.float64))
        self.optimised = self.size

    def _better(self) -> HingeFit | None:
        """Return the machines at their optimum; None if rounding leaves nothing to gain."""
        fit = fit_squared_hinge(
            self.kernel,
            self.X,
            self.Y,
            arrays.take(self.X, np.array(self.basis)),
            self.C,
            coef0=self.coef,
            intercept0=self.intercept,
            tol=1e-7,
            max_bytes=self.max_bytes,
        )
        return fit if float(np.sum(fit.objective)) < self.objective[-1] else None
