"""The vectors of a model as pictures: images, the plane of two features, parallel coordinates, or a projection."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.compression.report.evidence import Evidence
from svmpress.compression.report.svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Axis, Plot, framed, png, shortened
from svmpress.decoders import Floats
from svmpress.errors import InputError
from svmpress.model import KernelModel
from svmpress.numerics import arrays

_MOST_IMAGES = 60
_MOST_LINES = 60
_MOST_AXES = 12
_GRID = 90
"""Points on a side of a plane that is coloured by answers."""
_PROJECTED = 400
"""Rows that a projection is made of."""
_PALETTE = np.array(
    [(0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167), (86, 180, 233), (213, 94, 0), (240, 228, 66)],
    np.uint8,
)
"""Colours that colour-blind readers can tell apart (Okabe and Ito)."""


def image_shape(text: str | tuple[int, int] | None, n_features: int) -> tuple[int, int] | None:
    """Return (height, width) of images from ``28x28`` or such a pair.

    Examples
    --------
    >>> image_shape("8x8", 64)
    (8, 8)
    """
    if text is None:
        return None
    try:
        h, w = (int(part) for part in (text.lower().split("x") if isinstance(text, str) else text))
    except (ValueError, TypeError):
        raise InputError(f"an image is HEIGHTxWIDTH, such as 28x28, not {text!r}") from None
    if h < 1 or w < 1 or h * w != n_features:
        raise InputError(f"an image of {h}x{w} has {h * w:,} features, and the model has {n_features:,}")
    return h, w


def in_units_of_rows(model: KernelModel) -> Floats:
    """Return a model's vectors as rows are given: its scaling undone, (m, d)."""
    V = np.asarray(arrays.dense(model.expansion.vectors), dtype=np.float64)
    if model.scaling is None:
        return V
    factor = np.where(model.scaling.factor == 0, 1.0, model.scaling.factor)
    V = V / factor
    return V if model.scaling.shift is None else V + model.scaling.shift


