"""``svmpress export --target c``: a model as C code for a microcontroller."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

import numpy as np

from svmpress.cli.columns import add_files
from svmpress.cli.common import (
    Report,
    add_data_arguments,
    bars,
    data_choices,
    number_of_bytes,
    remark,
    table,
)
from svmpress.cli.models import load_model
from svmpress.errors import InputError

SUFFIXES = ()
"""C code is a folder, whatever its name."""

_DEFAULTS = {
    "data": None,
    "test": None,
    "weights": "int8",
    "coef": "int16",
    "max_flash": None,
    "input": "float",
    "pool": 1,
    "augment": 0,
    "prefix": "svm",
    "measure": None,
    "seed": 0,
}

EPILOG = """\
With --target c the output is a folder: svm.h, svm.c, a self-test, a README, and an Arduino sketch.
With --data, rows like those that the device will see, coefficients are solved again for the rounded
vectors; with their labels, vectors are fine-tuned, too. --max-flash compresses the model first.
"""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Declare what is for C code alone."""
    group = p.add_argument_group("C code (--target c)")
    add_files(group, "rows to quantise with; with labels, also to fine-tune on", option="--data")
    add_files(group, "rows with labels to compare the code with the model on", option="--test")
    group.add_argument(
        "--weights",
        choices=("float", "int16", "int8", "int4"),
        help="the numbers of the vectors (default: int8)",
    )
    group.add_argument(
        "--coef",
        choices=("int16", "int8"),
        help="the coefficients (default: int16)",
    )
    group.add_argument(
        "--max-flash",
        type=number_of_bytes,
        metavar="SIZE",
        help="compress to so many bytes of numbers: 14k",
    )
    group.add_argument("--input", choices=("float", "uint8"), help="what a feature is (default: float)")
    group.add_argument("--pool", type=int, metavar="N", help="use means of N x N pixels (default: 1)")
    group.add_argument("--augment", type=int, metavar="N", help="fine-tune on images shifted by up to N pixels")
    group.add_argument("--prefix", metavar="NAME", help="prefix of all names and files (default: svm)")
    group.add_argument(
        "--measure", metavar="DEVICE", help="run on a simulated device: uno, microbit, m3, m4 or m7, if it is installed"
    )
    group.add_argument("--seed", type=int, metavar="N", help="seed of the random choices (default: 0)")
    group.set_defaults(**_DEFAULTS)
    add_data_arguments(p, split="train")


def options(args: argparse.Namespace) -> list[str]:
    """Return the options for C code that were given."""
    return [f"--{name.replace('_', '-')}" for name, default in _DEFAULTS.items() if getattr(args, name) != default]


def image_size(text: str) -> tuple[int, int]:
    """Return the height and width that a text says."""
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(p.isdigit() for p in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not a height and a width, such as 28x28")
    return int(parts[0]), int(parts[1])


def run(args: argparse.Namespace) -> Report:
    """Write the folder, and say what it takes and what it answers."""
    from svmpress import exports

    if args.format is not None:
        raise InputError("--format is for files; --target c writes a folder")
    if args.measure and exports.missing(args.measure):
        raise InputError(f"--measure {args.measure} needs {', '.join(exports.missing(args.measure))}")
    source = load_model(args, args.model)
    with bars(args) as progress:
        X, y = _rows(args, args.data, source, progress, "train")
        X_test, y_test = _rows(args, args.test, source, progress, "test")
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
        "accuracy": None if X_test is None else _accuracy(done.model, X_test, y_test),
        "accuracy_of_model": None if X_test is None else _accuracy(source, X_test, y_test, args),
        "measured": None if measured is None else asdict(measured),
    }
    if X is None and args.weights != "float" and not args.quiet:
        remark(args, "note: without --data numbers are only rounded; rows let coefficients make up for that")
    return Report(facts, _text(facts))


def _rows(args: argparse.Namespace, names: list[str] | None, source: Any, progress: Any, split: str) -> tuple[Any, Any]:
    """Return rows as the device gets them, and their labels."""
    from svmpress import data
    from svmpress.data import streaming
    from svmpress.numerics import arrays

    if names is None:
        return None, None
    wanted = source.n_features if args.image is None else args.image[0] * args.image[1]
    changes = {"n_features": wanted, "default_split": split} | data_choices(args)
    if wanted != source.n_features:  # pixels, which have no names
        changes["feature_names"] = None
    if args.split:
        changes["split"] = split
    rows = data.read(names, streaming.read_options(source, **changes), progress=progress)
    X = rows.X
    if rows.elastic and X.shape[1] < wanted:
        X = arrays.widen(X, wanted)
    if wanted == source.n_features:
        source, X = streaming.fit_columns(source, X, elastic=rows.elastic)
    y = None if rows.y is None or source.task == "outlier" else data.labels_like(rows.y, source.classes_)
    return np.asarray(arrays.dense(X)), y


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


def _accuracy(model: Any, X: Any, y: Any, args: argparse.Namespace | None = None) -> float | None:
    """Return the share of right answers, or R² of a regressor."""
    if y is None:
        return None
    if args is not None and args.image is not None and model.n_features != X.shape[1]:
        from svmpress import exports

        _, X = exports.pooled(model, X, args.image, args.pool)
    answers = model.predict(X)
    if model.classes_ is not None:
        return float(np.mean(answers == y))
    return float(1 - np.mean((answers - y) ** 2) / max(np.var(y), 1e-300))


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
