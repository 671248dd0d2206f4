"""``svmpress predict --workers`` and ``--dask``: a folder of Parquet parts, made by several processes or machines."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from svmpress.cli.common import Report, bars, remark
from svmpress.errors import InputError

if TYPE_CHECKING:
    from svmpress.data import ReadOptions, streaming
    from svmpress.model import KernelModel


def check_cluster_arguments(args: argparse.Namespace, files: Sequence[str]) -> None:
    """Refuse what several processes cannot do, before any of them is started."""
    if args.workers is not None and args.workers < 1:
        raise InputError(f"--workers is a number of processes, 1 or more, not {args.workers}")
    if args.output in (None, "-"):
        raise InputError("several workers write a folder of Parquet files: give -o FOLDER")
    if Path(args.output).suffix and not os.path.isdir(args.output):
        raise InputError(f"several workers write a folder, and {args.output} has the name of a file: give -o FOLDER")
    if "-" in files:
        raise InputError("workers cannot read standard input of this process: name files of rows")


def predict_on_cluster(
    args: argparse.Namespace,
    model: KernelModel,
    files: Sequence[str],
    options: ReadOptions,
    question: streaming.Question,
) -> Report:
    """Predict files on a cluster, and say what was done."""
    from svmpress.distributed import cluster, predict_files

    start = time.perf_counter()
    with cluster(args.dask, args.workers) as client:
        begun = time.perf_counter()
        with bars(args) as progress:
            done = predict_files(
                model, files, args.output, client, question=question, options=options, progress=progress
            )
        took = time.perf_counter() - begun
    for name in done.empty:
        remark(args, f"note: {name} has no rows, and no part")
    facts = {
        "output": args.output,
        "files": len(files),
        "parts": done.parts,
        "parts_skipped": done.skipped,
        "rows": done.rows,
        "seconds": time.perf_counter() - start,
        "seconds_predicting": done.seconds,
        "rows_per_second": done.rows / took,
    }
    text = f"{done.rows:,} rows in {took:.2f} s, {done.rows / took:,.0f} rows/s; {done.parts:,} parts in {args.output}"
    if done.skipped:
        text += f", of which {done.skipped:,} were there"
    return Report(facts, text)