def images(rows: Floats, shape: tuple[int, int], labels: Sequence[str], title: str) -> str:
    """Return rows as grey images, a sheet of them, each with its label."""
    h, w = shape
    n, each = len(rows), 52
    across = min(n, 7)
    low, high = float(rows.min()), float(rows.max())
    grey = np.clip(255 * (rows - low) / (high - low or 1), 0, 255).astype(np.uint8).reshape(n, h, w)
    high_each = each * h / w
    parts = []
    for i, picture in enumerate(grey):
        x, y = (i % across) * (each + 2), (i // across) * (high_each + 18)
        parts.append(f'<image x="{x}" y="{y:.1f}" width="{each}" height="{high_each:.1f}" href="{png(picture)}"/>')
        name = escape(shortened(labels[i], 8))
        parts.append(f'<text x="{x + each / 2}" y="{y + high_each + 13:.1f}" text-anchor="middle">{name}</text>')
    down = -(-n // across)
    return framed("".join(parts), title, max(across, 4) * (each + 2), down * (high_each + 18) + 4)


def vector_images(model: KernelModel, shape: tuple[int, int]) -> str:
    """Return the vectors of a model as images; below each, what the model answers there."""
    V = in_units_of_rows(model)[:_MOST_IMAGES]
    labels = [_text(a) for a in model.predict(V).tolist()]
    return images(V, shape, labels, f"the first {len(V)} of {model.n_vectors} vectors as images")


def _text(answer: Any) -> str:
    return f"{answer:.3g}" if isinstance(answer, float) else str(answer)


def colours_of(model: KernelModel, answers: NDArray[Any]) -> NDArray[np.intp]:
    """Return a position in the palette for each answer, (n,); regressors have five levels."""
    if model.classes_ is not None:
        place = {label: i for i, label in enumerate(model.classes_.tolist())}
        return np.array([place[a] for a in answers.tolist()]) % len(_PALETTE)
    cuts = np.quantile(answers, [0.2, 0.4, 0.6, 0.8])
    return np.searchsorted(cuts, answers)


def plane(model: KernelModel, evidence: Evidence | None, source: KernelModel) -> str:
    """Return what a model of two features answers all over their plane, its vectors, and the source's boundary."""
    V = in_units_of_rows(model)
    seen = V if evidence is None else arrays.dense(evidence.X)
    names = source.feature_names or ("feature 1", "feature 2")
    x, y = (Axis.of(np.quantile(np.asarray(seen)[:, k], [0.002, 0.998]), shortened(names[k], 30)) for k in (0, 1))
    across, up = np.linspace(x.low, x.high, _GRID), np.linspace(y.high, y.low, _GRID)
    points = np.stack([a.ravel() for a in np.meshgrid(across, up)], axis=1)
    plot = Plot(x, y, "answers over the plane of the two features, vectors, and the boundary of the source")
    colours = _PALETTE[colours_of(model, model.predict(points))].reshape(_GRID, _GRID, 3)
    pale = (255 - (255 - colours.astype(int)) * 0.45).astype(np.uint8)
    size = f'width="{WIDTH - LEFT - RIGHT}" height="{HEIGHT - TOP - BOTTOM}"'
    plot.add(f'<image x="{LEFT}" y="{TOP}" {size} preserveAspectRatio="none" href="{png(pale)}"/>')
    plot.add(_edges(colours_of(source, source.predict(points)).reshape(_GRID, _GRID)))
    inside = [(float(a), float(b)) for a, b in V if x.low <= a <= x.high and y.low <= b <= y.high]
    plot.dots(inside, "vector", 3.5)
    return plot.text()


def _edges(regions: NDArray[np.intp]) -> str:
    """Return the lines between cells of different regions."""
    w, h = (WIDTH - LEFT - RIGHT) / _GRID, (HEIGHT - TOP - BOTTOM) / _GRID
    rows, columns = np.nonzero(regions[:, 1:] != regions[:, :-1])
    parts = [f"M{LEFT + (j + 1) * w:.1f} {TOP + i * h:.1f}v{h:.1f}" for i, j in zip(rows, columns, strict=True)]
    rows, columns = np.nonzero(regions[1:] != regions[:-1])
    parts += [f"M{LEFT + j * w:.1f} {TOP + (i + 1) * h:.1f}h{w:.1f}" for i, j in zip(rows, columns, strict=True)]
    return f'<path class="boundary" d="{"".join(parts)}"/>'


def parallel(model: KernelModel) -> tuple[str, str]:
    """Return vectors as lines over their features, and which features these are."""
    V = in_units_of_rows(model)[:_MOST_LINES]
    names = model.feature_names or tuple(f"{k + 1}" for k in range(model.n_features))
    low, high = V.min(axis=0), V.max(axis=0)
    shown = np.arange(V.shape[1])[:_MOST_AXES]
    scaled = (V - low) / np.where(high > low, high - low, 1)
    colours = colours_of(model, model.predict(V))
    bottom = HEIGHT - 30
    step = (WIDTH - 40) / max(1, len(shown) - 1)
    parts = []
    for k, feature in enumerate(shown):
        a = 20 + k * step
        name = escape(shortened(names[feature], max(3, int(step / 7))))
        parts.append(f'<path class="grid" d="M{a:.1f} 16V{bottom}"/>')
        parts.append(f'<text x="{a:.1f}" y="{bottom + 16}" text-anchor="middle">{name}</text>')
    for row, colour in zip(scaled[:, shown], colours, strict=True):
        line = " ".join(f"{20 + k * step:.1f},{bottom - v * (bottom - 16):.1f}" for k, v in enumerate(row))
        red, green, blue = _PALETTE[colour]
        parts.append(f'<polyline class="thin" stroke="rgb({red} {green} {blue})" points="{line}"/>')
    few = "" if len(shown) == V.shape[1] else f", the first {len(shown)} of {V.shape[1]:,} features"
    title = f"{len(V)} of {model.n_vectors} vectors over their features{few}"
    return framed("".join(parts), title, WIDTH, HEIGHT), few


def projection(model: KernelModel, evidence: Evidence | None) -> str:
    """Return vectors and rows in the plane in which these rows vary most, coloured by answers."""
    V = in_units_of_rows(model)
    X = V
    if evidence is not None:
        some = np.random.default_rng(0).permutation(evidence.n)[:_PROJECTED]
        X = np.asarray(arrays.dense(arrays.take(evidence.X, some)), dtype=np.float64)
    mean = X.mean(axis=0)
    _, _, directions = np.linalg.svd(X - mean, full_matrices=False)
    Q = directions[:2].T
    if Q.shape[1] < 2:
        Q = np.concatenate([Q, np.zeros((len(Q), 2 - Q.shape[1]))], axis=1)
    rows, vectors = (X - mean) @ Q, (V - mean) @ Q
    both = np.concatenate([rows, vectors])
    x, y = Axis.of(both[:, 0], "first principal direction"), Axis.of(both[:, 1], "second principal direction")
    plot = Plot(x, y, "vectors and rows in the plane in which the rows vary most")
    plot.dots([(float(a), float(b)) for a, b in rows] if evidence is not None else [], "faint", 1.6)
    colours = colours_of(model, model.predict(V))
    for c in np.unique(colours):
        red, green, blue = _PALETTE[c]
        own = [(float(a), float(b)) for a, b in vectors[colours == c]]
        plot.dots(own, "vector", 3.5, f"rgb({red} {green} {blue})")
    return plot.text()
