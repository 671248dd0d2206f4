"""Refinement: move the vectors until the small model answers like the big one.

:func:`joint_descent`
    The paper's *gradient support vectors*: conjugate gradient on vectors and coefficients together (equation 10).
:func:`variable_projection`
    The default: L-BFGS on the vectors alone, with the best coefficients put in at every step.
:func:`polish`
    L-BFGS on vectors, coefficients, intercepts and optionally the width under any loss, in coordinates where the
    coefficients are well conditioned.

The optimiser runs on the host in float64, whatever the objective is computed on. Every routine returns the best iterate
that it saw, so the result is never worse than its start by its own objective, and a trace of iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from svmpress.kernels import Kernel
from svmpress.numerics import (
    STEPS_REMEMBERED,
    Array,
    Floats,
    Progress,
    RefineStatus,
    Rows,
    TracePoint,
    Watcher,
    arrays,
    minimise_watched,
)
from svmpress.objectives.expansion import ExpansionObjective, Gradient, Parameters
from svmpress.objectives.projected import Projection


@dataclass(frozen=True, eq=False)
class Refined:
    """A refined expansion, as NumPy, with the trace of how it was reached."""

    kernel: Kernel
    vectors: Floats
    coef: Floats
    intercept: Floats
    value: float
    trace: tuple[TracePoint, ...]
    status: RefineStatus
    n_iter: int


_LOG_GAMMA = (-690.0, 690.0)
"""Logarithms of γ that are numbers still, as is their γ."""


class _Domain:
    """Keeps the vectors of kernels on non-negative features there: the free variable is u, and v = |u|."""

    def __init__(self, kernel: Kernel) -> None:
        self._fold = kernel.nonnegative

    def into(self, u: Floats) -> Floats:
        return np.abs(u) if self._fold else u

    def back(self, u: Floats, gradient: Floats) -> Floats:
        return np.where(u < 0, -gradient, gradient) if self._fold else gradient


def joint_descent(
    objective: ExpansionObjective,
    start: Parameters,
    *,
    max_iter: int = 1000,
    tol: float = 1e-9,
    mask: NDArray[np.bool_] | None = None,
    max_seconds: float | None = None,
    progress: Progress | None = None,
    snapshot: Callable[[int, Floats, Floats], None] | None = None,
) -> Refined:
    """Move vectors and coefficients together by conjugate gradient; the intercepts stay (equation 10 of the paper).

    Parameters
    ----------
    objective : ExpansionObjective
    start : Parameters
        On the backend of the objective's rows.
    max_iter : int
    tol : float
        Relative fall of the objective over a restart below which it has converged.
    mask : (m, M) bool, optional
        Coefficients that may differ from zero.
    max_seconds : float, optional
    progress : callable, optional
        Called with (iteration, max_iter).
    snapshot : callable, optional
        Called after every iteration, and before the first, with (iteration, vectors (m, d), coef (m, M)).
    """
    xp, device = arrays.namespace(start.vectors), arrays.device_of(start.vectors)
    shape, split = start.vectors.shape, start.vectors.shape[0] * start.vectors.shape[1]
    domain = _Domain(start.kernel)

    def unpack(x: Floats) -> tuple[Floats, Floats]:
        return domain.into(x[:split]).reshape(shape), x[split:].reshape(start.coef.shape)

    def function(x: Floats) -> tuple[float, Floats]:
        V, A = unpack(x)
        at = Parameters(start.kernel, xp.asarray(V, device=device), xp.asarray(A, device=device), start.intercept)
        g = objective.value_and_grad(at)
        dA = arrays.to_numpy(g.coef) if mask is None else arrays.to_numpy(g.coef) * mask
        dV = domain.back(x[:split], arrays.to_numpy(g.vectors).ravel())
        return g.value, np.concatenate([dV, dA.ravel()])

    shown = None if snapshot is None else (lambda i, x: snapshot(i, *(a.copy() for a in unpack(x))))
    watch = Watcher(function, max_iter, max_seconds, progress, shown)
    x0 = np.concatenate([arrays.to_numpy(start.vectors).ravel(), arrays.to_numpy(start.coef).ravel()])
    watch(x0)
    status = minimise_watched(watch, x0, "CG", max_iter, tol)
    V, A = unpack(watch.best)
    b = arrays.to_numpy(start.intercept)
    return Refined(start.kernel, V, A, b, watch.best_value, tuple(watch.trace), status, watch.n_iter)


class Projected(Protocol):
    """An objective of the vectors alone, with the best coefficients put in."""

    @property
    def kernel(self) -> Kernel:
        """The kernel, with the width to start from."""

    @property
    def targets(self) -> Array:
        """An array of the library and on the device to compute with."""

    def value_and_grad(self, V: Array, kernel: Kernel | None = None, *, width: bool = False) -> Projection:
        """Return the value at V (m, d), its gradient (and that of γ if ``width``), and the coefficients."""


def variable_projection(
    objective: Projected,
    vectors: Floats,
    *,
    kernel: Kernel | None = None,
    learn_width: bool = False,
    max_iter: int = 100,
    tol: float = 1e-7,
    memory: int = STEPS_REMEMBERED,
    max_seconds: float | None = None,
    progress: Progress | None = None,
) -> Refined:
    """Move the vectors by L-BFGS, with the best coefficients and intercepts put in at every step.

    Parameters
    ----------
    objective : Projected
        Mostly a :class:`~svmpress.objectives.ProjectedError`.
    vectors : (m, d)
        Where to start, as NumPy.
    kernel : Kernel, optional
        Where the width starts; the objective's by default.
    learn_width : bool
        Whether γ moves too (its logarithm does).
    max_iter, tol, max_seconds, progress
        As in :func:`joint_descent`; ``tol`` is the relative fall of one iteration.
    memory : int
        Steps that L-BFGS remembers; see :func:`memory_for`.
    """
    kernel0 = kernel or objective.kernel
    xp, device = arrays.namespace(objective.targets), arrays.device_of(objective.targets)
    domain, shape = _Domain(kernel0), vectors.shape
    first = objective.value_and_grad(
        xp.asarray(np.ascontiguousarray(vectors), device=device), kernel0, width=learn_width
    )
    x0 = np.array(vectors, dtype=np.float64).ravel()
    x0 = np.append(x0, 0.0) if learn_width else x0
    known = [(x0, first)]  # where the optimiser starts, and then the best point so far: neither is computed again

    def unpack(x: Floats) -> tuple[Floats, Kernel]:
        V = domain.into(x[: vectors.size]).reshape(shape)
        return V, _widened(kernel0, x[-1]) if learn_width else kernel0

    def projection(x: Floats) -> Projection:
        found = next((p for at, p in known if np.array_equal(at, x)), None)
        if found is None:
            V, k = unpack(x)
            found = objective.value_and_grad(xp.asarray(V, device=device), k, width=learn_width)
            if found.value < known[-1][1].value:
                known[1:] = [(x.copy(), found)]
        return found

    def function(x: Floats) -> tuple[float, Floats]:
        p = projection(x)
        dV = domain.back(x[: vectors.size], arrays.to_numpy(p.vectors).ravel())
        return p.value, np.append(dV, p.gamma * unpack(x)[1].params["gamma"]) if p.gamma is not None else dV

    watch = Watcher(function, max_iter, max_seconds, progress, None)
    watch(x0)
    status = minimise_watched(watch, x0, "L-BFGS-B", max_iter, tol, memory)
    (V, k), p = unpack(watch.best), projection(watch.best)
    A, b = arrays.to_numpy(p.coef), arrays.to_numpy(p.intercept)
    return Refined(k, V, A, b, p.value, tuple(watch.trace), status, watch.n_iter)


def _widened(kernel: Kernel, step: float) -> Kernel:
    """Return a kernel with the logarithm of γ moved by a step, as far as there are numbers."""
    return kernel.with_gamma(float(np.exp(np.clip(np.log(kernel.params["gamma"]) + step, *_LOG_GAMMA))))


class Differentiable(Protocol):
    """An objective of vectors, coefficients, intercepts and the width."""

    @property
    def rows(self) -> Rows:
        """The rows that it is about, (n, d)."""

    def value_and_grad(self, at: Parameters, *, width: bool = False) -> Gradient:
        """Return the value and its derivatives; that of γ only if ``width``."""


def polish(
    objective: Differentiable,
    start: Parameters,
    *,
    learn_width: bool = False,
    mask: NDArray[np.bool_] | None = None,
    max_iter: int = 50,
    tol: float = 1e-7,
    memory: int = STEPS_REMEMBERED,
    max_seconds: float | None = None,
    progress: Progress | None = None,
) -> Refined:
    """Move vectors, coefficients, intercepts and optionally the width together by L-BFGS, under any loss.

    Kernel columns are nearly dependent, so the loss is very much steeper in some combinations of coefficients than in
    others. The free variable is therefore Z with ``A = P Z``, where ``PᵀKᵀK P / n = 1`` at the start: moving Z by one
    moves the decision values by about one, whatever the combination.

    Parameters
    ----------
    objective : Differentiable
    start : Parameters
        On the backend of the objective's rows.
    learn_width, mask, max_iter, tol, memory, max_seconds, progress
        As in :func:`variable_projection` and :func:`joint_descent`. With a mask the coefficients are free themselves.
    """
    xp, device = arrays.namespace(start.vectors), arrays.device_of(start.vectors)
    kernel0, shape = start.kernel, start.vectors.shape
    P = None if mask is not None else _whitening(objective, start)
    domain, n_v, n_a = _Domain(kernel0), shape[0] * shape[1], start.coef.shape[0] * start.coef.shape[1]
    A0 = arrays.to_numpy(start.coef)

    def unpack(x: Floats) -> tuple[Kernel, Floats, Floats, Floats]:
        V = domain.into(x[:n_v]).reshape(shape)
        Z = x[n_v : n_v + n_a].reshape(A0.shape)
        A = Z if P is None else solve_triangular(P, Z, lower=True, trans="T", check_finite=False)
        b = x[n_v + n_a : n_v + n_a + A0.shape[1]]
        return _widened(kernel0, x[-1]) if learn_width else kernel0, V, A, b

    def function(x: Floats) -> tuple[float, Floats]:
        k, *rest = unpack(x)
        g = objective.value_and_grad(Parameters(k, *(xp.asarray(a, device=device) for a in rest)), width=learn_width)
        dA = arrays.to_numpy(g.coef) if mask is None else arrays.to_numpy(g.coef) * mask
        dZ = dA if P is None else solve_triangular(P, dA, lower=True, check_finite=False)
        dV = domain.back(x[:n_v], arrays.to_numpy(g.vectors).ravel())
        parts = [dV, dZ.ravel(), arrays.to_numpy(g.intercept)]
        if g.gamma is not None:
            parts.append(np.array([g.gamma * k.params["gamma"]]))
        return g.value, np.concatenate(parts)

    Z0 = A0 if P is None else P.T @ A0
    x0 = np.concatenate([arrays.to_numpy(start.vectors).ravel(), Z0.ravel(), arrays.to_numpy(start.intercept)])
    x0 = np.append(x0, 0.0) if learn_width else x0
    watch = Watcher(function, max_iter, max_seconds, progress, None)
    watch(x0)
    status = minimise_watched(watch, x0, "L-BFGS-B", max_iter, tol, memory)
    k, V, A, b = unpack(watch.best)
    return Refined(k, V, A, b, watch.best_value, tuple(watch.trace), status, watch.n_iter)


def _whitening(objective: Differentiable, at: Parameters, sample: int = 4000) -> Floats | None:
    """Return the lower Cholesky factor of ``KᵀK / n`` over some rows, (m, m); None if all values are as good as 0."""
    n = objective.rows.shape[0]
    rows = arrays.take(objective.rows, slice(0, n, max(1, n // sample)))
    K = at.kernel.gram(rows, at.vectors)
    N = arrays.to_numpy(arrays.namespace(K).matmul(K.T, K)) / rows.shape[0]
    size = np.trace(N) / N.shape[0]
    if not size > np.finfo(np.float64).tiny:
        return None
    N[np.diag_indices_from(N)] += 1e-6 * size
    return np.asarray(np.linalg.cholesky(N))
