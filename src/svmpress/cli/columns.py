"""Columns of tables on the command line: which are features, and which only go along."""

from __future__ import annotations

import argparse
import csv
from typing import Any


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
