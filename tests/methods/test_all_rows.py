"""The last steps on all rows are those of a task that has all rows, wherever the rows are."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

from problems import problem_of
from svmpress.methods import Auto, Experiment, FitTask, Margins, Recipe, Target, Work
from svmpress.methods.auto.all_rows import AllRows
from svmpress.methods.auto.application import apply
from svmpress.methods.auto.tournament import Entry
from svmpress.numerics import LocalShards, Shard

N, M_VECTORS = 400, 6
RECIPES = {
    "copy": Recipe(),
    "labels": Recipe(Target.LABELS, norm=0.1),
    "width": Recipe(width=True),
    "clip": Recipe(clip=0.7),
    "margins": Recipe(margins=Margins.SOURCE),
    "margins of labels": Recipe(margins=Margins.LABELS),
}


def problem_on(kind: str, rng, layout: str = "shared"):
    X = rng.standard_normal((N, 3))
    f = np.sin(2 * X[:, 0]) + X[:, 1]
    if kind == "regressor":
        return problem_of(SVR(C=3).fit(X[:150], f[:150]), X, f)
    y = np.digitize(f, [0.0] if kind == "two" else [-0.6, 0.2, 0.9])
    return replace(problem_of(SVC(C=3).fit(X[:150], y[:150]), X, y), layout=layout)


def shards_of(problem, cuts=(130, 131)) -> LocalShards:
    edges = [0, *cuts, N]
    parts = (slice(a, b) for a, b in pairwise(edges))
    return LocalShards(tuple(Shard(problem.rows[p], {"y": problem.y[p]}, p.start) for p in parts))


def steps(task: FitTask, recipe: Recipe):
    V, kernel = task.rows[:M_VECTORS] + 0.05, task.problem.source.kernel
    fit = task.project(replace(recipe, margins=None), V, kernel, 3, "test")
    return fit if recipe.margins is None else task.tune(recipe, fit, 3, "test")


def both(problem, recipe, cuts=(130, 131)):
    """Return the steps in one place, and those over shards whose sample is all rows."""
    task = FitTask(problem, M_VECTORS, Work(1e12))
    with_shards = FitTask(replace(problem, every=shards_of(problem, cuts)), M_VECTORS, Work(1e12))
    return steps(task, recipe), steps(AllRows.of_sample(with_shards, recipe.target), recipe)


def same(a, b):
    for name in ("value", "vectors", "coef", "intercept"):
        x, y = (np.asarray(getattr(fit, name)) for fit in (a, b))
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-7 * max(1.0, np.abs(x).max()))
    assert a.n_iter == b.n_iter == 3


CASES = [(kind, name) for kind in ("two", "four", "regressor") for name in RECIPES]


@pytest.mark.parametrize(("kind", "name"), [(k, n) for k, n in CASES if k != "regressor" or "margins" not in n])
def test_every_recipe_takes_the_same_steps(kind, name, rng):
    recipe = RECIPES[name]
    problem = problem_on(kind, rng)
    if kind == "two" or (kind == "four" and recipe.margins is None):
        same(*both(problem, recipe))
    for cuts in [(50, 300), (1, 399)]:  # with a background, or guards: they are not those of one place
        same(both(problem, recipe, ())[1], both(problem, recipe, cuts)[1])


@pytest.mark.parametrize("recipe", [Recipe(relevance=0.01), Recipe(norm=0.1), Recipe(Target.LABELS, norm=0.1)])
@pytest.mark.parametrize("layout", ["shared", "libsvm"])
def test_a_background_and_a_mask_do_not_depend_on_where_shards_end(layout, recipe, rng):
    problem = problem_on("four", rng, layout)
    for cuts in [(50, 300), (1, 399)]:
        same(both(problem, recipe, ())[1], both(problem, recipe, cuts)[1])


def test_few_directions_of_many_outputs(rng, monkeypatch):
    monkeypatch.setattr(FitTask, "_directions", lambda self, view, recipe: 2)
    same(*both(problem_on("four", rng), Recipe()))


@pytest.mark.parametrize("recipe", [Recipe(), Recipe(margins=Margins.SOURCE, margin_steps=4)], ids=str)
def test_a_recipe_is_applied_to_a_sample_and_then_to_all_rows(recipe, rng):
    problem = problem_on("two", rng)
    few = np.arange(0, N, 4)
    sample = replace(problem, rows=problem.rows[few], y=problem.y[few])
    entry = Entry(recipe, sample.rows[:M_VECTORS] + 0.05, problem.source.kernel)
    _, alone = apply(entry, FitTask(sample, M_VECTORS, Work(1e7)))
    fit, trace = apply(entry, FitTask(replace(sample, every=shards_of(problem)), M_VECTORS, Work(1e7)))
    assert set(trace) == {*alone, "all rows"}
    assert len(trace["all rows"]) >= 4
    every = AllRows.of_sample(FitTask(replace(sample, every=shards_of(problem)), M_VECTORS, Work(0.0)), recipe.target)
    assert every.n == N
    assert every.cost(recipe) > FitTask(sample, M_VECTORS, Work(0.0)).cost(recipe)
    assert fit.value == trace["all rows"][-1].value


def test_an_experiment_knows_nothing_of_all_rows_which_hold_those_that_judge(rng):
    problem = problem_on("two", rng)
    assert Experiment.of(replace(problem, every=shards_of(problem)), seed=0).problem.every is None


def test_a_deadline_leaves_the_last_steps_out(rng):
    problem = problem_on("two", rng)
    late = replace(problem, every=shards_of(problem), deadline=0.0)
    assert "all rows" not in Auto(work=1e7).run(late, M_VECTORS).trace
    assert "all rows" in Auto(work=1e7).run(replace(late, deadline=np.inf), M_VECTORS).trace
