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
from svmpress.cli.export_whole import DEFAULTS, image_size, rows_of
from svmpress.cli.models import add_model_arguments, load_model
from svmpress.errors import InputError

_EPILOG = """\
Classifiers: accuracy. Regressors: R², mean squared error and squared correlation. One-class models:
accuracy against the labels 1 (inlier) and -1 (outlier). With --reference, data without labels will do:
agreement and speed-up remain. Several files, the data files of a folder, and those that a pattern matches
are one set of rows.

examples:
  svmpress evaluate small.model test.svm
  svmpress evaluate small.model test.svm --reference big.model
  svmpress evaluate small.svmpress test.csv --label species --json
  svmpress evaluate small.svmpress test.svm --weights int4 --coef int8 --quantize-with train.svm
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
    group = p.add_argument_group("whole numbers: the model as svmpress export makes it with the same options")
    group.add_argument("--weights", choices=("int16", "int8", "int4"), help="the numbers of the vectors")
    group.add_argument("--coef", choices=("int16", "int8"), help="the coefficients (default: int16)")
    add_files(group, "rows to quantise with, as export --data has them", option="--quantize-with")
    group.add_argument("--input", choices=("float", "uint8"), help="what a feature is (default: float)")
    group.add_argument("--image", type=image_size, metavar="HxW", help="features are the pixels of a picture")
    group.add_argument("--pool", type=int, metavar="N", help="use means of N x N pixels (default: 1)")
    group.add_argument("--augment", type=int, metavar="N", help="fine-tune on images shifted by up to N pixels")
    group.add_argument("--seed", type=int, metavar="N", help="seed of the random choices (default: 0)")
    add_data_arguments(p, split="test")


_WHOLE = ("coef", "quantize_with", "input", "image", "pool", "augment", "seed")
"""Options that have no meaning without ``--weights``."""


def _quantised(args: argparse.Namespace, model: Any, progress: Any) -> Any:
    """Return the model in whole numbers, if these were asked for."""
    from svmpress import exports

    if args.weights is None:
        given = [f"--{name.replace('_', '-')}" for name in _WHOLE if getattr(args, name) is not None]
        if given:
            raise InputError(f"{given[0]} is for whole numbers: say --weights int8, for example")
        return model
    X, y = rows_of(args, args.quantize_with, model, progress, "train", may_choose=False)
    said = {name: getattr(args, name) for name in ("coef", "input", "pool", "augment", "seed")}
    how: dict[str, Any] = {name: DEFAULTS[name] if value is None else value for name, value in said.items()}
    return exports.quantize(
        model, X, y, weights=args.weights, image=args.image, random_state=how.pop("seed"), progress=progress, **how
    )


def run(args: argparse.Namespace) -> Report:
    """Evaluate, and say how well and how fast."""
    from svmpress.data import streaming

    model = load_model(args, args.model)
    reference = load_model(args, args.reference, ranges=False) if args.reference else None
    wanted = None if args.reference else True
    with bars(args) as progress:
        model = _quantised(args, model, progress)
        options = streaming.read_options(model, **({"labels": wanted} | data_choices(args)))
        result = streaming.evaluate_file(model, args.data, options, reference=reference, progress=progress)
    if result.unknown:
        remark(args, f"note: {result.unknown:,} rows have labels that the model does not know; they count as wrong")
    facts = {
        "model": args.model,
        "rows": result.rows,
        "unknown_labels": result.unknown,
        "vectors": model.n_vectors,
        "weights": args.weights or "float",
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
