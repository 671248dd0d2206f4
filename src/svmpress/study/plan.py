"""What is to be run: sets, methods, sizes and seeds, as cells and as units of work.

A *cell* is one model: (set, method, seed, size). A *unit* is what one process does at a time: all sizes of a method
that grows one model along a path (LARS, Reduced-SVM), and one size of a method whose sizes have nothing in common.

Sizes follow the paper, which shows a point after every 10 vectors: 10, 20, ..., 100, then a geometric series of ratio
1.5, up to a fifth of the teacher's vectors, and the shares 1, 2, 5, 10 and 20 % that tables quote. With shares alone
(``ratios``) or ``sizes`` of one's own, those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from svmpress.errors import InputError
from svmpress.study.records import Key, SetRecord
from svmpress.study.task import StudyMethod

RATIOS = (0.01, 0.02, 0.05, 0.1, 0.2)
"""The shares of the teacher's vectors that tables quote; the last is the largest size."""
QUICK_RATIOS = (0.02, 0.1)
QUICK_ROWS = 400
"""Of ``--quick``: sizes, and training rows of each set (test rows: half as many)."""
FULL = "full"
"""The method that is the teacher itself."""
_STEP, _LINEAR_UP_TO, _RATIO = 10, 100, 1.5
_WEIGHTS = {"auto": 20.0, "auto-libsvm": 20.0, "cvm": 20.0, "cvm-per-machine": 60.0, "mlp": 10.0, "boosting": 10.0}
"""How many times as long as a refit some methods take, roughly."""
_CLOSE = 1.15
"""A point of the geometric series this close to a share is left out."""


@dataclass(frozen=True)
class Plan:
    """What was asked for.

    Parameters
    ----------
    sets, methods : tuple of str
    seeds : tuple of int
    sizes : tuple of int, optional
    ratios : tuple of float, optional
        With neither: the sizes of the module's docstring.
    rows : int, optional
        Training rows of each set at most, see :meth:`svmpress.study.sets.Split.some`.
    quick : bool
        Whether methods are those of ``QUICK_METHODS``; for the record.
    """

    sets: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: tuple[int, ...] = (0,)
    sizes: tuple[int, ...] | None = None
    ratios: tuple[float, ...] | None = None
    rows: int | None = None
    quick: bool = False

    def __post_init__(self) -> None:
        for what, some in (("sets", self.sets), ("methods", self.methods), ("seeds", self.seeds)):
            if not some or len(set(some)) < len(some):
                raise InputError(f"name each of the {what} once, and at least one: {', '.join(map(str, some))}")
        if not all(0 <= seed < 2**32 for seed in self.seeds):
            raise InputError(f"seeds are whole numbers from 0 to 2**32 - 1, not {', '.join(map(str, self.seeds))}")
        if self.sizes == () or self.ratios == ():
            raise InputError("name at least one of the sizes or ratios, or leave the option out")
        if any(size < 1 for size in self.sizes or ()):
            raise InputError(f"sizes are numbers of vectors, at least 1, not {min(self.sizes or ())}")
        if any(not 0 < ratio < 1 for ratio in self.ratios or ()):
            raise InputError("ratios are shares of the support vectors, between 0 and 1")
        if self.rows is not None and self.rows < 2:
            raise InputError(f"rows must be at least 2, not {self.rows}")

    def sizes_for(self, n_vectors: int) -> list[int]:
        """Return the sizes of one set, ascending; those that are no compression are left out.

        Parameters
        ----------
        n_vectors : int
            Of the teacher.

        Examples
        --------
        >>> Plan(("magic",), ("auto",)).sizes_for(419)
        [4, 8, 10, 20, 21, 30, 40, 42, 50, 60, 70, 80, 84]
        >>> Plan(("magic",), ("auto",), sizes=(50, 10, 500)).sizes_for(419)
        [10, 50]
        """
        if self.sizes is None and self.ratios is None:
            wanted = paper_sizes(n_vectors)
        else:
            wanted = {*(self.sizes or ()), *shares(n_vectors, self.ratios or ())}
        return sorted(size for size in wanted if 0 < size < n_vectors)


def shares(n_vectors: int, ratios: Iterable[float]) -> set[int]:
    """Return the sizes that are given shares of a number of vectors: at least one vector."""
    return {max(1, round(ratio * n_vectors)) for ratio in ratios}


def paper_sizes(n_vectors: int) -> set[int]:
    """Return the sizes of the module's docstring."""
    largest = max(1, round(RATIOS[-1] * n_vectors))
    sizes = shares(n_vectors, RATIOS) | set(range(_STEP, min(_LINEAR_UP_TO, largest) + 1, _STEP))
    series = float(_LINEAR_UP_TO)
    while (series := series * _RATIO) < largest:
        if all(max(series, size) > _CLOSE * min(series, size) for size in sizes):
            sizes.add(round(series))
    return sizes


@dataclass(frozen=True)
class Unit:
    """Work for one process: sizes of one method on one set with one seed."""

    set: str
    method: str
    seed: int
    sizes: tuple[int, ...]

    @property
    def keys(self) -> list[Key]:
        """The cells."""
        return [(self.set, self.method, self.seed, size) for size in self.sizes]


def work(unit: Unit, about: SetRecord) -> float:
    """Return a rough guess of how much work a unit is, in no unit of time; cheap ones are done first.

    Parameters
    ----------
    unit : Unit
    about : SetRecord
        Its set.
    """
    return _WEIGHTS.get(unit.method, 1.0) * unit.sizes[-1] * about.train * (about.features + about.classes**2)


def units(plan: Plan, name: str, n_vectors: int, methods: Mapping[str, StudyMethod]) -> list[Unit]:
    """Return the units of one set.

    Parameters
    ----------
    plan : Plan
    name : str
        The set.
    n_vectors : int
        Of its teacher.
    methods : mapping
        By name.
    """
    found = []
    sizes = plan.sizes_for(n_vectors)
    for key in plan.methods:
        method = methods[key]
        for seed in plan.seeds if method.seeded else plan.seeds[:1]:
            if key == FULL:
                parts: Sequence[tuple[int, ...]] = [(n_vectors,)]
            else:
                parts = [tuple(sizes)] if method.grows else [(size,) for size in sizes]
            found += [Unit(name, key, seed, part) for part in parts if part]
    return found
