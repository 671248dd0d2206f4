"""``svmpress compress``."""

from __future__ import annotations

import argparse
import contextlib
import warnings
from dataclasses import asdict
from typing import Any

from svmpress.cli.columns import add_files, files_of
from svmpress.cli.common import (
    Report,
    add_command,
    add_data_arguments,
    add_output_arguments,
    bars,
    copies_remark,
    destination,
    layout_of,
    number_of_bytes,
    refuse_obstacles,
    remark,
    seconds,
    table,
)
from svmpress.cli.compress_sizes import refuse_page, run_sizes, sizes, training_rows, write_page
from svmpress.cli.models import add_model_arguments, load_model, refuse_foreign_ranges

_EPILOG = """\
Give at most one budget; without one, a tenth of the vectors is kept. With --data the small model is
fitted on those rows (unscaled, as the model gets them), without it on the support vectors alone.
Labels in the data, or values of a regression, help to judge and to fit; --no-labels leaves them out.
A file of any size is read once: rows beyond memory go to the folder of temporary files (TMPDIR).
With --sizes each size gets a file of its own: small-5.model, small-10.model, ...

examples:
  svmpress compress big.model -o small.model --ratio 0.1 --data train.svm
  svmpress compress big.model -o small.model --vectors 50
  svmpress compress big.svmpress -o small.svmpress --max-drop 0.005 --data train.csv
  svmpress compress big.model -o small.svmpress --max-bytes 64k --data train.npz
  svmpress compress big.svmpress -o small.svmpress --data monday.parquet tuesday.parquet --id sample
  svmpress compress big.model -o small.model --max-latency 20us --method paper
  svmpress compress big.model -o small.model --sizes 5,10,20,50 --data train.svm --test test.svm --report look.html
"""


def add(commands: Any) -> None:
    """Declare the command."""
    p = add_command(
        commands,
        "compress",
        run,
        usage="MODEL -o SMALL [--ratio R | --vectors N | ...] [--data DATA ...] [options]",
        help="Compress a model to fewer vectors.",
        epilog=_EPILOG,
    )
    p.add_argument("model", metavar="MODEL", help="model file to compress")
    add_output_arguments(p, "SMALL", "that file")
    add_files(p, "rows like those that the model will see", option="--data")
    budget = p.add_argument_group("budget").add_mutually_exclusive_group()
    budget.add_argument("--ratio", type=float, metavar="R", help="share of the vectors to keep (default: 0.1)")
    budget.add_argument("--vectors", type=int, metavar="N", help="number of vectors")
    budget.add_argument(
        "--max-bytes", type=number_of_bytes, metavar="SIZE", help="bytes of vectors and coefficients: 65536, 64k, 1M"
    )
    budget.add_argument(
        "--max-latency",
        type=seconds,
        metavar="TIME",
        help="time of one prediction on this machine, in batches: 20us, 1ms",
    )
    budget.add_argument(
        "--max-flash",
        type=number_of_bytes,
        metavar="SIZE",
        help="bytes of vectors and coefficients as whole numbers, for C code: 14k; see export --target c",
    )
    budget.add_argument(
        "--max-drop",
        type=float,
        metavar="FRACTION",
        help="accuracy (or R²) that may be lost on held-out rows: 0.005 is half a point",
    )
    numbers = p.add_argument_group("numbers that --max-flash counts")
    numbers.add_argument(
        "--weights", choices=("float", "int16", "int8", "int4"), default="int8", help="(default: int8)"
    )
    numbers.add_argument("--coef", choices=("int16", "int8"), default="int16", help="(default: int16)")
    budget.add_argument(
        "--sizes",
        type=sizes,
        metavar="N,N,...",
        help="several numbers of vectors from one search, or auto: a fifth of the vectors, and halves of that",
    )
    look = p.add_argument_group("something to look at")
    look.add_argument("--report", metavar="FILE", help="page to write about the result, one file of HTML")
    add_files(look, "rows that the source has not seen, to measure on", option="--test")
    look.add_argument("--image", metavar="HxW", help="features are the pixels of a picture: 28x28")
    _add_method(p)
    add_model_arguments(p)
    add_data_arguments(p, split="train")


