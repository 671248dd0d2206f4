"""``svmpress report``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from svmpress.cli.columns import add_files, files_of
from svmpress.cli.common import (
    Report,
    add_command,
    add_data_arguments,
    bars,
    format_bytes,
    refuse_same_file,
    refuse_unwritable,
    table,
)
from svmpress.cli.compress_sizes import command_line, rows_of
from svmpress.cli.models import add_model_arguments, load_model

_EPILOG = """\
One file of HTML that fetches nothing. It can be read and printed without JavaScript; with it, a slider shows one
size at a time. With --source and --data the models are compared on these rows, best on rows that the source has
not seen; of many rows 20,000 are drawn at random, and the page says so.

examples:
  svmpress report small.model --source big.model --data test.svm -o report.html
  svmpress report small-5.model small-10.model --source big.model --data test.svm -o report.html --image 28x28
"""


def add(commands: Any) -> None:
    """Declare the command."""
    p = add_command(
        commands,
        "report",
        run,
        usage="MODEL [MODEL ...] -o FILE [--source BIG] [--data DATA ...] [options]",
        help="Write a page to look at about small models and their source.",
        epilog=_EPILOG,
    )
    p.add_argument("models", metavar="MODEL", nargs="+", help="small model files, one for each size")
    p.add_argument("-o", "--output", metavar="FILE", required=True, help="file to write, HTML")
    p.add_argument("--source", metavar="BIG", help="the model that they were made of")
    add_files(p, "rows to compare on", option="--data")
    p.add_argument("--image", metavar="HxW", help="features are the pixels of a picture: 28x28")
    p.add_argument("--title", metavar="TEXT", default="", help="heading of the page")
    add_model_arguments(p)
    add_data_arguments(p, split="test")


def run(args: argparse.Namespace) -> Report:
    """Load the models, compare them, and write the page."""
    from svmpress.compression import Subject, write_page
    from svmpress.errors import InputError

    if args.data is not None and args.source is None:
        raise InputError("rows are for comparing with the source: name it with --source")
    refuse_same_file(args.output, *args.models, args.source, *files_of(args.data))
    refuse_unwritable(args.output)
    models = [load_model(args, path) for path in args.models]
    source = None if args.source is None else load_model(args, args.source, ranges=False)
    X = y = None
    if source is not None:
        with bars(args) as progress:
            source, X, y = rows_of(args, source, args.data, "test", progress)
        source = source.widened(max(m.n_features for m in (source, *models)))
        models = [m.widened(source.n_features) for m in models]
        X = X if X is None else _widened(X, source.n_features)
    subjects = [Subject(model) for model in models]
    write_page(args.output, source, subjects, X, y, image=args.image, title=args.title, command=command_line())
    size = Path(args.output).stat().st_size
    facts = {"output": args.output, "file_bytes": size, "sizes": [m.n_vectors for m in models]}
    return Report(facts, table({"written to": args.output, "size": format_bytes(size)}))


def _widened(X: Any, n_features: int) -> Any:
    from svmpress.numerics import arrays

    return X if X.shape[1] == n_features else arrays.widen(X, n_features)
