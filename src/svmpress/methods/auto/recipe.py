"""Recipes: everything that the default method decides."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import inf


class Target(Enum):
    """What is fitted; the value is how a person would say it."""

    SOURCE = "the source's values"
    LABELS = "labels"
    """Of a classifier +1 and -1; of a regressor halfway between y and the source's values."""


class Margins(Enum):
    """Whose margins are fine-tuned; the value is how a person would say it."""

    SOURCE = "the source"
    LABELS = "the labels"


@dataclass(frozen=True)
class Recipe:
    """How to compress. The default is the plain copy of the source.

    Parameters
    ----------
    target : Target
    start : str
        Where vectors start, see :mod:`svmpress.methods.auto.starts`.
    ridge : float
        Penalty on coefficients, relative to the mean squared kernel value.
    norm : float
        Penalty on the norm in the kernel's space, for targets that must not be followed to the letter.
    relevance : float
        Weight of the rows of other classes for the machine of a pair of classes.
    width : bool
        Whether the kernel width is learned.
    clip : float
        Values beyond this count as being there: how far from the boundary a row is does not matter to a vote.
    margins : Margins, optional
        Fine-tuning after the descent.
    margin_steps : int
        How many steps of it held-out rows have seen.

    Examples
    --------
    >>> print(Recipe(Target.LABELS, norm=0.1))
    labels, norm 0.1
    """

    target: Target = Target.SOURCE
    start: str = "k-means"
    ridge: float = 1e-6
    norm: float = 0.0
    relevance: float = 1.0
    width: bool = False
    clip: float = inf
    margins: Margins | None = None
    margin_steps: int = 0

    @property
    def copies(self) -> bool:
        """Whether the source's values are the only targets."""
        return self.target is Target.SOURCE and self.margins is not Margins.LABELS

    def __str__(self) -> str:
        parts = [self.target.value]
        parts += [f"start {self.start}"] if self.start != Recipe.start else []
        parts += [f"norm {self.norm:.2g}"] if self.norm else []
        parts += [f"weight {self.relevance:g} for other classes"] if self.relevance < 1 else []
        parts += ["learned width"] if self.width else []
        parts += [f"clipped at {self.clip:g}"] if self.clip < inf else []
        parts += [f"margins of {self.margins.value}"] if self.margins is not None else []
        return ", ".join(parts)


PLAIN_COPY = Recipe()
"""The source's values and nothing else."""
