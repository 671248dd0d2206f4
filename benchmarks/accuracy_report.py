"""The tables of ``docs/accuracy.md``, from records alone."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

TARGETS: dict[str, dict[float, float]] = {
    "pageblocks": {0.01: 1.5, 0.02: 1.0, 0.05: 0.3, 0.1: 0.0},
    "magic": dict.fromkeys((0.005, 0.01, 0.02, 0.05, 0.1), 0.0),
    "letters": {0.01: 4.5, 0.02: 2.0, 0.05: 0.6, 0.1: 0.1},
    "20news": {0.005: 1.7, 0.01: 1.2, 0.02: 1.0, 0.05: 0.7, 0.1: 0.3},
    "mnist": {0.005: 0.5, 0.01: 0.3, 0.02: 0.1, 0.05: 0.0, 0.1: 0.0},
    "ohsumed": dict.fromkeys((0.01, 0.02, 0.05, 0.1), -4.0),
    "california": {0.005: 2.0, 0.01: 1.0, 0.02: 0.5, 0.05: 0.3, 0.1: 0.1},
}
"""Points of accuracy (for california of R², times 100) that may be lost, by share of vectors."""
LIBSVM, ALONE = 0.5, 1.0
"""Points that may be lost at 10 % with the LibSVM layout, and more than with rows where there is the model alone."""
TUNING = 27 * (2 / 3) ** 2
"""Trainings that a grid of 9 cells and 3 folds costs, in units of one on all rows, if time grows with their square."""
Tuning = dict[str, dict[str, Any]]
"""The records of tuning, by set, where that was measured."""
BUSY = 1.5
"""Load of the machine from which on it was not left alone."""

Records = list[dict[str, Any]]
Groups = dict[tuple[str, float, str, str], Records]
"""By set, ratio, layout and what was given."""


def _groups(records: Records) -> Groups:
    groups: Groups = defaultdict(list)
    for r in records:
        groups[r["set"], r["ratio"], r["layout"], r["given"]].append(r)
    return groups


def _lost(group: Records) -> float:
    return 100 * sum(r["score_full"] - r["score"] for r in group) / len(group)


def _mean(group: Records, key: str) -> float:
    return sum(r[key] for r in group) / len(group)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _against(group: Records, target: float | None) -> str:
    """Return what is lost, what was aimed at, and whether it was met."""
    lost = _lost(group)
    return f"{lost:+.2f}" + ("" if target is None else f" ({target:+.1f}{' met' if round(lost, 2) <= target else ''})")


def _loss_table(groups: Groups) -> list[str]:
    ratios = sorted({key[1] for key in groups})
    lines = [_row(["set", "full", *(f"{100 * r:g} %" for r in ratios)]), "|---" * (len(ratios) + 2) + "|"]
    for name, targets in TARGETS.items():
        cells, full = [], ""
        for ratio in ratios:
            group = groups.get((name, ratio, "shared", "rows"))
            if not group:
                cells.append("")
                continue
            full = f"{100 * group[0]['score_full']:.2f}"
            cells.append(_against(group, targets.get(ratio)))
        if full:
            lines.append(_row([name, full, *cells]))
    return lines


def _other_table(groups: Groups) -> list[str]:
    lines = [_row(["set", "rows and labels", "LibSVM layout", "model alone"]), "|---|---|---|---|"]
    for name in TARGETS:
        keys = [(name, 0.1, "shared", "rows"), (name, 0.1, "libsvm", "rows"), (name, 0.1, "shared", "nothing")]
        found = [groups.get(key) for key in keys]
        if any(found):
            aims = [TARGETS[name][0.1], LIBSVM, TARGETS[name][0.1] + ALONE]
            lines.append(_row([name, *(_against(g, aim) if g else "" for g, aim in zip(found, aims, strict=True))]))
    return lines


def _timed_last(group: Records) -> Records:
    """Return the cells that the last revision timed."""
    return [r for r in group if r["code"] == group[-1]["code"]]


def _trained(name: str, *of: Groups) -> float:
    """Return the shortest training of a set's source: what took longer was disturbed."""
    return min(r["train_seconds"] for groups in of for key, group in groups.items() if key[0] == name for r in group)


