"""Estimators around SVMs: what is inside is compressed, and the whole answers as before."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.datasets import load_diabetes, load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier, BaggingRegressor, VotingClassifier, VotingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM
from sklearn.tree import DecisionTreeClassifier

import svmpress
from svmpress.compression import ManyCompressions
from svmpress.errors import InputError
from svmpress.methods import Auto
from svmpress.wrapping import fitted_estimator

QUICK = Auto(work=1e8)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, np.array(list("abcdefghij"))[y], random_state=0)


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def people():
    """A table with numbers, gaps and words, and what to say about its rows."""
    rng = np.random.default_rng(0)
    age, income = rng.uniform(20, 70, 400), rng.lognormal(10, 0.5, 400)
    town = rng.choice(["Ulm", "Bonn", "Kiel"], 400)
    y = np.where((age > 45) ^ (town == "Ulm"), "yes", "no")
    age[::17] = np.nan
    return pd.DataFrame({"age": age, "income": income, "town": town}), y


SVM = SVC(C=10, gamma=0.001)


def small(estimator, X=None, y=None, **options):
    return svmpress.compress(estimator, X, y, method=QUICK, **options)


def agreement(a, b, X):
    return np.mean(a.predict(X) == b.predict(X))


# ---------------------------------------------------------------------------------------------------------
# Pipelines
# ---------------------------------------------------------------------------------------------------------


def test_an_svm_itself_becomes_an_estimator(digits):
    X, X_test, y, y_test = digits
    svc = clone(SVM).fit(X, y)
    result = small(svc, X, y)
    ours = result.estimator
    np.testing.assert_array_equal(ours.predict(X_test), result.model.predict(X_test))
    np.testing.assert_array_equal(ours.decision_function(X_test), result.model.decision_function(X_test))
    np.testing.assert_array_equal(ours.classes_, svc.classes_)
    assert ours.score(X_test, y_test) == np.mean(ours.predict(X_test) == y_test)
    assert ours.n_features_in_ == 64
    assert not hasattr(ours, "predict_proba")
    assert not hasattr(ours, "feature_names_in_")


def test_a_pipeline_of_scalers_is_a_model_and_a_pipeline(digits, tmp_path):
    X, X_test, y, _ = digits
    pipeline = make_pipeline(StandardScaler(), MinMaxScaler(), SVC(gamma=0.5)).fit(X, y)
    result = small(pipeline, X, y)
    assert result.model.scaling is not None
    assert [name for name, _ in result.estimator.steps] == ["standardscaler", "minmaxscaler", "svc"]
    np.testing.assert_array_equal(result.estimator.predict(X_test), result.model.predict(X_test))
    assert agreement(result.estimator, pipeline, X_test) > 0.95
    svmpress.save(result, tmp_path / "a.svmpress")
    assert agreement(svmpress.load(tmp_path / "a.svmpress"), pipeline, X_test) > 0.95


@pytest.mark.parametrize(
    "before",
    [[PCA(20)], [StandardScaler(), PCA(20)], [Normalizer()], [MinMaxScaler(clip=True)], ["passthrough", PCA(20)]],
    ids=["pca", "scaled_pca", "normalizer", "clipping", "passthrough"],
)
def test_any_steps_stay_before_the_small_model(digits, before):
    X, X_test, y, y_test = digits
    pipeline = Pipeline([*((f"step{i}", s) for i, s in enumerate(before)), ("svm", SVC(C=10))]).fit(X, y)
    result = small(pipeline, X, y)
    assert [name for name, _ in result.estimator.steps] == [name for name, _ in pipeline.steps]
    assert all(ours is theirs for ours, theirs in zip(result.estimator[:-1], pipeline[:-1], strict=True))
    assert agreement(result.estimator, pipeline, X_test) > 0.95
    assert result.estimator.score(X_test, y_test) > 0.93
    assert result.model.n_vectors == round(0.1 * result.source.n_vectors)
    np.testing.assert_array_equal(result.estimator.classes_, pipeline.classes_)
    assert pipeline[-1].support_vectors_.shape[0] == result.source.n_vectors  # the source is as it was


def test_a_table_through_a_column_transformer(people):
    X, y = people
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = ColumnTransformer([("numbers", numbers, ["age", "income"]), ("words", OneHotEncoder(), ["town"])])
    pipeline = make_pipeline(columns, SVC(C=10)).fit(X, y)
    result = small(pipeline, X, y, vectors=15)
    ours = result.estimator
    assert agreement(ours, pipeline, X) > 0.9
    assert ours.feature_names_in_.tolist() == ["age", "income", "town"]
    np.testing.assert_array_equal(ours.predict(X[["town", "age", "income"]]), ours.predict(X))
    without = small(pipeline, vectors=15).estimator  # no rows: the support vectors stand in
    assert agreement(without, pipeline, X) > 0.85


def test_text():
    words = ["cat dog bird", "dog cat", "bird cat cat", "car train bus", "bus car", "train bus bus"]
    texts, y = [f"{a} {b}" for a in words for b in words[:4]], np.repeat(["pets", "traffic"], 12)
    pipeline = make_pipeline(TfidfVectorizer(), SVC(C=10)).fit(texts, y)
    ours = small(pipeline, texts, y, vectors=4).estimator
    np.testing.assert_array_equal(ours.predict(texts), pipeline.predict(texts))


def test_a_pipeline_in_a_pipeline_and_a_one_class_svm(digits):
    X, X_test, *_ = digits
    inner = make_pipeline(PCA(10), OneClassSVM(nu=0.2))
    pipeline = make_pipeline(StandardScaler(), inner).fit(X)
    ours = small(pipeline, X, ratio=0.3).estimator
    assert agreement(ours, pipeline, X_test) > 0.9
    np.testing.assert_allclose(ours.score_samples(X_test), ours.decision_function(X_test) + ours[-1][-1].offset_)


def test_a_pickle_is_small_and_predicts(digits):
    X, X_test, y, _ = digits
    pipeline = make_pipeline(PCA(20), SVC(C=10)).fit(X, y)
    ours = small(pipeline, X, y, vectors=20).estimator
    data = pickle.dumps(ours)
    assert len(data) < len(pickle.dumps(pipeline)) / 4
    np.testing.assert_array_equal(pickle.loads(data).predict(X_test), ours.predict(X_test))
    np.testing.assert_array_equal(clone(ours[-1]).predict(ours[:-1].transform(X_test)), ours.predict(X_test))


def test_what_is_small_is_fitted_for_good(digits):
    """A cross-validation would fit the steps before the SVM on other rows, and leave the SVM."""
    X, X_test, y, _ = digits
    pipeline = small(make_pipeline(PCA(20), SVC(C=10)).fit(X, y), X, y, vectors=20).estimator
    calibrated = small(CalibratedClassifierCV(SVC(C=10), ensemble=False, cv=2).fit(X, y), X, y, vectors=30).estimator
    for ours in (pipeline, calibrated):
        with pytest.raises(InputError, match="cannot be fitted again: fit the source and compress it"):
            cross_val_score(ours, X, y, cv=2, error_score="raise")
    copy = pickle.loads(pickle.dumps(calibrated))
    np.testing.assert_array_equal(copy.predict_proba(X_test), calibrated.predict_proba(X_test))
    assert copy.n_features_in_ == 64
    assert clone(calibrated) is calibrated


def test_sparse_rows(digits):
    X, X_test, y, _ = digits
    pipeline = make_pipeline(Normalizer(), SVC(C=10)).fit(sparse.csr_array(X), y)
    ours = small(pipeline, sparse.csr_array(X), y).estimator
    assert agreement(ours, pipeline, sparse.csr_array(X_test)) > 0.95


# ---------------------------------------------------------------------------------------------------------
# Around one estimator
# ---------------------------------------------------------------------------------------------------------


def test_a_search_gives_its_best_estimator(digits):
    X, X_test, y, _ = digits
    search = GridSearchCV(make_pipeline(PCA(20), SVC()), {"svc__C": [0.01, 10]}, cv=2).fit(X, y)
    ours = small(search, X, y).estimator
    assert agreement(ours, search, X_test) > 0.95
    with pytest.raises(InputError, match="has no best_estimator_: it has refit=False"):
        small(GridSearchCV(SVC(), {"C": [1]}, cv=2, refit=False).fit(X, y))
    with pytest.raises(InputError, match="has no best_estimator_: call its fit first"):
        small(GridSearchCV(SVC(), {"C": [1]}))


def test_a_frozen_estimator_is_frozen_again(digits):
    X, X_test, y, _ = digits
    ours = small(FrozenEstimator(clone(SVM).fit(X, y)), X, y).estimator
    assert isinstance(ours, FrozenEstimator)
    assert agreement(ours, clone(SVM).fit(X, y), X_test) > 0.95


def test_transformed_values(diabetes):
    X, y = diabetes
    logs = TransformedTargetRegressor(SVR(C=1), func=np.log, inverse_func=np.exp).fit(X, y)
    scaled = TransformedTargetRegressor(SVR(C=1), transformer=StandardScaler()).fit(X, y)
    for whole in (logs, scaled):
        ours = small(whole, X, y, ratio=0.3).estimator
        assert isinstance(ours, TransformedTargetRegressor)
        assert ours.score(X, whole.predict(X)) > 0.9


def test_what_is_not_fitted_or_no_svm_is_refused(digits):
    X, _, y, _ = digits
    for estimator in (make_pipeline(PCA(), SVC()), FrozenEstimator(SVC()), CalibratedClassifierCV(SVC())):
        with pytest.raises(InputError, match="is not fitted: call its fit first"):
            small(estimator)
    with pytest.raises(InputError, match="DecisionTreeClassifier cannot be converted"):
        small(make_pipeline(PCA(5), DecisionTreeClassifier()).fit(X, y))
    with pytest.raises(InputError, match="does not end in an estimator"):
        small(make_pipeline(PCA(5), "passthrough").fit(X, y))
    with pytest.raises(InputError, match="has no member that svmpress can read"):
        small(VotingClassifier([("tree", DecisionTreeClassifier())]).fit(X, y))


# ---------------------------------------------------------------------------------------------------------
# Probabilities
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("n_classes", [2, 10])
def test_a_calibrated_classifier(digits, method, n_classes):
    X, X_test, y, y_test = digits
    kept = (y < "c") | (n_classes > 2)
    X, y, X_test = X[kept], y[kept], X_test[(y_test < "c") | (n_classes > 2)]
    whole = CalibratedClassifierCV(make_pipeline(PCA(20), SVC(C=10)), method=method, ensemble=False, cv=3).fit(X, y)
    result = small(whole, X, y, ratio=0.2)
    assert result.estimator.classes_.tolist() == whole.classes_.tolist()
    P, expected = result.estimator.predict_proba(X_test), whole.predict_proba(X_test)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert np.abs(P - expected).mean() < 0.02
    assert agreement(result.estimator, whole, X_test) > 0.95
    np.testing.assert_array_equal(result.estimator.predict(X_test), whole.classes_[P.argmax(axis=1)])
    assert result.probabilities.source_calibration.brier < 0.1
    assert result.probabilities.calibration.brier < result.probabilities.source_calibration.brier + 0.02


def test_source_parameters_give_the_probabilities_of_scikit_learn(digits):
    """What is taken over from a calibrated classifier is what it computes, to rounding."""
    X, X_test, y, _ = digits
    for method in ("sigmoid", "isotonic", "temperature"):
        for labels in (y, y < "f"):
            whole = CalibratedClassifierCV(SVC(C=10), method=method, ensemble=False, cv=2).fit(X, labels)
            source = small(whole, vectors=10**6).estimator  # more than there are: unchanged
            # LibSVM keeps two classes 1e-7 away from 0 and 1
            np.testing.assert_allclose(source.predict_proba(X_test), whole.predict_proba(X_test), atol=2e-7)
            np.testing.assert_array_equal(source.predict(X_test), whole.predict(X_test))


def test_an_ensemble_of_calibrated_classifiers(digits):
    X, X_test, y, _ = digits
    whole = CalibratedClassifierCV(SVC(C=10, gamma=0.001), cv=3).fit(X, y)
    result = small(whole, X, y, vectors=180)
    assert isinstance(result, ManyCompressions)
    assert [m.model.n_vectors for m in result.members] == [60, 60, 60]
    assert np.abs(result.estimator.predict_proba(X_test) - whole.predict_proba(X_test)).mean() < 0.02
    assert agreement(result.estimator, whole, X_test) > 0.95


def test_frozen_and_calibrated_in_a_pipeline(digits):
    X, X_test, y, _ = digits
    frozen = FrozenEstimator(make_pipeline(PCA(10), SVC(C=10)).fit(X, y))
    whole = make_pipeline(StandardScaler(with_std=False), CalibratedClassifierCV(frozen, ensemble=False)).fit(X, y)
    ours = small(whole, X, y).estimator
    assert np.abs(ours.predict_proba(X_test) - whole.predict_proba(X_test)).mean() < 0.02


# ---------------------------------------------------------------------------------------------------------
# Around several
# ---------------------------------------------------------------------------------------------------------


def test_regressors_of_one_kernel_are_compressed_at_once(diabetes):
    X, y = diabetes
    Y = np.stack([y, np.sqrt(y)], axis=1)
    several = MultiOutputRegressor(SVR(gamma=0.05, C=10)).fit(X, Y)
    result = small(several, X, Y, vectors=60)
    assert (result.model.n_vectors, result.model.n_outputs) == (60, 2)
    np.testing.assert_allclose(small(several, vectors=10**6).estimator.predict(X), several.predict(X), atol=1e-8)
    assert result.estimator.score(X, several.predict(X)) > 0.8


def test_a_mean_of_regressors_of_one_kernel_is_one_regressor(diabetes):
    X, y = diabetes
    pair = [("a", SVR(gamma=0.05, C=10)), ("b", SVR(gamma=0.05, C=1)), ("c", "drop")]
    vote = VotingRegressor(pair, weights=[1, 3, 9]).fit(X, y)
    bag = BaggingRegressor(SVR(gamma=0.05, C=10), 4, random_state=0).fit(X, y)
    for whole in (vote, bag):
        whole_again = small(whole, vectors=10**6)
        assert whole_again.model.n_outputs == 1
        np.testing.assert_allclose(whole_again.estimator.predict(X), whole.predict(X), atol=1e-8)
        assert small(whole, X, vectors=60).estimator.score(X, whole.predict(X)) > 0.8  # with y it may well be better


def test_regressors_of_several_kernels_are_compressed_one_by_one(diabetes):
    X, y = diabetes
    ridge = KernelRidge(kernel="rbf", gamma=0.01)
    vote = VotingRegressor([("svr", SVR(gamma=0.05, C=10)), ("ridge", ridge)]).fit(X, y)
    several = MultiOutputRegressor(make_pipeline(PCA(5), SVR(C=10))).fit(X, np.stack([y, y**2], axis=1))
    for whole, wanted in ((vote, y), (several, np.stack([y, y**2], axis=1))):
        result = small(whole, X, wanted, ratio=0.3)
        assert (type(result.estimator), len(result.members)) == (type(whole), 2)
        assert result.estimator.score(X, whole.predict(X)) > 0.9


def test_a_bag_of_classifiers(digits):
    X, X_test, y, _ = digits
    for options in ({}, {"max_features": 0.5}):
        whole = BaggingClassifier(SVC(C=10), 3, random_state=0, **options).fit(X, y)
        result = small(whole, X, y)
        assert len(result.members) == 3
        assert agreement(result.estimator, whole, X_test) > 0.95
        assert result.estimator.predict_proba(X_test).shape == whole.predict_proba(X_test).shape
        assert max(len(pickle.dumps(m.model)) for m in result.members) < 100_000
    table = pd.DataFrame(X, columns=[f"p{i}" for i in range(64)])
    named = BaggingClassifier(SVC(C=10), 2, max_features=0.5, random_state=0).fit(table, y)
    assert agreement(small(named, table, y).estimator, named, table) > 0.95


def test_a_vote_keeps_members_that_are_no_svms(digits):
    X, X_test, y, _ = digits
    members = [("svc", SVC(C=10)), ("tree", DecisionTreeClassifier()), ("pca", make_pipeline(PCA(9), SVC(C=10)))]
    whole = VotingClassifier(members).fit(X, y)
    result = small(whole, X, y)
    assert result.names == ("svc", "pca")
    assert "tree is no SVM and stays as it is" in result.notes
    assert result.estimator.named_estimators_["tree"] is whole.named_estimators_["tree"]
    assert agreement(result.estimator, whole, X_test) > 0.95


def test_a_soft_vote_of_calibrated_svms(digits):
    X, X_test, y, _ = digits
    calibrated = CalibratedClassifierCV(SVC(C=10, gamma=0.001), ensemble=False, cv=2)
    whole = VotingClassifier(
        [("svm", calibrated), ("line", make_pipeline(StandardScaler(), LogisticRegression()))], voting="soft"
    ).fit(X, y)
    result = small(whole, X, y, ratio=0.2)
    assert result.model.n_vectors < result.source.n_vectors  # one SVM: one model
    assert agreement(result.estimator, whole, X_test) > 0.95
    assert np.abs(result.estimator.predict_proba(X_test) - whole.predict_proba(X_test)).mean() < 0.02


def test_classifiers_of_several_outputs(digits):
    X, X_test, y, _ = digits
    Y = np.stack([y, np.where(y < "f", "low", "high")], axis=1)
    whole = MultiOutputClassifier(SVC(C=10)).fit(X, Y)
    result = small(whole, X, Y)
    assert agreement(result.estimator, whole, X_test) > 0.95
    assert list(result.names) == ["output 1", "output 2"]
    with pytest.raises(InputError, match="must be a table"):
        small(whole, X, y)


def test_a_budget_of_bytes_is_that_of_the_whole(digits):
    X, _, y, _ = digits
    whole = BaggingClassifier(SVC(C=10), 3, random_state=0).fit(X, y)
    result = small(whole, X, y, max_bytes=90_000)
    assert 60_000 < sum(svmpress.model.expansion_bytes(m.model.expansion) for m in result.members) <= 90_000


def test_several_models_are_not_one(digits):
    X, _, y, _ = digits
    result = small(BaggingClassifier(SVC(C=10), 2, random_state=0).fit(X, y), X, y)
    with pytest.raises(AttributeError, match="2 SVMs were compressed one by one, so there is no one model"):
        result.model  # noqa: B018
    assert result.summary().count("vectors   ") == 2
    assert result.timings["total"] > 0


def test_warnings_are_given_once_with_the_name_of_the_member(digits):
    X, _, y, _ = digits
    whole = BaggingClassifier(SVC(C=10), 2, random_state=0).fit(X, y)
    with pytest.warns(svmpress.SvmpressWarning, match=r"^member \d: ") as caught:
        small(whole, X, y, vectors=6)
    assert len({str(w.message) for w in caught}) == len(caught)


def test_any_model_is_an_estimator(digits, tmp_path):
    X, X_test, y, y_test = digits
    svmpress.save(svmpress.from_estimator(SVC().fit(X, y)), tmp_path / "a.svmpress")
    ours = fitted_estimator(svmpress.load(tmp_path / "a.svmpress"))
    assert ours.score(X_test, y_test) > 0.97


def test_scikit_learn_intelex(digits):
    svm = pytest.importorskip("sklearnex.svm", reason="scikit-learn-intelex is large, and for x86 processors alone")
    X, X_test, y, _ = digits
    for whole in (svm.SVC(C=10), svm.NuSVC(nu=0.1), make_pipeline(PCA(20), svm.SVC(C=10))):
        result = small(whole.fit(X, y), X, y)
        assert agreement(result.estimator, whole, X_test) > 0.95
    svr = svm.SVR(C=100).fit(X, X[:, 20])
    np.testing.assert_allclose(svmpress.from_estimator(svr).predict(X_test), svr.predict(X_test), atol=1e-9)
