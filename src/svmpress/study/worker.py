"""The process that builds and measures models: orders in, records out.

A worker is given names of sets (train the teacher, say what it is) and units of work, and answers with messages:

    ("set", (SetRecord, labels))    the teacher is in the cache; what it answers on the test rows
    ("began", None)                 the rows are loaded: from now on the limit counts
    ("cell", Cell)                  a model was built and measured
    ("end", reason)                 the order is carried out; a reason where a method cannot do the set
    ("lacks", (sentence, module))   a module is not installed
    ("bad", sentence)               the caller's input is at fault
    ("broke", text)                 svmpress is at fault, with the traceback

It keeps the sets that it used last, up to a gibibyte of rows. Ctrl-C is left to the parent; when the parent is gone, so
is the worker.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress import __version__
from svmpress.errors import MissingExtraError, SvmpressError
from svmpress.numerics import is_csr
from svmpress.study import sets
from svmpress.study.plan import Unit
from svmpress.study.records import DONE, Cell, SetRecord
from svmpress.study.task import Built, NotApplicable, StudyMethod, Task

_TIMED_ROWS = 1_000
_KEPT_BYTES = 2**30
_REPEATS = (3, 25)
_TIMING_SECONDS = 0.25
"""Repeat a prediction at least and at most so often, and in between until so much time has gone."""


@dataclass(frozen=True)
class Source:
    """Where sets and teachers are, and how many rows of them to use."""

    folder: Path | None
    teachers: Path
    rows: int | None = None


@dataclass(frozen=True, eq=False)
class Order:
    """A unit of work, and what the teacher of its set answers on the test rows."""

    unit: Unit
    teacher_labels: NDArray[Any]


def describe(task: Task, teacher_labels: NDArray[Any]) -> SetRecord:
    """Return what Table 1 says of a set."""
    return SetRecord(
        name=task.name,
        train=task.X.shape[0],
        test=task.X_test.shape[0],
        features=task.X.shape[1],
        classes=len(np.unique(task.y)),
        vectors=task.teacher.n_vectors,
        C=task.C,
        gamma=task.gamma,
        accuracy=_share(teacher_labels, task.y_test),
        train_seconds=_short(task.train_seconds),
        digest=task.digest or None,
    )


def revision(package: Path = Path(__file__).parents[1]) -> str | None:
    """Return the last revision of the code itself, marked if it was changed since; None where it is in no repository.

    Revisions of other files, as of a page that shows records, make no other code.

    Parameters
    ----------
    package : Path
        Its folder. A repository that the folder lies in but does not hold it, as around a virtual environment, is
        none of its own.
    """

    def git(*words: str) -> tuple[int, str]:
        command = ["git", "-C", str(package), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
        return done.returncode, done.stdout.strip()

    try:
        if git("ls-files", "--error-unmatch", "__init__.py")[0]:
            return None
        code, found = git("log", "-1", "--format=%h", "--", ".")
        if code or not found:
            return None
        return found + "-dirty" * (git("diff", "--quiet", "HEAD", "--", ".")[0] != 0)
    except (OSError, subprocess.SubprocessError):  # no git
        return None


def measure(
    task: Task,
    built: Built,
    teacher_labels: NDArray[Any],
    method: str,
    seed: int,
    threads: int,
    code: str | None = None,
) -> Cell:
    """Return the cell of a model: what it answers on the test rows, and what it costs.

    Parameters
    ----------
    task : Task
    built : Built
    teacher_labels : (n_test,)
        What the teacher answers.
    method : str
    seed : int
    threads, code
        For the record.
    """
    answers = built.predict(task.X_test)
    return Cell(
        set=task.name,
        method=method,
        seed=seed,
        size=built.size,
        status=DONE,
        accuracy=_share(answers, task.y_test),
        agreement=_share(answers, teacher_labels),
        vectors=built.vectors,
        multiply_adds=built.multiply_adds,
        file_bytes=built.file_bytes,
        build_seconds=_short(built.seconds),
        predict_seconds=_short(prediction_seconds(built.predict, task.X_test)),
        threads=threads,
        version=__version__,
        notes=built.notes,
        code=code,
        device=None if built.device == "cpu" else built.device,
        machine_vectors=built.machine_vectors,
    )


def prediction_seconds(predict: Callable[[Any], Any], X: Any) -> float:
    """Return how long 1,000 predictions take, best of several; fewer rows are scaled up."""
    rows = X[:_TIMED_ROWS]
    best, repeats, until = np.inf, 0, time.perf_counter() + _TIMING_SECONDS
    while repeats < _REPEATS[0] or (repeats < _REPEATS[1] and time.perf_counter() < until):
        start = time.perf_counter()
        predict(rows)
        best = min(best, time.perf_counter() - start)
        repeats += 1
    return float(best) * _TIMED_ROWS / rows.shape[0]


def _share(answers: NDArray[Any], truth: NDArray[Any]) -> float:
    return round(float(np.mean(np.asarray(answers) == truth)), 6)


def _short(seconds: float) -> float:
    """Return four digits: no clock is better than that, and records stay small."""
    return float(f"{seconds:.4g}")


class Worker:
    """The loop of a worker; see the module's docstring.

    Parameters
    ----------
    source : Source
    methods : dict
        By name.
    threads : int
        Threads that numerical libraries may use.
    send : callable
        Takes messages.
    """

    def __init__(
        self, source: Source, methods: dict[str, StudyMethod], threads: int, send: Callable[[tuple[str, Any]], None]
    ) -> None:
        self.source, self.methods, self.threads, self.send = source, methods, threads, send
        self._tasks: dict[str, Task] = {}
        self._code = revision()

    def obey(self, order: str | Order) -> None:
        """Carry out one order, the name of a set or a unit of work, and say so."""
        try:
            reason = self._train(order) if isinstance(order, str) else self._build(order)
            self.send(("end", reason))
        except MissingExtraError as e:
            self.send(("lacks", (str(e), getattr(e.__cause__, "name", None))))
        except SvmpressError as e:
            self.send(("bad", str(e)))
        except Exception:
            self.send(("broke", traceback.format_exc()))

    def _load(self, name: str) -> Task:
        """Return a set from memory, or load it and forget the oldest ones that there is no room for."""
        task = self._tasks.pop(name, None)
        if task is None:
            task = sets.task(self.source.folder, self.source.teachers, name, self.source.rows)
            room = _KEPT_BYTES - _bytes(task)
            while self._tasks and sum(map(_bytes, self._tasks.values())) > room:
                del self._tasks[next(iter(self._tasks))]
        self._tasks[name] = task
        return task

    def _train(self, name: str) -> str:
        task = self._load(name)
        labels = task.teacher.predict(task.X_test)
        self.send(("set", (describe(task, labels), labels)))
        return ""

    def _build(self, order: Order) -> str:
        unit = order.unit
        task = self._load(unit.set)
        self.send(("began", None))
        try:
            for built in self.methods[unit.method].build(task, unit.sizes, unit.seed):
                about = (order.teacher_labels, unit.method, unit.seed, self.threads, self._code)
                self.send(("cell", measure(task, built, *about)))
        except NotApplicable as e:
            return str(e)
        return ""


def _bytes(task: Task) -> int:
    return sum(X.data.nbytes if is_csr(X) else X.nbytes for X in (task.X, task.X_test))


def serve(orders: Connection, source: Source, methods: dict[str, StudyMethod], threads: int) -> None:
    """Run a worker in this process until an order is None or the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _follow_parent()
    warnings.simplefilter("ignore")  # of a fit that did not converge the study shows the result
    worker = Worker(source, methods, threads, orders.send)
    try:
        while (order := orders.recv()) is not None:
            worker.obey(order)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


def _follow_parent() -> None:
    """End this process when its parent is gone, whatever it is doing."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
