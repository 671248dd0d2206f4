"""The records of ``benchmarks/ablation.py`` as ``docs/decisions.md``."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

Cell = tuple[str, float, int]
Losses = dict[Cell, float]

MASKED = "libsvm layout"
"""Variants in which each vector belongs to a class; on sets of more than two."""

INTRODUCTION = """\
# Decisions and their evidence

What the default method decides, and what each decision is worth. Written by `python benchmarks/ablation.py --page` from
`benchmarks/results/ablation.jsonl`; the words are those of the glossary in [architecture.md](architecture.md).

A compression starts from the plain copy of its source. *Candidates* propose changes; held-out rows decide. A candidate
stays in the product if leaving it out costs accuracy on sets that had no part in making it. *before* is the method with
five hand-written searches that the tournament replaced, run on the same cells.
"""


def read(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the records of a file by variant, the last one of each cell."""
    last = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        r = json.loads(line)
        last[r["variant"], r["set"], r["ratio"], r["seed"]] = r
    found = defaultdict(list)
    for (variant, *_), r in last.items():
        found[variant].append(r)
    return found


def losses(records: list[dict[str, Any]]) -> Losses:
    """Return the points lost in each cell."""
    return {(r["set"], r["ratio"], r["seed"]): 100 * (r["score_full"] - r["score"]) for r in records}


def by_set(of: Losses) -> dict[str, float]:
    """Return the mean of each set."""
    return {name: fmean(v for k, v in of.items() if k[0] == name) for name in sorted({k[0] for k in of})}


def gain(with_it: Losses, without: Losses) -> tuple[float, float, dict[str, tuple[float, float]]]:
    """Return what a candidate gains: the mean, its standard error, and both for each set."""
    both = sorted(set(with_it) & set(without))
    each = {k: without[k] - with_it[k] for k in both}
    values = np.array(list(each.values()))
    sets = {}
    for name in sorted({k[0] for k in both}):
        own = np.array([v for k, v in each.items() if k[0] == name])
        sets[name] = (float(own.mean()), float(own.std() / np.sqrt(len(own))))
    return float(values.mean()), float(values.std() / np.sqrt(len(values))), sets


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _of_sizes(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    ratios = sorted({r["ratio"] for r in found["auto"]})
    heads = ["variant", *(f"{100 * q:g} %" for q in ratios), "all sizes", "median seconds", "models"]
    lines = [_row(heads), "|---" * len(heads) + "|"]
    for variant, records in found.items():
        of = losses(records)
        cells = [f"{fmean([v for k, v in of.items() if k[1] == q] or [float('nan')]):.2f}" for q in ratios]
        seconds = median(r["seconds"] for r in records)
        lines.append(_row([variant, *cells, f"**{fmean(of.values()):.2f}**", f"{seconds:.2f}", str(len(of))]))
    return lines


def _of_candidates(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    heads = [
        "candidate",
        "gains, mean ± standard error",
        "best set",
        "worst set",
        "adopted in",
        "costs, median seconds",
    ]
    lines = [_row(heads), "|---" * len(heads) + "|"]
    for variant, records in found.items():
        if "without " not in variant:
            continue
        beside = found[MASKED if variant.startswith(MASKED) else "auto"]
        with_all, seconds = losses(beside), median(r["seconds"] for r in beside)
        name = variant.partition("without ")[2]
        mean, error, sets = gain(with_all, losses(records))
        best, worst = max(sets, key=lambda s: sets[s][0]), min(sets, key=lambda s: sets[s][0])
        tried = [d for r in beside for d in r["decisions"] if d["candidate"] == name]
        adopted = f"{sum(d['adopted'] for d in tried)} of {len(tried)}"
        ends = [f"{s} {sets[s][0]:+.2f} ± {sets[s][1]:.2f}" for s in (best, worst)]
        costs = seconds - median(r["seconds"] for r in records)
        where = f" ({MASKED})" if beside is not found["auto"] else ""
        lines.append(_row([name + where, f"{mean:+.2f} ± {error:.2f}", *ends, adopted, f"{costs:+.2f}"]))
    return lines


def _of_sets(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    names = sorted({r["set"] for r in found["auto"]})
    lines = [_row(["variant", *names]), "|---" * (len(names) + 1) + "|"]
    for variant, records in found.items():
        means = by_set(losses(records))
        lines.append(_row([variant, *(f"{means[n]:+.2f}" if n in means else "" for n in names)]))
    return lines


def _agreement_of_seeds(found: dict[str, list[dict[str, Any]]]) -> str:
    targets = defaultdict(set)
    for r in found["auto"]:
        chosen = any(d["candidate"] == "labels" and d["adopted"] for d in r["decisions"])
        targets[r["set"], r["ratio"]].add(chosen)
    same = sum(len(v) == 1 for v in targets.values())
    return f"All seeds choose the same target (the source's values or labels) in {same} of {len(targets)} cells."


def page(path: Path) -> str:
    """Return ``docs/decisions.md``."""
    found = read(path)
    first = ["before", "auto", "fast", "copies", "model alone", MASKED]
    order = [*first, *sorted(v for v in found if v not in first)]
    found = {v: found[v] for v in order if v in found}
    some = found["auto"]
    sets, seeds = sorted({r["set"] for r in some}), sorted({r["seed"] for r in some})
    return "\n".join(
        [
            INTRODUCTION,
            f"Sets: {', '.join(sets)}; {len(seeds)} seeds. Points of test accuracy lost against the full SVM: less is",
            "better, negative is better than the full SVM.",
            "",
            "## By size",
            "",
            *_of_sizes(found),
            "",
            "## Each candidate left out alone",
            "",
            "What it gains is what leaving it out costs, on the same cells.",
            "",
            *_of_candidates(found),
            "",
            _agreement_of_seeds(found),
            "",
            "## By set",
            "",
            *_of_sets(found),
            "",
            (path.parents[1] / "decisions_notes.md").read_text(encoding="utf-8"),
        ]
    )
