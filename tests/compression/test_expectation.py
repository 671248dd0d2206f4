"""What to expect of a small model, what it is warned of, and what of the input is not used."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons
from sklearn.svm import SVC, SVR, OneClassSVM

import svmpress
from svmpress import Status, SvmpressWarning
from svmpress.compression.expectation import Estimate
from svmpress.methods import Auto, Score

QUICK = Auto(effort="fast")


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(4000, noise=0.25, random_state=1)
    return X[:3000], y[:3000], X[3000:], y[3000:], SVC(C=10, gamma=1.0).fit(X[:3000], y[:3000])


@pytest.fixture(scope="module")
def blobs():
    """Thirty-two classes."""
    X, y = make_blobs(1600, 6, centers=32, cluster_std=1.5, random_state=0)
    return X, y, SVC(gamma=0.1).fit(X, y)


# ---------------------------------------------------------------------------------------------------------
# What to expect
# ---------------------------------------------------------------------------------------------------------


def test_held_out_rows_say_what_new_rows_will_show(moons):
    X, y, X_test, y_test, svc = moons
    result = svmpress.compress(svc, X, y, vectors=8, method=QUICK)
    found = result.expected
    assert (found.on, found.rows, found.measure) == ("of the rows given", 3000, "accuracy")
    assert 0 < found.held_out < 3000
    agreement = np.mean(result.model.predict(X_test) == svc.predict(X_test))
    accuracy = np.mean(result.model.predict(X_test) == y_test)
    assert found.agreement.low <= agreement <= found.agreement.high
    assert found.accuracy.low <= accuracy <= found.accuracy.high
    assert found.source_accuracy.low <= svc.score(X_test, y_test) <= found.source_accuracy.high
    assert result.status is Status.COMPRESSED
    assert result.warnings == ()


def test_the_summary_begins_with_it(moons):
    X, y, _, _, svc = moons
    result = svmpress.compress(svc, X, y, vectors=8, method=QUICK)
    lines = result.summary().splitlines()
    assert lines[0] == f"{Status.COMPRESSED.message}."
    assert lines[1].startswith("accuracy")
    assert f"{result.expected.accuracy.value:.4f}" in lines[1]
    assert f"{result.expected.held_out:,} held-out rows" in lines[1]
    assert lines[2].startswith("agreement")
    assert "3,000 of the rows given" in lines[2]


def test_without_rows_the_vectors_are_asked(moons):
    *_, svc = moons
    result = svmpress.compress(svc, vectors=20, method=QUICK)
    assert result.expected.on.startswith("support vectors")
    assert result.expected.rows == svc.n_support_.sum()
    assert result.expected.accuracy is None


def test_of_a_regressor_it_is_r2():
    X = np.random.default_rng(0).uniform(-2, 2, (400, 2))
    y = np.sin(X[:, 0]) * X[:, 1]
    svr = SVR(C=10, gamma=0.5, epsilon=0.02).fit(X, y)
    result = svmpress.compress(svr, X, y, vectors=15, method=QUICK)
    assert result.expected.measure == "R²"
    new = np.random.default_rng(1).uniform(-2, 2, (400, 2))
    wanted = svr.predict(new)
    r2 = 1 - np.sum((wanted - result.model.predict(new)) ** 2) / np.sum((wanted - wanted.mean()) ** 2)
    assert result.expected.agreement.value == pytest.approx(r2, abs=0.01)
    with pytest.warns(SvmpressWarning, match="R²"):
        poor = svmpress.compress(svr, X, y, vectors=1, method=QUICK)
    assert poor.status is Status.DOUBTFUL


def test_of_other_answers_than_the_sources_it_is_said_that_held_out_rows_find_them_no_worse():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int) ^ (rng.uniform(size=1500) < 0.3)
    wild = SVC(C=1, gamma=30.0).fit(X, y)  # it has learnt the noise by heart
    result = svmpress.compress(wild, X, y, vectors=8)
    assert result.expected.agreement.value < 0.9
    assert result.expected.is_no_worse
    (text,) = result.warnings
    assert "agrees with its source" in text
    assert "no worse than an SVM like the source" in text


@pytest.mark.parametrize(("right", "n"), [(100, 100), (99, 100), (0, 7), (450, 900)])
def test_the_interval_of_a_share_is_wilsons(right, n):
    """Its ends are the shares from which the one that was seen is as far as 1.96 standard errors."""
    found = Estimate.of(Score(np.repeat([1.0, 0.0], [right, n - right])))
    for end in (found.low, found.high):
        if 1e-9 < end < 1 - 1e-9:
            assert abs(end - right / n) == pytest.approx(1.959964 * np.sqrt(end * (1 - end) / n), rel=1e-6)
    assert found.low <= found.value <= found.high


# ---------------------------------------------------------------------------------------------------------
# Warnings
# ---------------------------------------------------------------------------------------------------------


def test_three_vectors_for_thirty_two_classes_are_no_success(blobs):
    X, y, svc = blobs
    with pytest.warns(SvmpressWarning) as caught:
        result = svmpress.compress(svc, X, y, vectors=3, method=QUICK)
    said = [str(w.message) for w in caught]
    assert said == list(result.warnings)
    assert any("agrees with its source" in text for text in said)
    assert any("fewer vectors (3) than classes (32)" in text for text in said)
    assert result.status is Status.DOUBTFUL
    assert result.expected.agreement.value < 0.9
    assert all(f"warning: {text}" in result.summary() for text in said)


def test_a_class_that_is_never_answered_is_named():
    X = np.vstack([np.random.default_rng(0).normal(0, 1, (300, 2)), [[0.0, 0.0]] * 3 + [[5.0, 5.0]] * 3])
    y = np.repeat(["common", "rare"], [300, 6])
    svc = SVC(C=100, gamma=5.0, class_weight="balanced").fit(X, y)
    result = svmpress.compress(svc, X, vectors=2, method="lars")
    answered = set(result.model.predict(np.vstack([X, svc.support_vectors_])))
    assert set(result.expected.lost) == set(svc.predict(X)) - answered
    assert bool(result.expected.lost) == any("no longer answers" in text for text in result.warnings)


def test_dense_vectors_that_outgrow_sparse_ones_are_told():
    X = sparse.random(300, 3000, density=0.003, format="csr", random_state=0)
    y = np.asarray(X[:, :1500].sum(axis=1) > X[:, 1500:].sum(axis=1)).ravel()
    svc = SVC(gamma=1.0).fit(X, y)
    with pytest.warns(SvmpressWarning, match="max_bytes="):
        result = svmpress.compress(svc, X, vectors=50, method=QUICK)
    assert any("more than the" in text for text in result.warnings)


# ---------------------------------------------------------------------------------------------------------
# Rows and labels that tell nothing
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("units", [lambda X: X * 100, lambda X: X + 50, lambda X: X[:1] * 100])
@pytest.mark.parametrize("kind", [SVC, SVR, OneClassSVM])
def test_rows_in_other_units_are_not_used(moons, units, kind):
    X, y, *_ = moons
    source = OneClassSVM(nu=0.1).fit(X[:500]) if kind is OneClassSVM else kind(gamma=1.0).fit(X[:500], y[:500])
    with pytest.warns(SvmpressWarning, match="rows are not used"):
        result = svmpress.compress(source, units(X), ratio=0.2, method=QUICK)
    alone = svmpress.compress(source, ratio=0.2, method=QUICK)
    np.testing.assert_array_equal(result.model.expansion.vectors, alone.model.expansion.vectors)
    assert result.status is Status.DOUBTFUL
    assert result.expected == alone.expected


def test_rows_of_its_own_kind_are_used_however_few_features_vary(moons):
    X, y, *_ = moons
    constant = np.column_stack([X, np.full(len(X), 7.0)])
    svc = SVC(C=10, gamma=1.0).fit(constant, y)
    assert svmpress.compress(svc, constant, y, vectors=8, method=QUICK).warnings == ()


@pytest.mark.parametrize("labels", ["none", "random", "flipped", "some"])
def test_labels_that_are_none_are_not_used(blobs, moons, labels):
    X, y, svc = (blobs[0], blobs[1], blobs[2]) if labels == "some" else (moons[0], moons[1], moons[4])
    rng = np.random.default_rng(0)
    given = {
        "none": np.zeros_like(y),
        "random": rng.permutation(y),
        "flipped": 1 - y,
        "some": np.where(y == 31, 30, y),
    }[labels]
    with pytest.warns(SvmpressWarning, match="labels are not used"):
        result = svmpress.compress(svc, X, given, vectors=40, method=QUICK)
    without = svmpress.compress(svc, X, vectors=40, method=QUICK)
    assert result.expected.accuracy is None
    assert result.expected.agreement.value > 0.9
    assert result.status is without.status


def test_values_that_are_none_are_not_used():
    X = np.random.default_rng(0).uniform(-2, 2, (300, 2))
    y = np.sin(X[:, 0]) * X[:, 1]
    svr = SVR(C=10, gamma=0.5, epsilon=0.02).fit(X, y)
    for given in (np.zeros(300), -y):
        with pytest.warns(SvmpressWarning, match="labels are not used"):
            result = svmpress.compress(svr, X, given, vectors=15, method=QUICK)
        assert result.expected.agreement.value > 0.9
