"""Figure 3 of the paper and its relatives: accuracy against what a prediction costs, a panel for each set.

    figure3               vectors, the paper's methods and svmpress
    figure3-peers         vectors, svmpress and what else a user might pick
    figure3-operations    multiply-adds of a prediction
    figure3-time          measured time of 1,000 predictions
    figure3-learners      multiply-adds, svmpress and what one could train instead
    figure3-bytes         bytes of the model, likewise

Horizontal axes are logarithmic. Points are means over seeds, bars one standard deviation. The full SVM is a line, and
a star where its cost is on the axis. Methods differ by colour (Okabe and Ito's palette), marker and dashes, so that
figures can be read in grey. They are drawn from records alone and need matplotlib, the extra ``plots``; the same
records give the same file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from svmpress.plots import new_figure, save_figure
from svmpress.study.averages import Curve, Curves, curves, methods_of, sets_of
from svmpress.study.methods import METHODS
from svmpress.study.plan import FULL
from svmpress.study.records import Records

_BLACK, _ORANGE, _SKY, _GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
_YELLOW, _BLUE, _RED, _PURPLE = "#C8B900", "#0072B2", "#D55E00", "#CC79A7"
_GREY, _BROWN = "#6E6E6E", "#7F3B08"
_SOLID, _DASHED, _DOTTED, _MIXED = "-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (4, 1.2, 1, 1.2))

STYLES: dict[str, tuple[str, str, Any]] = {
    "auto": (_BLUE, "o", _SOLID),
    "auto-libsvm": (_SKY, "s", _DASHED),
    "cvm": (_GREEN, "^", _DASHED),
    "cvm-per-machine": (_ORANGE, "p", _SOLID),
    "lars-svm": (_GREY, "v", _DOTTED),
    "lars-svm-per-machine": (_PURPLE, "<", _DOTTED),
    "reduced-svm": (_RED, "D", _MIXED),
    "reduced-svm-shared": (_BROWN, "d", _MIXED),
    "reduced-set": (_PURPLE, "P", _MIXED),
    "k-means": (_ORANGE, "X", _DASHED),
    "random": (_GREY, "x", _DOTTED),
    "subsample-svc": (_BLACK, "<", _DOTTED),
    "nystroem": (_YELLOW, ">", _SOLID),
    "fourier": (_ORANGE, "p", _MIXED),
    "mlp": (_RED, "h", _DASHED),
    "boosting": (_GREEN, "H", _SOLID),
    "boosting-bytes": (_GREEN, "H", _DASHED),
    "dlib": (_GREEN, "^", _DASHED),
    "dlib-pair": (_RED, "h", _SOLID),
}
"""Colour, marker and dashes of each method."""
_SOME, _MANY = 100, 500
"""From these ranges on, an axis gets fewer labels in a decade, and one."""


@dataclass(frozen=True)
class Kind:
    """What a figure shows.

    Parameters
    ----------
    name : str
        Of the file.
    x, title : str
        The field of a point on the horizontal axis, and what the axis is called.
    methods : tuple of str
    depth : float
        How far below the full SVM's accuracy panels may reach.
    """

    name: str
    x: str
    title: str
    methods: tuple[str, ...]
    depth: float


CLOSE_UP = 0.25
"""How far below the full SVM's accuracy figures of many methods reach."""
KINDS = (
    Kind(
        "figure3",
        "vectors",
        "vectors",
        ("lars-svm", "lars-svm-per-machine", "reduced-svm", "cvm", "cvm-per-machine", "auto"),
        1.0,
    ),
    Kind(
        "figure3-peers",
        "vectors",
        "vectors",
        (
            "random", "k-means", "subsample-svc", "nystroem", "reduced-svm-shared", "reduced-set", "dlib", "dlib-pair",
            "auto-libsvm", "auto",
        ),
        CLOSE_UP,
    ),
    Kind(
        "figure3-operations",
        "multiply_adds",
        "multiply-adds of a prediction",
        (
            "lars-svm", "reduced-svm", "reduced-svm-shared", "k-means", "subsample-svc", "nystroem", "reduced-set",
            "cvm", "auto-libsvm", "auto",
        ),
        CLOSE_UP,
    ),
    Kind(
        "figure3-time",
        "predict_seconds",
        "time of 1,000 predictions",
        (
            "lars-svm", "reduced-svm", "reduced-svm-shared", "k-means", "subsample-svc", "nystroem", "reduced-set",
            "cvm", "auto-libsvm", "auto",
        ),
        CLOSE_UP,
    ),
    Kind(
        "figure3-learners",
        "multiply_adds",
        "multiply-adds of a prediction",
        ("nystroem", "reduced-set", "fourier", "boosting", "mlp", "auto"),
        CLOSE_UP,
    ),
    Kind(
        "figure3-bytes",
        "file_bytes",
        "bytes of the model",
        ("random", "nystroem", "reduced-set", "fourier", "boosting-bytes", "mlp", "auto-libsvm", "auto"),
        CLOSE_UP,
    ),
)  # fmt: skip


