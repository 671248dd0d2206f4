"""Who hears which rows: groups of rows that weigh alike, and the outputs that listen to them.

A machine of a pair of classes is for rows of these two, and rows of the others count little. Rows are therefore sorted
by class, and in each such group the outputs that it concerns listen to every row, the others to every so many: of 26
classes a row then costs 25 outputs and a part of 300 instead of 325.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmpress import arrays
from svmpress.arrays import Array, Floats


@dataclass(frozen=True, eq=False)
class Listeners:
    """Outputs that hear every ``step``-th row of a group, with their weights (k,) and targets (n / step, k).

    ``outputs`` is None where these are all; else ``place`` (k, M) is 1 where column i of k is output j of M.
    """

    step: int
    outputs: Array | None
    place: Array | None
    weights: Array
    targets: Array

    def columns(self, a: Array) -> Array:
        """Return the columns of (..., M) that belong to the outputs."""
        return a if self.outputs is None else arrays.namespace(a).take(a, self.outputs, axis=-1)

    def spread(self, a: Array) -> Array:
        """Return (..., k) as (..., M), with zeros for the other outputs."""
        return a if self.place is None else arrays.namespace(a).matmul(a, self.place)

    def targets_of(self, block: slice) -> Array:
        """Return the targets of the rows that are heard in a block, which begins at a multiple of the step."""
        return self.targets[block.start // self.step : -(-block.stop // self.step), :]


@dataclass(frozen=True, eq=False)
class Group:
    """Rows that weigh alike for each output, and who listens to them."""

    rows: slice
    listeners: tuple[Listeners, ...]
    thin: int
    """The longest step that a listener may have."""

    def blocks(self, bytes_per_row: int, max_bytes: int) -> Iterator[tuple[slice, slice]]:
        """Yield blocks of rows, as positions in the group and among all rows; every listener hears their first."""
        n, first = self.rows.stop - self.rows.start, self.rows.start
        for part in arrays.blocks(-(-n // self.thin), bytes_per_row * self.thin, max_bytes):
            block = slice(self.thin * part.start, min(self.thin * part.stop, n))
            yield block, slice(first + block.start, first + block.stop)


def groups_of(targets: Array, sizes: NDArray[np.intp], weights: Floats, thin: int) -> list[Group]:
    """Return the groups of rows that are sorted by group.

    Parameters
    ----------
    targets : (n, M)
    sizes : (g,) int
        Rows in each group.
    weights : (g, M)
        Weight of each group's rows for each output.
    thin : int
        Outputs with the smallest weight of a group, where others have more, hear only every so many of its rows, with
        the weight of all.
    """
    stops = np.cumsum(sizes)
    return [
        _group(targets, slice(int(stop - size), int(stop)), w, thin)
        for size, stop, w in zip(sizes, stops, weights, strict=True)
    ]


def _group(targets: Array, rows: slice, weights: Floats, thin: int) -> Group:
    light = weights == weights.min()
    if thin == 1 or light.all() or rows.stop - rows.start < 2 * thin:
        return Group(rows, (_listeners(targets, rows, weights, 1),), thin)
    parts = (np.where(light, 0.0, weights), 1), (np.where(light, weights, 0.0), thin)
    return Group(rows, tuple(_listeners(targets, rows, some, step) for some, step in parts if some.any()), thin)


def _listeners(targets: Array, rows: slice, weights: Floats, step: int) -> Listeners:
    """Return the outputs of positive weight; all of them if there are no others."""
    xp, device = arrays.namespace(targets), arrays.device_of(targets)

    def here(a: Floats) -> Array:
        return xp.asarray(a, device=device)

    T = targets[slice(rows.start, rows.stop, step), :]
    weights = weights * (rows.stop - rows.start) / max(1, T.shape[0])
    if weights.all() or not weights.any():
        return Listeners(step, None, None, here(weights), T)
    which = np.flatnonzero(weights)
    outputs = xp.asarray(which, device=device)
    place = here(np.eye(targets.shape[1])[which])
    return Listeners(step, outputs, place, here(weights[which]), xp.take(T, outputs, axis=1))
