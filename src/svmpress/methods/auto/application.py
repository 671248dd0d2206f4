"""What was decided, done to the source itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from svmpress.methods.auto.all_rows import AllRows
from svmpress.methods.auto.recipe import Recipe
from svmpress.methods.auto.task import FitTask
from svmpress.methods.auto.tournament import Entry
from svmpress.methods.auto.work import row_values
from svmpress.numerics import TracePoint, chosen_rows
from svmpress.objectives import Refined

_LEAST, _MOST = 20, 1000
"""Steps of the descent."""
_ON_MARGINS, _ON_ALL = 0.5, 0.25
"""Share of the work left for margins, and of the rest for the last steps on all rows."""
_LEAST_SHARE = 0.3
"""Of all work, if choices took more than they should."""
_TURNS = 4
"""How often the rows that guard a regressor follow its vectors."""
_WANTED = 100
"""Steps while vectors move far; if all rows are too many for so many steps, these are done on some of them."""
_FEW = 2000
"""Rows that are always worth their while."""
_LEAST_ON_ALL = 3
"""Steps on all rows, however many these are."""

Trace = dict[str, tuple[TracePoint, ...]]


def apply(entry: Entry, whole: FitTask) -> tuple[Refined, Trace]:
    """Return the source compressed by a recipe, on all rows, and the traces of its stages.

    Parameters
    ----------
    entry : Entry
        Who won the tournament: the recipe, and where the vectors are.
    whole : FitTask
        With the source as the teacher, and all rows; or a sample of them, where they are too many for one place, and
        then the last steps are done on all.
    """
    recipe = replace(entry.recipe, margins=None)
    left = max(whole.work.left, _LEAST_SHARE * whole.work.total)
    tuning = 0.0 if entry.recipe.margins is None else _ON_MARGINS * left
    last = _ON_ALL * (left - tuning)
    some = sample(whole, recipe, (left - tuning - last) / _WANTED)
    moving = left - tuning - (0.0 if some is whole else last)
    trace: Trace = {}
    fit = _descend(some, recipe, entry, _steps(moving, some.projection_cost(recipe), _LEAST, _MOST))
    trace["descent"] = fit.trace
    if some is not whole:
        steps = _steps(last, whole.projection_cost(recipe), _LEAST_ON_ALL, 100)
        fit = whole.project(recipe, fit.vectors, fit.kernel, steps, "all rows")
        trace["all rows"] = fit.trace
    if whole.problem.every is not None and entry.recipe.margins is None:
        return _everywhere(fit, recipe, whole, last, trace)
    if entry.recipe.margins is not None:
        steps = _steps(tuning, whole.margin_cost(entry.recipe), entry.recipe.margin_steps, _MOST)
        fit = whole.tune(entry.recipe, fit, steps, "fine-tuning")
        trace["fine-tuning"] = fit.trace
        if whole.problem.every is not None:
            return _everywhere(fit, entry.recipe, whole, _ON_ALL * tuning, trace)
    return fit, trace


def _everywhere(fit: Refined, recipe: Recipe, sample: FitTask, work: float, trace: Trace) -> tuple[Refined, Trace]:
    """Return what the last steps on all rows make of a fit to a sample of them, and the traces."""
    if sample.work.is_late:
        return fit, trace
    task = AllRows.of_sample(sample, recipe.target)
    steps = _steps(work, task.cost(recipe), _LEAST_ON_ALL, 100)
    if recipe.margins is None:
        fit = task.project(recipe, fit.vectors, fit.kernel, steps, "all rows")
    else:
        fit = task.tune(recipe, fit, steps, "all rows")
    return fit, {**trace, "all rows": fit.trace}


def _descend(task: FitTask, recipe: Recipe, entry: Entry, steps: int) -> Refined:
    """Move the vectors; those of a regressor in turns, since places that they have left are rows of the next turn."""
    turns = _TURNS if task.is_regression else 1
    fit: Refined | None = None
    V, kernel = entry.vectors, entry.kernel
    for _ in range(turns):
        fit = task.project(recipe, V, kernel, -(-steps // turns), "descent")
        V, kernel = fit.vectors, fit.kernel
    assert fit is not None
    return fit


def sample(task: FitTask, recipe: Recipe, evaluation: float) -> FitTask:
    """Return the task on as many rows as an evaluation of so many multiply-adds allows, but enough for what is fitted.

    Enough are ten rows for each vector, and twice as many values to fit as there are numbers that move.
    """
    n = task.rows.shape[0]
    outputs = task.outputs(recipe)
    unknowns = task.m * (row_values(task.rows) + outputs)
    affordable = evaluation * n / task.projection_cost(recipe)
    return _of_rows(task, int(max(_FEW, 10 * task.m, 2 * unknowns / outputs, affordable)))


def quick_sample(task: FitTask, recipe: Recipe, evaluation: float) -> FitTask:
    """Return the task on as many rows as an evaluation of so many multiply-adds allows, for what is only compared."""
    affordable = evaluation * task.rows.shape[0] / task.projection_cost(recipe)
    return _of_rows(task, int(max(_FEW / 2, 5 * task.m, affordable)))


def _of_rows(task: FitTask, most: int) -> FitTask:
    n = task.rows.shape[0]
    return task if n <= most else task.of(chosen_rows(n, most, task.problem.seed))


def _steps(work: float, cost: float, least: int, most: int) -> int:
    return int(np.clip(work / cost, least, most))
