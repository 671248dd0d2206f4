"""Formats that svmpress reads and does not write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from svmpress.errors import FormatError
from svmpress.model import KernelModel


def read_only(name: str) -> tuple[Callable[[KernelModel, Path], None], Callable[[KernelModel], list[str]]]:
    """Return ``write`` and ``obstacles`` of a format that no model can be written in."""
    reason = f"svmpress reads {name} and does not write it"

    def write(model: KernelModel, path: Path) -> None:
        raise FormatError(f"cannot write {path}: {reason}")

    def obstacles(model: KernelModel) -> list[str]:
        return [reason]

    return write, obstacles
