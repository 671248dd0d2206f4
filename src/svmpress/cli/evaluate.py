"""``svmpress evaluate``."""

from __future__ import annotations

import argparse
from typing import Any

from svmpress.cli.columns import add_files
from svmpress.cli.common import (
    Report,
    add_command,
    add_data_arguments,
    bars,
    data_choices,
    format_seconds,
    remark,
    table,
)
from svmpress.cli.models import add_model_arguments, load_model

_EPILOG = """\
Classifiers: accuracy. Regressors: R², mean squared error and squared correlation. One-class models:
accuracy against the labels 1 (inlier) and -1 (outlier). With --reference, data without labels will do:
agreement and speed-up remain. Several files, the data files of a folder, and those that a pattern matches
are one set of rows.

examples:
  svmpress evaluate small.model test.svm
  svmpress evaluate small.model test.svm --reference big.model
  svmpress evaluate small.svmpress test.csv --label species --json
"""

_NAMES = {
    "accuracy": "accuracy",
    "r2": "R²",
    "mse": "mean squared error",
    "squared_correlation": "squared correlation",
}


def add(commands: Any) -> None:
    """Declare the command."""
    p = add_command(
        commands,
        "evaluate",
        run,
        usage="MODEL DATA [DATA ...] [--reference BIG] [options]",
        help="Score a model on data files with labels, alone or against another model.",
        epilog=_EPILOG,
    )
    p.add_argument("model", metavar="MODEL", help="model file")
    add_files(p, "data file with labels")
    p.add_argument("--reference", metavar="BIG", help="model to compare with: agreement and speed-up")
    add_model_arguments(p)
    add_data_arguments(p, split="test")


def run(args: argparse.Namespace) -> Report:
    """Evaluate, and say how well and how fast."""
    from svmpress.data import streaming

    model = load_model(args, args.model)
    reference = load_model(args, args.reference, ranges=False) if args.reference else None
    wanted = None if args.reference else True
    options = streaming.read_options(model, **({"labels": wanted} | data_choices(args)))
    with bars(args) as progress:
        result = streaming.evaluate_file(model, args.data, options, reference=reference, progress=progress)
    if result.unknown:
        remark(args, f"note: {result.unknown:,} rows have labels that the model does not know; they count as wrong")
    facts = {
        "model": args.model,
        "rows": result.rows,
        "unknown_labels": result.unknown,
        "vectors": model.n_vectors,
        **result.metrics,
        "seconds_per_row": result.seconds_per_row,
    }
    text: dict[str, str | None] = {"rows": f"{result.rows:,}", "vectors": f"{model.n_vectors:,}", **_shown(result)}
    if reference is not None and result.reference is not None:
        facts["reference"] = {
            "model": args.reference,
            "vectors": reference.n_vectors,
            **result.reference.metrics,
            "seconds_per_row": result.reference.seconds_per_row,
        }
        facts |= {"agreement": result.agreement, "speedup": result.speedup}
        text |= {
            "reference vectors": f"{reference.n_vectors:,}",
            **{f"reference {name}": value for name, value in _shown(result.reference).items()},
            **_agreement(result, model),
            "speed-up": f"{result.speedup:.3g} times",
        }
    return Report(facts, table(text))


def _agreement(result: Any, model: Any) -> dict[str, str]:
    if result.agreement is None:
        return {}
    if model.classes_ is None:
        return {"R² against the reference": f"{result.agreement:.6f}"}
    return {"agreement": f"{result.agreement:.4%}"}


def _shown(result: Any) -> dict[str, str]:
    lines = {}
    for name, value in result.metrics.items():
        if value is None:
            lines[_NAMES[name]] = "not defined, because all labels are equal"
        elif name == "accuracy":
            lines[_NAMES[name]] = f"{value:.4%} ({round(value * result.rows):,} of {result.rows:,})"
        else:
            lines[_NAMES[name]] = f"{value:.6g}"
    return lines | {"time per row": format_seconds(result.seconds_per_row)}
