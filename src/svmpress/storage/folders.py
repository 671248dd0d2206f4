"""Folders that appear whole or not at all."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from svmpress.errors import InputError
from svmpress.storage.files import PathLike

_HERE, _EXCHANGE = -100, 2
"""``AT_FDCWD`` and ``RENAME_EXCHANGE`` of Linux."""


@contextmanager
def replacing_folder(path: PathLike, names: Collection[str]) -> Iterator[Path]:
    """Give an empty folder to fill; on leaving without an error it takes the place of the one of that name.

    Parameters
    ----------
    path : path
        The destination. A folder that stands there is replaced if it holds nothing but files of ``names``.
    names : collection of str
        What is going to be written.

    Raises
    ------
    InputError
        When the destination is a file, holds something else, or the operating system refuses.

    Examples
    --------
    >>> parent = Path(tempfile.mkdtemp())
    >>> with replacing_folder(parent / "web", {"model.js"}) as folder:
    ...     _ = (folder / "model.js").write_text("export default 1")
    >>> [p.name for p in (parent / "web").iterdir()]
    ['model.js']
    """
    destination = Path(os.path.realpath(path))
    try:
        _check(destination, path, names)
        with tempfile.TemporaryDirectory(
            prefix=f".{destination.name[:64]}.", dir=destination.parent, ignore_cleanup_errors=True
        ) as temporary:
            fresh, old = Path(temporary) / "new", Path(temporary) / "old"
            fresh.mkdir()
            yield fresh
            for file in fresh.iterdir():
                with file.open("rb") as f:
                    os.fsync(f.fileno())
            _check(destination, path, names)
            _swap(destination, fresh, old)
    except OSError as e:
        raise InputError(f"cannot write {os.fspath(path)}: {e.strerror or e}") from e


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders take each other's name at once, so that there is never none; False where no system call can."""
    exchange = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if exchange is None:
        return False
    if exchange(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS):  # not on this file system
        return False
    raise OSError(number, os.strerror(number))


def _check(destination: Path, path: PathLike, names: Collection[str]) -> None:
    """Refuse a destination that holds what is not ours."""
    if not destination.exists():
        return
    if not destination.is_dir():
        raise InputError(f"{os.fspath(path)} is a file; a folder is to be written there")
    others = sorted({p.name for p in destination.iterdir()} - set(names))
    if others:
        raise InputError(f"the folder {os.fspath(path)} holds other things, such as {others[0]!r}: choose another one")


def _swap(destination: Path, fresh: Path, old: Path) -> None:
    """Rename the fresh folder to the destination, and put the old one back if that fails."""
    standing = destination.exists()
    if standing and _exchange(fresh, destination):
        return
    if standing:
        os.rename(destination, old)
    try:
        os.rename(fresh, destination)
    except OSError:
        if standing:
            os.rename(old, destination)
        raise
    with suppress(OSError):
        shutil.rmtree(old)
