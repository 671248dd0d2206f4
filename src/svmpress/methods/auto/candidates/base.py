"""What a candidate is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from svmpress.methods.auto.recipe import Recipe

if TYPE_CHECKING:
    from svmpress.methods.auto.task import FitTask


class Candidate(Protocol):
    """A change of the recipe; see ``docs/add-a-candidate.md``."""

    @property
    def name(self) -> str:
        """What decisions call it."""

    def applies(self, task: FitTask) -> bool:
        """Return whether there is anything to propose for such a task."""

    def propose(self, recipe: Recipe, task: FitTask) -> list[Recipe]:
        """Return changed recipes to try instead of the champion's; none if that leaves nothing to change."""
