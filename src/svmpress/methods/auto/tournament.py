"""The tournament: candidates challenge a champion, and held-out rows decide.

    champion = the plain copy of the source, from the start that comes closest to the source's values
    for each candidate:
        its recipes and the champion go on for the same work, in rounds; after each the weaker half of them leaves
        the best recipe becomes champion if it is ahead by more than noise

The champion stays in every round, so that a change is compared with the same work without it. Starts are compared by
what all of them minimise, which is no matter of luck; what changes the objective is compared by held-out rows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from svmpress.kernels import Kernel
from svmpress.methods.auto.candidates import Candidate
from svmpress.methods.auto.recipe import Recipe
from svmpress.methods.auto.starts import start_names, start_vectors
from svmpress.methods.auto.task import FitTask
from svmpress.methods.base import Decision
from svmpress.methods.holdout import Holdout
from svmpress.methods.score import Score
from svmpress.numerics import Floats
from svmpress.objectives import Refined

BAR = 1.0
"""Standard errors by which a recipe must be ahead of the champion."""
CLEAR = 4.0
"""Standard errors by which either may be ahead so that no more rounds are needed."""
_ON_STARTS = 0.15
"""Share of the tournament's work for the choice of a start."""
_LEAST_STEPS, _MOST_STEPS = 4, 200
"""Of one round."""


@dataclass(frozen=True, eq=False)
class Entry:
    """A recipe in the tournament: where it is, and what it scores."""

    recipe: Recipe
    vectors: Floats
    kernel: Kernel
    fit: Refined | None = None
    score: Score | None = None
    steps: int = 0

    @property
    def mean(self) -> float:
        """The score; the least of all before the first fit."""
        return -math.inf if self.score is None else self.score.mean


Judge = Callable[[Entry], Score]
"""What entries are compared by."""


def tournament(
    task: FitTask, recipe: Recipe, candidates: Sequence[Candidate], holdout: Holdout, share: float
) -> tuple[Entry, tuple[Decision, ...]]:
    """Return the entry that won, and what was decided on the way.

    Parameters
    ----------
    task : FitTask
        On rows that leave out the held-out ones, with a teacher that has not seen those either.
    recipe : Recipe
        Of the first champion.
    candidates : sequence of Candidate
        In the order of their challenges.
    holdout : Holdout
    share : float
        Of the task's work, for the whole tournament.
    """

    def by_answers(entry: Entry) -> Score:
        assert entry.fit is not None
        return holdout.score(task.expansion(entry.fit), task.view(entry.recipe.target).decoder)

    active = [c for c in candidates if c.applies(task)]
    end = task.work.spent + share * task.work.total

    def part(among: int) -> float:
        return max(0.0, end - task.work.spent) / among  # what one does not need, others have

    starts = [replace(recipe, start=name) for name in start_names(task) if name != recipe.start]
    champion, decisions = begin(task, recipe), []
    if starts:
        champion, decision = challenge(task, by_error, "start", champion, starts, _ON_STARTS * part(1))
        champion = replace(champion, score=by_answers(champion))
        decisions.append(decision)
    for i, candidate in enumerate(active):
        work = part(len(active) - i)
        recipes = [] if task.work.is_late else candidate.propose(champion.recipe, task)
        recipes = [changed for changed in recipes if _LEAST_STEPS * task.cost(changed) <= work]
        if recipes:
            champion, decision = challenge(task, by_answers, candidate.name, champion, recipes, work)
            decisions.append(decision)
    if champion.score is None:  # nobody had a challenge: what it scores is of interest all the same
        champion = advance(task, by_answers, champion, part(1))
    return champion, tuple(decisions)


def by_error(entry: Entry) -> Score:
    """Return which part of the targets' variation an entry explains: what a descent minimises, the other way round."""
    assert entry.fit is not None
    return Score(np.array([1 - entry.fit.value]))


def begin(task: FitTask, recipe: Recipe) -> Entry:
    """Return a recipe at its start."""
    return Entry(recipe, start_vectors(task, recipe.start), task.problem.source.kernel)


def challenge(
    task: FitTask,
    judge: Judge,
    name: str,
    champion: Entry,
    recipes: Sequence[Recipe],
    work: float,
) -> tuple[Entry, Decision]:
    """Let recipes challenge the champion, and return who is champion then."""
    since = time.perf_counter()
    rivals = [
        begin(task, recipe) if recipe.start != champion.recipe.start else replace(champion, recipe=recipe, steps=0)
        for recipe in recipes
    ]
    rounds = max(2, math.ceil(math.log2(len(rivals) + 1)))
    gain = 0.0
    for _ in range(rounds):
        part = work / rounds / (len(rivals) + 1)
        champion = advance(task, judge, champion, part)
        rivals = [advance(task, judge, rival, part) for rival in rivals]
        rivals = ranked(rivals)[: max(1, len(rivals) // 2)]
        gain = ahead(rivals[0], champion)
        if task.work.is_late or (judge is not by_error and abs(gain) > CLEAR):
            break
    best, adopted = rivals[0], gain > BAR
    assert best.score is not None
    assert champion.score is not None
    decision = Decision(
        candidate=name,
        change=str(best.recipe),
        before=champion.score.mean,
        after=best.score.mean,
        standard_error=best.score.standard_error_of_gain(champion.score),
        steps=best.steps,
        seconds=time.perf_counter() - since,
        adopted=adopted,
    )
    return best if adopted else champion, decision


def ranked(entries: Sequence[Entry]) -> list[Entry]:
    """Return the best first; those that are behind it by less than noise stand beside it, in the order they came in."""
    by_score = sorted(entries, key=lambda entry: -entry.mean)
    level = [entry for entry in entries if ahead(by_score[0], entry) <= BAR]
    return level + [entry for entry in by_score if not any(entry is other for other in level)]


def ahead(entry: Entry, other: Entry) -> float:
    """Return by how many standard errors of the difference an entry is ahead of another."""
    assert entry.score is not None
    assert other.score is not None
    return entry.score.gain_over(other.score)


def advance(task: FitTask, judge: Judge, entry: Entry, work: float) -> Entry:
    """Go on with an entry for as many steps as some work buys, and score it."""
    recipe = entry.recipe
    steps = int(min(max(work / task.cost(recipe), _LEAST_STEPS), _MOST_STEPS))
    if recipe.margins is not None and entry.fit is not None:
        fit = task.tune(recipe, entry.fit, steps, "choosing")
        recipe = replace(recipe, margin_steps=recipe.margin_steps + steps)
    else:
        fit = task.project(recipe, entry.vectors, entry.kernel, steps, "choosing")
    moved = Entry(recipe, fit.vectors, fit.kernel, fit, None, entry.steps + fit.n_iter)
    return replace(moved, score=judge(moved))
