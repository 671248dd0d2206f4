"""Progress for people: bars on standard error, drawn from ``progress(stage, done, total)`` calls.

Every long-running function of svmpress takes such a callable; :class:`Bars` is the one that the command line passes.
It draws on a terminal only, unless told otherwise, so logs and pipes stay clean.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self

from tqdm import tqdm

_ROW_STAGES = ("reading", "predicting", "evaluating")
"""Stages that count rows, and so show rows per second."""


class Bars:
    """One bar for each stage, one at a time; use it as a context manager.

    Parameters
    ----------
    show : bool, optional
        None: only if standard error is a terminal.

    Examples
    --------
    >>> with Bars(show=False) as progress:
    ...     progress("reading", 10, 100)
    """

    def __init__(self, show: bool | None = None) -> None:
        self._show = sys.stderr.isatty() if show is None else show
        self._bar: Any = None
        self._stage = ""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` steps are behind; a total of 0 means that it is not known."""
        if not self._show:
            return
        if self._bar is None or stage != self._stage:
            self.close()
            unit = " rows" if stage in _ROW_STAGES else " steps"
            self._bar = tqdm(desc=stage, unit=unit, unit_scale=True, file=sys.stderr, leave=False, dynamic_ncols=True)
            self._stage = stage
        self._bar.total = total or None
        self._bar.update(done - self._bar.n)
        if total and done >= total:
            self.close()

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
