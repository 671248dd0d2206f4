"""The figures of a report: each a function from numbers to SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.compression.expectation import Estimate
from svmpress.compression.report.evidence import Evidence, Size, leads
from svmpress.compression.report.svg import Axis, Plot, cells, histogram_steps, shortened
from svmpress.decoders import positions_of

_BINS = 30
_DOTS = 600
"""Of a cloud: more only cover each other."""


def size_curve(sizes: Sequence[int], scores: Sequence[Estimate], source: Estimate | None, name: str) -> str:
    """Return sizes against scores with intervals; the source's is a line."""
    ends = [v for e in scores for v in (e.low, e.high)] + ([] if source is None else [source.value])
    span = Axis.of(ends, name)
    least = max(span.low, max(e.high for e in scores) - 1.2) if name == "R²" else max(span.low, 0.0)
    high = min(span.high, 1.005) if name != "R²" else span.high
    plot = Plot(
        Axis(min(sizes) / 1.3, max(sizes) * 1.3, "vectors (log scale)", log=True),
        Axis(least, high, name, percent=name != "R²"),
        f"{name} against the number of vectors",
    )
    if source is not None:
        plot.line([(plot.x.low, source.value), (plot.x.high, source.value)], "source dashed")
        a, b = plot.at(plot.x.low, source.value)
        plot.add(f'<text x="{a + 4:.1f}" y="{b - 5:.1f}">source</text>')
    points = [(m, e.value) for m, e in zip(sizes, scores, strict=True)]
    plot.line(points, "small")
    for i, (m, e) in enumerate(zip(sizes, scores, strict=True)):
        (x, y), (_, low), (_, high) = plot.at(m, e.value), plot.at(m, max(e.low, least)), plot.at(m, e.high)
        plot.add(f'<path class="small" d="M{x:.1f} {low:.1f}V{high:.1f}"/>')
        told = f"<title>{m:,} vectors: {e}</title>"
        plot.add(f'<circle class="mark" data-size="{i}" cx="{x:.1f}" cy="{y:.1f}" r="5">{told}</circle>')
    return plot.text()


