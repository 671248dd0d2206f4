"""Least angle regression from a Gram matrix and correlations, for one target or many.

The problem is ``min ||T - Ω B||²`` over (p, M) coefficients with few non-zero rows; all that is known of it are the
columns of ``ΩᵀΩ`` and the correlations ``C₀ = ΩᵀT`` (p, M). LARS keeps the rows of the current correlations
``C = Ωᵀ(T - Ω B)`` of all *active* candidates at one common length λ, longer than any other (equation 4 of the paper
picks the first). With D the step from B to the least-squares fit on the active set, moving by a share s changes

    active       ||C_i|| = (1 - s) λ                  because the least-squares fit has none left
    the others   ||C_j - s U_j||,   U = ΩᵀΩ_A D

and the next candidate is the one whose length first equals the common one: the smallest root in (0, 1] of

    (||U_j||² - λ²) s² - 2 (C_j·U_j - λ²) s + ||C_j||² - λ² = 0.

With M = 1 this is LARS; with more it is its multi-response form (Similä and Tikka 2007), in which a candidate enters
for all outputs at once. Nothing is ever dropped, so k steps select exactly k candidates. The least-squares fits come
from a Cholesky factor L of the active part of the Gram matrix that grows by a row a step; ``L⁻¹ Ω_AᵀΩ`` also tells how
far every candidate is from the span of the active ones, and those that depend on them are left out before they tie. All
tolerances are relative: scaling targets or kernel changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from svmpress.errors import InputError
from svmpress.numerics import Floats
from svmpress.select.path import LarsPath, SelectionStatus

_DEPENDENT = 1e-11
"""A candidate is out once its squared distance from the active span is below this share of its squared length."""
_EXACT = 1e-12
"""Correlations below this share of the first one are rounding."""
_PREFETCH = 12
"""Gram columns fetched in one pass when a pass is expensive."""


class Columns(Protocol):
    """What LARS needs of a Gram matrix."""

    is_cached: bool

    @property
    def n_candidates(self) -> int:
        """The number of candidates, p."""

    def columns(self, which: NDArray[np.intp]) -> Floats:
        """Return columns of the Gram matrix, (p, len(which))."""

    def diagonal(self) -> Floats:
        """Return the diagonal of the Gram matrix, (p,)."""


def _check(gram: Columns, p: int, m: int) -> None:
    if m < 1:
        raise InputError(f"the number of vectors to select must be positive, not {m}")
    if p != gram.n_candidates:
        raise InputError(f"{p} correlations for {gram.n_candidates} candidates")


class _Fetcher:
    """Fetches Gram columns, a few likely ones at a time where a pass over the kernel is expensive."""

    def __init__(self, gram: Columns) -> None:
        self._gram = gram
        self._ahead: dict[int, Floats] = {}

    def __call__(self, j: int, lengths: Floats) -> Floats:
        if j not in self._ahead:
            which = np.array([j])
            if not self._gram.is_cached:
                likely = np.argsort(-lengths)[:_PREFETCH]
                which = np.array([j, *(int(i) for i in likely if i != j and np.isfinite(lengths[i]))])
            self._ahead = {int(i): column for i, column in zip(which, self._gram.columns(which).T, strict=True)}
        return self._ahead.pop(j)


def lars_path(
    gram: Columns,
    correlations: Floats,
    m: int,
    *,
    total: float = 0.0,
    progress: Callable[[int, int], None] | None = None,
) -> LarsPath:
    """Select ``m`` candidates by least angle regression.

    Parameters
    ----------
    gram : Columns
        Columns of ``ΩᵀΩ``, (p, p).
    correlations : (p, M)
        ``ΩᵀT``.
    m : int
        How many to select.
    total : float
        ``||T||²``, from which the errors of the path are counted.
    progress : callable, optional
        Called with (selected, m).

    Returns
    -------
    LarsPath
        With exactly ``m`` vectors, or a status that says why there are fewer.

    Examples
    --------
    >>> import numpy as np
    >>> from svmpress.select.columns import DenseColumns
    >>> path = lars_path(DenseColumns(np.eye(3)), np.array([[1.0], [3.0], [2.0]]), 2)
    >>> path.order.tolist(), path.at(2).coef.ravel().tolist()
    ([1, 2], [2.0, 1.0])
    """
    C = np.array(correlations, dtype=np.float64)
    p, n_outputs = C.shape
    _check(gram, p, m)
    size = min(m, p)
    order: list[int] = []
    W = np.empty((size, p))  # L⁻¹ Ω_AᵀΩ: its columns of active candidates are the rows of the Cholesky factor L
    C0 = np.empty((size, n_outputs))
    steps, errors = np.empty(size), np.empty(size)
    squares = gram.diagonal()
    unexplained = squares.copy()  # squared distance of each candidate from the span of the active ones
    fetch = _Fetcher(gram)
    lengths = np.linalg.norm(C, axis=1)
    first = float(lengths.max(initial=0.0))
    error, status = float(total), SelectionStatus.COMPLETE
    open_ = unexplained > 0  # may still be selected
    candidate = _next_longest(lengths, open_)

    while len(order) < size:
        if not open_.any():
            status = SelectionStatus.DEPENDENT
            break
        if lengths[candidate] <= _EXACT * first:
            status = SelectionStatus.EXACT
            break
        k = len(order)
        open_[candidate] = False
        column = fetch(candidate, np.where(open_, lengths, -np.inf))
        row = W[:k, candidate]
        W[k] = (column - row @ W[:k]) / np.sqrt(column[candidate] - row @ row)
        C0[k] = correlations[candidate]
        order.append(candidate)
        k += 1
        unexplained -= W[k - 1] ** 2
        open_ &= unexplained > _DEPENDENT * squares  # the others add nothing that is not there: out for good

        half = solve_triangular(W[:k, order].T, C[order], lower=True, check_finite=False)
        U = W[:k].T @ half
        active_length = float(lengths[order].max())
        step, candidate = _first_to_tie(C, U, active_length, open_)
        error -= (2 * step - step * step) * float(np.sum(half * half))
        C -= step * U
        lengths = np.linalg.norm(C, axis=1)
        steps[k - 1], errors[k - 1] = step, error
        if progress is not None:
            progress(k, size)

    k = len(order)
    if k == p and m > p:
        status = SelectionStatus.ALL
    return LarsPath(
        order=np.array(order, dtype=np.intp),
        error=errors[:k].copy(),
        steps=steps[:k].copy(),
        factor=np.tril(W[:k, order].T),
        correlations=C0[:k].copy(),
        total=float(total),
        status=status,
    )


def _next_longest(lengths: Floats, open_: NDArray[np.bool_]) -> int:
    return int(np.argmax(np.where(open_, lengths, -np.inf)))


def _first_to_tie(C: Floats, U: Floats, length: float, open_: NDArray[np.bool_]) -> tuple[float, int]:
    """Return the smallest step at which a candidate's correlation is as long as the active ones', and who it is."""
    if not open_.any():
        return 1.0, 0
    square = length * length  # relative to it, so that no scale of the problem over- or underflows
    a = np.einsum("ij,ij->i", U, U) / square - 1
    half_b = np.einsum("ij,ij->i", C, U) / square - 1  # the equation is a s² - 2 half_b s + c = 0
    c = np.minimum(np.einsum("ij,ij->i", C, C) / square - 1, 0.0)
    # c <= 0: at s = 0 nobody is longer than the active ones. The wanted root, where the difference of squared lengths
    # turns positive, is (half_b + root) / a; of its two forms each takes the one whose terms have the same sign.
    root = np.sqrt(np.maximum(half_b * half_b - a * c, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        s = np.where(half_b > 0, (half_b + root) / a, c / (half_b - root))
    s = np.where(open_ & (s >= 0), s, np.inf)
    best = int(np.argmin(s))
    if not s[best] < 1.0:  # no one ties before the least-squares fit: go there, then on with the longest that is left
        return 1.0, _next_longest(np.linalg.norm(C - U, axis=1), open_)
    return float(s[best]), best
