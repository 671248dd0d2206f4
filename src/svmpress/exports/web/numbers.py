"""What of a model goes to the browser: a header in JSON, and one block of numbers.

    header    kernel, decoder, task, sizes, and where each array begins in the block
    block     vectors (m, d)   coef (m, M)   intercept (M,)   and where there are such:
              centre (d,)   shift (d,)   factor (d,)   probA (M,)   probB (M,)

An entry of ``header["numbers"]`` is ``{type, offset, length}``; the reader in ``runtime.js`` looks the type up in a
table. Offsets are multiples of 8. A model in whole numbers has others: vectors, norms, coef, intercept, and what makes
levels of a row (``whole.py``).

*Centred.* Single precision has 24 bits, and RBF's ``|x - v|² = |x|² - 2 x·v + |v|²`` loses as many as there are between
the rows' distance from the origin and their distance from each other. For kernels of the difference of row and vector,
both therefore come less ``centre``, the mean of the vectors, a difference that is formed in double precision.

*Linear.* ``f(x) = x·(Vᵀ A) + b``: as many vectors as outputs, whatever m is, and no coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Argmax, Decoder, Identity, PairDAG, PairVote, Sign
from svmpress.errors import InputError
from svmpress.model import KernelModel
from svmpress.numerics import arrays

Precision = Literal["float32", "float64"]
Arrays = dict[str, NDArray[Any]]

_KERNELS = ("rbf", "laplacian", "chi2", "sigmoid", "poly", "linear")
_CENTRED = ("rbf", "laplacian")
"""Kernels of the difference of row and vector."""

_DECODERS: tuple[type[Decoder], ...] = (Identity, Sign, Argmax, PairVote, PairDAG)
_MAX_BYTES = 128 * 2**20
"""Of numbers: browsers refuse strings of much more, and nobody waits for such a page."""

HALVES = "uint4"
"""The kind of numbers of 4 bits, two to a byte."""

_MAX_INTEGER = 2**53
"""JavaScript's numbers are doubles: larger integers lose digits."""


def obstacles(model: KernelModel, dtype: Precision = "float32") -> list[str]:
    """Return why JavaScript cannot hold a model, a sentence each; empty when it can."""
    if dtype not in ("float32", "float64"):
        raise InputError(f"the numbers of a web model are float32 or float64, not {dtype!r}")
    found = []
    if model.kernel.name not in _KERNELS:
        found.append(f"the browser has no {model.kernel.name} kernel; it has {', '.join(_KERNELS)}")
    if type(model.decoder) not in _DECODERS:
        names = ", ".join(kind.__name__ for kind in _DECODERS)
        found.append(f"the browser has no decoder {type(model.decoder).__name__}; it has {names}")
    if model.classes_ is not None:
        found += label_obstacles(model.classes_.tolist())
    vectors = model.n_outputs if model.kernel.name == "linear" else model.n_vectors
    size = (vectors * model.n_features + model.n_vectors * model.n_outputs) * np.dtype(dtype).itemsize
    if size > _MAX_BYTES:
        mib = f"{size / 2**20:,.0f} MiB"
        found.append(f"its numbers are {mib}, and a web model holds at most {_MAX_BYTES // 2**20}: compress it first")
    return found or _range_obstacles(model, dtype)


def label_obstacles(labels: list[Any]) -> list[str]:
    """Return why JavaScript cannot hold class labels; empty when it can."""
    kinds = {_kind(label) for label in labels}
    strange = sorted(type(label).__name__ for label in labels if _kind(label) is None)
    if strange:
        return [f"its class labels are of type {strange[0]}: JavaScript has numbers, strings and booleans"]
    if len(kinds) > 1:
        named = " and ".join(sorted(str(kind) for kind in kinds))
        return [f"its class labels are of mixed types, {named}: make them all text or all numbers"]
    if kinds == {"number"} and not all(math.isfinite(v) and abs(v) <= _MAX_INTEGER for v in labels):
        return ["its class labels are numbers beyond 2^53, which JavaScript cannot hold exactly"]
    return []


