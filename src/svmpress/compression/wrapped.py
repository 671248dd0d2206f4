"""Estimators around SVMs: what is inside is compressed, and put back in its place."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from svmpress.compression.budget import Budget
from svmpress.compression.result import Compression, ManyCompressions, Status
from svmpress.distributed import is_sharded
from svmpress.errors import InputError, SvmpressWarning
from svmpress.wrapping import Wrapped

_WORST = (
    Status.DOUBTFUL,
    Status.STOPPED,
    Status.DROP_EXCEEDED,
    Status.COMPRESSED,
    Status.FEWER,
    Status.UNCHANGED,
)
"""The status of several is the first of these that one of them has."""


def compress_parts(
    wrapped: Wrapped, X: Any, y: Any, budget: Budget, compress: Callable[..., Compression]
) -> Compression:
    """Compress what is inside a wrapper.

    Parameters
    ----------
    wrapped : Wrapped
    X, y : rows and answers, or None
        Those of the wrapper.
    budget : Budget
        Of the whole: several parts divide what can be divided.
    compress : callable
        From a source, rows, answers and the arguments of a budget to a result.
    """
    check_whereabouts(wrapped, X, y)
    shares = budget.shared(len(wrapped.parts))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SvmpressWarning)  # they are in the results, and are given once, at the top
        results = [compress(part.source, part.rows(X), part.answers(y), **shares) for part in wrapped.parts]
    rebuilt = wrapped.rebuild(results)
    if len(results) == 1:
        return replace(results[0], rebuilt=rebuilt, notes=(*results[0].notes, *wrapped.notes))
    names = tuple(part.name for part in wrapped.parts)
    told = (f"{name}: {w}" for name, result in zip(names, results, strict=True) for w in result.warnings)
    found = {result.status for result in results}
    return ManyCompressions(
        budget,
        next(status for status in _WORST if status in found),
        f"{len(results)} SVMs, one by one",
        warnings=tuple(told),
        notes=wrapped.notes,
        rebuilt=rebuilt,
        members=tuple(results),
        names=names,
    )


def check_whereabouts(wrapped: Wrapped, X: Any, y: Any) -> None:
    """Refuse rows that are somewhere else, if the wrapper would have to fetch them.

    Raises
    ------
    InputError
    """
    if not (is_sharded(X) or is_sharded(y)):
        return
    if not all(part.takes_rows_as_they_are for part in wrapped.parts):
        raise InputError(
            "the estimator transforms rows before its SVM sees them, which is not done for a Dask collection: "
            "transform it first, with map_blocks or map_partitions, and give the last step as the model"
        )
    if y is not None and not all(part.takes_answers_as_they_are for part in wrapped.parts):
        raise InputError(
            "the estimator encodes labels for its SVM, which is not done for a Dask collection: leave y out"
        )
