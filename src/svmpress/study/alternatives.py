"""What else one could train, at the same costs: multiply-adds of a prediction, and bytes of the model.

Each of the others is given at least what svmpress's model has, or within a tenth of it: its cheapest model that costs
so much, or its most expensive one where none does. So the comparison leans to their side, and the cost is shown with
the accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from svmpress.study.averages import Curve, Curves, Point, methods_of, sets_of
from svmpress.study.figures import STYLES, label
from svmpress.study.learners import FOLDS, ROUNDS, TUNING_ROWS
from svmpress.study.records import FAILED, SKIPPED, Records
from svmpress.study.tables import NOT_RUN, percent, points_of, share, table

OURS = "auto"
AHEAD = 0.002
"""A method is ahead of another where its mean accuracy is higher by more than this."""
_RATIOS = (0.01, 0.1)
_NEAR = 1.1
_OTHERS = ("reduced-set", "nystroem", "fourier", "mlp")

Cost = Callable[[Point], float]


def alternatives(records: Records, found: Curves) -> list[str]:
    """Return the paragraphs of the section; none where nothing of the kind was run."""
    there = methods_of(records, tuple(STYLES))
    if OURS not in there or not {"fourier", "mlp", "boosting", "boosting-bytes"} & set(there):
        return []
    return [
        "## What one could train instead, at the same costs",
        "A multilayer perceptron (one or two hidden layers), gradient boosting, random Fourier features with logistic "
        "regression, and Nystroem features with a linear SVM know the training rows and their labels, and of the SVM "
        f"its C and gamma. They are tuned for each size by a cross-validation of {FOLDS} folds on at most "
        f"{TUNING_ROWS:,} training rows, over a small grid: layers and learning rate of the network; leaves, learning "
        f"rate and rounds (at most {ROUNDS}) of the trees; gamma and C of the features, around those of the SVM. The "
        "reduced set has nothing to tune.",
        "Each is given at least what svmpress's model has, within a tenth: its cheapest model that costs so much, or "
        "its most expensive one where none does (as of boosting, which has few rounds). Costs are in brackets; bold is "
        f"an accuracy more than {100 * AHEAD:g} points above svmpress's. Where svmpress was not run, the "
        "others are those of the same share.",
        *_compared(
            records,
            found,
            "**At equal multiply-adds of a prediction.** A tree multiplies nothing: counted are its comparisons on the "
            "way to a leaf, the mean over training rows, and one addition a tree.",
            (*_OTHERS, "boosting"),
            lambda p: p.multiply_adds,
            lambda cost: f"{cost:,.0f}",
        ),
        *_compared(
            records,
            found,
            "**At equal bytes**, in KiB. Numbers are in double precision; svmpress's are those of its file, with all "
            "that it says of itself, the others' those of their arrays, and random weights are among them. A node of a "
            "tree takes 20 bytes: a threshold or value, a feature, two children.",
            (*_OTHERS, "boosting-bytes"),
            lambda p: p.file_bytes,
            lambda cost: f"{cost / 1024:,.1f}",
        ),
    ]


def _compared(
    records: Records, found: Curves, text: str, methods: Sequence[str], cost: Cost, shown: Callable[[float], str]
) -> list[str]:
    rows, ahead, behind, compared = [], 0, 0, 0
    for name in sets_of(records):
        for ratio in _RATIOS:
            ours = points_of(found, records, name, OURS, ratio)
            if ours is None:
                alone = [(m, points_of(found, records, name, m, ratio)) for m in methods]
                cells = [_cell(p, cost, shown) if p else _why_not(records, name, m) for m, p in alone]
                rows.append([name, share(ratio), NOT_RUN, *cells])
                continue
            cells = [_cell(ours, cost, shown)]
            for method in methods:
                theirs = matched(found.get((name, method), []), cost(ours), cost)
                if theirs is None:
                    cells.append(_why_not(records, name, method))
                    continue
                gain = theirs.accuracy - ours.accuracy
                compared += 1
                ahead += gain < -AHEAD
                behind += gain > AHEAD
                cells.append(_cell(theirs, cost, shown, bold=gain > AHEAD))
            rows.append([name, share(ratio), *cells])
    summary = (
        f"Of {compared} comparisons svmpress is more than {100 * AHEAD:g} points ahead in {ahead}, behind in {behind}."
    )
    head = ["set", "share", "svmpress", *map(label, methods)]
    return [f"{text} {summary}", "\n".join(table(head, rows, left=2))]


def _cell(point: Point, cost: Cost, shown: Callable[[float], str], *, bold: bool = False) -> str:
    accuracy = f"**{percent(point)}**" if bold else percent(point)
    return f"{accuracy} ({shown(cost(point))})"


def matched(curve: Curve, wanted: float, cost: Cost) -> Point | None:
    """Return the cheapest point that costs what is wanted, within a tenth, or the most expensive one.

    Examples
    --------
    >>> points = [Point(m, 1, 0.9, 0, 0.9, m, 10 * m, 0, 0, 0) for m in (5, 9, 20)]
    >>> [matched(points, wanted, lambda p: p.multiply_adds).size for wanted in (10, 98, 100, 101, 900)]
    [5, 9, 20, 20, 20]
    """
    enough = [p for p in curve if _NEAR * cost(p) >= wanted]
    return min(enough, key=cost) if enough else max(curve, key=cost, default=None)


def _why_not(records: Records, name: str, method: str) -> str:
    statuses = {c.status for c in records.cells.values() if (c.set, c.method) == (name, method)}
    return "not applicable" if statuses == {SKIPPED} else "no model" if FAILED in statuses else NOT_RUN
