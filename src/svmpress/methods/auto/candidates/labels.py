"""Labels as targets instead of the source's values.

They do not repeat the errors of the source, and one output a class does instead of one a pair. But labels are noisy,
and no function of the rows: the norm says how closely they may be followed, and the C of the source, which its maker
chose, about how closely that is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from svmpress.methods.auto.recipe import Recipe, Target
from svmpress.methods.auto.task import FitTask
from svmpress.methods.surrogate import largest_coefficient

FACTORS = (1.0,)
"""The norm's weight for classes, times C. A support vector machine minimises its norm and 2C times its errors; squares
of errors count less than their amounts where a fit is good, so that the norm is given twice that weight beside them."""
HALFWAY = (0.3, 0.03)
"""Its weights for values halfway between those of the source, which are a smooth function, and noisy ones."""


@dataclass(frozen=True)
class Labels:
    """Labels, held back by the norm."""

    name: str = "labels"

    def applies(self, task: FitTask) -> bool:
        """Return whether there are labels, of every class, and a norm to hold them back."""
        y = task.problem.y
        if y is None or not task.problem.source.kernel.definite:
            return False
        return task.is_regression or len(np.unique(y)) == task.n_classes

    def propose(self, recipe: Recipe, task: FitTask) -> list[Recipe]:
        """Return labels, with weights of the norm in proportion to that which the source was trained with."""
        C = largest_coefficient(task.problem.source)
        factors = HALFWAY if task.is_regression else FACTORS
        return [replace(recipe, target=Target.LABELS, norm=factor / C) for factor in factors]
