"""The records of ``benchmarks/predict.py`` against the figures to reach, as a table and as ``docs/speed.md``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Records = list[dict[str, Any]]


@dataclass(frozen=True)
class Figure:
    """One line of the table: what was asked for and what was measured."""

    what: str
    goal: str
    value: str
    reached: bool


def _seconds(records: Records, who: str, key: str = "seconds", **where: Any) -> float:
    """Return the least time of those whose name starts with ``who``, or NaN."""
    chosen = [r[key] for r in records if r["who"].startswith(who) and all(r.get(k) == v for k, v in where.items())]
    return min(chosen, default=float("nan"))


def figures(records: Records, sets: list[str]) -> list[Figure]:
    """Return the figures that these records can speak of."""
    found: list[Figure] = []

    def at_least(what: str, goal: float, slow: float, fast: float) -> None:
        if np.isfinite(slow) and np.isfinite(fast):
            found.append(Figure(what, f"≥ {goal:g} ×", f"{slow / fast:.4g} ×", slow / fast >= goal))

    def at_most(what: str, goal: float, value: float, unit: str) -> None:
        if np.isfinite(value):
            found.append(Figure(what, f"≤ {goal:g} {unit}", f"{value:.3g} {unit}", value <= goal))

    for d, m in _shapes(records):
        theirs, mine = (_seconds(records, who, part="kernel value", d=d, m=m) for who in ("NumPy", "svmpress"))
        at_least(f"kernel value, d = {d}, m = {m}, one thread: faster than float32 NumPy in blocks", 3, theirs, mine)
    product, mine = (_seconds(records, who, part="matrix product") for who in ("matrix", "svmpress"))
    at_most("d = 784, m = 500, 10,000 rows: time of the bare float32 matrix product", 1.3, mine / product, "×")

    for name in sets:
        of_set = [r for r in records if r["part"] == "data set" and r["set"] == name]
        svc, fast, graph = (_seconds(of_set, who) for who in ("SVC.predict", "scikit-learn-intelex", "onnxruntime"))
        full, small = (_seconds(of_set, who) for who in ("svmpress full float64", "svmpress compressed"))
        at_least(f"{name}, full model: faster than SVC.predict", 10, svc, full)
        at_least(f"{name}, full model: faster than scikit-learn-intelex", 1, fast, full)
        at_least(f"{name}, full model: faster than onnxruntime", 1, graph, full)
        for same in (r["agreement"] for r in of_set if r["who"] == "svmpress full float64"):
            what = f"{name}, full model: labels equal to SVC.predict"
            found.append(Figure(what, "100 %", f"{same:.3%}", same == 1))
        # the full model sees all test rows and answers as SVC.predict does, which is given the first ones only
        loss = 100 * (_worst_accuracy(of_set, "svmpress full float64") - _worst_accuracy(of_set, "svmpress compressed"))
        at_most(f"{name}, compressed: accuracy lost on the test rows", 0.5, loss, "points")
        at_least(f"{name}, compressed: faster than SVC.predict", 300 if name == "letters" else 3000, svc, small)
        at_least(f"{name}, compressed: faster than scikit-learn-intelex", 100, fast, small)

    for call in ("predict", "decision_function"):
        seconds = _seconds(records, f"svmpress {call}", part="one row")
        at_most(f"one row, d = 10, m = 50: {call}", 10, 1e6 * seconds, "µs")
    for name in sets:
        where = {"part": "data set", "set": name}
        svc, mine = (_seconds(records, who, "one_row", **where) for who in ("SVC.predict", "svmpress compressed"))
        at_least(f"one row of {name}, compressed: faster than SVC.predict on its full model", 20, svc, mine)
    return found


def _shapes(records: Records) -> list[tuple[int, int]]:
    return sorted({(r["d"], r["m"]) for r in records if r["part"] == "kernel value"})


def _worst_accuracy(records: Records, who: str) -> float:
    return min((r["accuracy"] for r in records if r["who"].startswith(who)), default=float("nan"))


def table(records: Records, sets: list[str]) -> str:
    """Return the figures as a Markdown table."""
    lines = ["| figure | goal | measured | |", "|---|---|---|---|"]
    lines += [
        f"| {f.what} | {f.goal} | {f.value} | {'reached' if f.reached else '**missed**'} |"
        for f in figures(records, sets)
    ]
    return "\n".join(lines)


def page(records: Records, sets: list[str]) -> str:
    """Return docs/speed.md."""
    first = records[0]
    versions = ", ".join(f"{name} {version}" for name, version in first["versions"].items())
    lines = [
        "# Speed of predictions",
        "",
        "Written by `python benchmarks/predict.py --data DIR` from the last run in `benchmarks/results/predict.jsonl`;",
        "how it measures is in its docstring. Ratios are of times in one run, best of all rounds. The full model is",
        "compared in float64, where its labels equal those of `SVC.predict`; in float32 a row whose decision value is",
        "zero to rounding can fall on the other side.",
        "",
        f"- machine: {first['machine']}",
        f"- predictor: {first['predictor']}",
        f"- Python {first['python']}, {versions}",
        f"- run: {first['run']}",
        "",
        "## Figures to reach",
        "",
        table(records, sets),
        "",
    ]
    for name in sets:
        lines += _section(name, [r for r in records if r.get("set") == name])
    lines += ["## One kernel value, one thread", ""]
    lines += ["| d | m | svmpress, ns | float32 NumPy in blocks, ns |", "|---|---|---|---|"]
    for d, m in _shapes(records):
        mine, theirs = (_seconds(records, who, part="kernel value", d=d, m=m) for who in ("svmpress", "NumPy"))
        lines.append(f"| {d} | {m:,} | {1e9 * mine:.3f} | {1e9 * theirs:.3f} |")
    return "\n".join(lines) + "\n"


def _section(name: str, records: Records) -> list[str]:
    """Return the lines on one data set."""
    measured = [r for r in records if r["part"] == "data set"]
    if not measured:
        return []
    lines = [f"## {name}, d = {measured[0]['d']}", ""]
    lines += ["| | vectors | outputs | rows | µs a row | µs for one row alone | accuracy | labels as SVC.predict |"]
    lines += ["|---|---|---|---|---|---|---|---|"]
    for r in measured:
        times = f"{1e6 * r['seconds']:.4g} | {1e6 * r['one_row']:.4g}"
        shares = f"{r['accuracy']:.2%} | {r['agreement']:.2%}"
        lines.append(f"| {r['who']} | {r['m']:,} | {r['outputs']} | {r['rows']:,} | {times} | {shares} |")
    lines += [""]
    for r in records:
        if r["part"] == "missing":
            lines += [f"Not installed and left out: {r['who']}.", ""]
    return lines
