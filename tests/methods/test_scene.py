"""Scenes: classes as targets, guards of a regressor, and who may finish how."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC, SVR

import svmpress
from problems import problem_of
from svmpress.decoders import Argmax
from svmpress.methods import Finish, Scene, Setting
from svmpress.methods.auto.scene import Guard
from svmpress.model import KernelExpansion
from svmpress.numerics import arrays


def scene_of(estimator, X, y=None) -> Scene:
    return Scene.of(problem_of(estimator, X, y))


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
    F = Scene.of(problem).targets
    assert F.dtype == np.float64
    assert [type(rows) for rows in asked] == [type(problem.placed(form(X)))]
    monkeypatch.undo()
    assert_close(problem.values(form(X)), problem.source.expansion.decision_values(X))


@pytest.mark.parametrize(("form", "steps"), [(np.asarray, 30), (sparse.csr_array, 22)])
def test_a_descent_remembers_as_much_as_its_rows_are_worth(three, form, steps, monkeypatch):
    X, y = three
    X = X * (np.arange(90) % 2)[:, None]  # 45 values a column
    scene = scene_of(SVC(C=10).fit(form(X), y), form(X), y)
    memories = []

    def noticed(routine):
        def run(*args, memory, **options):
            memories.append(memory)
            return routine(*args, memory=memory, **options)

        return run

    for name in ("variable_projection", "polish"):
        monkeypatch.setattr(f"svmpress.methods.auto.scene.{name}", noticed(getattr(svmpress.methods.auto.scene, name)))
    setting = Setting()
    found = scene.project(X[1:7:2], scene.problem.source.kernel, setting, 2, "", None)
    scene.finish(Finish.SOURCE, found, setting, 2, "", None)
    assert memories == [steps, steps]


def test_targets_reach_no_further_than_they_may(backend, three, assert_close):
    X, y = three
    problem = replace(problem_of(SVC(C=10).fit(X, y), X, y), backend=backend)
    scene = Scene.of(problem)
    cut = np.clip(scene.targets, -0.5, 0.5)
    assert (cut != scene.targets).any()
    kernel, V = problem.source.kernel, X[:6]
    found = scene.project(V, kernel, Setting(reach=0.5), 0, "", None)
    same = replace(scene, targets=cut, placed=(scene.placed[0], backend.asarray(cut)))
    wanted = same.project(V, kernel, Setting(), 0, "", None)
    assert_close(found.coef, wanted.coef)
    assert_close(found.intercept, wanted.intercept)
    assert scene.targets.max() > 0.5  # what finishes and others see


def test_classes_as_targets_take_one_output_each(three):
    X, y = three
    scene = scene_of(SVC(C=10).fit(X, y), X, y).by_labels()
    assert isinstance(scene.decoder, Argmax)
    assert not scene.copies
    assert not scene.pairwise
    assert scene.targets.shape == (90, 3)
    np.testing.assert_array_equal(scene.targets.argmax(axis=1), scene.labels)
    np.testing.assert_array_equal(np.unique(scene.targets), [-1, 1])
    assert scene.finishes == ()


def test_classes_as_targets_of_pairs_are_sorted_by_label(three):
    X, y = three
    plain = scene_of(SVC(C=0.1).fit(X, y), X, y)
    scene = plain.by_labels(pairs=True)
    assert (plain.classes != plain.labels).any()
    assert scene.decoder is plain.decoder
    assert scene.finishes == (Finish.LABELS,)
    np.testing.assert_array_equal(scene.classes, np.sort(plain.labels))
    place = {tuple(row): label for row, label in zip(plain.X, plain.labels, strict=True)}
    np.testing.assert_array_equal([place[tuple(row)] for row in scene.X], scene.classes)
    np.testing.assert_array_equal(scene.targets[scene.classes == 0], [[1, 1, 0]] * np.sum(scene.classes == 0))
    np.testing.assert_array_equal(scene.targets[scene.classes == 2], [[0, -1, -1]] * np.sum(scene.classes == 2))


def test_without_labels_the_answers_of_the_teacher_are_the_targets(three):
    X, y = three
    scene = scene_of(SVC(C=0.1).fit(X, y), X).by_labels()
    np.testing.assert_array_equal(scene.targets.argmax(axis=1), scene.classes)


def test_two_classes_keep_their_decoder_and_its_sign(three):
    X, y = three
    two = y != "c"
    scene = scene_of(SVC(C=10).fit(X[two], y[two]), X[two], y[two])
    fitted = scene.by_labels()
    assert fitted.decoder is scene.decoder
    np.testing.assert_array_equal(fitted.targets[:, 0] > 0, scene.labels == 1)
    assert np.mean((fitted.targets > 0) == (scene.targets > 0)) > 0.9
    assert fitted.finishes == (Finish.LABELS,)
    assert scene.finishes == (Finish.SOURCE, Finish.LABELS)


def test_a_regressor_is_fitted_halfway_to_its_labels(rng):
    X = rng.standard_normal((60, 3))
    y = X[:, 0] + 0.1 * rng.standard_normal(60)
    plain = scene_of(SVR().fit(X, y), X, y)
    fitted = plain.by_labels()
    np.testing.assert_array_equal(fitted.targets, (plain.targets + y[:, None]) / 2)
    np.testing.assert_array_equal(fitted.placed[1], fitted.targets)
    assert fitted.decoder is plain.decoder
    assert not fitted.copies
    assert fitted.finishes == plain.finishes == ()
    guard = Guard.of(plain)
    assert guard.is_needed
    assert not Guard.of(fitted).is_needed
    assert guard.over(plain, X[:3]).labels is None


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_guards_are_rows_with_the_values_of_the_source(rng, form):
    X = rng.standard_normal((60, 3))
    svr = SVR().fit(X, X[:, 0])
    scene, V = scene_of(svr, form(X)), rng.standard_normal((5, 3)) + 4
    guard = Guard.of(scene)
    guarded = guard.over(scene, V)
    assert guarded.n == 65
    np.testing.assert_array_equal(arrays.dense(guarded.X)[60:], V)
    np.testing.assert_allclose(guarded.targets[60:, 0], svr.predict(V), rtol=1e-12)
    fit = guarded.project(V, scene.problem.source.kernel, Setting(), 3, "test", None)
    assert np.isfinite(fit.coef).all()
    again = guard.over(scene, V + 1)  # places that vectors have left stay under guard
    np.testing.assert_array_equal(arrays.dense(again.X)[60:], np.concatenate([V, V + 1]))


def test_classifiers_and_kernels_that_are_not_local_have_no_guard(rng, three):
    X, y = three
    classifier, line = scene_of(SVC().fit(X, y), X, y), scene_of(SVR(kernel="linear").fit(X, X[:, 0]), X)
    for scene in (classifier, line):
        assert Guard.of(scene).over(scene, X[:3]) is scene


@pytest.mark.parametrize("seed", [1, 3])
def test_a_vector_far_from_all_rows_carries_no_value_from_nowhere(seed):
    rng = np.random.default_rng(seed)
    X = np.concatenate([0.3 * rng.standard_normal((150, 2)) + centre for centre in (-1.5, 1.5)])
    svr = SVR(C=10, gamma=1.0, epsilon=0.01).fit(X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2)
    small = svmpress.compress(svr, X, vectors=12, random_state=seed).model
    V = small.expansion.vectors
    assert np.abs(small.predict(V) - svr.predict(V)).max() < 0.02 * np.ptp(svr.predict(X))  # 0.1 and 0.5 without guards
