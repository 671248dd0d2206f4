"""``svmpress demo``."""

from __future__ import annotations

import argparse
from typing import Any

from svmpress.cli.common import Report, add_command, bars

_EPILOG = """\
Trains an SVM on data that comes with scikit-learn, compresses it, compares the two on held-out rows,
writes the small model as a LibSVM file, for the web, for onnxruntime (the extra onnx) and as C code for a
microcontroller, and draws Figure 2 of the paper (the extra plots). About a minute; no network.

examples:
  svmpress demo
  svmpress demo --out somewhere
"""


def add(commands: Any) -> None:
    """Declare the command."""
    p = add_command(
        commands,
        "demo",
        run,
        usage="[--out DIR] [options]",
        help="Show in a minute what svmpress does, on data that comes with scikit-learn.",
        epilog=_EPILOG,
    )
    p.add_argument("--out", metavar="DIR", default="demo", help="folder for the files (default: demo)")
    p.add_argument("--no-figure", action="store_true", help="leave out the figure")


def run(args: argparse.Namespace) -> Report:
    """Run the demonstration."""
    from svmpress.cli.demonstration import demo

    with bars(args) as progress:
        result = demo(args.out, figure=not args.no_figure, progress=progress)
    return Report(result.facts(), result.text())
