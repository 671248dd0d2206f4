"""Machines of pairs that care for the rows of their own two classes only."""

from __future__ import annotations

from dataclasses import dataclass, replace

from svmpress.decoders import PairDAG, PairVote
from svmpress.methods.auto.recipe import Recipe, Target
from svmpress.methods.auto.task import FitTask


@dataclass(frozen=True)
class Relevance:
    """A low weight for the rows of other classes; each machine then has a system of its own."""

    name: str = "relevance"

    def applies(self, task: FitTask) -> bool:
        """Return whether there are machines of pairs, and memory for their systems."""
        pairs = isinstance(task.problem.source.decoder, PairVote | PairDAG)
        return (
            pairs
            and task.n_classes > 2
            and task.mask is None
            and 8 * task.n_classes * task.m**2 < task.problem.max_bytes
        )

    def propose(self, recipe: Recipe, task: FitTask) -> list[Recipe]:
        """Return a low weight."""
        return [] if recipe.target is Target.LABELS else [replace(recipe, relevance=0.001)]
