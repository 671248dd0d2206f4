"""Rows of a Dask collection as shards: each partition stays on a worker, and what is asked of it comes back as a sum.

Nothing here schedules, sends or recovers: partitions are tasks of Dask that are kept (``persist``). When a worker is
lost, the scheduler makes its partitions again from the collection, and sums that were under way are asked for again.
Sums are added up in a fixed order, eight at a time and on workers, so that the client gets one, however many partitions
there are, and the same one every time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from svmpress.distributed.clusters import check_workers, current_client, fair_threads, while_there
from svmpress.errors import InputError, SvmpressError
from svmpress.model import KernelModel
from svmpress.numerics import Columns, Shard, Sums, added, at_most, is_csr

Item = TypeVar("Item")
Result = TypeVar("Result")

_TOGETHER = 8
"""Sums that are added up by one task."""


def is_sharded(collection: Any) -> bool:
    """Return whether this is a Dask array, DataFrame or Series.

    Examples
    --------
    >>> is_sharded([[1.0, 2.0]])
    False
    """
    return type(collection).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(
        collection, "__dask_graph__"
    )


def shards_of(X: Any, y: Any, check: Callable[[Any, Any, Any], Shard], source: KernelModel | None) -> DaskShards:
    """Return the partitions of rows, and of answers if there are any, as shards.

    Parameters
    ----------
    X : dask.array.Array (n, d), or dask.dataframe.DataFrame
        An array may have blocks of CSR.
    y : dask.array.Array (n,), dask.dataframe.Series, or None
        In partitions like those of X.
    check : callable
        From rows, answers (or None) and the source to a shard, on a worker.
    source : KernelModel or None

    Raises
    ------
    InputError
        When something is wrong with a partition, or the cluster is gone, or its workers cannot use the source.
    """
    from dask.delayed import delayed

    rows, answers = _partitions(X, "X"), None if y is None else _partitions(y, "y")
    if answers is not None and len(answers) != len(rows):
        raise InputError(f"X has {len(rows)} partitions and y has {len(answers)}: divide both at the same rows")
    cluster, context = _Cluster.current(), delayed((check, source), traverse=False)
    if cluster.client is not None and source is not None:
        check_workers(cluster.client, source)
    each = [None] * len(rows) if answers is None else answers
    taken = cluster.kept(
        [delayed(_taken_in)(x, of_x, i, context) for i, (x, of_x) in enumerate(zip(rows, each, strict=True))]
    )
    found = cluster.computed([delayed(_described)(part) for part in taken])
    for i, (_, _, kind) in enumerate(found):
        if kind != found[0][2]:
            raise InputError(f"partition {i} holds {kind}, and partition 0 {found[0][2]}: give all the same type")
    sizes, first, numbered = [size for size, _, _ in found], 0, []
    for part, size in zip(taken, sizes, strict=True):
        numbered.append(delayed(_numbered)(part, first))
        first += size
    return DaskShards(tuple(cluster.kept(numbered)), cluster, tuple(sizes), found[0][1])


def _partitions(collection: Any, name: str) -> list[Any]:
    """Return the partitions of a collection as delayed objects; all columns together."""
    if not is_sharded(collection):
        raise InputError(f"{name} is no Dask collection, but the other of X and y is: give both as such")
    if hasattr(collection, "rechunk") and collection.ndim > 1:
        collection = collection.rechunk(dict.fromkeys(range(1, collection.ndim), -1))
    parts = collection.to_delayed()
    return list(parts.ravel()) if hasattr(parts, "ravel") else list(parts)


# ---------------------------------------------------------------------------------------------------------
# On workers
# ---------------------------------------------------------------------------------------------------------


@contextmanager
def _for_partition(number: int) -> Iterator[None]:
    """Use no more threads than a task of this worker may, and say in which partition an error is."""
    try:
        with at_most(fair_threads()):
            yield
    except SvmpressError as e:
        raise InputError(f"partition {number}: {e}") from e


def _taken_in(X: Any, y: Any, number: int, context: tuple[Callable[[Any, Any, Any], Shard], Any]) -> Shard:
    check, source = context
    with _for_partition(number):
        return _readable(check(X, y, source))


def _readable(shard: Shard) -> Shard:
    """Return a shard as the extension reads rows: what came from another worker may begin at any byte."""

    def aligned(a: Any) -> Any:
        return a if is_csr(a) or a.dtype == object else np.require(a, requirements=["C", "A"])

    return replace(shard, X=aligned(shard.X), columns={name: aligned(a) for name, a in shard.columns.items()})


def _described(shard: Shard) -> tuple[int, int, str]:
    kind = f"{'sparse' if is_csr(shard.X) else 'dense'} {shard.X.dtype}"
    return shard.n, int(shard.X.shape[1]), kind


def _numbered(shard: Shard, first: int) -> Shard:
    return replace(shard, first=first)


def _asked(shard: Shard, number: int, function: Callable[..., Any], told: Sequence[Any]) -> Any:
    with _for_partition(number):
        return function(_readable(shard), *told)


def _with_columns(shard: Shard, number: int, function: Callable[..., Columns], told: Sequence[Any]) -> Shard:
    with _for_partition(number):
        shard = _readable(shard)
        return replace(shard, columns={**shard.columns, **function(shard, *told)})


# ---------------------------------------------------------------------------------------------------------
# On the client
# ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Cluster:
    """Who computes: a client of a cluster, or None where Dask computes in this process."""

    client: Any

    @classmethod
    def current(cls) -> _Cluster:
        return cls(current_client())

    def computed(self, tasks: Sequence[Any]) -> list[Any]:
        """Return the results of tasks."""
        import dask

        with self._there() as options:
            return list(dask.compute(*tasks, **options))

    def kept(self, tasks: Sequence[Any]) -> list[Any]:
        """Start tasks whose results stay where they are made."""
        import dask

        with self._there() as options:
            return list(dask.persist(*tasks, **options))

    @contextmanager
    def _there(self) -> Iterator[dict[str, Any]]:
        """Give the options of a computation, and say in one sentence that the cluster is gone."""
        if self.client is None:
            yield {}
            return
        then = " before the work was done; nothing was written"
        if self.client.status != "running":
            raise InputError(f"the Dask cluster went away{then}")
        with while_there(self.client, then):
            yield {"scheduler": self.client}


@dataclass(frozen=True, eq=False)
class _Summable:
    """Parts that can be summed over."""

    parts: tuple[Any, ...]
    cluster: _Cluster

    def total(self, function: Callable[..., Sums], *told: Any) -> Sums:
        """Return the sum of a function of each shard and what all of them are told."""
        from dask.delayed import delayed

        context = delayed(told, traverse=False)
        sums = [delayed(_asked)(part, i, function, context) for i, part in enumerate(self.parts)]
        while len(sums) > 1:
            sums = [delayed(added)(sums[i : i + _TOGETHER]) for i in range(0, len(sums), _TOGETHER)]
        (found,) = self.cluster.computed(sums)
        return tuple(found)


@dataclass(frozen=True, eq=False)
class DaskShards(_Summable):
    """The partitions of a Dask collection; see :class:`~svmpress.numerics.Shards`."""

    sizes: tuple[int, ...]
    n_features: int

    def each(self, function: Callable[[Shard, Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the function of each shard and its item."""
        from dask.delayed import delayed

        tasks = [
            delayed(_asked)(part, i, function, delayed((item,), traverse=False))
            for i, (part, item) in enumerate(zip(self.parts, items, strict=True))
        ]
        return self.cluster.computed(tasks)

    def beside(self, function: Callable[..., Columns], *told: Any) -> DaskShards:
        """Return the shards with columns that a function makes of each, kept by the workers."""
        return replace(self, parts=self._kept(_with_columns, function, told))

    def arranged(self, function: Callable[..., Shard], *told: Any) -> _Summable:
        """Return the shards as a function rearranges each, kept by the workers."""
        return _Summable(self._kept(_asked, function, told), self.cluster)

    def _kept(self, how: Callable[..., Shard], function: Callable[..., Any], told: Sequence[Any]) -> tuple[Any, ...]:
        from dask.delayed import delayed

        context = delayed(tuple(told), traverse=False)
        return tuple(self.cluster.kept([delayed(how)(part, i, function, context) for i, part in enumerate(self.parts)]))