def _cost_table(groups: Groups, timings: Groups, tuned: Tuning) -> list[str]:
    heads = ["set", "share", "vectors", "outputs", "agreement", "seeds", "revision", "seconds", "tuning the source"]
    heads += ["peak MB", "timed"]
    lines = [_row(heads), "|---" * len(heads) + "|"]
    for (name, ratio, layout, given), group in sorted(
        groups.items(), key=lambda g: (list(TARGETS).index(g[0][0]), g[0])
    ):
        if layout == "shared" and given == "rows":
            timed = _timed_last(timings.get((name, ratio, layout, given), []))
            tuning = f"~{TUNING * _trained(name, groups, timings):.0f}"
            if name in tuned:
                took, load = tuned[name]["seconds"], tuned[name]["load"]
                tuning = f"{took:.{0 if took > 10 else 1}f}{' (busy)' if load > BUSY else ''}"
            cells = [name, f"{100 * ratio:g} %", f"{group[0]['vectors']} of {group[0]['vectors_full']}"]
            cells += [
                "/".join(str(o) for o in sorted({r["outputs"] for r in (*group, *timed) if "outputs" in r})),
                f"{_mean(group, 'agreement'):.4f}",
                str(len(group)),
                ", ".join(sorted({r["code"] for r in group})),
                f"{_mean(timed, 'compress_seconds'):.1f}" if timed else "",
                tuning,
                f"{max(r['peak_memory_mb'] for r in timed)}" if timed else "",
                f"{timed[0]['code']}, {len(timed)} seed{'s' * (len(timed) > 1)}" if timed else "",
            ]
            lines.append(_row(cells))
    return lines


def table(records: Records) -> str:
    """Return the table of losses against targets, in Markdown."""
    return "\n".join(_loss_table(_groups(records)))


def page(records: Records, timed: Records, tuned: Tuning) -> str:
    """Return ``docs/accuracy.md``.

    ``records`` are the last ones of each cell, ``timed`` the last ones that ran on a quiet machine, in the order in
    which they were made, and ``tuned`` has the seconds of tuning.
    """
    groups = _groups(records)
    threads = sorted({r["threads"] for r in timed})
    return "\n".join(
        [
            "# Accuracy",
            "",
            "Generated by `python benchmarks/accuracy.py --table` from `benchmarks/results/accuracy.jsonl`.",
            "",
            "Points of test accuracy lost against the full SVM (of R², times 100, for california), by share of its",
            "support vectors kept; negative is better than the full SVM. Mean over the random states counted in the",
            "last table. In brackets what was aimed at, and whether it was met. No compression sees test rows;",
            "scores on them were, however, looked at while the method was developed: they are not wholly untouched.",
            "",
            *_loss_table(groups),
            "",
            'At 10 % of the vectors, with `layout="libsvm"` (aimed at: half a point lost), and with the model file',
            "alone and no data (aimed at: a point more than with rows and labels):",
            "",
            *_other_table(groups),
            "",
            "What it took. Seconds are wall-clock on "
            f"{'/'.join(str(t) for t in threads)} threads; *tuning the source* is what scikit-learn's `GridSearchCV`",
            "takes for 9 cells and 3 folds with its other arguments left alone (`benchmarks/tuning.py`, on a machine",
            "of the same kind; with ~: not measured, but estimated as 27 trainings on two thirds of the rows, in a",
            "time that grows with the square of their number, without scoring, from the shortest training that was",
            "recorded; *busy*: another process ran beside it).",
            "Peak memory is that of the whole process, data and source included. Seconds and memory are of cells that",
            "ran on a quiet machine, of the last revision of which there are any (*timed*). Scores are of the last",
            "revision (*revision*), wherever it ran: in part within `svmpress study`, whose models are the same",
            "compressions, beside others and on a GPU.",
            "",
            *_cost_table(groups, _groups(timed), tuned),
            "",
            "Cells of different revisions are of different code: compare them with care. Revisions in all: "
            f"{', '.join(sorted({r['code'] for r in records}))}.",
            "",
        ]
    )
