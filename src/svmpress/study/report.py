"""The page of the study, written from records alone.

Verdicts are computed by rules that the page states:

    close        a model is close to the full SVM if its mean test accuracy is at most ``claim.CLOSE`` below that
    ahead        a method is ahead of another if its mean accuracy is higher by more than ``alternatives.AHEAD``

so the page says what the records say, whoever that pleases.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from math import inf

from svmpress.study.alternatives import AHEAD, OURS, Cost, alternatives
from svmpress.study.averages import Curves, Point, at, curves, methods_of, sets_of
from svmpress.study.circumstances import what_was_run
from svmpress.study.claim import CLAIM, claim, close, recipe
from svmpress.study.figures import CLOSE_UP, STYLES, label
from svmpress.study.methods import METHODS
from svmpress.study.plan import FULL
from svmpress.study.records import Records
from svmpress.study.tables import (
    absence,
    accuracy_table,
    cost_table,
    gaps_table,
    not_run_table,
    percent,
    points_of,
    seconds,
    share,
    table,
)

_SAME_PROGRAM = (FULL, OURS, "auto-libsvm", "dlib-pair")
"""Not peers of svmpress."""
_OTHER_SIZES = ("cvm-per-machine", "lars-svm-per-machine", "fourier", "mlp", "boosting", "boosting-bytes")
"""Whose size is not their number of vectors."""
_WIDTH = 120
_CUT = f"What is more than {100 * CLOSE_UP:g} points below the full SVM is cut off. "


def page(
    records: Records, *, figures: str | None = "figures", docs: bool = False, command: str = "", remark: str = ""
) -> str:
    """Return the page, in Markdown.

    Parameters
    ----------
    records : Records
    figures : str, optional
        Folder of the figures, relative to the page; None: without them.
    docs : bool
        Whether the page lies among the other pages of the project: it may link to them, and misses what methods of the
        study have no records at all.
    command : str
        What writes this page, for its first line.
    remark : str
        A paragraph on these records, after what was run.
    """
    found = curves(records)
    records = replace(records, wanted=tuple(METHODS)) if docs else records
    parts = [
        "# The study",
        f"Generated{f' by `{command}`' if command else ''} from the records of `svmpress study`; not edited by hand.",
        *what_was_run(records),
        *([remark] if remark else []),
        *_figure(
            figures,
            "figure3",
            "Accuracy against vectors: the paper's methods and svmpress",
            "The line is the full SVM, dotted is a tenth of its vectors, and bars are one standard deviation over "
            "seeds; LARS-SVM and CVM have none, as no seed changes them. ",
        ),
        *claim(records, found),
        *recipe(records, found),
        *_losses(records, found, figures),
        *_alternatives(records, found, figures),
        *_dlib(records, found),
        *_details(records, found, figures),
        "## Run it yourself",
        "```text\nsvmpress study --data DIR --out OUT            the whole study; stop and start it as you like\n"
        "svmpress study --data DIR --out OUT --quick    its shape, in minutes\n```",
        "DIR holds the sets as NPZ files; [cli.md](cli.md#study) has the options. Without `--data`, sets that OpenML "
        "or scikit-learn serve are fetched; they are divided anew into training and test rows, so scores differ a "
        "little.",
    ]
    if not docs:
        parts = [re.sub(r"\[(\w+\.md)\]\([^)]*\)", r"`docs/\1` of svmpress", part) for part in parts]
    return "\n\n".join(map(_wrapped, parts)) + "\n"


def _wrapped(part: str) -> str:
    """Return a paragraph or a list in lines of at most :data:`_WIDTH`; tables, titles and pictures as they are."""
    if part.startswith(("|", "#", "!", "`" * 3)):
        return part
    lines = (
        textwrap.fill(line, _WIDTH, subsequent_indent="  " * line.startswith("- "), break_long_words=False,
                      break_on_hyphens=False)
        for line in part.split("\n")
    )  # fmt: skip
    return "\n".join(lines)


def _text(lines: Sequence[str]) -> str:
    return "\n".join(lines)


def _figure(folder: str | None, name: str, title: str, more: str = "") -> list[str]:
    if folder is None:
        return []
    return [f"![{title}]({folder}/{name}.png)", f"({title}. {more}For papers: [PDF]({folder}/{name}.pdf).)"]


# ---------------------------------------------------------------------------------------------------------
# The peers
# ---------------------------------------------------------------------------------------------------------


def _peers(records: Records) -> list[str]:
    return [m for m in methods_of(records, tuple(STYLES)) if m not in _SAME_PROGRAM]


def _losses(records: Records, found: Curves, figures: str | None) -> list[str]:
    return [
        "## Where svmpress loses",
        *_figure(figures, "figure3-peers", "Accuracy against vectors: svmpress and what else a user might pick", _CUT),
        *_lost_accuracy(records, found),
        *_lost_operations(records, found, figures),
        *_lost_bytes(records, found),
        *_lost_time(records, found),
    ]


def _lost_accuracy(records: Records, found: Curves) -> list[str]:
    rows, compared = [], 0
    for name in sets_of(records):
        for ours in found.get((name, OURS), []):
            for method in (m for m in _peers(records) if m not in _OTHER_SIZES):
                theirs = next((p for p in found.get((name, method), []) if p.size == ours.size), None)
                compared += theirs is not None
                if theirs is not None and theirs.accuracy > ours.accuracy + AHEAD:
                    part = f"{ours.size:,} ({100 * ours.size / records.sets[name].vectors:.2g} %)"
                    ahead = f"{100 * (theirs.accuracy - ours.accuracy):.2f}"
                    rows.append([name, part, label(method), percent(theirs), percent(ours), ahead])
    rule = (
        f"**In accuracy at the same number of vectors.** A method is listed where its mean accuracy is more than "
        f"{100 * AHEAD:g} points above svmpress's at a size that both have: {len(rows)} of {compared} comparisons."
    )
    if not rows:
        return [rule + " No other method is ahead anywhere."]
    return [rule, _text(table(["set", "vectors", "method", "its accuracy, %", "svmpress, %", "points ahead"], rows))]


def _least(records: Records, found: Curves, name: str, method: str, cost: Cost) -> Point | None:
    """Return the model of a method that costs least of those that are close to the full SVM."""
    near = [p for p in found.get((name, method), []) if close(records, name, p)]
    return min(near, key=cost, default=None)


def _least_table(records: Records, found: Curves, cost: Cost) -> str:
    """Return the table of what a close model costs, of svmpress and of the best other method; costs are shown whole."""
    rows = []
    for name in sets_of(records):
        full, ours = found.get((name, FULL)), _least(records, found, name, OURS, cost)
        others = [(p, label(m)) for m in _peers(records) if (p := _least(records, found, name, m, cost)) is not None]
        best, which = min(others, key=lambda other: cost(other[0]), default=(None, ""))
        tried = (name, OURS) in found
        cells = [f"{cost(p):,.0f} ({p.size:,})" if p else "none is close" for p in (ours, best)]
        verdict = _verdict(*(round(cost(p)) if p else inf for p in (ours, best))) if tried else ""
        cells = [f"{cost(full[0]):,.0f}" if full else "", cells[0] if tried else "not tried", cells[1]]
        rows.append([name, *cells, which, verdict])
    return _text(table(["set", "full SVM", "svmpress", "best other", "which", "svmpress"], rows))


def _verdict(ours: float, theirs: float) -> str:
    """Say who needs less; infinity: nobody's model is close."""
    if ours == theirs:
        return "equal" if ours < inf else ""
    return "wins" if ours < theirs else "**loses**"


