"""A fit task: rows with a teacher's answers, and the fits of small models to them.

The teacher is the source, or a surrogate of it while choices are made. What is fitted is a :class:`View` of the rows: a
target, sorted by class, which is how the objectives want their groups of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Argmax, Decoder, PairDAG, PairVote, pair_mask
from svmpress.kernels import Kernel
from svmpress.methods.auto.recipe import Margins, Recipe, Target
from svmpress.methods.auto.view import View
from svmpress.methods.auto.work import Shape, Work, row_values
from svmpress.methods.base import Problem, share, vector_classes
from svmpress.model import KernelExpansion
from svmpress.numerics import Array, Floats, Rows, arrays, lazy_property, memory_for
from svmpress.objectives import (
    MarginObjective,
    Parameters,
    ProjectedError,
    Refined,
    ShardMargins,
    polish,
    sides_of,
    variable_projection,
)

_THIN = 4
"""Machines of all pairs of classes see one in so many rows of other classes."""
_BACKGROUND = 500
"""Rows of other classes that they see under a mask, if one in ``_THIN`` is not fewer."""
_SHARES = 1000
"""Parts of the work that progress is told in."""
_ENERGY = 0.01
"""Share of the sum of squares of the targets that the outputs of a descent may leave out, if more would take most of
its time."""
_UNBOUNDED = 1e-3
"""Of the ridge, for kernels without bound: vectors that have moved far have values that cancel nearly, and a ridge to
the measure of these leaves nothing of their sum."""
_MASKED_RELEVANCE = 0.01
"""Under a mask a machine has coefficients for its own two classes only, so that other rows must count for little."""


@dataclass(frozen=True, eq=False)
class FitTask:
    """Rows to fit m vectors to.

    Parameters
    ----------
    problem : Problem
        With rows; its source is the teacher.
    m : int
    work : Work
        The account that fits are booked on.
    smaller : KernelExpansion, optional
        A smaller model of the same source, to grow from.
    """

    problem: Problem
    m: int
    work: Work
    smaller: KernelExpansion | None = None
    _views: dict[Target, View] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert self.problem.rows is not None

    def on(self, problem: Problem) -> FitTask:
        """Return the same task on another problem, on the same account."""
        return FitTask(problem, self.m, self.work, self.smaller)

    def without_labels(self) -> FitTask:
        """Return the task without y."""
        return self if self.problem.y is None else self.on(replace(self.problem, y=None))

    def of(self, rows: NDArray[np.intp]) -> FitTask:
        """Return the task on some of the rows."""
        y = None if self.problem.y is None else self.problem.y[rows]
        return self.on(replace(self.problem, rows=arrays.take(self.rows, rows), y=y))

    @property
    def rows(self) -> Rows:
        """The rows, (n, d)."""
        return self.problem.rows

    @property
    def teacher(self) -> KernelExpansion:
        """The function to be compressed."""
        return self.problem.source.expansion

    @property
    def n_classes(self) -> int:
        """The number of classes; 1 for a regressor."""
        classes = self.problem.source.decoder.classes
        return 1 if classes is None else int(classes.size)

    @property
    def is_regression(self) -> bool:
        """Whether the values themselves are the answers."""
        return self.n_classes == 1

    @lazy_property
    def values(self) -> Floats:
        """The teacher's values at the rows, (n, M)."""
        return self.problem.values(self.rows)

    @lazy_property
    def answers(self) -> NDArray[np.intp]:
        """The position of the class that the teacher gives each row, (n,); zeros for a regressor."""
        return self.problem.source.decoder.positions(self.values)

    @lazy_property
    def owner(self) -> NDArray[np.intp] | None:
        """The class of each vector in a LibSVM file, (m,): as many of each as the source has; None where all share."""
        decoder = self.problem.source.decoder
        if self.problem.layout != "libsvm" or not isinstance(decoder, PairVote | PairDAG) or decoder.n_classes == 2:
            return None
        have = np.bincount(vector_classes(self.teacher, decoder.n_classes), minlength=decoder.n_classes)
        return np.repeat(np.arange(decoder.n_classes), share(self.m, have))

    @lazy_property
    def mask(self) -> NDArray[np.bool_] | None:
        """Which coefficients a LibSVM file can hold, (m, M); None: all."""
        return None if self.owner is None else pair_mask(self.owner, self.n_classes)

    def view(self, target: Target) -> View:
        """Return the rows with targets of one kind."""
        if target not in self._views:
            self._views[target] = self._sorted(*self.wanted(target))
        return self._views[target]

    def wanted(self, target: Target) -> tuple[NDArray[np.intp], NDArray[Any], Floats, Decoder]:
        """Return the class of each row, what is known of it and its targets, and what makes answers of such.

        In the order of the rows; :class:`View` has them sorted.
        """
        return self._of_source() if target is Target.SOURCE else self._of_labels()

    def _of_source(self) -> tuple[NDArray[np.intp], NDArray[Any], Floats, Decoder]:
        known = self.answers if self.problem.y is None else self.problem.y
        return self.answers, known, self.values, self.problem.source.decoder

    def _of_labels(self) -> tuple[NDArray[np.intp], NDArray[Any], Floats, Decoder]:
        """Return one output a class, or one for two classes; under a mask one a pair, of which other classes are 0."""
        decoder = self.problem.source.decoder
        known = self.answers if self.problem.y is None else self.problem.y
        if decoder.classes is None:
            return self.answers, known, (self.values + known) / 2, decoder
        if self.n_classes > 2 and self.mask is None:
            return self.answers, known, sides_of(known, self.n_classes, pairwise=False), Argmax(decoder.classes)
        pairwise = isinstance(decoder, PairVote | PairDAG)
        return known, known, sides_of(known, self.n_classes, pairwise), decoder

    def _sorted(self, by: NDArray[np.intp], known: NDArray[Any], targets: Floats, decoder: Decoder) -> View:
        order = np.argsort(by, kind="stable")
        X, F = arrays.take(self.rows, order), targets[order]
        return View(X, by[order], known[order], F, decoder, self._placed(X, F))

    def _placed(self, X: Rows, F: Floats) -> tuple[Array, Array]:
        return self.problem.placed(X), self.problem.backend.asarray(F)

    # -----------------------------------------------------------------------------------------------------
    # Fits
    # -----------------------------------------------------------------------------------------------------

    def project(self, recipe: Recipe, V: Floats, kernel: Kernel, steps: int, stage: str) -> Refined:
        """Fit by variable projection from vectors V (m, d), for so many steps."""
        view = self.view(recipe.target)
        directions = self._directions(view, recipe)
        if steps and directions < view.targets.shape[1]:
            moved = self._descend(directions, recipe, V, kernel, steps, stage)
            solved = self._descend(None, recipe, moved.vectors, moved.kernel, 0, stage)
            return replace(solved, trace=moved.trace, n_iter=moved.n_iter, status=moved.status)
        fit = self._descend(None, recipe, V, kernel, steps, stage)
        if steps and self._has_guard(recipe):
            solved = self._descend(None, recipe, fit.vectors, fit.kernel, 0, stage)
            fit = replace(solved, trace=fit.trace, n_iter=fit.n_iter)
        return fit

    def error(self, directions: int | None, recipe: Recipe, V: Floats, kernel: Kernel) -> ProjectedError:
        """Return what a descent from vectors V (m, d) minimises, for so many leading directions of the targets."""
        view = self.view(recipe.target)
        if self._has_guard(recipe):
            view = self._guarded(view, V)
        X, targets = view.placed
        if directions is not None:
            targets = self.problem.backend.asarray(view.leading(directions))
        if recipe.clip < inf:
            targets = arrays.namespace(targets).clip(targets, -recipe.clip, recipe.clip)
        apart = self._is_apart(view, recipe)
        return ProjectedError(
            kernel,
            X,
            targets,
            self.problem.backend.asarray(V),
            sizes=np.bincount(view.classes, minlength=self.n_classes) if apart else None,
            weights=self._own_classes if apart else None,
            background=self._relevance(recipe) if apart else 0.0,
            thin=self._thin(view.n),
            mask=self._mask_of(view.decoder),
            ridge=self._ridge(recipe, kernel),
            norm=recipe.norm,
            max_bytes=self.problem.max_bytes,
        )

    def margins(self, recipe: Recipe) -> MarginObjective | ShardMargins:
        """Return what fine-tuning minimises."""
        view = self.view(recipe.target)
        X, F = view.placed
        of_source = recipe.margins is Margins.SOURCE
        classes = view.classes if of_source else view.known
        order = np.argsort(classes, kind="stable")
        if (np.diff(order) != 1).any():
            X, F = self._placed(arrays.take(view.X, order), view.targets[order])
        return MarginObjective(
            X,
            F,
            np.bincount(classes, minlength=self.n_classes),
            sides_of(np.arange(self.n_classes), self.n_classes, view.pairwise),
            trust=of_source,
            thin=self._thin(view.n),
            max_bytes=self.problem.max_bytes,
        )

    def _descend(
        self, directions: int | None, recipe: Recipe, V: Floats, kernel: Kernel, steps: int, stage: str
    ) -> Refined:
        objective = self.error(directions, recipe, V, kernel)
        fit = variable_projection(
            objective,
            V,
            kernel=kernel,
            learn_width=recipe.width and kernel.has_width,
            max_iter=steps,
            memory=memory_for(objective.rows),
            max_seconds=self.work.seconds_left,
            progress=self._progress(stage, self.projection_cost(recipe)),
        )
        self.work.spent += (fit.n_iter + 1) * self.projection_cost(recipe)
        return fit

    def tune(self, recipe: Recipe, at: Refined, steps: int, stage: str) -> Refined:
        """Fine-tune a fit on margins instead of values."""
        view, backend = self.view(recipe.target), self.problem.backend
        fit = polish(
            self.margins(recipe),
            Parameters(at.kernel, *(backend.asarray(a) for a in (at.vectors, at.coef, at.intercept))),
            learn_width=recipe.width and at.kernel.has_width,
            mask=self._mask_of(view.decoder),
            max_iter=steps,
            memory=memory_for(view.X),
            max_seconds=self.work.seconds_left,
            progress=self._progress(stage, self.margin_cost(recipe)),
        )
        self.work.spent += (fit.n_iter + 2) * self.margin_cost(recipe)
        return fit

    def _progress(self, stage: str, cost: float) -> Callable[[int, int], None]:
        """Return a callback for the steps of a fit, each of some cost: it tells how much of all work is done."""
        spent, total = self.work.spent, self.work.total
        if not total:
            return self.problem.stage(stage)
        name = f"compressing ({stage})"
        return lambda done, _: self.problem.progress(
            name, int(min(_SHARES - 1, _SHARES * (spent + done * cost) / total)), _SHARES
        )

    def expansion(self, fit: Refined) -> KernelExpansion:
        """Return what was fitted, with its mask."""
        mask = self.mask if self.mask is not None and self.mask.shape[1] == fit.coef.shape[1] else None
        coef = fit.coef if mask is None else fit.coef * mask
        return KernelExpansion(fit.kernel, fit.vectors, coef, fit.intercept, mask)

    # -----------------------------------------------------------------------------------------------------
    # What varies between fits
    # -----------------------------------------------------------------------------------------------------

    def _mask_of(self, decoder: Decoder) -> NDArray[np.bool_] | None:
        return self.mask if isinstance(decoder, PairVote | PairDAG) else None

    @property
    def _own_classes(self) -> Floats:
        """Whether a class is one of the two of a machine of pairs, (K, M)."""
        return np.abs(sides_of(np.arange(self.n_classes), self.n_classes, pairwise=True))

    @staticmethod
    def _ridge(recipe: Recipe, kernel: Kernel) -> float:
        return recipe.ridge * (1.0 if kernel.bounded else _UNBOUNDED)

    def _relevance(self, recipe: Recipe) -> float:
        return recipe.relevance if self.mask is None else min(recipe.relevance, _MASKED_RELEVANCE)

    def _is_apart(self, view: View, recipe: Recipe) -> bool:
        """Return whether the machines of pairs weigh the rows of classes differently."""
        return self._relevance(recipe) < 1 and view.pairwise and self.n_classes > 2

    def _thin(self, n: int) -> int:
        return _THIN if self.mask is None else max(_THIN, n // _BACKGROUND)

    def _directions(self, view: View, recipe: Recipe) -> int:
        """Return how many principal directions of the targets a descent fits: fewer than there are outputs, or all.

        The projected error depends on the targets only through the space that they span, so that a descent for hundreds
        of machines needs only as many outputs as these differ in. As many are fitted as cost no more than the rest of
        an evaluation, but enough to leave out little.
        """
        M = view.targets.shape[1]
        if self._is_apart(view, recipe) or self._mask_of(view.decoder) is not None or recipe.clip < inf:
            return M
        affordable = Shape(*self._sizes, 0.0).affordable_outputs()
        if affordable >= M:
            return M
        left_out = np.cumsum(view.spectrum[0])
        return min(left_out.size, max(affordable, int(np.count_nonzero(left_out > _ENERGY * left_out[-1]))))

    def _has_guard(self, recipe: Recipe) -> bool:
        """Return whether the places of the vectors must be rows, too.

        In a local kernel, a vector where there are no rows may carry any coefficient: the error hardly changes, and a
        row that comes to lie there later gets a value from nowhere. The teacher knows the value there. Classifiers need
        only the right sign or order, and what follows labels has a norm, which leaves no place alone.
        """
        return self.is_regression and recipe.target is Target.SOURCE and self.problem.source.kernel.width_matters

    def _guarded(self, view: View, V: Floats) -> View:
        X, F = arrays.concatenated(view.X, V), np.concatenate([view.targets, self.problem.values(V)])
        classes = np.concatenate([view.classes, np.zeros(len(V), dtype=np.intp)])
        return replace(view, X=X, classes=classes, targets=F, placed=self._placed(X, F))

    # -----------------------------------------------------------------------------------------------------
    # What fits cost
    # -----------------------------------------------------------------------------------------------------

    @property
    def _sizes(self) -> tuple[int, int, int, float]:
        """Rows, vectors, features, and values of a row that are not zero."""
        n, d = self.rows.shape
        return n, self.m, d, row_values(self.rows)

    def _shape(self, recipe: Recipe) -> Shape:
        return Shape(*self._sizes, *self._outputs(recipe))

    def outputs(self, recipe: Recipe) -> float:
        """Return how many outputs a row concerns, on average."""
        return self._outputs(recipe)[0]

    def _outputs(self, recipe: Recipe) -> tuple[float, NDArray[np.intp] | None, int]:
        """Return how many outputs a row concerns, the unknowns of outputs with systems of their own, and the groups."""
        several = self.n_classes > 2
        if recipe.target is Target.LABELS and several and self.mask is None:
            return float(self.n_classes), None, 1
        M = self.teacher.n_outputs
        pairwise = several and isinstance(self.problem.source.decoder, PairVote | PairDAG)
        if not pairwise or self._relevance(recipe) == 1:
            return float(self._directions(self.view(recipe.target), recipe)), None, 1
        n = self.rows.shape[0]
        unknowns = np.full(M, self.m) if self.mask is None else self.mask.sum(axis=0)
        return self.n_classes - 1 + M / self._thin(n), unknowns, self.n_classes

    def projection_cost(self, recipe: Recipe) -> float:
        """Return the multiply-adds of one step of variable projection."""
        return self._shape(recipe).projection(bool(recipe.norm))

    def margin_cost(self, recipe: Recipe) -> float:
        """Return the multiply-adds of one step of fine-tuning."""
        shape = self._shape(recipe)
        if self.n_classes > 2 and isinstance(self.view(recipe.target).decoder, PairVote | PairDAG):
            M = self.teacher.n_outputs
            shape = replace(shape, outputs=self.n_classes - 1 + M / self._thin(shape.n))
        return shape.margins()

    def cost(self, recipe: Recipe) -> float:
        """Return the multiply-adds of one step of a recipe."""
        return self.projection_cost(recipe) if recipe.margins is None else self.margin_cost(recipe)
