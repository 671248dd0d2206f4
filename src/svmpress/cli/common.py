"""What the commands share: arguments, units, output."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from svmpress.cli.columns import add_column_arguments, column_choices
from svmpress.cli.progress import Bars
from svmpress.data import FORMATS
from svmpress.errors import InputError

_HELP_WIDTH = 100
_BYTE_UNITS = {"": 1, "b": 1, "k": 2**10, "kb": 2**10, "kib": 2**10, "m": 2**20, "mb": 2**20, "mib": 2**20}
_BYTE_UNITS |= {"g": 2**30, "gb": 2**30, "gib": 2**30}
_TIME_UNITS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help that looks the same in every version of Python and on every terminal, so that the manual can hold it."""

    def __init__(self, prog: str, **_: Any) -> None:
        super().__init__(prog, max_help_position=28, width=_HELP_WIDTH)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=_HelpFormatter, allow_abbrev=False, **settings)
        self.color = False

    def error(self, message: str) -> NoReturn:
        """Print the sentence and exit with code 2."""
        self.exit(2, f"svmpress: error: {message} (see {self.prog} --help)\n")


def add_command(commands: Any, name: str, run: Any, *, usage: str, help: str, epilog: str) -> argparse.ArgumentParser:
    """Add a command with what all of them have."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, prog=f"svmpress {name}", usage=f"svmpress {name} {usage}", help=help, description=help, epilog=epilog
    )
    parser.set_defaults(run=run)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--progress", action="store_true", help="draw progress bars even if stderr is no terminal")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress bars and no remarks on stderr")
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="allow files to ask for more: features, classes, line (bytes), expansion (bytes in memory for each of "
        "the file), free (bytes that any file may take)",
    )
    return parser


@contextlib.contextmanager
def limited(args: argparse.Namespace) -> Iterator[None]:
    """Read files under the limits that the arguments ask for."""
    from svmpress.storage import limits

    pairs = [text.partition("=") for text in args.allow]
    try:
        changes = {name.strip(): int(number) for name, _, number in pairs}
    except ValueError:
        raise InputError("--allow needs a name and a whole number, such as --allow features=100000000") from None
    with limits(**changes):
        yield


def add_data_arguments(parser: argparse.ArgumentParser, *, split: str) -> None:
    """Add the arguments that say how to read a data file; ``split`` is the part of an NPZ file read by default."""
    group = parser.add_argument_group("data files")
    group.add_argument(
        "--data-format", choices=FORMATS, help="format of the data file (default: by its suffix, else its content)"
    )
    group.add_argument(
        "--label",
        metavar="COLUMN",
        help="label column of CSV or Parquet, by name or by position from 0 (default: the column named label, target, "
        "y or class, else the last); label array of NPZ (default: y)",
    )
    group.add_argument("--no-labels", action="store_true", help="the data file has no labels")
    add_column_arguments(group)
    group.add_argument(
        "--split", metavar="NAME", help=f"part of an NPZ file with X_train, X_test, ... (default: {split})"
    )
    group.add_argument("--header", choices=("yes", "no"), help="whether a CSV file starts with column names")
    group.add_argument("--zero-based", action="store_true", help="feature indices of svmlight text start at 0")


def add_output_arguments(parser: argparse.ArgumentParser, metavar: str, file: str) -> None:
    """Add the model file to write, and its format; ``file`` is how the help speaks of it."""
    parser.add_argument(
        "-o", "--output", metavar=metavar, required=True, help="model file to write; the suffix names its format"
    )
    parser.add_argument("--format", metavar="NAME", help=f"format of {file} (default: by its suffix)")


def add_svm_arguments(group: Any, *, outlier: str, found: str) -> None:
    """Add what describes an SVM to train.

    Parameters
    ----------
    group : parser or group of arguments
    outlier : str
        What happens to the labels of a one-class SVM.
    found : str
        How C and gamma come about where they are not given: "chosen", "searched".
    """
    group.add_argument(
        "--task",
        choices=("classification", "regression", "outlier"),
        default="classification",
        help=f"what the labels are; outlier trains a one-class SVM{outlier}",
    )
    group.add_argument(
        "--kernel", choices=("rbf", "linear", "poly", "sigmoid"), default="rbf", help="kernel (default: rbf)"
    )
    group.add_argument("-C", type=float, metavar="NUMBER", help=f"cost of errors (default: {found})")
    group.add_argument("--gamma", type=float, metavar="NUMBER", help=f"width of the kernel (default: {found})")
    group.add_argument(
        "--degree", type=int, default=3, metavar="N", help="degree of the polynomial kernel (default: 3)"
    )
    group.add_argument(
        "--coef0",
        type=float,
        default=0.0,
        metavar="NUMBER",
        help="constant of the polynomial and sigmoid kernels (default: 0)",
    )
    group.add_argument(
        "--epsilon",
        type=float,
        metavar="NUMBER",
        help="half width of a regressor's tube (default: a tenth of the labels' standard deviation)",
    )
    group.add_argument("--nu", type=float, default=0.1, metavar="NUMBER", help="share of outliers (default: 0.1)")
    group.add_argument(
        "--scale",
        choices=("auto", "standard", "minmax", "maxabs", "none"),
        default="auto",
        help="scaling of the features (default: standard; maxabs, which keeps zeros, for sparse data)",
    )


def svm_choices(args: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of :func:`svmpress.train.train` that describe the SVM."""
    names = ("kernel", "C", "gamma", "task", "degree", "coef0", "epsilon", "nu")
    return {name: getattr(args, name) for name in names} | {"scale": None if args.scale == "none" else args.scale}