def _lost_operations(records: Records, found: Curves, figures: str | None) -> list[str]:
    apart = [name for name in sets_of(records) if any(p.elsewhere for p in found.get((name, OURS), []))]
    return [
        "**In multiply-adds for an accuracy that is close.** A vector that serves all machines has a coefficient in "
        f"each. {_more_than_full(records, found, 'a prediction takes', lambda p: p.multiply_adds, '')} The cheapest "
        "model of each that is close to the full SVM, in multiply-adds of a prediction (the size in brackets: vectors, "
        "or what stands for them), among the sizes that were tried:",
        _least_table(records, found, lambda p: p.multiply_adds),
        *_figure(
            figures,
            "figure3-operations",
            "Accuracy against multiply-adds of a prediction; the star is the full SVM",
            f"{_CUT}A line turns back where a larger model has one output a class instead of one a pair. ",
        ),
        *_figure(
            figures,
            "figure3-time",
            "Accuracy against the measured time of 1,000 predictions; the star is the full SVM",
            _CUT,
        ),
        *(
            [f"(On {', '.join(apart)}, points of svmpress were timed on another machine than the others.)"]
            if figures and apart
            else []
        ),
    ]


def _lost_bytes(records: Records, found: Curves) -> list[str]:
    return [
        "**In bytes, where rows are sparse.** A support vector of sparse rows is a few numbers; a vector that has "
        f"moved has one for every feature. {_more_than_full(records, found, 'a file has', _kibibytes, ' KiB')} The "
        "smallest file of a model that is close, in KiB (the size in brackets), among the sizes that were tried:",
        _least_table(records, found, _kibibytes),
    ]


def _kibibytes(point: Point) -> float:
    return point.file_bytes / 1024


def _more_than_full(records: Records, found: Curves, what: str, cost: Cost, unit: str) -> str:
    """Say where a model of svmpress at the share of the claim costs more than the full SVM."""
    more = []
    for name in sets_of(records):
        ours, full = points_of(found, records, name, OURS, CLAIM), found.get((name, FULL))
        if ours is not None and full and cost(ours) > cost(full[0]):
            more.append(f"{name} ({cost(ours):,.0f}{unit}, the full SVM {cost(full[0]):,.0f})")
    where = f"more than with the full SVM on {', '.join(more)}" if more else "nowhere more than with the full SVM"
    return f"At {share(CLAIM)} of the vectors {what} {where}."


