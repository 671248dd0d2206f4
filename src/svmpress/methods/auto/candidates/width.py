"""A kernel width that is learned: fewer vectors may want wider kernels."""

from __future__ import annotations

from dataclasses import dataclass, replace

from svmpress.methods.auto.recipe import Recipe
from svmpress.methods.auto.task import FitTask


@dataclass(frozen=True)
class Width:
    """The kernel width as one more parameter of the descent."""

    name: str = "width"

    def applies(self, task: FitTask) -> bool:
        """Return whether another width makes other functions."""
        kernel = task.problem.source.kernel
        return kernel.width_matters and kernel.params["gamma"] > 0

    def propose(self, recipe: Recipe, task: FitTask) -> list[Recipe]:
        """Return a learned width."""
        return [replace(recipe, width=True)]
