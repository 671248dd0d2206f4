"""How figures are made and saved, whatever they show."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from svmpress.errors import InputError, MissingExtraError
from svmpress.storage import replacing

_UNDATED: dict[str, dict[str, None]] = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
"""Metadata without a date: the same record gives the same file."""
_PICTURES = (".png", ".svg", ".pdf")


def new_figure(size: tuple[float, float]) -> Any:
    """Return an empty figure of a size in inches, of matplotlib but without its global state.

    Raises
    ------
    MissingExtraError
        When matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as e:
        raise MissingExtraError("drawing figures", "matplotlib", "plots") from e
    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Any, *paths: str | os.PathLike[str]) -> None:
    """Write a figure to files; the suffix says PNG, SVG or PDF, and the same figure gives the same file."""
    from matplotlib import rc_context

    for path in paths:
        kind = picture_format(path)
        with replacing(path) as (file,), rc_context({"svg.hashsalt": "svmpress"}):
            figure.savefig(file, format=kind, dpi=150, metadata=_UNDATED[kind])


def check_figure(path: str | os.PathLike[str]) -> None:
    """Raise an error if a figure cannot be drawn there, before the work begins."""
    picture_format(path)
    new_figure((1, 1))


def picture_format(path: str | os.PathLike[str]) -> str:
    """Return the format that the suffix of a path names."""
    suffix = Path(path).suffix.lower()
    if suffix not in _PICTURES:
        raise InputError(f"the suffix of {path} names no picture format: use one of {', '.join(_PICTURES)}")
    return suffix[1:]
