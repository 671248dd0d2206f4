"""Losses of decision values that know which side a row belongs on.

A classifier is not asked for the source's decision values but for their signs, and only for those that matter: of a
one-vs-one model, the machines that involve a row's own class. :class:`MarginObjective` pushes these to their side until
a margin is met, and holds all values near the source with a small weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from svmpress.decoders import class_pairs
from svmpress.kernels import Kernel
from svmpress.numerics import Array, Floats, Rows, arrays, side_by_side
from svmpress.objectives.expansion import Gradient, Parameters
from svmpress.objectives.fused import FusedPasses
from svmpress.objectives.row_groups import better_at_once, groups_of, groups_with, slopes_at_once
from svmpress.objectives.sums import WORTH_THREADS

_Part = tuple[Array, Array, Array]
"""What rows contribute: the loss, and its derivatives with respect to coefficients and intercepts of their outputs."""


@dataclass(frozen=True)
class Share:
    """What rows are a part of.

    Parameters
    ----------
    sides : float
        The number of sides that all rows take, which the loss is divided by.
    heard : slice, optional
        Those of the rows that the anchor holds; they follow the others. None: it holds none.
    weight : float
        Of these: all rows for each that is held.
    """

    sides: float
    heard: slice | None = None
    weight: float = 0.0


def count_sides(sizes: NDArray[Any], sides: Floats) -> float:
    """Return how many sides rows take, of these sizes of classes (K,) and sides of each class (K, M); at least one."""
    return float(sizes @ np.abs(sides).sum(axis=1)) or 1.0


class MarginObjective:
    """``Σ_ip max(0, τ_ip - s_ip F_ip)²`` over the sides s that are given, ``+ anchor · Σ_ip (F_ip - T_ip)²`` over all.

    Divided by the number of sides, so that it is a mean. A function of vectors, coefficients, intercepts and width, as
    :class:`~svmpress.objectives.ExpansionObjective` is of other losses; but here a row's values are computed for the
    outputs alone that take sides for its class, and for all outputs on every so many rows.

    Parameters
    ----------
    rows : (n, d)
        Sorted by class.
    targets : (n, M)
        The source's decision values T.
    sizes : (K,) int
        Rows of each class.
    sides : (K, M)
        +1 or -1 where values of rows of the class should be of that sign, 0 where only the source matters. If none is
        0, there is nothing to anchor.
    trust : bool
        Whether the margin is the source's own where that is smaller, ``τ = min(1, max(0, s T))``: a push stops where
        the source stands. Otherwise τ = 1, the squared hinge of equation 1.
    anchor : float
    thin : int
        The anchor holds every so many rows, with the weight of all.
    max_bytes : int, optional
        Working memory.
    share : Share, optional
        What the rows are of: by default, all that there are.
    """

    def __init__(
        self,
        rows: Rows,
        targets: Array,
        sizes: NDArray[np.intp],
        sides: NDArray[np.float64],
        *,
        trust: bool,
        anchor: float = 0.01,
        thin: int = 1,
        max_bytes: int | None = None,
        share: Share | None = None,
    ) -> None:
        self.rows, self.trust = rows, trust
        self.max_bytes = max_bytes or arrays.DEFAULT_MAX_BYTES
        xp, device = arrays.namespace(targets), arrays.device_of(targets)
        self._n_outputs = int(targets.shape[1])
        self._on_host = isinstance(targets, np.ndarray)
        self._scale = count_sides(sizes, sides) if share is None else share.sides
        if share is None:
            self._groups = groups_of(targets, sizes, np.abs(sides), 0.0 if sides.all() else anchor, thin)
        else:
            self._groups = groups_with(targets, sizes, np.abs(sides), share.heard, anchor * share.weight)
        without = np.zeros((len(self._groups) - len(sides), sides.shape[1]))  # the background takes no sides
        self._sides = [
            group.columns(xp.asarray(s, device=device))
            for group, s in zip(self._groups, [*without, *sides], strict=True)
        ]
        self._passes: tuple[tuple[str, int], FusedPasses | None] | None = None

    def _fused(self, kernel: Kernel, m: int) -> FusedPasses | None:
        """Return the passes by the extension, made at the first call for a kind of kernel and m vectors."""
        if self._passes is None or self._passes[0] != (kernel.name, m):
            made = FusedPasses.for_rows(
                kernel, self.rows, self._groups, self._n_outputs, m, self.max_bytes, self._sides
            )
            self._passes = ((kernel.name, m), made)
        return self._passes[1]

    def value_and_grad(self, at: Parameters, *, width: bool = False) -> Gradient:
        """Return the loss and its derivatives; that of γ only if ``width``."""
        V, kernel = at.vectors, at.kernel
        xp, n, m = arrays.namespace(V), self.rows.shape[0], V.shape[0]
        fused = self._fused(kernel, m)
        if fused is not None:
            error, dV, dA, db, slope = fused.margins(
                kernel, V, at.coef, at.intercept, 2 / self._scale, self.trust, width
            )
            return Gradient(error / self._scale, dV, dA, db, slope if width else None)
        value, slope, dV = 0.0, 0.0, xp.zeros_like(V)
        dA, db = xp.zeros_like(at.coef), xp.zeros_like(at.intercept)
        worth = self._on_host and n * m > WORTH_THREADS
        if better_at_once(self.rows, V, m, len(self._groups), self.max_bytes):
            K = kernel.gram(self.rows, V)

            def of_group(g: int) -> tuple[_Part, Array]:
                group = self._groups[g]
                return self._of_block(g, group.every, K[group.rows, :], at)

            parts, slopes = slopes_at_once(self._groups, K, of_group, worth)
            dV = kernel.pullback(self.rows, V, K, slopes)
            slope = kernel.pullback_gamma(self.rows, V, K, slopes) if width else 0.0
        else:
            parts = []
            for part, direction, of_width in side_by_side(
                lambda g: self._pulled_back(g, at, width), range(len(self._groups)), worth=worth
            ):
                parts.append(part)
                dV, slope = dV + direction, slope + of_width
        for group, (error, of_coef, of_intercept) in zip(self._groups, parts, strict=True):
            value, dA, db = value + error, dA + group.spread(of_coef), db + group.spread(of_intercept)
        return Gradient(float(value), dV, dA, db, slope if width else None)

    def _pulled_back(self, g: int, at: Parameters, width: bool) -> tuple[_Part, Array, float]:
        """Return what a group contributes, and its derivatives with respect to V and γ (0 if not ``width``)."""
        group, V, kernel = self._groups[g], at.vectors, at.kernel
        xp, k = arrays.namespace(V), group.targets.shape[1]
        value, slope, dV = 0.0, 0.0, xp.zeros_like(V)
        dA, db = xp.zeros_like(group.columns(at.coef)), xp.zeros_like(group.columns(at.intercept))
        per_row = 8 * (5 * V.shape[0] + 4 * k + 2 * V.shape[1])
        for block, where in group.blocks(per_row, self.max_bytes // 4):
            X = arrays.take(self.rows, where)
            K = kernel.gram(X, V)
            (error, of_coef, of_intercept), G = self._of_block(g, block, K, at)
            value, dA, db = value + error, dA + of_coef, db + of_intercept
            dV = dV + kernel.pullback(X, V, K, G)
            if width:
                slope += kernel.pullback_gamma(X, V, K, G)
        return (value, dA, db), dV, slope

    def _of_block(self, g: int, block: slice, K: Array, at: Parameters) -> tuple[_Part, Array]:
        """Return what rows of a group contribute, and the derivatives with respect to their kernel values K."""
        group, xp = self._groups[g], arrays.namespace(K)
        A, b = group.columns(at.coef), group.columns(at.intercept)
        R = self._residuals(xp.matmul(K, A) + b, group.targets[block, :], self._sides[g])
        dF = R * group.weights
        value = xp.sum(R * dF) / self._scale
        dF *= 2 / self._scale
        return (value, xp.matmul(K.T, dF), xp.sum(dF, axis=0)), xp.matmul(dF, A.T)

    def _residuals(self, F: Array, T: Array, sides: Array) -> Array:
        """Return by how much values F (k, M) are beyond what they should be, for the sides of their outputs, (M,)."""
        xp = arrays.namespace(F)
        nothing = xp.zeros_like(F)
        margin = xp.minimum(xp.ones_like(F), xp.maximum(sides * T, nothing)) if self.trust else 1.0
        short = xp.maximum(margin - sides * F, nothing) * sides  # signed, and 0 where no side is given
        return (F - T) * (1 - sides * sides) - short


def sides_of(classes: NDArray[np.intp], n_classes: int, pairwise: bool) -> NDArray[np.float64]:
    """Return the side of each machine for rows of these classes, (n, M).

    Pairwise machines: +1 if the row is of the first class of the pair, -1 of the second, 0 of neither. One machine for
    two classes: +1 for the later. One machine a class: +1 for its own.

    Examples
    --------
    >>> sides_of(np.array([0, 2]), 3, pairwise=True).tolist()
    [[1.0, 1.0, 0.0], [0.0, -1.0, -1.0]]
    """
    if pairwise:
        first, second = class_pairs(n_classes).T
        return np.equal.outer(classes, first).astype(float) - np.equal.outer(classes, second)
    if n_classes == 2:
        return np.where(classes[:, None] == 1, 1.0, -1.0)
    return np.where(np.equal.outer(classes, np.arange(n_classes)), 1.0, -1.0)


def scaled_to_margins(F: Floats, sides: Floats) -> tuple[float, float]:
    """Return the scale and the shift of one machine's values F (n,) that come closest to margins on their sides (n,).

    Values that were fitted to others may be too large or too small for margins and answer as well; what is left
    after this is what they are worse by.

    Examples
    --------
    >>> scale, shift = scaled_to_margins(np.array([1.5, 2.5]), np.array([-1.0, 1.0]))
    >>> round(scale, 3), round(shift, 3)
    (2.0, -4.0)
    """
    spread, middle = float(np.std(F)) or 1.0, float(np.mean(F))
    Z = (F - middle) / spread

    def loss(x: Floats) -> tuple[float, Floats]:
        short = np.maximum(0.0, 1 - sides * (x[0] * Z + x[1])) * sides
        return float(short @ short), np.array([-2 * (short @ Z), -2 * short.sum()])

    scale, shift = minimize(loss, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B").x
    return float(scale / spread), float(shift - scale * middle / spread)
