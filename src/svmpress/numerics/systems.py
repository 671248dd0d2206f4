"""Linear systems of the projected error: ridged, and with unknowns of its own for each output.

With a mask, every output is solved for the few coefficients that it may have. One by one that is hundreds of small
systems and as many pieces cut out of large matrices; here outputs with about as many unknowns form a stack, which is
put together and solved at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from svmpress.numerics import arrays
from svmpress.numerics.arrays import Array, Floats
from svmpress.numerics.parallel import one_blas_thread

STACK_BYTES = 2**26
"""Memory for systems that are solved together."""
ROUNDING = 1e-13
"""What is added to diagonals, relative to them, so that a singular system stays solvable."""
_TINY = 50
"""Unknowns up to which a system is solved sooner than the threads of LAPACK are counted."""
_STACKS = 8
"""Stacks at least, where there are as many outputs: of few, the threads would wait for the last."""

_FEWER = 0.5
"""A Gram matrix is made in pieces if these are so much less work; a whole one is made by halves as it is."""
_CALL = 200
"""Elements of a Gram matrix that cost as much as one call."""

Each = Callable[[Callable[[Any], Array], Sequence[Any]], list[Array]]
"""Returns a function of each item, perhaps side by side."""


def solve_positive(N: Array, R: Array) -> Array:
    """Solve ``N x = R`` for a symmetric positive definite N, (k, k) and (k, M), or a stack of such systems."""
    if not isinstance(N, np.ndarray):
        return arrays.namespace(N).linalg.solve(N, R)
    stack, sides = (N, R) if N.ndim == 3 else (N[None], R[None])
    with one_blas_thread() if N.shape[-1] > _TINY else nullcontext():
        try:
            factors = np.linalg.cholesky(stack)  # unlike SciPy's, it lets other threads run
        except np.linalg.LinAlgError:
            if len(stack) > 1:  # rounding made one of them indefinite
                return np.stack([solve_positive(n, r) for n, r in zip(stack, sides, strict=True)])
            x = np.stack([linalg.lstsq(stack[0], sides[0], check_finite=False)[0]])
        else:
            solved = (linalg.lapack.dpotrs(c.T, r)[0] for c, r in zip(factors, sides, strict=True))
            x = np.stack(list(solved))
    return x if N.ndim == 3 else x[0]


def solve_ridged(N: Array, R: Array, ridge: Array) -> Array:
    """Solve ``(N + diag(ridge)) x = R``, (k, k), (k, M) and (k,), or a stack of such systems."""
    xp, device = arrays.namespace(N), arrays.device_of(N)
    penalty = xp.asarray(ridge, dtype=xp.float64, device=device)
    diagonal = xp.clip(xp.linalg.diagonal(N) + penalty, min=1e-300)
    # unknowns are measured so that the diagonal is 1: columns of very different size are no trouble then
    scale = 1 / xp.sqrt(diagonal)
    N = N * scale[..., :, None]
    N *= scale[..., None, :]
    N += xp.eye(N.shape[-1], dtype=N.dtype, device=device) * (penalty * scale * scale + ROUNDING)[..., None]
    return solve_positive(N, R * scale[..., None]) * scale[..., None]


Piece = tuple[slice, slice]
"""Rows and columns of a matrix."""


def pieces(free: NDArray[np.bool_]) -> tuple[Piece, ...]:
    """Return what some outputs look at of a symmetric matrix: pieces that hold it all together with their mirrors.

    Parameters
    ----------
    free : (m, k) bool
        The rows, and columns, that each output looks at.

    Examples
    --------
    >>> found = pieces(np.repeat(np.eye(4, dtype=bool), 20, axis=0))
    >>> len(found), found[0]
    (4, (slice(0, 20, None), slice(0, 20, None)))
    """
    m = len(free)
    all_of_it = ((slice(0, m), slice(0, m)),)
    begins = np.flatnonzero(np.append(True, (free[1:] != free[:-1]).any(axis=1))[:m])  # of rows that are used alike
    alike, ends = free[begins].astype(np.float64), np.append(begins[1:], m)
    if _CALL * len(begins) > _FEWER * m * m:
        return all_of_it
    wanted = alike @ alike.T > 0
    found: list[Piece] = []
    for i in np.argsort(-wanted.sum(axis=1), kind="stable"):  # the one that most are wanted with is a strip
        edges = np.flatnonzero(np.diff(wanted[i], prepend=False, append=False))
        for first, last in edges.reshape(-1, 2):
            found.append((slice(int(begins[i]), int(ends[i])), slice(int(begins[first]), int(ends[last - 1]))))
        wanted[i], wanted[:, i] = False, False
    work = sum(_CALL + (rows.stop - rows.start) * (columns.stop - columns.start) for rows, columns in found)
    return tuple(found) if work < _FEWER * m * m else all_of_it


@dataclass(frozen=True, eq=False)
class _Stack:
    """Systems of B outputs, filled up to k unknowns with some of no account.

    Parameters
    ----------
    outputs : (B,)
    unknowns : (B, k)
        Positions; those that are solved for come first.
    real : (B, k) float
        1 for these, 0 for the others.
    place : (B, size)
        Where an unknown is in its system; k if it is not.
    ridge : (B, k)
    groups, apart : (D, B)
        Groups that an output weighs otherwise than usual, and by how much.
    """

    outputs: Array
    unknowns: Array
    real: Array
    place: Array
    ridge: Array
    groups: Array
    apart: Array


class MaskedSystems:
    """The systems of outputs that have unknowns of their own.

    Parameters
    ----------
    free : (size, M) bool
        What each output is solved for.
    weights : (g, M)
        Of the groups' Gram matrices, for each output.
    ridge : (size, M)
    like : Array
        Where the systems will be.
    """

    def __init__(self, free: NDArray[np.bool_], weights: Floats, ridge: Floats, like: Array) -> None:
        self.size, n_outputs = free.shape
        xp, device = arrays.namespace(like), arrays.device_of(like)
        # where some do not hear a group, nobody is to take it back from what is common: rounding might leave too much
        self._usual = np.array([_most_frequent(row) if row.all() else 0.0 for row in weights])
        counts = free.sum(axis=0)
        by_size = np.argsort(counts, kind="stable")
        together = max(1, min(STACK_BYTES // (8 * max(1, int(counts.max())) ** 2), -(-n_outputs // _STACKS)))
        self._stacks = []
        for first in range(0, n_outputs, together):
            outputs = by_size[first : first + together]
            own, k = free[:, outputs], max(1, int(counts[outputs].max()))
            unknowns = np.argsort(~own, axis=0, kind="stable")[:k].T
            real = np.arange(k) < counts[outputs][:, None]
            penalty = np.where(real, np.take_along_axis(ridge[:, outputs].T, unknowns, axis=1), 1.0)
            place = np.where(own, np.cumsum(own, axis=0) - 1, k).T
            apart = weights[:, outputs] - self._usual[:, None]
            groups = np.argsort(apart == 0, axis=0, kind="stable")[: int(np.count_nonzero(apart, axis=0).max())]
            parts = np.take_along_axis(apart, groups, axis=0)
            of_stack = (outputs, unknowns, real.astype(np.float64), place, penalty, groups, parts)
            self._stacks.append(_Stack(*(xp.asarray(np.ascontiguousarray(a), device=device) for a in of_stack)))
        self._back = xp.asarray(np.argsort(by_size), device=device)

    def solve(self, grams: Array, R: Array, each: Each) -> Array:
        """Return the solutions, (size, M), zero where an output is not solved for.

        Parameters
        ----------
        grams : (g, size, size)
            The groups' Gram matrices.
        R : (size, M)
        each : callable
        """
        xp, device, size = arrays.namespace(R), arrays.device_of(R), self.size
        flat, sides = xp.reshape(grams, (-1,)), xp.reshape(R.T, (-1,))
        common = xp.zeros_like(flat[: size * size])
        for g in np.flatnonzero(self._usual):
            common += float(self._usual[g]) * flat[g * size * size : (g + 1) * size * size]

        def solved(stack: _Stack) -> Array:
            at, real = stack.unknowns, stack.real
            cells = at[:, :, None] * size + at[:, None, :]
            N = _picked(common, cells)
            for d in range(stack.groups.shape[0]):
                of_group = _picked(flat, stack.groups[d, :][:, None, None] * size**2 + cells)
                of_group *= stack.apart[d, :][:, None, None]
                N += of_group
            N *= real[:, :, None]
            N *= real[:, None, :]
            of_each = _picked(sides, stack.outputs[:, None] * size + at) * real
            x = solve_ridged(N, of_each[:, :, None], stack.ridge)[:, :, 0]
            padded = xp.concat([x, xp.zeros_like(x[:, :1])], axis=1)
            starts = xp.arange(padded.shape[0], device=device)[:, None] * padded.shape[1]
            return _picked(xp.reshape(padded, (-1,)), starts + stack.place)

        columns = xp.concat(each(solved, self._stacks), axis=0)
        return xp.take(columns, self._back, axis=0).T


def _most_frequent(values: Floats) -> float:
    found, counts = np.unique(values, return_counts=True)
    return float(found[counts.argmax()])


def _picked(flat: Array, positions: Array) -> Array:
    """Return the elements of a vector at these positions, in their shape."""
    xp = arrays.namespace(flat)
    return xp.reshape(xp.take(flat, xp.reshape(positions, (-1,)), axis=0), positions.shape)
