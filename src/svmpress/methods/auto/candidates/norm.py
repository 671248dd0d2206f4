"""A norm for machines that have coefficients of their own, and could follow the rows of two classes to the letter."""

from __future__ import annotations

from dataclasses import dataclass, replace

from svmpress.methods.auto.recipe import Recipe, Target
from svmpress.methods.auto.task import FitTask


@dataclass(frozen=True)
class Norm:
    """The norm of a masked copy."""

    name: str = "norm"

    def applies(self, task: FitTask) -> bool:
        """Return whether coefficients are masked and functions have a norm."""
        return task.mask is not None and task.problem.source.kernel.definite

    def propose(self, recipe: Recipe, task: FitTask) -> list[Recipe]:
        """Return weights of the norm."""
        return [] if recipe.target is Target.LABELS else [replace(recipe, norm=norm) for norm in (0.01, 0.1, 1.0)]
