"""What a search returns: a model, how it was found, and every trial."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from svmpress.compression import Compression
from svmpress.model import KernelModel
from svmpress.tuning.goal import Goal
from svmpress.tuning.records import Point, Trial


class SearchStatus(Enum):
    """How a search ended; the value is the message for people."""

    FEASIBLE = "the best model that was found and meets the goal"
    INFEASIBLE = "no model that was tried meets the goal; this is the one that comes closest"

    @property
    def message(self) -> str:
        """What happened, as a sentence."""
        return self.value


@dataclass(frozen=True)
class FrontPoint:
    """A compressed model that none of the others beats in both size and score."""

    vectors: int
    score: float
    trial: int
    stage: str


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What :func:`svmpress.search` returns.

    Parameters
    ----------
    model : KernelModel
        The compressed model, made from all rows unless ``refit=False``.
    compression : Compression
        How it was made from the SVM with the best parameters.
    params : mapping
        Those parameters, as ``set_params`` takes them.
    score : float
        Of the finalist with these parameters and this size, on held-out rows: what was compared with the goal.
    score_name : str
        What the score is.
    goal : Goal
    status : SearchStatus
    detail : str
        More about the status; may be empty.
    trials : tuple of Trial
        In the order in which they were made.
    finalists : tuple of Trial
    held_out : int
        Rows behind each score.
    limit : int or None
        The most vectors that the goal allows.
    seconds : float
        Of this call.

    See Also
    --------
    table, front, summary
    """

    model: KernelModel
    compression: Compression
    params: Mapping[str, Any]
    score: float
    score_name: str
    goal: Goal
    status: SearchStatus
    detail: str
    trials: tuple[Trial, ...]
    finalists: tuple[Trial, ...]
    held_out: int
    limit: int | None
    seconds: float
    notes: tuple[str, ...] = field(default=())

    @property
    def feasible(self) -> bool:
        """Whether the goal is met."""
        return self.status is SearchStatus.FEASIBLE

    @property
    def message(self) -> str:
        """The status as a sentence, with its detail."""
        return f"{self.status.message} ({self.detail})" if self.detail else self.status.message

    @property
    def front(self) -> tuple[FrontPoint, ...]:
        """The models of all trials and finalists that are best at their size, by size."""
        return front_of([*self.trials, *self.finalists])

    def summary(self) -> str:
        """Return what was found, for a person to read."""
        source = self.compression.source
        failed = sum(bool(t.error) for t in self.trials)
        params = ", ".join(f"{name}={_shown(value)}" for name, value in self.params.items())
        facts = {
            "goal": self.goal.described(self.score_name),
            "vectors": f"{self.model.n_vectors:,} of {source.n_vectors:,}",
            self.score_name: f"{self.score:.4f} on {self.held_out:,} held-out rows",
            "parameters": params or "as given",
            "trials": f"{len(self.trials)}" + (f", {failed} of them failed" if failed else ""),
            "finalists": f"{len(self.finalists)}, with {sum(len(f.curve) for f in self.finalists)} compressions",
            "seconds": f"{self.seconds:.1f}",
        }
        width = max(map(len, facts)) + 2
        lines = [f"{self.message}."] + [f"{name:<{width}}{value}" for name, value in facts.items()]
        return "\n".join(lines + [f"- {note}" for note in self.notes])

    def table(self) -> str:
        """Return every size of every trial and finalist as CSV: number, stage, parameters, size, score, and so on."""
        names = sorted({name for t in self.trials for name in t.params})
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        columns = ["trial", "stage", *names, "rows", "vectors", "outputs", "score", "meets_goal", "seconds", "error"]
        writer.writerow(columns)
        for t in (*self.trials, *self.finalists):
            head = [t.number, t.stage, *(t.params.get(name) for name in names), t.rows]
            for p in t.whole_curve:
                met = int(self._met(p))
                writer.writerow([*head, p.vectors, p.outputs, p.score, met, round(t.seconds, 3), ""])
            if t.error:
                writer.writerow([*head, "", "", "", 0, round(t.seconds, 3), t.error])
        return text.getvalue()

    def _met(self, point: Point) -> bool:
        return self.goal.is_met(point) and (self.limit is None or point.vectors <= self.limit)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def front_of(trials: Sequence[Trial]) -> tuple[FrontPoint, ...]:
    """Return the points that no other beats in both size and score, by size.

    Examples
    --------
    >>> curve = (Point(2, 1, 0.8), Point(4, 1, 0.7), Point(8, 1, 0.9))
    >>> [p.vectors for p in front_of([Trial(0, "trial", {}, 10, None, curve, 0.1)])]
    [2, 8]
    """
    points = [FrontPoint(p.vectors, p.score, t.number, t.stage) for t in trials for p in t.whole_curve]
    front: list[FrontPoint] = []
    for point in sorted(points, key=lambda p: (p.vectors, -p.score)):
        if not front or point.score > front[-1].score:
            front.append(point)
    return tuple(front)
