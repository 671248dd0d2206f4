"""``svmpress search``."""

from __future__ import annotations

import argparse
import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svmpress.cli.columns import add_files, files_of
from svmpress.cli.common import (
    Report,
    add_command,
    add_data_arguments,
    add_output_arguments,
    add_svm_arguments,
    bars,
    copies_remark,
    data_choices,
    destination,
    layout_of,
    number_of_bytes,
    refuse_labels,
    refuse_obstacles,
    refuse_same_file,
    refuse_shared_outputs,
    refuse_unwritable,
    remark,
    seconds,
    svm_choices,
    table,
)

if TYPE_CHECKING:
    from svmpress.tuning import SearchResult

INFEASIBLE = 3
"""Exit code when nothing that was tried meets the goal."""

_EPILOG = """\
With --min-accuracy the smallest model that reaches it is looked for; with limits alone, the most
accurate model within them. Accuracy (R² for regression) is that of the compressed model on held-out
rows. Trials are kept in a file: after an interruption, the same command goes on from there.
Exit code 3: nothing that was tried meets the goal, and the model that comes closest was written.

examples:
  svmpress search train.svm --min-accuracy 0.97 -o small.model
  svmpress search train.csv --label species --max-vectors 20 -o small.svmpress
  svmpress search houses.npz --task regression --min-accuracy 0.8 --minimise bytes -o small.svmpress
  svmpress search train.svm --max-latency 1us --time-limit 10m --figure front.png -o small.svmpress
"""


def add(commands: Any) -> None:
    """Declare the command."""
    p = add_command(
        commands,
        "search",
        run,
        usage="DATA [DATA ...] -o SMALL (--min-accuracy A | --max-vectors N | ...) [options]",
        help="Choose C, gamma and the size together, so that the compressed model meets a goal.",
        epilog=_EPILOG,
    )
    add_files(p, "data file with labels")
    add_output_arguments(p, "SMALL", "that file")
    _add_goal(p.add_argument_group("goal"))
    add_svm_arguments(
        p.add_argument_group("SVM"), outlier=", judged by labels 1 and -1 if there are any", found="searched"
    )
    _add_search(p.add_argument_group("search"))
    add_data_arguments(p, split="train")


def _add_goal(goal: Any) -> None:
    goal.add_argument(
        "--min-accuracy", type=float, metavar="A", help="accuracy (or R²) on held-out rows that must be reached"
    )
    goal.add_argument("--max-vectors", type=int, metavar="N", help="most vectors")
    goal.add_argument("--max-bytes", type=number_of_bytes, metavar="SIZE", help="most bytes: 65536, 64k, 1M")
    goal.add_argument(
        "--max-latency", type=seconds, metavar="TIME", help="longest prediction on this machine, in batches: 20us, 1ms"
    )
    goal.add_argument(
        "--minimise",
        choices=("vectors", "bytes", "latency"),
        default="vectors",
        help="what is made small under --min-accuracy (default: vectors)",
    )


def _add_search(how: Any) -> None:
    how.add_argument("--trials", type=int, default=30, metavar="N", help="settings of C and gamma to try (default: 30)")
    how.add_argument(
        "--finalists", type=int, default=3, metavar="N", help="how many are tried again on all rows (default: 3)"
    )
    how.add_argument("--rows", type=int, default=2000, metavar="N", help="most rows that a trial uses (default: 2000)")
    how.add_argument("--time-limit", type=duration, metavar="TIME", help="when to stop trying: 90s, 10m, 2h")
    how.add_argument(
        "--validation", type=float, default=0.2, metavar="SHARE", help="share of rows held out to judge (default: 0.2)"
    )
    how.add_argument("--cv", type=int, metavar="FOLDS", help="judge by cross-validation instead")
    how.add_argument(
        "--sampler",
        choices=("gp", "random"),
        default="gp",
        help="gp: Gaussian processes (default; needs the extra search); random: by chance",
    )
    how.add_argument(
        "--layout",
        choices=("auto", "shared", "libsvm"),
        default="auto",
        help="as for compress (default: libsvm if such a file is written, else shared)",
    )
    how.add_argument("--method", default="auto", metavar="NAME", help="as for compress (default: auto)")
    how.add_argument(
        "--storage",
        metavar="FILE",
        help="file that keeps the trials (default: SMALL.search.jsonl, removed once the model is written)",
    )
    how.add_argument("--restart", action="store_true", help="begin anew, whatever the file of trials holds")
    how.add_argument("--report", metavar="FILE", help="write every size of every trial as CSV")
    how.add_argument("--figure", metavar="FILE", help="draw size against accuracy: PNG, SVG or PDF")
    how.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the random choices (default: 0)")


