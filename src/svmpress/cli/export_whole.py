"""What ``svmpress export`` has for whole numbers: the options, the rows to quantise with, and how well they answer."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from svmpress.cli.columns import add_files
from svmpress.cli.common import add_data_arguments, data_choices, number_of_bytes
from svmpress.errors import InputError

DEFAULTS = {
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
"""Of C code. An option that was not given is None until then."""

_OF_DEVICES = ("max_flash", "prefix", "measure")
"""Options that are for C code alone."""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Declare what is for C code, and for web models in whole numbers."""
    group = p.add_argument_group("whole numbers (--target c, or a web model with --weights)")
    group.add_argument(
        "--weights",
        choices=("float", "int16", "int8", "int4"),
        help="the numbers of the vectors (default: int8 for C code, float for the web)",
    )
    group.add_argument("--coef", choices=("int16", "int8"), help="the coefficients (default: int16)")
    add_files(group, "rows to quantise with; with labels, also to fine-tune on", option="--data")
    add_files(group, "rows with labels to compare the result with the model on", option="--test")
    group.add_argument("--input", choices=("float", "uint8"), help="what a feature is (default: float)")
    group.add_argument("--pool", type=int, metavar="N", help="use means of N x N pixels (default: 1)")
    group.add_argument("--augment", type=int, metavar="N", help="fine-tune on images shifted by up to N pixels")
    group.add_argument("--seed", type=int, metavar="N", help="seed of the random choices (default: 0)")
    group = p.add_argument_group("C code (--target c)")
    group.add_argument(
        "--max-flash",
        type=number_of_bytes,
        metavar="SIZE",
        help="compress to so many bytes of numbers: 14k",
    )
    group.add_argument("--prefix", metavar="NAME", help="prefix of all names and files (default: svm)")
    group.add_argument(
        "--measure", metavar="DEVICE", help="run on a simulated device: uno, microbit, m3, m4 or m7, if it is installed"
    )
    add_data_arguments(p, split="train for --data, test for --test; a NAME is for --data where there are both")


def options(args: argparse.Namespace, *, of_devices: bool = False) -> list[str]:
    """Return the options declared here that were given, or of these only those for C code alone."""
    names = _OF_DEVICES if of_devices else DEFAULTS
    return [f"--{name.replace('_', '-')}" for name in names if getattr(args, name) is not None]


def settle(args: argparse.Namespace) -> None:
    """Give the options that were not given their values."""
    for name, value in DEFAULTS.items():
        if getattr(args, name) is None:
            setattr(args, name, value)


def refuse_how_to_read_nothing(args: argparse.Namespace) -> None:
    """Refuse options that say how to read data files where no data is named."""
    if args.data is None and args.test is None and data_choices(args):
        raise InputError("there is no data to read: name it with --data, or leave out the options for data files")


def image_size(text: str) -> tuple[int, int]:
    """Return the height and width that a text says."""
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(p.isdigit() for p in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not a height and a width, such as 28x28")
    return int(parts[0]), int(parts[1])


def rows_of(
    args: argparse.Namespace,
    names: list[str] | None,
    source: Any,
    progress: Any,
    split: str,
    *,
    may_choose: bool = True,
) -> tuple[Any, Any]:
    """Return rows as the device gets them, and their labels, of a part of the data that --split may choose."""
    from svmpress import data
    from svmpress.data import streaming
    from svmpress.numerics import arrays

    if names is None:
        return None, None
    wanted = source.n_features if args.image is None else args.image[0] * args.image[1]
    changes = {"n_features": wanted, "default_split": split} | data_choices(args)
    if wanted != source.n_features:  # pixels, which have no names
        changes["feature_names"] = None
    if not may_choose:
        changes.pop("split", None)
    rows = data.read(names, streaming.read_options(source, **changes), progress=progress)
    X = rows.X
    if rows.elastic and X.shape[1] < wanted:
        X = arrays.widen(X, wanted)
    if wanted == source.n_features:
        source, X = streaming.fit_columns(source, X, elastic=rows.elastic)
    y = None if rows.y is None or source.task == "outlier" else data.labels_like(rows.y, source.classes_)
    return np.asarray(arrays.dense(X)), y


def accuracy_of(model: Any, X: Any, y: Any, args: argparse.Namespace | None = None) -> float | None:
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
