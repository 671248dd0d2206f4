"""The elastic net at one bound, exactly.

    minimise  ||T - Ω B||² + λ ||B||²    subject to  Σ |B_jo| <= t

from columns of ``G = ΩᵀΩ`` (p, p) and the correlations ``C = ΩᵀT`` (p, M). Its optimality conditions, with the
multiplier μ of the bound and ``R = C - (G + λ) B``, are

    R_jo = μ sign(B_jo)  where B_jo is not zero        |R_jo| <= μ  elsewhere        μ >= 0, and 0 if the bound is slack

**Working set.** The machine of :mod:`svmpress.select.reduction` is trained on some candidates; its active samples say
which coefficients are not zero, and their signs. With those known the conditions are linear, and are solved and checked
(*polishing*). Then all other candidates are checked, in one product with the columns of the active ones, and those that
violate the conditions most join the working set: only its columns are ever fetched.

**λ = 0** is the hard margin, C = ∞, where Newton's system may be singular. A ridge is then taken about the last
solution A instead of about zero, ``ρ ||B - A||²`` (the proximal-point method): it adds ρ A to the correlations and ρ
to λ, and vanishes where it converges. Polishing, which knows no ρ, usually ends it after the first machine; if not, ρ
is lowered.

**A slack bound** breaks the reduction, which needs Σ|B| = t. It shows: the solution without bound, on the working
set, is inside. It is then the answer, once no other candidate helps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from svmpress.errors import InputError
from svmpress.numerics import Array, Backend, Floats, solve_positive, to_numpy
from svmpress.select.columns import DesignColumns, columns_of
from svmpress.select.lars import Columns
from svmpress.select.reduction import SINGULAR, Hull, Signed, active_in_primal

Form = Literal["auto", "primal", "dual"]

_PROX = 1e-5
"""Least ridge of a machine, relative to the largest diagonal of the Gram matrix; what λ lacks is proximal."""
_SHARPER, _LEAST_PROX = 0.25, 1e-8
"""What that ridge is multiplied by after a machine whose active samples were not yet right, and where that ends."""
_MACHINES = 20
"""Proximal steps at most."""
_NEWTON = 100
"""Newton steps of a machine at most."""
_CONDITIONS = 1e-9
"""Violation of the optimality conditions, relative to the largest correlation, that is rounding."""
_ZERO = 1e-12
"""Coefficients below this part of the bound are zero."""
_AHEAD = 16
"""Columns that come along where a pass over the kernel is expensive: those likely to be asked for next."""
_BATCH = 16
"""Candidates that may join the working set at once, at least; else as many as there are in it."""


class ElasticNetStatus(Enum):
    """What a solution is; the value is the message for people."""

    OPTIMAL = "the bound holds with equality and the optimality conditions hold"
    SLACK = "the bound is slack: this is the solution without it"
    INEXACT = "the candidates are too nearly dependent for the optimality conditions to hold to rounding"


@dataclass(frozen=True, eq=False)
class Point:
    """A solution, in units of the problem: ``rows`` (k,) ascending, ``coef`` (k, M), and what is left, ``R`` (p, M)."""

    rows: NDArray[np.intp]
    coef: Floats
    R: Floats
    bound: float
    mu: float
    status: ElasticNetStatus
    n_iter: int


class Solver:
    """One problem, in units in which the largest diagonal of G and the largest correlation are 1."""

    def __init__(
        self, gram: Columns, correlations: Floats, *, l2: float, form: Form, max_bytes: int, backend: Backend | None
    ) -> None:
        C = np.array(correlations, dtype=np.float64)
        if C.ndim != 2 or C.shape[0] != gram.n_candidates:
            raise InputError(f"{C.shape[0]} correlations for {gram.n_candidates} candidates")
        if not np.isfinite(C).all():
            raise InputError("the correlations must be finite")
        self.gram, self._form, self._max_bytes = gram, form, max_bytes
        self.here = backend or Backend.of("cpu")
        self.g, self.c = float(np.max(gram.diagonal())), float(np.abs(C).max())
        self.is_zero = self.c == 0 or self.g == 0
        self.C = C if self.is_zero else C / self.c
        self.l2 = l2 / self.g if self.g else 0.0
        self.unit = 1.0 if self.is_zero else self.g / self.c  # coefficients times this are in units of the problem
        self._fetched: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self._columns: Array = None  # (p, len(_fetched)), where the backend computes
        self._lengths = np.abs(self.C).max(axis=1)  # of what is left, as of the last solution

    def start(self) -> Point:
        """Return the solution at the bound 0."""
        rows = np.empty(0, dtype=np.intp)
        mu = float(np.abs(self.C).max())
        return Point(rows, np.empty((0, self.C.shape[1])), self.C, 0.0, mu, ElasticNetStatus.OPTIMAL, 0)

    def solve(self, bound: float, near: Point, likely: NDArray[np.intp] | None = None) -> Point:
        """Return the solution at a bound, from one nearby; ``likely`` are candidates that may be active there."""
        most = self._max_bytes // (8 * self.C.shape[0])
        first = np.array([np.abs(near.R).max(axis=1).argmax()])
        others = first[:0] if likely is None else likely[: max(most - len(near.rows) - 1, 0)]
        working = np.unique(np.concatenate([near.rows, first, others]))
        n_iter = 0
        while True:
            point = self._on(working, bound, near)
            n_iter += point.n_iter
            lengths = np.abs(point.R).max(axis=1)
            lengths[working] = 0
            worse = np.flatnonzero(lengths > point.mu + _CONDITIONS)
            if not worse.size:
                return replace(point, n_iter=n_iter)
            worse = worse[np.argsort(-lengths[worse], kind="stable")][: max(_BATCH, len(working))]
            if len(working) + len(worse) > most:  # the error falls with each of these sets, so none comes again
                working, worse = point.rows, worse[: max(most - len(point.rows), 1)]
            working, near = np.unique(np.concatenate([working, worse])), point

    def _on(self, working: NDArray[np.intp], bound: float, near: Point) -> Point:
        """Return the solution among the candidates ``working``, (w,)."""
        G, c = self.block(working), self.C[working]
        free = self._unbounded(G, c, self.l2)
        if np.abs(free).sum() <= bound:
            return self._point(working, free, bound, 0.0, ElasticNetStatus.SLACK, 0)
        A = np.zeros_like(c)
        A[np.searchsorted(working, near.rows)] = near.coef
        n_iter = 0
        for machine in range(_MACHINES):
            ridge = max(self.l2, _PROX * _SHARPER**machine, _LEAST_PROX)
            start = A if A.any() else np.where(np.abs(c) == np.abs(c).max(), c, 0.0)
            shifted = c + (ridge - self.l2) * A
            if machine == 0 and self._in_primal(len(working)):
                which, coef, steps = self._primal(working, bound, ridge, start)
            else:
                which, coef, steps = Hull(G, shifted, bound, ridge, self.here).active(start, _NEWTON)
            n_iter += steps
            signed = Signed.of_samples(which, *c.shape)
            if signed.is_twofold:  # with this ridge the bound is slack
                coef = self._unbounded(G, shifted, ridge)
            else:
                polished = self._polish(G, c, signed, bound)
                if polished is not None:
                    return self._point(working, *polished, ElasticNetStatus.OPTIMAL, n_iter)
            if np.abs(coef - A).max() <= np.finfo(np.float64).eps * bound:
                break
            A = coef
        mu = float(np.abs(c - to_numpy(self.here.xp.matmul(G, self.here.asarray(A))) - self.l2 * A).max())
        return self._point(working, A, bound, mu, ElasticNetStatus.INEXACT, n_iter)

    def _unbounded(self, G: Array, c: Floats, ridge: float) -> Floats:
        """Return ``(G + ridge)⁻¹ c``, (w, M)."""
        xp = self.here.xp
        eye = xp.eye(G.shape[0], dtype=G.dtype, device=self.here.device)
        return np.asarray(to_numpy(solve_positive(G + max(ridge, SINGULAR) * eye, self.here.asarray(c))))

    def _in_primal(self, w: int) -> bool:
        """Return whether the first machine on w candidates is fitted in the primal: the wish, or the smaller system."""
        if isinstance(self.gram, DesignColumns) and self.C.shape[1] == 1:
            return self._form == "primal" or (self._form == "auto" and self.gram.omega.shape[0] < w)
        if self._form == "primal":
            raise InputError("the primal form needs DesignColumns with one target")
        return False

    def _primal(
        self, working: NDArray[np.intp], bound: float, ridge: float, start: Floats
    ) -> tuple[NDArray[np.intp], Floats, int]:
        assert isinstance(self.gram, DesignColumns)
        omega = self.here.asarray(columns_of(self.gram.omega, working)) / self.g**0.5
        target = self.here.asarray(self.gram.targets)[:, 0] * (self.g**0.5 / self.c)
        return active_in_primal(omega, target, bound, ridge, start, self.here, _NEWTON)

    def _polish(self, G: Array, c: Floats, signed: Signed, bound: float) -> tuple[Floats, float, float] | None:
        """Solve the conditions for given signs; return coefficients (w, M), bound and multiplier if all hold."""
        while len(signed):
            u, v = signed.solve(G, c, self.l2, self.here)
            mu = float((u.sum() - bound) / v.sum())
            sizes = u - mu * v
            inside = sizes > _ZERO * bound
            if inside.all():
                break
            signed = signed.keep(inside)  # the others are at the edge of the active set: if they belong, it shows below
        else:
            return None
        coef = np.zeros_like(c)
        coef[signed.rows, signed.outputs] = signed.signs * sizes
        left = c - to_numpy(self.here.xp.matmul(G, self.here.asarray(coef))) - self.l2 * coef
        wanted = signed.signs * mu
        fits = np.abs(left[signed.rows, signed.outputs] - wanted).max() <= _CONDITIONS
        return (coef, bound, mu) if fits and mu >= 0 and np.abs(left).max() <= mu + _CONDITIONS else None

    def _point(
        self, working: NDArray[np.intp], coef: Floats, bound: float, mu: float, status: ElasticNetStatus, n_iter: int
    ) -> Point:
        used = coef.any(axis=1)
        rows, coef = working[used], coef[used]
        R = self.C - self.times(rows, coef)
        R[rows] -= self.l2 * coef
        self._lengths = np.abs(R).max(axis=1)
        return Point(rows, coef, R, bound, mu, status, n_iter)

    # ---- columns of the Gram matrix ---------------------------------------------------------------------

    def _fetch(self, wanted: NDArray[np.intp]) -> None:
        """Have the columns ``wanted``; forget others where memory is short."""
        p = self.C.shape[0]
        new = np.setdiff1d(wanted, self._fetched)
        if not new.size:
            return
        if 8 * p * len(wanted) > self._max_bytes:
            raise InputError(
                f"{len(wanted):,} columns of the Gram matrix of {p:,} candidates are needed at once, "
                f"{8 * p * len(wanted) / 1e9:.1f} GB: raise max_bytes, or select fewer vectors"
            )
        if self._fetched.size and 8 * p * (len(self._fetched) + len(new)) > self._max_bytes:
            kept = np.isin(self._fetched, wanted)
            self._fetched = self._fetched[kept]
            self._columns = columns_of(self._columns, np.flatnonzero(kept))
        if not self.gram.is_cached:
            room = self._max_bytes // (8 * p) - len(self._fetched) - len(new)
            lengths = self._lengths.copy()
            lengths[np.concatenate([self._fetched, new])] = -1
            likely = np.argsort(-lengths, kind="stable")[: max(min(_AHEAD, room), 0)]
            new = np.concatenate([new, likely[lengths[likely] >= 0]])
        fresh = self.here.asarray(self.gram.columns(new) / self.g)
        self._columns = fresh if not self._fetched.size else self.here.xp.concat([self._columns, fresh], axis=1)
        self._fetched = np.concatenate([self._fetched, new])

    def _places(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        sorter = np.argsort(self._fetched)
        return sorter[np.searchsorted(self._fetched, rows, sorter=sorter)]

    def block(self, working: NDArray[np.intp]) -> Array:
        """Return G among the candidates ``working``, (w, w)."""
        self._fetch(working)
        xp = self.here.xp
        at = xp.asarray(working, device=self.here.device)
        return xp.take(columns_of(self._columns, self._places(working)), at, axis=0)

    def times(self, rows: NDArray[np.intp], coef: Floats) -> Floats:
        """Return ``G B``, (p, M), for the coefficients (k, M) of some rows."""
        if not rows.size:
            return np.zeros_like(self.C)
        columns = columns_of(self._columns, self._places(rows))
        return np.asarray(to_numpy(self.here.xp.matmul(columns, self.here.asarray(coef))))

    # ---- extrapolation ----------------------------------------------------------------------------------

    def ahead(self, at: Point, count: int) -> tuple[float, NDArray[np.intp]]:
        """Return the bound at which ``count`` vectors are active if nothing bends the path, and those that enter."""
        rows, coef = at.rows, at.coef
        if not rows.size:  # the path begins with the largest correlation, whose coefficient is still zero
            rows = np.array([np.abs(at.R).max(axis=1).argmax()])
            coef = np.where(np.abs(at.R[rows]) == at.mu, at.R[rows], 0.0)
        signed = Signed.of_coef(coef)
        v = signed.solve(self.block(rows), np.zeros_like(coef), self.l2, self.here)[1]
        V = np.zeros_like(coef)
        V[signed.rows, signed.outputs] = signed.signs * v
        U = self.times(rows, V)  # R falls by U for each unit that μ falls
        with np.errstate(divide="ignore", invalid="ignore"):
            ties = np.stack([(at.mu - at.R) / (1 - U), (at.mu + at.R) / (1 + U)])
        ties = np.where(np.isfinite(ties) & (ties > 0), ties, np.inf).min(axis=(0, 2))
        ties[rows] = np.inf
        enter = np.argsort(ties, kind="stable")[: max(count - len(rows), 0) + 1]
        last, after = ties[enter[-2]] if len(enter) > 1 else 0.0, ties[enter[-1]]
        fall = min((last + after) / 2, 0.9 * at.mu)
        return at.bound + fall * float(v.sum()), enter[ties[enter] <= fall]