def confusion(wanted: NDArray[Any], answers: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return how many rows of each class (down) get each answer (across), (K, K); labels of no class are left out."""
    K = len(classes)
    known = np.isin(wanted, classes)
    table = np.zeros((K, K), np.intp)
    np.add.at(table, (positions_of(wanted[known], classes), positions_of(answers[known], classes)), 1)
    return table


def confusion_cells(table: NDArray[np.intp], classes: Sequence[str], title: str) -> str:
    """Return a confusion matrix; errors are coloured by their share of the class, right answers in another colour."""
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    places = iter(("right" if i == j else "wrong", shares[i, j]) for i in range(len(table)) for j in range(len(table)))

    def colour(value: float) -> str:
        kind, share = next(places)
        strong = share * 0.5 if kind == "right" else min(0.85, 0.15 + 4 * share) if value else 0.0
        return f'class="{kind}" fill-opacity="{strong:.2f}"'

    return cells(table.astype(float), classes, title, colour, ".0f")


def difference_cells(table: NDArray[np.intp], classes: Sequence[str], title: str) -> str:
    """Return how many rows more or fewer are in each cell than with the source."""
    most = max(1, int(np.abs(table).max()))

    def colour(value: float) -> str:
        return f'class="{"more" if value > 0 else "fewer"}" fill-opacity="{0.7 * abs(value) / most:.2f}"'

    return cells(table.astype(float), classes, title, colour, "+.0f")


def decision_values(size: Size) -> str:
    """Return the distributions of the decision values, or of the leads of the best class, before and after."""
    evidence = size.evidence
    assert evidence is not None
    before, after = leads(evidence.source, evidence.values), leads(size.model, size.values)
    both = np.concatenate([before, after])
    low, high = np.quantile(both, [0.005, 0.995])
    edges = np.linspace(low, high if high > low else low + 1, _BINS + 1)
    steps = [histogram_steps(before, edges), histogram_steps(after, edges)]
    top = max(y for points in steps for _, y in points)
    several = evidence.source.classes_ is not None and len(evidence.source.classes_) > 2
    name = "lead of the best class" if several else "decision value"
    plot = Plot(
        Axis(float(edges[0]), float(edges[-1]), name),
        Axis(0.0, 1.08 * top, "share of rows", percent=True),
        f"distribution of the {name}, source and small model",
    )
    plot.line(steps[0], "source")
    plot.line(steps[1], "small")
    return plot.text()


def regression_cloud(size: Size) -> str:
    """Return the small model's values against the source's."""
    evidence = size.evidence
    assert evidence is not None
    before, after = evidence.values[:, 0], size.values[:, 0]
    some = np.random.default_rng(0).permutation(len(before))[:_DOTS]
    span = Axis.of(np.concatenate([before, after]), "")
    plot = Plot(
        Axis(span.low, span.high, "the source's value"),
        Axis(span.low, span.high, "the small model's value"),
        "values of the small model against those of the source",
    )
    plot.line([(span.low, span.low), (span.high, span.high)], "source dashed")
    plot.dots([(float(before[i]), float(after[i])) for i in some], "cloud")
    return plot.text()


def residuals(size: Size) -> str:
    """Return the distributions of the errors of a regressor, source and small model."""
    evidence = size.evidence
    assert evidence is not None
    assert evidence.y is not None
    y = evidence.y if evidence.y.ndim == 1 else evidence.y[:, 0]
    before, after = evidence.values[:, 0] - y, size.values[:, 0] - y
    low, high = np.quantile(np.concatenate([before, after]), [0.005, 0.995])
    edges = np.linspace(low, high if high > low else low + 1, _BINS + 1)
    steps = [histogram_steps(before, edges), histogram_steps(after, edges)]
    plot = Plot(
        Axis(float(edges[0]), float(edges[-1]), "predicted less true value"),
        Axis(0.0, 1.08 * max(b for points in steps for _, b in points), "share of rows", percent=True),
        "distribution of errors, source and small model",
    )
    plot.line(steps[0], "source")
    plot.line(steps[1], "small")
    return plot.text()


def calibration(size: Size) -> str:
    """Return, by tenths of the probability of the answer, how often it is right; the diagonal is perfect."""
    evidence = size.evidence
    assert evidence is not None
    assert evidence.y is not None
    axis = Axis(0.0, 1.0, "probability of the answer", percent=True)
    plot = Plot(axis, Axis(0.0, 1.0, "right answers", percent=True), "probability of the answer against right answers")
    plot.line([(0, 0), (1, 1)], "grid")
    for model, kind in ((evidence.source, "source"), (size.model, "small")):
        P = model.predict_proba(evidence.X)
        assert model.classes_ is not None
        right = model.classes_[P.argmax(axis=1)] == evidence.y
        tenth = np.minimum((10 * P.max(axis=1)).astype(int), 9)
        full = [k for k in range(10) if np.sum(tenth == k) >= 10]
        points = [(float(P.max(axis=1)[tenth == k].mean()), float(right[tenth == k].mean())) for k in full]
        plot.line(points, kind)
        plot.dots(points, f"{kind} dot", 3)
    return plot.text()


def losses(evidence: Evidence, size: Size) -> list[tuple[str, int, float, float]]:
    """Return the classes that lose most: name, rows, and the shares that source and small model have right."""
    classes = evidence.source.classes_
    assert classes is not None
    assert evidence.y is not None
    found = []
    for c in classes.tolist():
        own = evidence.y == c
        n = int(own.sum())
        if n:
            before, after = float(np.mean(evidence.answers[own] == c)), float(np.mean(size.answers[own] == c))
            found.append((shortened(str(c), 40), n, before, after))
    return sorted(found, key=lambda row: row[3] - row[2])
