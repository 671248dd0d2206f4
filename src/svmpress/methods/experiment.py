"""An experiment: rows to fit, rows that are held out, and a teacher that has seen none of the latter."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from svmpress.methods.base import Problem
from svmpress.methods.holdout import Holdout, split_rows
from svmpress.methods.score import Score
from svmpress.methods.surrogate import follows_labels, surrogate_of, training_rows
from svmpress.numerics import arrays


@dataclass(frozen=True, eq=False)
class Experiment:
    """What choices are made on.

    Parameters
    ----------
    problem : Problem
        The rows to fit; its source is the teacher: a surrogate where there is y, else the source.
    holdout : Holdout
    uses_labels : bool
        Whether y was given and counts.
    notes : tuple of str
        What a person should know of it.
    """

    problem: Problem
    holdout: Holdout
    uses_labels: bool
    notes: tuple[str, ...] = ()

    @property
    def reference(self) -> Score:
        """What the teacher itself scores."""
        return self.holdout.score(self.problem.source.expansion)

    @classmethod
    def of(cls, problem: Problem, seed: int) -> Experiment:
        """Return an experiment on a problem with rows."""
        assert problem.rows is not None
        n, notes = problem.rows.shape[0], []
        classifies = problem.source.classes_ is not None
        fit, held = split_rows(n, seed, problem.y if classifies else None)
        if classifies and problem.y is not None:
            rare = np.setdiff1d(problem.y[fit], problem.y[held])
            if rare.size:
                assert problem.source.classes_ is not None
                names = ", ".join(str(c) for c in problem.source.classes_[rare][:5])
                notes.append(f"{rare.size} classes are too rare to be held out: {names}")
        trained = training_rows(fit, problem.seed)
        problem.progress("training a surrogate", 0, 0)
        surrogate = surrogate_of(problem, trained)
        if surrogate is not None and not follows_labels(problem, surrogate):
            notes.append("the source does not answer as y suggests (weights, other values?): its answers count, not y")
            problem, surrogate = replace(problem, y=None), None
        elif surrogate is None and problem.y is not None and not classifies:
            notes.append("y is not used: no regression like the source could be trained on some of the rows")
            problem = replace(problem, y=None)  # the source has seen all rows: it is asked for its values, good or bad
        y = None if problem.y is None else problem.y[fit]
        teacher = problem.source if surrogate is None else surrogate.source
        experiment = replace(problem, source=teacher, rows=arrays.take(problem.rows, fit), y=y, every=None)
        return cls(experiment, Holdout(problem, held), problem.y is not None, tuple(notes))
