"""The figure of the front: size against score, drawn from the records of a search.

Every size of every trial is a point, those of finalists are larger, and the steps join the best of each size. The
region that the goal asks for is shaded. Colours are from Okabe and Ito's palette, and markers say the same.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from svmpress.plots import check_figure, new_figure, save_figure
from svmpress.tuning.finals import best_point
from svmpress.tuning.goal import Goal
from svmpress.tuning.records import Point, Records, Trial
from svmpress.tuning.result import SearchResult, front_of

_BLUE, _VERMILLION, _GREEN, _GREY = "#0072B2", "#D55E00", "#009E73", "#6E6E6E"


def draw_front(records: SearchResult | Records | str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Draw size against score with the region that meets the goal; the suffix says PNG, SVG or PDF.

    Parameters
    ----------
    records : SearchResult, Records or path
        What a search returned, or the file where it kept its trials.
    path : path
        The picture.

    Raises
    ------
    MissingExtraError
        When matplotlib is not installed.
    """
    check_figure(path)
    if isinstance(records, SearchResult):
        trials, finalists, goal = records.trials, records.finalists, records.goal
        limit, features, score_name = records.limit, records.model.n_features, records.score_name
    else:
        records = records if isinstance(records, Records) else Records.load(records)
        trials, finalists, goal = tuple(records.tried), tuple(records.finalists), Goal(**records.header["goal"])
        limit, features, score_name = (records.header[name] for name in ("limit", "features", "score"))
    figure = new_figure((7, 4.5))
    panel = figure.subplots()
    panel.set_xscale("log")
    panel.xaxis.set_major_formatter("{x:g}")
    _draw_points(panel, trials, finalists)
    best = best_point(finalists, goal, features)
    if best is not None:
        panel.scatter(*_place(best[1]), s=160, marker="*", color="black", label="the model", zorder=4)
    _draw_region(panel, goal, limit)
    panel.set_xlabel("vectors")
    panel.set_ylabel(f"{score_name} on held-out rows")
    panel.set_title(goal.described(score_name), fontsize=10)
    panel.legend(loc="lower right", fontsize=9)
    save_figure(figure, path)


def _place(point: Point) -> tuple[int, float]:
    return point.vectors, point.score


def _draw_points(panel: Any, trials: Sequence[Trial], finalists: Sequence[Trial]) -> None:
    for some, style, label in (
        (trials, {"s": 12, "marker": "o", "color": _BLUE, "alpha": 0.5}, "trials, brief compression"),
        (finalists, {"s": 40, "marker": "^", "color": _VERMILLION}, "finalists, all rows"),
    ):
        points = [_place(p) for t in some for p in t.curve]
        if points:
            panel.scatter(*zip(*points, strict=True), label=label, zorder=3, **style)
    front = front_of([*trials, *finalists])
    if front:
        low = min(p.score for p in front)
        panel.step(
            [p.vectors for p in front], [p.score for p in front], where="post", color=_GREY, label="front", zorder=2
        )
        high = max(p.score for p in front)
        margin = 0.05 * ((high - low) or 1)
        panel.set_ylim(low - margin, min(high + margin, 1.0 + margin / 5))


def _draw_region(panel: Any, goal: Goal, limit: int | None) -> None:
    left, right = panel.get_xlim()
    bottom, top = panel.get_ylim()
    left = max(left, 1)
    x = (left, right if limit is None else min(limit, right))
    y = bottom if goal.min_accuracy is None else max(goal.min_accuracy, bottom)
    panel.fill_between(x, y, max(top, y), color=_GREEN, alpha=0.15, linewidth=0, label="meets the goal", zorder=1)
    panel.set_xlim(left, right)
    panel.set_ylim(bottom, max(top, y))
