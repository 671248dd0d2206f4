"""Finalists: the best trials again, on all rows and with the real compression.

Trials are cheap because they train on a sample and compress briefly, so their scores are not yet those of the model
that will be delivered. A finalist trains on all rows that do not judge and calls :func:`svmpress.compress`. It begins
at the size that its trial promised, goes up until the goal is met or nothing is gained any more, and then down by
bisection to within a tenth. A later finalist must first meet the goal with less than the best so far, and is dropped
if it cannot: most cost one compression.

The best trial of the start is promoted early, if trials are sampled. What its score gained on all rows at the same
sizes is the *gain* that trials are credited with from then on: an accuracy that all rows can reach is not asked of a
sample.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from svmpress.methods import Progress
from svmpress.tuning.goal import Goal, crossing, rising
from svmpress.tuning.records import Point, Trial
from svmpress.tuning.workbench import Side, Workbench, mean_point, source_point

_STEP = 1.4
"""From the promised size to the next; further up sizes double."""
_BISECTIONS = 5


class Finalist:
    """One finalist at work: trained SVMs, and the sizes that they were compressed to."""

    def __init__(self, bench: Workbench, sides: list[Side], goal: Goal, limit: int | None, progress: Progress) -> None:
        self._bench, self._goal, self._progress, self._sides = bench, goal, progress, sides
        self.source = source_point(self._sides)
        self.top = self.source.vectors if limit is None else min(limit, self.source.vectors)
        self.points: dict[int, Point] = {}

    def meets(self, m: int) -> bool:
        """Compress to m vectors, and return whether that meets the goal."""
        if m not in self.points:
            models = [self._bench.compressed(s.source, s.rows, m, self._progress).model for s in self._sides]
            self.points[m] = mean_point(models, [s.score(model) for s, model in zip(self._sides, models, strict=True)])
        return self._goal.is_met(self.points[m])

    def most_accurate(self) -> None:
        """Compress to the largest size that the limits allow."""
        self.meets(self.top)

    def smallest(self, promised: float, best: Point | None, n_features: int) -> None:
        """Look for the smallest size that meets the goal; with ``best``, only below its cost."""
        top = self.top if best is None else min(self.top, self._below(best, n_features))
        if top < 1:
            return
        low, m = 0, min(max(1, math.ceil(promised)), top)
        step = _STEP
        while not self.meets(m):
            if m == top or self._stalled():
                self._source_itself(top)
                return
            low, m, step = m, min(top, max(m + 1, math.ceil(step * m))), 2.0
        for _ in range(_BISECTIONS):
            if m - low <= max(1, m // 10):
                return
            middle = round(math.sqrt(low * m)) if low else math.floor(m / _STEP)
            middle = min(max(middle, low + 1), m - 1)
            low, m = (low, middle) if self.meets(middle) else (middle, m)

    def _stalled(self) -> bool:
        """Return whether the last three sizes are no better than the best before them: more would cost a lot."""
        scores = [self.points[m].score for m in sorted(self.points)]
        return len(scores) > 3 and max(scores[-3:]) <= max(scores[:-3])

    def _source_itself(self, top: int) -> None:
        """Fall back to the SVM as it is, if that meets the goal and is small enough."""
        if self.source.vectors <= top and self._goal.is_met(self.source):
            self.points[self.source.vectors] = self.source

    def _below(self, best: Point, n_features: int) -> int:
        """Return the largest size of this source that costs less than the best so far."""
        wanted, m = self._goal.cost(best, n_features), self.top
        of = self.source.outputs
        return next((k for k in range(m, 0, -1) if self._goal.cost(Point(k, of, 0.0), n_features) < wanted), 0)


def best_point(finalists: Sequence[Trial], goal: Goal, n_features: int) -> tuple[Trial, Point] | None:
    """Return the best point of all finalists: the cheapest that meets the goal, else the one that comes closest."""
    points = [(t, p) for t in finalists for p in t.curve]
    met = [(t, p) for t, p in points if goal.is_met(p)]
    if goal.min_accuracy is not None and met:
        return min(met, key=lambda tp: (goal.cost(tp[1], n_features), -tp[1].score))
    return max(points, key=lambda tp: (tp[1].score, -tp[1].vectors), default=None)


def ranked(trials: Sequence[Trial], goal: Goal, gain: float, limit: int | None) -> list[Trial]:
    """Return the trials that did not fail, the most promising first: feasible ones by value, then by violation.

    ``limit`` is the most vectors that the goal allows, here and below; None if there is no such limit.
    """
    good = [t for t in trials if t.source is not None]

    def key(trial: Trial) -> tuple[float, float]:
        value, violation = goal.observed(trial.curve_within(limit), gain)
        return (0.0, value) if violation is None or violation <= 0 else (violation, 0.0)

    return sorted(good, key=key)


def promised_size(trial: Trial, goal: Goal, gain: float, limit: int | None) -> float:
    """Return the size at which a trial's curve meets the goal; where it never does, that of its best score."""
    assert goal.min_accuracy is not None
    curve = rising(trial.curve_within(limit))
    best = max(curve, key=lambda p: (p.score, -p.vectors))
    return crossing(curve, goal.min_accuracy - gain) or best.vectors


def gain_of(finalists: Sequence[Trial], trials: Sequence[Trial]) -> float:
    """Return how much finalists score above their trials at the same sizes, the median; never below 0."""
    by_number = {t.number: t for t in trials}
    gains = [
        point.score - _score_at(by_number[f.number].whole_curve, point.vectors) for f in finalists for point in f.curve
    ]
    return max(0.0, statistics.median(gains)) if gains else 0.0


def _score_at(curve: Sequence[Point], m: int) -> float:
    """Return a curve at a size, by interpolation in log m; flat beyond its ends."""
    before = after = curve[0]
    for point in curve:
        before, after = (point, point) if point.vectors <= m else (before, after)
        if point.vectors > m:
            after = point
            break
    if after.vectors <= before.vectors:
        return before.score
    share = math.log(m / before.vectors) / math.log(after.vectors / before.vectors)
    return before.score + min(max(share, 0.0), 1.0) * (after.score - before.score)
