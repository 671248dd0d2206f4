"""Files that appear whole or not at all.

Every file that svmpress writes goes to a temporary name in the folder of its destination, is flushed to the disk,
and only then renamed. Whatever happens before the rename (an error, a full disk, Ctrl-C) leaves the destination as
it was and no litter beside it. Several files that belong together are all complete before the first is renamed.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from svmpress.errors import InputError

PathLike = str | os.PathLike[str]


@contextmanager
def replacing(*paths: PathLike) -> Iterator[tuple[BinaryIO, ...]]:
    r"""Open one binary file for each path; on leaving without an error they replace what was there, together.

    A symbolic link is followed, the permissions of a file that is replaced are kept, and what is no regular file
    (``/dev/stdout``, a named pipe) is written to directly.

    Raises
    ------
    InputError
        When the operating system refuses: no such folder, no permission, no space.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with replacing(folder / "labels.txt") as (f,):
    ...     _ = f.write(b"1\n")
    >>> (folder / "labels.txt").read_bytes()
    b'1\n'
    """
    try:
        with ExitStack() as stack:
            pending = []
            for name in paths:
                pending.append(_Pending(Path(os.path.realpath(name))))
                stack.callback(pending[-1].discard)
            yield tuple(p.file for p in pending)
            for p in pending:
                p.settle()
            for p in pending:
                p.commit()
    except OSError as e:
        names = " and ".join(os.fspath(name) for name in paths)
        raise InputError(f"cannot write {names}: {e.strerror or e}") from e


class _Pending:
    """A destination and the temporary file that will become it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.temporary: Path | None = None
        if path.is_dir():
            raise IsADirectoryError(None, "it is a folder")
        if path.exists() and not path.is_file():
            self.file = cast("BinaryIO", path.open("wb"))
            return
        mode = _mode_of(path)
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:64]}.", suffix=".tmp", dir=path.parent)
        self.temporary = Path(name)
        self.file = cast("BinaryIO", os.fdopen(handle, "wb"))
        os.chmod(name, mode)

    def settle(self) -> None:
        """Bring everything to the disk."""
        self.file.flush()
        if self.temporary is not None:
            os.fsync(self.file.fileno())
        self.file.close()

    def commit(self) -> None:
        """Take the destination's name."""
        if self.temporary is None:
            return
        os.replace(self.temporary, self.path)
        self.temporary = None
        with suppress(OSError):  # the rename itself reaches the disk; some systems cannot open folders
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def discard(self) -> None:
        """Close, and remove the temporary file if it is still there."""
        with suppress(OSError):  # closing flushes, which fails again on a full disk
            self.file.close()
        if self.temporary is not None:
            self.temporary.unlink(missing_ok=True)


def _mode_of(path: Path) -> int:
    """Return the permissions that the new file shall have: the old file's, or the user's default."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
