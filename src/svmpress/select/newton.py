"""Newton's method for the squared-hinge machines of :mod:`svmpress.select.hinge`, G of them at once.

    minimise over z (p, G):    zᵀ P z + C Σ_i max(0, 1 - y_i (Z z)_i)²

A problem says how to multiply by Z and P and what the step is (:class:`Machines`); here are the line search, which
finds the minimum along a step exactly, and the rule that decides when to stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from svmpress.numerics import Array, Backend, device_of, namespace, to_numpy

Doubles = NDArray[np.float64]

_RIDGE = 1e-12
"""Ridge of the Newton system, relative to its diagonal: above the rounding of a product over any usual n."""

_SLOPE_TOL = 1e-9
"""How much of the slope at the start of a line search may be left at its end."""


class HingeStatus(Enum):
    """Why the iterations ended; the value is the message for people."""

    CONVERGED = "converged"
    STALLED = "rounding leaves no further decrease"
    MAX_ITER = "stopped after max_iter steps, short of the tolerance"


class Machines(Protocol):
    """What Newton's method asks of a problem."""

    here: Backend

    def times(self, z: Array) -> Array:
        """Return the decision values ``Z z``, (n, G), for ``z`` of shape (p, G)."""

    def penalty_times(self, z: Array) -> Array:
        """Return ``P z``, (p, G)."""

    def steps(self, Y: Array, z: Array, R: Array, C: float, running: NDArray[np.intp]) -> tuple[Array, Doubles]:
        """Return the steps, (p, G), and the estimated distances from the minimum, (G,); 0 for machines at rest."""


@dataclass(frozen=True)
class Fitted:
    """The result for some machines, as in HingeFit, with ``z`` (p, G)."""

    z: Doubles
    objective: Doubles
    n_iter: NDArray[np.intp]
    status: HingeStatus


def minimise(machines: Machines, Y: Array, z: Array, C: float, max_iter: int, tol: float) -> Fitted:
    """Fit G machines: labels ``Y`` (n, G), start ``z`` (p, G)."""
    xp, here = machines.here.xp, machines.here
    R = xp.abs(Y) - Y * machines.times(z)  # 0 and inactive where a row is not part of a machine
    objective = objective_of(machines.penalty_times(z), z, R, C)
    G = z.shape[1]
    n_iter, running, stalled = np.zeros(G, dtype=np.intp), np.ones(G, dtype=bool), np.zeros(G, dtype=bool)
    for _ in range(max_iter):
        step, gap = machines.steps(Y, z, R, C, np.flatnonzero(running))
        running &= gap > tol * objective
        if not running.any():
            break
        S = Y * machines.times(step)
        P_step = machines.penalty_times(step)
        t = exact_steps(R, S, to_numpy(xp.sum(z * P_step, axis=0)), to_numpy(xp.sum(step * P_step, axis=0)), C)
        moved = z + here.asarray(t) * step
        trial = objective_of(machines.penalty_times(moved), moved, R - here.asarray(t) * S, C)
        better = running & (trial < objective)
        stalled |= running & ~better
        running, t = better, here.asarray(np.where(better, t, 0.0))
        z, R = z + t * step, R - t * S
        objective = np.where(better, trial, objective)
        n_iter += better
    status = HingeStatus.STALLED if stalled.any() else HingeStatus.CONVERGED
    status = HingeStatus.MAX_ITER if running.any() else status
    return Fitted(to_numpy(z), objective, n_iter, status)


def objective_of(Pz: Array, z: Array, R: Array, C: float) -> Doubles:
    """Return eq. 1 of each machine, (G,), from ``P z`` and its residuals ``R`` (n, G)."""
    xp = namespace(z, R)
    active = positive(R)
    return np.asarray(to_numpy(xp.sum(z * Pz, axis=0) + C * xp.sum(active * active, axis=0)))


def positive(R: Array) -> Array:
    """Return the residuals of the active rows, and 0 for the others."""
    xp = namespace(R)
    return xp.where(R > 0, R, xp.zeros_like(R))


def solve_step(Q: Array, h: Array) -> Array:
    """Return ``(Q + ridge)⁻¹ h``, (p,), for positive semi-definite ``Q`` (p, p).

    Q is first scaled to a diagonal of ones, so the ridge treats a bias and a polynomial kernel's widely different
    magnitudes alike.
    """
    xp = namespace(Q)
    diagonal = xp.linalg.diagonal(Q)
    floor = max(float(xp.max(diagonal)) * _RIDGE, np.finfo(np.float64).tiny)
    scale = 1 / xp.sqrt(xp.where(diagonal > floor, diagonal, xp.full_like(diagonal, floor)))
    unit = Q * scale[:, None] * scale[None, :]
    unit = unit + _RIDGE * xp.eye(unit.shape[0], dtype=unit.dtype, device=device_of(unit))
    return scale * xp.linalg.solve(unit, (scale * h)[:, None])[:, 0]


def exact_steps(R: Array, S: Array, q1: Doubles, q2: Doubles, C: float) -> Doubles:
    """Return for each machine the t >= 0 that minimises the objective along its step, (G,).

    ``R`` (n, G) are the residuals, ``S`` (n, G) what a step of 1 takes off them; the norm adds ``2 q1 t + q2 t²``. The
    objective must not rise at t = 0.

    Half the slope, ``q1 + q2 t - C Σ_i s_i max(0, r_i - t s_i)``, is piecewise linear and never falls. Newton's
    method for its root starts from the full step, t = 1, and is kept inside the bracket known so far.
    """
    xp, device = namespace(R), device_of(R)

    def slope_and_rise(t: Doubles) -> tuple[Doubles, Doubles]:
        left = R - xp.asarray(t, device=device) * S
        pull = xp.where(left > 0, S, xp.zeros_like(S))
        slope = q1 + q2 * t - C * np.asarray(to_numpy(xp.sum(pull * left, axis=0)))
        return slope, q2 + C * np.asarray(to_numpy(xp.sum(pull * pull, axis=0)))

    first = np.abs(slope_and_rise(np.zeros_like(q1))[0])
    t, low, high = np.ones_like(q1), np.zeros_like(q1), np.full_like(q1, np.inf)
    for _ in range(100):
        slope, rise = slope_and_rise(t)
        searching = np.abs(slope) > _SLOPE_TOL * first
        if not searching.any():
            break
        low, high = np.where(slope < 0, t, low), np.where(slope > 0, t, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = t - slope / rise
        halfway = np.where(np.isfinite(high), (low + high) / 2, 2 * t)
        inside = np.isfinite(newton) & (newton > low) & (newton < high)
        t = np.where(searching, np.where(inside, newton, halfway), t)
    return t
