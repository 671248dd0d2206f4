"""What a file of somebody else may cost: limits on what is read, in one place.

A small file must not ask for huge memory. What a file merely claims (a number of features, a length of a line) is held
against these limits before anything is made of it, and what it unfolds to (a compressed member, the machines of a
thousand classes) against its own size.

    with svmpress.limits(features=10**9):
        model = svmpress.load("wide.model")
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from typing import Any

from svmpress.errors import FormatError, InputError


@dataclass(frozen=True)
class Limits:
    """The most that a file may ask for.

    Parameters
    ----------
    features : int
        Columns of rows and of vectors.
    classes : int
        Classes of a model.
    line : int
        Bytes of a line of text.
    expansion : int
        Bytes in memory for each byte of a file.
    free : int
        Bytes in memory that any file may take, whatever its size.
    """

    features: int = 2**24
    classes: int = 2_000
    line: int = 2**26
    expansion: int = 100
    free: int = 2**26

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"the limit {field.name} must be a whole number of at least 1, not {str(value)[:40]}")

    def memory(self, file_bytes: int) -> int:
        """Return the bytes of memory that a file of so many bytes may take."""
        return self.free + self.expansion * file_bytes

    def check(self, name: str, value: int, where: object) -> None:
        """Raise an error if a file asks for more than the limit of that name.

        Raises
        ------
        FormatError
            With what it asks for, and how to allow it.

        Examples
        --------
        >>> Limits().check("features", 2**31, "wide.model")
        Traceback (most recent call last):
            ...
        svmpress.errors.FormatError: wide.model asks for 2,147,483,648 features, and the limit is 16,777,216: if you \
trust the file, raise the limit (svmpress.limits(features=...), on the command line --allow features=...)
        """
        most = getattr(self, name)
        if value > most:
            unit = {"line": "bytes in one line"}.get(name, name)
            raise FormatError(f"{where} asks for {value:,} {unit}, and the limit is {most:,}: {_how(name)}")

    def check_memory(self, needed: int, file_bytes: int, where: object) -> None:
        """Raise an error if a file of so many bytes needs more memory than it may take.

        Raises
        ------
        FormatError
            With what it needs, and how to allow it.
        """
        if needed > self.memory(file_bytes):
            raise FormatError(
                f"{where} has {file_bytes:,} bytes and unfolds to {needed:,} or more, and the limit is "
                f"{self.memory(file_bytes):,}: {_how('expansion')}"
            )


def _how(name: str) -> str:
    return (
        f"if you trust the file, raise the limit (svmpress.limits({name}=...), on the command line --allow {name}=...)"
    )


_DEFAULT = Limits()
_current: ContextVar[Limits | None] = ContextVar("limits", default=None)


def current_limits() -> Limits:
    """Return the limits that hold here."""
    return _current.get() or _DEFAULT


@contextmanager
def limits(**changes: int) -> Iterator[Limits]:
    """Change limits on what is read, within a ``with`` block of this thread.

    Parameters
    ----------
    **changes
        Fields of :class:`Limits`.

    Examples
    --------
    >>> with limits(classes=5_000) as changed:
    ...     changed.classes
    5000
    """
    known: dict[str, Any] = {field.name: None for field in fields(Limits)}
    for name in changes:
        if name not in known:
            raise InputError(f"there is no limit {name[:40]!r}; there are {', '.join(known)}")
    changed = replace(current_limits(), **changes)
    token = _current.set(changed)
    try:
        yield changed
    finally:
        _current.reset(token)
