"""What support vectors tell of the rows that a one-vs-one SVM was trained on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

from svmpress import compress
from svmpress.auto import Auto
from svmpress.formats import from_estimator
from svmpress.support import class_parts, missed_rows, training_labels


def noisy(n_classes: int = 5, spread: float = 6.0, n: int = 300):
    """Return rows so noisy that nearly all of them become support vectors, and their labels."""
    X, y = make_blobs(n, 3, centers=n_classes, cluster_std=spread, random_state=0)
    return X / X.std(axis=0), y


def test_the_class_of_every_support_vector_can_be_read_off_its_coefficients():
    X, y = noisy()
    svc = SVC(C=2.0, gamma=1.0).fit(X, y)
    model = from_estimator(svc)
    parts = class_parts(model.expansion.coef, 5)
    assert (np.count_nonzero(parts, axis=1) == 1).all()
    np.testing.assert_array_equal(parts.argmax(axis=1), y[svc.support_])


def test_labels_are_known_where_nearly_all_rows_are_support_vectors():
    X, y = noisy()
    svc = SVC(C=2.0, gamma=10.0).fit(X, y)
    assert len(svc.support_) > 0.95 * len(X)
    labels = training_labels(from_estimator(svc))
    assert labels is not None
    np.testing.assert_array_equal(labels, y[svc.support_])


def test_rows_that_are_no_support_vectors_are_noticed():
    X, y = noisy(spread=1.0)
    svc = SVC(C=2.0, gamma=0.1).fit(X, y)
    assert len(svc.support_) < 0.7 * len(X)
    model = from_estimator(svc)
    assert missed_rows(model.expansion.coef) > 0.1 * len(svc.support_)
    assert training_labels(model) is None


@pytest.mark.parametrize(("once", "twice", "missed"), [(0, 7, 0.0), (6, 3, 6.0), (4, 0, 6.0), (1, 0, 0.0)])
def test_missed_rows_are_estimated_by_chao(once, twice, missed):
    rows = [[1.0, 0, 0]] * once + [[0, 2.0, -1]] * twice + [[1.0, 1, 1]] * 5
    assert missed_rows(np.array(rows)) == missed


def test_two_classes_tell_nothing():
    X, y = noisy(2)
    assert training_labels(from_estimator(SVC(C=2.0, gamma=1.0).fit(X, y))) is None


def test_vectors_that_were_moved_are_no_rows():
    X, y = noisy()
    model = from_estimator(SVC(C=2.0, gamma=1.0).fit(X, y))
    coef = np.random.default_rng(0).normal(size=model.expansion.coef.shape)
    assert training_labels(replace(model, expansion=replace(model.expansion, coef=coef, coef_mask=None))) is None


def test_a_model_without_data_is_compressed_with_the_labels_that_it_carries():
    X, y = noisy(spread=4.0, n=3000)
    svc = SVC(C=100.0, gamma=10.0).fit(X[:300], y[:300])  # learns the noise by heart
    alone = compress(svc, vectors=20)
    assert any("their classes are taken as y" in note for note in alone.notes)
    assert alone.model.n_vectors == 20
    assert np.mean(alone.model.predict(X[300:]) == y[300:]) > svc.score(X[300:], y[300:])


def test_what_may_be_lost_is_agreement_where_no_labels_were_given():
    X, y = noisy(spread=4.0)
    svc = SVC(C=100.0, gamma=10.0).fit(X, y)
    copied = compress(svc, max_drop=0.3, method=Auto(work=1e8))
    assert not any("taken as y" in note for note in copied.notes)
