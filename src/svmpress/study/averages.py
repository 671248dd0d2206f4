"""What records say, averaged over seeds: the points of the figures and the entries of the tables.

A *curve* belongs to a set and a method: points by size, ascending, each the mean over the seeds that are done, with the
sample standard deviation of the accuracy where there are two seeds or more. Seconds are averaged over seeds of one
machine only: that of the full SVM, or else the one with the fewest threads to a model.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from svmpress.study.plan import FULL
from svmpress.study.records import Cell, Key, Machine, Records
from svmpress.study.sets import SETS

_NEAR = 1.1
"""A point stands for a share of the vectors if its size is within this factor of it."""


@dataclass(frozen=True)
class Point:
    """The mean over seeds of one set, method and size; the fields are those of :class:`~svmpress.study.records.Cell`.

    Parameters
    ----------
    seeds : int
        How many.
    spread : float
        Sample standard deviation of the accuracy; 0 for one seed.
    machine_vectors : float
        0 where the records do not say.
    elsewhere : bool
        Whether seconds are of another machine than the full SVM's.
    """

    size: int
    seeds: int
    accuracy: float
    spread: float
    agreement: float
    vectors: float
    multiply_adds: float
    file_bytes: float
    build_seconds: float
    predict_seconds: float
    machine_vectors: float = 0.0
    elsewhere: bool = False


Curve = list[Point]
Curves = dict[tuple[str, str], Curve]


def curves(records: Records) -> Curves:
    """Return the curve of each (set, method) that has any cell done."""
    groups: dict[tuple[str, str], dict[int, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for cell in records.done():
        groups[cell.set, cell.method][cell.size].append(cell)
    here = {key[0]: machine for key, machine in records.machines.items() if key[1] == FULL}
    return {
        (name, method): [_point(cells, records.machines, here.get(name)) for _, cells in sorted(sizes.items())]
        for (name, method), sizes in groups.items()
    }


def _point(cells: Sequence[Cell], machines: Mapping[Key, Machine], here: Machine | None) -> Point:
    def mean(of: Callable[[Cell], float | None], some: Sequence[Cell] = cells) -> float:
        return statistics.fmean(of(cell) or 0.0 for cell in some)

    on: dict[Machine | None, list[Cell]] = defaultdict(list)
    for cell in cells:
        on[machines.get(cell.key)].append(cell)
    where = here if here in on else min(on, key=lambda m: (m.threads if m else 0, -len(on[m])))
    accuracies = [cell.accuracy or 0.0 for cell in cells]
    return Point(
        size=cells[0].size,
        seeds=len(cells),
        accuracy=mean(lambda c: c.accuracy),
        spread=statistics.stdev(accuracies) if len(cells) > 1 else 0.0,
        agreement=mean(lambda c: c.agreement),
        vectors=mean(lambda c: c.vectors),
        multiply_adds=mean(lambda c: c.multiply_adds),
        file_bytes=mean(lambda c: c.file_bytes),
        build_seconds=mean(lambda c: c.build_seconds, on[where]),
        predict_seconds=mean(lambda c: c.predict_seconds, on[where]),
        machine_vectors=mean(lambda c: c.machine_vectors),
        elsewhere=here is not None and where != here,
    )


def at(curve: Curve, size: float) -> Point | None:
    """Return the point nearest to a size, if it is near: within a tenth.

    Examples
    --------
    >>> point = Point(42, 1, 0.9, 0, 0.9, 42, 0, 0, 0, 0)
    >>> at([point], 41.9) is point, at([point], 21) is None
    (True, True)
    """
    if not curve:
        return None
    best = min(curve, key=lambda p: abs(math.log(p.size / size)))
    return best if max(best.size, size) <= _NEAR * min(best.size, size) else None


def sets_of(records: Records) -> list[str]:
    """Return the names of the sets with records, the paper's first and in its order."""
    known = [name for name in SETS if name in records.sets]
    return known + sorted(set(records.sets) - set(known))


def methods_of(records: Records, order: Sequence[str]) -> list[str]:
    """Return the methods with records, and those that are wanted, but the full SVM: in an order, unknown ones last."""
    there = {method for _, method, _, _ in records.cells} | set(records.wanted)
    there -= {FULL}
    return [name for name in order if name in there] + sorted(there - set(order))
