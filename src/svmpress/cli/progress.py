"""Progress for people: bars on standard error, drawn from ``progress(stage, done, total)`` calls.

Every long-running function of svmpress takes such a callable; :class:`Bars` is the one that the command line passes.
It draws on a terminal only, unless told otherwise, so logs and pipes stay clean.

What stands in parentheses in the name of a stage, such as the best so far, is a remark: it may change while the stage
goes on. A stage that begins with some steps done, because it was interrupted before, counts its speed from there.
"""

from __future__ import annotations

import re
import sys
from types import TracebackType
from typing import Any, Self

from tqdm import tqdm

_ROW_STAGES = ("reading", "predicting", "evaluating")
"""Stages that count rows, and so show rows per second."""
_REMARK = re.compile(r" \([^()]*\)")


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
        name = _REMARK.sub("", stage)
        if self._bar is None or name != self._stage:
            self.close()
            self._bar = tqdm(
                desc=stage,
                initial=done,
                total=total or None,
                unit=" rows" if name in _ROW_STAGES else " steps",
                unit_scale=True,
                file=sys.stderr,
                leave=False,
                dynamic_ncols=True,
            )
            self._stage = name
        self._bar.set_description(stage, refresh=False)
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
