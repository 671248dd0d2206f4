"""The squared-hinge kernel SVM of eq. 1, by Newton's method in the primal on any basis.

For rows ``X`` (n, d) with labels ``y`` in {-1, +1} and basis vectors ``B`` (m, d) that need not be among them,

    minimise over a (m,), b:    aᵀ K_BB a + C Σ_i max(0, 1 - y_i (K_iB a + b))²                        (eq. 1)

The norm is squared and the bias stands inside the product with y, as eq. 5 of the paper has it. Several machines
are the columns of ``Y`` (n, M); 0 leaves a row out of a machine, so one-vs-one needs no copies of the rows.

**Newton's method.** With ``Z = [K_XB, 1]`` (n, p), ``z = [a, b]`` (p,) and ``P = diag(K_BB, 0)``, half the gradient
and half the (generalised) Hessian at residuals ``r = 1 - y ∘ Z z`` are

    h = P z - C Z_Iᵀ (y ∘ r)_I        Q = P + C Z_Iᵀ Z_I        I = {i : r_i > 0}, the active set

The step is ``-(Q + ridge)⁻¹ h``, the ridge relative to the diagonal of Q: it conditions the step when basis vectors
coincide, and leaves the minimum where it is. Along the step the objective is piecewise quadratic, and its minimum
is found exactly. As the active sets are finitely many, so are the steps; ten are typical. ``hᵀ (Q + ridge)⁻¹ h``
estimates how far the objective is above its minimum and decides when to stop.

Without the bias (``bias=False``) ``Z = K_XB``. Kernels that are not positive definite (the sigmoid) would leave
the problem unbounded, so only the positive part of ``K_BB`` counts as the norm.

**Samples instead of a basis.** A machine without bias whose basis are its own n samples, labels folded into them, has
``K_BB = Z = K`` (n, n) and, at the end of a full step, coefficients that are zero off the active set:

    (K_II + I/C) α_I = 1        α_i = 0 for i not in I

which is Newton's step in the dual: a system as large as the active set, however many samples there are.
:func:`fit_folded` takes it, with the line search and the stopping rule above, from samples that are known only by
products with K and by that solve (:class:`FoldedSamples`): where K has structure, it is never formed.

Memory: Z is kept when a third of ``max_bytes`` holds it, and otherwise computed again, a block of rows at a time,
twice a step. Machines are taken together as far as another third holds their Hessians; where some leave rows out, each
by itself on its own rows.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from svmpress.errors import InputError
from svmpress.kernels import Kernel
from svmpress.numerics import (
    DEFAULT_MAX_BYTES,
    Array,
    Backend,
    Rows,
    blocks,
    device_of,
    is_csr,
    namespace,
    take,
    to_numpy,
)
from svmpress.select.newton import Doubles, HingeStatus, minimise, positive, solve_step

_NEGATIVE = 1e-10
"""Eigenvalues of K_BB below this part of the largest, with a minus sign, are the kernel's and not rounding's."""


@dataclass(frozen=True, eq=False)
class HingeFit:
    """What :func:`fit_squared_hinge` returns; all NumPy.

    Parameters
    ----------
    coef : (m, M)
    intercept : (M,)
        Zeros when there is no bias.
    objective : (M,)
        Eq. 1 of each machine at the solution.
    n_iter : (M,) int
        Newton steps taken by each machine.
    status : HingeStatus
        That of the machine that did worst.
    """

    coef: Doubles
    intercept: Doubles
    objective: Doubles
    n_iter: NDArray[np.intp]
    status: HingeStatus


def fit_squared_hinge(
    kernel: Kernel,
    X: Rows,
    Y: Array,
    basis: Rows,
    C: float = 1.0,
    *,
    bias: bool = True,
    coef0: Array | None = None,
    intercept0: Array | None = None,
    max_iter: int = 50,
    tol: float = 1e-12,
    max_bytes: int | None = None,
) -> HingeFit:
    """Fit squared-hinge machines on the given basis vectors (eq. 1).

    Parameters
    ----------
    kernel : Kernel
    X : (n, d) rows
        Dense of any array library, or CSR; the computation runs where the dense arguments live, in float64.
    Y : (n,) or (n, M)
        +1 and -1, and 0 for a row that is not part of a machine.
    basis : (m, d) rows
        The vectors of the expansion; they need not be rows of ``X``.
    C : float
        Weight of the loss against the squared norm.
    bias : bool
        Whether there is an intercept.
    coef0, intercept0 : (m, M), (M,), optional
        Where to start; zeros by default. The result is never worse.
    max_iter : int
        Newton steps at most; 0 evaluates the start.
    tol : float
        Stop when the estimated distance from the minimum is below this part of the objective.
    max_bytes : int, optional
        Working memory, beyond a few vectors of length n and matrices of shape (m, m) for one machine.

    Returns
    -------
    HingeFit

    Examples
    --------
    >>> import numpy as np
    >>> from svmpress.kernels import Linear
    >>> fit = fit_squared_hinge(Linear(), np.array([[-1.0], [1.0]]), np.array([-1, 1]), np.array([[1.0]]), C=0.5)
    >>> fit.coef.round(6).tolist(), fit.objective.round(6).tolist()
    ([[0.5]], [0.5])
    """
    if not (math.isfinite(C) and C > 0):
        raise InputError(f"C must be a positive number, not {C!r}")
    if max_iter < 0 or tol < 0:
        raise InputError("max_iter and tol must not be negative")
    if X.shape[0] == 0 or basis.shape[0] == 0:
        raise InputError(f"a fit needs rows and basis vectors, not {X.shape[0]} and {basis.shape[0]}")
    here = Backend(namespace(X, basis), device_of(X, basis))
    labels = _check_labels(Y, X.shape[0])
    n, m, M = X.shape[0], basis.shape[0], labels.shape[1]
    start = _start(coef0, intercept0, m, M, bias)
    cap = (max_bytes or DEFAULT_MAX_BYTES) // 3
    design = _Design(kernel, X, basis, bias, here, cap)
    P = _penalty(kernel, basis, design.width, here)
    # of each machine at once: Q and its scaled copy and factors, (p, p); labels, residuals and steps, (n,)
    of_one = 8 * (4 * design.width**2 + 8 * n)
    fits = [
        minimise(_OnBasis(part, P), here.asarray(labels[rows, some]), here.asarray(start[:, some]), C, max_iter, tol)
        for part, rows, some in _parts(design, labels, of_one, cap)
    ]
    z = np.concatenate([f.z for f in fits], axis=1)
    return HingeFit(
        coef=z[:m],
        intercept=z[m] if bias else np.zeros(M),
        objective=np.concatenate([f.objective for f in fits]),
        n_iter=np.concatenate([f.n_iter for f in fits]),
        status=max((f.status for f in fits), key=list(HingeStatus).index),
    )


class FoldedSamples(Protocol):
    """Samples ``y_i x_i`` known by their inner products ``K`` (n, n), positive semi-definite."""

    here: Backend

    def times(self, alpha: Array) -> Array:
        """Return ``K α``, (n, 1), for coefficients (n, 1)."""

    def solve_active(self, which: NDArray[np.intp], ridge: float) -> Doubles:
        """Return ``(K_II + ridge)⁻¹ 1``, (k,), for the samples ``which``, (k,)."""


def fit_folded(
    samples: FoldedSamples, C: float, alpha0: Doubles, *, max_iter: int = 50, tol: float = 1e-12
) -> HingeFit:
    """Fit one squared-hinge machine without bias on samples with their labels folded in, in its dual variables.

    Minimises ``αᵀ K α + C Σ_i max(0, 1 - (K α)_i)²``, eq. 1 with all samples as the basis.

    Parameters
    ----------
    samples : FoldedSamples
        n of them.
    C : float
    alpha0 : (n,)
        Where to start. The result is never worse.
    max_iter, tol
        As for :func:`fit_squared_hinge`.

    Returns
    -------
    HingeFit
        With ``coef`` of shape (n, 1), the dual variables.
    """
    start = samples.here.asarray(alpha0[:, None])
    fit = minimise(_OnSamples(samples), samples.here.xp.ones_like(start), start, C, max_iter, tol)
    return HingeFit(fit.z, np.zeros(1), fit.objective, fit.n_iter, fit.status)


# ---------------------------------------------------------------------------------------------------------
# The problem
# ---------------------------------------------------------------------------------------------------------


def _check_labels(Y: Array, n: int) -> Doubles:
    """Return the labels as (n, M) NumPy."""
    labels = np.asarray(to_numpy(Y), dtype=np.float64)
    labels = labels[:, None] if labels.ndim == 1 else labels
    if labels.ndim != 2 or labels.shape[0] != n or labels.shape[1] == 0:
        raise InputError(f"Y has shape {labels.shape}; {n} rows need ({n},) or ({n}, M)")
    if not np.isin(labels, (-1.0, 0.0, 1.0)).all():
        raise InputError("Y must hold -1 and +1, and 0 for rows that are not part of a machine")
    return labels


def _start(coef0: Array | None, intercept0: Array | None, m: int, M: int, bias: bool) -> Doubles:
    """Return the first ``z`` of every machine, (p, M)."""
    if intercept0 is not None and not bias:
        raise InputError("intercept0 has no meaning without a bias")
    a = np.zeros((m, M)) if coef0 is None else np.asarray(to_numpy(coef0), dtype=np.float64)
    b = np.zeros(M) if intercept0 is None else np.asarray(to_numpy(intercept0), dtype=np.float64)
    if a.shape != (m, M) or b.shape != (M,):
        raise InputError(f"coef0 and intercept0 have shapes {a.shape} and {b.shape}, not {(m, M)} and {(M,)}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise InputError("coef0 and intercept0 must be finite")
    return np.concatenate([a, b[None, :]]) if bias else a


class _Design:
    """``Z = [K_XB, 1]`` by blocks of rows: kept if ``cap`` bytes hold all of it, else computed at each pass."""

    def __init__(self, kernel: Kernel, X: Rows, basis: Rows, bias: bool, here: Backend, cap: int) -> None:
        self._kernel, self._X, self._basis, self._bias = kernel, X, basis, bias
        self.here = here
        self.width = basis.shape[0] + int(bias)
        # beside the block itself: what the kernel needs to compute it, and the active rows taken from it
        self._row_bytes, self._cap = 8 * (4 * self.width + 2 * X.shape[1]), cap
        self._kept = self._compute_all()

    def _compute_all(self) -> list[tuple[slice, Array]] | None:
        fits = 8 * self.width * self._X.shape[0] <= self._cap
        return list(self._compute()) if fits else None

    def of(self, rows: NDArray[np.intp]) -> _Design:
        """Return the design of some rows, ascending."""
        part = copy.copy(self)
        part._X = take(self._X, rows)
        if self._kept is None:
            part._kept = part._compute_all()
        else:
            own = [take(Z, rows[(rows >= s.start) & (rows < s.stop)] - s.start) for s, Z in self._kept]
            part._kept = [(slice(0, len(rows)), self.here.xp.concat(own, axis=0))]
        return part

    def _compute(self) -> Iterator[tuple[slice, Array]]:
        xp = self.here.xp
        for rows in blocks(self._X.shape[0], self._row_bytes, self._cap):
            K = xp.astype(self._kernel.gram(take(self._X, rows), self._basis), xp.float64, copy=False)
            yield rows, xp.concat([K, xp.ones_like(K[:, :1])], axis=1) if self._bias else K

    def __iter__(self) -> Iterator[tuple[slice, Array]]:
        return iter(self._kept) if self._kept is not None else self._compute()

    def times(self, z: Array) -> Array:
        """Return ``Z z``, (n, M), for ``z`` of shape (p, M)."""
        xp = self.here.xp
        return xp.concat([xp.matmul(Z, z) for _, Z in self], axis=0)


def _parts(
    design: _Design, labels: Doubles, of_one: int, cap: int
) -> Iterator[tuple[_Design, slice | NDArray[np.intp], slice]]:
    """Yield what is fitted at a time: a design, its rows, and its machines.

    Machines that have all rows share the passes over the design. Where some leave rows out, as in one-vs-one, each is
    fitted by itself on the rows that it has.
    """
    n, M = labels.shape
    if labels.all():
        for some in blocks(M, of_one, cap):
            yield design, slice(0, n), some
        return
    for p in range(M):
        rows = np.flatnonzero(labels[:, p])
        whole = not 0 < len(rows) < n
        yield design if whole else design.of(rows), slice(0, n) if whole else rows, slice(p, p + 1)


def _penalty(kernel: Kernel, basis: Rows, width: int, here: Backend) -> Array:
    """Return ``P = diag(K_BB, 0)``, (p, p), symmetric and positive semi-definite."""
    xp, m = here.xp, basis.shape[0]
    K = kernel.gram(basis, basis)
    K = here.asarray(K) if is_csr(basis) else xp.astype(K, xp.float64, copy=False)  # CSR has no library of its own
    K = (K + K.T) / 2
    w, U = xp.linalg.eigh(K)
    if float(xp.min(w)) < -_NEGATIVE * float(xp.max(xp.abs(w))):
        K = xp.matmul(U * xp.maximum(w, xp.zeros_like(w)), U.T)
    if width == m:
        return K
    side, corner = xp.zeros_like(K[:, :1]), xp.zeros_like(K[:1, :1])
    return xp.concat([xp.concat([K, side], axis=1), xp.concat([side.T, corner], axis=1)], axis=0)


class _OnBasis:
    """Machines on basis vectors: the Newton system is (p, p)."""

    def __init__(self, design: _Design, P: Array) -> None:
        self._design, self._P = design, P
        self.here, self.times = design.here, design.times

    def penalty_times(self, z: Array) -> Array:
        return self.here.xp.matmul(self._P, z)

    def steps(self, Y: Array, z: Array, R: Array, C: float, running: NDArray[np.intp]) -> tuple[Array, Doubles]:
        xp, G = self.here.xp, z.shape[1]
        half_gradient = self.penalty_times(z)
        hessians = dict.fromkeys(running.tolist(), self._P)
        weighted = C * Y * positive(R)
        for rows, Z in self._design:
            half_gradient = half_gradient - xp.matmul(Z.T, weighted[rows, :])
            for g, Q in hessians.items():
                active = take(Z, np.flatnonzero(to_numpy(R[rows, g] > 0)))
                hessians[g] = Q + C * xp.matmul(active.T, active)
        steps = [
            solve_step(hessians[g], -half_gradient[:, g]) if g in hessians else xp.zeros_like(z[:, 0]) for g in range(G)
        ]
        step = xp.stack(steps, axis=1)
        return step, np.asarray(to_numpy(-xp.sum(half_gradient * step, axis=0)))


class _OnSamples:
    """One machine on its own samples: the Newton system is as large as the active set."""

    def __init__(self, samples: FoldedSamples) -> None:
        self._samples = samples
        self.here, self.times, self.penalty_times = samples.here, samples.times, samples.times

    def steps(self, Y: Array, z: Array, R: Array, C: float, running: NDArray[np.intp]) -> tuple[Array, Doubles]:
        xp = self.here.xp
        active = np.flatnonzero(to_numpy(R[:, 0] > 0))
        full = np.zeros((z.shape[0], 1))
        full[active, 0] = self._samples.solve_active(active, 1 / C)
        step = self.here.asarray(full) - z
        half_gradient = z - C * positive(R)  # in the metric K, as the machine is Σ_i α_i y_i x_i
        return step, np.asarray(to_numpy(-xp.sum(half_gradient * self.times(step), axis=0)))
