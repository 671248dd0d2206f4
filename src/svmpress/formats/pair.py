"""A LibSVM model and its range file: two files that are one model, and are always the same one.

The scaling of a model goes to a file of its own, and no operating system replaces two files at once. So each says
which the other is, by a digest in a line that LibSVM's programs do not read, and the scaling of the model that is
about to be replaced is kept until the new one is there:

    m.model.range~    the old scaling, or that there is none, and the digest of the old model        1. written
    m.model.range     the new scaling, and the digest of the new model                               2. replaced
    m.model           the new model, and the digest of its scaling                                   3. replaced
    m.model.range~                                                                                   4. removed

Whoever reads takes the range file that names the model that is there, so that every moment is either before step 3 or
after it. Writers and readers hold a lock on the folder from step 1 to 4, and while files are opened. A pair that does
not belong together is refused: its answers would be wrong without a word.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from svmpress.errors import FormatError, InputError
from svmpress.formats.libsvm_text import SCALED_BY, Parsed, parse
from svmpress.formats.ranges import beside
from svmpress.storage import flush_folder, locked_folder, replacing

_SCALES = "# svmpress: scales "


def digest(lines: Iterable[bytes]) -> str:
    r"""Return the SHA-256 of lines, whatever their ends are.

    Examples
    --------
    >>> digest([b"x\r\n"]) == digest([b"x\n"])
    True
    """
    sha = hashlib.sha256()
    for line in lines:
        sha.update(line.replace(b"\r\n", b"\n"))
    return sha.hexdigest()


def _kept(path: Path) -> Path:
    """Return where the scaling of a model is while it is being replaced."""
    return path.with_name(beside(path).name + "~")


@dataclass(frozen=True)
class _Range:
    """A range file: its lines, and the digest of the model that it belongs to, if it says so."""

    lines: tuple[bytes, ...]
    owner: str | None

    @classmethod
    def of(cls, content: bytes) -> _Range:
        lines = content.splitlines(keepends=True)
        if lines and lines[-1].decode("ascii", "replace").startswith(_SCALES):
            return cls(tuple(lines[:-1]), lines[-1].decode("ascii", "replace").removeprefix(_SCALES).strip())
        return cls(tuple(lines), None)


# ---------------------------------------------------------------------------------------------------------
# Reading
# ---------------------------------------------------------------------------------------------------------


def read_pair(path: Path) -> tuple[Parsed, list[str] | None]:
    """Return a model file and the lines of the range file that belongs to it; None where there is none.

    Raises
    ------
    FormatError
        When the model file is damaged, or the two files do not belong together.
    """
    with ExitStack() as stack:
        with locked_folder(path.parent, shared=True):
            model = stack.enter_context(path.open("rb"))
            ranges, kept = (_opened(stack, p) for p in (beside(path), _kept(path)))
        parsed = parse(path, model)
        found = None if ranges is None else _Range.of(ranges.read())
        old = None if kept is None else _Range.of(kept.read())
    if (found is None or found.owner not in (None, parsed.digest)) and old is not None and old.owner == parsed.digest:
        found = old if old.lines else None  # the next model was not finished
    _refuse_strangers(path, parsed, found)
    if found is None:
        return parsed, None
    return parsed, _text(beside(path), found)


def lines_of_range(path: Path) -> list[str]:
    """Return the lines of a range file that somebody has named, whichever model it says that it belongs to."""
    return _text(path, _Range.of(path.read_bytes()))


def _text(path: Path, found: _Range) -> list[str]:
    try:
        return b"".join(found.lines).decode("ascii").split("\n")
    except UnicodeDecodeError as e:
        raise FormatError(f"{path} is not a range file of svm-scale: it is not plain text") from e


def _opened(stack: ExitStack, path: Path) -> BinaryIO | None:
    try:
        return stack.enter_context(path.open("rb"))
    except (FileNotFoundError, IsADirectoryError):
        return None
    except OSError:
        if len(path.name) > 255:  # no file can have such a name, though the model's own fits
            return None
        raise


def _refuse_strangers(path: Path, parsed: Parsed, found: _Range | None) -> None:
    """Raise an error if the two files do not belong together."""
    how = "write the model again, or, if you know that they do, remove the lines '# svmpress: ...' at their ends"
    if found is None:
        if parsed.scaled_by is not None:
            raise FormatError(f"{path} was saved with an input scaling, and {beside(path)} is not there: {how}")
    elif found.owner not in (None, parsed.digest):
        raise FormatError(f"{beside(path)} belongs to another model than {path}: {how}")
    elif parsed.scaled_by not in (None, digest(found.lines)):
        raise FormatError(f"{path} was saved with another input scaling than {beside(path)} holds: {how}")


# ---------------------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------------------


def write_pair(path: Path, lines: Iterable[str], scales: Sequence[str]) -> None:
    """Write the lines of a model file, and those of its range file if there are any, whole or not at all.

    Raises
    ------
    InputError
        When the operating system refuses; it says what is true then.
    """
    ranges, body = beside(path), [text.encode("ascii") + b"\n" for text in scales]
    with (
        _replaced_together(path, scaled=bool(body)) as before,
        replacing(*([ranges] if body else []), path, before=before) as files,
    ):
        sha = hashlib.sha256()
        for line in _with_trailer(lines, body):
            files[-1].write(line)
            sha.update(line)
        if body:
            files[0].writelines([*body, f"{_SCALES}{sha.hexdigest()}\n".encode()])


def _with_trailer(lines: Iterable[str], body: Sequence[bytes]) -> Iterator[bytes]:
    for text in lines:
        yield text.encode("ascii") + b"\n"
    if body:
        yield b" ".join([*SCALED_BY, digest(body).encode()]) + b"\n"


@contextmanager
def _replaced_together(path: Path, *, scaled: bool) -> Iterator[Callable[[], None]]:
    """Give what to call when the new files are complete: from then on the old scaling is kept, under a lock."""
    began = False
    with ExitStack() as held:

        def begin() -> None:
            nonlocal began
            if not scaled and not beside(path).exists():
                return
            held.enter_context(locked_folder(path.parent))
            began = True
            if path.exists():
                _keep(path)
            if not scaled:
                beside(path).unlink(missing_ok=True)
                flush_folder(path.parent)

        try:
            yield begin
        except InputError as e:
            if began:
                raise InputError(f"{e}; {_put_back(path)}") from e
            raise
        if began:
            with suppress(OSError):  # it names another model than the one that is there now
                _kept(path).unlink(missing_ok=True)


def _keep(path: Path) -> None:
    """Write down which scaling the model has that is there."""
    with path.open("rb") as file:
        owner = digest(file)
    try:
        found = _Range.of(beside(path).read_bytes())
    except FileNotFoundError:
        found = _Range((), None)
    if found.owner not in (None, owner):
        return  # it belongs to another model; what was kept before may be the right one
    with replacing(_kept(path)) as (kept,):
        kept.writelines([*found.lines, f"{_SCALES}{owner}\n".encode()])


def _put_back(path: Path) -> str:
    """Put the old scaling back where it was, and return what is true then."""
    try:
        old = _Range.of(_kept(path).read_bytes())
        if old.lines:
            _kept(path).replace(beside(path))
        else:
            beside(path).unlink(missing_ok=True)
            _kept(path).unlink()
    except FileNotFoundError:  # there was no model, or it is as it was
        return "the model that was there, if any, is as it was"
    except OSError:
        return f"the model that was there is as it was, and its scaling is in {_kept(path)}"
    return "the model that was there and its scaling are as they were"
