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
through ``kernel.pullback`` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
    Piece,
    Rows,
    arrays,
    pieces,
    side_by_side,
    solve_ridged,
)
from svmpress.objectives.fused import FusedPasses, rectangles
from svmpress.objectives.row_groups import Group, better_at_once, groups_of, slopes_at_once

Result = TypeVar("Result")

Kept = dict[tuple[int, int, int], Array]
"""Kernel values of blocks of rows, by where these begin and end, and their step."""

WORTH_THREADS = 2e5
"""Kernel values from which on groups are worth threads."""


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
        n, self.n_outputs = targets.shape
        self._xp = arrays.namespace(targets)
        # what all targets have in common is for the intercepts: beside it, squares would lose what differs
        self._common = self._xp.mean(targets, axis=0) if intercept is None else 0.0
        targets = targets - self._common
        self.kernel, self.rows, self.targets = kernel, rows, targets
        self.fixed = intercept
        self.max_bytes = max_bytes or arrays.DEFAULT_MAX_BYTES
        self._device = arrays.device_of(targets)
        sizes = np.array([n]) if sizes is None else np.asarray(sizes)
        W = np.ones((len(sizes), self.n_outputs)) if weights is None else np.asarray(weights, dtype=np.float64)
        self.uniform = bool(np.ptp(W, axis=1).max() == 0)
        self.groups = groups_of(targets, sizes, W, background, thin)
        every = [group.spread(group.weights) for group in self.groups]
        self._norm = 0.0
        if norm:  # K(V, V) joins the Gram matrices, like one more group
            some = arrays.take(rows, slice(0, n, max(1, n // 100)))
            self._norm = norm * float(np.diagonal(arrays.to_numpy(kernel.gram(some, some))).mean())
            every.append(self._here(np.full(self.n_outputs, self._norm)))
        self._W = self._xp.stack(every)  # (matrices, M)
        m = start.shape[0]
        on_host = isinstance(targets, np.ndarray)
        self._large = on_host and len(self.groups) > 1 and n * m > WORTH_THREADS
        self._n_heard = sum(group.targets.shape[0] for group in self.groups)
        self._at_once = better_at_once(rows, targets, m, len(self.groups), self.max_bytes)
        self._scale = self._error_of_constants()
        sample = arrays.take(rows, slice(0, n, max(1, n // 1000)))
        mean_square = arrays.to_numpy(self._xp.mean(kernel.gram(sample, start) ** 2, axis=0))
        if kernel.bounded:
            mean_square = np.full_like(mean_square, mean_square.mean())
        self._ridge = ridge * mean_square[:, None] * (sizes @ W + n * background)  # (m, M)
        self._masked = None
        self._pieces: list[tuple[Piece, ...]] = [pieces(np.ones((m, 1), dtype=bool))] * len(self.groups)
        if mask is not None:
            free = np.vstack([mask, np.full((1, self.n_outputs), intercept is None)])
            penalty = np.vstack([self._ridge, np.zeros(self.n_outputs)])
            self._masked = MaskedSystems(free, arrays.to_numpy(self._W), penalty, targets)
            self._pieces = [pieces(mask[:, arrays.to_numpy(w) > 0]) for w in every[: len(self.groups)]]
        # what pieces leave out is never looked at, and stays 0
        self._grams = self._xp.zeros((len(every), m + 1, m + 1), dtype=self._xp.float64, device=self._device)
        self._fused = FusedPasses.for_rows(kernel, rows, self.groups, self.n_outputs, m, self.max_bytes)
        self._wanted = rectangles(self._pieces, m)

    def _here(self, a: Any) -> Array:
        return self._xp.asarray(np.asarray(a, dtype=np.float64), device=self._device)

    def _error_of_constants(self) -> float:
        total = self._xp.zeros(self.n_outputs, dtype=self._xp.float64, device=self._device)
        first, second = total, total
        for group in self.groups:
            T, w = group.targets, group.weights
            total = total + group.spread(w * T.shape[0])
            first = first + group.spread(w * self._xp.sum(T, axis=0))
            second = second + group.spread(w * self._xp.sum(T * T, axis=0))
        spread = second - first * first / total
        return max(float(self._xp.sum(spread)), 1e-300)

    def value_and_grad(self, V: Array, kernel: Kernel | None = None, *, width: bool = False) -> Projection:
        """Return E, its gradient with respect to V (and γ if ``width``), and the A and b that attain it."""
        kernel = kernel or self.kernel
        xp = self._xp
        kept: Kept = {}
        whole = None
        if self._fused is not None:
            moment = self._fused.equations(kernel, V, self._grams, shift=self.fixed, pieces=self._wanted)
        else:
            whole = kernel.gram(self.rows, V) if self._at_once else None
            moment = self._moments(kernel, V, kept, whole)
        K = kernel.gram(V, V) if self._norm else None
        if K is not None:
            self._grams[-1, :-1, :-1] = K
        coef, intercept = self._solve(self._grams, moment)
        if self._fused is not None:
            value, dV, slope = self._fused.slopes(kernel, V, coef, intercept, 2 / self._scale, width)
        else:
            value, dV, slope = self._slopes(kernel, V, kept, whole, coef, intercept, width)
        value += float(xp.sum(self._here(self._ridge) * coef * coef))
        if K is not None:
            value += self._norm * float(xp.sum(coef * xp.matmul(K, coef)))
            G = xp.matmul(coef, coef.T) * (self._norm / self._scale)
            dV = dV + 2 * kernel.pullback(V, V, K, G)  # V stands on both sides
            slope += kernel.pullback_gamma(V, V, K, G) if width else 0.0
        return Projection(value / self._scale, dV, slope if width else None, coef, intercept + self._common)

    def _moments(self, kernel: Kernel, V: Array, kept: Kept, whole: Array | None) -> Array:
        moment = self._xp.zeros((V.shape[0] + 1, self.n_outputs), dtype=self._xp.float64, device=self._device)
        numbered = list(enumerate(self.groups))
        for part in self._each(lambda which: self._normal_equations(kernel, V, which, kept, whole), numbered):
            moment = moment + part
        return moment

    def _slopes(
        self,
        kernel: Kernel,
        V: Array,
        kept: Kept,
        whole: Array | None,
        coef: Array,
        intercept: Array,
        width: bool,
    ) -> tuple[float, Array, float]:
        xp = self._xp
        value, slope, dV = 0.0, 0.0, xp.zeros_like(V)
        if whole is not None:

            def of_group(g: int) -> tuple[Array, Array]:
                group = self.groups[g]
                return self._residuals(group, group.every, whole[group.rows, :], coef, intercept)

            errors, slopes = slopes_at_once(self.groups, whole, of_group, self._large)
            value = float(sum(errors))
            dV = kernel.pullback(self.rows, V, whole, slopes)
            slope = kernel.pullback_gamma(self.rows, V, whole, slopes) if width else 0.0
        else:
            for error, direction, of_width in self._each(
                lambda group: self._pulled_back(kernel, V, group, kept, coef, intercept, width), self.groups
            ):
                value, dV, slope = value + error, dV + direction, slope + of_width
        return value, dV, slope

    def _each(self, function: Callable[[Any], Result], items: Sequence[Any]) -> list[Result]:
        """Return the function of each item: on the host side by side, unless there is too little to do."""
        return side_by_side(function, items, worth=self._large)

    def _pulled_back(
        self,
        kernel: Kernel,
        V: Array,
        group: Group,
        kept: Kept,
        coef: Array,
        intercept: Array,
        width: bool,
    ) -> tuple[float, Array, float]:
        """Return a group's part of the error and of its derivatives with respect to V and γ (0 if not ``width``)."""
        value, slope, dV = 0.0, 0.0, self._xp.zeros_like(V)
        for block, X, K in self._blocks(kernel, V, group, kept):
            error, G = self._residuals(group, block, K, coef, intercept)
            value, dV = value + float(error), dV + kernel.pullback(X, V, K, G)
            if width:
                slope += kernel.pullback_gamma(X, V, K, G)
        return value, dV, slope

    def _residuals(self, group: Group, block: slice, K: Array, coef: Array, intercept: Array) -> tuple[Array, Array]:
        """Return the error of rows of a group, a scalar, and its derivatives with respect to their kernel values K."""
        xp, A = self._xp, group.columns(coef)
        R = xp.matmul(K, A) + group.columns(intercept) - group.targets[block, :]
        wR = R * group.weights
        G = xp.matmul(wR, A.T)
        G *= 2 / self._scale
        return xp.sum(R * wR), G

    def _blocks(self, kernel: Kernel, V: Array, group: Group, kept: Kept) -> Iterator[tuple[slice, Rows, Array]]:
        """Yield the row blocks of a group, as positions in it, with their rows and kernel values.

        Kernel values are kept from the first pass where memory allows.
        """
        m = V.shape[0]
        per_row = 8 * 6 * m + arrays.extra_bytes(self.rows, V)
        for block, where in group.blocks(per_row, self.max_bytes // 4):
            X = arrays.take(self.rows, where)
            K = kept.pop(_key(where), None)
            if K is None:
                K = kernel.gram(X, V)
                if 8 * m * self._n_heard <= self.max_bytes:
                    kept[_key(where)] = K
            yield block, X, K

    def _kernel_values(
        self, kernel: Kernel, V: Array, group: Group, kept: Kept, whole: Array | None
    ) -> Iterator[tuple[slice, Array]]:
        """Yield row blocks of a group with their kernel values; all in one where those of all rows are known."""
        if whole is not None:
            yield group.every, whole[group.rows, :]
            return
        for block, _, K in self._blocks(kernel, V, group, kept):
            yield block, K

    def _normal_equations(
        self, kernel: Kernel, V: Array, which: tuple[int, Group], kept: Kept, whole: Array | None
    ) -> Array:
        """Put ``[K 1]ᵀ[K 1]`` of a group in its place, (m+1, m+1), and return its ``[K 1]ᵀ T``, weighted, (m+1, M)."""
        xp, m, (g, group) = self._xp, V.shape[0], which
        N = self._grams[g, :, :]
        R = xp.zeros((m + 1, group.targets.shape[1]), dtype=xp.float64, device=self._device)
        border = xp.zeros(m + 1, dtype=xp.float64, device=self._device)
        for rows, columns in self._pieces[g]:
            N[rows, columns] = 0.0
        for block, K in self._kernel_values(kernel, V, group, kept, whole):
            T = group.targets[block, :]
            if self.fixed is not None:
                T = T - group.columns(self.fixed)
            for rows, columns in self._pieces[g]:
                N[rows, columns] += xp.matmul(K[:, rows].T, K[:, columns])
            border[:m] += xp.sum(K, axis=0)
            border[m] += float(K.shape[0])
            R[:m, :] += xp.matmul(K.T, T)
            R[m, :] += xp.sum(T, axis=0)
        for rows, columns in self._pieces[g]:
            if rows != columns:
                N[columns, rows] = N[rows, columns].T
        N[m, :] = border
        N[:, m] = border
        return group.spread(R * group.weights)

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
            x = arrays.solve_positive(xp.reshape(N, (-1, size, size)), (R[:, some] * scale[:, None]).T[:, :, None])
            return x[:, :, 0].T * scale[:, None]

        solution = xp.concat(self._each(solved, range(0, self.n_outputs, together)), axis=1)
        return solution if self.fixed is None else xp.concat([solution, self.fixed[None, :]])

    def _split(self, solution: Array) -> tuple[Array, Array]:
        if self.fixed is not None:
            return solution[:-1, :], self.fixed
        return solution[:-1, :], solution[-1, :]


def _key(rows: slice) -> tuple[int, int, int]:
    return rows.start, rows.stop, rows.step or 1
