"""``compress()``: a trained SVM in, a small one out. The only orchestrator.

    anything -> KernelModel -> Problem -> Method.run -> Outcome -> Compression

It reads the source, turns the budget into a number of vectors (or searches for it, with ``max_drop``), lets a method do
the work, and says what happened.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from svmpress.compression.budget import Budget
from svmpress.compression.columns import narrowed, widened
from svmpress.compression.expectation import doubts, expect, growth
from svmpress.compression.intake import taken_in
from svmpress.compression.outputs import one_output_a_class
from svmpress.compression.probabilities import with_probabilities
from svmpress.compression.result import Compression, Status
from svmpress.compression.rows import heeded
from svmpress.compression.sizing import search_size
from svmpress.compression.wrapped import compress_parts
from svmpress.errors import InputError, SvmpressWarning
from svmpress.formats import as_model
from svmpress.kernels import Kernel, Linear, Polynomial
from svmpress.methods import (
    Auto,
    Effort,
    Exact,
    LarsSVM,
    Layout,
    Method,
    Outcome,
    Paper,
    Problem,
    Progress,
    exact_expansion,
)
from svmpress.model import KernelModel, doubt_of_scale
from svmpress.numerics import Backend, seed_of
from svmpress.wrapping import unwrapped

METHODS: dict[str, Callable[..., Method]] = {
    "auto": Auto,
    "paper": Paper,
    "paper-per-machine": partial(Paper, share="per-machine"),
    "lars": LarsSVM,
}
"""Methods by name; ``method=`` also takes an instance, for example ``Paper(target="decision")``."""

DEFAULT_MEMORY = 2**30
"""Bytes of working memory for kernel matrices."""


def compress(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    vectors: int | None = None,
    ratio: float | None = None,
    max_bytes: int | None = None,
    max_latency: float | None = None,
    max_flash: int | None = None,
    max_drop: float | None = None,
    weights: str = "int8",
    coef: str = "int16",
    method: str | Method = "auto",
    effort: Effort = "balanced",
    max_seconds: float | None = None,
    layout: Layout = "shared",
    device: str = "cpu",
    random_state: Any = 0,
    progress: Progress | None = None,
    max_memory: int = DEFAULT_MEMORY,
) -> Compression:
    """Compress a trained kernel SVM.

    Parameters
    ----------
    model : estimator, KernelModel or path
        A fitted scikit-learn SVM, or an estimator around one or several: a Pipeline, a search, a calibrated classifier,
        several outputs, a bag, a vote; or a model of svmpress, or a model file.
    X : (n, d), optional
        Rows like those that the model will see, unscaled if the model scales them; by default its support vectors.
    y : (n,), optional
        Their labels or values: they help to judge, and are fitted instead of the source's answers where held-out rows
        say that this is better. A one-class SVM learnt without labels and is compressed without them.
    vectors, ratio, max_bytes, max_latency, max_flash, max_drop
        The budget, exactly one of them: a number of vectors, a share of the source's, bytes of vectors and
        coefficients, seconds per prediction on this machine, bytes of vectors and coefficients once they are whole
        numbers (see :func:`svmpress.export_c`; three and more classes get one output each), or the loss of accuracy
        (R², agreement) that is allowed on held-out rows, as a fraction: 0.005 is half a percentage point. A tenth of
        the vectors by default.
    weights, coef : str
        The kinds of numbers that ``max_flash`` counts, as :func:`svmpress.quantize` has them.
    method : "auto", "paper", "paper-per-machine", "lars", or an instance of a method
        With ``"paper-per-machine"`` the ratio is a share of each machine's vectors and not of all together, see
        :class:`svmpress.methods.Paper`: the model of many classes has more vectors than the ratio says.
    effort : "fast", "balanced" or "thorough"
        How much work the default method may do: a fifth of the usual, which is about what training took; or that; or
        five times as much. Work is counted in operations: the same call makes the same model on every machine.
    max_seconds : float, optional
        After which no further step begins, and the best so far is returned. For the default method.
    layout : "shared" or "libsvm"
        ``"libsvm"``: each vector of a one-vs-one model belongs to one class, so that a LibSVM file needs no copies.
    device : str
        ``"cpu"`` (NumPy), or a device of torch such as ``"cuda"``.
    random_state : int, RandomState, Generator or None
        A number makes the same model on every run. A generator of NumPy, or None, which stands for NumPy's global one,
        is asked for such a number.
    progress : callable, optional
        Called with (stage, done, total); a total of 0 is one that is not known.
    max_memory : int
        Working memory for kernel matrices, in bytes.

    Returns
    -------
    Compression
        ``.model`` is the small model, ``.estimator`` a fitted estimator in the same pipeline or wrapper as the source;
        ``.summary()`` says what was done. Where several SVMs were compressed one by one, each is one of ``.members``,
        and they divide a budget of vectors, bytes or seconds.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> X, y = load_digits(return_X_y=True)
    >>> result = compress(SVC(gamma=0.001).fit(X, y), X, y, vectors=40)
    >>> result.model.n_vectors
    40
    """
    start = time.perf_counter()
    budget = Budget.of(
        vectors=vectors, ratio=ratio, max_bytes=max_bytes, max_latency=max_latency, max_flash=max_flash,
        max_drop=max_drop, weights=weights, coef=coef,
    )  # fmt: skip
    way = method_of(method, effort)
    if budget.ratio is None:
        refuse_ratio_only(way)
    if layout not in get_args(Layout):
        raise InputError(f"unknown layout {layout!r}; choose one of {', '.join(get_args(Layout))}")
    if not isinstance(max_memory, int | np.integer) or max_memory < 2**24:
        raise InputError(f"max_memory must be a whole number of at least {2**24} bytes, not {max_memory!r}")
    seed = seed_of(random_state)
    wrapped = unwrapped(model)
    if wrapped is not None:
        _deadline(max_seconds, start)
        each = partial(
            compress,
            method=method,
            effort=effort,
            max_seconds=None if max_seconds is None else max_seconds / len(wrapped.parts),
            layout=layout,
            device=device,
            random_state=seed,
            progress=progress,
            max_memory=max_memory,
        )
        result = compress_parts(wrapped, X, y, budget, each)
        return reported(result, start)
    source = as_model(model)
    problem, way, unused, whole = posed(
        source,
        X,
        y,
        way if method != "auto" else None,
        effort=effort,
        layout=layout,
        device=device,
        seed=seed,
        max_memory=max_memory,
        progress=progress,
        deadline=_deadline(max_seconds, start),
    )
    if budget.max_drop is not None:
        result = _within_drop(problem, way, budget)
    else:
        size = budget.size(source if budget.max_latency is None else problem.source)
        result = _to_size(problem, way, budget, size)
    return reported(whole(judged(result, problem, unused)), start)


def posed(
    source: KernelModel,
    X: Any,
    y: Any,
    way: Method | None,
    *,
    effort: Effort,
    layout: Layout,
    device: str,
    seed: int,
    max_memory: int,
    progress: Progress | None,
    deadline: float,
) -> tuple[Problem, Method, tuple[str, ...], Callable[[Compression], Compression]]:
    """Return the problem, the method (None stands for the default one), and what of the input is not used and why.

    The problem may have fewer columns than the source: the last of the four makes its result one of all columns.
    """
    rows, y, every = taken_in(source, X, y, seed, max_memory)
    problem = Problem(
        source=source,
        rows=rows,
        y=y,
        every=every,
        layout=layout,
        backend=Backend.of(device),
        seed=seed,
        max_bytes=max_memory,
        progress=progress or (lambda stage, done, total: None),
        deadline=deadline,
    )
    doubt = None if problem.rows is None else doubt_of_scale(source, problem.rows)
    problem, columns = narrowed(problem)
    problem, unused = heeded(problem)
    if way is None:
        way = METHODS["auto"](effort=effort)
        way = Exact(way) if _may_be_exact(source.kernel) else way
    whole = partial(_with_columns, source=source, columns=columns)
    return problem, way, (*unused, *([doubt] if doubt else [])), whole


def _with_columns(result: Compression, source: KernelModel, columns: NDArray[Any] | None) -> Compression:
    """Return a result about these columns as one about all columns of the source; None: it is that already."""
    if columns is None:
        return result
    model = source if result.model is result.source else widened(result.model, source, columns)
    return replace(result, model=model, source=source)


def reported(result: Compression, start: float) -> Compression:
    """Return the result with its time, and give its warnings to whoever called ``compress()``."""
    for warning in result.warnings:
        warnings.warn(warning, SvmpressWarning, stacklevel=3)
    return replace(result, timings={**result.timings, "total": time.perf_counter() - start})


def _deadline(max_seconds: Any, start: float) -> float:
    if max_seconds is None:
        return inf
    if isinstance(max_seconds, int | float | np.number) and max_seconds > 0:
        return start + float(max_seconds)
    raise InputError(f"max_seconds must be a number of seconds, more than 0, not {max_seconds!r}")


def method_of(method: str | Method, effort: Effort) -> Method:
    """Return a method by its name, or the one that is given."""
    if method == "auto":
        return METHODS["auto"](effort=effort)
    if effort != "balanced":
        raise InputError('effort is for method="auto"; another method has settings of its own')
    if isinstance(method, str):
        if method not in METHODS:
            raise InputError(f"unknown method {method!r}; choose one of {', '.join(METHODS)}")
        return METHODS[method]()
    if not hasattr(method, "run") or isinstance(method, type):
        raise InputError(f"method must be a name or an object with a run method, not {method!r}")
    return method


def refuse_ratio_only(method: str | Method) -> None:
    """Raise an error if a method knows only shares of each machine, where a size of the whole was asked for."""
    if getattr(method_of(method, "balanced"), "needs_ratio", False):
        raise InputError(
            "this method keeps a share of each machine's vectors, which fixes no size of the whole: give a ratio as "
            'the budget, or choose the method "paper"'
        )


def _may_be_exact(kernel: Kernel) -> bool:
    """Return whether a kernel is one whose machines have a rank; other kernels need not be asked."""
    return isinstance(kernel, Linear | Polynomial)


def _to_size(problem: Problem, way: Method, budget: Budget, m: int) -> Compression:
    source = problem.source
    if m >= source.n_vectors and not (isinstance(way, Exact) and exact_expansion(source, problem.layout)):
        return Compression(source, source, budget, Status.UNCHANGED, f"{m} of {source.n_vectors}")
    outcome = way.run(problem, m)
    return finished(problem, budget, outcome if budget.max_flash is None else one_output_a_class(problem, outcome), m)


def finished(problem: Problem, budget: Budget, outcome: Outcome, m: int) -> Compression:
    """Return what a method found for ``m`` vectors as a result."""
    source, notes = problem.source, outcome.notes
    calibrated = outcome.decoder is None and outcome.copies
    if source.probability and not calibrated and not source.has_probability:
        notes = (*notes, "the parameters of probabilities are left out: they belong to the source's values")
    model = replace(
        source,
        expansion=outcome.expansion,
        decoder=outcome.decoder or source.decoder,
        probability=source.probability if calibrated else {},
        provenance={**source.provenance, "compressed_from": source.n_vectors},
    )
    if source.expansion.coef.dtype == np.float32:  # as max_bytes counted; methods compute in double precision
        model = model.astype(np.float32)
    fewer = outcome.expansion.n_vectors < m
    return Compression(
        model,
        source,
        budget,
        Status.STOPPED if outcome.stopped else Status.FEWER if fewer else Status.COMPRESSED,
        outcome.status if fewer and not outcome.stopped else "",
        path=outcome.path,
        trace=outcome.trace,
        decisions=outcome.decisions,
        check=outcome.check,
        notes=notes,
    )


def judged(result: Compression, problem: Problem, unused: tuple[str, ...]) -> Compression:
    """Return the result with what to expect of it, and what to be warned of."""
    source, model = result.source, result.model
    if model is source:
        return replace(result, warnings=unused)
    expected = expect(problem, model, result.check)
    model, probabilities = with_probabilities(model, problem)
    if source.has_probability and probabilities is None:
        unused = (*unused, "the small model has no probabilities: there are too few rows to calibrate them by")
    doubtful = doubts(expected, source, model)
    status = result.status
    if status in (Status.COMPRESSED, Status.FEWER) and (doubtful or (problem.rows is None and unused)):
        status = Status.DOUBTFUL
    told = (*unused, *doubtful, *growth(source, model))
    return replace(result, model=model, status=status, expected=expected, probabilities=probabilities, warnings=told)


def _within_drop(problem: Problem, way: Method, budget: Budget) -> Compression:
    assert budget.max_drop is not None
    found, curve = search_size(problem, way, budget.max_drop)
    if found is None:
        return Compression(problem.source, problem.source, budget, Status.DROP_EXCEEDED, curve=curve)
    return replace(finished(problem, budget, found, found.expansion.n_vectors), curve=curve)
