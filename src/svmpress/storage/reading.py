"""The boundary between parsers and people: whatever a parser raises on bytes becomes one sentence about the file.

zlib, zipfile, tokenize, NumPy, SciPy, Arrow and Python itself have dozens of errors for bytes that make no sense.
None of them is a defect of svmpress, and none may be taken for a failure of what happens to be written meanwhile.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from svmpress.errors import FormatError, InputError, SvmpressError, shown

_OF_THE_SYSTEM = {
    errno.EACCES,
    errno.EBADF,
    errno.EIO,
    errno.EISDIR,
    errno.ELOOP,
    errno.EMFILE,
    errno.ENAMETOOLONG,
    errno.ENFILE,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EPERM,
    errno.ESTALE,
    errno.ETIMEDOUT,
}
"""Errors of reading itself; any other number is a parser's way to say that it does not understand."""


@contextmanager
def reading(where: object, what: str = "") -> Iterator[None]:
    """Turn what a parser raises within into an error about the file.

    Parameters
    ----------
    where : object
        The file, as messages call it.
    what : str
        What the file should have been, for the message; may be left out.

    Raises
    ------
    FormatError
        For bytes that make no sense.
    InputError
        When the operating system refuses, or memory is short.

    Examples
    --------
    >>> with reading("rows.npz", "NumPy archive"):
    ...     raise KeyError("descr")
    Traceback (most recent call last):
        ...
    svmpress.errors.FormatError: rows.npz is not a NumPy archive, or is damaged: KeyError: 'descr'
    """
    try:
        yield
    except (SvmpressError, Warning, BrokenPipeError):
        raise
    except MemoryError as e:
        raise InputError(f"there is not enough memory to read {where}") from e
    except Exception as e:
        if isinstance(e, OSError) and e.errno in _OF_THE_SYSTEM:
            raise InputError(f"cannot read {where}: {e.strerror or e}") from e
        kind = f"is not a {what}, or is damaged" if what else "is damaged"
        text = str(e).strip()
        reason = f"{type(e).__name__}: {shown(text.splitlines()[0])}" if text else type(e).__name__
        raise FormatError(f"{where} {kind}: {reason}") from e