def _kind(label: Any) -> str | None:
    """Return JavaScript's name for the type of a label; None if it has none."""
    if isinstance(label, bool):
        return "boolean"
    if isinstance(label, int | float):
        return "number"
    return "string" if isinstance(label, str) else None


def _range_obstacles(model: KernelModel, dtype: Precision) -> list[str]:
    held = _arrays(model, dtype)
    beyond = sorted(name for name, a in held.items() if not np.isfinite(a).all())
    if beyond:
        return [f"numbers of its {' and '.join(beyond)} are beyond {dtype}: scale the features or use dtype='float64'"]
    return []


def pack(model: KernelModel, dtype: Precision) -> tuple[dict[str, Any], bytes]:
    """Return the header and the block of a model without obstacles."""
    held = _arrays(model, dtype)
    entries, block = lay_out({name: (a, str(a.dtype)) for name, a in held.items()})
    header = {
        "task": model.task,
        "kernel": {"name": model.kernel.name, **{key: float(v) for key, v in model.kernel.params.items()}},
        "decoder": describe_decoder(model.decoder),
        "precision": dtype,
        "features": model.n_features,
        "vectors": held["vectors"].shape[0],
        "outputs": model.n_outputs,
        "count": model.n_vectors,
        "numbers": entries,
    }
    return header, block


def lay_out(held: Mapping[str, tuple[NDArray[Any], str]]) -> tuple[dict[str, dict[str, Any]], bytes]:
    """Return where each array lies in the block, and the block, of arrays by name with the kinds of their numbers."""
    block, entries = bytearray(), {}
    for name, (a, kind) in held.items():
        entries[name] = {"type": kind, "offset": len(block), "length": int(a.size)}
        if kind == HALVES:
            halves = np.append(a.ravel(), [0] * (a.size % 2)).astype(np.uint8)
            block += (halves[::2] | halves[1::2] << 4).tobytes()
        else:
            block += np.ascontiguousarray(a, dtype=np.dtype(kind).newbyteorder("<")).tobytes()
        block += bytes(-len(block) % 8)
    return entries, bytes(block)


def _arrays(model: KernelModel, dtype: Precision) -> Arrays:
    """Return the arrays of the block by name; what dtype cannot hold is infinite."""
    f, name = model.expansion, model.kernel.name
    A = np.asarray(f.coef, dtype=np.float64)
    V = np.asarray(f.vectors.T @ A).T if name == "linear" else arrays.dense(f.vectors)
    V = np.asarray(V, dtype=np.float64)
    with np.errstate(over="ignore"):
        held: Arrays = {"intercept": np.asarray(f.intercept).astype(dtype)}
        if name != "linear":
            held["coef"] = A.astype(dtype)
        if name in _CENTRED and len(V):
            held["centre"] = V.mean(axis=0).astype(dtype)
            V = V - held["centre"].astype(np.float64)
        held["vectors"] = V.astype(dtype)
    if model.scaling is not None:
        held["factor"] = np.asarray(model.scaling.factor, dtype=np.float64)
        if model.scaling.shift is not None:
            held["shift"] = np.asarray(model.scaling.shift, dtype=np.float64)
    if _calibrated(model):
        held |= {key: np.asarray(model.probability[key], dtype=np.float64) for key in ("probA", "probB")}
    return held


def _calibrated(model: KernelModel) -> bool:
    """Return whether the model has LibSVM's sigmoids, one for each pair of classes."""
    if not isinstance(model.decoder, Sign | PairVote | PairDAG) or model.task != "classification":
        return False
    sizes = [np.size(model.probability.get(key, ())) for key in ("probA", "probB")]
    return sizes == [model.n_outputs] * 2


def describe_decoder(decoder: Decoder) -> dict[str, Any]:
    """Return a decoder as JSON."""
    described: dict[str, Any] = {"name": type(decoder).__name__}
    if decoder.classes is not None:
        described["classes"] = decoder.classes.tolist()
    if isinstance(decoder, Sign):
        described["zeroClass"] = decoder.zero_class
    if isinstance(decoder, PairVote):
        described |= {"shape": decoder.shape, "breakTies": decoder.break_ties}
    return described
