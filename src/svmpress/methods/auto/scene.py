"""A scene: rows, a teacher's decision values on them, and the fits that :mod:`svmpress.choices` chooses among.

Rows are sorted by the class that the teacher gives them, or by their labels where pairs are fitted to these, which is
how :class:`ProjectedError` wants its groups.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Argmax, Decoder, PairDAG, PairVote, positions_of
from svmpress.kernels import Kernel
from svmpress.methods.base import Problem
from svmpress.numerics import Array, Floats, Rows, arrays, memory_for
from svmpress.objectives import (
    MarginObjective,
    Parameters,
    ProjectedError,
    Refined,
    polish,
    sides_of,
    variable_projection,
)

_THIN = 4
"""Machines of all pairs of classes hear of every so many rows at most."""
_BACKGROUND = 500
"""Rows that they hear of under a mask, if one in ``_THIN`` is not fewer."""


@dataclass(frozen=True)
class Setting:
    """What varies between fits.

    Parameters
    ----------
    relevance : float
        Weight of rows of neither class of a pair for the machine of that pair.
    ridge : float
        Relative to the mean squared kernel value.
    norm : float
        Weight of the norm in the kernel's space, for targets that must not be followed to the letter.
    width : bool
        Whether the kernel width is learned.
    reach : float
        How far from the boundary targets may be: those beyond count as being there.
    """

    relevance: float = 1.0
    ridge: float = 1e-6
    norm: float = 0.0
    width: bool = False
    reach: float = inf

    @classmethod
    def usual(cls, *, masked: bool) -> Setting:
        """Return what costs are counted by: under a mask, a machine is for rows of its own classes."""
        return cls(relevance=0.01) if masked else cls()


class Finish(Enum):
    """Margins to go on with after values; the value is what they are called."""

    SOURCE = "of the source"
    LABELS = "of the labels"


@dataclass(frozen=True, eq=False)
class Scene:
    """Rows with a teacher's answers.

    Parameters
    ----------
    problem : Problem
        Whose source is the teacher.
    X : (n, d)
        On the host, sorted by class.
    classes : (n,)
        What rows are sorted by: what the teacher says, or the labels of pairs; zeros for a regressor.
    labels : (n,) or (n, M), or None
        What is true: positions of classes, or the values of a regression.
    decoder : Decoder
        What makes answers of values like the targets.
    targets : (n, M)
        The values to fit.
    placed : (n, d) and (n, M)
        Rows and targets on the device to compute on.
    copies : bool
        Whether the targets are the teacher's decision values; else they are labels, or halfway to these.
    """

    problem: Problem
    X: Rows
    classes: NDArray[np.intp]
    labels: NDArray[Any] | None
    decoder: Decoder
    targets: Floats
    placed: tuple[Array, Array]
    copies: bool = True

    @classmethod
    def of(cls, problem: Problem, which: NDArray[np.intp] | None = None) -> Scene:
        """Return the scene of some rows of a problem (all by default); its support vectors where it has no rows."""
        rows = problem.rows if problem.rows is not None else problem.source.expansion.vectors
        which = np.arange(rows.shape[0]) if which is None else which
        X = arrays.take(rows, which)
        F = problem.values(X)
        classes = positions(problem.source.decoder, F)
        order = np.argsort(classes, kind="stable")
        labels = None if problem.y is None else problem.y[which][order]
        X, F = arrays.take(X, order), F[order]
        placed = _placed(problem, X, F)
        return cls(problem, X, classes[order], labels, problem.source.decoder, F, placed)

    def subset(self, which: NDArray[np.intp]) -> Scene:
        """Return some of the rows, by ascending position."""
        X, F = arrays.take(self.X, which), self.targets[which]
        labels = None if self.labels is None else self.labels[which]
        placed = _placed(self.problem, X, F)
        return replace(self, X=X, classes=self.classes[which], labels=labels, targets=F, placed=placed)

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.classes)

    @property
    def n_classes(self) -> int:
        """The number of classes; 1 for a regressor."""
        classes = self.problem.source.decoder.classes
        return 1 if classes is None else int(classes.size)

    @property
    def known(self) -> NDArray[Any]:
        """What is true of each row, (n,) or (n, M); what a classifier says where that is not known."""
        return self.classes if self.labels is None else self.labels

    @property
    def pairwise(self) -> bool:
        """Whether there is a machine for each pair of classes."""
        return isinstance(self.decoder, PairVote | PairDAG)

    def by_labels(self, *, pairs: bool = False) -> Scene:
        """Return the same rows with their labels as targets, +1 and -1, and one output a class (one in all for two).

        Targets of a regressor are halfway between the teacher's values, which have less noise, and those that are true,
        which the teacher has not met. Where labels of classes are not known, the teacher's answers take their place.
        With ``pairs`` there is an output for each pair of classes as before; rows of others are 0 to it, and are to
        count for little.
        """
        if pairs and self.n_classes > 2:
            order = np.argsort(self.known, kind="stable")
            X, known = arrays.take(self.X, order), self.known[order]
            targets = sides_of(known, self.n_classes, pairwise=True)
            labels = None if self.labels is None else known
            placed = _placed(self.problem, X, targets)
            return replace(self, X=X, classes=known, labels=labels, targets=targets, placed=placed, copies=False)
        decoder, several = self.decoder, self.n_classes > 2
        if several and decoder.classes is not None:
            decoder = Argmax(decoder.classes)
        if decoder.classes is None:
            targets = (self.targets + self.known) / 2
        else:
            targets = sides_of(self.known, self.n_classes, self.pairwise and not several)
        placed = (self.placed[0], self.problem.backend.asarray(targets))
        return replace(self, decoder=decoder, targets=targets, placed=placed, copies=False)

    def with_rows(self, V: Floats, values: Floats) -> Scene:
        """Return the scene of a regressor with further rows V (k, d) and the teacher's values there (k, M)."""
        X, F = arrays.stacked(self.X, V), np.concatenate([self.targets, values])
        classes = np.concatenate([self.classes, np.zeros(len(V), dtype=np.intp)])
        return replace(self, X=X, classes=classes, labels=None, targets=F, placed=_placed(self.problem, X, F))

    def project(
        self, V: Floats, kernel: Kernel, setting: Setting, steps: int, stage: str, mask: NDArray[np.bool_] | None
    ) -> Refined:
        """Fit by variable projection from vectors V."""
        apart = setting.relevance < 1 and self.pairwise and self.n_classes > 2
        own = np.abs(sides_of(np.arange(self.n_classes), self.n_classes, pairwise=True)) if apart else None
        X, targets = self.placed
        if setting.reach < inf:
            targets = arrays.namespace(targets).clip(targets, -setting.reach, setting.reach)
        objective = ProjectedError(
            kernel,
            X,
            targets,
            self.problem.backend.asarray(V),
            sizes=np.bincount(self.classes, minlength=self.n_classes) if apart else None,
            weights=own,
            background=setting.relevance if apart else 0.0,
            thin=thin(self.n, mask is not None),
            mask=mask,
            ridge=setting.ridge,
            norm=setting.norm,
            max_bytes=self.problem.max_bytes,
        )
        width = setting.width and kernel.has_width
        progress = self.problem.stage(stage)
        memory = memory_for(self.X)
        return variable_projection(
            objective, V, kernel=kernel, learn_width=width, max_iter=steps, memory=memory, progress=progress
        )

    @property
    def finishes(self) -> tuple[Finish, ...]:
        """The finishes that there are for such targets."""
        if self.n_classes < 2:
            return ()
        if not self.copies:
            return (Finish.LABELS,) if self.n_classes == 2 or self.pairwise else ()
        return (Finish.SOURCE,) if self.labels is None else (Finish.SOURCE, Finish.LABELS)

    def finish(
        self, how: Finish, at: Refined, setting: Setting, steps: int, stage: str, mask: NDArray[np.bool_] | None
    ) -> Refined:
        """Go on from a fit with margins instead of values."""
        backend, X, F = self.problem.backend, *self.placed
        classes = self.classes if how is Finish.SOURCE else self.known
        order = np.argsort(classes, kind="stable")
        if (np.diff(order) != 1).any():
            X, F = _placed(self.problem, arrays.take(self.X, order), self.targets[order])
        objective = MarginObjective(
            X,
            F,
            np.bincount(classes, minlength=self.n_classes),
            sides_of(np.arange(self.n_classes), self.n_classes, self.pairwise),
            trust=how is Finish.SOURCE,
            thin=thin(self.n, mask is not None),
            max_bytes=self.problem.max_bytes,
        )
        return polish(
            objective,
            Parameters(at.kernel, *(backend.asarray(a) for a in (at.vectors, at.coef, at.intercept))),
            learn_width=setting.width and at.kernel.has_width,
            mask=mask,
            max_iter=steps,
            memory=memory_for(self.X),
            progress=self.problem.stage(stage),
        )


