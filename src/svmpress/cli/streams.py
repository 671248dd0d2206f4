"""Output: files that appear whole or not at all, and standard streams as a program finds them.

Those may be closed, full, without a reader, or a terminal that knows no Greek.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import IO, BinaryIO

from svmpress.errors import InputError


def mend_streams() -> None:
    """Make sure that nothing else takes the place of a stream that is closed, and that any text can be written."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


@contextlib.contextmanager
def output(path: str | None) -> Iterator[BinaryIO | IO[bytes]]:
    """Open an output file that appears whole or not at all; None and ``-`` are standard output."""
    from svmpress.storage import replacing

    if path in (None, "-"):
        with to_stdout():
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
    else:
        with replacing(str(path)) as (file,):
            yield file


@contextlib.contextmanager
def to_stdout() -> Iterator[None]:
    """Say in one sentence that standard output takes no more, a full disk mostly; a reader that went is no error."""
    if sys.stdout is None:
        raise InputError("cannot write to standard output: it is closed")
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as e:
        forget_stdout()
        raise InputError(f"cannot write to standard output: {e.strerror or e}") from e


def forget_stdout() -> None:
    """Let what could not be written go, so that the interpreter does not try again when it ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
