"""VMAF's JSON: a nu-SVR in LibSVM's text, between slopes and intercepts of its features and of its answer.

libvmaf computes, for features x as they are measured,

    z_i = slope_i x_i + intercept_i        score = (f(z) - intercept_0) / slope_0        clipped to score_clip

with f the LibSVM model. Here the first step is the model's input scaling, and the second is in its coefficients, so
that answers are VMAF scores. Not included, because they are no part of a kernel expansion, are the clip to
``score_clip`` and the ``score_transform``, which libvmaf applies after all this, the latter only on demand. The
provenance of a model says so.

Everything else of the file (names and options of features, clip, transform, training parameters) stays with the model
in its provenance, so that what is written is again a whole file for libvmaf. The numbers of the LibSVM text are the
shortest that give the same coefficients, so that a file that is read and written keeps its answers bit by bit.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from svmpress.decoders import Floats, Identity
from svmpress.errors import FormatError, shown
from svmpress.formats import libsvm
from svmpress.formats.layout import check_size
from svmpress.formats.libsvm_text import parse
from svmpress.model import KernelModel, Scaling
from svmpress.numerics import arrays
from svmpress.storage import replacing

_TYPES = ("LIBSVMNUSVR", "LIBSVMEPSILONSVR", "LIBSVMEPSSVR")
_START = re.compile(rb'\s*\{\s*"(model_dict|param_dict)"')
_KEY = "vmaf"
_NOTE = (
    "answers are VMAF scores before the clip to score_clip and the score_transform of the file, "
    "which are kept for libvmaf to apply"
)
_ULPS = 4
_DIGITS = 17
_WRONG = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


def recognises(head: bytes) -> bool:
    """Return whether a file starts like VMAF's JSON."""
    return _START.match(head) is not None


# ---------------------------------------------------------------------------------------------------------
# Reading
# ---------------------------------------------------------------------------------------------------------


def read(path: Path) -> KernelModel:
    """Return the model of a VMAF file: features as they are measured in, scores out.

    Raises
    ------
    FormatError
        What is missing or wrong; of the LibSVM text within, which line.
    """
    try:
        content = json.loads(path.read_bytes())
        entries = content["model_dict"]
        text = entries.pop("model")
        if not isinstance(text, str):
            raise FormatError("its model is not LibSVM text; a collection of models must be split first")
        rescale = _Rescale(content)
        parsed = parse(Path(f"{path}, its model"), io.BytesIO(text.encode()))
        check_size(path, parsed.vectors.shape[0], len(parsed.header["rho"]), len(text))
        model = libsvm.model_of(parsed, None)
        if model.task != "regression" or model.n_features > rescale.scaling.factor.size:
            raise FormatError(f"its model must be a regression of at most {rescale.scaling.factor.size} features")
        f = model.expansion
        vectors = arrays.widen(f.vectors, rescale.scaling.factor.size)
        f = replace(f, vectors=vectors, coef=f.coef / rescale.slope, intercept=rescale.answer(f.intercept))
        provenance = {"format": "vmaf", "svm_type": model.provenance["svm_type"], "note": _NOTE}
        provenance[_KEY] = json.dumps(content)
        return KernelModel(
            f, Identity(), "regression", rescale.scaling, provenance=provenance, feature_names=rescale.names
        )
    except FormatError as e:
        raise FormatError(str(e) if str(path) in str(e) else f"{path} cannot be used: {e}") from e
    except _WRONG as e:
        raise FormatError(f"{path} is not a model of VMAF: {_sentence(e)}") from e


def _sentence(e: BaseException) -> str:
    return shown(f"there is no {e}" if isinstance(e, KeyError) else str(e) or type(e).__name__)


