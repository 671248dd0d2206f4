"""``svmpress study``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from svmpress.cli.common import Report, add_command, bars, remark, table
from svmpress.errors import InputError

_EPILOG = """\
Data sets x methods x sizes x seeds: the paper's study (Figure 3, Table 1), and what people use today
beside it. Sets are NAME.npz in the folder that --data names, or come from OpenML if there is a network.
Every finished model is a line in OUT/study.jsonl; the same command goes on where a run was stopped.
Afterwards OUT/study.md and, with the extra plots, OUT/figures are written; --report does only that.

--quick keeps all sets and methods, with 400 training rows of each set, 200 to test, two sizes (2 and 10 %
of the vectors) and one seed. svmpress (auto, auto-libsvm) gets a thirtieth of its usual work and cvm 20
iterations for a machine instead of 400, so that the whole takes minutes: both can do better than that.

examples:
  svmpress study --data DIR --out study
  svmpress study --data DIR --out quick --quick
  svmpress study --data DIR --out study --sets magic,letters --methods auto,cvm --ratios 0.01,0.1
  svmpress study --data DIR --out study --jobs 16 --limit 1800
  svmpress study --data DIR --out study --renew
  svmpress study --out study --report
"""

_QUICK_LIMIT = 300.0
"""Seconds; far more than any model of a quick run takes, for a machine that is stuck."""


def _list(kind: Callable[[str], Any], what: str) -> Callable[[str], tuple[Any, ...]]:
    def parse(text: str) -> tuple[Any, ...]:
        try:
            return tuple(kind(part.strip()) for part in text.split(",") if part.strip())
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a list of {what}, with commas") from None

    return parse


def add(commands: Any) -> None:
    """Declare the command."""
    p = add_command(
        commands,
        "study",
        run,
        usage="[--data DIR] --out DIR [options]",
        help="Run the paper's study, and what people use today beside it.",
        epilog=_EPILOG,
    )
    p.add_argument("--data", metavar="DIR", help="folder with NPZ files (default: fetch the sets from OpenML)")
    p.add_argument("--out", metavar="DIR", required=True, help="folder for records, teachers, figures and the page")
    p.add_argument(
        "--sets",
        type=_list(str, "names"),
        metavar="LIST",
        help="data sets (default: those of the paper that are there)",
    )
    p.add_argument("--methods", type=_list(str, "names"), metavar="LIST", help="methods (default: all)")
    p.add_argument("--sizes", type=_list(int, "whole numbers"), metavar="LIST", help="numbers of vectors")
    p.add_argument(
        "--ratios",
        type=_list(float, "numbers"),
        metavar="LIST",
        help="shares of the support vectors (default of both: every 10 vectors up to 100, then a series, up to 0.2)",
    )
    p.add_argument("--seeds", type=_list(int, "whole numbers"), metavar="LIST", help="random states (default: 0,1,2)")
    p.add_argument("--rows", type=int, metavar="N", help="training rows of each set at most, drawn at random")
    p.add_argument("--quick", action="store_true", help="few rows, two sizes, one seed, less work: minutes in all")
    p.add_argument("--jobs", type=int, metavar="N", help="processes (default: one a core); each gets cores / N threads")
    p.add_argument(
        "--limit",
        type=float,
        metavar="SECONDS",
        help="give up on a model, or a path of models, after so long and record that",
    )
    p.add_argument(
        "--renew", action="store_true", help="run again what other code than the present made: one revision in the end"
    )
    p.add_argument(
        "--device",
        default="cpu",
        metavar="NAME",
        help="where svmpress compresses: cpu, or a device of torch such as cuda",
    )
    p.add_argument("--teachers", metavar="DIR", help="folder of trained SVMs (default: OUT/teachers)")
    p.add_argument("--no-figures", action="store_true", help="write no figures")
    p.add_argument("--report", action="store_true", help="run nothing: page and figures from the records in OUT")


def run(args: argparse.Namespace) -> Report:
    """Run what is missing, and report."""
    from svmpress.study import Records, publish, runner

    out = Path(args.out)
    records_path = out / runner.RECORDS
    if args.report:
        if not records_path.exists():
            raise InputError(f"there are no records in {out}: {records_path.name} is missing")
        records = Records.load(records_path)
    else:
        records = _run(args, out)
    with bars(args) as progress:
        command = f"svmpress study --out {out.name} --report"
        published = publish(records, out / "study.md", draw=not args.no_figures, command=command, progress=progress)
    if published.note:
        remark(args, published.note)
    return _report(records, records_path, published)


def _run(args: argparse.Namespace, out: Path) -> Any:
    from svmpress.numerics import Backend
    from svmpress.study import METHODS, QUICK_METHODS, on_device, runner

    Backend.of(args.device)  # says what is wrong with it before the first training
    methods = on_device(QUICK_METHODS if args.quick else METHODS, args.device)
    plan = _plan(args, methods)
    folder = Path(args.data) if args.data else None
    shows_bars = not args.quiet and (args.progress or sys.stderr.isatty())
    with bars(args) as progress:
        return runner.run(
            plan,
            {name: methods[name] for name in plan.methods},
            out,
            folder=folder,
            teachers=Path(args.teachers) if args.teachers else None,
            jobs=runner.cores() if args.jobs is None else args.jobs,
            renew=args.renew,
            limit=_QUICK_LIMIT if args.quick and args.limit is None else args.limit,
            progress=progress,
            say=None if shows_bars else lambda text: remark(args, text),
        )


def _plan(args: argparse.Namespace, methods: Any) -> Any:
    from svmpress.study import QUICK_RATIOS, QUICK_ROWS, Plan

    unknown = [name for name in args.methods or () if name not in methods]
    if unknown:
        raise InputError(f"unknown method {unknown[0]!r}; the study has {', '.join(methods)}")
    ratios, rows, seeds = args.ratios, args.rows, args.seeds
    if args.quick:
        ratios = QUICK_RATIOS if ratios is None and args.sizes is None else ratios
        rows = QUICK_ROWS if rows is None else rows
        seeds = (0,) if seeds is None else seeds
    return Plan(
        sets=_sets_there(args) if args.sets is None else args.sets,
        methods=tuple(methods) if args.methods is None else args.methods,
        seeds=(0, 1, 2) if seeds is None else seeds,
        sizes=args.sizes,
        ratios=ratios,
        rows=rows,
        quick=args.quick,
    )


def _sets_there(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the paper's sets that are to be had, and say which are not."""
    from svmpress.study import SETS, openml

    if args.data is None:
        there = tuple(name for name in SETS if name not in openml.NOT_TO_BE_HAD)
        where = "cannot be fetched: --data can name a folder that has them"
    else:
        there = tuple(name for name in SETS if (Path(args.data) / f"{name}.npz").is_file())
        where = f"are not in {args.data}"
    if not there:
        raise InputError(f"there is none of the paper's data sets ({', '.join(SETS)}) in {args.data} as NPZ files")
    missing = [name for name in SETS if name not in there]
    if missing:
        remark(args, f"left out, because they {where}: {', '.join(missing)}")
    return there


