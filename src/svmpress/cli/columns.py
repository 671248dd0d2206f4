"""Data files on the command line: which they are, and which columns of tables are features or only go along."""

from __future__ import annotations

import argparse
import csv
from typing import Any

_SEVERAL = "a folder of them; a pattern in quotes; - is standard input"


def add_files(parser: Any, what: str, *, option: str | None = None) -> None:
    """Add the argument that names data files, several of them if need be: ``data``, or an option.

    Parameters
    ----------
    parser : parser or group of arguments
    what : str
        What the help says of the files.
    option : str, optional
        ``--data``; without one it is an argument that must be there.
    """
    if option is None:
        parser.add_argument("data", metavar="DATA", nargs="+", help=f"{what}; {_SEVERAL}")
    else:
        parser.add_argument(option, metavar="DATA", nargs="+", action="extend", help=f"{what}; {_SEVERAL}")


def files_of(names: list[str] | None) -> list[str]:
    """Return the files that arguments stand for; none where the option was not given."""
    from svmpress import data

    return [] if names is None else data.data_files(names)


def name_list(text: str) -> tuple[str, ...]:
    """Return names with commas between them; one that has a comma is quoted.

    Examples
    --------
    >>> name_list('width,"height, mm"')
    ('width', 'height, mm')
    """
    names = tuple(name.strip() for name in next(csv.reader([text], skipinitialspace=True), []))
    if not all(names) or not names:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of column names, with commas")
    return names


def add_column_arguments(group: Any) -> None:
    """Add the arguments that name columns of CSV and Parquet files."""
    group.add_argument(
        "--columns",
        type=name_list,
        metavar="LIST",
        help="feature columns of CSV or Parquet, in the order of the model: width,height (default: all but the label)",
    )
    group.add_argument(
        "--id",
        type=name_list,
        metavar="LIST",
        default=(),
        help="columns of CSV or Parquet that are no features; predict writes them beside the answers",
    )


def column_choices(args: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of :class:`svmpress.data.ReadOptions` that the arguments set."""
    return {"columns": args.columns, "keep": args.id or None}