def layout_of(args: argparse.Namespace, form: str) -> Literal["shared", "libsvm"]:
    """Return ``--layout``, where "auto" is what the format of the output needs."""
    if args.layout == "auto":
        return "libsvm" if form in ("libsvm", "skops") else "shared"
    layout: Literal["shared", "libsvm"] = args.layout
    return layout


def data_choices(args: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of :class:`svmpress.data.ReadOptions` that the arguments set."""
    chosen = {"format": args.data_format, "label": args.label, "split": args.split, **column_choices(args)}
    if args.no_labels:
        chosen["labels"] = False
    if args.header:
        chosen["header"] = args.header == "yes"
    if args.zero_based:
        chosen["zero_based"] = True
    return {key: value for key, value in chosen.items() if value is not None}


# ---------------------------------------------------------------------------------------------------------
# Units
# ---------------------------------------------------------------------------------------------------------


def _quantity(text: str, units: Mapping[str, float], example: str) -> float:
    match = re.fullmatch(r"\s*([0-9.eE+-]+?)\s*([a-zA-Zµμ]*)\s*", text)
    try:
        if match is None or match[2].lower() not in units:
            raise ValueError
        value = float(match[1]) * units[match[2].lower()]
        if not math.isfinite(value):
            raise ValueError
        return value
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not {example}") from None


def number_of_bytes(text: str) -> int:
    """Return a number of bytes: ``64k`` is 65,536.

    Examples
    --------
    >>> number_of_bytes("64k"), number_of_bytes("1.5MB")
    (65536, 1572864)
    """
    return int(_quantity(text, _BYTE_UNITS, "a size such as 65536, 64k or 1M"))


def seconds(text: str) -> float:
    """Return a time in seconds: ``20us``, ``1ms``, ``0.5`` (seconds).

    Examples
    --------
    >>> seconds("1ms")
    0.001
    """
    return _quantity(text, _TIME_UNITS, "a time such as 20us, 1ms or 0.001 (seconds)")


def format_bytes(n: float) -> str:
    """Return bytes for people.

    Examples
    --------
    >>> format_bytes(1536), format_bytes(12)
    ('1.5 KiB', '12 B')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024 or unit == "GiB":
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1024
    raise AssertionError


def format_seconds(s: float) -> str:
    """Return a time for people.

    Examples
    --------
    >>> format_seconds(2.5e-5), format_seconds(90)
    ('25 µs', '90 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if s >= size:
            return f"{s / size:.3g} {unit}"
    return f"{s / 1e-9:.3g} ns"


# ---------------------------------------------------------------------------------------------------------
# Output
# ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Report:
    """What a command found: facts for machines, text for people."""

    facts: Mapping[str, Any]
    text: str
    to_stderr: bool = False
    """Whether standard output already carries something else."""
    code: int = 0
    """The exit code: not 0 where the work is done and its result is not what was asked for."""


def table(pairs: Mapping[str, Any]) -> str:
    """Return names and values in two columns; what is None is left out."""
    shown = {name: value for name, value in pairs.items() if value is not None}
    width = max(map(len, shown), default=0)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in shown.items())


def emit(report: Report, args: argparse.Namespace) -> None:
    """Print a report as the arguments ask."""
    if args.json:
        sys.stdout.write(json.dumps(report.facts, indent=2, default=_plain, allow_nan=False) + "\n")
    elif report.to_stderr:
        remark(args, report.text)
    else:
        sys.stdout.write(report.text + "\n")


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return dict(value) if isinstance(value, Mapping) else str(value)


def remark(args: argparse.Namespace, text: str) -> None:
    """Say something on standard error, unless asked to be quiet."""
    if not args.quiet:
        sys.stderr.write(text + "\n")


def bars(args: argparse.Namespace) -> Bars:
    """Return the progress bars that the arguments ask for."""
    return Bars(False if args.quiet else True if args.progress else None)


def destination(path: str, format: str | None, *inputs: str | None) -> str:
    """Return the format that a model will be written in, before the work begins: refuse what cannot be written.

    Parameters
    ----------
    path : str
    format : str, optional
        By default the suffix says it.
    *inputs : str or None
        Files that the command reads, and so must not overwrite.
    """
    from svmpress import formats

    refuse_unwritable(path)
    refuse_same_file(path, *inputs)
    return formats.format_of(path, format)


def refuse_unwritable(path: str) -> None:
    """Raise an error, before the work begins, if no file can be written there."""
    folder = Path(path).absolute().parent
    if os.path.isdir(path):
        raise InputError(f"cannot write {path}: it is a folder")
    if not os.path.isdir(folder):
        raise InputError(f"cannot write {path}: there is no folder {Path(path).parent}")
    if not os.access(folder, os.W_OK):
        raise InputError(f"cannot write {path}: the folder {folder} is not ours to write to")


def refuse_obstacles(model: Any, path: str, format: str, **options: Any) -> None:
    """Raise an error if a format cannot hold a model, written with these options."""
    from svmpress import formats

    found = formats.obstacles(model, format, **options)
    if found:
        raise InputError(f"cannot write {path} as {format}: {'; '.join(found)}")


def refuse_labels(y: Any, task: str, path: str, format: str) -> None:
    """Raise an error, before training, if a format cannot hold the labels of classes."""
    from svmpress.formats import libsvm

    found = libsvm.label_obstacles(y) if format == "libsvm" and task == "classification" else []
    if found:
        raise InputError(f"cannot write {path} as {format}: {found[0]}")


def copies_remark(model: Any, format: str) -> str | None:
    """Return what a format adds to the number of vectors, as a sentence; None if nothing."""
    from svmpress import formats

    stored = formats.save_cost(model, format)
    if stored <= model.n_vectors:
        return None
    return (
        f"the {format} format needs {stored:,} vectors for the {model.n_vectors:,} of the model, because a vector "
        "there serves one class only; compress with --layout libsvm to need no copies, or write a .svmpress file"
    )


def refuse_same_file(output_path: str | None, *inputs: str | None) -> None:
    """Raise an error if a command would overwrite what it reads."""
    if output_path and any(path and _same(output_path, path) for path in inputs):
        raise InputError(f"{output_path} is an input of this command; write the result to another file")


def refuse_shared_outputs(*paths: str | None) -> None:
    """Raise an error if a command would write two things to one file."""
    named = [path for path in paths if path]
    for i, path in enumerate(named):
        if any(_same(path, other) for other in named[:i]):
            raise InputError(f"{path} is named for two outputs of this command; give each a file of its own")


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
