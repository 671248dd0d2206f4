"""Training: scikit-learn is the oracle for what comes out, and held-out rows choose what is not given."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris, make_classification, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

from svmpress.errors import InputError
from svmpress.training import held_out, train


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.mark.parametrize(
    ("scale", "scaler"),
    [("standard", StandardScaler), ("minmax", MinMaxScaler), ("maxabs", MaxAbsScaler), (None, None)],
)
def test_given_parameters_train_what_scikit_learn_trains(iris, scale, scaler):
    X, y = iris
    result = train(X, y, C=2.0, gamma=0.3, scale=scale)
    svc = SVC(C=2.0, gamma=0.3)
    oracle = (svc if scaler is None else make_pipeline(scaler(), svc)).fit(X, y)
    np.testing.assert_array_equal(result.model.predict(X), oracle.predict(X))
    np.testing.assert_allclose(result.model.decision_function(X), oracle.decision_function(X), atol=1e-9)
    assert (result.C, result.gamma, result.trials, result.score) == (2.0, 0.3, (), None)
    assert (result.model.scaling is None) == (scale is None)


@pytest.mark.parametrize("kernel", ["linear", "poly", "sigmoid"])
def test_other_kernels(iris, kernel):
    X, y = iris
    result = train(X, y, kernel=kernel, C=1.0, gamma=0.2, degree=2, coef0=0.5)
    oracle = make_pipeline(StandardScaler(), SVC(kernel=kernel, gamma=0.2, degree=2, coef0=0.5)).fit(X, y)
    np.testing.assert_allclose(result.model.decision_function(X), oracle.decision_function(X), atol=1e-9)
    assert result.gamma == (None if kernel == "linear" else 0.2)


def test_search_finds_a_good_point_and_records_the_way():
    X, y = make_moons(400, noise=0.2, random_state=0)
    X_test, y_test = make_moons(1000, noise=0.2, random_state=1)
    calls = []
    result = train(X, y, progress=lambda *a: calls.append(a))
    assert len(result.trials) == 25 + 9
    assert np.mean(result.model.predict(X_test) == y_test) > 0.94
    best = max(result.trials[25:], key=lambda t: (t.score, -t.vectors))
    assert (result.C, result.gamma, result.score) == (best.C, best.gamma, best.score)
    coarse = max(result.trials[:25], key=lambda t: (t.score, -t.vectors))
    assert (coarse.C, coarse.gamma) in {(t.C, t.gamma) for t in result.trials[25:]}
    assert calls[-1] == ("training on all rows", 1, 1)
    assert [c[1] for c in calls if c[0] == "choosing C and gamma"] == list(range(1, 35))


def test_a_given_value_stays():
    X, y = make_moons(100, noise=0.2, random_state=0)
    by_gamma = train(X, y, C=3.0)
    assert {t.C for t in by_gamma.trials} == {3.0}
    by_cost = train(X, y, gamma=0.7)
    assert {t.gamma for t in by_cost.trials} == {0.7}
    linear = train(X, y, kernel="linear")
    assert {t.gamma for t in linear.trials} == {None}


def test_many_rows_are_sampled_for_the_search_but_not_for_the_model():
    X, y = make_classification(9000, 5, random_state=0)
    result = train(X, y, gamma=0.2)
    assert [t.rows for t in result.trials] == pytest.approx([1500] * 5 + [6000] * 3, abs=3)
    assert result.estimator[-1].shape_fit_ == (9000, 5)


def test_results_repeat():
    X, y = make_moons(150, noise=0.3, random_state=0)
    a, b = train(X, y, random_state=3), train(X, y, random_state=3)
    assert a.trials == b.trials
    np.testing.assert_array_equal(a.model.expansion.coef, b.model.expansion.coef)


def test_regression():
    X, y = load_diabetes(return_X_y=True)
    result = train(X, y, task="regression")
    assert result.model.task == "regression"
    assert result.score > 0.3
    oracle = make_pipeline(StandardScaler(), SVR(C=result.C, gamma=result.gamma, epsilon=np.std(y) / 10)).fit(X, y)
    np.testing.assert_allclose(result.model.predict(X), oracle.predict(X), rtol=1e-6)


def test_outlier_needs_no_labels():
    X = np.random.default_rng(0).normal(size=(200, 3))
    result = train(X, task="outlier", nu=0.2)
    oracle = make_pipeline(StandardScaler(), OneClassSVM(nu=0.2, gamma="scale")).fit(X)
    np.testing.assert_array_equal(result.model.predict(X), oracle.predict(X))
    assert result.C is None


def test_text_labels_and_sparse_rows():
    rng = np.random.default_rng(0)
    X = sparse.random_array((120, 40), density=0.1, rng=rng, format="csr")
    y = np.where(np.asarray(X[:, [0, 1, 2, 3]].sum(axis=1)).ravel() > 0, "yes", "no")
    result = train(X, y, C=10.0, gamma=1.0)
    assert result.model.scaling.shift is None  # zeros stay zeros
    assert sparse.issparse(result.model.expansion.vectors)
    assert set(result.model.predict(X)) == {"yes", "no"}
    shifted = train(X, y, C=10.0, gamma=1.0, scale="standard")
    oracle = make_pipeline(StandardScaler(), SVC(C=10.0, gamma=1.0)).fit(X.toarray(), y)
    np.testing.assert_array_equal(shifted.model.predict(X.toarray()), oracle.predict(X.toarray()))


def test_sparse_rows_with_wide_indices():
    X = sparse.csr_array(np.eye(20))
    wide = sparse.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)
    assert wide.indices.dtype == np.int64
    y = np.arange(20) % 2
    assert train(wide, y, C=1.0, gamma=1.0).model.n_vectors == train(X, y, C=1.0, gamma=1.0).model.n_vectors


def test_rare_classes_are_never_held_out_whole():
    y = np.array([0] * 50 + [1] * 2 + [2])
    fit, held = held_out(y, len(y), 0.2, seed=0)
    assert set(y[fit]) == {0, 1, 2}
    assert not set(fit) & set(held)
    assert len(fit) + len(held) == len(y)
    assert abs(len(held) - 0.2 * len(y)) < 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.ones(150)}, "all rows have the label 1.0"),
        ({"y": None}, "needs labels"),
        ({"y": np.ones(3)}, "150 labels for 150 rows"),
        ({"y": np.append(np.nan, np.ones(149))}, "label of row 0 is not finite"),
        ({"y": np.random.default_rng(0).normal(size=150)}, "choose the task regression"),
        ({"y": np.array(["a", "b"] * 75), "task": "regression"}, "some are text"),
        ({"X": np.full((150, 4), np.nan)}, "NaN at row 0, column 0"),
        ({"X": np.zeros((0, 4))}, "no rows"),
        ({"kernel": "laplacian"}, "cannot train with the kernel 'laplacian'"),
        ({"task": "ranking"}, "unknown task"),
        ({"scale": "robust"}, "unknown scaling"),
        ({"C": 0.0}, "C must be a positive number"),
        ({"gamma": -1.0}, "gamma must be a positive number"),
        ({"validation": 1.0}, "between 0 and 1"),
    ],
)
def test_bad_input(iris, change, message):
    X, y = iris
    with pytest.raises(InputError, match=message):
        train(**({"X": X, "y": y} | change))


def test_too_few_rows_to_choose():
    with pytest.raises(InputError, match="too few to choose C and gamma by validation; give both"):
        train([[0.0], [1.0]], [0, 1])
    assert train([[0.0], [1.0]], [0, 1], C=1.0, gamma=1.0).model.n_vectors == 2


def test_a_generator_stands_for_a_seed():
    X, y = load_iris(return_X_y=True)
    one, two = (train(X, y, gamma=0.3, random_state=np.random.default_rng(5)) for _ in range(2))
    assert one.C == two.C
    assert one.trials == two.trials
