"""A scene: rows, a teacher's decision values on them, and the fits that :mod:`svmpress.auto` chooses among.

Rows are sorted by the class that the teacher gives them, which is how :class:`ProjectedError` wants its groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from svmpress import arrays
from svmpress.arrays import Array, Floats, Rows
from svmpress.decoders import Decoder, PairDAG, PairVote
from svmpress.kernels import Kernel
from svmpress.losses import MarginObjective, RivalLoss, sides_of
from svmpress.objective import ExpansionObjective, Parameters, ProjectedError
from svmpress.problem import Problem
from svmpress.refine import Differentiable, Refined, polish, variable_projection

_THIN = 4
"""A machine of a pair hears of every so many rows of the other classes."""


@dataclass(frozen=True)
class Setting:
    """What varies between fits.

    Parameters
    ----------
    relevance : float
        Weight of rows of neither class of a pair for the machine of that pair.
    ridge : float
        Relative to the mean squared kernel value.
    width : bool
        Whether the kernel width is learned.
    """

    relevance: float = 1.0
    ridge: float = 1e-7
    width: bool = False


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
        What the teacher says; zeros for a regressor.
    labels : (n,) or None
        What is true.
    targets : (n, M)
        The teacher's decision values.
    """

    problem: Problem
    X: Rows
    classes: NDArray[np.intp]
    labels: NDArray[np.intp] | None
    targets: Floats
    placed: tuple[Array, Array]

    @classmethod
    def of(cls, problem: Problem, which: NDArray[np.intp] | None = None) -> Scene:
        """Return the scene of some rows of a problem (all by default); its support vectors where it has no rows."""
        rows = problem.rows if problem.rows is not None else problem.source.expansion.vectors
        which = np.arange(rows.shape[0]) if which is None else which
        X = arrays.take(rows, which)
        F = np.asarray(problem.source.expansion.decision_values(X, problem.max_bytes), dtype=np.float64)
        classes = positions(problem.source.decoder, F)
        order = np.argsort(classes, kind="stable")
        known = problem.y is not None and problem.source.decoder.classes is not None
        labels = problem.y[which][order] if known and problem.y is not None else None
        X, F = arrays.take(X, order), F[order]
        backend = problem.backend
        return cls(problem, X, classes[order], labels, F, (backend.asarray(X), backend.asarray(F)))

    def subset(self, which: NDArray[np.intp]) -> Scene:
        """Return some of the rows, by ascending position."""
        X, F, backend = arrays.take(self.X, which), self.targets[which], self.problem.backend
        labels = None if self.labels is None else self.labels[which]
        return Scene(self.problem, X, self.classes[which], labels, F, (backend.asarray(X), backend.asarray(F)))

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
    def pairwise(self) -> bool:
        """Whether there is a machine for each pair of classes."""
        return isinstance(self.problem.source.decoder, PairVote | PairDAG)

    def narrowed(self) -> Scene:
        """Return the same rows with one target a class: its votes, softened between the values -1/2 and 1/2."""
        sides = sides_of(np.arange(self.n_classes), self.n_classes, pairwise=True)
        soft = np.clip(self.targets, -0.5, 0.5) @ sides.T
        return replace(self, targets=soft, placed=(self.placed[0], self.problem.backend.asarray(soft)))

    def project(
        self, V: Floats, kernel: Kernel, setting: Setting, steps: int, stage: str, mask: NDArray[np.bool_] | None
    ) -> Refined:
        """Fit by variable projection from vectors V."""
        weights = None
        if setting.relevance < 1 and self.pairwise:
            own = np.abs(sides_of(np.arange(self.n_classes), self.n_classes, pairwise=True))
            weights = setting.relevance + (1 - setting.relevance) * own
        objective = ProjectedError(
            kernel,
            *self.placed,
            self.problem.backend.asarray(V),
            sizes=None if weights is None else np.bincount(self.classes, minlength=self.n_classes),
            weights=weights,
            thin=_THIN,
            mask=mask,
            ridge=setting.ridge,
            max_bytes=self.problem.max_bytes,
        )
        width = setting.width and kernel.has_width
        progress = self.problem.stage(stage)
        return variable_projection(objective, V, kernel=kernel, learn_width=width, max_iter=steps, progress=progress)

    def polish(
        self, at: Refined, by_labels: bool, setting: Setting, steps: int, stage: str, mask: NDArray[np.bool_] | None
    ) -> Refined:
        """Go on from a fit with margins instead of values: those of the labels, or the teacher's own."""
        X, F, classes = *self.placed, self.classes
        if by_labels and self.labels is not None:
            order = np.argsort(self.labels, kind="stable")
            backend = self.problem.backend
            X, F = backend.asarray(arrays.take(self.X, order)), backend.asarray(self.targets[order])
            classes = self.labels
        objective = MarginObjective(
            X,
            F,
            np.bincount(classes, minlength=self.n_classes),
            sides_of(np.arange(self.n_classes), self.n_classes, self.pairwise),
            trust=not by_labels,
            thin=_THIN,
            max_bytes=self.problem.max_bytes,
        )
        return self._polish(objective, at, setting, steps, stage, mask)

    def polish_rivals(self, at: Refined, setting: Setting, steps: int, stage: str) -> Refined:
        """Go on from a fit of one output a class until each row's class leads; the true one where it is known."""
        classes = self.classes if self.labels is None else self.labels
        own = self.problem.backend.asarray(np.eye(self.n_classes)[classes])
        objective = ExpansionObjective(self.placed[0], RivalLoss(own), self.problem.max_bytes)
        return self._polish(objective, at, setting, steps, stage, None)

    def _polish(
        self,
        objective: Differentiable,
        at: Refined,
        setting: Setting,
        steps: int,
        stage: str,
        mask: NDArray[np.bool_] | None,
    ) -> Refined:
        backend = self.problem.backend
        return polish(
            objective,
            Parameters(at.kernel, *(backend.asarray(a) for a in (at.vectors, at.coef, at.intercept))),
            learn_width=setting.width and at.kernel.has_width,
            mask=mask,
            max_iter=steps,
            progress=self.problem.stage(stage),
        )


def heard_outputs(n_pairs: int) -> float:
    """Return how many of the machines of pairs of classes hear of a row, on average, where relevance is less than 1."""
    n_classes = (1 + np.sqrt(1 + 8 * n_pairs)) / 2
    return float(n_classes - 1 + (n_pairs - n_classes + 1) / _THIN)


def positions(decoder: Decoder, F: Floats) -> NDArray[np.intp]:
    """Return the position of each row's class, (n,), for decision values F; zeros for a regressor."""
    if decoder.classes is None:
        return np.zeros(F.shape[0], dtype=np.intp)
    place = {label: i for i, label in enumerate(decoder.classes.tolist())}
    return np.array([place[label] for label in decoder.labels(F).tolist()], dtype=np.intp)
