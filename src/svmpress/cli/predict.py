"""``svmpress predict``."""

from __future__ import annotations

import argparse
import time
from typing import Any

from svmpress.cli.common import Report, add_command, add_data_arguments, bars, data_choices, refuse_same_file
from svmpress.cli.streams import output

_EPILOG = """\
The file is read, answered and written in blocks, so it may be larger than memory. Labels in it are
ignored. Numbers are written with 17 digits, as svm-predict does.

examples:
  svmpress predict small.model test.svm -o labels.txt
  svmpress predict small.svmpress measurements.parquet > labels.txt
  svmpress predict small.model test.svm --scores -o scores.txt
  zcat big.svm.gz | svmpress predict small.model - -o labels.txt
"""


def add(commands: Any) -> None:
    """Declare the command."""
    p = add_command(
        commands,
        "predict",
        run,
        usage="MODEL DATA [-o FILE] [options]",
        help="Predict the rows of a data file: one label a line, as svm-predict writes them.",
        epilog=_EPILOG,
    )
    p.add_argument("model", metavar="MODEL", help="model file")
    p.add_argument("data", metavar="DATA", help="data file, with or without labels; - is standard input")
    p.add_argument("-o", "--output", metavar="FILE", help="file to write (default: standard output, as is -)")
    p.add_argument("--scores", action="store_true", help="write decision values instead of labels")
    add_data_arguments(p, split="test")


def run(args: argparse.Namespace) -> Report:
    """Predict, write, and say how fast."""
    from svmpress import formats
    from svmpress.data import streaming
    from svmpress.errors import InputError

    to_stdout = args.output in (None, "-")
    if args.json and to_stdout:
        raise InputError("--json describes the run on standard output, so the labels need a file: give -o FILE")
    if not to_stdout:
        refuse_same_file(args.output, args.model, args.data)
    model = formats.load(args.model)
    options = streaming.read_options(model, **({"labels": None} | data_choices(args)))
    rows, busy, start = 0, 0.0, time.perf_counter()
    with output(args.output) as file, bars(args) as progress:
        for part in streaming.predict_file(model, args.data, options, scores=args.scores, progress=progress):
            file.write(streaming.as_lines(part.values).encode("utf-8", "surrogatepass"))
            rows, busy = rows + len(part.values), busy + part.seconds
        file.flush()
    took = time.perf_counter() - start
    facts = {
        "output": args.output,
        "rows": rows,
        "seconds": took,
        "seconds_predicting": busy,
        "rows_per_second": rows / took,
    }
    text = f"{rows:,} rows in {took:.2f} s, {rows / took:,.0f} rows/s ({busy:.2f} s of it predicting)"
    return Report(facts, text, to_stderr=to_stdout)
