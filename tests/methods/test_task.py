"""Fit tasks: what is fitted, who is told what, and the places that a regressor's vectors leave."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC, SVR

import svmpress
from problems import problem_of
from svmpress.decoders import Argmax, Identity
from svmpress.methods import FitTask, Margins, Recipe, Target, Work
from svmpress.methods.auto.view import View
from svmpress.model import KernelExpansion


def task_of(estimator, X, y=None, m: int = 6, **changes) -> FitTask:
    return FitTask(replace(problem_of(estimator, X, y), **changes), m, Work(1e12))


def project(task: FitTask, V, recipe: Recipe | None = None, steps: int = 3):
    return task.project(recipe or Recipe(), V, task.problem.source.kernel, steps, "test")


@pytest.fixture
def three(rng):
    X = rng.standard_normal((90, 2))
    y = np.array(["a", "b", "c"])[(X[:, 0] > 0.4).astype(int) + (X[:, 0] > -0.4)]
    return X, y


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("room", [2**14, 2**28], ids=["too little", "enough"])
def test_the_source_is_asked_where_its_rows_are(backend, three, form, room, assert_close, monkeypatch):
    X, y = three
    problem = replace(problem_of(SVC(C=10).fit(form(X), y), form(X), y), backend=backend, max_bytes=room)
    asked = []

    def values_of(self, X, *args):
        asked.append(X)
        return values(self, X, *args)

    values = KernelExpansion.decision_values
    monkeypatch.setattr(KernelExpansion, "decision_values", values_of)
    F = FitTask(problem, 6, Work(1e12)).values
    assert F.dtype == np.float64
    assert [type(rows) for rows in asked] == [type(problem.placed(form(X)))]
    monkeypatch.undo()
    assert_close(problem.values(form(X)), problem.source.expansion.decision_values(X))


@pytest.mark.parametrize("target", Target)
@pytest.mark.parametrize("layout", ["shared", "libsvm"])
def test_a_view_is_sorted_by_class_and_knows_what_is_true(three, target, layout):
    X, y = three
    task = task_of(SVC(C=0.1).fit(X, y), X, y, layout=layout)
    view = task.view(target)
    assert view.n == 90
    assert (np.diff(view.classes) >= 0).all()
    names = task.problem.source.classes_
    true = {tuple(row): label for row, label in zip(X, y, strict=True)}
    assert [true[tuple(row)] for row in view.X] == names[view.known].tolist()


def test_labels_take_one_output_a_class(three):
    X, y = three
    view = task_of(SVC(C=10).fit(X, y), X, y).view(Target.LABELS)
    assert isinstance(view.decoder, Argmax)
    assert not view.pairwise
    assert view.targets.shape == (90, 3)
    np.testing.assert_array_equal(view.targets.argmax(axis=1), view.known)
    np.testing.assert_array_equal(np.unique(view.targets), [-1, 1])


def test_labels_under_a_mask_take_one_output_a_pair(three):
    X, y = three
    task = task_of(SVC(C=0.1).fit(X, y), X, y, layout="libsvm")
    assert task.mask.shape == (6, 3)
    view = task.view(Target.LABELS)
    assert view.decoder is task.problem.source.decoder
    np.testing.assert_array_equal(view.classes, np.sort(view.known))
    np.testing.assert_array_equal(view.targets[view.classes == 0], [[1, 1, 0]] * np.sum(view.classes == 0))
    np.testing.assert_array_equal(view.targets[view.classes == 2], [[0, -1, -1]] * np.sum(view.classes == 2))


def test_without_y_the_answers_of_the_teacher_are_its_place(three):
    X, y = three
    view = task_of(SVC(C=0.1).fit(X, y), X).view(Target.LABELS)
    np.testing.assert_array_equal(view.targets.argmax(axis=1), view.classes)


def test_two_classes_keep_their_decoder_and_its_sign(three):
    X, y = three
    two = y != "c"
    task = task_of(SVC(C=10).fit(X[two], y[two]), X[two], y[two])
    source, labels = task.view(Target.SOURCE), task.view(Target.LABELS)
    assert labels.decoder is source.decoder
    np.testing.assert_array_equal(labels.targets[:, 0] > 0, labels.known == 1)
    assert np.mean((labels.targets > 0) == (source.targets > 0)) > 0.9


def test_a_regressor_is_fitted_halfway_to_its_labels(rng):
    X = rng.standard_normal((60, 3))
    y = X[:, 0] + 0.1 * rng.standard_normal(60)
    task = task_of(SVR().fit(X, y), X, y)
    view = task.view(Target.LABELS)
    np.testing.assert_array_equal(view.targets, (task.values + y[:, None]) / 2)
    np.testing.assert_array_equal(view.placed[1], view.targets)
    assert view.decoder is task.problem.source.decoder


def test_clipped_values_are_fitted_as_such(backend, three, assert_close):
    X, y = three
    task = task_of(SVC(C=10).fit(X, y), X, y, backend=backend)
    cut = np.clip(task.view(Target.SOURCE).targets, -0.5, 0.5)
    view = replace(task.view(Target.SOURCE), targets=cut)
    found = project(task, X[:6], Recipe(clip=0.5), 0)
    same = FitTask(task.problem, 6, Work(1e12))
    same._views[Target.SOURCE] = replace(view, placed=(view.placed[0], backend.asarray(cut)))
    wanted = project(same, X[:6], Recipe(), 0)
    assert_close(found.coef, wanted.coef)
    assert_close(found.intercept, wanted.intercept)
    assert task.view(Target.SOURCE).targets.max() > 0.5  # what others see


@pytest.mark.parametrize("layout", ["shared", "libsvm"])
@pytest.mark.parametrize("target", Target)
@pytest.mark.parametrize("margins", [None, *Margins])
def test_every_fit_respects_the_mask_and_is_booked(three, layout, target, margins):
    X, y = three
    task = task_of(SVC(C=10).fit(X, y), X, y, layout=layout)
    recipe = Recipe(target, norm=0.01, margins=margins)
    fit = project(task, X[:6], recipe)
    spent = task.work.spent
    assert spent > 0
    if margins is not None:
        fit = task.tune(recipe, fit, 3, "test")
        assert task.work.spent > spent
    assert np.isfinite(fit.vectors).all()
    small = task.expansion(fit)
    if layout == "libsvm":
        np.testing.assert_array_equal(small.coef_mask, task.mask)
        np.testing.assert_array_equal(fit.coef[~task.mask], 0)
    else:
        assert small.coef_mask is None


def test_many_machines_descend_on_the_directions_that_they_differ_in(rng):
    """Ten classes have 45 machines; where a few directions hold nearly all, the result answers as the source does."""
    centres = rng.standard_normal((10, 2)) * 3
    y = rng.integers(0, 10, 300)
    X = centres[y] + 0.3 * rng.standard_normal((300, 2))
    task = task_of(SVC(gamma=0.5).fit(X, y), X, m=20)
    fit = project(task, X[:20], steps=20)
    assert fit.coef.shape == (20, 45)
    got = task.problem.source.decoder.positions(task.expansion(fit).decision_values(X))
    assert np.mean(got == task.answers) > 0.9


def test_costs_grow_with_what_is_fitted(three):
    X, y = three
    svc = SVC(C=10).fit(X, y)
    plain, masked = task_of(svc, X, y), task_of(svc, X, y, layout="libsvm")
    assert plain.projection_cost(Recipe(relevance=0.01)) > plain.projection_cost(Recipe())
    assert plain.projection_cost(Recipe(norm=1.0)) > plain.projection_cost(Recipe())
    assert plain.of(np.arange(30)).projection_cost(Recipe()) < plain.projection_cost(Recipe())
    for task in (plain, masked):
        assert task.cost(Recipe(margins=Margins.SOURCE)) == task.margin_cost(Recipe()) > 0
        assert task.cost(Recipe()) == task.projection_cost(Recipe())


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_a_regressor_has_the_teacher_s_values_where_its_vectors_are(rng, form):
    X = rng.standard_normal((60, 3))
    svr = SVR().fit(X, X[:, 0])
    task = task_of(svr, form(X), m=5)
    for steps in (0, 3):
        fit = project(task, rng.standard_normal((5, 3)) + 4, steps=steps)
        small = task.expansion(fit)
        there = small.decision_values(fit.vectors)[:, 0]
        assert np.abs(there - svr.predict(fit.vectors)).max() < 0.5 * np.ptp(svr.predict(X))


@pytest.mark.parametrize("seed", [1, 3])
def test_a_vector_far_from_all_rows_carries_no_value_from_nowhere(seed):
    rng = np.random.default_rng(seed)
    X = np.concatenate([0.3 * rng.standard_normal((150, 2)) + centre for centre in (-1.5, 1.5)])
    svr = SVR(C=10, gamma=1.0, epsilon=0.01).fit(X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2)
    small = svmpress.compress(svr, X, vectors=12, random_state=seed).model
    V = small.expansion.vectors
    assert np.abs(small.predict(V) - svr.predict(V)).max() < 0.02 * np.ptp(svr.predict(X))  # 0.1 and 0.5 unguarded


def test_directions_of_more_outputs_than_rows(rng):
    """They are found among the rows, as those of the outputs would take a matrix of outputs by outputs."""
    T = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 500)) + 1e-3 * rng.normal(size=(40, 500)) + 5
    view = View(T, np.zeros(40, np.intp), np.zeros(40), T, Identity(), (T, T))
    energy, directions = view.spectrum
    assert directions.shape == (500, energy.size)
    assert energy.size <= 40
    centred = T - T.mean(axis=0)
    np.testing.assert_allclose(energy[-3:], np.linalg.svd(centred)[1][2::-1] ** 2)
    np.testing.assert_allclose(directions.T @ directions, np.eye(energy.size), atol=1e-6)
    np.testing.assert_allclose(view.leading(3) @ directions[:, -3:].T, centred, atol=0.1)
    flat = replace(view, targets=np.ones((40, 500)))
    np.testing.assert_allclose(flat.leading(1), 0, atol=1e-9)


def test_directions_of_very_many_outputs_are_those_of_some_rows(rng, monkeypatch):
    monkeypatch.setattr("svmpress.methods.auto.view._MOST_DIRECTIONS", 50)
    T = rng.normal(size=(400, 4)) @ rng.normal(size=(4, 60))
    view = View(T, np.zeros(400, np.intp), np.zeros(400), T, Identity(), (T, T))
    centred = T - T.mean(axis=0)
    assert view.spectrum[1].shape[1] <= 50
    assert view.spectrum[0].sum() == pytest.approx((centred**2).sum(), rel=0.4)
    np.testing.assert_allclose(view.leading(4) @ view.spectrum[1][:, -4:].T, centred, atol=1e-6)
