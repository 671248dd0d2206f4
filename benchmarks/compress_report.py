"""The records of ``benchmarks/compress.py`` as a table and as ``docs/compress-speed.md``."""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np

Records = list[dict[str, Any]]


def latest(records: Records, part: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return the last record of each cell of a part."""
    keys = ("set", "budget", "effort") if part in ("set", "small") else ("rows", "vectors_full", "features", "vectors")
    return {tuple(r[k] for k in keys): r for r in records if r["part"] == part}


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(record: dict[str, Any] | None) -> list[str]:
    if record is None:
        return ["", "", ""]
    times = record["seconds"] / record["train_seconds"]
    return [f"{record['seconds']:.1f}", f"{times:.2f}", f"{record['lost']:+.2f}"]


def table(records: Records) -> str:
    """Return the table of sets: seconds, trainings, points lost, at each effort."""
    found = latest(records, "set")
    heads = [
        "set",
        "vectors",
        "training s",
        "balanced s",
        "trainings",
        "lost",
        "fast s",
        "trainings",
        "lost",
        "peak MB",
    ]
    lines = [_row(heads), "|---" * len(heads) + "|"]
    for name, budget in dict.fromkeys(key[:2] for key in found):
        pair = [found.get((name, budget, effort)) for effort in ("balanced", "fast")]
        some = next(r for r in pair if r is not None)
        first = [name, f"{some['vectors']:,} of {some['vectors_full']:,}", f"{some['train_seconds']:.1f}"]
        lines.append(_row([*first, *_cell(pair[0]), *_cell(pair[1]), str(some["peak_memory_mb"])]))
    return "\n".join(lines)


def _small(records: Records) -> list[str]:
    found = latest(records, "small")
    if not found:
        return []
    lines = ["", "## Small sets", ""]
    for effort in ("balanced", "fast"):
        of_effort = [r for r in found.values() if r["effort"] == effort]
        seconds = [r["seconds"] for r in of_effort]
        lost = sum(r["lost"] for r in of_effort) / len(of_effort)
        lines.append(
            f"- {effort}: median {median(seconds):.2f} s, longest {max(seconds):.1f} s; {lost:+.2f} points lost "
            f"on average ({len(of_effort)} compressions to 1 % and 10 %)"
        )
    return lines


def exponent(points: list[tuple[float, float]]) -> float:
    """Return the slope of a line through points on logarithmic axes.

    Examples
    --------
    >>> exponent([(1, 1), (10, 100)])
    2.0
    """
    x, y = np.log([p[0] for p in points]), np.log([p[1] for p in points])
    return round(float(np.polyfit(x, y, 1)[0]), 2)


def _growth(records: Records) -> list[str]:
    found = latest(records, "growth").values()
    if not found:
        return []
    base = {"rows": 20_000, "vectors_full": 5_000, "features": 20, "vectors": 50}
    lines = ["", "## Growth", "", "Random expansions; one thing varies, the others are as in the first column.", ""]
    lines += [_row(["varied", "values", "seconds", "peak MB", "exponent of seconds"]), "|---|---|---|---|---|"]
    for key in base:
        others = {k: v for k, v in base.items() if k not in (key, "rows" if key != "rows" else key)}
        line = sorted(
            (r for r in found if all(r[k] == v for k, v in others.items()) and (key == "rows" or r["rows"] == 20_000)),
            key=lambda r: r[key],
        )
        if len(line) > 1:
            slope = exponent([(r[key], r["seconds"]) for r in line])
            cells = [" / ".join(f"{r[k]:,}" for r in line) for k in (key,)]
            cells += [
                " / ".join(f"{r['seconds']:.1f}" for r in line),
                " / ".join(str(r["peak_memory_mb"]) for r in line),
            ]
            lines.append(_row([key.replace("vectors_full", "vectors in").replace("_", " "), *cells, f"{slope}"]))
    return lines


def page(records: Records) -> str:
    """Return ``docs/compress-speed.md``."""
    mine = list(latest(records, "set").values())
    codes = sorted({r["code"] for r in mine})
    threads = sorted({r["threads"] for r in mine})
    loads = [r["load"] for r in mine]
    return "\n".join(
        [
            "# Speed of compression",
            "",
            "Written by `python benchmarks/compress.py --data DIR` from `benchmarks/results/compress.jsonl`. Each SVM",
            "is trained by scikit-learn and compressed in one process; *trainings* is the time of the compression in",
            "units of that training. Points of test accuracy lost (R² times 100 for california) are of one seed.",
            "",
            f"Revision {', '.join(codes)}; {'/'.join(map(str, threads))} threads; load of the machine "
            f"{min(loads):.1f} to {max(loads):.1f} (2 is this program alone)."
            if mine
            else "",
            "",
            table(records),
            *_small(records),
            *_growth(records),
            "",
        ]
    )
