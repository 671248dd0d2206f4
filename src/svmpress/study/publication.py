"""The page, the figures and the animation of a study, written into folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from svmpress import plots
from svmpress.errors import InputError, MissingExtraError
from svmpress.storage import replacing
from svmpress.study import figures
from svmpress.study.records import Records
from svmpress.study.report import page

_GRID = 121
"""Points along each axis of the animation: as fine as its pixels need."""


@dataclass(frozen=True)
class Published:
    """What was written: the page, the pictures, and why there are no pictures if there are none."""

    page: Path
    pictures: tuple[Path, ...]
    note: str = ""


def publish(
    records: Records,
    path: str | os.PathLike[str],
    *,
    folder: str = "figures",
    draw: bool = True,
    docs: bool = False,
    suffixes: Sequence[str] = (".png", ".pdf", ".svg"),
    command: str = "",
    remark: str = "",
    progress: Callable[[str, int, int], None] | None = None,
) -> Published:
    """Write the page of a study, and its figures into a folder beside it.

    Parameters
    ----------
    records : Records
    path : path
        Of the page.
    folder : str
        Of the figures, relative to the page.
    draw : bool
        Whether to draw them; without matplotlib the page is written without, and the result says so.
    docs : bool
        Whether the page is one of the project: it links to others, and to figures that are there if not drawn now.
    suffixes : sequence of str
        Formats of the figures; the page shows PNG and links to PDF.
    command : str
        What the page says that writes it.
    remark : str
        What it says of these records besides.
    progress : callable, optional
        Called with (stage, done, total).
    """
    if not records.done():
        raise InputError("the records hold no finished model, so there is nothing to report")
    target = Path(path)
    pictures: list[Path] = []
    note = ""
    if draw:
        try:
            pictures = _draw(records, target.parent / folder, suffixes, progress)
        except MissingExtraError as e:
            note = f"figures are left out: {e}"
    text = page(records, figures=folder if pictures or docs else None, docs=docs, command=command, remark=remark)
    with replacing(target) as (file,):
        file.write(text.encode())
    return Published(target, tuple(pictures), note)


def _draw(
    records: Records, folder: Path, suffixes: Sequence[str], progress: Callable[[str, int, int], None] | None
) -> list[Path]:
    steps = len(figures.KINDS) + 1
    written = []
    for i, kind in enumerate(figures.KINDS):
        if progress is not None:
            progress("figures", i, steps)
        paths = [folder / f"{kind.name}{suffix}" for suffix in suffixes]
        folder.mkdir(parents=True, exist_ok=True)
        figures.draw(records, kind, *paths)
        written += paths
    still = [folder / f"figure2{suffix}" for suffix in suffixes]
    plots.draw_figure2(plots.figure2_record(iterations=plots.ITERATIONS), *still)
    moving = folder / "figure2.gif"
    plots.animate_figure2(plots.figure2_record(iterations=plots.FRAMES, grid=_GRID), moving)
    if progress is not None:
        progress("figures", steps, steps)
    return [*written, *still, moving]