def _lost_time(records: Records, found: Curves) -> list[str]:
    """Seconds to build at the share of the claim."""
    methods = [m for m in methods_of(records, tuple(STYLES)) if m != "dlib-pair"]
    columns, where = [], []
    faster = compared = 0
    for name in sets_of(records):
        points = {m: points_of(found, records, name, m, CLAIM) for m in methods}
        columns.append(
            [absence(records, name, m, CLAIM) if p is None else seconds(p, p.build_seconds) for m, p in points.items()]
        )
        ours = points.get(OURS)
        others = [p for m in _peers(records) if (p := points.get(m)) is not None and not p.elsewhere]
        if ours is None or ours.elsewhere or not others:
            continue
        where.append(name)
        compared += len(others)
        faster += sum(p.build_seconds < ours.build_seconds for p in others)
    same = f" on {', '.join(where)}, where all ran on one machine," if len(where) < len(columns) else ""
    return [
        f"**In time to build.** svmpress rehearses its choices on held-out rows and moves every vector, which takes "
        f"time: at {share(CLAIM)} of the vectors, {faster} of {compared} models of other methods{same} were built "
        "faster. "
        "Seconds:",
        _text(table(["method", *sets_of(records)], zip(map(label, methods), *columns, strict=True))),
    ]


def _alternatives(records: Records, found: Curves, figures: str | None) -> list[str]:
    parts = alternatives(records, found)
    if not parts:
        return []
    about = "svmpress and what one could train instead; the star is the full SVM"
    return [
        *parts,
        *_figure(figures, "figure3-learners", f"Accuracy against multiply-adds of a prediction: {about}", _CUT),
        *_figure(figures, "figure3-bytes", f"Accuracy against bytes of the model: {about}", _CUT),
    ]


def _dlib(records: Records, found: Curves) -> list[str]:
    rows = []
    for name in sets_of(records):
        for theirs in found.get((name, "dlib"), []):
            ours = at(found.get((name, "dlib-pair"), []), theirs.size)
            if ours is not None and ours.size == theirs.size:
                accuracy = [percent(p) for p in (theirs, ours)]
                took = [seconds(p, p.build_seconds) for p in (theirs, ours)]
                rows.append([name, theirs.size, *accuracy, *took])
    if not rows:
        return []
    head = ["set", "vectors", "dlib, %", "svmpress, %", "dlib, seconds", "svmpress, seconds"]
    return [
        "## dlib's reduction, on the same model",
        "dlib reduces only models that it trained itself, and starts at random. Here both start from the very same "
        f"SVM, trained by dlib{_dlib_sources(records)}:",
        _text(table(head, rows)),
    ]


def _dlib_sources(records: Records) -> str:
    """Return what the records say of the SVMs that dlib trained, in brackets."""
    said = {c.set: c.notes.split(", ", 1)[1] for c in records.done() if c.method == "dlib" and ", " in c.notes}
    return f" ({'; '.join(f'{name}: {said[name]}' for name in sets_of(records) if name in said)})" if said else ""


# ---------------------------------------------------------------------------------------------------------
# Everything
# ---------------------------------------------------------------------------------------------------------


def _details(records: Records, found: Curves, figures: str | None) -> list[str]:
    parts = [
        "## Accuracy by share of the vectors",
        "Test accuracy in percent, mean and sample standard deviation over seeds; in brackets the number of vectors.",
    ]
    for name in sets_of(records):
        parts += [
            f"### {name}: full SVM {100 * records.sets[name].accuracy:.2f} %",
            _text(accuracy_table(records, found, name)),
        ]
    parts += [f"## What models cost at {share(CLAIM)} of the vectors"]
    for name in sets_of(records):
        parts += [f"**{name}**", _text(cost_table(records, found, name, CLAIM))]
    gaps = gaps_table(records)
    if gaps:
        parts += ["## Cells without a model", _text(gaps)]
    absent = not_run_table(records)
    if absent:
        parts += [
            "## Cells that were not run",
            "Sizes of a set that only some of its methods, or some seeds, have in the records, or only other sets:",
            _text(absent),
        ]
    if figures is not None:
        parts += [
            "## Figure 2, moving",
            f"![Eight vectors move until they answer as the full SVM of 80 does]({figures}/figure2.gif)",
            "(The paper's synthetic example; conjugate gradient on vectors and coefficients together, equation 10. "
            "Drawn by `svmpress.plots.animate_figure2`. For papers, as the paper shows it: "
            f"[PDF]({figures}/figure2.pdf), [PNG]({figures}/figure2.png).)",
        ]
    return parts
