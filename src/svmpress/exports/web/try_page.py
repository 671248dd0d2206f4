"""A page to try models in: a canvas to draw on, or a slider for each feature."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np

from svmpress.errors import InputError
from svmpress.model import KernelModel, expansion_bytes
from svmpress.numerics import arrays

_MOST_FEATURES = 200
"""That can have a slider each."""


def try_page(
    scripts: Mapping[str, str], models: Mapping[str, KernelModel], image: tuple[int, int] | None, title: str
) -> str:
    """Return the page.

    Parameters
    ----------
    scripts : mapping of constant to script
        Each declares a model.
    models : mapping of name to KernelModel
        What these are called, in the same order.
    image : (height, width) or None
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
    low, high = _range(first)
    if image is not None:
        low, high = np.full_like(low, low.min()), np.full_like(high, high.max())
    settings = {
        "image": image,
        "low": low.tolist(),
        "high": high.tolist(),
        "start": (low if image is not None else (low + high) / 2).tolist(),
        "names": list(first.feature_names or (f"feature {k + 1}" for k in range(first.n_features))),
    }
    listed = ", ".join(
        f"{{ name: {_json(name)}, model: {constant}, bytes: {expansion_bytes(model.expansion)} }}"
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


def _labels(model: KernelModel) -> list[Any] | None:
    return None if model.classes_ is None else model.classes_.tolist()


def _range(model: KernelModel) -> tuple[Any, Any]:
    """Return the least and the largest value of each feature among the vectors, as rows are given."""
    V = np.asarray(arrays.dense(model.expansion.vectors), dtype=np.float64)
    if model.scaling is not None:
        V = V / np.where(model.scaling.factor == 0, 1.0, model.scaling.factor)
        V = V if model.scaling.shift is None else V + model.scaling.shift
    return V.min(axis=0), V.max(axis=0)


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c").replace(">", "\\u003e")
