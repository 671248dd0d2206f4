"""The default method: variable projection by a recipe that a tournament finds.

    1  hold rows out; train a surrogate of the source without them                      methods/experiment
    2  let candidates challenge the plain copy, judged on the held-out rows             tournament, candidates/
    3  do to the source, on all rows, what won                                          application

Without data, the support vectors are the rows, and the labels that their coefficients tell take part
(:mod:`svmpress.methods.data_free`). Work is counted in multiply-adds (:mod:`svmpress.methods.auto.work`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Literal

import numpy as np

from svmpress.errors import InputError
from svmpress.methods.auto.application import apply, quick_sample
from svmpress.methods.auto.candidates import CANDIDATES, Candidate
from svmpress.methods.auto.recipe import PLAIN_COPY, Recipe
from svmpress.methods.auto.task import FitTask
from svmpress.methods.auto.tournament import BAR, Entry, begin, tournament
from svmpress.methods.auto.work import EFFORTS, Work, usual_work
from svmpress.methods.base import Outcome, Problem
from svmpress.methods.data_free import inferred_labels, midpoints, with_vectors
from svmpress.methods.experiment import Experiment
from svmpress.methods.holdout import Holdout
from svmpress.methods.score import Check
from svmpress.model import KernelExpansion
from svmpress.numerics import one_blas_thread

Effort = Literal["fast", "balanced", "thorough"]

_FEW_ROWS = 50
"""Below this nothing is held out: so few rows tell nothing."""
_TOURNAMENT = 0.5
"""Share of the work, and of the seconds where they are limited, that goes into choices."""
_EVALUATIONS = 300
"""Of a plain copy, that the work for choices should buy: they are made on fewer rows if these are too expensive."""
_MOST_OF_A_CLASS = 0.5
"""Share of the points between a class's vectors that must get the source's answer."""
_SHARE_OF_OTHERS = 0.6
"""Of the work for one size, for another of as many vectors: its surrogate is trained, and its rows are chosen."""
_LEAST_SHARE = 0.08
"""Of the work for one size, for a far smaller one: choices take some work however few the vectors."""
_SMALL = 1e8
"""Multiply-adds of an evaluation below which threads would wait for each other longer than they work."""


@dataclass(frozen=True, eq=False)
class _Known:
    """What a run for another size has found: its experiment, and the winner of it, to grow from."""

    experiment: Experiment
    smaller: KernelExpansion | None


@dataclass(frozen=True)
class Auto:
    """Variable projection with what held-out rows approve of; see the module's docstring.

    Parameters
    ----------
    effort : "fast", "balanced" or "thorough"
        How much work to spend: a fifth of the usual, which is in proportion to the training of the source, or all of
        it, or five times as much.
    work : float, optional
        Multiply-adds to spend, instead.
    copies_only : bool
        Whether the source's values are the only targets, and its answers the only measure; y is not used then.
    candidates : sequence of Candidate
        What may change the recipe, in this order.
    recipe : Recipe
        What the tournament begins with.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from svmpress import compress
    >>> X, y = load_digits(return_X_y=True)
    >>> svc = SVC(gamma=0.001).fit(X, y)
    >>> compress(svc, vectors=60, method=Auto(copies_only=True)).model.n_outputs  # one a pair, as in the source
    45
    """

    effort: Effort = "balanced"
    work: float | None = None
    copies_only: bool = False
    candidates: Sequence[Candidate] = CANDIDATES
    recipe: Recipe = PLAIN_COPY

    def __post_init__(self) -> None:
        work: Any = self.work
        if work is not None and not (isinstance(work, int | float | np.number) and 0 < work < inf):
            raise InputError(f"work must be a number of multiply-adds, more than 0, not {self.work!r}")
        if self.effort not in EFFORTS:
            raise InputError(f"unknown effort {self.effort!r}; choose one of {', '.join(EFFORTS)}")

    def run(self, problem: Problem, m: int, smaller: Outcome | None = None) -> Outcome:
        """Return an expansion of ``m`` vectors, grown from ``smaller`` if that is the best start."""
        if self.copies_only:
            problem = replace(problem, y=None)
        vectors = problem.source.expansion.vectors
        if problem.rows is None:
            return self._without_data(replace(problem, rows=vectors), m, smaller)
        if problem.rows.shape[0] < vectors.shape[0]:
            problem, note = with_vectors(problem)
            return _with_notes(self._compress(problem, m, smaller), note)
        return self._compress(problem, m, smaller)

    def _without_data(self, problem: Problem, m: int, smaller: Outcome | None) -> Outcome:
        """Compress a model whose rows are its vectors: by inferred labels if these are good between vectors, too."""
        labels = None if self.copies_only or problem.layout != "shared" else inferred_labels(problem)
        if labels is not None:
            outcome = self._compress(replace(problem, y=labels), m, smaller, beyond_source=True)
            name, least = worst_class_between(problem, outcome)
            if not outcome.copies and least >= _MOST_OF_A_CLASS:
                note = "labels are told by the coefficients; between the vectors of class"
                return _with_notes(outcome, f"{note} {name} {least:.0%} agree with the source")
        outcome = self._compress(problem, m, smaller)
        if problem.source.classes_ is None:
            return outcome
        name, least = worst_class_between(problem, outcome)
        lost = f"between the vectors of class {name} only {least:.0%} agree with the source"
        return outcome if least >= _MOST_OF_A_CLASS else _with_notes(outcome, lost)

    def _compress(
        self,
        problem: Problem,
        m: int,
        smaller: Outcome | None,
        *,
        beyond_source: bool = False,
        known: _Known | None = None,
    ) -> Outcome:
        assert problem.rows is not None
        work = Work(self.work or 0.0, problem.deadline)
        start = None if smaller is None else smaller.expansion
        whole = FitTask(problem, m, work, start if known is None else known.smaller)
        if self.work is None:
            evaluation = whole.projection_cost(self.recipe)
            work.total = usual_work(problem.source, problem.rows, evaluation, EFFORTS[self.effort])
        with one_blas_thread() if whole.projection_cost(self.recipe) < _SMALL else nullcontext():
            if problem.rows.shape[0] < _FEW_ROWS:
                entry, found = (
                    begin(whole, self.recipe),
                    Outcome(problem.source.expansion, notes=("too few rows to hold out",)),
                )
            else:
                entry, whole, found = self._choose(whole, beyond_source, known)
            if beyond_source and entry.recipe.copies:
                return found
            fit, trace = apply(entry, whole)
        decoder = whole.view(entry.recipe.target).decoder
        return replace(
            found,
            expansion=whole.expansion(fit),
            decoder=None if decoder is problem.source.decoder else decoder,
            copies=entry.recipe.copies,
            status="" if len(fit.vectors) == m else "there are fewer distinct rows than vectors asked for",
            stopped=work.is_late,
            trace=trace,
        )

    def _choose(self, whole: FitTask, beyond_source: bool, known: _Known | None) -> tuple[Entry, FitTask, Outcome]:
        """Return what won the tournament, the task to apply it to, and an outcome with what was decided.

        ``beyond_source``: the plain copy wins unless the winner is ahead of the teacher itself, at which a copy aims.
        """
        every = whole.problem
        experiment = Experiment.of(every, every.seed) if known is None else known.experiment
        if not experiment.uses_labels:
            whole = whole.without_labels()
        evaluation = _TOURNAMENT * whole.work.total / _EVALUATIONS
        task = quick_sample(whole.on(experiment.problem), self.recipe, evaluation)
        with whole.work.within(_TOURNAMENT):
            entry, decisions = tournament(task, self.recipe, self.candidates, experiment.holdout, _TOURNAMENT)
        resized = self._resizer(every, task, entry, experiment)
        if beyond_source and entry.score is not None and entry.score.gain_over(experiment.reference) <= BAR:
            entry = begin(task, self.recipe)
        check = None
        if experiment.uses_labels and entry.score is not None:
            check = Check(entry.score, experiment.reference)
        notes = experiment.notes
        return entry, whole, Outcome(whole.teacher, decisions=decisions, check=check, notes=notes, resized=resized)

    def _resizer(
        self, problem: Problem, task: FitTask, entry: Entry, experiment: Experiment
    ) -> Callable[[int], Outcome]:
        """Return what makes other sizes of a problem, in the same experiment, with work in proportion to their vectors.

        That is a part of what the first size has spent, which may be less than it was given: then all of them would
        cost several times as much as the first. Each may grow from the winner of the last one, which has seen as little
        of the held-out rows as it has. Recipes are not handed on: what few vectors should fit is not what many should.
        """
        account = task.work
        smaller = None if entry.fit is None else task.expansion(entry.fit)

        def resized(m: int) -> Outcome:
            done = min(account.spent or account.total, account.total)  # by now, after the first size was made
            way = replace(self, work=done * max(_SHARE_OF_OTHERS * m / task.m, _LEAST_SHARE))
            return way._compress(problem, m, None, known=_Known(experiment, smaller))

        return resized


def worst_class_between(problem: Problem, outcome: Outcome) -> tuple[str, float]:
    """Return the class of whose points between vectors the fewest get the source's answer, and their share."""
    assert problem.rows is not None
    assert problem.source.classes_ is not None
    F = problem.values(problem.rows)
    labels = problem.source.decoder.positions(F)
    points, classes = midpoints(problem.rows, labels, problem.seed)
    holdout = Holdout(replace(problem, rows=points, y=None), np.arange(len(classes)))
    score = holdout.score(outcome.expansion, outcome.decoder)
    share, worst = min((score.of(classes == c).mean, c) for c in np.unique(classes))
    return str(problem.source.classes_[worst]), share


def _with_notes(outcome: Outcome, *notes: str) -> Outcome:
    return replace(outcome, notes=(*outcome.notes, *notes))
