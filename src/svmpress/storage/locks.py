"""Locks on folders, which leave nothing behind: they are of the process, not of a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked_folder(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold a lock on a folder: alone, or together with others who only read.

    It is held for a few renames, or for opening a few files, so waiting for it is short; a process that ends gives it
    back. Where a system has no such locks (Windows, some network drives) there is none, and nobody waits.

    Examples
    --------
    >>> import tempfile
    >>> with locked_folder(Path(tempfile.mkdtemp())):
    ...     pass
    """
    handle = _handle(folder, shared)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _handle(folder: Path, shared: bool) -> int | None:
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
    except OSError:
        os.close(handle)
        return None
    except BaseException:
        os.close(handle)
        raise
    return handle
