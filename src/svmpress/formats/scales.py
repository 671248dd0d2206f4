"""Which input scaling belongs to a model file of LibSVM's kind, and the scale files of R.

By its name, in this order:

    x.model.range         what svmpress writes
    x.range               beside x.model: what LibSVM's ``easy.py`` leaves there
    x.scale, x.yscale     beside x.svm: what R's ``e1071::write.svm`` leaves there

R's files have a line ``center scale`` for each feature that it scaled, and one for the target of a regression:
``(x - center) / scale`` goes in, and ``f scale + center`` comes out.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from svmpress.errors import FormatError
from svmpress.formats.pair import lines_of_range
from svmpress.formats.ranges import beside, read_range
from svmpress.model import KernelModel, Scaling
from svmpress.storage import reading

Ranges = Path | Literal["none"] | None
"""The scale file of a model: one that is named, none, or the one that is found beside it."""

_R_MODEL, _R_SCALE, _R_TARGET = ".svm", ".scale", ".yscale"


def companions(path: Path) -> list[Path]:
    """Return the scale files that belong to a model file by their names, the first of which counts."""
    candidates = [beside(path)]
    if path.suffix:
        candidates.append(path.with_suffix(".range"))
    if path.suffix == _R_MODEL:
        candidates.append(path.with_suffix(_R_SCALE))
    return [candidate for candidate in candidates if candidate != path and os.path.isfile(candidate)]


def scaling_of(path: Path, ranges: Ranges, n_features: int, first_index: int = 1) -> Scaling | None:
    """Return the scaling of a model file: that of ``ranges``, or of the file found beside it."""
    files = companions(path) if ranges is None else [] if ranges == "none" else [ranges]
    if not files:
        return None
    with reading(files[0]):
        if _is_of_r(files[0]):
            return _scaling_of_r(files[0], n_features)
        return read_range(files[0], lines_of_range(files[0]), n_features, first_index)


def in_units_of_target(path: Path, ranges: Ranges, model: KernelModel) -> KernelModel:
    """Return a regressor of R in the units of its target, where R has scaled that, too."""
    file = path.with_suffix(_R_TARGET) if path.suffix == _R_MODEL else None
    if ranges is not None or model.task != "regression" or file is None or not file.is_file():
        return model
    scales = _scales(file)
    if len(scales) != 1:
        raise FormatError(f"{file} must hold one line 'center scale', and has {len(scales)}")
    ((center, scale),) = scales
    f = model.expansion
    expansion = replace(f, coef=f.coef * scale, intercept=f.intercept * scale + center)
    spread = {name: value * scale for name, value in model.probability.items()}
    return replace(model, expansion=expansion, probability=spread)


def _is_of_r(path: Path) -> bool:
    """Return whether a file has R's two numbers on its first line, where svm-scale writes a letter."""
    with path.open("rb") as file:
        tokens = file.readline(1000).split()
    return path.suffix == _R_SCALE or (len(tokens) == 2 and b":" not in tokens[1])


def _scaling_of_r(path: Path, n_features: int) -> Scaling | None:
    scales = _scales(path)
    if not scales:  # nothing was scaled
        return None
    if len(scales) != n_features:
        raise FormatError(
            f"{path} has scales of {len(scales)} features and the model has {n_features}: R leaves out those that it "
            "did not scale, without saying which; add a line '0 1' in the place of each"
        )
    center, scale = np.array(scales).T
    return Scaling(center if center.any() else None, 1 / scale)


def _scales(path: Path) -> list[tuple[float, float]]:
    found = []
    try:
        lines = path.read_text(encoding="ascii").split("\n")
    except UnicodeDecodeError as e:
        raise FormatError(f"{path} is not a scale file of R: it is not plain text") from e
    if lines[-1].strip():
        raise FormatError(f"{path} ends in the middle of line {len(lines)}: it looks truncated")
    for n, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            center, scale = (float(token) for token in line.split())
            if not (np.isfinite(center) and np.isfinite(scale) and scale and np.isfinite(1 / scale)) or "_" in line:
                raise ValueError
        except ValueError:
            raise FormatError(f"{path}, line {n}: expected a center and a scale, not {line.strip()[:60]!r}") from None
        found.append((center, scale))
    return found
