"""Files that appear whole or not at all.

Every file that svmpress writes is first written without a name in the folder of its destination, is flushed to the
disk, and only then takes its place. Whatever happens before that (an error, a full disk, Ctrl-C, the end of the
process) leaves the destination as it was and no litter beside it. Where the operating system knows no files without
a name, they have a temporary one, which only a killed process leaves behind. Several files that belong together are
all complete before the first takes its place.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

from svmpress.errors import InputError, shown

PathLike = str | os.PathLike[str]

_LONGEST_PREFIX = 64
"""Characters of a destination's name in that of its temporary file, which may be no longer than the system allows."""
_NO_NAMELESS = {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT}
"""What a file system answers that knows no files without a name."""


@contextmanager
def replacing(*paths: PathLike, before: Callable[[], None] | None = None) -> Iterator[tuple[BinaryIO, ...]]:
    r"""Open one binary file for each path; on leaving without an error they replace what was there, in their order.

    A symbolic link is followed, the permissions of a file that is replaced are kept, and what is no regular file
    (``/dev/stdout``, a named pipe) is written to directly.

    Parameters
    ----------
    *paths : path
    before : callable, optional
        Called when all files are complete, before the first takes its place.

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
    pending: list[_Pending] = []
    names = " and ".join(shown(os.fspath(name)) for name in paths)
    if "\0" in "".join(os.fspath(name) for name in paths):
        raise InputError(f"cannot write {names}: the name of a file cannot hold a zero byte")
    try:
        with ExitStack() as stack:
            for name in paths:
                pending.append(_Pending(Path(os.path.realpath(name))))
                stack.callback(pending[-1].discard)
                pending[-1].open()
            yield tuple(p.file for p in pending)
            for p in pending:
                p.settle()
            if before is not None:
                before()
            for p in pending:
                p.commit()
    except OSError as e:
        raise InputError(f"cannot write {names}: {e.strerror or e}") from e


class _Pending:
    """A destination and the file that will become it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.temporary: Path | None = None
        self.regular = True
        self.file: BinaryIO

    def open(self) -> None:
        """Begin the file that is to be filled."""
        if self.path.is_dir():
            raise IsADirectoryError(None, "it is a folder")
        self.regular = not self.path.exists() or self.path.is_file()
        handle = self._handle() if self.regular else os.open(self.path, os.O_WRONLY)
        self.file = cast("BinaryIO", os.fdopen(handle, "wb"))
        if self.regular:
            with suppress(FileNotFoundError):
                os.chmod(self._target(), stat.S_IMODE(self.path.stat().st_mode))

    def _handle(self) -> int:
        """Open a new file, without a name if that can be."""
        if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
            try:
                return os.open(self.path.parent, os.O_TMPFILE | os.O_WRONLY, 0o666)
            except OSError as e:
                if e.errno not in _NO_NAMELESS:
                    raise
        self.temporary = self._fresh_name()  # known before there is such a file: whatever interrupts us can remove it
        return os.open(self.temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)

    def _fresh_name(self) -> Path:
        return self.path.with_name(f".{self.path.name[:_LONGEST_PREFIX]}.{secrets.token_hex(6)}.tmp")

    def _target(self) -> int | Path:
        """Return what functions of the operating system may call the file: Windows wants a name."""
        return self.file.fileno() if self.temporary is None else self.temporary

    def settle(self) -> None:
        """Bring everything to the disk."""
        self.file.flush()
        if self.regular:
            os.fsync(self.file.fileno())
        else:
            self.file.close()

    def commit(self) -> None:
        """Take the destination's name."""
        if not self.regular:
            return
        if self.temporary is None:
            handle, self.temporary = self.file.fileno(), self._fresh_name()
            # only with a folder's handle, which an absolute name does not need, is the link of /proc followed
            os.link(f"/proc/self/fd/{handle}", self.temporary, src_dir_fd=handle, follow_symlinks=True)
        self.file.close()
        os.replace(self.temporary, self.path)
        self.temporary = None
        flush_folder(self.path.parent)

    def discard(self) -> None:
        """Close, and remove the temporary file if it is still there."""
        if hasattr(self, "file"):
            with suppress(OSError):  # closing flushes, which fails again on a full disk
                self.file.close()
        if self.temporary is not None:
            with suppress(OSError):
                self.temporary.unlink(missing_ok=True)


def flush_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system can do that."""
    with suppress(OSError):  # some systems cannot open folders
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