def _report(records: Any, path: Path, published: Any) -> Report:
    from svmpress.study import DONE, FAILED, SKIPPED, STYLES, UNFINISHED, curves, label, methods_of, points_of, sets_of

    counts = {s: sum(c.status == s for c in records.cells.values()) for s in (DONE, SKIPPED, UNFINISHED, FAILED)}
    found, names, methods = curves(records), sets_of(records), methods_of(records, tuple(STYLES))
    points = {m: {name: points_of(found, records, name, m, 0.1) for name in names} for m in methods}
    what = "at 10 % of the vectors"
    if not any(p for of in points.values() for p in of.values()):
        points = {m: {name: found.get((name, m), [None])[-1] for name in names} for m in methods}
        what = "at the largest size tried"
    lines = [f"{f'test accuracy {what}':40}" + "".join(f"{name:>12}" for name in names)]
    lines.append(f"  {'full SVM':38}" + "".join(f"{100 * records.sets[name].accuracy:>12.2f}" for name in names))
    for m, of in points.items():
        cells = ["" if p is None else f"{100 * p.accuracy:.2f}" for p in of.values()]
        lines.append(f"  {label(m):38}" + "".join(f"{cell:>12}" for cell in cells))
    shown = {m: {name: p.accuracy for name, p in of.items() if p is not None} for m, of in points.items()}
    files = {"records": str(path), "page": str(published.page)}
    if published.pictures:
        files["figures"] = f"{published.pictures[0].parent} ({len(published.pictures)} files)"
    tally = ", ".join(f"{n:,} {status}" for status, n in counts.items() if n)
    facts = {
        "cells": counts,
        "sets": {name: vars(records.sets[name]) for name in names},
        "accuracy": {"where": what, "methods": shown},
        "records": str(path),
        "page": str(published.page),
        "figures": [str(p) for p in published.pictures],
        "note": published.note,
    }
    return Report(facts, "\n".join([*lines, "", table({"cells": tally, **files})]))
