"""The figures of ``docs/scale-compress.md``, and its plan for more rows and workers, from the last records.

python benchmarks/scale_compress_report.py
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import journal
from scale_compress import RECORDS

PAGE = Path(__file__).parents[1] / "docs" / "scale-compress.md"
ROWS, WORKERS, PARTITIONS = 1e9, 100, 1000
STEPS, EVALUATIONS = 3, 5
"""Steps on all rows at least, and about how often a line search then asks for value and slopes."""
LINK = 1e9
"""Bytes that a network moves in a second."""


def latest() -> dict[str, dict[str, Any]]:
    """Return the last record of each part."""
    return {record["part"]: record for record in journal.read(RECORDS)}


def figures(found: dict[str, dict[str, Any]]) -> list[str]:
    """Say what was measured."""
    lines = []
    if "out of core" in found:
        r = found["out of core"]
        lines.append(
            f"- **A file of {r['rows']:,} rows and {r['features']} features** (Parquet, "
            f"{r['bytes_of_file'] / 1e9:.1f} GB), "
            f"{r['source_vectors']:,} vectors to {r['vectors']}: "
            f"{r['bytes_of_memory'] / 2**30:.2f} GiB of memory at most, "
            f"{r['seconds']:.0f} s with {r['threads']} threads. Agreement with the source: "
            f"{r['agreement']:.4f}. {_where(r)}"
        )
    if "shards" in found:
        r = found["shards"]
        one, many = (r["cpu_seconds"][name] for name in ("one process", "shards"))
        wall = [r["seconds"][name] for name in ("one process", "shards")]
        lines.append(
            f"- **{r['workers']} shards against one process**, {r['rows']:,} rows, {r['threads']} threads in all: "
            f"{wall[1]:.0f} s against {wall[0]:.0f} s, {r['ratio_of_seconds']:.2f} times; "
            f"{many:.0f} s of processor against "
            f"{one:.0f} s, {r['ratio_of_cpu_seconds']:.2f} times. Decision values differ by "
            f"{r['difference']:.0e} of the "
            f"largest. {_where(r)}"
        )
    if "constants" in found:
        r = found["constants"]
        lines += ["", "One evaluation (value and slopes, two passes), on 4 workers, in seconds:", ""]
        lines += ["| rows, partitions | wall | processors |", "|---|---|---|"]
        for name, seconds in r["seconds_of_a_step"].items():
            lines.append(f"| {name} | {seconds:.2f} | {r['cpu_seconds_of_a_step'][name]:.2f} |")
        lines += ["", _where(r)]
    return lines


def _where(r: dict[str, Any]) -> str:
    return f"({r['cores']} cores; other work on the machine: load {r['load']:.0f}.)"


def plan(found: dict[str, dict[str, Any]]) -> list[str]:
    """Return a plan on paper from what was measured."""
    r = found.get("constants")
    if r is None:
        return []
    cpu = r["cpu_seconds_of_a_step"]
    sizes = sorted({int(name.split()[0]) for name in cpu})
    counts = sorted({int(name.split()[2]) for name in cpu})
    small = {count: cpu[f"{sizes[0]} rows, {count} partitions"] for count in counts}
    task = (small[counts[-1]] - small[counts[0]]) / (counts[-1] - counts[0])
    row = (cpu[f"{sizes[1]} rows, {counts[0]} partitions"] - small[counts[0]]) / sizes[1]
    compute, schedule = row * ROWS / WORKERS, task * PARTITIONS
    back = r["bytes_back_of_a_partition"]
    source = r["microseconds_of_the_source_a_row"] * 1e-6 * ROWS / WORKERS
    sample = 2**20 * 4 * r["features"]
    most = (row * ROWS / (task * PARTITIONS / WORKERS)) ** 0.5
    return [
        "| | measured | for the plan |",
        "|---|---|---|",
        f"| one evaluation, a row | {row * 1e9:.0f} ns of a processor | {compute:.1f} s on each worker |",
        f"| the same, a partition | {task * 1e3:.1f} ms of scheduler, client and worker | "
        f"{schedule:.1f} s, not divided |",
        f"| sums of an evaluation | {back:,} bytes a partition | {back * PARTITIONS / 1e6:.0f} MB between workers, "
        f"{back / 1e3:.0f} kB to the client |",
        f"| the source's values, once | {r['microseconds_of_the_source_a_row']:.2f} µs a row | "
        f"{source:.0f} s on each worker |",
        f"| the sample, once | | {sample / 1e6:.0f} MB to the client, {sample / LINK:.1f} s at 1 GB/s |",
        "",
        f"At least {STEPS} steps are about {EVALUATIONS} evaluations: "
        f"{EVALUATIONS * (compute + schedule):.0f} s, of which "
        f"{EVALUATIONS * schedule:.0f} s are the scheduler's; with the source's values "
        f"{source:.0f} s more, and the choices on "
        "the sample, which take what they take on one machine, minutes. The rows must come "
        "from somewhere: at 1 GB/s a worker "
        f"reads its {ROWS / WORKERS * 4 * r['features'] / 1e9:.1f} GB in "
        f"{ROWS / WORKERS * 4 * r['features'] / LINK:.0f} s.",
        "",
        f"**Where it stops to scale.** With {PARTITIONS // WORKERS} partitions a worker, the "
        f"scheduler takes as long as the "
        f"workers from about {most:.0f} workers on. Larger partitions move that: with one a worker it is about "
        f"{most * (PARTITIONS / WORKERS) ** 0.5:.0f}. Many vectors and classes move it the "
        f"other way for bytes: sums grow with "
        "8 m² a partition and group, 80 kB for 100 vectors and 2 MB for 500.",
    ]


def main() -> None:
    found, text = latest(), PAGE.read_text(encoding="utf-8")
    for name, lines in (("figures", figures(found)), ("plan", plan(found))):
        body = "\n".join(lines)
        pattern = rf"<!-- {name} -->.*?<!-- /{name} -->"
        text = re.sub(pattern, lambda _, n=name, b=body: f"<!-- {n} -->\n{b}\n<!-- /{n} -->", text, flags=re.DOTALL)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
