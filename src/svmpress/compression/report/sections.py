"""What a report tells of one size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import log10
from typing import Any

import numpy as np

from svmpress.compression.expectation import Estimate
from svmpress.compression.report import figures, vectors
from svmpress.compression.report.evidence import Evidence, Size
from svmpress.compression.report.svg import shortened
from svmpress.model import expansion_bytes
from svmpress.numerics import arrays

_MOST_CLASSES = 26
"""Of a confusion matrix that can be read; of more, the worst cells are listed."""
_MOST_LISTED = 12
_MOST_IMAGES = 21


@dataclass(frozen=True)
class Look:
    """How features are shown.

    Parameters
    ----------
    image : (height, width) or None
        Where the features are the pixels of a picture.
    """

    image: tuple[int, int] | None = None


def section(size: Size, number: int, look: Look) -> str:
    """Return everything about one size."""
    m = size.model.n_vectors
    parts = [facts(size), *_told(size)]
    grid = []
    if size.evidence is not None:
        grid += answers_figures(size, size.evidence)
        grid.append(
            figure(figures.decision_values(size), "Decision values", "Dashed: the source; solid: the small model.")
        )
        grid += _calibration(size, size.evidence)
    grid += vector_figures(size, look)
    if size.evidence is not None:
        grid.append(changed_rows(size, size.evidence, look))
    title = f"{m:,} vector{'' if m == 1 else 's'}"
    body = "".join(parts) + f'<div class="figures">{"".join(grid)}</div>'
    return f'<section class="size" id="size-{number}" data-name="{title}"><h2>{title}</h2>{body}</section>'


def figure(content: str, title: str, about: str) -> str:
    """Return a figure with its title and a sentence or two; ``about`` is text, not HTML."""
    return f"<figure><figcaption><h3>{escape(title)}</h3><p>{escape(about)}</p></figcaption>{content}</figure>"


def percent(e: Estimate, n: int) -> str:
    """Return a share with its interval, with as many digits as so many rows support."""
    digits = max(0, min(3, int(log10(n)) - 1)) if n else 1
    return f"{100 * e.value:.{digits}f} % ({100 * e.low:.{digits}f} to {100 * e.high:.{digits}f})"


def score_text(e: Estimate | None, n: int, is_share: bool) -> str:
    """Return a score for a table."""
    if e is None:
        return "unknown"
    return percent(e, n) if is_share else f"{e.value:.3f} ({e.low:.3f} to {e.high:.3f})"


def bytes_text(n: float) -> str:
    """Return bytes for people."""
    return f"{n:,.0f} B" if n < 1024 else f"{n / 1024:,.1f} KiB" if n < 2**20 else f"{n / 2**20:,.1f} MiB"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """Return a table whose first column names the rows; everything is text, not HTML."""
    top = "".join(f'<th scope="col">{escape(h)}</th>' for h in head)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(c)}</td>" for c in rest)}</tr>'
        for first, *rest in rows
    )
    told = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f'<div class="table"><table>{told}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def facts(size: Size) -> str:
    """Return what the small model costs and how good it is, beside its source."""
    model, evidence, expected = size.model, size.evidence, size.subject.expected
    source = None if evidence is None else evidence.source
    is_share = model.classes_ is not None
    name, alike = ("accuracy", "same answer as source") if is_share else ("R²", "R² against source")
    rows = []
    if size.measured is not None and evidence is not None and source is not None:
        now, then, n = size.measured, evidence.measured, evidence.n
        if evidence.y is not None:
            values = [score_text(m.accuracy, n, is_share) for m in (now, then)]
            rows.append((f"{name}, {n:,} rows", *values))
        rows.append((alike, score_text(now.agreement, n, is_share), "–"))
        times = [f"{m.seconds_per_row * 1e6:.3g} µs" for m in (now, then)]
        speed = then.seconds_per_row / now.seconds_per_row
        rows.append(("time per row, in batches", f"{times[0]} ({speed:.3g} times faster)", times[1]))
    elif expected is not None:
        if expected.accuracy is not None:
            held = expected.held_out
            values = [score_text(e, held, is_share) for e in (expected.accuracy, expected.source_accuracy)]
            rows.append((f"{name}, {held:,} held-out rows of the search", *values))
        rows.append(
            (f"{alike}, {expected.rows:,} {expected.on}", score_text(expected.agreement, expected.rows, is_share), "–")
        )
    known = [model] if source is None else [model, source]
    for title, values in (
        ("vectors", [f"{m.n_vectors:,}" for m in known]),
        ("bytes of its numbers", [bytes_text(expansion_bytes(m.expansion)) for m in known]),
        ("multiply-adds per row", [f"{m.expansion.multiply_adds:,}" for m in known]),
    ):
        rows.append((title, *values, *([""] * (2 - len(values)))))
    return table(["", "this size", "source"], rows)


def _told(size: Size) -> list[str]:
    return [f'<p class="warning">Warning: {escape(w)}.</p>' for w in size.subject.warnings]


def answers_figures(size: Size, evidence: Evidence) -> list[str]:
    """Return how the answers differ from what is right, and from the source's."""
    classes = evidence.source.classes_
    if classes is None:
        found = [figure(figures.regression_cloud(size), "Values", "On the dashed line the two are the same.")]
        if evidence.y is not None:
            found.append(
                figure(
                    figures.residuals(size),
                    "Errors",
                    "Predicted less true value. Dashed: the source; solid: the small model.",
                )
            )
        return found
    names = [str(c) for c in classes.tolist()]
    wanted, what = (evidence.answers, "the source's answer") if evidence.y is None else (evidence.y, "true class")
    now = figures.confusion(wanted, size.answers, classes)
    change = now - figures.confusion(wanted, evidence.answers, classes)
    found = []
    if len(names) <= _MOST_CLASSES:
        about = f"Rows: {what}. Columns: the small model's answer."
        content = figures.confusion_cells(now, names, f"confusion matrix: {what} down, answers across")
        found.append(figure(content, "Answers", about))
        if evidence.y is not None:
            content = figures.difference_cells(change, names, "difference of the confusion matrix from the source's")
            found.append(
                figure(content, "Difference from the source", "Rows of data more or fewer than with the source.")
            )
    else:
        found.append(worst_cells(now, names, what))
    if evidence.y is not None:
        found.append(losing_classes(size, evidence))
    return found


