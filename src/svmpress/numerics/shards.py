"""Rows in shards: what is done with rows that are too many for one place.

A shard is consecutive rows that are held together: in memory, in a file of a scratch folder, or by a worker of a
cluster. Whoever needs something of all rows asks each shard for its part and gets the sum, which is small. Nobody ever
holds all rows, and what is computed is the same wherever the shards are, to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from svmpress.numerics import arrays
from svmpress.numerics.arrays import Rows

Item = TypeVar("Item")
Result = TypeVar("Result")
Columns = Mapping[str, NDArray[Any]]
Sums = tuple[Any, ...]
"""What shards are asked for: numbers and arrays that are added up one by one."""


@dataclass(frozen=True, eq=False)
class Shard:
    """Consecutive rows of many.

    Parameters
    ----------
    X : (k, d)
    columns : mapping of str to (k, ...) arrays
        What is known of each row: its answer, the values of a model.
    first : int
        How many rows come before them, of all shards.
    """

    X: Rows
    columns: Columns = field(default_factory=dict)
    first: int = 0

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    def taken(self, rows: NDArray[np.intp]) -> Shard:
        """Return some of the rows, by their positions in the shard."""
        return Shard(arrays.take(self.X, rows), {name: a[rows] for name, a in self.columns.items()}, self.first)


class Summable(Protocol):
    """What can be summed over shards.

    Functions are called where the shards are, which may be in another process: they must be known by name there.
    """

    def total(self, function: Callable[..., Sums], *told: Any) -> Sums:
        """Return the sum of a function of each shard and what all of them are told."""


class Shards(Summable, Protocol):
    """All shards of some rows, in order."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows in each shard."""

    @property
    def n_features(self) -> int:
        """Columns of the rows."""

    def each(self, function: Callable[[Shard, Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the function of each shard and its item."""

    def beside(self, function: Callable[..., Columns], *told: Any) -> Shards:
        """Return the shards with columns that a function makes of each, computed once and kept with the rows."""

    def arranged(self, function: Callable[..., Shard], *told: Any) -> Summable:
        """Return the shards as a function rearranges each."""


@dataclass(frozen=True, eq=False)
class LocalShards:
    """Shards in the memory of this process; see :class:`Shards`.

    Examples
    --------
    >>> shards = LocalShards((Shard(np.ones((2, 3))), Shard(np.ones((4, 3)), first=2)))
    >>> shards.total(lambda shard, factor: (factor * float(shard.X.sum()),), 10.0)
    (180.0,)
    """

    shards: tuple[Shard, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows in each shard."""
        return tuple(shard.n for shard in self.shards)

    @property
    def n_features(self) -> int:
        """Columns of the rows."""
        return int(self.shards[0].X.shape[1])

    def each(self, function: Callable[[Shard, Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the function of each shard and its item."""
        return [function(shard, item) for shard, item in zip(self.shards, items, strict=True)]

    def total(self, function: Callable[..., Sums], *told: Any) -> Sums:
        """Return the sum of a function of each shard and what all of them are told."""
        return added([function(shard, *told) for shard in self.shards])

    def beside(self, function: Callable[..., Columns], *told: Any) -> LocalShards:
        """Return the shards with columns that a function makes of each."""
        return LocalShards(tuple(replace(s, columns={**s.columns, **function(s, *told)}) for s in self.shards))

    def arranged(self, function: Callable[..., Shard], *told: Any) -> LocalShards:
        """Return the shards as a function rearranges each."""
        return LocalShards(tuple(function(shard, *told) for shard in self.shards))


def added(parts: Sequence[Sums]) -> Sums:
    """Return the sums of several, one after the other.

    Examples
    --------
    >>> added([(1, 2.0), (3, 4.0), (5, 6.0)])
    (9, 12.0)
    """
    first, *rest = parts
    for part in rest:
        first = tuple(a + b for a, b in zip(first, part, strict=True))
    return first


def drawn_rows(n: int, k: int, seed: int) -> NDArray[np.intp]:
    """Return k of n positions at random, rising, without memory for all n.

    Examples
    --------
    >>> drawn_rows(10**12, 3, seed=0).tolist()
    [40973523936, 269786713763, 636961687321]
    """
    if 2 * k > n:  # what is left out is fewer
        return np.setdiff1d(np.arange(n), drawn_rows(n, n - k, seed)) if k < n else np.arange(n)
    rng, found = np.random.default_rng(seed), np.empty(0, dtype=np.intp)
    while len(found) < k:  # the first k that differ, of a sequence of positions
        found = np.union1d(found, rng.integers(0, n, k - len(found)))
    return found


def sample_of(shards: Shards, k: int, seed: int) -> Shard:
    """Return k rows that are drawn from all shards, with their columns."""
    starts = np.concatenate([[0], np.cumsum(shards.sizes)])
    drawn = drawn_rows(int(starts[-1]), k, seed)
    cuts = np.searchsorted(drawn, starts)
    own = [drawn[a:b] - start for a, b, start in zip(cuts[:-1], cuts[1:], starts[:-1], strict=True)]
    found = [part for part in shards.each(Shard.taken, own) if part.n]
    columns = {name: np.concatenate([part.columns[name] for part in found]) for name in found[0].columns}
    X = arrays.concatenated(*(part.X for part in found))
    return Shard(X if arrays.is_csr(X) else np.ascontiguousarray(X), columns)
