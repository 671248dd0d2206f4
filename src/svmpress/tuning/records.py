"""Trials as frozen records, and the file that keeps them.

A file of records is JSON, one object a line: first a header that says which search it belongs to, then one line a
trial, written and flushed to the disk when the trial ends. A search that is killed has lost the trial that it was in
and nothing else; a last line that was cut short is dropped. Proposals depend on the seed, on the number of a trial
and on the trials before it only, so a search that goes on from a file does what it would have done without the
interruption.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

from svmpress.errors import FormatError, InputError

PROTOCOL = 1
_BEGINNING = b'{"svmpress_search"'
Stage = Literal["trial", "finalist"]


@dataclass(frozen=True)
class Point:
    """A compressed model: its vectors, its outputs, and its score on held-out rows (the mean over folds)."""

    vectors: int
    outputs: int
    score: float


@dataclass(frozen=True)
class Trial:
    """One setting of the parameters, and what its SVM is worth at several sizes.

    Parameters
    ----------
    number : int
        From 0; a finalist has the number of the trial that it repeats.
    stage : "trial" or "finalist"
        On a sample with a brief compression, or on all rows with the real one.
    params : mapping
        Of the estimator.
    rows : int
        Rows that it was trained on.
    source : Point or None
        The SVM before compression; None if the training failed.
    curve : tuple of Point
        Compressed models, by size.
    seconds : float
    error : str
        Why the training failed; empty if it did not.
    """

    number: int
    stage: Stage
    params: Mapping[str, Any]
    rows: int
    source: Point | None
    curve: tuple[Point, ...]
    seconds: float
    error: str = ""

    @property
    def whole_curve(self) -> tuple[Point, ...]:
        """The compressed models by size, and the SVM itself at the end unless one of them beats it."""
        points = sorted(self.curve, key=lambda p: p.vectors)
        if self.source is not None and self.source.score >= max((p.score for p in points), default=-math.inf):
            points = [p for p in points if p.vectors < self.source.vectors] + [self.source]
        return tuple(points)

    def curve_within(self, limit: int | None) -> tuple[Point, ...]:
        """Return the whole curve without what has more vectors than the goal allows: the SVM itself, mostly.

        Examples
        --------
        >>> trial = Trial(0, "trial", {}, 10, Point(50, 1, 0.9), (Point(2, 1, 0.6),), 0.1)
        >>> [p.vectors for p in trial.curve_within(None)], [p.vectors for p in trial.curve_within(4)]
        ([2, 50], [2])
        """
        return tuple(p for p in self.whole_curve if limit is None or p.vectors <= limit)

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Trial:
        """Return the record that was written as this object."""
        given = dict(content)
        source = given.pop("source")
        curve = tuple(Point(**p) for p in given.pop("curve"))
        return cls(source=None if source is None else Point(**source), curve=curve, **given)


@dataclass(eq=False)
class Records:
    """The header of a search and its records, in the order in which they were made.

    Parameters
    ----------
    header : mapping
        What makes two searches the same: the data, the estimator, the goal, the space and so on.
    trials : list of Trial
        Trials and finalists.
    """

    header: Mapping[str, Any]
    trials: list[Trial] = field(default_factory=list)
    _file: IO[bytes] | None = None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Records:
        """Read a file of records.

        Raises
        ------
        FormatError
            When it is not one.
        """
        try:
            lines = Path(path).read_bytes().split(b"\n")
        except OSError as e:
            raise InputError(f"cannot read {path}: {e.strerror or e}") from e
        return cls._parsed(lines[:-1], path)

    @staticmethod
    def discard(path: str | os.PathLike[str]) -> None:
        """Remove a file of records, if there is one.

        Raises
        ------
        FormatError
            When it is something else, which is left alone.
        InputError
            When it belongs to a search that is running.
        """
        try:
            with Path(path).open("rb") as file:
                _lock(file, path)
                head = file.read(len(_BEGINNING))
                if not _BEGINNING.startswith(head):
                    raise FormatError(f"{path} does not hold the records of a search, and is not removed")
                Path(path).unlink()
        except FileNotFoundError:
            return
        except OSError as e:
            raise InputError(f"cannot remove {path}: {e.strerror or e}") from e

    @classmethod
    def _parsed(cls, lines: list[bytes], path: str | os.PathLike[str]) -> Records:
        try:
            header = json.loads(lines[0])
            if header["svmpress_search"] != PROTOCOL:
                raise FormatError(f"{path} was written by another version of svmpress; name another file")
            return cls(header["search"], [Trial.of(json.loads(line)) for line in lines[1:]])
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as e:
            if isinstance(e, FormatError):
                raise
            raise FormatError(f"{path} does not hold the records of a search") from e

    @classmethod
    @contextlib.contextmanager
    def kept(cls, path: str | os.PathLike[str], header: Mapping[str, Any]) -> Iterator[Records]:
        """Open a file of records to go on with, or begin one; it is locked as long as it is open.

        Raises
        ------
        InputError
            When it belongs to another search, or to a process that is still running.
        """
        with _opened(path) as file:
            _lock(file, path)
            file.seek(0)
            content = file.read()
            whole = content.rfind(b"\n") + 1  # what follows the last line break was cut short
            plain = json.loads(json.dumps(header))
            if whole:
                records = cls._parsed(content[:whole].split(b"\n")[:-1], path)
                _refuse_another(records.header, plain, path)
                _truncate(file, whole)
                records._file = file
            else:
                if not content.startswith(_BEGINNING[: len(content)]):
                    raise FormatError(f"{path} does not hold the records of a search")
                records = cls(plain, [], file)
                try:
                    _truncate(file, 0)
                    records._write({"svmpress_search": PROTOCOL, "search": plain})
                except BaseException:  # a full disk, mostly: half a header would be of use to nobody
                    Path(path).unlink(missing_ok=True)
                    raise
            try:
                yield records
            except Exception:
                if not records.trials:  # nothing worth keeping: the search could not begin
                    Path(path).unlink(missing_ok=True)
                raise

    def append(self, trial: Trial) -> None:
        """Keep one more record, on the disk before this returns."""
        self._write(asdict(trial))
        self.trials.append(trial)

    def _write(self, content: Mapping[str, Any]) -> None:
        assert self._file is not None, "opened for reading only"
        line = json.dumps(content).encode() + b"\n"
        try:
            written = self._file.write(line)  # at the end, whatever was read before
            os.fsync(self._file.fileno())
        except OSError as e:
            raise InputError(f"cannot write {self._file.name}: {e.strerror or e}") from e
        if written != len(line):
            raise InputError(f"cannot write {self._file.name}: no space left")

    @property
    def tried(self) -> list[Trial]:
        """The trials, finalists left out."""
        return [t for t in self.trials if t.stage == "trial"]

    @property
    def finalists(self) -> list[Trial]:
        """The finalists."""
        return [t for t in self.trials if t.stage == "finalist"]


def plain(value: Any) -> Any:
    """Return a scalar of NumPy as the number or text of Python that JSON can keep; anything else as it is.

    Examples
    --------
    >>> plain(np.int64(4)), plain(np.float32(0.5)), plain(None)
    (4, 0.5, None)
    """
    return value.item() if isinstance(value, np.generic) else value


def _opened(path: str | os.PathLike[str]) -> IO[bytes]:
    try:
        return Path(path).open("a+b", buffering=0)  # what could not be written is not tried again on closing
    except OSError as e:
        raise InputError(f"cannot write {path}: {e.strerror or e}") from e


def _truncate(file: IO[bytes], size: int) -> None:
    try:
        file.truncate(size)
    except OSError as e:
        raise InputError(f"cannot write {file.name}: {e.strerror or e}") from e


def _lock(file: IO[bytes], path: str | os.PathLike[str]) -> None:
    try:
        import fcntl
    except ImportError:  # not on Windows: two searches at once on one file are on their own there
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as e:
        raise InputError(f"{path} is in use by another search") from e


def _refuse_another(have: Mapping[str, Any], want: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    other = [name for name in want if name != "limit" and have.get(name) != want[name]]  # a limit may be measured
    if other:
        raise InputError(
            f"{path} belongs to another search ({_NAMES.get(other[0], f'the values of {other[0]}')} differ): "
            "remove it (--restart) to begin anew, or name another file"
        )


_NAMES = {
    "random_state": "the seeds",
    "data": "the data",
    "estimator": "the estimators",
    "goal": "the goals",
    "space": "the parameter ranges",
}


@contextlib.contextmanager
def keeping(storage: str | os.PathLike[str] | None, header: Mapping[str, Any]) -> Iterator[Records]:
    """Open the file that keeps the trials: the caller's, or one that is removed unless the search is interrupted."""
    if storage is not None:
        with Records.kept(storage, header) as records:
            yield records
        return
    handle, path = tempfile.mkstemp(prefix="svmpress-search-", suffix=".jsonl")
    os.close(handle)
    try:
        with Records.kept(path, header) as records:
            yield records
    except KeyboardInterrupt as e:
        e.add_note(f"the trials are kept in {path}: search(..., storage={path!r}) goes on from there")
        raise
    except BaseException:
        Path(path).unlink(missing_ok=True)  # records without a trial have removed it themselves
        raise
    Path(path).unlink()
