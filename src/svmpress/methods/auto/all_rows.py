"""All rows, of which a task has a sample: the last steps of a recipe on rows that are too many for one place.

Choices are made, and vectors move far, on the sample. What is left is small, and needs all rows: their sums come from
where the rows are (:mod:`svmpress.objectives.shards`), and the vectors move here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.kernels import Kernel
from svmpress.methods.auto.recipe import Margins, Recipe, Target
from svmpress.methods.auto.task import FitTask
from svmpress.methods.auto.work import Work
from svmpress.methods.base import Layout, Problem
from svmpress.model import KernelModel
from svmpress.numerics import Backend, Floats, Shard, Shards
from svmpress.objectives import Arrangement, ProjectedError, ShardMargins, ShardSums, arranged, sides_of


@dataclass(frozen=True)
class _Asked:
    """What shards are told once: whose values their rows are to get, and as which targets."""

    source: KernelModel
    layout: Layout
    m: int
    target: Target
    uses_labels: bool
    seed: int
    max_bytes: int


def _answered(shard: Shard, asked: _Asked) -> Mapping[str, NDArray[Any]]:
    """Return the classes of a shard's rows, what is known of them, and their targets."""
    y = shard.columns["y"] if asked.uses_labels else None
    here = Backend.of("cpu")
    problem = Problem(asked.source, shard.X, y, asked.layout, here, asked.seed, asked.max_bytes, _silent)
    classes, known, targets, _ = FitTask(problem, asked.m, Work(0.0)).wanted(asked.target)
    return {"classes": classes, "known": known, "targets": targets}


def _silent(stage: str, done: int, total: int) -> None:
    """Say nothing."""


@dataclass(frozen=True, eq=False)
class AllRows(FitTask):
    """A fit task on all rows, whose objectives are sums over shards; its own rows are the sample.

    Parameters
    ----------
    shards : Shards
        With the columns of :meth:`FitTask.wanted`.
    """

    shards: Shards | None = None

    @classmethod
    def of_sample(cls, task: FitTask, target: Target) -> AllRows:
        """Return the task on all rows of a problem whose rows are a sample of them."""
        problem = task.problem
        assert problem.every is not None
        problem.progress("asking the source for its values at all rows", 0, 0)
        asked = _Asked(
            problem.source, problem.layout, task.m, target, problem.y is not None, problem.seed, problem.max_bytes
        )
        shards = problem.every.beside(_answered, asked)
        here = replace(
            problem, backend=Backend.of("cpu")
        )  # shards compute where they are, not on a device of this place
        return cls(here, task.m, task.work, task.smaller, task._views, shards)

    @property
    def n(self) -> int:
        """The number of rows."""
        assert self.shards is not None
        return sum(self.shards.sizes)

    def error(self, directions: int | None, recipe: Recipe, V: Floats, kernel: Kernel) -> ProjectedError:
        """Return what a descent from vectors V (m, d) minimises, for so many leading directions of the targets."""
        assert self.shards is not None
        view = self.view(recipe.target)
        apart = self._is_apart(view, recipe)
        sample = np.clip(view.targets, -recipe.clip, recipe.clip) if recipe.clip < inf else view.targets
        leading = None if directions is None else view.spectrum[1][:, -directions:]
        how = Arrangement(
            np.mean(sample if leading is None else sample @ leading, axis=0),
            by="classes" if apart else None,
            clip=recipe.clip,
            directions=leading,
            thin=self._thin(self.n) if apart else 0,
        )
        weights = self._own_classes if apart else np.ones((1, len(how.common)))
        sums = ShardSums(
            self.shards.arranged(arranged, how),
            self.n,
            view.X,
            weights,
            background=self._relevance(recipe) if apart else 0.0,
            thin=max(1, how.thin),
            mask=self._mask_of(view.decoder),
            guards=self._guards(V, how) if self._has_guard(recipe) else None,
        )
        return ProjectedError.over(
            kernel,
            sums,
            V,
            common=how.common,
            weights=weights,
            mask=self._mask_of(view.decoder),
            ridge=self._ridge(recipe, kernel),
            norm=recipe.norm,
        )

    def _guards(self, V: Floats, how: Arrangement) -> Shard:
        """Return the places of the vectors as rows; see :meth:`FitTask._has_guard`."""
        return arranged(Shard(V, {"targets": self.problem.values(V)}), how)

    def margins(self, recipe: Recipe) -> ShardMargins:
        """Return what fine-tuning minimises."""
        assert self.shards is not None
        view, of_source = self.view(recipe.target), recipe.margins is Margins.SOURCE
        sides = sides_of(np.arange(self.n_classes), self.n_classes, view.pairwise)
        thin = 0 if sides.all() else self._thin(self.n)
        how = Arrangement(np.zeros(view.targets.shape[1]), by="classes" if of_source else "known", thin=thin)
        return ShardMargins(
            self.shards.arranged(arranged, how), self.n, view.X, sides, trust=of_source, thin=max(1, thin)
        )

    @property
    def _sizes(self) -> tuple[int, int, int, float]:
        _, m, d, row_values = super()._sizes
        return self.n, m, d, row_values
