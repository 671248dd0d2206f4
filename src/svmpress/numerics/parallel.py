"""How many threads there are to use, and several things done at once on them.

A small matrix product gains nothing from a second thread of BLAS, and often loses; several of them side by side gain.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import scipy
from threadpoolctl import ThreadpoolController

from svmpress.errors import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")


def _default_threads() -> int:
    said = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if said.isdecimal() and int(said) > 0:
        return int(said)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_THREADS = _default_threads()


_here = threading.local()


def threads() -> int:
    """Return how many threads a computation uses at most, when not told otherwise."""
    return int(getattr(_here, "most", _THREADS))


@contextmanager
def at_most(count: int | None) -> Iterator[None]:
    """Let what this thread computes use that many threads; None: as many as ever.

    Examples
    --------
    >>> with at_most(1):
    ...     threads()
    1
    """
    before = getattr(_here, "most", _THREADS)
    _here.most = before if count is None else count
    try:
        yield
    finally:
        _here.most = before


@lru_cache(maxsize=1)
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


@lru_cache(maxsize=1)
def _blas_of_scipy() -> ThreadpoolController:
    """Return the control of a BLAS that came with SciPy and serves nobody else; of nothing where there is none."""
    package = Path(scipy.__file__).resolve().parent
    homes = (package, package.with_name("scipy.libs"))
    own = [info["filepath"] for info in _blas().info() if any(Path(info["filepath"]).is_relative_to(h) for h in homes)]
    return _blas().select(filepath=own)


def one_blas_thread() -> AbstractContextManager[object]:
    """Return a context in which BLAS and LAPACK compute on one thread."""
    return _blas().limit(limits=1)


def one_scipy_thread() -> AbstractContextManager[object]:
    """Return a context in which SciPy's routines compute on one thread, while NumPy may use all.

    As wheels, NumPy and SciPy each bring an OpenBLAS of their own, with its own threads, which go on spinning for a
    while after they have worked. When both are used in turn, they get in each other's way: on two cores L-BFGS with
    vectors of 17,000 numbers took 92 ms a step, and 30 in this context.
    """
    return _blas_of_scipy().limit(limits=1)


def side_by_side(function: Callable[[Item], Result], items: Iterable[Item], *, worth: bool = True) -> list[Result]:
    """Return the function of each item, in order, computed on all threads, with BLAS on one thread in each of them.

    One after the other if it is not ``worth`` that.

    Examples
    --------
    >>> side_by_side(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    items = list(items)
    if not worth or threads() == 1 or len(items) < 2:
        return [function(item) for item in items]
    with one_blas_thread(), ThreadPoolExecutor(min(threads(), len(items))) as pool:
        return list(pool.map(function, items))


def executor_of(pool: Any) -> Executor | None:
    """Return an executor for what a caller gives as one: any of ``concurrent.futures``, a client of Dask, or None.

    Raises
    ------
    InputError
        When it is none of these.

    Examples
    --------
    >>> with ThreadPoolExecutor(1) as pool:
    ...     executor_of(pool).submit(abs, -1).result()
    1
    """
    if pool is None or isinstance(pool, Executor):
        return pool
    if hasattr(pool, "get_executor"):  # a client of Dask
        made: Executor = pool.get_executor(pure=False)
        return made
    raise InputError(f"executor must be an Executor of concurrent.futures or a client of Dask, not {pool!r}")
