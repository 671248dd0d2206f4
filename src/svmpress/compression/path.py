"""``compress_path()``: several sizes of one small model, from one search.

The largest size is compressed as usual. The others begin where its choices ended, on the same held-out rows and the
same surrogate, with work in proportion to their vectors, each from the one before: all of them together cost about what
the largest does. A method that has nothing to hand on makes each size by itself, from the next smaller one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal

import numpy as np

from svmpress.compression.budget import Budget
from svmpress.compression.compressor import (
    DEFAULT_MEMORY,
    finished,
    judged,
    method_of,
    posed,
    refuse_ratio_only,
    reported,
)
from svmpress.compression.measuring import Measured, measured
from svmpress.compression.result import Compression, Status
from svmpress.compression.rows import checked_test
from svmpress.compression.wrapped import check_whereabouts
from svmpress.errors import InputError
from svmpress.formats import as_model
from svmpress.methods import Effort, Layout, Method, Outcome, Problem, Progress
from svmpress.model import KernelModel, expansion_bytes
from svmpress.numerics import seed_of
from svmpress.storage import PathLike
from svmpress.wrapping import unwrapped

_LARGEST = 0.2
"""Share of the source's vectors that the largest of the automatic sizes has."""
_SIZES = 6


@dataclass(frozen=True, eq=False)
class CompressionPath:
    """What :func:`compress_path` returns: results from the smallest to the largest.

    Parameters
    ----------
    results : tuple of Compression
    source : KernelModel
    measured : tuple of Measured
        Each of them on the test rows, with intervals; empty where none were given.
    source_measured : Measured or None
        The source on these rows.
    seconds : float
        That all of them took.
    """

    results: tuple[Compression, ...]
    source: KernelModel
    measured: tuple[Measured, ...] = ()
    source_measured: Measured | None = None
    seconds: float = 0.0

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of vectors."""
        return tuple(result.model.n_vectors for result in self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Compression]:
        return iter(self.results)

    def __getitem__(self, i: int) -> Compression:
        return self.results[i]

    def summary(self) -> str:
        """Return a table of the sizes, for a person to read."""
        if not self.measured or self.source_measured is None:
            lines = [f"{'vectors':>9}  {'agreement with the source':<28}"]
            for result in self.results:
                e = result.expected
                lines.append(f"{result.model.n_vectors:>9,}  {'the source itself' if e is None else e.agreement!s:<28}")
            return "\n".join(line.rstrip() for line in lines)
        name = "R²" if self.source.classes_ is None else "accuracy"
        lines = [f"{'vectors':>9}{'bytes':>14}{'time per row':>15}  {name:<28}agreement with the source"]
        for m in (*self.measured, self.source_measured):
            duration = f"{m.seconds_per_row * 1e6:.2f} µs"
            accuracy = "" if m.accuracy is None else str(m.accuracy)
            last = "(the source)" if m is self.source_measured else str(m.agreement)
            lines.append(f"{m.vectors:>9,}{m.bytes:>14,}{duration:>15}  {accuracy:<28}{last}")
        return "\n".join([*lines, f"measured on {self.source_measured.rows:,} rows; {self.seconds:.1f} s in all"])

    def _repr_html_(self) -> str:
        """Return a small table for notebooks, a row a size, in the colours of the page around it."""
        head = ["vectors", "bytes", "R²" if self.source.classes_ is None else "accuracy", "agreement with the source"]
        if self.measured and self.source_measured is not None:
            lines = [[f"{m.vectors:,}", f"{m.bytes:,}", m.accuracy, m.agreement] for m in self.measured]
            last = self.source_measured
            lines.append([f"{last.vectors:,}", f"{last.bytes:,}", last.accuracy, "the source"])
        else:
            lines = []
            for r in self.results:
                known = (None, None) if r.expected is None else (r.expected.accuracy, r.expected.agreement)
                lines.append([f"{r.model.n_vectors:,}", f"{expansion_bytes(r.model.expansion):,}", *known])
        told = [k for k in range(len(head)) if any(line[k] is not None for line in lines)]
        titles = "".join(f'<th scope="col">{head[k]}</th>' for k in told)
        rows = ["".join(f"<td>{'' if line[k] is None else line[k]}</td>" for k in told) for line in lines]
        return f"<table><tr>{titles}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"

    def report(self, path: PathLike, X: Any = None, y: Any = None, **options: Any) -> None:
        """Write a page to look at, with a slider over the sizes; see :meth:`Compression.report`."""
        from svmpress.compression.report import subjects_of, write_page

        write_page(path, self.source, subjects_of(self.results), X, y, **options)


def compress_path(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    sizes: Sequence[int] | Literal["auto"] = "auto",
    X_test: Any = None,
    y_test: Any = None,
    method: str | Method = "auto",
    effort: Effort = "balanced",
    layout: Layout = "shared",
    device: str = "cpu",
    random_state: Any = 0,
    progress: Progress | None = None,
    max_memory: int = DEFAULT_MEMORY,
) -> CompressionPath:
    """Compress a trained kernel SVM to several sizes, to choose from.

    Parameters
    ----------
    model : estimator, KernelModel or path
        As for :func:`compress`; of an estimator around several SVMs, compress each.
    X : (n, d), optional
    y : (n,), optional
        As for :func:`compress`.
    sizes : sequence of int, or "auto"
        Numbers of vectors. ``"auto"``: a fifth of the source's, and halves of that.
    X_test : (n_test, d), optional
        Rows that the source has not seen, to measure all sizes on.
    y_test : (n_test,), optional
    method, effort, layout, device, random_state, progress, max_memory
        As for :func:`compress`; ``effort`` is that of the largest size.

    Returns
    -------
    CompressionPath
        From the smallest to the largest; ``path[0]`` is a :class:`Compression`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> path = compress_path(SVC().fit(X, y), X, y, sizes=[4, 8])
    >>> path.sizes
    (4, 8)
    """
    start, seed = time.perf_counter(), seed_of(random_state)
    options: dict[str, Any] = {"effort": effort, "layout": layout, "device": device, "max_memory": max_memory}
    wrapped = unwrapped(model)
    if wrapped is not None:
        if len(wrapped.parts) != 1:
            raise InputError(f"there are {len(wrapped.parts)} SVMs in the estimator: compress_path is for one")
        check_whereabouts(wrapped, X, y)
        (part,) = wrapped.parts
        X, y = None if X is None else part.rows(X), part.answers(y)
        X_test, y_test = None if X_test is None else part.rows(X_test), part.answers(y_test)
        options |= {"sizes": sizes, "method": method, "random_state": seed, "progress": progress}
        found = compress_path(part.source, X, y, X_test=X_test, y_test=y_test, **options)
        return replace(found, results=tuple(replace(r, rebuilt=wrapped.rebuild([r])) for r in found))
    source = as_model(model)
    wanted = checked_sizes(source, sizes)
    refuse_ratio_only(method)
    test = checked_test(source, X_test, y_test)
    way = None if method == "auto" else method_of(method, effort)
    problem, way, unused, whole = posed(source, X, y, way, seed=seed, progress=progress, deadline=inf, **options)
    results = []
    for m, outcome in zip(wanted, _outcomes(problem, way, wanted), strict=True):
        budget = Budget(vectors=m)
        if outcome is None:
            results.append(Compression(source, source, budget, Status.UNCHANGED, f"{m} of {source.n_vectors}"))
        else:
            results.append(reported(whole(judged(finished(problem, budget, outcome, m), problem, unused)), start))
    path = CompressionPath(tuple(results), source, seconds=time.perf_counter() - start)
    if test is None:
        return path
    rows = tuple(measured(result.model, source, *test) for result in results)
    return replace(path, measured=rows, source_measured=measured(source, source, *test))


def _outcomes(problem: Problem, way: Method, sizes: list[int]) -> list[Outcome | None]:
    """Return an outcome for each of the sizes, which are rising; None where that many are no fewer than there are."""
    fewer = [m for m in sizes if m < problem.source.n_vectors]
    if not fewer:
        return [None] * len(sizes)

    def tell(m: int) -> Problem:
        told = problem.progress
        return replace(problem, progress=lambda stage, done, total: told(f"{m} vectors: {stage}", done, total))

    *rest, largest = fewer
    found = {largest: way.run(tell(largest), largest)}
    last: Outcome | None = None
    resized = found[largest].resized
    for m in rest:
        last = way.run(tell(m), m, last) if resized is None else resized(m)
        resized = last.resized or resized
        found[m] = last
    return [found.get(m) for m in sizes]


def checked_sizes(source: KernelModel, sizes: Any) -> list[int]:
    """Return the sizes, rising and without doubles.

    Raises
    ------
    InputError
        When one of them is no number of vectors.
    """
    if isinstance(sizes, str):
        if sizes != "auto":
            raise InputError(f'sizes are numbers of vectors, or "auto", not {sizes!r}')
        largest = max(1, round(_LARGEST * source.n_vectors))
        halves = {max(1, round(largest / 2**i)) for i in range(_SIZES)}
        least = min(largest, 2 if source.classes_ is None else len(source.classes_))
        return sorted(m for m in halves if m >= least)
    try:
        given = list(sizes)
    except TypeError:
        raise InputError(f"sizes are a list of numbers of vectors, not {sizes!r}") from None
    for m in given:
        if isinstance(m, bool) or not isinstance(m, int | np.integer) or m < 1:
            raise InputError(f"a size is a number of vectors, a whole one of at least 1, not {m!r}")
    if not given:
        raise InputError("sizes is empty: give at least one number of vectors")
    return sorted({int(m) for m in given})
