"""The whole page of a report, and how it gets into a file."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from html import escape
from importlib import resources
from typing import Any

import numpy as np

from svmpress import __version__
from svmpress.compression.expectation import Estimate
from svmpress.compression.report import figures
from svmpress.compression.report.evidence import Evidence, Size, Subject
from svmpress.compression.report.sections import Look, figure, score_text, section, table
from svmpress.compression.report.vectors import image_shape
from svmpress.compression.rows import checked_test
from svmpress.errors import InputError
from svmpress.model import KernelModel
from svmpress.storage import PathLike, replacing

_MOST_BYTES = 3_000_000


def subjects_of(results: Sequence[Any]) -> list[Subject]:
    """Return what a page tells of results of ``compress()``."""
    return [Subject(r.model, tuple(map(str, (*r.decisions, *r.notes))), tuple(r.warnings), r.expected) for r in results]


def write_page(
    path: PathLike,
    source: KernelModel | None,
    subjects: Sequence[Subject],
    X: Any = None,
    y: Any = None,
    *,
    image: str | tuple[int, int] | None = None,
    title: str = "",
    command: str = "",
) -> None:
    """Write a page about small models.

    Parameters
    ----------
    path : path
    source : KernelModel or None
        None: it is not known, and the models are shown alone.
    subjects : sequence of Subject
    X, y : rows and answers, optional
        To compare the models on; need a source.
    image : "HEIGHTxWIDTH" or (height, width), optional
        Where the features are the pixels of a picture.
    title, command : str
        The heading, and the command that made the page.
    """
    subjects = sorted(subjects, key=lambda s: s.model.n_vectors)
    first = subjects[0].model
    look = Look(image_shape(image, first.n_features))
    for other in (*(s.model for s in subjects), *(() if source is None else (source,))):
        if other.n_features != first.n_features or _labels(other) != _labels(first):
            raise InputError("the models of a report need the same features and the same classes")
    if X is not None and source is None:
        raise InputError("a report on rows compares with the source: give it, too")
    evidence = None
    if source is not None:
        test = checked_test(source, X, y)
        evidence = None if test is None else Evidence.of(source, *test)
    sizes = [Size(subject, evidence) for subject in subjects]
    text = _page(sizes, source, evidence, look, title or _title(first), command).encode()
    if len(text) > _MOST_BYTES:
        raise InputError(
            f"the report would take {len(text):,} bytes, and {_MOST_BYTES:,} are allowed: give fewer sizes"
        )
    with replacing(path) as (file,):
        file.write(text)


def _labels(model: KernelModel) -> list[Any] | None:
    return None if model.classes_ is None else sorted(map(str, model.classes_.tolist()))


def _title(model: KernelModel) -> str:
    kind = {"classification": "classifier", "regression": "regressor", "outlier": "outlier detector"}[model.task]
    return f"A compressed SVM {kind}"


def _page(
    sizes: Sequence[Size], source: KernelModel | None, evidence: Evidence | None, look: Look, title: str, command: str
) -> str:
    parts = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{_read('report.css')}</style></head><body><main>",
        f"<header><h1>{escape(title)}</h1>{_introduction(sizes, source, evidence)}</header>",
        _overview(sizes, evidence),
        _slider(sizes),
        *(section(size, i, look) for i, size in enumerate(sizes)),
        _decisions(sizes),
        _circumstances(sizes, source, command),
        f"</main><script>{_read('report.js')}</script></body></html>",
    ]
    return "\n".join(parts)


def _kernel(model: KernelModel) -> str:
    params = ", ".join(f"{name}={value:.6g}" for name, value in model.kernel.params.items())
    return f"{model.kernel.name} kernel{', ' if params else ''}{params}"


def _introduction(sizes: Sequence[Size], source: KernelModel | None, evidence: Evidence | None) -> str:
    model = sizes[0].model if source is None else source
    about = f"{_kernel(model)}, {model.n_features:,} features"
    about += "" if model.classes_ is None else f", {len(model.classes_):,} classes"
    if source is not None:
        about = f"The source has {source.n_vectors:,} vectors: {about}."
    else:
        about = f"A model alone, without its source: {about}."
    if evidence is None:
        rows = "No rows were given: what is shown of answers comes from the search, if there was one."
    elif evidence.given > evidence.n:
        rows = f"Measured on {evidence.n:,} rows, drawn at random from {evidence.given:,}."
    else:
        rows = f"Measured on {evidence.n:,} rows{'' if evidence.y is None else ' with known answers'}."
    return f"<p>{escape(about)} {escape(rows)} Intervals hold the true value in 95 of 100 cases.</p>"


def _scores(sizes: Sequence[Size]) -> tuple[str, list[Estimate], Estimate | None] | None:
    """Return what is compared over the sizes, its estimates, and the source's; None if nothing is known."""
    is_share = sizes[0].model.classes_ is not None
    good, alike = ("accuracy", "same answer as source") if is_share else ("R²", "R² against source")
    found, expected = [s.measured for s in sizes], [s.subject.expected for s in sizes]
    evidence = sizes[0].evidence
    if evidence is not None:
        if evidence.y is not None:
            return good, [m.accuracy for m in found if m and m.accuracy], evidence.measured.accuracy
        return alike, [m.agreement for m in found if m and m.agreement], None
    if all(e is not None and e.accuracy is not None for e in expected):
        return (
            good,
            [e.accuracy for e in expected if e and e.accuracy],
            expected[-1].source_accuracy if expected[-1] else None,
        )
    if all(e is not None for e in expected):
        return alike, [e.agreement for e in expected if e], None
    return None


