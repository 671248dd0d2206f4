"""``svmpress train``."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from svmpress.cli.columns import add_files, files_of
from svmpress.cli.common import (
    Report,
    add_command,
    add_data_arguments,
    add_output_arguments,
    add_svm_arguments,
    bars,
    data_choices,
    destination,
    refuse_labels,
    svm_choices,
    table,
)
from svmpress.cli.models import refuse_foreign_ranges

_EPILOG = """\
C and gamma that are not given are chosen on held-out rows, on a coarse grid and then on a finer one.
The scaling of the features goes with the model: inside a .svmpress file, beside a LibSVM file as
FILE.range (the format of svm-scale). The names of columns go into a .svmpress file.

Several files, the data files of a folder, and those that a pattern matches are one set of rows; columns
of tables are matched by name.

examples:
  svmpress train train.svm -o big.model
  svmpress train flowers.csv --label species -o flowers.svmpress
  svmpress train 'days/*.parquet' --label species --id sample -o flowers.svmpress
  svmpress train houses.npz --split train --task regression -o houses.model
  svmpress train train.svm -o big.model -C 10 --gamma 0.3 --scale none
"""


def add(commands: Any) -> None:
    """Declare the command."""
    p = add_command(
        commands,
        "train",
        run,
        usage="DATA [DATA ...] -o MODEL [options]",
        help="Train a kernel SVM on data files, choosing C and gamma where they are not given.",
        epilog=_EPILOG,
    )
    add_files(p, "data file with labels")
    add_output_arguments(p, "MODEL", "the model file")
    add_svm_arguments(p, outlier=" and ignores them", found="chosen")
    p.add_argument(
        "--validation",
        type=float,
        default=0.2,
        metavar="SHARE",
        help="share of rows held out to choose C and gamma (default: 0.2)",
    )
    p.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the random choices (default: 0)")
    add_data_arguments(p, split="train")


def run(args: argparse.Namespace) -> Report:
    """Train, save, and say what came out."""
    from svmpress import data, formats
    from svmpress.training import train

    files = files_of(args.data)
    form = destination(args.output, args.format, *files)
    refuse_foreign_ranges(args.output, form, scaled=args.scale != "none")
    with bars(args) as progress:
        options = data.ReadOptions(labels=None if args.task == "outlier" else True, default_split="train")
        rows = data.read(files, options, progress=progress, **data_choices(args))
        refuse_labels(rows.y, args.task, args.output, form)
        result = train(
            rows.X,
            rows.y,
            **svm_choices(args),
            validation=args.validation,
            random_state=args.seed,
            progress=progress,
        )
        model = replace(result.model, feature_names=rows.feature_names)
    formats.save(model, args.output, form)
    metric = "r2" if args.task == "regression" else "accuracy"
    facts = {
        "output": args.output,
        "task": args.task,
        "rows": rows.X.shape[0],
        "features": model.n_features,
        "classes": None if model.classes_ is None else model.classes_.tolist(),
        "vectors": model.n_vectors,
        "C": result.C,
        "gamma": result.gamma,
        f"validation_{metric}": result.score,
        "trials": [vars(t) for t in result.trials],
    }
    text = {
        "model": args.output,
        "rows": f"{rows.X.shape[0]:,} of {model.n_features:,} features",
        "vectors": f"{model.n_vectors:,}",
        "C": None if result.C is None else f"{result.C:g}",
        "gamma": None if result.gamma is None else f"{result.gamma:g}",
        f"validation {'R²' if metric == 'r2' else metric}": None if result.score is None else f"{result.score:.4f}",
    }
    return Report(facts, table(text))
