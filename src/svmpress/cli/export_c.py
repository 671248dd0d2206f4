"""``svmpress export --target c``: a model as C code for a microcontroller."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from svmpress.cli.common import Report, bars, remark, table
from svmpress.cli.export_whole import accuracy_of, rows_of, settle
from svmpress.cli.models import load_model
from svmpress.errors import InputError

SUFFIXES = ()
"""C code is a folder, whatever its name."""

EPILOG = """\
With --target c the output is a folder: svm.h, svm.c, a self-test, a README, and an Arduino sketch.
With --data, rows like those that the device will see, coefficients are solved again for the rounded
vectors; with their labels, vectors are fine-tuned, too. --max-flash compresses the model first.
"""


def run(args: argparse.Namespace) -> Report:
    """Write the folder, and say what it takes and what it answers."""
    from svmpress import exports

    if args.format is not None:
        raise InputError("--format is for files; --target c writes a folder")
    if args.span is not None:
        raise InputError("--span is for a page to try the model in: let the name of the output end in .html")
    settle(args)
    if args.measure and exports.missing(args.measure):
        raise InputError(f"--measure {args.measure} needs {', '.join(exports.missing(args.measure))}")
    source = load_model(args, args.model)
    with bars(args) as progress:
        X, y = rows_of(args, args.data, source, progress, "train")
        X_test, y_test = rows_of(args, args.test, source, progress, "test", may_choose=args.data is None)
        model = source
        if args.max_flash is not None:
            model = _within_flash(args, source, X, y, progress)
        done = exports.export_c(
            model, args.output, X, y, weights=args.weights, coef=args.coef, max_flash=args.max_flash,
            input=args.input, image=args.image, pool=args.pool, augment=args.augment, prefix=args.prefix,
            random_state=args.seed, progress=progress,
        )  # fmt: skip
        measured = None
        if args.measure:
            if progress is not None:
                progress(f"on {args.measure}", 0, 1)
            measured = exports.measure(args.output, args.measure, prefix=args.prefix)
    facts: dict[str, Any] = {
        "output": args.output,
        "files": list(done.files),
        "weights": args.weights,
        "vectors": done.model.n_vectors,
        "outputs": done.model.n_outputs,
        "number_bytes": done.number_bytes,
        "accuracy": None if X_test is None else accuracy_of(done.model, X_test, y_test),
        "accuracy_of_model": None if X_test is None else accuracy_of(source, X_test, y_test, args),
        "measured": None if measured is None else asdict(measured),
    }
    if X is None and args.weights != "float" and not args.quiet:
        remark(args, "note: without --data numbers are only rounded; rows let coefficients make up for that")
    return Report(facts, _text(facts))


def _within_flash(args: argparse.Namespace, source: Any, X: Any, y: Any, progress: Any) -> Any:
    """Return the model compressed to the bytes that are there, for pooled rows where there is pooling."""
    import warnings

    from svmpress import exports
    from svmpress.compression import compress
    from svmpress.errors import SvmpressWarning

    if args.pool > 1 and args.image is not None:
        source, X = exports.pooled(source, X, args.image, args.pool)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SvmpressWarning)
        result = compress(
            source, X, y, max_flash=args.max_flash, weights=args.weights, coef=args.coef, random_state=args.seed,
            progress=progress,
        )  # fmt: skip
    for warning in result.warnings:
        remark(args, f"warning: {warning}")
    return result.model


def _text(facts: dict[str, Any]) -> str:
    m = facts["measured"]
    lines: dict[str, Any] = {
        "written to": facts["output"],
        "files": ", ".join(facts["files"]),
        "vectors": f"{facts['vectors']:,} of {facts['weights']}, {facts['outputs']} outputs",
        "numbers": f"{facts['number_bytes']:,} bytes",
    }
    if facts["accuracy"] is not None:
        lines["test accuracy"] = f"{facts['accuracy']:.2%} (the model: {facts['accuracy_of_model']:.2%})"
    if m is not None:
        count = "cycles" if m["milliseconds"] is not None else "instructions"
        time = "" if m["milliseconds"] is None else f" ({m['milliseconds']:.1f} ms)"
        lines["on " + m["device"]] = (
            f"flash {m['flash']:,} bytes, RAM {m['ram']:,} bytes, {m['cycles']:,} {count}{time} a row; "
            f"{m['rows'] - m['wrong']} of {m['rows']} rows as expected"
        )
    return table(lines)
