"""Those who work for a study: processes of its own, which can be killed, or an executor that somebody else has."""

from __future__ import annotations

import multiprocessing
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future
from concurrent.futures import wait as futures_wait
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from svmpress.errors import InputError
from svmpress.numerics import threads
from svmpress.study.plan import Unit
from svmpress.study.task import StudyMethod
from svmpress.study.worker import Order, Source, Worker, serve

_PULSE = 0.5
"""Seconds between looks at the clock."""
_here = threading.local()


class Hand(Protocol):
    """One who works: its order, since when it works on it, and the sizes of it that are still missing."""

    order: str | Unit | None
    since: float | None
    missing: list[int]

    def give(self, order: str | Unit, teacher_labels: NDArray[Any] | None = None) -> None:
        """Take an order: to train a teacher, or to do a unit."""

    def messages(self) -> Iterator[tuple[str, Any]]:
        """Yield what it has said so far and nobody has heard; the kind is "dead" if it has ended."""

    def stop(self) -> int:
        """Stop, and return an exit code."""


def content_of(order: str | Unit, teacher_labels: NDArray[Any] | None) -> str | Order:
    """Return an order as workers take it."""
    if isinstance(order, str):
        return order
    assert teacher_labels is not None
    return Order(order, np.asarray(teacher_labels))


class ProcessWorker:
    """A worker process, its order, and since when it works on it."""

    def __init__(self, source: Source, methods: dict[str, StudyMethod], threads: int) -> None:
        self._start = (source, methods, threads)
        self.order: str | Unit | None = None
        self.since: float | None = None
        self.missing: list[int] = []
        self._process: Any = None
        self.link: Connection | None = None

    def give(self, order: str | Unit, teacher_labels: NDArray[Any] | None = None) -> None:
        """Start the process if need be and send it an order: to train a teacher, or to do a unit."""
        self.order, self.since = order, None
        self.missing = [] if isinstance(order, str) else list(order.sizes)
        content = content_of(order, teacher_labels)
        try:
            self._connected().send(content)
        except ConnectionError:  # it died while it had nothing to do
            self.stop()
            self._connected().send(content)

    def _connected(self) -> Connection:
        if self.link is None:
            context = multiprocessing.get_context("spawn")
            self.link, theirs = context.Pipe()
            self._process = context.Process(target=serve, args=(theirs, *self._start), daemon=True)
            self._process.start()
            theirs.close()
        return self.link

    def messages(self) -> Iterator[tuple[str, Any]]:
        """Yield what it has said so far and nobody has heard; the kind is "dead" if the process has ended."""
        while self.order is not None and self.link is not None and self.link.poll():
            try:
                yield self.link.recv()
            except (EOFError, ConnectionResetError):
                yield "dead", None

    def stop(self) -> int:
        """Kill the process and return its exit code."""
        if self.link is None:
            return 0
        self._process.kill()
        self._process.join()
        self.link.close()
        self.link = None
        return int(self._process.exitcode)


class ExecutorWorker:
    """A place in somebody else's executor. What is under way there cannot be killed, and is heard of when it is done.

    Parameters
    ----------
    executor : Executor
    source : Source
    methods : dict
        By name.
    """

    def __init__(self, executor: Executor, source: Source, methods: dict[str, StudyMethod]) -> None:
        self._executor, self._about = executor, (source, methods)
        self.order: str | Unit | None = None
        self.since: float | None = None
        self.missing: list[int] = []
        self.future: Future[list[tuple[str, Any]]] | None = None

    def give(self, order: str | Unit, teacher_labels: NDArray[Any] | None = None) -> None:
        """Send an order to the executor."""
        self.order, self.since = order, None
        self.missing = [] if isinstance(order, str) else list(order.sizes)
        try:
            self.future = self._executor.submit(carry_out, *self._about, content_of(order, teacher_labels))
        except RuntimeError as e:  # it was shut down, or its processes have died
            raise InputError(f"the executor takes no more work: {e}") from e

    def messages(self) -> Iterator[tuple[str, Any]]:
        """Yield what it said about its order, once that is carried out."""
        if self.order is None or self.future is None or not self.future.done():
            return
        future, self.future = self.future, None
        try:
            yield from future.result()
        except (CancelledError, Exception) as e:  # what goes wrong with an order is said; this is the executor
            raise InputError(f"the executor has lost what it was given: {e or type(e).__name__}") from e

    def stop(self) -> int:
        """Give up an order that has not begun."""
        if self.future is not None:
            self.future.cancel()
            self.future = None
        return 0


def carry_out(source: Source, methods: dict[str, StudyMethod], content: str | Order) -> list[tuple[str, Any]]:
    """Carry out one order in this thread, which keeps the sets that it has loaded, and return what there is to say."""
    said: list[tuple[str, Any]] = []
    about, worker = getattr(_here, "held", (None, None))
    if worker is None or about != (source, methods):
        worker = Worker(source, methods, threads(), said.append)
        _here.held = ((source, methods), worker)
    worker.send = said.append
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a fit that did not converge the study shows the result
        worker.obey(content)
    return said


@dataclass
class Pool:
    """The workers."""

    workers: list[Hand]

    def free(self) -> Hand | None:
        """Return a worker without an order."""
        return next((w for w in self.workers if w.order is None), None)

    def busy(self) -> list[Hand]:
        """Return the workers with an order."""
        return [w for w in self.workers if w.order is not None]

    def messages(self) -> Iterator[tuple[Hand, str, Any]]:
        """Yield what comes within a moment: worker, kind and content, see :meth:`Hand.messages`."""
        links = [w.link for w in self.busy() if isinstance(w, ProcessWorker) and w.link is not None]
        futures = [w.future for w in self.busy() if isinstance(w, ExecutorWorker) and w.future is not None]
        if futures:
            futures_wait(futures, timeout=_PULSE, return_when=FIRST_COMPLETED)
        else:
            wait(links, timeout=_PULSE)
        for worker in self.busy():
            for kind, content in worker.messages():
                yield worker, kind, content

    def stop(self) -> None:
        """Kill all."""
        for worker in self.workers:
            worker.stop()
