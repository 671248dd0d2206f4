"""What refinement minimises, with gradients by hand.

The free parameters are the vectors V (m, d), the coefficients A (m, M), the intercepts b (M,) and the width γ of the
kernel. Two ways to score them against rows X (n, d):

:class:`ExpansionObjective`
    ``L(V, A, b, γ) = Σ_i ℓ(F_i)`` with ``F = k(X, V) A + b`` for any loss ℓ of decision values: the squared error
    against the source (equation 10 of the paper), or another.

:class:`ProjectedError`
    The squared error with the best A and b for these V put in: *variable projection*. For fixed V they solve a
    regularised least-squares problem, and the gradient of what is left with respect to V takes them as constants.
    Rows come in groups with a weight for every output, so that a pairwise machine may listen to its own two classes.

Both run in blocks of rows under a memory cap and in whichever array library the rows are in. The gradient reaches V
through ``kernel.pullback`` alone. What the projected error needs of rows are sums (:mod:`svmpress.objectives.sums`),
whoever has the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from svmpress.kernels import Kernel
from svmpress.numerics import (
    ROUNDING,
    STACK_BYTES,
    Array,
    Floats,
    MaskedSystems,
    Rows,
    arrays,
    side_by_side,
    solve_positive,
    solve_ridged,
)
from svmpress.objectives.row_groups import groups_of
from svmpress.objectives.sums import LocalSums, RowSums

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Projection:
    """The value at V, its gradient, and the coefficients and intercepts that belong to it."""

    value: float
    vectors: Array
    gamma: float | None
    coef: Array
    intercept: Array


class ProjectedError:
    """The weighted squared error with the best coefficients put in.

        E(V) = min_{A, b}  Σ_ip (w_gp + β) (F_ip - T_ip)² + Σ_jp λ_jp A_jp² + ν Σ_p ‖F_p - b_p‖²,    i in group g,

    over its value at the best b alone. The last term is the norm in the kernel's space, ``Σ_p A_pᵀ K(V, V) A_p``. With
    it, and targets that are noisy, E exceeds its least value over *all* functions (kernel ridge regression) by a
    distance to the function that has it: fitting few vectors then approximates that function, not the noise.

    Parameters
    ----------
    kernel : Kernel
        Fixes the ridge: ``λ_jp = ridge`` times the mean squared kernel value at ``start``, times the weight of p. The
        mean is over all vectors, and for kernels without bound over vector j alone: the longest vector of a polynomial
        may have values that are larger by many orders, and a ridge to its measure would leave the others nothing.
    rows : (n, d)
        Sorted by group.
    targets : (n, M)
    start : (m, d)
        Vectors at which the ridge is fixed, so that it does not move with V.
    sizes : (g,) int, optional
        Rows in each group; one group by default.
    weights : (g, M), optional
        Weight of each group's rows for each output; all one by default.
    background : float
        ``β``, a weight of all rows for all outputs.
    thin : int
        The background is every so many rows, with the weight of all. Nearly all the work would go into rows that hardly
        count.
    mask : (m, M) bool, optional
        Which coefficients may differ from zero.
    intercept : (M,), optional
        Fixed intercepts; by default they are solved for.
    ridge : float
    norm : float
        ``ν`` in terms of the mean of k(x, x). The kernel must be definite.
    max_bytes : int, optional
        Memory for what is kept of the kernel matrix between the two passes.
    """

    def __init__(
        self,
        kernel: Kernel,
        rows: Rows,
        targets: Array,
        start: Array,
        *,
        sizes: NDArray[np.intp] | None = None,
        weights: Floats | None = None,
        background: float = 0.0,
        thin: int = 1,
        mask: NDArray[np.bool_] | None = None,
        intercept: Array | None = None,
        ridge: float = 1e-7,
        norm: float = 0.0,
        max_bytes: int | None = None,
    ) -> None:
        n, n_outputs = targets.shape
        xp = arrays.namespace(targets)
        # what all targets have in common is for the intercepts: beside it, squares would lose what differs
        common = xp.mean(targets, axis=0) if intercept is None else 0.0
        targets = targets - common
        max_bytes = max_bytes or arrays.DEFAULT_MAX_BYTES
        sizes = np.array([n]) if sizes is None else np.asarray(sizes)
        W = np.ones((len(sizes), n_outputs)) if weights is None else np.asarray(weights, dtype=np.float64)
        groups = groups_of(targets, sizes, W, background, thin)
        heard = sizes @ W + n * background
        sums = LocalSums(kernel, rows, targets, groups, start.shape[0], heard=heard, mask=mask, max_bytes=max_bytes)
        self._begin(kernel, sums, start, common, W, mask, intercept, ridge, norm)

    @classmethod
    def over(
        cls,
        kernel: Kernel,
        sums: RowSums,
        start: Array,
        *,
        common: Array,
        weights: Floats,
        mask: NDArray[np.bool_] | None = None,
        ridge: float = 1e-7,
        norm: float = 0.0,
    ) -> ProjectedError:
        """Return the error over rows that are somewhere else: who has them gives sums.

        Parameters
        ----------
        kernel : Kernel
        sums : RowSums
        start : (m, d)
        common : (M,)
            What was taken from all targets.
        weights : (g, M)
            Of the groups without the background.
        mask, ridge, norm
            As for the class.
        """
        error = cls.__new__(cls)
        error._begin(kernel, sums, start, common, weights, mask, None, ridge, norm)
        return error

    def _begin(
        self,
        kernel: Kernel,
        sums: RowSums,
        start: Array,
        common: Any,
        W: Floats,
        mask: NDArray[np.bool_] | None,
        intercept: Array | None,
        ridge: float,
        norm: float,
    ) -> None:
        self.kernel, self.fixed, self.targets, self._sums = kernel, intercept, sums.like, sums
        self.n_outputs, m = W.shape[1], start.shape[0]
        self._common, self._xp = common, arrays.namespace(self.targets)
        self._device = arrays.device_of(self.targets)
        self.uniform = bool(np.ptp(W, axis=1).max() == 0)
        every = list(sums.weights)
        self._norm = 0.0
        if norm:  # K(V, V) joins the Gram matrices, like one more group
            some = _some(sums.rows, 100)
            self._norm = norm * float(np.diagonal(arrays.to_numpy(kernel.gram(some, some))).mean())
            every.append(self._here(np.full(self.n_outputs, self._norm)))
        self._W = self._xp.stack(every)  # (matrices, M)
        self._scale = sums.error_of_constants()
        mean_square = arrays.to_numpy(self._xp.mean(kernel.gram(_some(sums.rows, 1000), start) ** 2, axis=0))
        if kernel.bounded:
            mean_square = np.full_like(mean_square, mean_square.mean())
        self._ridge = ridge * mean_square[:, None] * sums.heard  # (m, M)
        self._masked = None
        if mask is not None:
            free = np.vstack([mask, np.full((1, self.n_outputs), intercept is None)])
            penalty = np.vstack([self._ridge, np.zeros(self.n_outputs)])
            self._masked = MaskedSystems(free, arrays.to_numpy(self._W), penalty, self.targets)
        # what pieces leave out is never looked at, and stays 0
        self._grams = self._xp.zeros((len(every), m + 1, m + 1), dtype=self._xp.float64, device=self._device)

    @property
    def rows(self) -> Rows:
        """The rows, or some of them where they are somewhere else."""
        return self._sums.rows

    def _here(self, a: Any) -> Array:
        return self._xp.asarray(np.asarray(a, dtype=np.float64), device=self._device)

    def value_and_grad(self, V: Array, kernel: Kernel | None = None, *, width: bool = False) -> Projection:
        """Return E, its gradient with respect to V (and γ if ``width``), and the A and b that attain it."""
        kernel = kernel or self.kernel
        xp = self._xp
        moment = self._sums.equations(kernel, V, self._grams, self.fixed)
        K = kernel.gram(V, V) if self._norm else None
        if K is not None:
            self._grams[-1, :-1, :-1] = K
        coef, intercept = self._solve(self._grams, moment)
        value, dV, slope = self._sums.slopes(kernel, V, coef, intercept, 2 / self._scale, width)
        value += float(xp.sum(self._here(self._ridge) * coef * coef))
        if K is not None:
            value += self._norm * float(xp.sum(coef * xp.matmul(K, coef)))
            G = xp.matmul(coef, coef.T) * (self._norm / self._scale)
            dV = dV + 2 * kernel.pullback(V, V, K, G)  # V stands on both sides
            slope += kernel.pullback_gamma(V, V, K, G) if width else 0.0
        return Projection(value / self._scale, dV, slope if width else None, coef, intercept + self._common)

    def _each(self, function: Callable[[Any], Result], items: Sequence[Any]) -> list[Result]:
        """Return the function of each item: on the host side by side, unless there is too little to do."""
        return side_by_side(function, items, worth=self._sums.worth_threads)

    def _solve(self, grams: Array, R: Array) -> tuple[Array, Array]:
        """Return A (m, M) and b (M,) from the groups' Gram matrices, (g, m+1, m+1), and the moments, (m+1, M)."""
        if self._masked is not None:
            return self._split(self._masked.solve(grams, R, self._each))
        if not self.uniform:
            return self._split(self._solve_weighted(grams, R))
        N, ridge = self._xp.sum(grams * self._W[:, 0][:, None, None], axis=0), np.append(self._ridge[:, 0], 0.0)
        if self.fixed is None:
            return self._split(solve_ridged(N, R, ridge))
        return solve_ridged(N[:-1, :-1], R[:-1, :], ridge[:-1]), self.fixed

    def _solve_weighted(self, grams: Array, R: Array) -> Array:
        """Return the solution of every output's own weighted system, (m+1, M), for a few outputs at a time."""
        xp = self._xp
        ridge = np.vstack([self._ridge, np.zeros(self.n_outputs)])  # nothing on the intercept
        if self.fixed is not None:
            grams, R, ridge = grams[:, :-1, :-1], R[:-1, :], self._ridge
        size = grams.shape[1]
        # unknowns are measured alike for all outputs, so that diagonals are near 1 and nothing is left to scale later
        typical = xp.matmul(xp.mean(self._W, axis=1), xp.linalg.diagonal(grams)) + self._here(ridge.mean(axis=1))
        scale = 1 / xp.sqrt(xp.clip(typical, min=1e-300))
        flat = xp.reshape(grams * scale[:, None] * scale, (grams.shape[0], -1))
        penalty = self._here(ridge) * (scale * scale)[:, None]
        together = max(1, min(STACK_BYTES // (8 * size * size), -(-self.n_outputs // 4)))

        def solved(first: int) -> Array:
            some = slice(first, min(first + together, self.n_outputs))
            N = xp.matmul(self._W[:, some].T, flat)
            diagonal = N[:, :: size + 1]
            N[:, :: size + 1] = diagonal + xp.clip(diagonal * ROUNDING, min=1e-300) + penalty[:, some].T
            x = solve_positive(xp.reshape(N, (-1, size, size)), (R[:, some] * scale[:, None]).T[:, :, None])
            return x[:, :, 0].T * scale[:, None]

        solution = xp.concat(self._each(solved, range(0, self.n_outputs, together)), axis=1)
        return solution if self.fixed is None else xp.concat([solution, self.fixed[None, :]])

    def _split(self, solution: Array) -> tuple[Array, Array]:
        if self.fixed is not None:
            return solution[:-1, :], self.fixed
        return solution[:-1, :], solution[-1, :]


def _some(rows: Rows, about: int) -> Rows:
    """Return about so many of the rows, evenly spread."""
    return arrays.take(rows, slice(0, rows.shape[0], max(1, rows.shape[0] // about)))
