"""What an objective needs of its rows: sums over all of them, small enough to be told.

    equations   [K 1]ᵀ[K 1] of every group of rows, and [K 1]ᵀT                 K = k(X, V)
    slopes      the error at coefficients that solve these, and its derivatives with respect to V and γ

:class:`LocalSums` has the rows, and asks the extension in C or does the same by array operations;
:class:`~svmpress.objectives.ShardSums` asks those who have them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from svmpress.kernels import Kernel
from svmpress.numerics import Array, Floats, Piece, Rows, arrays, pieces, side_by_side
from svmpress.objectives.fused import FusedPasses, rectangles
from svmpress.objectives.row_groups import Group, better_at_once, slopes_at_once

Result = TypeVar("Result")

Kept = dict[tuple[int, int, int], Array]
"""Kernel values of blocks of rows, by where these begin and end, and their step."""

WORTH_THREADS = 2e5
"""Kernel values from which on groups are worth threads."""


class RowSums(Protocol):
    """Sums over rows in groups, with targets of M outputs."""

    @property
    def rows(self) -> Rows:
        """The rows, or some of them."""

    @property
    def like(self) -> Array:
        """An array of the library and on the device to compute with."""

    @property
    def worth_threads(self) -> bool:
        """Whether there is so much to do that what is done for each group or output is worth threads."""

    @property
    def weights(self) -> list[Array]:
        """Of each group for each output, (M,); 0 where an output does not hear the group."""

    @property
    def heard(self) -> Floats:
        """The weight of all rows for each output, (M,)."""

    def error_of_constants(self) -> float:
        """Return the weighted squared error of the best intercepts alone."""

    @property
    def equations(self) -> Callable[[Kernel, Array, Array, Array | None], Array]:
        """What takes (kernel, V, grams, shift), fills ``grams``, and returns moments.

        Every ``[K 1]ᵀ[K 1]`` of a group is put into ``grams`` (g, m+1, m+1), but what nobody is solved for stays as it
        is; the moments are ``[K 1]ᵀ(T - shift)``, weighted, (m+1, M).
        """

    @property
    def slopes(self) -> Callable[[Kernel, Array, Array, Array, float, bool], tuple[float, Array, float]]:
        """What takes (kernel, V, coef, intercept, factor, width), and returns an error and its slopes.

        ``Σ w R²`` of ``R = K A + b - T``, and its slopes by V and γ times ``factor / 2``, at the kernel and V of the
        last equations; the slope of γ is 0 if not ``width``.
        """


def spread_error(total: Array, first: Array, second: Array) -> float:
    """Return the squared error of the best constants, from sums of weights, values and squares by output, (M,)."""
    spread = second - first * first / total
    return max(float(arrays.namespace(spread).sum(spread)), 1e-300)


def moments_of(groups: Sequence[Group], n_outputs: int, like: Array) -> tuple[Array, Array, Array]:
    """Return the sums of weights, of targets and of their squares by output, (M,) each."""
    xp = arrays.namespace(like)
    total = xp.zeros(n_outputs, dtype=xp.float64, device=arrays.device_of(like))
    first, second = total, total
    for group in groups:
        T, w = group.targets, group.weights
        total = total + group.spread(w * T.shape[0])
        first = first + group.spread(w * xp.sum(T, axis=0))
        second = second + group.spread(w * xp.sum(T * T, axis=0))
    return total, first, second


class LocalSums:
    """Sums over rows of this process; see :class:`RowSums`.

    Parameters
    ----------
    kernel : Kernel
    rows : (n, d)
        Sorted by group.
    targets : (n, M)
        Any array of the library to compute with.
    groups : sequence of Group
        With their targets.
    m : int
        Vectors.
    heard : (M,)
    mask : (m, M) bool, optional
        Which coefficients may differ from zero: no other part of the equations is computed.
    max_bytes : int
        Memory for what is kept of the kernel matrix between the two passes.
    """

    def __init__(
        self,
        kernel: Kernel,
        rows: Rows,
        targets: Array,
        groups: Sequence[Group],
        m: int,
        *,
        heard: Floats,
        mask: NDArray[np.bool_] | None = None,
        max_bytes: int,
    ) -> None:
        self.rows, self.like, self.heard, self.groups = rows, targets, heard, groups
        self.max_bytes = max_bytes
        self._xp, self._device, self.n_outputs = (
            arrays.namespace(targets),
            arrays.device_of(targets),
            int(targets.shape[1]),
        )
        self.weights = [group.spread(group.weights) for group in groups]
        on_host = isinstance(targets, np.ndarray)
        self.worth_threads = on_host and len(groups) > 1 and targets.shape[0] * m > WORTH_THREADS
        self._n_heard = sum(group.targets.shape[0] for group in groups)
        self._at_once = better_at_once(rows, targets, m, len(groups), max_bytes)
        self._pieces: list[tuple[Piece, ...]] = [pieces(np.ones((m, 1), dtype=bool))] * len(groups)
        if mask is not None:
            self._pieces = [pieces(mask[:, arrays.to_numpy(w) > 0]) for w in self.weights]
        self.equations: Callable[[Kernel, Array, Array, Array | None], Array] = self._equations
        self.slopes: Callable[[Kernel, Array, Array, Array, float, bool], tuple[float, Array, float]] = self._slopes
        fused = FusedPasses.for_rows(kernel, rows, groups, self.n_outputs, m, max_bytes)
        if fused is not None:
            self.equations, self.slopes = partial(fused.equations, pieces=rectangles(self._pieces, m)), fused.slopes
        self._kept: Kept = {}
        self._whole: Array | None = None

    def error_of_constants(self) -> float:
        """Return the weighted squared error of the best intercepts alone."""
        return spread_error(*moments_of(self.groups, self.n_outputs, self.like))

    def _equations(self, kernel: Kernel, V: Array, grams: Array, shift: Array | None) -> Array:
        """Put the equations of every group in their places by array operations and return the moments."""
        self._kept, self._whole = {}, kernel.gram(self.rows, V) if self._at_once else None
        moment = self._xp.zeros((V.shape[0] + 1, self.n_outputs), dtype=self._xp.float64, device=self._device)
        for part in self._each(
            lambda which: self._normal_equations(kernel, V, which, grams, shift), list(enumerate(self.groups))
        ):
            moment = moment + part
        return moment

    def _slopes(
        self, kernel: Kernel, V: Array, coef: Array, intercept: Array, factor: float, width: bool
    ) -> tuple[float, Array, float]:
        """Return the error and its slopes by array operations."""
        value, slope, dV, whole = 0.0, 0.0, self._xp.zeros_like(V), self._whole
        if whole is not None:

            def of_group(g: int) -> tuple[Array, Array]:
                group = self.groups[g]
                return self._residuals(group, group.every, whole[group.rows, :], coef, intercept, factor)

            errors, slopes = slopes_at_once(self.groups, whole, of_group, self.worth_threads)
            value = float(sum(errors))
            dV = kernel.pullback(self.rows, V, whole, slopes)
            slope = kernel.pullback_gamma(self.rows, V, whole, slopes) if width else 0.0
        else:
            for error, direction, of_width in self._each(
                lambda group: self._pulled_back(kernel, V, group, coef, intercept, factor, width), self.groups
            ):
                value, dV, slope = value + error, dV + direction, slope + of_width
        return value, dV, slope

    def _each(self, function: Callable[[Any], Result], items: Sequence[Any]) -> list[Result]:
        """Return the function of each item: on the host side by side, unless there is too little to do."""
        return side_by_side(function, items, worth=self.worth_threads)

    def _pulled_back(
        self,
        kernel: Kernel,
        V: Array,
        group: Group,
        coef: Array,
        intercept: Array,
        factor: float,
        width: bool,
    ) -> tuple[float, Array, float]:
        """Return a group's part of the error and of its derivatives with respect to V and γ (0 if not ``width``)."""
        value, slope, dV = 0.0, 0.0, self._xp.zeros_like(V)
        for block, X, K in self._blocks(kernel, V, group):
            error, G = self._residuals(group, block, K, coef, intercept, factor)
            value, dV = value + float(error), dV + kernel.pullback(X, V, K, G)
            if width:
                slope += kernel.pullback_gamma(X, V, K, G)
        return value, dV, slope

    def _residuals(
        self, group: Group, block: slice, K: Array, coef: Array, intercept: Array, factor: float
    ) -> tuple[Array, Array]:
        """Return the error of rows of a group, a scalar, and its derivatives with respect to their kernel values K."""
        xp, A = self._xp, group.columns(coef)
        R = xp.matmul(K, A) + group.columns(intercept) - group.targets[block, :]
        wR = R * group.weights
        G = xp.matmul(wR, A.T)
        G *= factor
        return xp.sum(R * wR), G

    def _blocks(self, kernel: Kernel, V: Array, group: Group) -> Iterator[tuple[slice, Rows, Array]]:
        """Yield the row blocks of a group, as positions in it, with their rows and kernel values.

        Kernel values are kept from the first pass where memory allows.
        """
        m = V.shape[0]
        per_row = 8 * 6 * m + arrays.extra_bytes(self.rows, V)
        for block, where in group.blocks(per_row, self.max_bytes // 4):
            X = arrays.take(self.rows, where)
            K = self._kept.pop(_key(where), None)
            if K is None:
                K = kernel.gram(X, V)
                if 8 * m * self._n_heard <= self.max_bytes:
                    self._kept[_key(where)] = K
            yield block, X, K

    def _kernel_values(self, kernel: Kernel, V: Array, group: Group) -> Iterator[tuple[slice, Array]]:
        """Yield row blocks of a group with their kernel values; all in one where those of all rows are known."""
        if self._whole is not None:
            yield group.every, self._whole[group.rows, :]
            return
        for block, _, K in self._blocks(kernel, V, group):
            yield block, K

    def _normal_equations(
        self, kernel: Kernel, V: Array, which: tuple[int, Group], grams: Array, shift: Array | None
    ) -> Array:
        """Put ``[K 1]ᵀ[K 1]`` of a group in its place, (m+1, m+1), and return its ``[K 1]ᵀ T``, weighted, (m+1, M)."""
        xp, m, (g, group) = self._xp, V.shape[0], which
        N = grams[g, :, :]
        R = xp.zeros((m + 1, group.targets.shape[1]), dtype=xp.float64, device=self._device)
        border = xp.zeros(m + 1, dtype=xp.float64, device=self._device)
        for rows, columns in self._pieces[g]:
            N[rows, columns] = 0.0
        for block, K in self._kernel_values(kernel, V, group):
            T = group.targets[block, :]
            if shift is not None:
                T = T - group.columns(shift)
            for rows, columns in self._pieces[g]:
                N[rows, columns] += xp.matmul(K[:, rows].T, K[:, columns])
            border[:m] += xp.sum(K, axis=0)
            border[m] += float(K.shape[0])
            R[:m, :] += xp.matmul(K.T, T)
            R[m, :] += xp.sum(T, axis=0)
        for rows, columns in self._pieces[g]:
            if rows != columns:
                N[columns, rows] = N[rows, columns].T
        N[m, :] = border
        N[:, m] = border
        return group.spread(R * group.weights)


def _key(rows: slice) -> tuple[int, int, int]:
    return rows.start, rows.stop, rows.step or 1
