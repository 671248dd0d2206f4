"""Trials ahead: what can be computed before it is asked for, on an executor, with the result that it has when asked.

A search decides in order, and what it decides depends on the trials before. But settings at random, and the first ones
of any search, are known beforehand, and so are the SVMs that they make. They are trained, and their paths read, ahead.
How far a path is read depends on the trials before, and is guessed: where the guess was another than what the search
then asks for, and it matters, the path is read again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.errors import InputError
from svmpress.model import KernelModel
from svmpress.tuning.records import Point
from svmpress.tuning.workbench import Side, Workbench, read_path, source_point

_HOPELESS = 4
"""Times the best size so far beyond which a path is not read."""


@dataclass(frozen=True)
class Reach:
    """How far paths are read.

    Parameters
    ----------
    limit : int or None
        Most vectors.
    enough : float or None
        The score that is wanted.
    promised : tuple of float
        The sizes that earlier trials have promised to be enough.
    """

    limit: int | None
    enough: float | None
    promised: tuple[float, ...] = ()

    def most(self, n_vectors: int) -> int:
        """Return the largest size to read: within the limit, below the SVM's own, and not hopelessly large."""
        most = n_vectors if self.limit is None else min(self.limit, n_vectors)
        if self.enough is not None:
            own = max(1, most // 2 if self.limit is None else most)
            most = min([own, *(math.ceil(_HOPELESS * m) for m in self.promised)])
        return max(1, most)


_Trained = list[tuple[KernelModel, NDArray[np.intp]]]
"""The SVM of each fold, and the rows that it was trained on."""


@dataclass(frozen=True, eq=False)
class Read:
    """A trial that has been made: its SVMs, what they are worth, and a path as far as it was read."""

    trained: _Trained
    source: Point
    curve: tuple[Point, ...]
    most: int

    def serves(self, most: int) -> bool:
        """Return whether the path would be the same if it were read up to ``most``.

        So it is if none of the sizes that were tried is as large as either: they are those of any longer path. No size
        that was tried is more than twice the largest that came out.
        """
        reached = max((point.vectors for point in self.curve), default=0)
        return most == self.most or 2 * reached < min(most, self.most)


def _train(bench: Workbench, params: Mapping[str, Any], all_rows: bool) -> _Trained:
    return [(side.source, side.rows) for side in bench.sides(params, all_rows=all_rows)]


def _read(bench: Workbench, params: Mapping[str, Any], reach: Reach) -> Read:
    sides = bench.sides(params, all_rows=False)
    source = source_point(sides)
    most = reach.most(source.vectors)
    return Read([(side.source, side.rows) for side in sides], source, read_path(sides, most, reach.enough), most)


@dataclass(eq=False)
class Ahead:
    """What was begun ahead; see the module's docstring.

    Parameters
    ----------
    bench : Workbench
    executor : Executor or None
        None: nothing is.
    """

    bench: Workbench
    executor: Executor | None
    _begun: dict[tuple[str, str], Future[Any]] = field(default_factory=dict)

    def begin_trials(self, settings: Sequence[Mapping[str, Any]], reach: Reach) -> None:
        """Begin trials of these settings."""
        self._begin("trial", settings, _read, reach)

    def begin_finalists(self, settings: Sequence[Mapping[str, Any]]) -> None:
        """Begin to train on all rows with these settings."""
        self._begin("finalist", settings, _train, True)

    def _begin(self, kind: str, settings: Sequence[Mapping[str, Any]], job: Callable[..., Any], told: Any) -> None:
        if self.executor is None:
            return
        for params in settings:
            key = (kind, repr(dict(params)))
            if key not in self._begun:
                try:
                    self._begun[key] = self.executor.submit(job, self.bench, dict(params), told)
                except RuntimeError as e:  # it was shut down, or its processes have died
                    raise InputError(f"the executor takes no more work: {e}") from e

    def trial(self, params: Mapping[str, Any]) -> Read | None:
        """Return a trial that was begun; None if it was not.

        Raises
        ------
        TrainingError
            As training does.
        """
        begun = self._begun.pop(("trial", repr(dict(params))), None)
        return None if begun is None else begun.result()

    def sides(self, params: Mapping[str, Any]) -> list[Side]:
        """Return one SVM a fold, trained on all rows, now if it was not begun.

        Raises
        ------
        TrainingError
        """
        begun = self._begun.pop(("finalist", repr(dict(params))), None)
        return self.bench.sides(params, all_rows=True) if begun is None else self.restored(begun.result())

    def restored(self, trained: _Trained) -> list[Side]:
        """Return sides of SVMs that were trained elsewhere."""
        return [
            Side(self.bench, model, rows, held)
            for (model, rows), (_, held) in zip(trained, self.bench.folds, strict=True)
        ]

    def stop(self) -> None:
        """Give up what has not begun to run."""
        for future in self._begun.values():
            future.cancel()
        self._begun.clear()
