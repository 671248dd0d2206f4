"""``svmpress compress --sizes``: several sizes, a file each; and the page about what came out."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from svmpress.cli.common import Report, data_choices, layout_of, refuse_shared_outputs, refuse_unwritable, remark, table
from svmpress.errors import InputError


def sizes(text: str) -> list[int] | str:
    """Return numbers of vectors, or "auto".

    Examples
    --------
    >>> sizes("5,10")
    [5, 10]
    """
    if text == "auto":
        return text
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers such as 5,10,20; or auto") from None


def rows_of(
    args: argparse.Namespace, source: Any, names: list[str] | None, split: str, progress: Any
) -> tuple[Any, Any, Any]:
    """Return the source, widened if need be, and the rows and labels of data files; None without any."""
    from svmpress import data
    from svmpress.data import streaming

    if names is None:
        return source, None, None
    options = streaming.read_options(source, labels=None, default_split=split)
    rows = data.read(names, options, progress=progress, **data_choices(args))
    source, X = streaming.fit_columns(source, rows.X, elastic=rows.elastic)
    y = None if rows.y is None else data.labels_like(rows.y, source.classes_)
    return source, streaming.prepared(source, X), y


@contextlib.contextmanager
def training_rows(args: argparse.Namespace, source: Any, progress: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Give the source, widened if need be, and the rows and labels of the data file; on disk where they are many."""
    from svmpress.compression import rows_of_file
    from svmpress.data import streaming

    if args.data is None:
        yield source, None, None
        return
    options = streaming.read_options(source, **({"labels": None, "default_split": "train"} | data_choices(args)))
    with rows_of_file(source, args.data, options, progress=progress) as given:
        yield given


def refuse_page(args: argparse.Namespace) -> None:
    """Raise an error, before the work begins, if the page cannot be written or its options have no page."""
    if args.report is None:
        if args.image or (args.test and args.sizes is None):
            raise InputError("--image and --test are for a page: name it with --report")
        return
    refuse_shared_outputs(args.report, args.output)
    refuse_unwritable(args.report)


def write_page(args: argparse.Namespace, result: Any, source: Any) -> None:
    """Write the page that the arguments ask for, if any, about a result or several."""
    if args.report is not None:
        _, X, y = rows_of(args, source, args.test, "test", None)
        result.report(args.report, X, y, image=args.image, command=command_line())


def command_line() -> str:
    """Return the command as it was given."""
    return shlex.join(["svmpress", *sys.argv[1:]])


def run_sizes(args: argparse.Namespace, form: str, source: Any, X: Any, y: Any, progress: Any) -> Report:
    """Compress to several sizes, and write a file for each."""
    from dataclasses import asdict

    from svmpress import formats
    from svmpress.compression import compress_path

    if args.max_seconds is not None:
        raise InputError("--max-seconds is for one size")
    _, X_test, y_test = rows_of(args, source, args.test, "test", progress)
    path = compress_path(
        source,
        X,
        y,
        sizes=args.sizes,
        X_test=X_test,
        y_test=y_test,
        method=args.method,
        effort=args.effort,
        layout=layout_of(args, form),
        device=args.device,
        random_state=args.seed,
        progress=progress,
    )
    whole, written = Path(args.output), {}
    for result in path:
        m = result.model.n_vectors
        file = whole.with_name(f"{whole.stem}-{m}{whole.suffix}")
        formats.save(result.model, file, form)
        written[m] = str(file)
        for warning in result.warnings:
            remark(args, f"warning: {m} vectors: {warning}")
    if args.report is not None:
        path.report(args.report, X_test, y_test, image=args.image, command=command_line())
    facts = {
        "outputs": written,
        "report": args.report,
        "seconds": path.seconds,
        "sizes": [asdict(m) for m in path.measured],
        "source": None if path.source_measured is None else asdict(path.source_measured),
        "expected": [None if r.expected is None else asdict(r.expected) for r in path],
    }
    return Report(
        facts, f"{path.summary()}\n{table({'written to': ', '.join(written.values()), 'report': args.report})}"
    )
