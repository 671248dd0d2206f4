"""Values cut off beyond the margin: a machine that votes need not say how far from the boundary a row is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from svmpress.methods.auto.recipe import Recipe, Target
from svmpress.methods.auto.task import FitTask

_FAR = 1.5
"""Half a margin beyond the margin."""


@dataclass(frozen=True)
class Clip:
    """Clipped values for masked votes; probabilities were calibrated on values as they are."""

    name: str = "clip"

    def applies(self, task: FitTask) -> bool:
        """Return whether machines have few coefficients and only vote."""
        return task.mask is not None and not task.problem.source.probability

    def propose(self, recipe: Recipe, task: FitTask) -> list[Recipe]:
        """Return clipped values."""
        return [] if recipe.target is Target.LABELS else [replace(recipe, clip=_FAR)]