@dataclass(eq=False)
class Guard:
    """Where the vectors of a regressor have been: rows to ask the teacher about, besides those that are given.

    In a local kernel, a vector where there are no rows may carry any coefficient: the error hardly changes, and a row
    that comes to lie there later gets a value from nowhere. The teacher knows the value there. All places stay under
    guard, not only the last ones: a vector may come back, or another may follow it.

    Parameters
    ----------
    is_needed : bool
        Not by classifiers, whose values need only have the right sign or order, nor by kernels that are not local.
    places : list of (m, d)
    values : list of (m, M)
        What the teacher says there.
    """

    is_needed: bool
    places: list[Floats] = field(default_factory=list)
    values: list[Floats] = field(default_factory=list)

    @classmethod
    def of(cls, scene: Scene) -> Guard:
        """Return a guard for a descent in a scene; what follows labels has a norm, which leaves no place alone."""
        return cls(scene.copies and scene.n_classes == 1 and scene.problem.source.kernel.width_matters)

    def over(self, scene: Scene, V: Floats) -> Scene:
        """Return a scene with vectors V (m, d), and all that have come by before, as further rows."""
        if not self.is_needed:
            return scene
        self.places.append(V)
        self.values.append(scene.problem.values(V))
        return scene.with_rows(np.concatenate(self.places), np.concatenate(self.values))


def _placed(problem: Problem, X: Rows, F: Floats) -> tuple[Array, Array]:
    """Return rows and targets on the device to compute on."""
    return problem.placed(X), problem.backend.asarray(F)


def thin(n: int, masked: bool) -> int:
    """Return of how many of n rows one is heard by the machines of all pairs of classes.

    Without a mask, vectors that are for other classes are told by these rows what to do. With one, a machine has
    vectors of its own classes only, and some rows say whether its values stay in bounds elsewhere; of a class with very
    few rows there may be none among them.
    """
    return max(_THIN, n // _BACKGROUND) if masked else _THIN


def heard_outputs(n: int, n_pairs: int, masked: bool) -> float:
    """Return how many of the machines of pairs hear of one of n rows, on average, where relevance is less than 1."""
    n_classes = (1 + np.sqrt(1 + 8 * n_pairs)) / 2
    return float(n_classes - 1 + n_pairs / thin(n, masked))


def positions(decoder: Decoder, F: Floats) -> NDArray[np.intp]:
    """Return the position of each row's class, (n,), for decision values F; zeros for a regressor."""
    if decoder.classes is None:
        return np.zeros(F.shape[0], dtype=np.intp)
    return positions_of(decoder.labels(F), decoder.classes)
