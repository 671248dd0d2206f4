"""SciPy's optimisers, watched: the best point is kept, a trace is written, time and iterations are limited."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from scipy.optimize import minimize

from svmpress.numerics import arrays
from svmpress.numerics.arrays import Floats, Rows
from svmpress.numerics.parallel import one_scipy_thread

STEPS_REMEMBERED, _LEAST_MEMORY = 30, 10
"""Steps that L-BFGS remembers at most, and at least."""

Progress = Callable[[int, int], None]


class RefineStatus(Enum):
    """Why a refinement ended; the value is the message for people."""

    CONVERGED = "the objective stopped falling"
    MAX_ITERATIONS = "the limit of iterations was reached"
    OUT_OF_TIME = "the time limit was reached"

    @property
    def message(self) -> str:
        """The reason, as a sentence."""
        return self.value


@dataclass(frozen=True)
class TracePoint:
    """One iteration: its number, the best value so far, and the seconds since the start."""

    iteration: int
    value: float
    seconds: float


class _OutOfTimeError(Exception):
    """Raised inside the optimiser's callback to end it."""


class Watcher:
    """Wraps a function for SciPy: keeps the best point, writes the trace, reports progress, watches the clock."""

    def __init__(
        self,
        function: Callable[[Floats], tuple[float, Floats]],
        max_iter: int,
        max_seconds: float | None,
        progress: Progress | None,
        snapshot: Callable[[int, Floats], None] | None,
    ) -> None:
        self._function, self._max_iter, self._max_seconds = function, max_iter, max_seconds
        self._progress, self._snapshot = progress, snapshot
        self._start = time.perf_counter()
        self.best_value, self.best = np.inf, np.empty(0)
        self.n_iter = 0
        self.trace: list[TracePoint] = []

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        """Return the value and the gradient, and remember the best point."""
        if self.best.size and not np.isfinite(x).all():  # where a line search ends up between values that are infinite
            return np.inf, np.zeros_like(x)
        value, gradient = self._function(x)
        if not self.best.size:
            self.best = x.copy()  # the start, which is kept even where the objective is not finite
        if not np.isfinite(value) or not np.isfinite(gradient).all():
            return np.inf, np.zeros_like(x)  # a step too far: the line search comes back
        if value < self.best_value:
            self.best_value, self.best = value, x.copy()
        if not self.trace:
            self.trace.append(TracePoint(0, value, time.perf_counter() - self._start))
            if self._snapshot is not None:
                self._snapshot(0, x)
        return value, gradient

    def iterated(self, x: Floats) -> None:
        """Take note of an iteration."""
        self.n_iter += 1
        seconds = time.perf_counter() - self._start
        self.trace.append(TracePoint(self.n_iter, float(self.best_value), seconds))
        if self._snapshot is not None:
            self._snapshot(self.n_iter, x)
        if self._progress is not None:
            self._progress(self.n_iter, self._max_iter)
        if self._max_seconds is not None and seconds > self._max_seconds:
            raise _OutOfTimeError


def memory_for(rows: Rows) -> int:
    """Return how many steps L-BFGS should remember for an objective of these rows, (n, d).

    At every step it goes over all that it remembers, with as many numbers as V has. Where the columns of sparse rows
    hold few values, that is more work than the objective itself. On Ohsumed, with 19 values a column, 30 steps took two
    thirds of the time of a compression, and with 10 it took half as long for a model that is as good.

    Examples
    --------
    >>> memory_for(np.zeros((40, 5)))
    30
    """
    if not arrays.is_csr(rows):
        return STEPS_REMEMBERED
    return int(min(STEPS_REMEMBERED, max(_LEAST_MEMORY, rows.nnz // (2 * rows.shape[1]))))


def minimise_watched(
    watch: Watcher, x0: Floats, method: str, max_iter: int, tol: float, memory: int = STEPS_REMEMBERED
) -> RefineStatus:
    """Run SciPy's optimiser until it converges; conjugate gradient starts again where its line search failed."""
    options = {
        "L-BFGS-B": {"maxcor": memory, "maxfun": 10**9, "ftol": tol, "gtol": 0.0, "maxls": 30},
        "CG": {"gtol": 0.0},
    }[method]
    x = x0
    try:
        while watch.n_iter < max_iter:
            before, begun = watch.best_value, watch.n_iter
            run: Any = minimize  # typed Any: SciPy's stubs know no callable objects
            limits = {**options, "maxiter": max_iter - begun}
            with one_scipy_thread():
                run(watch, x, jac=True, method=method, callback=watch.iterated, options=limits)
            if watch.n_iter >= max_iter:
                break
            x = watch.best
            fell = before - watch.best_value
            few = watch.n_iter - begun < 2 or (np.isfinite(before) and fell <= 10 * tol * abs(before))
            if few or method == "L-BFGS-B":
                return RefineStatus.CONVERGED
    except _OutOfTimeError:
        return RefineStatus.OUT_OF_TIME
    return RefineStatus.MAX_ITERATIONS
