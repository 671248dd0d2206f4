"""Objectives over rows in shards: each shard is asked for its sums, and the sums are added up.

What is computed is what :class:`~svmpress.objectives.LocalSums` and :class:`~svmpress.objectives.MarginObjective`
compute for rows in one place. One thing is told differently: the background is every so many rows by their numbers
among *all* rows, so that it does not depend on where one shard ends and the next begins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.kernels import Kernel
from svmpress.numerics import Array, Floats, Rows, Shard, Summable, added, arrays
from svmpress.objectives.expansion import Gradient, Parameters
from svmpress.objectives.margins import MarginObjective, Share, count_sides
from svmpress.objectives.row_groups import Group, groups_with
from svmpress.objectives.sums import LocalSums, moments_of, spread_error

_KEPT_BYTES = 2**28
"""Memory for kernel values of a shard of sparse rows, which the extension wants whole."""


@dataclass(frozen=True, eq=False)
class Arrangement:
    """How the rows of a shard are put in order for an objective.

    Parameters
    ----------
    common : (M,)
        What is taken from the targets.
    by : str, optional
        The column of positions that rows are sorted by; None: they are one group.
    clip : float
        Targets beyond this count as being there.
    directions : (M, count), optional
        The directions of the targets that are fitted instead of them.
    thin : int
        Every so many rows are heard by all outputs, besides; 0: none.
    """

    common: Floats
    by: str | None = None
    clip: float = inf
    directions: Floats | None = None
    thin: int = 0


def arranged(shard: Shard, how: Arrangement) -> Shard:
    """Return a shard sorted by group, followed by the rows that all outputs hear; those are of the group -1."""
    T = shard.columns["targets"]
    T = T if how.clip == inf else np.clip(T, -how.clip, how.clip)
    T = (T if how.directions is None else T @ how.directions) - how.common
    X, groups = shard.X, np.zeros(shard.n, dtype=np.intp)
    if how.by is not None:
        groups = np.asarray(shard.columns[how.by])
        order = np.argsort(groups, kind="stable")
        if (np.diff(order) != 1).any():
            X, T, groups = arrays.take(X, order), T[order], groups[order]
    if how.thin:
        heard = np.arange(-shard.first % how.thin, shard.n, how.thin)
        if how.by is not None:
            heard = np.argsort(order)[heard]
        X, T = arrays.concatenated(X, arrays.take(X, heard)), np.concatenate([T, T[heard]])
        groups = np.concatenate([groups, np.full(len(heard), -1)])
    return Shard(X, {"targets": np.ascontiguousarray(T), "groups": groups}, shard.first)


@dataclass(frozen=True, eq=False)
class _Setting:
    """What an objective tells every shard, at every step.

    Parameters
    ----------
    weights : (g, M)
        Of the groups, without the background.
    background : float or None
        The weight of a row of the background; None where there is none.
    mask : (m, M), optional
    """

    weights: Floats
    background: float | None
    mask: NDArray[np.bool_] | None = None

    def sizes(self, shard: Shard) -> NDArray[np.intp]:
        """Return the rows of each group."""
        groups = shard.columns["groups"]
        return np.bincount(groups[groups >= 0], minlength=len(self.weights))

    def heard(self, shard: Shard) -> slice | None:
        """Return where the rows of the background are."""
        return None if self.background is None else slice(int(self.sizes(shard).sum()), shard.n, 1)

    def groups(self, shard: Shard) -> list[Group]:
        """Return the groups of a shard."""
        T = shard.columns["targets"]
        return groups_with(T, self.sizes(shard), self.weights, self.heard(shard), self.background or 0.0)

    def sums(self, shard: Shard, kernel: Kernel, m: int) -> LocalSums:
        """Return the sums over a shard."""
        T = shard.columns["targets"]
        room = _KEPT_BYTES if arrays.is_csr(shard.X) else 0  # nothing is kept from one pass to the next
        return LocalSums(
            kernel, shard.X, T, self.groups(shard), m, heard=np.zeros(T.shape[1]), mask=self.mask, max_bytes=room
        )


def _described(shard: Shard, setting: _Setting) -> tuple[Any, ...]:
    T = shard.columns["targets"]
    return setting.sizes(shard), *moments_of(setting.groups(shard), T.shape[1], T)


def _equations(shard: Shard, setting: _Setting, kernel: Kernel, V: Floats) -> tuple[Any, ...]:
    m, n_grams = len(V), len(setting.weights) + (setting.background is not None)
    grams = np.zeros((n_grams, m + 1, m + 1))
    moment = setting.sums(shard, kernel, m).equations(kernel, V, grams, None)
    return grams, moment


def _slopes(
    shard: Shard,
    setting: _Setting,
    kernel: Kernel,
    V: Floats,
    coef: Floats,
    intercept: Floats,
    factor: float,
    width: bool,
) -> tuple[Any, ...]:
    return setting.sums(shard, kernel, len(V)).slopes(kernel, V, coef, intercept, factor, width)


class ShardSums:
    """Sums over rows in shards; see :class:`~svmpress.objectives.RowSums`.

    Parameters
    ----------
    shards : Summable
        As :func:`arranged` leaves them.
    n : int
        The number of rows.
    sample : (k, d)
        Some of their rows.
    weights : (g, M)
        Of each group for each output.
    background : float
        A weight of all rows for all outputs, besides.
    thin : int
        The background is every so many rows, with the weight of all.
    mask : (m, M) bool, optional
    guards : Shard, optional
        Rows of this process that count like those of the shards.
    """

    worth_threads = False

    def __init__(
        self,
        shards: Summable,
        n: int,
        sample: Rows,
        weights: Floats,
        *,
        background: float = 0.0,
        thin: int = 1,
        mask: NDArray[np.bool_] | None = None,
        guards: Shard | None = None,
    ) -> None:
        self.like = np.zeros((0, weights.shape[1]))
        self._shards, self.rows, self._guards = shards, sample, guards
        each = background * n / -(-n // thin) if background else None
        self._setting = _Setting(weights, each, mask)
        sizes, *self._moments = self._total(_described)
        self.heard = sizes @ weights + n * background
        self.weights = [np.full(weights.shape[1], each)] * (each is not None) + list(weights)

    def _total(self, function: Any, *told: Any) -> tuple[Any, ...]:
        found = self._shards.total(function, self._setting, *told)
        return found if self._guards is None else added([found, function(self._guards, self._setting, *told)])

    def error_of_constants(self) -> float:
        """Return the weighted squared error of the best intercepts alone."""
        return spread_error(*self._moments)

    def equations(self, kernel: Kernel, V: Array, grams: Array, shift: Array | None) -> Array:
        """Put the equations of every group in their places, and return the moments."""
        assert shift is None
        found, moment = self._total(_equations, kernel, V)
        grams[: len(found)] = found
        return moment

    def slopes(
        self, kernel: Kernel, V: Array, coef: Array, intercept: Array, factor: float, width: bool
    ) -> tuple[float, Array, float]:
        """Return the error and its slopes."""
        value, dV, slope = self._total(_slopes, kernel, V, coef, intercept, factor, width)
        return float(value), dV, float(slope)


@dataclass(frozen=True, eq=False)
class _Sides:
    """What margins tell every shard: the setting, the sides of each group (K, M), and whose margins."""

    setting: _Setting
    sides: Floats
    trust: bool
    total: float


def _margins(shard: Shard, told: _Sides, at: Parameters, width: bool) -> tuple[Any, ...]:
    setting = told.setting
    share = Share(told.total, setting.heard(shard), setting.background or 0.0)
    sizes, T = setting.sizes(shard), shard.columns["targets"]
    objective = MarginObjective(shard.X, T, sizes, told.sides, trust=told.trust, share=share, max_bytes=_KEPT_BYTES)
    g = objective.value_and_grad(at, width=width)
    return g.value, g.vectors, g.coef, g.intercept, g.gamma or 0.0


class ShardMargins:
    """The loss of :class:`~svmpress.objectives.MarginObjective` over rows in shards.

    Parameters
    ----------
    shards : Summable
        As :func:`arranged` leaves them.
    n : int
        The number of rows.
    sample : (k, d)
        Some of their rows.
    sides : (K, M)
    trust : bool
    thin : int
        As for the objective in one place.
    """

    def __init__(self, shards: Summable, n: int, sample: Rows, sides: Floats, *, trust: bool, thin: int) -> None:
        self.rows, self._shards = sample, shards
        anchored = None if sides.all() else n / -(-n // thin)
        told = _Sides(_Setting(np.abs(sides), anchored), sides, trust, 1.0)
        sizes, *_ = shards.total(_described, told.setting)
        self._told = replace(told, total=count_sides(sizes, sides))

    def value_and_grad(self, at: Parameters, *, width: bool = False) -> Gradient:
        """Return the loss and its derivatives; that of γ only if ``width``."""
        value, dV, dA, db, slope = self._shards.total(_margins, self._told, at, width)
        return Gradient(float(value), dV, dA, db, float(slope) if width else None)
