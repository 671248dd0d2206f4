"""Losses of decision values that know which side a row belongs on.

A classifier is not asked for the source's decision values but for their signs, and only for those that matter: of a
one-vs-one model, the machines that involve a row's own class. :class:`MarginLoss` pushes these to their side until a
margin is met, and holds the others near the source with a small weight.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmpress import arrays
from svmpress.arrays import Array
from svmpress.decoders import class_pairs


class MarginLoss:
    """``Σ_ip max(0, τ_ip - s_ip F_ip)²`` where a side s is given, ``anchor · Σ_ip (F_ip - T_ip)²`` where it is not.

    Divided by the number of sides, so that it is a mean.

    Parameters
    ----------
    sides : (n, M)
        +1 or -1 where the value should be of that sign, 0 where only the source matters.
    targets : (n, M)
        The source's decision values T.
    trust : bool
        Whether the margin is the source's own where that is smaller, ``τ = min(1, max(0, s T))``: a push stops where
        the source stands. Otherwise τ = 1, the squared hinge of equation 1.
    anchor : float
    """

    def __init__(self, sides: Array, targets: Array, *, trust: bool, anchor: float = 0.01) -> None:
        self.sides, self.targets, self.trust, self.anchor = sides, targets, trust, anchor
        self.n_outputs = int(targets.shape[1])
        xp = arrays.namespace(sides)
        self.scale = float(xp.sum(xp.abs(sides))) or 1.0

    def value_and_grad(self, F: Array, rows: slice) -> tuple[Array, Array]:
        """Return the loss and its gradient, (k, M)."""
        xp = arrays.namespace(F)
        s, T = self.sides[rows, :], self.targets[rows, :]
        one = xp.ones_like(F)
        margin = xp.minimum(one, xp.maximum(s * T, 0 * one)) if self.trust else one
        short = xp.maximum(margin - s * F, 0 * one) * s  # signed, and 0 where no side is given
        off = (F - T) * (1 - s * s)
        value = (xp.sum(short * short) + self.anchor * xp.sum(off * off)) / self.scale
        return value, (off * self.anchor - short) * (2 / self.scale)


class RivalLoss:
    """``Σ_i Σ_{j≠c} max(0, 1 - (F_ic - F_ij))²`` for rows of class c and one output a class, divided by its terms.

    Parameters
    ----------
    own : (n, K)
        1 at each row's class, 0 elsewhere.
    """

    def __init__(self, own: Array) -> None:
        self.own = own
        self.n_outputs = int(own.shape[1])
        self.scale = float(own.shape[0] * (own.shape[1] - 1)) or 1.0

    def value_and_grad(self, F: Array, rows: slice) -> tuple[Array, Array]:
        """Return the loss and its gradient, (k, K)."""
        xp = arrays.namespace(F)
        own = self.own[rows, :]
        lead = xp.sum(F * own, axis=1)[:, None] - F
        short = xp.maximum(1 - lead, xp.zeros_like(F)) * (1 - own)
        gradient = short - own * xp.sum(short, axis=1)[:, None]
        return xp.sum(short * short) / self.scale, gradient * (2 / self.scale)


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
