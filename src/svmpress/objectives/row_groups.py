"""Who hears which rows: groups of rows that weigh alike, and the outputs that listen to them.

A machine of a pair of classes is for rows of these two, and rows of the others count little. Rows are therefore sorted
by class, and the rows of a class are heard by the outputs that they concern; besides, all outputs hear every so many of
all rows, the *background*. Of 26 classes a row then costs 25 outputs and a part of 325 instead of 325.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from svmpress.numerics import Array, Floats, Rows, arrays, side_by_side

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Group:
    """Rows, and the outputs that hear them, with their weights (k,) and targets (n, k).

    ``outputs`` are their positions among all M, and None where these are all.
    """

    rows: slice
    outputs: Array | None
    n_outputs: int
    weights: Array
    targets: Array

    @property
    def every(self) -> slice:
        """All rows, as positions in the group."""
        return slice(0, self.targets.shape[0])

    @property
    def is_background(self) -> bool:
        """Whether the rows are in other groups, too; those of all others are their own."""
        return self.rows.step is not None

    def columns(self, a: Array) -> Array:
        """Return the columns of (..., M) that belong to the outputs."""
        return a if self.outputs is None else arrays.namespace(a).take(a, self.outputs, axis=-1)

    def spread(self, a: Array) -> Array:
        """Return (..., k) as (..., M), with zeros for the other outputs."""
        if self.outputs is None:
            return a
        if isinstance(a, np.ndarray):  # a matrix for each of many classes would be most of the memory
            whole = np.zeros((*a.shape[:-1], self.n_outputs), a.dtype)
            whole[..., self.outputs] = a
            return whole
        xp, device = arrays.namespace(a), arrays.device_of(a)
        place = self.outputs[:, None] == xp.arange(self.n_outputs, device=device)[None, :]
        return xp.matmul(a, xp.astype(place, a.dtype))

    def blocks(self, bytes_per_row: int, max_bytes: int) -> Iterator[tuple[slice, slice]]:
        """Yield blocks of rows, as positions in the group and among all rows."""
        first, step = self.rows.start, self.rows.step or 1
        for block in arrays.blocks(self.targets.shape[0], bytes_per_row, max_bytes):
            yield block, slice(first + step * block.start, first + step * (block.stop - 1) + 1, step)


def groups_of(
    targets: Array, sizes: NDArray[np.intp], weights: Floats, background: float = 0.0, thin: int = 1
) -> list[Group]:
    """Return the groups of rows that are sorted by group, and the background before them if it has a weight.

    Parameters
    ----------
    targets : (n, M)
    sizes : (g,) int
        Rows in each group.
    weights : (g, M)
        Weight of each group's rows for each output; those of weight 0 do not hear them.
    background : float
        A weight of all rows for all outputs, besides.
    thin : int
        The background is every so many rows, with the weight of all.
    """
    n = targets.shape[0]
    if not background:
        return groups_with(targets, sizes, weights)
    heard = slice(0, n, thin)
    return groups_with(targets, sizes, weights, heard, background * n / max(1, len(range(n)[heard])))


def groups_with(
    targets: Array,
    sizes: NDArray[np.intp],
    weights: Floats,
    heard: slice | None = None,
    weight: float = 0.0,
) -> list[Group]:
    """Return the groups of rows that are sorted by group, before them those that are ``heard`` by all outputs.

    Parameters
    ----------
    targets, sizes, weights
        As for :func:`groups_of`.
    heard : slice, optional
        With a step, since these rows may be in other groups, too.
    weight : float
        Of each of them.
    """
    stops = np.cumsum(sizes)
    groups = [
        _group(targets, slice(int(stop - size), int(stop)), w)
        for size, stop, w in zip(sizes, stops, weights, strict=True)
    ]
    if heard is None:
        return groups
    return [_group(targets, heard, np.full(targets.shape[1], weight)), *groups]


def _group(targets: Array, rows: slice, weights: Floats) -> Group:
    """Return rows for the outputs of positive weight; for all of them if there are no others, or no such."""
    xp, device = arrays.namespace(targets), arrays.device_of(targets)

    def here(a: Floats) -> Array:
        return xp.asarray(a, device=device)

    T = targets[rows, :]
    if weights.all() or not weights.any():
        return Group(rows, None, T.shape[1], here(weights), T)
    which = np.flatnonzero(weights)
    outputs = xp.asarray(which, device=device)
    return Group(rows, outputs, T.shape[1], here(weights[which]), xp.take(T, outputs, axis=1))


def better_at_once(rows: Rows, like: Array, m: int, n_groups: int, max_bytes: int) -> bool:
    """Return whether kernel values, and their way back to m vectors, are better computed for all groups together.

    That is so where there are more features than rows in a group: what is done with V then costs more than what is done
    with the rows. On another device it is so always: a call costs more there than what it does with one group. It takes
    memory for some five matrices of rows and vectors. ``like`` is any array where it is done.
    """
    n, d = rows.shape
    pays = d > n // n_groups or not isinstance(like, np.ndarray)
    return n_groups > 1 and pays and n * (40 * m + arrays.extra_bytes(rows, like)) <= max_bytes


def slopes_at_once(
    groups: Sequence[Group], K: Array, of_group: Callable[[int], tuple[Result, Array]], worth: bool
) -> tuple[list[Result], Array]:
    """Return what groups contribute, and the derivatives with respect to the kernel values K (n, m) of all rows.

    Parameters
    ----------
    groups : sequence of Group
        Those of the background first.
    K : (n, m)
    of_group : callable
        Returns for the position of a group what it contributes, and the derivatives for its rows.
    worth : bool
        Whether groups are worth threads; the background is added before them, since they share its rows.
    """
    slopes = arrays.namespace(K).zeros_like(K)

    def added(g: int) -> Result:
        part, G = of_group(g)
        slopes[groups[g].rows, :] += G
        return part

    n_background = sum(group.is_background for group in groups)
    parts = [added(g) for g in range(n_background)]
    return parts + side_by_side(added, range(n_background, len(groups)), worth=worth), slopes
