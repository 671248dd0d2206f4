"""Conformance of candidates: every member of ``CANDIDATES``, on tasks of every kind.

``docs/add-a-candidate.md`` adds one more, and ``tests/house/test_docs.py`` runs it through the same checks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC, SVR, OneClassSVM

from problems import problem_of
from svmpress.methods import CANDIDATES, Auto, Candidate, Experiment, FitTask, Problem, Recipe, Target, Work
from svmpress.methods.auto.starts import start_vectors
from svmpress.methods.auto.tournament import tournament
from svmpress.objectives import Refined

M = 7


def three_classes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2))
    return X, (X[:, 0] > 0.5).astype(int) + (X[:, 0] + 0.4 * rng.standard_normal(80) > -0.5)


def _labelled(n_classes: int = 3, kernel: str = "rbf", form: Callable = np.asarray, **changes) -> Problem:
    X, y = three_classes()
    y = np.minimum(y, n_classes - 1)
    return replace(problem_of(SVC(C=5, gamma=0.7, kernel=kernel).fit(form(X), y), form(X), y), **changes)


def _without_a_class(layout: str = "shared") -> Problem:
    problem = _labelled(layout=layout)
    some = np.flatnonzero(problem.y != 1)
    return replace(problem, rows=problem.rows[some], y=problem.y[some])


def _regression(with_y: bool) -> Problem:
    X, _ = three_classes()
    y = np.sin(2 * X[:, 0]) + 0.1 * np.random.default_rng(1).standard_normal(80)
    return problem_of(SVR(C=5, gamma=0.7).fit(X, y), X, y if with_y else None)


def _calibrated() -> Problem:
    problem = _labelled()
    return replace(problem, source=replace(problem.source, probability={"probA": np.ones(3)}))


KINDS: dict[str, Callable[[], Problem]] = {
    "two classes": lambda: _labelled(2),
    "three classes": _labelled,
    "three classes, LibSVM's layout": lambda: _labelled(layout="libsvm"),
    "three classes, CSR": lambda: _labelled(form=sparse.csr_array),
    "without labels": lambda: replace(_labelled(), y=None),
    "without labels, LibSVM's layout": lambda: replace(_labelled(layout="libsvm"), y=None),
    "a class missing among the rows": _without_a_class,
    "a class missing among the rows, LibSVM's layout": lambda: _without_a_class("libsvm"),
    "a kernel without width": lambda: _labelled(kernel="linear"),
    "a kernel that is not definite": lambda: _labelled(kernel="sigmoid"),
    "calibrated": _calibrated,
    "regression": lambda: _regression(True),
    "regression without y": lambda: _regression(False),
    "one class": lambda: problem_of(OneClassSVM(nu=0.3, gamma=0.7).fit(three_classes()[0]), three_classes()[0]),
}


@pytest.fixture(params=CANDIDATES, ids=lambda candidate: candidate.name)
def candidate(request) -> Candidate:
    return request.param


QUICK = ("two classes", "three classes, LibSVM's layout", "a class missing among the rows", "regression")


@pytest.fixture(params=[k if k in QUICK else pytest.param(k, marks=pytest.mark.slow) for k in sorted(KINDS)])
def kind(request) -> str:
    return request.param


def task_of(kind: str) -> FitTask:
    return FitTask(KINDS[kind](), M, Work(1e7))


def proposals(candidate: Candidate, task: FitTask) -> list[Recipe]:
    """Return one of what is proposed instead of the copy, and of labels, where the candidate applies."""
    if not candidate.applies(task):
        return []
    of_labels = Recipe(Target.LABELS, norm=0.1)
    return [*candidate.propose(Recipe(), task)[-1:], *candidate.propose(of_labels, task)[:1]]


def fitted(task: FitTask, recipe: Recipe) -> Refined:
    """Return what a recipe makes of its start in a few steps, and in a few more of fine-tuning if it has such."""
    fit = task.project(recipe, start_vectors(task, recipe.start), task.problem.source.kernel, 4, "test")
    return fit if recipe.margins is None else task.tune(recipe, fit, 4, "test")


def test_a_candidate_has_a_name_of_its_own(candidate):
    assert candidate.name
    assert [c.name for c in CANDIDATES if c is not candidate].count(candidate.name) == 0


def test_what_is_proposed_changes_the_recipe_and_is_the_same_each_time(candidate, kind):
    task = task_of(kind)
    found = candidate.propose(Recipe(), task) if candidate.applies(task) else []
    assert Recipe() not in found
    assert len(set(found)) == len(found)
    assert found == (candidate.propose(Recipe(), task_of(kind)) if candidate.applies(task_of(kind)) else [])


def test_what_is_fitted_has_few_vectors_and_keeps_the_mask(candidate, kind):
    task = task_of(kind)
    for recipe in proposals(candidate, task):
        small = task.expansion(fitted(task, recipe))
        assert small.n_vectors <= M
        assert np.isfinite(small.vectors).all()
        assert np.isfinite(small.coef).all()
        if task.mask is not None:
            np.testing.assert_array_equal(small.coef[~task.mask], 0)
        decoder = task.view(recipe.target).decoder
        assert set(decoder.labels(small.decision_values(task.rows)).ravel().tolist()) or decoder.classes is None


def test_the_same_seed_gives_the_same_fit(candidate, kind):
    for recipe in proposals(candidate, task_of(kind))[-1:]:
        one, two = (fitted(task_of(kind), recipe) for _ in range(2))
        for name in ("vectors", "coef", "intercept"):
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_a_tournament_with_it_alone_says_what_it_did(candidate, kind):
    task = task_of(kind)
    expected = candidate.propose(Recipe(), task) if candidate.applies(task) else []
    champion, decisions = tournament(task, Recipe(), [candidate], Experiment.of(task.problem, 0).holdout, 0.5)
    mine = [d for d in decisions if d.candidate == candidate.name]
    assert len(mine) <= bool(expected)
    assert champion.fit is not None
    for decision in mine:
        assert decision.after > decision.before or not decision.adopted
    assert champion.recipe == replace(Recipe(), start=champion.recipe.start) or mine[0].adopted


def test_the_method_with_it_alone_answers(candidate, kind):
    problem = KINDS[kind]()
    outcome = Auto(work=1e7, candidates=(candidate,)).run(problem, M)
    assert 0 < outcome.expansion.n_vectors <= M
    decoder = outcome.decoder or problem.source.decoder
    F = outcome.expansion.decision_values(problem.rows)
    assert np.isfinite(F).all()
    assert len(decoder.labels(F)) == problem.rows.shape[0] if decoder.classes is not None else F.shape[1] == 1
