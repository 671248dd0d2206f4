"""``max_drop``: the smallest model that loses little on held-out rows, found along a path of sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from svmpress import arrays
from svmpress.problem import Method, Outcome, Problem
from svmpress.rehearsal import trusting_labels
from svmpress.scoring import Judge, split_rows


@dataclass(frozen=True)
class SizePoint:
    """One size on the way: its score and loss on held-out rows."""

    vectors: int
    score: float
    drop: float

    def __str__(self) -> str:
        return f"{self.vectors} vectors: score {self.score:.4f} on held-out rows, {self.drop:+.4f} lost"


def search_size(problem: Problem, way: Method, max_drop: float) -> tuple[Outcome | None, tuple[SizePoint, ...]]:
    """Return the smallest model that loses at most ``max_drop`` on held-out rows, and every size that was tried.

    Sizes double until one is good enough; bisection then narrows the last gap to a tenth. Each size starts from the
    next smaller result where the method can. With y the loss is that of a rehearsal against itself, since the source
    has seen the held-out rows (:mod:`svmpress.rehearsal`). The size that is found is then made from the source on all
    rows, and grown as long as even so it loses more than allowed.
    """
    rows = problem.rows if problem.rows is not None else problem.source.expansion.vectors
    problem = replace(problem, rows=rows)
    fit, held = split_rows(rows.shape[0], problem.seed)
    problem, part = trusting_labels(problem, fit)
    judge = Judge(problem, held)
    reference = judge.reference if part is None else judge.of(part.source.expansion)
    if part is None:
        part = replace(problem, rows=arrays.take(rows, fit), y=None if problem.y is None else problem.y[fit])
    curve: dict[int, SizePoint] = {}
    found: dict[int, Outcome] = {}

    def judged(m: int, outcome: Outcome) -> SizePoint:
        score = judge.of(outcome.expansion, outcome.decoder).score
        return SizePoint(m, score, reference.score - score)

    def good(m: int) -> bool:
        found[m] = _run(way, part, m, found)
        curve[m] = judged(m, found[m])
        return curve[m].drop <= max_drop

    n, low, m = problem.source.n_vectors, 0, 2
    while m < n and not good(m):
        low, m = m, 2 * m
    m = _bisect(low, m, good) if m < n else m
    best = None
    while best is None and m < n:
        made = _run(way, problem, m, found)
        point = judged(m, made)
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
