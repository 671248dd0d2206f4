"""The tables of ``docs/accuracy.md``, from records alone."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean, stdev
from typing import Any

SETS = ("pageblocks", "magic", "letters", "20news", "mnist", "ohsumed", "california")
Records = list[dict[str, Any]]
Groups = dict[tuple[str, float, str, str], Records]
"""By set, ratio, layout and what was given."""


def _groups(records: Records) -> Groups:
    groups: Groups = defaultdict(list)
    for r in records:
        groups[r["set"], r["ratio"], r["layout"], r["given"]].append(r)
    return groups


def _mean(group: Records, key: str) -> float:
    return sum(r[key] for r in group) / len(group)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(group: Records | None) -> str:
    """Return the mean loss with its standard error over seeds."""
    if not group:
        return ""
    each = [100 * (r["score_full"] - r["score"]) for r in group]
    error = f" ± {stdev(each) / len(each) ** 0.5:.2f}" if len(each) > 1 else ""
    return f"{fmean(each):+.2f}{error}"


def _loss_table(groups: Groups) -> list[str]:
    ratios = sorted({key[1] for key in groups})
    lines = [_row(["set", "full", *(f"{100 * r:g} %" for r in ratios)]), "|---" * (len(ratios) + 2) + "|"]
    for name in SETS:
        of_set = [groups.get((name, ratio, "shared", "rows")) for ratio in ratios]
        some = next((group for group in of_set if group), None)
        if some:
            lines.append(_row([name, f"{100 * some[0]['score_full']:.2f}", *map(_cell, of_set)]))
    return lines


def _other_table(groups: Groups) -> list[str]:
    lines = [_row(["set", "rows and labels", "LibSVM layout", "model alone"]), "|---|---|---|---|"]
    for name in SETS:
        keys = [(name, 0.1, "shared", "rows"), (name, 0.1, "libsvm", "rows"), (name, 0.1, "shared", "nothing")]
        found = [groups.get(key) for key in keys]
        if any(found):
            lines.append(_row([name, *map(_cell, found)]))
    return lines


def _cost_table(groups: Groups) -> list[str]:
    heads = ["set", "share", "vectors", "outputs", "agreement", "seeds", "seconds", "training", "peak MB"]
    lines = [_row(heads), "|---" * len(heads) + "|"]
    for (name, ratio, layout, given), group in sorted(groups.items(), key=lambda g: (SETS.index(g[0][0]), g[0])):
        if layout == "shared" and given == "rows":
            cells = [name, f"{100 * ratio:g} %", f"{group[0]['vectors']} of {group[0]['vectors_full']}"]
            cells += [
                "/".join(str(o) for o in sorted({r["outputs"] for r in group})),
                f"{_mean(group, 'agreement'):.4f}",
                str(len(group)),
                f"{min(r['compress_seconds'] for r in group):.1f}",
                f"{min(r['train_seconds'] for r in group):.1f}",
                f"{max(r['peak_memory_mb'] for r in group)}",
            ]
            lines.append(_row(cells))
    return lines


def table(records: Records) -> str:
    """Return the table of losses, in Markdown."""
    return "\n".join(_loss_table(_groups(records)))


def page(records: Records) -> str:
    """Return ``docs/accuracy.md``, from the records of one revision."""
    groups = _groups(records)
    threads = sorted({r["threads"] for r in records})
    return "\n".join(
        [
            "# Accuracy",
            "",
            "Written by `python benchmarks/accuracy.py --table` from `benchmarks/results/accuracy.jsonl`.",
            "",
            "Points of test accuracy lost against the full SVM (of R², times 100, for california), by share of its",
            "support vectors kept; negative is better than the full SVM. Mean over seeds, with the standard error.",
            "No compression sees test rows. How each decision of the method is justified, on other sets, is in",
            "[decisions.md](decisions.md).",
            "",
            *_loss_table(groups),
            "",
            'At 10 % of the vectors, with `layout="libsvm"`, and with the model file alone and no data:',
            "",
            *_other_table(groups),
            "",
            f"What it took. Seconds are the shortest of the seeds, on {'/'.join(str(t) for t in threads)} threads of",
            "a machine with other work to do; [speed.md](speed.md) has times on a quiet one. Peak",
            "memory is that of the whole process, data and source included.",
            "",
            *_cost_table(groups),
            "",
        ]
    )