def duration(text: str) -> float:
    """Return a time limit in seconds: ``90``, ``90s``, ``10m``, ``2h``.

    Examples
    --------
    >>> duration("1.5m")
    90.0
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([smh]?)\s*", text)
    if match is None or float(match[1]) <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 90s, 10m or 2h")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def run(args: argparse.Namespace) -> Report:
    """Search, save, and say what came out."""
    from svmpress import data, formats
    from svmpress.data import ReadOptions
    from svmpress.plots import check_figure
    from svmpress.tuning import draw_front, search

    files = files_of(args.data)
    form = destination(args.output, args.format, *files)
    _check_outputs(args)
    if args.figure:
        check_figure(args.figure)
    with bars(args) as progress, _storage(args) as storage:
        outlier = args.task == "outlier"
        options = ReadOptions(labels=None if outlier else True, default_split="train")
        rows = data.read(files, options, progress=progress, **data_choices(args))
        refuse_labels(rows.y, args.task, args.output, form)
        X, y, estimator, space = _estimator(args, rows)
        result = search(
            X,
            y,
            estimator=estimator,
            min_accuracy=args.min_accuracy,
            max_vectors=args.max_vectors,
            max_bytes=args.max_bytes,
            max_latency=args.max_latency,
            minimise=args.minimise,
            space=space,
            trials=args.trials,
            finalists=args.finalists,
            rows=args.rows,
            time_limit=args.time_limit,
            cv=args.cv,
            validation=args.validation,
            storage=storage,
            sampler=args.sampler,
            method=args.method,
            layout=layout_of(args, form),
            random_state=args.seed,
            progress=progress,
        )
        refuse_obstacles(result.model, args.output, form)
        formats.save(replace(result.model, feature_names=rows.feature_names), args.output, form)
        if args.report:
            _write(args.report, result.table())
        if args.figure:
            draw_front(result, args.figure)
    note = copies_remark(result.model, form)
    if note:
        remark(args, f"note: {note}")
    written = table({"written to": args.output, "report": args.report, "figure": args.figure})
    return Report(
        _facts(args, result, note), f"{result.summary()}\n{written}", code=0 if result.feasible else INFEASIBLE
    )


def _estimator(args: argparse.Namespace, rows: Any) -> tuple[Any, Any, Any, Mapping[str, Any] | None]:
    """Return rows, labels, the scaler and SVM, and the space; what the arguments fix is not searched."""
    from svmpress.training import unfitted
    from svmpress.tuning import default_space

    X, y, estimator = unfitted(rows.X, rows.y, **svm_choices(args))
    y = rows.y if args.task == "outlier" else y
    fixed = {name for name in ("C", "gamma") if getattr(args, name) is not None}
    if not fixed:
        return X, y, estimator, None
    usual = default_space(estimator, X, y if args.task == "regression" else None, labelled=y is not None)
    free = {p.name: (p.low, p.high) for p in usual if p.name.rpartition("__")[2] not in fixed}
    return X, y, estimator, free


def _check_outputs(args: argparse.Namespace) -> None:
    """Refuse, before the work begins, outputs that cannot be written or that would overwrite something."""
    others = (args.report, args.figure, _trials(args))
    for path in others:
        if path:
            refuse_unwritable(path)
            refuse_same_file(path, *files_of(args.data))
    refuse_shared_outputs(args.output, *others)


def _trials(args: argparse.Namespace) -> str:
    return args.storage or f"{args.output}.search.jsonl"


@contextlib.contextmanager
def _storage(args: argparse.Namespace) -> Iterator[str]:
    """Name the file of trials; one that nobody asked for goes away when the model is written."""
    from svmpress.tuning import Records

    path = _trials(args)
    if args.restart:
        Records.discard(path)
    elif Path(path).exists():
        remark(args, f"going on with the trials in {path}")
    try:
        yield path
    except (KeyboardInterrupt, SystemExit):
        remark(args, f"the trials are kept in {path}: the same command goes on from there")
        raise
    except Exception:
        if args.storage is None and Path(path).exists():
            remark(args, f"the trials are kept in {path}")
        raise
    if args.storage is None:
        Path(path).unlink(missing_ok=True)


def _write(path: str, text: str) -> None:
    from svmpress.storage import replacing

    with replacing(path) as (file,):
        file.write(text.encode())


def _facts(args: argparse.Namespace, result: SearchResult, note: str | None) -> dict[str, object]:
    """Return what ``--json`` prints."""
    return {
        "output": args.output,
        "status": result.status.name.lower(),
        "feasible": result.feasible,
        "message": result.message,
        "goal": asdict(result.goal),
        "params": dict(result.params),
        "vectors": result.model.n_vectors,
        "outputs": result.model.n_outputs,
        "vectors_before": result.compression.source.n_vectors,
        "score": result.score,
        "score_name": result.score_name,
        "held_out_rows": result.held_out,
        "seconds": result.seconds,
        "trials": [asdict(t) for t in result.trials],
        "finalists": [asdict(t) for t in result.finalists],
        "front": [asdict(p) for p in result.front],
        "notes": [*result.notes, *([note] if note else [])],
    }