def _add_method(p: argparse.ArgumentParser) -> None:
    """Declare how to compress."""
    how = p.add_argument_group("method")
    how.add_argument(
        "--method",
        default="auto",
        metavar="NAME",
        help="auto (default); paper: LARS, then gradient support vectors; paper-per-machine: the same, and --ratio is "
        "a share of the vectors of each machine instead of all together; lars: selection alone",
    )
    how.add_argument(
        "--effort",
        choices=("fast", "balanced", "thorough"),
        default="balanced",
        help="how much work auto may do: a fifth of the usual, the usual (default), five times as much",
    )
    how.add_argument(
        "--max-seconds",
        type=seconds,
        metavar="TIME",
        help="stop in good order after that time: 90s, with the best so far",
    )
    how.add_argument(
        "--layout",
        choices=("auto", "shared", "libsvm"),
        default="auto",
        help="shared: all classes share the vectors; libsvm: each vector belongs to one class, as LibSVM "
        "files need; auto (default): libsvm if such a file is written, else shared",
    )
    how.add_argument(
        "--dag",
        action="store_true",
        help="decide between classes by a DAG of the pairs instead of votes (not for LibSVM files)",
    )
    how.add_argument("--device", default="cpu", metavar="NAME", help="cpu (default), or a device of torch such as cuda")
    how.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the random choices (default: 0)")


def run(args: argparse.Namespace) -> Report:
    """Compress, save, and say what came out."""
    from svmpress import formats
    from svmpress.compression import compress
    from svmpress.errors import SvmpressWarning

    form = destination(args.output, args.format, args.model, *files_of(args.data), *files_of(args.test))
    refuse_page(args)
    source = load_model(args, args.model)
    if args.dag:
        source = _as_dag(source)
    refuse_obstacles(source, args.output, form)
    refuse_foreign_ranges(args.output, form, scaled=source.scaling is not None)
    with contextlib.ExitStack() as stack:
        progress = stack.enter_context(bars(args))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", SvmpressWarning)  # the result has them, too
        source, X, y = stack.enter_context(training_rows(args, source, progress))
        if args.sizes is not None:
            return run_sizes(args, form, source, X, y, progress)
        result = compress(
            source,
            X,
            y,
            ratio=args.ratio,
            vectors=args.vectors,
            max_bytes=args.max_bytes,
            max_latency=args.max_latency,
            max_flash=args.max_flash,
            weights=args.weights,
            coef=args.coef,
            max_drop=args.max_drop,
            method=args.method,
            effort=args.effort,
            max_seconds=args.max_seconds,
            layout=layout_of(args, form),
            device=args.device,
            random_state=args.seed,
            progress=progress,
        )
    formats.save(result.model, args.output, form)
    write_page(args, result, source)
    for warning in result.warnings:
        remark(args, f"warning: {warning}")
    note = copies_remark(result.model, form)
    if note:
        remark(args, f"note: {note}")
    return Report(
        _facts(args, source, result, note),
        f"{result.summary()}\n{table({'written to': args.output, 'report': args.report})}",
    )


def _facts(args: argparse.Namespace, source: Any, result: Any, note: str | None) -> dict[str, Any]:
    return {
        "output": args.output,
        "report": args.report,
        "status": result.status.name.lower(),
        "message": result.message,
        "warnings": list(result.warnings),
        "expected": None if result.expected is None else asdict(result.expected),
        "probabilities": None if result.probabilities is None else asdict(result.probabilities),
        "vectors": result.model.n_vectors,
        "vectors_before": source.n_vectors,
        "outputs": result.model.n_outputs,
        "outputs_before": source.n_outputs,
        "multiply_adds": result.model.expansion.multiply_adds,
        "multiply_adds_before": source.expansion.multiply_adds,
        "seconds": dict(result.timings),
        "decisions": [vars(decision) for decision in result.decisions],
        "notes": [*result.notes, *([note] if note else [])],
        "curve": [vars(point) for point in result.curve],
    }


def _as_dag(source: Any) -> Any:
    from svmpress.decoders import PairDAG, PairVote
    from svmpress.errors import InputError

    if not isinstance(source.decoder, PairVote):
        raise InputError("--dag is for models of three or more classes with one machine for each pair of classes")
    return source.with_decoder(PairDAG(source.decoder.classes))
