"""Rows that are too many for memory, as shards in files of a scratch folder: a data file is read once.

Text is slow to read, and what is compressed cannot be read from the middle. So the first and only pass over a data file
writes its rows, checked and scaled, as plain arrays, and every later pass reads those, as fast as the disk is. The
folder is made where temporary files go (``TMPDIR``) and removed at the end, whatever happens.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from svmpress.errors import InputError
from svmpress.numerics import Columns, Rows, Shard, Summable, Sums, added, arrays

Item = TypeVar("Item")
Result = TypeVar("Result")

SHARD_BYTES = 2**26
"""About how many bytes of rows make one shard."""
_CSR = ("data", "indices", "indptr")


@dataclass(eq=False)
class SpooledShards:
    """Shards in files; see :class:`~svmpress.numerics.Shards`.

    Parameters
    ----------
    folder : Path
    sizes : tuple of int
        Rows in each.
    n_features : int
    columns : tuple of str
        What is kept beside the rows.
    is_dense : bool
        Whether rows are dense once they are read, whatever the files hold; else they are CSR.
    """

    folder: Path
    sizes: tuple[int, ...]
    n_features: int
    columns: tuple[str, ...]
    is_dense: bool

    def _read(self, i: int) -> Shard:
        if _file(self.folder, i, "rows").exists():
            X: Rows = arrays.widen(np.load(_file(self.folder, i, "rows")), self.n_features)
            X = X if self.is_dense else sparse.csr_array(X)
        else:
            parts = tuple(np.load(_file(self.folder, i, name)) for name in _CSR)
            X = sparse.csr_array(parts, shape=(self.sizes[i], self.n_features))
            X = X.toarray() if self.is_dense else X
        columns = {name: np.load(_file(self.folder, i, f"column-{name}")) for name in self.columns}
        return Shard(X, columns, sum(self.sizes[:i]))

    def __iter__(self) -> Iterator[Shard]:
        with ThreadPoolExecutor(1) as ahead:  # the next one is read while this one is worked on
            coming = ahead.submit(self._read, 0)
            for i in range(len(self.sizes)):
                shard = coming.result()
                if i + 1 < len(self.sizes):
                    coming = ahead.submit(self._read, i + 1)
                yield shard

    def each(self, function: Callable[[Shard, Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the function of each shard and its item."""
        return [function(shard, item) for shard, item in zip(self, items, strict=True)]

    def total(self, function: Callable[..., Sums], *told: Any) -> Sums:
        """Return the sum of a function of each shard and what all of them are told."""
        return _total(function(shard, *told) for shard in self)

    def beside(self, function: Callable[..., Columns], *told: Any) -> SpooledShards:
        """Return the shards with columns that a function makes of each, written beside the rows.

        Columns of a name that is there are written over: what was made before is not to be read any more.
        """
        names: set[str] = set()
        for i, shard in enumerate(self):
            made = function(shard, *told)
            names |= set(made)
            with _room(self.folder):
                _write(self.folder, i, {f"column-{name}": a for name, a in made.items()})
        columns = tuple(sorted({*self.columns, *names}))
        return SpooledShards(self.folder, self.sizes, self.n_features, columns, self.is_dense)

    def arranged(self, function: Callable[..., Shard], *told: Any) -> Summable:
        """Return the shards as a function rearranges each, whenever it is read."""
        return _Arranged(self, function, told)


@dataclass(frozen=True, eq=False)
class _Arranged:
    """Shards that are rearranged when they are read."""

    shards: SpooledShards
    function: Callable[..., Shard]
    told: tuple[Any, ...]

    def total(self, function: Callable[..., Sums], *told: Any) -> Sums:
        """Return the sum of a function of each shard and what all of them are told."""
        return _total(function(self.function(shard, *self.told), *told) for shard in self.shards)


def _total(parts: Iterable[Sums]) -> Sums:
    total: Sums | None = None
    for part in parts:
        total = part if total is None else added([total, part])
    assert total is not None
    return total


# ---------------------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Spool:
    """A scratch folder that rows are put into, block by block; :func:`spooling` makes one.

    Parameters
    ----------
    folder : Path
    """

    folder: Path
    _waiting: list[Shard] = field(default_factory=list)
    _bytes: int = 0
    _sizes: list[int] = field(default_factory=list)
    _width: int = 0
    _stored: int = 0

    def put(self, shard: Shard) -> None:
        """Take in more rows; sparse ones may be wider than those before."""
        self._waiting.append(shard)
        self._bytes += arrays.stored_bytes(shard.X)
        self._width = max(self._width, int(shard.X.shape[1]))
        if self._bytes >= SHARD_BYTES:
            self._flush()

    def finished(self, dense_from: float) -> SpooledShards:
        """Return what was put in as shards; sparse rows as dense ones if they hold at least that share of values."""
        self._flush()
        n, any_sparse = sum(self._sizes), any(self.folder.glob("*-indptr.npy"))
        columns = tuple(sorted(p.stem.removeprefix("0-column-") for p in self.folder.glob("0-column-*.npy")))
        is_dense = not any_sparse or self._stored >= dense_from * n * self._width
        return SpooledShards(self.folder, tuple(self._sizes), self._width, columns, is_dense)

    def _flush(self) -> None:
        if not self._waiting:
            return
        X = arrays.concatenated(*(arrays.widen(part.X, self._width) for part in self._waiting))
        names = self._waiting[0].columns
        columns = {f"column-{k}": np.concatenate([part.columns[k] for part in self._waiting]) for k in names}
        rows = dict(zip(_CSR, (X.data, X.indices, X.indptr), strict=True)) if arrays.is_csr(X) else {"rows": X}
        with _room(self.folder):
            _write(self.folder, len(self._sizes), {**rows, **columns})
        self._sizes.append(int(X.shape[0]))
        self._stored += int(X.nnz) if arrays.is_csr(X) else X.size
        self._waiting, self._bytes = [], 0


@contextmanager
def spooling() -> Iterator[Spool]:
    """Give a spool in a scratch folder, which is removed at the end.

    Examples
    --------
    >>> with spooling() as spool:
    ...     spool.put(Shard(np.ones((3, 2))))
    ...     spool.put(Shard(np.ones((2, 2))))
    ...     spool.finished(0.25).total(lambda shard: (shard.n, float(shard.X.sum())))
    (5, 10.0)
    """
    with tempfile.TemporaryDirectory(prefix="svmpress-rows-", ignore_cleanup_errors=True) as folder:
        yield Spool(Path(folder))


def _file(folder: Path, i: int, name: str) -> Path:
    return folder / f"{i}-{name}.npy"


def _write(folder: Path, i: int, named: Mapping[str, Any]) -> None:
    for name, array in named.items():
        np.save(_file(folder, i, name), np.asarray(array), allow_pickle=False)


@contextmanager
def _room(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as e:
        raise InputError(
            f"cannot keep the rows in {folder.parent}: {e.strerror or e}; TMPDIR names another folder for them"
        ) from e
