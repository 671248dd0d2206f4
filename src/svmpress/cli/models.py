"""Model files on the command line: their arguments, and what is said when one is read."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from svmpress.cli.common import remark

if TYPE_CHECKING:
    from svmpress.model import KernelModel


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say how to read MODEL."""
    group = parser.add_argument_group("model files")
    group.add_argument(
        "--range",
        metavar="FILE",
        help="range file of svm-scale that belongs to a LibSVM model; none: apply none (default: MODEL.range, or "
        "x.range beside x.model, where there is one)",
    )
    group.add_argument(
        "--trust-pickle",
        action="store_true",
        help="read a pickle or joblib file; doing so runs any code that is in the file, with your rights, so only for "
        "files that you or people you trust have written",
    )


def refuse_foreign_ranges(path: str, format: str, *, scaled: bool) -> None:
    """Raise an error, before the work begins, if a range file that is there would be applied to a model without one."""
    from svmpress import formats
    from svmpress.errors import InputError

    if scaled or not formats.FORMATS[format].takes_ranges:
        return
    own = formats.beside(Path(path))
    foreign = [file for file in formats.companions(Path(path)) if file != own or not Path(path).exists()]
    if foreign:
        raise InputError(
            f"{foreign[0]} is there and would be applied to {path} when that is read, but the model has no scaling: "
            "choose another name"
        )


def load_model(args: argparse.Namespace, path: str, *, ranges: bool = True) -> KernelModel:
    """Return a model file as the arguments say, and remark what a person should know of it.

    Parameters
    ----------
    ranges : bool
        Whether ``--range`` is about this file.
    """
    from svmpress import formats

    named = args.range if ranges else None
    model = formats.load(path, ranges=named, trust_pickle=args.trust_pickle)
    files = formats.companions(Path(path)) if named is None and model.scaling is not None else []
    if files and files[0] != formats.beside(Path(path)):
        remark(args, f"note: rows are scaled by {files[0]}, found beside the model (--range none: they are not)")
    if "note" in model.provenance:
        remark(args, f"note: {model.provenance['note']}")
    return model
