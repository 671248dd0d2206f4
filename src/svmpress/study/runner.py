"""Running a study: orders to worker processes, answers to the journal.

The parent process computes nothing. It hands each set's teacher to a worker, then the set's units as soon as the
teacher is in the cache, and appends every answer to the journal: one writer, so lines never mix. What has a settled
record is not run again, so a study that was stopped, by Ctrl-C, a kill or a power cut, goes on where it stopped.

A worker that takes longer than the limit over a unit is killed, and the sizes that it has not delivered are recorded
as unfinished; with a larger limit, or none, they are tried again. A worker that dies takes one unit with it, not the
study.
"""

from __future__ import annotations

import datetime
import math
import os
import platform
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray

from svmpress import __version__, predictor
from svmpress.errors import InputError
from svmpress.numerics import executor_of
from svmpress.study.plan import Plan, Unit, units, work
from svmpress.study.pools import ExecutorWorker, Hand, Pool, ProcessWorker
from svmpress.study.records import FAILED, SKIPPED, UNFINISHED, Cell, Journal, Key, Records, RunRecord, SetRecord
from svmpress.study.task import StudyMethod
from svmpress.study.worker import Source, revision

RECORDS = "study.jsonl"
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

Progress = Callable[[str, int, int], None]
Say = Callable[[str], None]


def cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux has it
        return os.cpu_count() or 1


