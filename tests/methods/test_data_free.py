"""A model without data: labels that its coefficients tell, and whether they hold where there are no rows to ask."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import normalize
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

import svmpress
from problems import problem_of
from svmpress.decoders import PairDAG
from svmpress.formats import from_estimator
from svmpress.methods import Auto, Problem
from svmpress.methods.data_free import are_among, inferred_labels, midpoints, with_vectors
from svmpress.numerics import Backend


def texts(n: int, seed: int, n_classes: int):
    """Short texts of some topics: an SVM with a narrow kernel has nearly all as vectors, and knows them by heart."""
    rng = np.random.default_rng(9)
    topics, common = rng.dirichlet(np.full(400, 0.08), n_classes), rng.dirichlet(np.full(400, 0.5))
    rng = np.random.default_rng(seed)
    share = np.arange(n_classes, 0, -1)
    y = rng.choice(n_classes, n, p=share / share.sum())
    counts = np.stack([rng.multinomial(25, 0.3 * topics[c] + 0.7 * common) for c in y])
    return sparse.csr_array(normalize(np.log1p(counts))), y


@pytest.mark.parametrize("kind", [SVC(C=5, gamma=0.3), NuSVC(nu=0.1, gamma=0.3)])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_coefficients_tell_the_labels_of_support_vectors(kind, n_classes):
    X, y = make_blobs(300, centers=n_classes, cluster_std=1.0, random_state=3)
    names = np.array(["north", "east", "south", "west"])[y]
    svc = kind.fit(X, names)
    problem = problem_of(svc)
    told = inferred_labels(problem)
    np.testing.assert_array_equal(svc.classes_[told], names[svc.support_])
    if n_classes > 2:
        dag = replace(problem, source=problem.source.with_decoder(PairDAG(svc.classes_)))
        np.testing.assert_array_equal(inferred_labels(dag), told)


def test_no_labels_are_told_where_coefficients_have_none(rng):
    X, y = make_blobs(300, centers=3, cluster_std=1.0, random_state=3)
    svc = SVC(C=5, gamma=0.3).fit(X, y)
    for other in (SVR().fit(X, y), OneClassSVM().fit(X), OneVsRestClassifier(svc).fit(X, y)):
        assert inferred_labels(problem_of(other)) is None
    flipped = np.where(rng.random(300) < 0.3, rng.integers(0, 3, 300), y)
    assert (
        inferred_labels(problem_of(SVC(gamma=0.01).fit(X, flipped))) is None
    )  # it answers half of its vectors otherwise


@pytest.mark.parametrize("n_classes", [2, 3])
def test_vectors_that_have_moved_are_no_rows(n_classes):
    X, y = make_blobs(300, centers=n_classes, cluster_std=1.5, random_state=3)
    moved = svmpress.compress(SVC(C=5, gamma=0.3).fit(X, y), X, vectors=12, method=Auto(work=1e8)).model
    assert inferred_labels(problem_of(moved)) is None


def test_points_between_rows_of_a_class(rng):
    X = np.concatenate([rng.uniform(0, 1, (30, 3)), rng.uniform(5, 6, (4, 3))])
    labels = np.repeat([0, 2], [30, 4])
    points, classes = midpoints(X, labels, 0)
    assert (np.bincount(classes) == [100, 0, 100]).all()
    assert (points[classes == 0] <= 1).all()
    assert (points[classes == 2] >= 5).all()
    assert len(np.unique(points[classes == 0], axis=0)) > 80
    again, _ = midpoints(sparse.csr_array(X), labels, 0)
    np.testing.assert_allclose(again.toarray(), points, rtol=1e-15)


def test_there_are_fewer_points_of_each_of_very_many_classes():
    _, classes = midpoints(np.arange(1000.0)[:, None], np.arange(1000), 0)
    assert (np.bincount(classes) == 10).all()


@pytest.mark.slow
@pytest.mark.parametrize(("n_classes", "C", "gamma"), [(3, 100, 4.0), (6, 10, 2.0)])
def test_a_source_that_knows_its_rows_by_heart_is_no_worse_for_being_small(n_classes, C, gamma):
    X, y = texts(500, 0, n_classes)
    X_test, y_test = texts(3000, 1, n_classes)
    svc = SVC(C=C, gamma=gamma).fit(X, y)
    assert svc.support_.size > 490
    result, copy = (svmpress.compress(svc, vectors=100, method=Auto(copies_only=only)) for only in (False, True))
    right = np.mean(result.model.predict(X_test) == y_test)
    assert right > svc.score(X_test, y_test) - 0.005
    assert right > np.mean(copy.model.predict(X_test) == y_test) - 0.005


@pytest.mark.slow
def test_a_compact_class_is_not_given_up_for_its_few_support_vectors():
    """Four noisy classes learned by heart, and three thousand rows close together that have a handful of vectors."""
    X, y = make_blobs(800, centers=[[0, 0], [2, 0], [1, 2], [3, 2]], cluster_std=1.0, random_state=0)
    compact = np.random.default_rng(0).normal([1.5, 1.0], 0.02, (4000, 2))
    svc = SVC(C=1000, gamma=10).fit(np.concatenate([X, compact[:3000]]), np.append(y, np.full(3000, 4)))
    assert svc.n_support_[4] < 10
    result = svmpress.compress(svc, vectors=12)
    assert np.mean(result.model.predict(compact[3000:]) == 4) > 0.99


def test_an_svm_that_is_no_worse_than_labels_is_copied():
    X, y = make_blobs(400, centers=4, cluster_std=1.0, random_state=3)
    svc = SVC(C=10, gamma=0.3).fit(X, y)
    ways = (Auto(work=1e9, copies_only=only) for only in (False, True))
    result, copy = (svmpress.compress(svc, vectors=8, method=way) for way in ways)
    assert np.mean(result.model.predict(X) == svc.predict(X)) >= np.mean(copy.model.predict(X) == svc.predict(X)) - 0.01


@pytest.mark.parametrize("given", [{"layout": "libsvm"}, {"max_drop": 0.05}])
def test_inferred_labels_play_no_part_where_the_source_s_answers_are_asked_for(given):
    X, y = texts(200, 0, 6)
    budget = {} if "max_drop" in given else {"vectors": 20}
    svc = SVC(C=10, gamma=2.0).fit(X, y)
    ways = (Auto(work=1e8, copies_only=only) for only in (False, True))
    plain, copy = (svmpress.compress(svc, **budget, **given, method=way) for way in ways)
    np.testing.assert_array_equal(plain.model.expansion.coef, copy.model.expansion.coef)
    assert plain.notes == copy.notes


def test_a_copy_is_to_be_had_in_any_case():
    X, y = texts(300, 0, 4)
    svc = SVC(C=10, gamma=2.0).fit(X, y)
    without, given = (
        svmpress.compress(svc, X, labels, vectors=20, method=Auto(work=1e8, copies_only=True)) for labels in (None, y)
    )
    assert without.model.n_outputs == 6
    np.testing.assert_array_equal(without.model.expansion.coef, given.model.expansion.coef)


# ---------------------------------------------------------------------------------------------------------
# Few rows
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_array])
def test_rows_that_are_vectors_are_recognised_to_the_last_bit_only(rng, as_rows):
    vectors = rng.normal(size=(40, 6)) * (rng.uniform(size=(40, 6)) < 0.7)
    rows = np.concatenate([vectors[[3, 17]], rng.normal(size=(5, 6)), vectors[[8]] + 1e-6])
    found = are_among(as_rows(rows), as_rows(vectors))
    assert found.tolist() == [True, True, False, False, False, False, False, False]


def test_a_few_rows_are_no_substitute_for_thousands_of_vectors():
    """Vectors stay among the rows, with the labels that their coefficients tell, and no row is there twice."""
    X, y = make_moons(600, noise=0.05, random_state=0)
    svc = SVC(C=1, gamma=0.3).fit(X, y)
    model = from_estimator(svc)
    some = np.r_[svc.support_[:20], np.setdiff1d(np.arange(600), svc.support_)[:20]]
    problem = Problem(model, X[some], y[some], "shared", Backend.of("cpu"), 0, 2**28, lambda *_: None)
    whole, note = with_vectors(problem)
    assert whole.rows.shape[0] == model.n_vectors + 20
    np.testing.assert_array_equal(whole.y[: model.n_vectors], y[svc.support_])
    np.testing.assert_array_equal(whole.y[model.n_vectors :], y[some[20:]])
    assert "fewer rows" in note
    few = svmpress.compress(svc, X[some], y[some], vectors=6).model
    alone = svmpress.compress(svc, vectors=6).model
    right = [np.mean(m.predict(X) == svc.predict(X)) for m in (few, alone)]
    assert right[0] >= right[1] - 0.02
