"""What refinement minimises, with gradients by hand.

The free parameters are the vectors V (m, d), the coefficients A (m, M), the intercepts b (M,) and the width γ of the
kernel. Two ways to score them against rows X (n, d):

:class:`ExpansionObjective`
    ``L(V, A, b, γ) = Σ_i ℓ(F_i)`` with ``F = k(X, V) A + b`` for any loss ℓ of decision values: the squared error
    against the source (equation 10 of the paper) or a loss that knows labels (:mod:`svmpress.losses`).

:class:`ProjectedError`
    The squared error with the best A and b for these V put in: *variable projection*. For fixed V they solve a
    regularised least-squares problem, and the gradient of what is left with respect to V takes them as constants.
    Rows come in groups with a weight for every output, so that a pairwise machine may listen to its own two classes.

Both run in blocks of rows under a memory cap and in whichever array library the rows are in. The gradient reaches V
through ``kernel.pullback`` alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from svmpress import arrays
from svmpress.arrays import Array, Rows
from svmpress.kernels import Kernel

Floats = NDArray[np.float64]


class Loss(Protocol):
    """A function of the decision values of some rows."""

    n_outputs: int

    def value_and_grad(self, F: Array, rows: slice) -> tuple[Array, Array]:
        """Return the loss of the decision values ``F`` (k, M) of these rows, a scalar, and its gradient (k, M)."""


@dataclass(frozen=True, eq=False)
class Parameters:
    """Where a refinement is: V (m, d), A (m, M), b (M,) and the kernel with its width."""

    kernel: Kernel
    vectors: Array
    coef: Array
    intercept: Array


@dataclass(frozen=True, eq=False)
class Gradient:
    """A value and the derivatives with respect to the parameters; ``gamma`` is None where it was not asked for."""

    value: float
    vectors: Array
    coef: Array
    intercept: Array
    gamma: float | None


class SquaredError:
    """``Σ_i Σ_p (F_ip - T_ip)² / scale``: equation 10 of the paper, with ``scale`` making it relative.

    Parameters
    ----------
    targets : (n, M)
    """

    def __init__(self, targets: Array) -> None:
        self.targets = targets
        self.n_outputs = int(targets.shape[1])
        xp = arrays.namespace(targets)
        self.scale = float(xp.sum((targets - xp.mean(targets, axis=0)) ** 2)) or 1.0

    def value_and_grad(self, F: Array, rows: slice) -> tuple[Array, Array]:
        """Return the loss and its gradient; see :class:`Loss`."""
        R = F - self.targets[rows, :]
        return arrays.namespace(R).sum(R * R) / self.scale, R * (2 / self.scale)


class ExpansionObjective:
    """A loss of decision values as a function of vectors, coefficients, intercepts and width.

    Parameters
    ----------
    rows : (n, d)
    loss : Loss
    max_bytes : int, optional
        Working memory.
    """

    def __init__(self, rows: Rows, loss: Loss, max_bytes: int | None = None) -> None:
        self.rows, self.loss, self.max_bytes = rows, loss, max_bytes

    def value_and_grad(self, at: Parameters, *, width: bool = False) -> Gradient:
        """Return the loss and its derivatives; that of γ only if ``width``."""
        V, A = at.vectors, at.coef
        xp = arrays.namespace(V, A)
        value, slope = 0.0, 0.0
        dV, dA, db = xp.zeros_like(V), xp.zeros_like(A), xp.zeros_like(at.intercept)
        per_row = 8 * (5 * V.shape[0] + 4 * A.shape[1] + 2 * V.shape[1])
        for block in arrays.blocks(self.rows.shape[0], per_row, self.max_bytes):
            X = arrays.take(self.rows, block)
            K = at.kernel.gram(X, V)
            part, dF = self.loss.value_and_grad(xp.matmul(K, A) + at.intercept, block)
            G = xp.matmul(dF, A.T)
            value += float(part)
            dV = dV + at.kernel.pullback(X, V, K, G)
            dA = dA + xp.matmul(K.T, dF)
            db = db + xp.sum(dF, axis=0)
            if width:
                slope += at.kernel.pullback_gamma(X, V, K, G)
        return Gradient(value, dV, dA, db, slope if width else None)


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

        E(V) = min_{A, b}  Σ_g Σ_p w_gp Σ_{i in g} (F_ip - T_ip)² + Σ_jp λ_jp A_jp²,  over its value at the best b alone

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
    mask : (m, M) bool, optional
        Which coefficients may differ from zero.
    intercept : (M,), optional
        Fixed intercepts; by default they are solved for.
    ridge : float
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
        mask: NDArray[np.bool_] | None = None,
        intercept: Array | None = None,
        ridge: float = 1e-7,
        max_bytes: int | None = None,
    ) -> None:
        n, self.n_outputs = targets.shape
        self.kernel, self.rows, self.targets, self.mask = kernel, rows, targets, mask
        self.fixed = intercept
        self.max_bytes = max_bytes or arrays.DEFAULT_MAX_BYTES
        self._xp = arrays.namespace(targets)
        self._device = arrays.device_of(targets)
        sizes = np.array([n]) if sizes is None else np.asarray(sizes)
        stops = np.cumsum(sizes)
        self.groups = [slice(int(stop - size), int(stop)) for size, stop in zip(sizes, stops, strict=True)]
        W = np.ones((len(self.groups), self.n_outputs)) if weights is None else np.asarray(weights, dtype=np.float64)
        self.uniform = bool(np.ptp(W, axis=1).max() == 0)
        self._weights = W
        self._W = self._here(W)
        self._scale = self._error_of_constants()
        sample = arrays.take(rows, slice(0, n, max(1, n // 1000)))
        mean_square = arrays.to_numpy(self._xp.mean(kernel.gram(sample, start) ** 2, axis=0))
        if kernel.bounded:
            mean_square = np.full_like(mean_square, mean_square.mean())
        self._ridge = ridge * mean_square[:, None] * (sizes @ W)  # (m, M)

    def _here(self, a: Any) -> Array:
        return self._xp.asarray(np.asarray(a, dtype=np.float64), device=self._device)

    def _error_of_constants(self) -> float:
        total = self._xp.zeros(self.n_outputs, dtype=self._xp.float64, device=self._device)
        first, second = total, total
        for g, rows in enumerate(self.groups):
            T, w = self.targets[rows, :], self._W[g, :]
            total = total + w * T.shape[0]
            first = first + w * self._xp.sum(T, axis=0)
            second = second + w * self._xp.sum(T * T, axis=0)
        spread = second - first * first / total
        return max(float(self._xp.sum(spread)), 1e-300)

    def value_and_grad(self, V: Array, kernel: Kernel | None = None, *, width: bool = False) -> Projection:
        """Return E, its gradient with respect to V (and γ if ``width``), and the A and b that attain it."""
        kernel = kernel or self.kernel
        xp = self._xp
        kept: dict[int, Array] = {}
        grams, moments = [], []
        for g, rows in enumerate(self.groups):
            N, R = self._normal_equations(kernel, V, g, rows, kept)
            grams.append(N)
            moments.append(R)
        coef, intercept = self._solve(xp.stack(grams), xp.stack(moments))
        value, slope, dV = 0.0, 0.0, xp.zeros_like(V)
        for g, rows in enumerate(self.groups):
            w = self._W[g, :]
            for block, X, K in self._blocks(kernel, V, rows, kept):
                R = xp.matmul(K, coef) + intercept - self.targets[block, :]
                wR = R * w
                value += float(xp.sum(R * wR))
                G = xp.matmul(wR, coef.T)
                G *= 2 / self._scale
                dV = dV + kernel.pullback(X, V, K, G)
                if width:
                    slope += kernel.pullback_gamma(X, V, K, G)
        value += float(xp.sum(self._here(self._ridge) * coef * coef))
        return Projection(value / self._scale, dV, slope if width else None, coef, intercept)

    def _blocks(
        self, kernel: Kernel, V: Array, rows: slice, kept: dict[int, Array]
    ) -> Iterator[tuple[slice, Rows, Array]]:
        """Yield the row blocks of a group with their kernel values, kept from the first pass where memory allows."""
        m = V.shape[0]
        for part in arrays.blocks(rows.stop - rows.start, 8 * 6 * m, self.max_bytes // 4):
            block = slice(rows.start + part.start, rows.start + part.stop)
            X = arrays.take(self.rows, block)
            K = kept.pop(block.start, None)
            if K is None:
                K = kernel.gram(X, V)
                if 8 * m * self.rows.shape[0] <= self.max_bytes:
                    kept[block.start] = K
            yield block, X, K

    def _normal_equations(
        self, kernel: Kernel, V: Array, g: int, rows: slice, kept: dict[int, Array]
    ) -> tuple[Array, Array]:
        """Return ``[K 1]ᵀ[K 1]`` and ``[K 1]ᵀ T`` over a group, (m+1, m+1) and (m+1, M)."""
        xp, m = self._xp, V.shape[0]
        N = xp.zeros((m + 1, m + 1), dtype=xp.float64, device=self._device)
        R = xp.zeros((m + 1, self.n_outputs), dtype=xp.float64, device=self._device)
        for block, _, K in self._blocks(kernel, V, rows, kept):
            T = self.targets[block, :]
            if self.fixed is not None:
                T = T - self.fixed
            sums = xp.sum(K, axis=0)
            N[:m, :m] += xp.matmul(K.T, K)
            N[:m, m] += sums
            N[m, :m] += sums
            N[m, m] += float(K.shape[0])
            R[:m, :] += xp.matmul(K.T, T)
            R[m, :] += xp.sum(T, axis=0)
        return N, R

    def _solve(self, grams: Array, moments: Array) -> tuple[Array, Array]:
        """Return A (m, M) and b (M,) from the groups' normal equations, (g, m+1, m+1) and (g, m+1, M)."""
        xp, size = self._xp, grams.shape[1]
        R = xp.sum(moments * self._W[:, None, :], axis=0)
        everything = np.arange(size)
        if self.mask is None and self.uniform:
            N = xp.sum(grams * self._W[:, 0][:, None, None], axis=0)
            return self._split(self._solve_one(N, R, self._ridge[:, 0], everything))
        total = xp.sum(grams, axis=0)
        columns = []
        for p in range(self.n_outputs):
            # a machine weighs most groups alike: add up only the few that differ from the lightest
            base = float(self._weights[:, p].min())
            active = everything if self.mask is None else np.append(np.flatnonzero(self.mask[:, p]), size - 1)
            N = base * self._part(total, active)
            for g in np.flatnonzero(self._weights[:, p] > base):
                N += float(self._weights[g, p] - base) * self._part(grams[g, ...], active)
            columns.append(self._solve_one(N, R[:, p : p + 1], self._ridge[:, p], active))
        return self._split(xp.concat(columns, axis=1))

    def _part(self, N: Array, active: NDArray[np.intp]) -> Array:
        """Return the rows and columns of the active unknowns."""
        if len(active) == N.shape[0]:
            return N
        some = self._xp.asarray(active, device=self._device)
        return self._xp.take(self._xp.take(N, some, axis=0), some, axis=1)

    def _split(self, solution: Array) -> tuple[Array, Array]:
        if self.fixed is not None:
            return solution[:-1, :], self.fixed
        return solution[:-1, :], solution[-1, :]

    def _solve_one(self, N: Array, R: Array, ridge: Floats, active: NDArray[np.intp]) -> Array:
        """Solve the ridged system of the active unknowns, of which the last is the intercept; the others are 0."""
        xp, size = self._xp, R.shape[0]
        if self.fixed is not None:
            active, N = active[:-1], N[:-1, :-1]
        penalty = np.append(ridge, 0.0)[active]  # nothing on the intercept
        diagonal = np.maximum(arrays.to_numpy(xp.linalg.diagonal(N)) + penalty, 1e-300)
        penalty = penalty + 1e-13 * diagonal  # rounding keeps a singular system solvable
        N = N + self._here(np.diag(penalty))
        # unknowns are measured so that the diagonal is 1: columns of very different size are no trouble then
        scale = self._here(1 / np.sqrt(diagonal))[:, None]
        N *= scale
        N *= scale.T
        some = xp.asarray(active, device=self._device)
        x = arrays.solve_positive(N, xp.take(R, some, axis=0) * scale) * scale
        if len(active) == size:
            return x
        place = np.zeros((size, len(active)))
        place[active, np.arange(len(active))] = 1.0
        return xp.matmul(self._here(place), x)