def run(
    plan: Plan,
    methods: Mapping[str, StudyMethod],
    out: Path,
    *,
    folder: Path | None = None,
    teachers: Path | None = None,
    jobs: int = 1,
    limit: float | None = None,
    renew: bool = False,
    executor: Any = None,
    progress: Progress | None = None,
    say: Say | None = None,
) -> Records:
    """Run what is missing of a study and return all records.

    Parameters
    ----------
    plan : Plan
    methods : mapping
        Those that the plan names, by name.
    out : Path
        Folder for ``study.jsonl`` and the teachers; made if need be.
    folder : Path, optional
        Of the NPZ files; None: from the network.
    teachers : Path, optional
        Folder of trained teachers, ``OUT/teachers`` by default.
    jobs : int
        Worker processes; the cores are shared out among them as threads.
    limit : float, optional
        Seconds that a unit may take.
    renew : bool
        Whether to run again what other code than the present made.
    executor : Executor of concurrent.futures, or a client of Dask, optional
        Who does the work instead of processes of this one: ``jobs`` orders at a time. Its workers must see the folders
        under the same names; what takes too long there cannot be stopped, so that there is no ``limit``.
    progress : callable, optional
        Called with (stage, done, total), in cells.
    say : callable, optional
        Called with a sentence for each unit that is finished.
    """
    if jobs < 1:
        raise InputError(f"jobs must be at least 1, not {jobs}")
    if limit is not None and not 0 < limit < math.inf:
        raise InputError(f"the limit must be a number of seconds, more than 0, not {limit:g}")
    pool_of_others = executor_of(executor)
    if pool_of_others is not None and limit is not None:
        raise InputError("a limit is for processes that can be killed: leave the limit out, or the executor")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise InputError(f"cannot make the folder {out}: {e.strerror or e}") from e
    source = Source(folder, teachers or out / "teachers", plan.rows)
    threads = max(1, cores() // jobs)
    path = out / RECORDS
    with Journal(path) as journal:
        known = Records.load(path)
        other = {(r.rows, bool(r.quick)) for r in known.runs} - {(plan.rows, plan.quick)}
        if other:
            had, wanted = _kind(*other.pop()), _kind(plan.rows, plan.quick)
            raise InputError(f"{path} is of a study with {had}, not with {wanted}: choose another --out")
        record = _run_record(plan, jobs, threads, limit)
        journal.append(record)
        with _threads(threads):
            if pool_of_others is None:
                pool = Pool([ProcessWorker(source, dict(methods), threads) for _ in range(jobs)])
            else:
                pool = Pool([ExecutorWorker(pool_of_others, source, dict(methods)) for _ in range(jobs)])
            Run(plan, methods, known, journal, pool, limit, progress, say, record.code, renew).run()
    return Records.load(path)


def _kind(rows: int | None, quick: bool) -> str:
    return ("all rows" if rows is None else f"at most {rows:,} rows") + " and quick methods" * quick


def _run_record(plan: Plan, jobs: int, threads: int, limit: float | None) -> RunRecord:
    return RunRecord(
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        version=__version__,
        python=platform.python_version(),
        numpy=np.__version__,
        sklearn=sklearn.__version__,
        cores=cores(),
        jobs=jobs,
        threads=threads,
        predictor=predictor.describe().split(" (")[0],
        rows=plan.rows,
        limit=limit,
        code=revision(),
        quick=plan.quick or None,
    )


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Let processes that are started in here use so many threads: libraries read these variables when they load."""
    before = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, str(count)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


# ---------------------------------------------------------------------------------------------------------
# The study
# ---------------------------------------------------------------------------------------------------------


@dataclass
class Run:
    """One run over what is missing; see :func:`run`."""

    plan: Plan
    methods: Mapping[str, StudyMethod]
    known: Records
    journal: Journal
    pool: Pool
    limit: float | None
    progress: Progress | None
    say: Say | None
    code: str | None = None
    renew: bool = False
    waiting: deque[str] = field(default_factory=deque)
    ready: list[Unit] = field(default_factory=list)
    labels: dict[str, NDArray[Any]] = field(default_factory=dict)
    cost: dict[Unit, float] = field(default_factory=dict)
    cells: set[Key] = field(default_factory=set)
    missing: set[Key] = field(default_factory=set)

    def run(self) -> None:
        """Work until nothing is left."""
        self.waiting.extend(sorted(self.plan.sets, key=_large_first))
        try:
            while self.waiting or self.ready or self.pool.busy():
                self._hand_out()
                for worker, kind, content in self.pool.messages():
                    self._take(worker, kind, content)
                self._stop_the_late()
                self._show()
        finally:
            self.pool.stop()

    # -- orders --------------------------------------------------------------------------------------------

    def _hand_out(self) -> None:
        """Teachers first, then units by seed, cheap ones first: a run that is stopped has much of everything."""
        while self.waiting and (worker := self.pool.free()):
            worker.give(self.waiting.popleft())
        while self.ready and (worker := self.pool.free()):
            unit = self.ready.pop(0)
            worker.give(unit, self.labels[unit.set])

    def _add_units(self, about: SetRecord) -> None:
        for unit in units(self.plan, about.name, about.vectors, self.methods):
            self.cells.update(unit.keys)
            open_ = [key for key in unit.keys if not self._settled(key)]
            self.missing.update(open_)
            if open_:
                left = replace(unit, sizes=tuple(size for *_, size in open_))
                self.cost[left] = work(left, about)
                self.ready.append(left)
        self.ready.sort(key=lambda unit: (self.plan.seeds.index(unit.seed), self.cost[unit]))

    def _settled(self, key: Key) -> bool:
        cell = self.known.cells.get(key)
        return cell is not None and cell.settled(self.limit) and not (self.renew and cell.code != self.code)

    # -- answers -------------------------------------------------------------------------------------------

    def _take(self, worker: Hand, kind: str, content: Any) -> None:
        if kind == "set":
            about, labels = content
            self._check_data(about)
            self.labels[about.name] = labels
            if self.known.sets.get(about.name) != about:
                self.journal.append(about)
            self._add_units(about)
        elif kind == "began":
            worker.since = time.monotonic()
        elif kind == "cell":
            self.journal.append(content)
            if content.size in worker.missing:
                worker.missing.remove(content.size)
            self.missing.discard(content.key)
        elif kind == "end":
            self._close(worker, SKIPPED, content or "the method makes no model of this size on this set")
        elif kind == "lacks" and not isinstance(worker.order, str):
            self._close(worker, SKIPPED, content[0], needs=content[1])
        elif isinstance(worker.order, str):
            raise self._teacher_failed(worker.order, kind, content, worker)
        elif kind == "dead":
            code = worker.stop()
            self._close(worker, FAILED, f"the process ended with code {code}; a lack of memory can be the reason")
        else:
            self._close(worker, FAILED, content.strip().splitlines()[-1])

    def _check_data(self, about: SetRecord) -> None:
        """Refuse to put cells of other rows, or of another teacher, beside those that are there."""
        before = self.known.sets.get(about.name)
        if before is None:
            return
        if not about.same_data(before):
            raise InputError(
                f"{self.journal.path} has records of the set {about.name} with other rows or labels than those that "
                "it has now: choose another --out"
            )
        if not about.same_teacher(before):
            teachers = " and ".join(f"{s.vectors:,} vectors, C = {s.C:g}, gamma = {s.gamma:g}" for s in (before, about))
            raise InputError(
                f"{self.journal.path} has records of another SVM on {about.name} than the present one ({teachers}): "
                "choose another --out"
            )

    def _teacher_failed(self, name: str, kind: str, content: Any, worker: Hand) -> Exception:
        if kind in ("bad", "lacks"):
            return InputError(content if kind == "bad" else content[0])
        if kind == "dead":
            return InputError(f"training on {name} ended with code {worker.stop()}; is there enough memory?")
        return RuntimeError(f"training on {name} failed:\n{content}")

    def _close(self, worker: Hand, status: str, reason: str, needs: str | None = None) -> None:
        """Record what a unit has not delivered, and free its worker."""
        unit = worker.order
        worker.order = None
        if isinstance(unit, str) or unit is None:
            return
        limit = self.limit if status == UNFINISHED else None
        for size in worker.missing:
            key = (unit.set, unit.method, unit.seed, size)
            cell = Cell(*key, status, version=__version__, limit=limit, notes=reason, code=self.code, needs=needs)
            self.journal.append(cell)
            self.missing.discard(key)
        if self.say is not None:
            seconds = time.monotonic() - (worker.since or time.monotonic())
            what = f"{len(unit.sizes) - len(worker.missing)} of {len(unit.sizes)} sizes up to {unit.sizes[-1]}"
            why = f" ({status}: {reason})" if worker.missing else ""
            left = f"{len(self.missing):,} cells left"
            self.say(f"{unit.set} {unit.method} seed {unit.seed}: {what} in {seconds:.0f} s{why}; {left}")

    def _stop_the_late(self) -> None:
        if self.limit is None:
            return
        for worker in self.pool.busy():
            if worker.since is None or time.monotonic() - worker.since <= self.limit:
                continue
            for kind, content in worker.messages():  # what it has finished counts
                self._take(worker, kind, content)
            if worker.order is not None:
                worker.stop()
                self._close(worker, UNFINISHED, f"not finished within {self.limit:g} s")

    def _show(self) -> None:
        if self.progress is None:
            return
        if self.cells:
            self.progress("study", len(self.cells) - len(self.missing), len(self.cells))
        else:
            self.progress("training", len(self.labels), len(self.plan.sets))


def _large_first(name: str) -> int:
    """Order sets so that the longest trainings start first."""
    order = ("mnist", "letters", "20news", "ohsumed", "magic", "pageblocks")
    return order.index(name) if name in order else -1
