"""From a model in floats to grids and whole numbers.

What is chosen here: the step of the levels, so that rows and vectors fit; the offset and the ratio of the weights, so
that no vector is cut; the features that take part; and the scales of the coefficients.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Decoder
from svmpress.errors import InputError
from svmpress.exports.quantized.arithmetic import ONE, Halvings, Powers, Stage
from svmpress.exports.quantized.grid import Floats, Grid, Pooling
from svmpress.exports.quantized.model import QuantizedModel
from svmpress.kernels import RBF, Linear
from svmpress.model import KernelModel, Scaling, Task

WEIGHT_BITS = {"int4": 4, "int8": 8, "int16": 16}
COEF_TOP = {"int8": 127, "int16": 32767}
_BYTE = 255
_TELLS_NOTHING = 1e-3
"""Share of the variance of the rows that features may hold that are left out."""
_ENOUGH_LEVELS = 64
"""Bytes whose values are fewer than these are spread over more levels."""
_GROUP = 4
"""Bytes of the input that are kept or left out together where the device reads them in place."""
_LEAST_TOP = 511
"""Coefficients keep at least so many steps, or decision values get 64 bits."""
_NORM_TOP, _HALVED = 65535, 8.0
"""Norms keep within 16 bits where they can; kernel values are not halved more often for the scale of a vector."""
_MARGIN = 0.2
"""By how much of their spread rows may go beyond the vectors, where nothing else is known of them."""
_BEYOND, _BEYOND_VECTORS = 1.5, 4.0
"""By how much projections may exceed the largest that was seen before they are cut; a linear model's rows may exceed
its vectors, which are near margins, by more."""
_TAIL = 0.1
"""Per cent of the rows that may be cut at each end of a feature."""


def make_grid(
    model: KernelModel,
    V: Floats,
    rows: Floats | None,
    reach: Floats,
    *,
    weights: str,
    bytes_in: bool,
    pooling: Pooling | None,
) -> tuple[Grid, int]:
    """Return the grid for a model, and the level of 0.

    Parameters
    ----------
    model : KernelModel
        For rows after pooling.
    V : (m, d)
        Its vectors.
    rows : (n, d), optional
        Rows after pooling and scaling.
    reach : (r, d)
        What is like rows where there are none.
    weights : str
    bytes_in : bool
    pooling : Pooling, optional
    """
    distances = isinstance(model.kernel, RBF)
    scaling = model.scaling or Scaling(None, np.ones(V.shape[1]))
    shift = np.zeros(V.shape[1]) if scaling.shift is None else scaling.shift
    alike = np.ptp(scaling.factor) == 0 and scaling.factor[0] > 0 and (distances or not shift.any())
    in_place = bytes_in and alike and float(np.ptp(V, axis=0).max(initial=0.0)) >= _ENOUGH_LEVELS * scaling.factor[0]
    kept = _kept(rows, V.shape[1], distances, aligned=in_place and pooling is None)
    V, reach, shift, factor = V[:, kept], reach[:, kept], shift[kept], scaling.factor[kept]
    rows = None if rows is None else rows[:, kept]
    low: Floats
    most_levels = math.isqrt((2**29 - 1) // max(1, len(kept)))
    top = min(2 ** WEIGHT_BITS[weights] - 1, most_levels)
    n_inputs = pooling.n_inputs if pooling is not None else model.n_features
    if in_place:
        step, low, top_in = float(factor[0]), -shift * factor, _BYTE
        affine: tuple[Any, Any] = (None, None)
    else:
        top_in = max(top, min(_BYTE, most_levels))
        low, step = _spread(V, rows, reach, top_in, distances)
        slope = np.where(factor == 0, 1.0, factor)
        moved = np.where(factor == 0, 0.0, shift + (low - step / 2) / slope)
        affine = (moved.astype(np.float32), (factor / step).astype(np.float32))
    levels = (V - low) / step
    first, last = math.floor(levels.min(initial=0) + 1e-9), math.ceil(levels.max(initial=1) - 1e-9)
    ratio = max(1, math.ceil((last - first) / top - 1e-9))
    top = min(top, max(top_in, math.ceil((last - first) / ratio)))
    zero = 0 if distances else round(-float(low[0]) / step)
    grid = Grid(n_inputs, bytes_in, pooling, kept, *affine, low, step, top_in, first, ratio, top)
    most = max(abs(first), abs(first + ratio * top), top_in)
    if 4 * len(kept) * most * most >= 2**31:
        raise InputError(
            f'sums over {len(kept):,} features do not fit 32 bits: scale the features alike, or use weights="float"'
        )
    return grid, zero


def _kept(rows: Floats | None, d: int, distances: bool, aligned: bool) -> NDArray[np.intp]:
    """Return the features that tell something: those left out hold a thousandth of the variance together."""
    if rows is None:
        return np.arange(d)
    told = rows.var(axis=0) if distances else (rows != 0).any(axis=0).astype(float)  # of a product only zeros can go
    if aligned and d % _GROUP == 0:
        told = np.repeat(told.reshape(-1, _GROUP).sum(axis=1), _GROUP)
    elif aligned:
        return np.arange(d)
    order = np.argsort(told, kind="stable")
    gone = np.cumsum(told[order]) <= (_TELLS_NOTHING if distances else 0.0) * told.sum()
    kept = np.sort(order[~gone])
    if aligned:
        kept = np.flatnonzero(np.isin(np.arange(d) // _GROUP, kept // _GROUP))
    return kept if len(kept) else np.arange(d)


def _spread(V: Floats, rows: Floats | None, reach: Floats, top: int, distances: bool) -> tuple[Floats, float]:
    """Return ``low`` (d,) and ``step`` that put vectors, and nearly all rows, on levels from 0 to ``top``."""
    if rows is not None:
        ends = np.percentile(rows, [_TAIL, 100 - _TAIL], axis=0)
    else:
        ends = np.stack([reach.min(axis=0), reach.max(axis=0)])
        ends += _MARGIN * (ends[1] - ends[0]) * np.array([[-1.0], [1.0]])
    lowest, highest = np.minimum(V.min(axis=0), ends[0]), np.maximum(V.max(axis=0), ends[1])
    if not distances and len(V) < len(reach):  # weights of a linear model are no rows
        lowest, highest = ends
    if not distances:
        lowest, highest = np.full_like(lowest, min(0.0, lowest.min())), np.full_like(highest, max(0.0, highest.max()))
    step = float((highest - lowest).max()) / (top - 1) or 1.0
    if not distances:
        lowest = -np.ceil(-lowest / step - 1e-9) * step
    return lowest, step


def make_stage(
    model: KernelModel, grid: Grid, zero: int, levels: NDArray[np.int64] | None, reach: Floats, V: Floats
) -> Stage:
    """Return the arithmetic of the kernel, for rows of levels like those that are given, or like vectors."""
    if isinstance(model.kernel, RBF):
        return Halvings.of(model.kernel.gamma * grid.step**2 / math.log(2))
    v = grid.of_weights(grid.weights(V)) - zero
    seen = (reach[:, grid.kept] - grid.low) / grid.step if levels is None else levels
    some = seen[:: max(1, len(seen) // 4000)] - zero
    beyond = _BEYOND_VECTORS if levels is None and isinstance(model.kernel, Linear) else _BEYOND
    most = beyond * np.abs(some.astype(np.float64) @ v.T.astype(np.float64)).max(initial=1)
    return Powers.of(model.kernel, grid.step, int(most))


def assemble(
    grid: Grid,
    stage: Stage,
    zero: int,
    w: NDArray[np.int64],
    A: Floats,
    b: Floats,
    *,
    decoder: Decoder,
    task: Task,
    types: tuple[str, str],
) -> QuantizedModel:
    """Return the model of weights w (m, d), and of coefficients A (m, M) for the stage's kernel, in whole numbers."""
    weight_type, coef_type = types
    exact = stage.norm(grid.of_weights(w), zero)
    norms = -(-exact >> stage.down)  # rounded up, so that no distance is negative
    top = COEF_TOP[coef_type]
    if isinstance(stage, Halvings):
        unit_norm = stage.a * 2.0**stage.down  # halvings for each unit of a norm
        largest = np.abs(A).max(axis=1, initial=0.0)
        if coef_type == "int8":  # a scale for each vector, as far as kernel values keep some bits
            wanted = np.log2(np.maximum(largest.max(initial=1e-300), 1e-300) / np.maximum(largest, 1e-300))
            room = np.maximum(_NORM_TOP - norms, 0)
            norms = norms + np.minimum(np.rint(np.minimum(wanted, _HALVED) / unit_norm).astype(np.int64), room)
        A = A * np.exp2((norms - exact / 2.0**stage.down) * unit_norm)[:, None]
        most = np.minimum(ONE, np.ceil(1.002 * ONE * np.exp2(-(norms - exact / 2.0**stage.down) * unit_norm)) + 1)
    else:
        most = np.full(len(A), float(ONE))
    scale = top / max(float(np.abs(A).max(initial=0.0)), 1e-300)
    bound = float((most @ np.abs(A) + ONE * np.abs(b)).max(initial=0.0))
    fitting = (2**31 - 1 - ONE * len(A)) / max(bound, 1e-300)
    if fitting < scale and fitting * float(np.abs(A).max(initial=0.0)) >= min(_LEAST_TOP, top):
        scale = fitting
    coef = np.rint(A * scale).astype(np.int64)
    intercept = np.rint(b * scale * ONE).astype(np.int64)
    unit = 1 / (scale * ONE)
    return QuantizedModel(
        grid, stage, zero, w, norms, coef, intercept, unit, decoder, task, weight_type, coef_type, most.astype(np.int64)
    )
