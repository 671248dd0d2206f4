"""What a report tells: the models, and rows to tell it on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.compression.expectation import Expectation
from svmpress.compression.measuring import Measured, measured
from svmpress.decoders import Floats
from svmpress.model import KernelModel
from svmpress.numerics import Rows, arrays, chosen_rows, lazy_property

MOST_ROWS = 20_000
"""Rows that are looked at; of more, so many are drawn at random."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Rows as the source gets them, and their answers.

    Parameters
    ----------
    source : KernelModel
    X : (n, d)
    y : (n,) or None
    given : int
        How many rows there were.
    """

    source: KernelModel
    X: Rows
    y: NDArray[Any] | None
    given: int
    rows: NDArray[np.intp]
    """Their positions among the rows that were given."""

    @classmethod
    def of(cls, source: KernelModel, X: Rows, y: NDArray[Any] | None) -> Evidence:
        """Return all rows, or a random sample of many."""
        n = int(X.shape[0])
        rows = np.arange(n)
        if n > MOST_ROWS:
            rows = chosen_rows(n, MOST_ROWS, seed=0)
            X, y = arrays.take(X, rows), None if y is None else y[rows]
        return cls(source, X, y, n, rows)

    @property
    def n(self) -> int:
        """How many rows are looked at."""
        return len(self.rows)

    @lazy_property
    def values(self) -> Floats:
        """The source's decision values, (n, M)."""
        return self.source.decision_values(self.X)

    @lazy_property
    def answers(self) -> NDArray[Any]:
        """The source's answers, (n,)."""
        return self.source.decoder.labels(self.values)

    @lazy_property
    def measured(self) -> Measured:
        """The source itself, measured."""
        return measured(self.source, self.source, self.X, self.y)


@dataclass(frozen=True, eq=False)
class Subject:
    """A small model of the report, and what is known of how it was made.

    Parameters
    ----------
    model : KernelModel
    told : tuple of str
        Decisions and notes, a sentence each.
    warnings : tuple of str
    expected : Expectation, optional
    """

    model: KernelModel
    told: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    expected: Expectation | None = None


@dataclass(frozen=True, eq=False)
class Size:
    """A small model on the rows of the report.

    Parameters
    ----------
    subject : Subject
    evidence : Evidence or None
    """

    subject: Subject
    evidence: Evidence | None

    @property
    def model(self) -> KernelModel:
        """The small model."""
        return self.subject.model

    @lazy_property
    def values(self) -> Floats:
        """Its decision values, (n, M)."""
        assert self.evidence is not None
        return self.model.decision_values(self.evidence.X)

    @lazy_property
    def answers(self) -> NDArray[Any]:
        """Its answers, (n,)."""
        return self.model.decoder.labels(self.values)

    @lazy_property
    def measured(self) -> Measured | None:
        """How good it is, and how fast; None without rows."""
        if self.evidence is None:
            return None
        return measured(self.model, self.evidence.source, self.evidence.X, self.evidence.y)


def leads(model: KernelModel, F: Floats) -> Floats:
    """Return one number a row, (n,): the decision value, or by how much the best of several classes leads."""
    scores = model.decoder.scores(F)
    if scores.ndim == 1 or scores.shape[1] == 1:
        return scores.reshape(-1)
    if model.classes_ is None:
        return scores[:, 0]
    two = np.partition(scores, -2, axis=1)[:, -2:]
    lead: Floats = two[:, 1] - two[:, 0]
    return lead
