"""The meta-estimators are scikit-learn estimators, and what they predict is what ``compress`` gives."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris, make_moons
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM
from sklearn.utils.estimator_checks import parametrize_with_checks

from svmpress.compression import compress
from svmpress.errors import InputError
from svmpress.estimators import CompressedClassifier, CompressedOutlierDetector, CompressedRegressor


@parametrize_with_checks([CompressedClassifier(), CompressedRegressor(), CompressedOutlierDetector()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(300, noise=0.25, random_state=0)
    return X, np.array(["down", "up"])[y]


@pytest.fixture(scope="module")
def wave():
    X = np.random.default_rng(0).uniform(-3, 3, size=(250, 2))
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1]


def test_the_classifier_is_fit_and_compress(moons):
    X, y = moons
    ours = CompressedClassifier(SVC(gamma=2.0), vectors=8, random_state=3).fit(X, y)
    plain = compress(SVC(gamma=2.0).fit(X, y), X, y, vectors=8, random_state=3).model
    assert ours.model_.n_vectors == 8
    np.testing.assert_array_equal(ours.predict(X), plain.predict(X))
    np.testing.assert_array_equal(ours.decision_function(X), plain.decision_function(X))
    assert ours.classes_.tolist() == ["down", "up"]
    assert ours.score(X, y) > 0.9
    assert ours.estimator_.score(X, y) > 0.9
    assert ours.compression_.source.n_vectors == len(ours.estimator_.support_)


def test_three_classes_one_vs_one_and_one_vs_rest():
    X, y = load_iris(return_X_y=True)
    for inner in (SVC(gamma=0.2), OneVsRestClassifier(SVC(gamma=0.2))):
        ours = CompressedClassifier(inner, vectors=9).fit(X, y)
        assert ours.decision_function(X).shape == (150, 3)
        assert ours.score(X, y) > 0.93


def test_the_method_of_the_paper(moons):
    X, y = moons
    ours = CompressedClassifier(SVC(gamma=2.0), vectors=12, method="paper").fit(X, y)
    assert set(ours.compression_.path) == set(ours.compression_.trace) == {"machine"}
    assert ours.score(X, y) > 0.9


def test_the_default_budget_is_a_tenth_of_the_vectors(moons):
    X, y = moons
    ours = CompressedClassifier().fit(X, y)
    assert ours.model_.n_vectors == round(0.1 * ours.compression_.source.n_vectors)


def test_every_budget_reaches_compress(moons):
    X, y = moons
    n_bytes = 8 * (5 * (2 + 1) + 1)
    assert CompressedClassifier(max_bytes=n_bytes).fit(X, y).model_.n_vectors == 5
    assert CompressedClassifier(ratio=0.05).fit(X, y).compression_.budget.ratio == 0.05
    assert CompressedClassifier(max_drop=0.05).fit(X, y).compression_.curve
    assert CompressedClassifier(max_latency=1.0).fit(X, y).compression_.budget.max_latency == 1.0
    with pytest.raises(InputError, match="give exactly one budget, not vectors and ratio"):
        CompressedClassifier(vectors=5, ratio=0.1).fit(X, y)
    with pytest.raises(InputError, match="unknown method 'best'"):
        CompressedClassifier(method="best").fit(X, y)


@pytest.mark.parametrize("inner", [SVR(gamma=0.5, C=10), KernelRidge(kernel="rbf", gamma=0.5, alpha=0.1)])
def test_the_regressor_follows_the_curve(inner, wave):
    X, y = wave
    ours = CompressedRegressor(inner, vectors=20).fit(X, y)
    assert ours.score(X, y) > 0.95
    assert ours.predict(X).shape == (250,)


def test_a_regression_of_several_values(wave):
    X, y = wave
    Y = np.stack([y, y**2], axis=1)
    ours = CompressedRegressor(KernelRidge(kernel="rbf", gamma=0.5, alpha=0.1), vectors=40).fit(X, Y)
    assert ours.predict(X).shape == (250, 2)
    assert ours.score(X, Y) > 0.9


def test_the_outlier_detector_agrees_with_its_teacher(rng):
    X = rng.normal(size=(300, 2))
    ours = CompressedOutlierDetector(OneClassSVM(nu=0.3, gamma=0.3), vectors=20).fit(X)
    teacher = OneClassSVM(nu=0.3, gamma=0.3).fit(X)
    assert (ours.predict(X) == teacher.predict(X)).mean() > 0.95
    np.testing.assert_allclose(ours.score_samples(X) - ours.offset_, ours.decision_function(X), atol=1e-12)


# ---------------------------------------------------------------------------------------------------------
# In scikit-learn's company
# ---------------------------------------------------------------------------------------------------------


def test_inside_a_pipeline_and_around_one(moons):
    X, y = moons
    X = X * [1.0, 100.0]
    outside = make_pipeline(StandardScaler(), CompressedClassifier(vectors=10)).fit(X, y)
    around = CompressedClassifier(make_pipeline(StandardScaler(), SVC()), vectors=10).fit(X, y)
    assert outside.score(X, y) > 0.9
    assert around.score(X, y) > 0.9
    assert around.model_.scaling is not None


def test_grid_search_over_inner_and_outer_parameters(moons):
    X, y = moons
    grid = {"estimator__gamma": [1e-6, 2.0], "vectors": [2, 12]}
    search = GridSearchCV(CompressedClassifier(SVC()), grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_["estimator__gamma"] == 2.0
    assert search.best_estimator_.model_.n_vectors == search.best_params_["vectors"]


def test_clone_copies_the_parameters_and_leaves_the_inner_estimator_unfitted(moons):
    X, y = moons
    inner = SVC(C=3.0)
    ours = CompressedClassifier(inner, vectors=5).fit(X, y)
    copy = clone(ours)
    assert not hasattr(inner, "support_")
    assert copy.get_params()["estimator__C"] == 3.0
    assert copy.vectors == 5
    with pytest.raises(NotFittedError):
        copy.predict(X)


def test_a_pickle_is_as_small_as_the_model(moons):
    X, y = moons
    ours = CompressedClassifier(vectors=5).fit(X, y)
    data = pickle.dumps(ours)
    copy = pickle.loads(data)
    np.testing.assert_array_equal(copy.decision_function(X), ours.decision_function(X))
    assert len(data) < len(pickle.dumps(ours.estimator_)) / 2
    assert not hasattr(copy, "estimator_")
    assert hasattr(ours, "estimator_")


def test_sparse_rows_give_the_same_model_as_dense_ones(moons):
    X, y = moons
    dense = CompressedClassifier(SVC(gamma=2.0), vectors=8).fit(X, y)
    for kind in (sparse.csr_matrix, sparse.csr_array, sparse.coo_array):
        ours = CompressedClassifier(SVC(gamma=2.0), vectors=8).fit(kind(X), y)
        assert (ours.predict(kind(X)) == dense.predict(X)).mean() > 0.98


def test_weights_reach_the_inner_estimator(moons):
    X, y = moons
    weight = np.where(y == "up", 100.0, 0.01)
    ours = CompressedClassifier(vectors=8).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(
        ours.estimator_.decision_function(X), SVC().fit(X, y, sample_weight=weight).decision_function(X)
    )
    assert (ours.predict(X) == "up").mean() > 0.7


def test_weights_are_routed_when_routing_is_on(moons):
    X, y = moons
    weight = np.where(y == "up", 100.0, 0.01)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = CompressedClassifier(SVC().set_fit_request(sample_weight=True), vectors=8)
        routed = asking.fit(X, y, sample_weight=weight).estimator_.decision_function(X)
        np.testing.assert_array_equal(routed, SVC().fit(X, y, sample_weight=weight).decision_function(X))
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"):
            CompressedClassifier(SVC(), vectors=8).fit(X, y, sample_weight=weight)


def test_one_class_is_scikit_learns_own_error(moons):
    X, y = moons
    with pytest.raises(ValueError, match="number of classes has to be greater than one"):
        CompressedClassifier().fit(X[y == "up"], y[y == "up"])


def test_an_estimator_that_is_no_kernel_model_is_refused(moons):
    from sklearn.tree import DecisionTreeClassifier

    X, y = moons
    with pytest.raises(InputError, match="DecisionTreeClassifier"):
        CompressedClassifier(DecisionTreeClassifier()).fit(X, y)


# ---------------------------------------------------------------------------------------------------------
# Around estimators around SVMs
# ---------------------------------------------------------------------------------------------------------


def test_any_pipeline_and_its_names(moons):
    X, y = moons
    table = pd.DataFrame({"east": X[:, 0], "north": X[:, 1], "side": np.where(X[:, 0] > 0, "right", "left")})
    columns = ColumnTransformer([("numbers", PCA(), ["east", "north"]), ("words", OneHotEncoder(), ["side"])])
    ours = CompressedClassifier(make_pipeline(columns, SVC(C=10)), vectors=15).fit(table, y)
    assert ours.score(table, y) > 0.9
    assert ours.feature_names_in_.tolist() == ["east", "north", "side"]
    assert ours.decision_function(table).shape == (300,)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ours)).predict(table), ours.predict(table))


def test_names_of_features_stay_with_the_model(moons):
    X, y = moons
    table = pd.DataFrame(X, columns=["east", "north"])
    ours = CompressedClassifier(vectors=8).fit(table, y)
    assert ours.model_.feature_names == ("east", "north")
    np.testing.assert_array_equal(ours.model_.predict(table[["north", "east"]]), ours.predict(table))


def test_probabilities_where_the_inner_estimator_has_them(moons):
    X, y = moons
    inner = CalibratedClassifierCV(SVC(gamma=2.0), ensemble=False, cv=3)
    ours = CompressedClassifier(inner, vectors=12)
    assert hasattr(ours, "predict_proba")
    ours.fit(X, y)
    P = ours.predict_proba(X)
    assert np.abs(P - clone(inner).fit(X, y).predict_proba(X)).mean() < 0.03
    np.testing.assert_array_equal(ours.predict(X), ours.classes_[P.argmax(axis=1)])
    assert not hasattr(ours, "decision_function")  # nor has the inner one
    plain = CompressedClassifier(SVC(gamma=2.0), vectors=12)
    assert not hasattr(plain, "predict_proba")
    assert not hasattr(plain.fit(X, y), "predict_proba")
    assert hasattr(plain, "decision_function")


def test_several_svms_have_no_one_model(moons):
    X, y = moons
    ours = CompressedClassifier(BaggingClassifier(SVC(gamma=2.0), 3, random_state=0), ratio=0.2).fit(X, y)
    assert not hasattr(ours, "model_")
    assert ours.score(X, y) > 0.9


def test_random_states_of_every_kind(moons):
    X, y = moons
    for state in (np.random.default_rng(0), np.random.RandomState(0), None, 3):
        assert CompressedClassifier(SVC(gamma=2.0), vectors=8, random_state=state).fit(X, y).score(X, y) > 0.9


def test_weights_that_leave_one_class_are_refused(moons):
    X, y = moons
    with pytest.raises(InputError, match="sample_weight leaves rows of one class only"):
        CompressedClassifier().fit(X, y, sample_weight=y == "up")


@pytest.mark.parametrize(
    ("wrapper", "estimator", "words"),
    [
        (CompressedClassifier, SVR(), "needs a classifier, and SVR is none"),
        (CompressedRegressor, SVC(), "needs a regressor, and SVC is none"),
        (CompressedOutlierDetector, SVC(), "needs a one-class SVM, and SVC is none"),
        (CompressedClassifier, "svc", "must be an SVM of scikit-learn, not 'svc'"),
    ],
)
def test_the_wrong_kind_of_svm_is_refused(wrapper, estimator, words):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InputError, match=words):
        wrapper(estimator, vectors=3).fit(X, y)


def test_notebooks_show_the_diagram_and_what_was_compressed():
    X, y = load_iris(return_X_y=True)
    clf = CompressedClassifier(SVC(), vectors=6)
    assert "<table><tr><th scope" not in clf._repr_html_()
    clf.fit(X, y)
    for shown in (clf._repr_html_(), clf._repr_mimebundle_()["text/html"]):
        assert clf.compression_._repr_html_() in shown
        assert "SVC" in shown
    assert clf.model_._repr_html_() in pickle.loads(pickle.dumps(clf))._repr_html_()
    with sklearn.config_context(display="text"):
        assert list(clf._repr_mimebundle_()) == ["text/plain"]
        assert not hasattr(clf, "_repr_html_")