class _Rescale:
    """What a file's entries do before and after the LibSVM model."""

    def __init__(self, content: Any) -> None:
        entries = content["model_dict"]
        names = entries["feature_names"]
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            raise FormatError("its feature_names must be a list of names")
        if entries.get("model_type", _TYPES[0]) not in _TYPES:
            raise FormatError(
                f"its model_type is {shown(repr(entries['model_type']))}, and svmpress reads {', '.join(_TYPES)}"
            )
        norm = entries.get("norm_type", "none")
        self.names = tuple(names) if len(set(names)) == len(names) else None
        slopes, intercepts = np.ones(len(names) + 1), np.zeros(len(names) + 1)
        if norm == "linear_rescale":
            slopes, intercepts = (np.array(entries[key], dtype=np.float64) for key in ("slopes", "intercepts"))
        elif norm != "none":
            raise FormatError(f"its norm_type is {shown(repr(norm))}, which is neither linear_rescale nor none")
        if not slopes.shape == intercepts.shape == (len(names) + 1,):
            raise FormatError(f"{len(names)} features need {len(names) + 1} slopes and intercepts, the answer's first")
        if not (np.isfinite(slopes).all() and np.isfinite(intercepts).all() and slopes.all()):
            raise FormatError("its slopes and intercepts must be finite, and no slope 0")
        self.slope, self.intercept = float(slopes[0]), float(intercepts[0])
        with np.errstate(over="ignore"):
            self.scaling = Scaling(-intercepts[1:] / slopes[1:], slopes[1:])

    def answer(self, values: Floats) -> Floats:
        """Return scores for values of the LibSVM model."""
        return (values - self.intercept) / self.slope


# ---------------------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------------------


def obstacles(model: KernelModel) -> list[str]:
    """Return what a VMAF file cannot hold of this model; empty when it can be written."""
    if _KEY not in model.provenance:
        return ["only a model that came from a VMAF file knows VMAF's features, and can become one"]
    try:
        rescale = _Rescale(json.loads(str(model.provenance[_KEY])))
    except _WRONG as e:
        return [f"the VMAF entries that came with the model are damaged: {_sentence(e)}"]
    found = libsvm.obstacles(replace(model, scaling=None))
    if model.task != "regression":
        found.append("a VMAF model is a regression")
    if model.probability:
        found.append("VMAF's files have no place for probability parameters")
    if model.scaling is None or not _same(model.scaling, rescale.scaling):
        found.append("the model's scaling is no longer that of the VMAF file it came from")
    return found


def _same(a: Scaling, b: Scaling) -> bool:
    one, other = (np.zeros_like(s.factor) if s.shift is None else s.shift for s in (a, b))
    return np.array_equal(a.factor, b.factor) and np.array_equal(one, other)


def write(model: KernelModel, path: Path) -> None:
    """Write a model without :func:`obstacles` as a whole VMAF file."""
    content = json.loads(str(model.provenance[_KEY]))
    rescale = _Rescale(content)
    f = model.astype(np.float64).expansion
    coef = [_shortest(a, a * rescale.slope, lambda c: c / rescale.slope) for a in f.coef[:, 0].tolist()]
    b = float(f.intercept[0])
    rho = _shortest(b, -(b * rescale.slope + rescale.intercept), lambda r: (-r - rescale.intercept) / rescale.slope)
    inner = replace(f, coef=np.array(coef).reshape(-1, 1), intercept=np.array([-rho]))
    lines = libsvm.lines(replace(model, expansion=inner, scaling=None))
    content["model_dict"]["model"] = "".join(f"{line}\n" for line in lines)
    text = json.dumps(content, indent=4)
    with replacing(path) as (file,):
        file.write(text.encode() + b"\n")


def _shortest(wanted: float, start: float, read: Callable[[float], float]) -> float:
    """Return the number of fewest digits near ``start`` that is read as ``wanted``.

    Where there is none, the one for what ``start`` itself is read as: it differs from ``wanted`` by a rounding, and
    writing what was read then changes nothing more.
    """
    for target, near in ((wanted, start), (read(start), start)):
        candidates = [float(f"{near:.{digits}g}") for digits in range(1, _DIGITS + 1)]
        up = down = near
        for _ in range(_ULPS):
            up, down = math.nextafter(up, math.inf), math.nextafter(down, -math.inf)
            candidates += [up, down]
        found = next((c for c in candidates if read(c) == target), None)
        if found is not None:
            return found
    return start
