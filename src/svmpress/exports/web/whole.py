"""What of a model in whole numbers goes to the browser.

    block    vectors (m, d) of 4, 8 or 16 bits   norms (m,)   coef (m, M) of 8 or 16 bits   intercept (M,)
             and where there are such: shift (d,), factor (d,) of the levels, kept (d,): which features take part

Norms are in units of 2^down, as on devices; an intercept is a double, which holds its 64 bits without loss because the
emulator's sums stay below 2^53.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from svmpress.exports.quantized import Halvings, QuantizedModel
from svmpress.exports.web.numbers import HALVES, describe_decoder, label_obstacles, lay_out


def whole_number_obstacles(q: QuantizedModel) -> list[str]:
    """Return why JavaScript cannot hold a model in whole numbers: only its labels can be a reason."""
    return [] if q.classes_ is None else label_obstacles(q.classes_.tolist())


def pack_whole(q: QuantizedModel) -> tuple[dict[str, Any], bytes]:
    """Return the header and the block of a model in whole numbers."""
    grid, stage = q.grid, q.stage
    weights = {"int4": HALVES, "int8": "uint8", "int16": "uint16"}[q.weight_type]
    short = q.norms.min(initial=0) >= 0 and q.norms.max(initial=0) < 2**16
    held: dict[str, tuple[NDArray[Any], str]] = {
        "vectors": (q.weights, weights),
        "norms": (q.norms, "uint16" if short else "int32"),
        "coef": (q.coef, q.coef_type),
        "intercept": (q.intercept, "float64"),
    }
    if grid.shift is not None and grid.factor is not None:
        held |= {"shift": (grid.shift, "float32"), "factor": (grid.factor, "float32")}
    if grid.n_levels < (grid.n_inputs if grid.pooling is None else grid.pooling.n_outputs):
        held["kept"] = (grid.kept, "int32")
    entries, block = lay_out(held)
    steps = {"down": stage.down, "factor": stage.factor, "shift": stage.shift}
    if isinstance(stage, Halvings):
        steps |= {"degree": 0, "last": stage.far}
    else:
        steps |= {"degree": stage.degree, "last": stage.add}
    header = {
        "task": q.task,
        "decoder": describe_decoder(q.decoder),
        "precision": q.weight_type,
        "features": q.n_features,
        "levels": grid.n_levels,
        "vectors": q.n_vectors,
        "outputs": q.n_outputs,
        "count": q.n_vectors,
        "unit": q.unit,
        "stage": {"name": "halvings" if isinstance(stage, Halvings) else "powers", **steps},
        "zero": q.zero,
        "offset": grid.offset,
        "scale": stage.scale(grid.ratio),
        "top": grid.top,
        "bytes": grid.bytes_in,
        "pooling": None if grid.pooling is None else {"width": grid.pooling.width, "size": grid.pooling.size},
        "numbers": entries,
    }
    return header, block
