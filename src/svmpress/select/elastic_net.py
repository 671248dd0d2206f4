"""The elastic net, by its reduction to a squared-hinge SVM: an L1 bound that picks vectors (equation 9 of the paper).

Problem (9) with an optional L2 term, for regressors ``Ω`` (n, p) and targets ``T = -β`` (n, M):

    minimise  ||T - Ω B||² + λ ||B||²    subject to  Σ |B_jo| <= t                                       (9)

It is known here as LARS knows it: by columns of ``G = ΩᵀΩ`` and the correlations ``C = ΩᵀT`` (p, M).
:mod:`svmpress.select.bounded` solves it for one bound t, and :mod:`svmpress.select.reduction` is the machine it uses.

**A number of vectors.** A candidate j with a coefficient that is not zero is an active vector. With several outputs
it is active as soon as one of them uses it: the bound is on the sum over all outputs, so they compete for it, and
each by itself is the elastic net with the common multiplier. The path over t is piecewise linear; from a solution on
it the next bound is extrapolated for up to 2.5 times as many vectors, and the machine, started from that solution,
says what is true there. Where a step goes too far, the bound is bracketed. So a path of m vectors takes a few dozen
machines and matrix products with blocks of Gram columns, where LARS takes m steps with one column each. Unlike LARS
the elastic net drops vectors: what is returned are those active at the last bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from svmpress.errors import InputError
from svmpress.numerics import Backend, Floats, to_numpy
from svmpress.select.bounded import ElasticNetStatus, Form, Point, Solver
from svmpress.select.columns import DenseColumns
from svmpress.select.lars import Columns
from svmpress.select.path import Selected, SelectionPath, SelectionStatus

Progress = Callable[[int, int], None]

_GROWTH = 2.5
"""By how much the number of active vectors is meant to grow from one bound of the path to the next."""
_END = 1e-10
"""The path has ended where the multiplier is below this part of the largest correlation."""
_BOUNDS = 120
"""Bounds that a path may try."""
_TIED = 1e-13
"""Bounds closer than this part of them are one: candidates that differ between them tie."""


@dataclass(frozen=True, eq=False)
class ElasticNetFit:
    """The elastic net at one bound.

    Parameters
    ----------
    indices : (k,)
        The active vectors, ascending: candidates with a coefficient that is not zero.
    coef : (k, M)
    bound : float
        t.
    multiplier : float
        μ; with scikit-learn's parameters it is ``n · alpha · l1_ratio``, and λ is ``n · alpha · (1 - l1_ratio)``.
    error : float
        ``||T - Ω B||² + λ ||B||²``.
    status : ElasticNetStatus
    n_iter : int
        Newton steps.
    """

    indices: NDArray[np.intp]
    coef: Floats
    bound: float
    multiplier: float
    error: float
    status: ElasticNetStatus
    n_iter: int


@dataclass(frozen=True, eq=False)
class ElasticNetPath(SelectionPath):
    """A path of the elastic net.

    ``order`` are the vectors active at the last bound, in the order in which they became so for good; those that did at
    the same bound of the path, by the size of their coefficients there. The Gram matrix and errors include λ.

    Parameters
    ----------
    bounds : (m,)
        The bound at which each was first seen to be active.
    fits : tuple of ElasticNetFit
        The solutions along the way, by growing bound. The last has exactly m active vectors, unless several enter at
        once.
    """

    bounds: Floats
    fits: tuple[ElasticNetFit, ...]

    def at(self, k: int) -> Selected:
        """Return the first k vectors with the elastic net on them alone, at the bound where the k-th entered."""
        self._check(k)
        if k == 0:
            return Selected(self.order[:0], np.zeros((0, self.correlations.shape[1])), self.total)
        last = self.fits[-1]
        if k == len(self) == len(last.indices):
            return Selected(self.order, last.coef[np.searchsorted(last.indices, self.order)], last.error)
        L = self.factor[:k, :k]
        fit = ElasticNet().fit(DenseColumns(L @ L.T), self.correlations[:k], self.bounds[k - 1], total=self.total)
        coef = np.zeros((k, self.correlations.shape[1]))
        coef[fit.indices] = fit.coef
        return Selected(self.order[:k], coef, fit.error)


@dataclass(frozen=True)
class ElasticNet:
    """The elastic net as a selector.

    Parameters
    ----------
    l2 : float
        λ. Zero is the Lasso.
    form : "auto", "primal" or "dual"
        Of the machine. The primal's Newton system has a row for each row of Ω, the dual's one for each active
        sample; "auto" takes the primal where Ω (:class:`DesignColumns`, one output) has fewer rows than the working set
        has candidates.
    max_bytes : int
        Memory for Gram columns.
    backend : Backend, optional
        Where to compute; results are NumPy.

    Examples
    --------
    >>> import numpy as np
    >>> from svmpress.select.columns import DenseColumns
    >>> fit = ElasticNet().fit(DenseColumns(np.eye(3)), np.array([[1.0], [3.0], [-2.0]]), 3.0)
    >>> fit.indices.tolist(), fit.coef.ravel().round(9).tolist(), round(fit.multiplier, 9)
    ([1, 2], [2.0, -1.0], 1.0)
    """

    l2: float = 0.0
    form: Form = "auto"
    max_bytes: int = 2**30
    backend: Backend | None = None

    def __post_init__(self) -> None:
        if not (np.isfinite(self.l2) and self.l2 >= 0):
            raise InputError(f"l2 must be zero or a positive number, not {self.l2!r}")
        if self.form not in ("auto", "primal", "dual"):
            raise InputError(f"form must be 'auto', 'primal' or 'dual', not {self.form!r}")

    def fit(self, gram: Columns, correlations: Floats, bound: float, *, total: float = 0.0) -> ElasticNetFit:
        """Solve (9) for one bound.

        Parameters
        ----------
        gram : Columns
            Columns of ``ΩᵀΩ``, (p, p).
        correlations : (p, M)
            ``ΩᵀT = -Ωᵀβ``.
        bound : float
            t, positive.
        total : float
            ``||T||²``, from which the error is counted.
        """
        if not (np.isfinite(bound) and bound > 0):
            raise InputError(f"the bound must be a positive number, not {bound!r}")
        solver = self._solver(gram, correlations)
        if solver.is_zero:
            return replace(_fit_of(solver, solver.start(), total), bound=bound, status=ElasticNetStatus.SLACK)
        return replace(_fit_of(solver, solver.solve(bound * solver.unit, solver.start()), total), bound=bound)

    def path(
        self, gram: Columns, correlations: Floats, m: int, *, total: float = 0.0, progress: Progress | None = None
    ) -> ElasticNetPath:
        """Select ``m`` candidates by growing the bound until that many are active.

        Parameters
        ----------
        gram, correlations, total
            As for :meth:`fit`.
        m : int
        progress : callable, optional
            Called with (active, m).

        Returns
        -------
        ElasticNetPath
            With exactly ``m`` vectors, or a status that says why there are fewer.
        """
        if m < 1:
            raise InputError(f"the number of vectors to select must be positive, not {m}")
        walk = _Walk(self._solver(gram, correlations), min(m, gram.n_candidates), float(total), progress)
        status = walk.run()
        if status is SelectionStatus.COMPLETE and m > gram.n_candidates:
            status = SelectionStatus.ALL
        return walk.path(status, self.l2)

    def _solver(self, gram: Columns, correlations: Floats) -> Solver:
        return Solver(gram, correlations, l2=self.l2, form=self.form, max_bytes=self.max_bytes, backend=self.backend)


def _fit_of(solver: Solver, point: Point, total: float) -> ElasticNetFit:
    """Return a solution in the units of the caller."""
    explained = float(np.sum(point.coef * (solver.C + point.R)[point.rows]))
    return ElasticNetFit(
        indices=point.rows,
        coef=point.coef / solver.unit,
        bound=point.bound / solver.unit,
        multiplier=point.mu * solver.c,
        error=total - explained * solver.c / solver.unit,
        status=point.status,
        n_iter=point.n_iter,
    )


class _Walk:
    """The walk from the bound 0 to one with ``size`` active vectors."""

    def __init__(self, solver: Solver, size: int, total: float, progress: Progress | None) -> None:
        self.solver, self.size, self.total, self.progress = solver, size, total, progress
        self.fits: list[ElasticNetFit] = []
        self.entered: dict[int, tuple[float, float]] = {}
        """Of the vectors active now: the bound at which each was first seen, and minus its coefficient there."""

    def path(self, status: SelectionStatus, l2: float) -> ElasticNetPath:
        """Return what was found, in the units of the caller."""
        solver = self.solver
        order = np.array(sorted(self.entered, key=self.entered.__getitem__)[: self.size], dtype=np.intp)
        bounds = np.array([self.entered[j][0] for j in order.tolist()]) / solver.unit
        fits = tuple(self.fits) or (_fit_of(solver, solver.start(), self.total),)
        bounds[-1:] = fits[-1].bound
        G = to_numpy(solver.block(order)) * solver.g if order.size else np.empty((0, 0))
        return ElasticNetPath(
            order=order,
            factor=_cholesky(G + l2 * np.eye(len(order))),
            correlations=(solver.C * solver.c)[order],
            total=self.total,
            status=status,
            bounds=bounds,
            fits=fits,
        )

    def run(self) -> SelectionStatus:
        """Go there; say how it ended."""
        if self.solver.is_zero:
            return SelectionStatus.EXACT
        low: Point = self.solver.start()
        high: Point | None = None
        for trial in range(_BOUNDS):
            have = len(low.rows)
            goal = self.size if high is not None else min(self.size, max(have + 2, int(_GROWTH * have)))
            bound, likely = self.solver.ahead(low, goal)
            if high is not None:
                if high.bound - low.bound <= _TIED * high.bound:
                    break
                if trial % 2 or bound >= high.bound:  # in turn, as an extrapolation may bracket from one side only
                    bound = (low.bound + high.bound) / 2
            point = self.solver.solve(bound, low, likely)
            if len(point.rows) > self.size:
                high = point
                continue
            self._accept(point)
            if len(point.rows) == self.size:
                return SelectionStatus.COMPLETE
            if point.mu <= _END:
                return SelectionStatus.EXACT
            low = point
        if high is None:
            return SelectionStatus.DEPENDENT
        self._accept(high)  # several enter at one bound: the path takes the first of them
        return SelectionStatus.COMPLETE

    def _accept(self, point: Point) -> None:
        sizes = dict(zip(point.rows.tolist(), np.abs(point.coef).max(axis=1).tolist(), strict=True))
        self.entered = {j: self.entered.get(j, (point.bound, -size)) for j, size in sizes.items()}
        self.fits.append(_fit_of(self.solver, point, self.total))
        if self.progress is not None:
            self.progress(min(len(point.rows), self.size), self.size)


def _cholesky(G: Floats) -> Floats:
    """Return the lower factor, with a relative ridge if rounding made G indefinite."""
    ridge = 0.0
    while True:
        try:
            return np.asarray(np.linalg.cholesky(G + ridge * np.eye(len(G))), dtype=np.float64)
        except np.linalg.LinAlgError:
            ridge = max(10 * ridge, 1e-14 * float(np.max(np.diagonal(G))))
