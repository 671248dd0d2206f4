"""Losses of decision values that know which side a row belongs on.

A classifier is not asked for the source's decision values but for their signs, and only for those that matter: of a
one-vs-one model, the machines that involve a row's own class. :class:`MarginObjective` pushes these to their side until
a margin is met, and holds all values near the source with a small weight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from svmpress import arrays
from svmpress.arrays import Array, Rows
from svmpress.cores import side_by_side
from svmpress.decoders import class_pairs
from svmpress.listening import Group, groups_of
from svmpress.objective import WORTH_THREADS, Gradient, Parameters, better_at_once


class MarginObjective:
    """``Σ_ip max(0, τ_ip - s_ip F_ip)²`` over the sides s that are given, ``+ anchor · Σ_ip (F_ip - T_ip)²`` over all.

    Divided by the number of sides, so that it is a mean. A function of vectors, coefficients, intercepts and width, as
    :class:`~svmpress.objective.ExpansionObjective` is of other losses; but here a row's values are computed for the
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
    ) -> None:
        self.rows, self.trust = rows, trust
        self.max_bytes = max_bytes or arrays.DEFAULT_MAX_BYTES
        xp, device = arrays.namespace(targets), arrays.device_of(targets)
        self._on_host = isinstance(targets, np.ndarray)
        self._scale = float(sizes @ np.abs(sides).sum(axis=1)) or 1.0
        anchor = 0.0 if sides.all() else anchor
        groups = groups_of(targets, sizes, np.abs(sides), anchor, thin)
        self._n_background = len(groups) - len(sides)
        without = np.zeros((self._n_background, sides.shape[1]))  # the background takes no sides
        self._groups = [
            (group, group.columns(xp.asarray(s, device=device)))
            for group, s in zip(groups, [*without, *sides], strict=True)
        ]

    def value_and_grad(self, at: Parameters, *, width: bool = False) -> Gradient:
        """Return the loss and its derivatives; that of γ only if ``width``."""
        V, kernel = at.vectors, at.kernel
        xp, m = arrays.namespace(V), V.shape[0]
        if not better_at_once(self.rows, m, len(self._groups), self.max_bytes):
            return self._sum(self._each(lambda item: self._of_group(*item, at, width), self._groups, m), at, width)
        K = kernel.gram(self.rows, V)
        slopes = xp.zeros_like(K)

        def of_group(item: tuple[Group, Array]) -> Gradient:
            group, sides = item
            part, G = self._of_block(group, slice(0, group.targets.shape[0]), sides, K[group.rows, :], at)
            slopes[group.rows, :] += G
            return part

        first, others = self._groups[: self._n_background], self._groups[self._n_background :]
        parts = [of_group(item) for item in first]
        parts += self._each(of_group, others, m)  # these have rows of their own
        total = self._sum(parts, at, width)
        slope = kernel.pullback_gamma(self.rows, V, K, slopes) if width else None
        return replace(total, vectors=kernel.pullback(self.rows, V, K, slopes), gamma=slope)

    def _each(
        self, function: Callable[[tuple[Group, Array]], Gradient], items: list[tuple[Group, Array]], m: int
    ) -> list[Gradient]:
        """Return what each group contributes to m vectors: side by side, unless there is too little to do."""
        threaded = self._on_host and self.rows.shape[0] * m > WORTH_THREADS
        return side_by_side(function, items) if threaded else [function(item) for item in items]

    def _sum(self, parts: list[Gradient], at: Parameters, width: bool) -> Gradient:
        xp = arrays.namespace(at.vectors)
        dV, dA, db = xp.zeros_like(at.vectors), xp.zeros_like(at.coef), xp.zeros_like(at.intercept)
        total = Gradient(0.0, dV, dA, db, 0.0 if width else None)
        for part in parts:
            total = total.plus(part)
        return total

    def _of_group(self, group: Group, sides: Array, at: Parameters, width: bool) -> Gradient:
        """Return what a group contributes, block by block."""
        V, kernel = at.vectors, at.kernel
        total = self._sum([], at, width)
        per_row = 8 * (5 * V.shape[0] + 4 * group.targets.shape[1] + 2 * V.shape[1])
        for block, where in group.blocks(per_row, self.max_bytes // 4):
            X = arrays.take(self.rows, where)
            K = kernel.gram(X, V)
            part, G = self._of_block(group, block, sides, K, at)
            slope = kernel.pullback_gamma(X, V, K, G) if width else None
            total = total.plus(replace(part, vectors=kernel.pullback(X, V, K, G), gamma=slope))
        return total

    def _of_block(self, group: Group, block: slice, sides: Array, K: Array, at: Parameters) -> tuple[Gradient, Array]:
        """Return what rows contribute but for V and γ, and the derivatives with respect to their kernel values K."""
        xp = arrays.namespace(K)
        A, b = group.columns(at.coef), group.columns(at.intercept)
        R = self._residuals(xp.matmul(K, A) + b, group.targets[block, :], sides)
        dF = R * group.weights
        value = float(xp.sum(R * dF)) / self._scale
        dF *= 2 / self._scale
        dA, db = group.spread(xp.matmul(K.T, dF)), group.spread(xp.sum(dF, axis=0))
        return Gradient(value, 0.0, dA, db, None), xp.matmul(dF, A.T)

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
