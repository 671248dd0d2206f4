"""``max_drop``: the smallest model that loses little on held-out rows, found along a path of sizes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from statistics import fmean

from svmpress.methods import Experiment, Method, Outcome, Problem, split_rows


@dataclass(frozen=True)
class SizePoint:
    """One size on the way: its score and loss on held-out rows."""

    vectors: int
    score: float
    drop: float

    def __str__(self) -> str:
        return f"{self.vectors} vectors: score {self.score:.4f} on held-out rows, {self.drop:+.4f} lost"


_ENOUGH = 500
"""Rows that judge a size by themselves; fewer are judged by several splits."""
_SPLITS = 3


@dataclass(frozen=True, eq=False)
class _Trial:
    """One experiment, and the models that were made in it so far."""

    experiment: Experiment
    found: dict[int, Outcome]

    def score(self, outcome: Outcome) -> float:
        return self.experiment.holdout.score(outcome.expansion, outcome.decoder).mean


def search_size(problem: Problem, way: Method, max_drop: float) -> tuple[Outcome | None, tuple[SizePoint, ...]]:
    """Return the smallest model that loses at most ``max_drop`` on held-out rows, and every size that was tried.

    Sizes double until one is good enough; bisection then narrows the last gap to a tenth. Each size starts from the
    next smaller result where the method can. With y the loss is that of a surrogate against itself, since the source
    has seen the held-out rows (:mod:`svmpress.methods`). Where few rows are held out, the loss is the mean over several
    splits: on one of them a size would be partly luck. The size that is found is then made from the source on all rows,
    and grown as long as even so it loses more than allowed.
    """
    rows = problem.rows if problem.rows is not None else problem.source.expansion.vectors
    problem = replace(problem, rows=rows)
    few = split_rows(rows.shape[0], problem.seed)[1].size < _ENOUGH
    trials = [_Trial(Experiment.of(problem, problem.seed + 1000 * i), {}) for i in range(_SPLITS if few else 1)]
    reference = fmean(trial.experiment.reference.mean for trial in trials)
    curve: dict[int, SizePoint] = {}

    def judged(m: int, outcomes: Iterable[Outcome]) -> SizePoint:
        score = fmean(trial.score(outcome) for trial, outcome in zip(trials, outcomes, strict=True))
        return SizePoint(m, score, reference - score)

    def good(m: int) -> bool:
        for trial in trials:
            trial.found[m] = _run(way, trial.experiment.problem, m, trial.found)
        curve[m] = judged(m, [trial.found[m] for trial in trials])
        return curve[m].drop <= max_drop

    n, low, m = problem.source.n_vectors, 0, 2
    while m < n and not good(m):
        low, m = m, 2 * m
        if time.perf_counter() > problem.deadline:
            return None, tuple(curve[k] for k in sorted(curve))
    m = _bisect(low, m, good) if m < n else m
    best = None
    while best is None and m < n:
        made = _run(way, problem, m, trials[0].found)
        point = judged(m, [made] * len(trials))
        if point.drop <= max_drop:
            best = made
        else:
            curve[m], m = point, m + max(1, m // 4)
    return best, tuple(curve[k] for k in sorted(curve))


def _bisect(low: int, high: int, good: Callable[[int], bool]) -> int:
    while high - low > max(1, high // 10):
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high


def _run(way: Method, problem: Problem, m: int, found: dict[int, Outcome]) -> Outcome:
    smaller = [k for k in found if k <= m]
    return way.run(problem, m, found[max(smaller)] if smaller else None)