def label(method: str) -> str:
    """Return what a figure or table calls a method."""
    return METHODS[method].label if method in METHODS else method


def draw(records: Records, kind: Kind, *paths: str | os.PathLike[str]) -> None:
    """Draw one figure into one file or several; the suffix says PNG, SVG or PDF.

    Raises
    ------
    MissingExtraError
        When matplotlib is not installed.
    """
    names, found = sets_of(records), curves(records)
    columns = min(3, len(names))
    rows = -(-len(names) // columns)
    figure = new_figure((4.1 * columns, 3.3 * rows + 0.7))
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    shown: dict[str, Any] = {}
    for panel, name in zip(panels, names, strict=False):
        shown |= _draw_panel(panel, records, found, name, kind)
    for panel in panels[len(names) :]:
        panel.set_axis_off()
    order = [m for m in (FULL, *methods_of(records, tuple(STYLES))) if m in shown]
    figure.legend(
        [shown[m] for m in order],
        [label(m) for m in order],
        loc="outside lower center",
        ncols=min(5, len(order)),
        frameon=False,
        handlelength=3.2,
    )
    save_figure(figure, *paths)


def _draw_panel(panel: Any, records: Records, found: Curves, name: str, kind: Kind) -> dict[str, Any]:
    """Draw the curves of one set and return a handle of each for the legend."""
    about = records.sets[name]
    handles: dict[str, Any] = {}
    panel.set_xscale("log")
    handles[FULL] = panel.axhline(100 * about.accuracy, color=_BLACK, linewidth=1.1, zorder=1)
    lowest = about.accuracy
    for method in kind.methods:
        curve = found.get((name, method), [])
        if curve:
            handles[method] = _draw_curve(panel, curve, method, kind)
            lowest = min(lowest, *(p.accuracy - p.spread for p in curve))
    full = found.get((name, FULL))
    if full and kind.x != "vectors":
        panel.plot(getattr(full[0], kind.x), 100 * full[0].accuracy, color=_BLACK, marker="*", markersize=11, zorder=4)
    if kind.x == "vectors":
        panel.axvline(0.1 * about.vectors, color=_GREY, linewidth=0.8, linestyle=_DOTTED, zorder=0)
        panel.annotate(
            "10 %", (0.1 * about.vectors, 0.02), xycoords=("data", "axes fraction"), xytext=(-3, 0),
            textcoords="offset points", color=_GREY, fontsize=8, ha="right",
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.8},
        )  # fmt: skip
    bottom = max(lowest, about.accuracy - kind.depth)
    if not any(p.accuracy >= bottom for m in kind.methods for p in found.get((name, m), [])):
        what = "not run" if len(handles) == 1 else "all is cut off"
        panel.text(0.5, 0.3, what, transform=panel.transAxes, color=_GREY, ha="center")
    tops = [p.accuracy + p.spread for m in kind.methods for p in found.get((name, m), [])]
    best = min(1.0, max([about.accuracy, *tops]))
    margin = 0.06 * (best - bottom) + 1e-3
    panel.set_ylim(100 * (bottom - margin), 100 * (best + margin))
    panel.set_title(f"{name}: {about.classes} classes, {about.vectors:,} vectors", fontsize=10)
    panel.set_xlabel(kind.title, fontsize=9)
    panel.set_ylabel("test accuracy, %", fontsize=9)
    _mark_axis(panel, kind)
    panel.grid(visible=True, which="major", color="#DDDDDD", linewidth=0.6)
    panel.set_axisbelow(True)
    return handles


def _mark_axis(panel: Any, kind: Kind) -> None:
    """Label 1, 2 and 5 of each decade where there is room, 1 and 3 where there is less, or the decades alone."""
    from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullFormatter

    left, right = panel.get_xlim()
    subs = (1.0, 2.0, 5.0) if right < _SOME * left else (1.0, 3.0) if right < _MANY * left else (1.0,)
    plain = FuncFormatter(lambda x, _: f"{x:,.0f}")
    panel.xaxis.set_major_locator(LogLocator(subs=subs))
    panel.xaxis.set_major_formatter(
        plain if kind.x == "vectors" else EngFormatter({"predict_seconds": "s", "file_bytes": "B"}.get(kind.x, ""))
    )
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.tick_params(labelsize=8)


def _draw_curve(panel: Any, curve: Curve, method: str, kind: Kind) -> Any:
    colour, marker, dashes = STYLES.get(method, (_GREY, ".", _SOLID))
    ours = method == "auto"
    return panel.errorbar(
        [getattr(p, kind.x) for p in curve],
        [100 * p.accuracy for p in curve],
        yerr=[100 * p.spread for p in curve] if any(p.spread for p in curve) else None,
        color=colour,
        marker=marker,
        linestyle=dashes,
        linewidth=1.8 if ours else 1.2,
        markersize=5,
        markeredgecolor=colour if marker == "x" else "white",
        markeredgewidth=1.2 if marker == "x" else 0.4,
        capsize=2,
        elinewidth=0.8,
        zorder=3 if ours else 2,
    )
