"""Fine-tuning on margins instead of values: a classifier is asked for sides, and only for those that matter."""

from __future__ import annotations

from dataclasses import dataclass, replace

from svmpress.decoders import PairDAG, PairVote
from svmpress.methods.auto.recipe import Margins, Recipe, Target
from svmpress.methods.auto.task import FitTask


@dataclass(frozen=True)
class FineTuning:
    """Margins of the source, and of the labels where they are known."""

    name: str = "fine-tuning"

    def applies(self, task: FitTask) -> bool:
        """Return whether there are sides to be on."""
        return not task.is_regression

    def propose(self, recipe: Recipe, task: FitTask) -> list[Recipe]:
        """Return margins to fine-tune."""
        of_labels = replace(recipe, margins=Margins.LABELS)
        if recipe.target is Target.LABELS:
            pairs = isinstance(task.view(recipe.target).decoder, PairVote | PairDAG)
            return [of_labels] if task.n_classes == 2 or pairs else []
        of_source = replace(recipe, margins=Margins.SOURCE)
        return [of_source] if task.problem.y is None else [of_source, of_labels]
