"""A page to try models in: a canvas to draw on, or a slider for each feature."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np

from svmpress.decoders import PairDAG, PairVote
from svmpress.errors import InputError
from svmpress.model import KernelModel, expansion_bytes
from svmpress.numerics import Floats, arrays

_MOST_FEATURES = 200
"""That can have a slider each."""
_FAR = 0.03
"""Share of the numbers of vectors that have moved, at each end, that do not count for the range of features."""


def try_page(
    scripts: Mapping[str, str],
    models: Mapping[str, KernelModel],
    image: tuple[int, int] | None,
    span: tuple[float, float] | None,
    title: str,
) -> str:
    """Return the page.

    Parameters
    ----------
    scripts : mapping of constant to script
        Each declares a model.
    models : mapping of name to KernelModel
        What these are called, in the same order.
    image : (height, width) or None
    span : (low, high) or None
        Of all features; None: told by the vectors.
    title : str
    """
    first = next(iter(models.values()))
    for model in models.values():
        if model.n_features != first.n_features or _labels(model) != _labels(first):
            raise InputError("models of one page need the same features and the same classes, in the same order")
    if image is None and first.n_features > _MOST_FEATURES:
        raise InputError(
            f"{first.n_features:,} features are too many for a slider each: give the image that they are, or write a "
            "folder, whose page takes rows as text"
        )
    if image is not None and image[0] * image[1] != first.n_features:
        raise InputError(
            f"an image of {image[0]}x{image[1]} has other features than the {first.n_features:,} of the model"
        )
    low, high = _range(max(models.values(), key=lambda model: model.n_vectors), span, image is not None)
    settings = {
        "image": image,
        "low": low.tolist(),
        "high": high.tolist(),
        "start": (low if image is not None else (low + high) / 2).tolist(),
        "names": list(first.feature_names or (f"feature {k + 1}" for k in range(first.n_features))),
    }
    listed = ", ".join(
        f"{{ name: {_json(name)}, model: {constant}, pairs: {_json(_pairs(model))}, "
        f"bytes: {expansion_bytes(model.expansion)} }}"
        for (name, model), constant in zip(models.items(), scripts, strict=True)
    )
    values = {
        "title": html.escape(title),
        "models": "\n".join(scripts.values()),
        "settings": f"{{ models: [{listed}], ...{_json(settings)} }}",
        "program": (resources.files(__package__) / "try.js").read_text(encoding="utf-8"),
    }
    page = (resources.files(__package__) / "try.html").read_text(encoding="utf-8")
    first_part, *rest = page.split("{{")
    parts = [first_part]
    for piece in rest:  # one pass: what is put in is not looked at again
        name, _, after = piece.partition("}}")
        parts += [values[name], after]
    return "".join(parts)


def _pairs(model: KernelModel) -> bool:
    """Return whether each output stands for a pair of classes, positive for the first."""
    return isinstance(model.decoder, PairVote | PairDAG)


def _labels(model: KernelModel) -> list[Any] | None:
    return None if model.classes_ is None else model.classes_.tolist()


def _range(model: KernelModel, span: tuple[float, float] | None, alike: bool) -> tuple[Floats, Floats]:
    """Return the least and the largest value of each feature, (d,); ``alike``: all features have the same.

    Vectors that have moved are no rows, and a few of them lie far out: their extremes do not count.
    """
    if span is not None:
        if not (math.isfinite(span[0]) and math.isfinite(span[1]) and span[0] < span[1]):
            raise InputError(f"a range is two numbers, the smaller first, not {span[0]!r} and {span[1]!r}")
        return np.full(model.n_features, float(span[0])), np.full(model.n_features, float(span[1]))
    V = np.asarray(arrays.dense(model.expansion.vectors), dtype=np.float64)
    if model.scaling is not None:
        V = V / np.where(model.scaling.factor == 0, 1.0, model.scaling.factor)
        V = V if model.scaling.shift is None else V + model.scaling.shift
    ends = (_FAR, 1 - _FAR) if "compressed_from" in model.provenance else (0.0, 1.0)
    low, high = np.quantile(V, ends, axis=None if alike else 0)
    return np.broadcast_to(low, model.n_features), np.broadcast_to(high, model.n_features)


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c").replace(">", "\\u003e")