def worst_cells(table_of: Any, names: Sequence[str], what: str) -> str:
    """Return the largest errors of a confusion matrix that is too large to draw."""
    errors = table_of - np.diag(np.diag(table_of))
    worst = [divmod(int(k), len(names)) for k in np.argsort(-errors, axis=None)[:_MOST_LISTED]]
    rows = [[shortened(names[i], 30), shortened(names[j], 30), f"{errors[i, j]:,}"] for i, j in worst if errors[i, j]]
    about = f"The largest errors; {len(names):,} classes are too many for a matrix."
    return figure(table([what, "answer", "rows"], rows) if rows else "<p>There are none.</p>", "Answers", about)


def losing_classes(size: Size, evidence: Evidence) -> str:
    """Return the classes of which the small model has fewer right than the source."""
    digits = 0 if evidence.n < 1000 else 1
    rows = [
        [name, f"{n:,}", f"{before:.{digits}%}", f"{after:.{digits}%}"]
        for name, n, before, after in figures.losses(evidence, size)[:_MOST_LISTED]
        if after < before
    ]
    content = table(["class", "rows", "source", "small"], rows) if rows else "<p>No class loses.</p>"
    return figure(content, "Classes that lose most", "The share of each class that is answered right.")


def _calibration(size: Size, evidence: Evidence) -> list[str]:
    if evidence.y is None or not (size.model.has_probability and evidence.source.has_probability):
        return []
    about = "How often an answer of some probability is right; on the diagonal, as often as it says."
    return [figure(figures.calibration(size), "Probabilities", about)]


def vector_figures(size: Size, look: Look) -> list[str]:
    """Return pictures of the vectors, whichever their features allow."""
    model, evidence = size.model, size.evidence
    if look.image is not None:
        about = "What vectors look like, and what the model answers there."
        return [figure(vectors.vector_images(model, look.image), "Vectors", about)]
    if model.n_features == 2:
        source = model if evidence is None else evidence.source
        about = "Answers over the plane, the vectors as dots, and the source's boundary as a line."
        return [figure(vectors.plane(model, evidence, source), "Boundary", about)]
    lines, few = vectors.parallel(model)
    found = [figure(lines, "Vectors", f"Each line is a vector over its features{few}; colours are answers.")]
    if model.n_features > 3:
        about = "Vectors as dots, coloured by answers, among rows, in the plane in which these vary most."
        found.append(figure(vectors.projection(model, evidence), "Projection", about))
    return found


def changed_rows(size: Size, evidence: Evidence, look: Look) -> str:
    """Return the rows whose answer is another than the source's, or, of a regressor, those that differ most."""
    if evidence.source.classes_ is None:
        apart = np.abs(size.values - evidence.values).max(axis=1)
        picked = np.argsort(-apart)[:_MOST_LISTED]
        about = f"The {len(picked)} rows whose values differ most."
    else:
        changed = np.flatnonzero(size.answers != evidence.answers)
        picked = changed[:_MOST_LISTED]
        about = f"{len(changed):,} of {evidence.n:,} rows get another answer than from the source."
        about += f" The first {len(picked)}:" if len(changed) > len(picked) else ""
    if not len(picked):
        return figure("", "Rows that change", about)
    head = ["row", "source", "small", *([] if evidence.y is None else ["right"])]
    columns = [evidence.answers, size.answers, *([] if evidence.y is None else [evidence.y])]
    rows = [[f"{evidence.rows[i]:,}", *(_answer(c[i]) for c in columns)] for i in picked]
    content = table(head, rows)
    if look.image is not None:
        X = np.asarray(arrays.dense(arrays.take(evidence.X, picked[:_MOST_IMAGES])), dtype=np.float64)
        names = [f"row {evidence.rows[i]}" for i in picked[:_MOST_IMAGES]]
        content += vectors.images(X, look.image, names, "these rows as images")
    return figure(content, "Rows that change", about)


def _answer(value: Any) -> str:
    value = value.tolist() if hasattr(value, "tolist") else value
    return f"{value:.4g}" if isinstance(value, float) else shortened(str(value), 30)