def _overview(sizes: Sequence[Size], evidence: Evidence | None) -> str:
    scores = _scores(sizes)
    if scores is None or len(sizes) < 2:
        return ""
    name, estimates, source = scores
    counts = [size.model.n_vectors for size in sizes]
    is_share = sizes[0].model.classes_ is not None
    curve = figures.size_curve(counts, estimates, source, name)
    n = 0 if evidence is None else evidence.n
    rows = []
    for count, estimate, size in zip(counts, estimates, sizes, strict=True):
        m = size.measured
        rows.append(
            [f"{count:,}", score_text(estimate, n, is_share), "–" if m is None else f"{m.seconds_per_row * 1e6:.3g} µs"]
        )
    if source is not None:
        last = "–" if evidence is None else f"{evidence.measured.seconds_per_row * 1e6:.3g} µs"
        rows.append(["source", score_text(source, n, is_share), last])
    listed = table(["vectors", name, "time per row"], rows)
    about = f"{name} against size, with 95 % intervals; the dashed line is the source."
    return f'<div class="figures overview">{figure(curve, "All sizes", about)}<div>{listed}</div></div>'


def _slider(sizes: Sequence[Size]) -> str:
    if len(sizes) < 2:
        return ""
    return (
        '<div class="slider" hidden><label for="size">Size</label>'
        f'<input id="size" type="range" min="0" max="{len(sizes) - 1}" step="1" value="{len(sizes) - 1}">'
        '<output for="size"></output></div>'
    )


def _decisions(sizes: Sequence[Size]) -> str:
    parts = []
    for size in sizes:
        if size.subject.told:
            lines = "".join(f"<li>{escape(line)}</li>" for line in size.subject.told)
            parts.append(f"<h3>{size.model.n_vectors:,} vectors</h3><ul>{lines}</ul>")
    return f"<section><h2>What was decided, and why</h2>{''.join(parts)}</section>" if parts else ""


def _circumstances(sizes: Sequence[Size], source: KernelModel | None, command: str) -> str:
    model = sizes[0].model if source is None else source
    rows = [
        ["kernel", _kernel(model)],
        ["task", model.task],
        ["decoder", type(sizes[0].model.decoder).__name__],
        ["svmpress", __version__],
        ["NumPy", np.__version__],
        ["Python", platform.python_version()],
        *([["command", command]] if command else []),
    ]
    return f"<section><h2>Settings and versions</h2>{table(['', ''], rows)}</section>"


def _read(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")
