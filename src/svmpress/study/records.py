"""Records: one JSON line for each thing that is known, appended as soon as it is known.

A file of records holds three kinds of lines, told apart by ``"kind"``:

    run     when, with what and on how many cores a study was run
    set     a data set and its teacher: a column of Table 1
    cell    one model: (set, method, seed, size) and what was measured, or why there is none

Lines are only ever appended, each by one ``write``. Of several lines about the same thing the last one counts, except
that what is done stays done. A kill can cut off the last line only: a reader ignores it, and the next
:class:`Journal` removes it, so that its cell is run again. Everything that figures, tables and pages show is a
function of :class:`Records`.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from svmpress.errors import FormatError, InputError

Key = tuple[str, str, int, int]
"""Set, method, seed, size."""


class Machine(NamedTuple):
    """Cores, processes, threads of each, what svmpress predicts with, and where a model was built."""

    cores: int
    jobs: int
    threads: int
    predictor: str
    device: str = "cpu"


DONE, SKIPPED, UNFINISHED, FAILED = "done", "skipped", "unfinished", "failed"


@dataclass(frozen=True)
class RunRecord:
    """How a study was run.

    Parameters
    ----------
    started : str
        UTC, ISO 8601.
    version : str
        Of svmpress; ``python``, ``numpy``, ``sklearn`` are those of the others.
    cores, jobs, threads : int
        Cores that the process may use, processes, threads of each.
    predictor : str
        What svmpress predicts with.
    rows : int, optional
        Training rows of each set at most.
    limit : float, optional
        Seconds that a unit of work may take.
    code : str, optional
        Revision of the code, where it is in a repository.
    quick : bool, optional
        Whether methods that take minutes had less work than by default.
    """

    started: str
    version: str
    python: str
    numpy: str
    sklearn: str
    cores: int
    jobs: int
    threads: int
    predictor: str
    rows: int | None = None
    limit: float | None = None
    code: str | None = None
    quick: bool | None = None

    @property
    def machine(self) -> Machine:
        """What times depend on, and cells of one study may differ in."""
        return Machine(self.cores, self.jobs, self.threads, self.predictor)


@dataclass(frozen=True)
class SetRecord:
    """A data set and its teacher: a column of Table 1.

    Parameters
    ----------
    name : str
    train, test, features, classes : int
        Rows, columns after preparation, labels.
    vectors : int
        Support vectors of the teacher.
    C, gamma, accuracy, train_seconds : float
        Of the teacher, accuracy on the test rows.
    digest : str, optional
        Of rows and labels, see :attr:`svmpress.study.sets.Split.digest`.
    """

    name: str
    train: int
    test: int
    features: int
    classes: int
    vectors: int
    C: float
    gamma: float
    accuracy: float
    train_seconds: float
    digest: str | None = None

    def same_data(self, other: SetRecord) -> bool:
        """Return whether two records can be of the same rows: of records without a digest only the numbers tell."""
        numbers = [(s.train, s.test, s.features, s.classes) for s in (self, other)]
        digests = {s.digest for s in (self, other) if s.digest}
        return numbers[0] == numbers[1] and len(digests) < 2

    def same_teacher(self, other: SetRecord) -> bool:
        """Return whether two records are of SVMs that are alike."""
        return (self.vectors, self.C, self.gamma) == (other.vectors, other.C, other.gamma)


@dataclass(frozen=True)
class Cell:
    """One model of the study.

    Parameters
    ----------
    set, method : str
    seed, size : int
        The number of vectors asked for.
    status : "done", "skipped", "unfinished" or "failed"
        A method that cannot do this, one that took longer than the limit, one that broke.
    accuracy, agreement : float
        On the test rows: the share of right answers, and of those that are the teacher's.
    vectors, multiply_adds, file_bytes : int
        Kernel evaluations and multiply-adds of a prediction, and bytes of the saved model.
    build_seconds : float
    predict_seconds : float
        Of 1,000 predictions, best of several.
    threads : int
        That the process might use.
    version : str
        Of svmpress.
    limit : float
        Seconds, if it was not finished within them.
    notes : str
        The reason of any status but "done"; what a reader should know.
    code : str, optional
        Revision of the code, where it is in a repository.
    needs : str, optional
        The module whose absence is the reason of "skipped": once it is installed, the cell is open again.
    device : str, optional
        Where it was built, if not on the cores.
    machine_vectors : int, optional
        The vectors that each machine uses, added up: kernel evaluations if no two machines shared a vector.
    """

    set: str
    method: str
    seed: int
    size: int
    status: str
    accuracy: float | None = None
    agreement: float | None = None
    vectors: int | None = None
    multiply_adds: int | None = None
    file_bytes: int | None = None
    build_seconds: float | None = None
    predict_seconds: float | None = None
    threads: int | None = None
    version: str | None = None
    limit: float | None = None
    notes: str = ""
    code: str | None = None
    needs: str | None = None
    device: str | None = None
    machine_vectors: int | None = None

    @property
    def key(self) -> Key:
        """Set, method, seed, size."""
        return self.set, self.method, self.seed, self.size

    def settled(self, limit: float | None) -> bool:
        """Return whether this need not be run again under a limit: what failed, or may finish now, is."""
        if self.status == UNFINISHED:
            return limit is not None and self.limit is not None and limit <= self.limit
        if self.needs is not None:
            return importlib.util.find_spec(self.needs) is None
        return self.status in (DONE, SKIPPED)


Record = RunRecord | SetRecord | Cell
_KINDS: dict[str, type[Any]] = {"run": RunRecord, "set": SetRecord, "cell": Cell}


@dataclass(frozen=True)
class Records:
    """Everything that is known: runs, sets by name, cells by key, and the machine of each cell.

    A journal has one writer at a time, which says first how it runs: a cell is of the last run before it. ``wanted``
    are methods that the study is to have, whether or not there are records of them.
    """

    runs: tuple[RunRecord, ...] = ()
    sets: dict[str, SetRecord] = field(default_factory=dict)
    cells: dict[Key, Cell] = field(default_factory=dict)
    machines: dict[Key, Machine] = field(default_factory=dict)
    wanted: tuple[str, ...] = ()

    @classmethod
    def of(cls, records: Iterable[Record]) -> Records:
        """Put records together, the later ones over the earlier ones; what is done stays done."""
        runs: list[RunRecord] = []
        sets: dict[str, SetRecord] = {}
        cells: dict[Key, Cell] = {}
        machines: dict[Key, Machine] = {}
        for record in records:
            if isinstance(record, RunRecord):
                runs.append(record)
            elif isinstance(record, SetRecord):
                sets[record.name] = record
            elif record.status == DONE or record.key not in cells or cells[record.key].status != DONE:
                cells[record.key] = record
                if runs:
                    machines[record.key] = runs[-1].machine._replace(device=record.device or "cpu")
        return cls(tuple(runs), sets, cells, machines)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Records:
        """Read a file of records; one that is not there has none."""
        return cls.of(read(path)) if Path(path).exists() else cls()

    def done(self) -> list[Cell]:
        """Return the cells that hold measurements, in order of their keys."""
        return [self.cells[key] for key in sorted(self.cells) if self.cells[key].status == DONE]


def read(path: str | os.PathLike[str]) -> list[Record]:
    """Return the records of a file in their order, but for a last line that is cut off."""
    try:
        content = Path(path).read_bytes()
    except OSError as e:
        raise InputError(f"cannot read {path}: {e.strerror or e}") from e
    whole, _, _ = content.rpartition(b"\n")
    lines = whole.split(b"\n") if whole else []
    return [_parsed(line, f"{path}, line {i}") for i, line in enumerate(lines, 1)]


def merged(journals: Iterable[Sequence[Record]]) -> list[Record]:
    """Return the records of several journals as those of one: of each cell the last, but what is done stays done.

    A run is kept if a cell of it is. What is known of a set is what the first journal says.

    Raises
    ------
    InputError
        When two journals have other rows, or another SVM, under the name of one set.
    """
    everything = [record for journal in journals for record in journal]
    sets: dict[str, SetRecord] = {}
    for about in everything:
        if isinstance(about, SetRecord):
            before = sets.setdefault(about.name, about)
            if not (about.same_data(before) and about.same_teacher(before)):
                raise InputError(f"the journals have different rows or SVMs under the name {about.name}")
    cells = Records.of(everything).cells
    kept: list[Record] = list(sets.values())
    run = said = None
    for record in everything:
        if isinstance(record, RunRecord):
            run = record
        elif isinstance(record, Cell) and cells[record.key] is record:
            if run is not None and run is not said:
                kept.append(said := run)
            kept.append(record)
    return kept


def to_line(record: Record) -> bytes:
    r"""Return a record as a line; fields that are None or empty are left out.

    Examples
    --------
    >>> to_line(Cell("magic", "dlib", 0, 10, "skipped", notes="needs dlib"))
    b'{"kind":"cell","set":"magic","method":"dlib","seed":0,"size":10,"status":"skipped","notes":"needs dlib"}\n'
    """
    kind = next(name for name, known in _KINDS.items() if isinstance(record, known))
    known = {name: value for name, value in asdict(record).items() if value is not None and value != ""}
    return json.dumps({"kind": kind, **known}, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _parsed(line: bytes, where: str) -> Record:
    try:
        content = json.loads(line)
        kind = _KINDS[content.pop("kind")]
        names = {f.name for f in fields(kind)}
        record: Record = kind(**{name: value for name, value in content.items() if name in names})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        raise FormatError(f"{where} is not a record of a study") from e
    return record


class Journal:
    """A file that records are appended to, by one process at a time; use it as a context manager.

    Parameters
    ----------
    path : path
        Made if need be; a last line that is cut off is removed.

    Raises
    ------
    InputError
        If another process is writing to it, or the operating system refuses.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "study.jsonl"
    >>> with Journal(path) as journal:
    ...     journal.append(Cell("magic", "dlib", 0, 10, "skipped"))
    >>> list(Records.load(path).cells)
    [('magic', 'dlib', 0, 10)]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as e:
            raise InputError(f"cannot write {self.path}: {e.strerror or e}") from e
        try:
            self._lock()
            self._mend()
        except BaseException:
            os.close(self._file)
            raise

    def _mend(self) -> None:
        """Remove a last line that is cut off: under the lock, or it might be one that another process is writing."""
        try:
            content = self.path.read_bytes()
            if content and not content.endswith(b"\n"):
                os.ftruncate(self._file, content.rfind(b"\n") + 1)
        except OSError as e:
            raise InputError(f"cannot write {self.path}: {e.strerror or e}") from e

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # no such locks on this system
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as e:
            raise InputError(f"another study is writing to {self.path}; wait for it, or choose another --out") from e

    def append(self, record: Record) -> None:
        """Write one line."""
        line = to_line(record)
        try:
            written = os.write(self._file, line)
        except OSError as e:
            raise InputError(f"cannot write {self.path}: {e.strerror or e}") from e
        if written != len(line):
            raise InputError(f"cannot write {self.path}: no space left")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)
