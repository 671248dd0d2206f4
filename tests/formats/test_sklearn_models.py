"""scikit-learn in and out: the same answers as the estimators', and fitted estimators with our answers."""

from __future__ import annotations

import copy
import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

import svmpress
from svmpress.decoders import Argmax, Identity, PairDAG, PairVote, Sign, pair_mask
from svmpress.errors import FormatError, InputError
from svmpress.formats import as_model, from_estimator, obstacles, save, to_estimator
from svmpress.kernels import RBF, ChiSquared, Laplacian, Polynomial
from svmpress.model import KernelExpansion, KernelModel, Scaling

KERNELS = ["rbf", "poly", "linear", "sigmoid"]
RNG = np.random.default_rng(0)


def blobs(n_classes: int, n: int = 90, d: int = 5, spread: float = 3.0):
    X, y = make_blobs(n, n_features=d, centers=n_classes, cluster_std=spread, random_state=n_classes)
    return X / 10, y


def digits(n: int = 400):
    X, y = load_digits(return_X_y=True)
    return X[:n] / 16, y[:n]


def sparsened(X):
    return sparse.csr_array(np.where(np.abs(X) < 0.3, 0.0, X))


def summed(model, X):
    """The largest sum of absolute terms of a decision value: what rounding is relative to, where terms cancel."""
    f = model.expansion
    X = X if model.scaling is None else model.scaling(X)
    K = np.abs(np.asarray(f.kernel.gram(X, f.vectors)))
    return float((K @ np.abs(np.asarray(f.coef)) + np.abs(np.asarray(f.intercept))).max()) + 1e-300


def assert_same_answers(model, estimator, X):
    """The answers of both on X, exactly for labels and to rounding for numbers."""
    values = [("predict", model.predict(X), estimator.predict(X))]
    if hasattr(estimator, "decision_function"):
        values.append(("decision_function", model.decision_function(X), estimator.decision_function(X)))
    for name, ours, theirs in values:
        assert ours.shape == theirs.shape, name
        if ours.dtype.kind == "f":
            scale = summed(model, X)
            np.testing.assert_allclose(ours / scale, theirs / scale, rtol=0, atol=1e-11, err_msg=name)
        else:
            np.testing.assert_array_equal(ours, theirs, err_msg=name)


def assert_both_ways(estimator, X, *, kind=None):
    """Convert there and back: all three answer alike, and the estimator is as it was."""
    estimator.predict(X)  # SciPy notes on a matrix what it found out about it
    before = pickle.dumps(estimator)
    model = from_estimator(estimator)
    back = to_estimator(model)
    assert pickle.dumps(estimator) == before, "the estimator was changed"
    assert kind is None or type(back) is kind
    assert_same_answers(model, estimator, X)
    assert_same_answers(model, back, X)
    assert_same_answers(model, pickle.loads(pickle.dumps(back)), X)
    assert_same_answers(from_estimator(back), back, X)
    return model


# ---------------------------------------------------------------------------------------------------------
# Classifiers
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", [SVC, NuSVC])
def test_classifiers_of_every_kernel_and_number_of_classes(kind, kernel, n_classes):
    X, y = blobs(n_classes)
    options = {"nu": 0.2} if kind is NuSVC else {}
    svc = kind(kernel=kernel, coef0=0.5, degree=2, **options).fit(X, y)
    model = assert_both_ways(svc, X, kind=kind)
    assert model.task == "classification"
    assert (model.expansion.coef_mask is None) == (n_classes == 2)


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("rows", ["dense", "csr_array", "csr_matrix"])
def test_sparse_and_dense_rows_and_both_shapes_of_the_decision_function(rows, n_classes, shape):
    X, y = blobs(n_classes)
    X = sparsened(X)
    X = X.toarray() if rows == "dense" else getattr(sparse, rows)(X)
    svc = SVC(decision_function_shape=shape).fit(X, y)
    model = assert_both_ways(svc, X)
    assert sparse.issparse(model.expansion.vectors) == (rows != "dense")


def test_breaking_ties_changes_answers_and_is_kept():
    X, y = blobs(5, n=60, spread=9.0)
    T = np.random.default_rng(1).normal(size=(4000, 5))
    plain = SVC(gamma=0.3).fit(X, y)
    broken = SVC(gamma=0.3, break_ties=True).fit(X, y)
    assert (plain.predict(T) != broken.predict(T)).any(), "the data must have ties for this test to mean anything"
    assert_both_ways(plain, T)
    assert_both_ways(broken, T)


def test_ties_cannot_be_broken_without_scores():
    svc = SVC(break_ties=True, decision_function_shape="ovo").fit(*blobs(3))
    with pytest.raises(InputError, match="break_ties must be False"):
        from_estimator(svc)


@pytest.mark.parametrize("names", [["no", "yes"], ["a", "bb", "ccc"]])
@pytest.mark.parametrize("dtype", [str, object])
def test_labels_may_be_text(names, dtype):
    X, y = blobs(len(names))
    svc = SVC().fit(X, np.array(names, dtype=dtype)[y])
    model = assert_both_ways(svc, X)
    assert set(model.predict(X)) <= set(names)


@pytest.mark.parametrize("n_classes", [2, 10])
def test_digits(n_classes):
    X, y = digits()
    X, y = X[y < n_classes], y[y < n_classes]
    assert_both_ways(SVC(C=10, gamma=0.1).fit(X[::2], y[::2]), X)


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_probabilities_of_libsvm_are_kept(n_classes, is_sparse):
    X, y = blobs(n_classes, n=120)
    X = sparse.csr_array(X) if is_sparse else X
    svc = SVC(probability=True, random_state=0).fit(X, y)
    model = from_estimator(svc)
    assert sorted(model.probability) == ["probA", "probB"]
    np.testing.assert_allclose(to_estimator(model).predict_proba(X), svc.predict_proba(X), rtol=1e-12)


# ---------------------------------------------------------------------------------------------------------
# Regressors and outlier detectors
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", [SVR, NuSVR, OneClassSVM])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_svr_and_one_class(kind, kernel, is_sparse):
    X, _ = blobs(3)
    X = sparsened(X) if is_sparse else X
    y = np.asarray(X.sum(axis=1)).ravel()
    estimator = kind(kernel=kernel, coef0=0.5).fit(X, y)
    model = assert_both_ways(estimator, X, kind=kind)
    assert model.task == ("outlier" if kind is OneClassSVM else "regression")
    assert set(model.predict(X)) == {-1, 1} or kind is not OneClassSVM


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_regressor_without_support_vectors_is_a_constant(is_sparse):
    X, _ = blobs(3)
    X = sparse.csr_array(X) if is_sparse else X
    svr = SVR(epsilon=1e3).fit(X, np.arange(90.0))
    assert svr.support_vectors_.shape[0] == 0
    model = assert_both_ways(svr, X)
    assert model.n_vectors == 0
    np.testing.assert_array_equal(model.predict(X), svr.intercept_[0])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_classifier_without_vectors_always_says_the_same(n_classes, is_sparse):
    decoder = Sign(np.arange(2)) if n_classes == 2 else PairVote(np.arange(3))
    M = 1 if n_classes == 2 else 3
    f = KernelExpansion(RBF(), np.zeros((0, 4)), np.zeros((0, M)), np.array([0.5, -1.0, 2.0])[:M])
    X = np.zeros((3, 4))
    model = KernelModel(f, decoder)
    assert_same_answers(model, to_estimator(model, sparse=is_sparse), X)
    assert_both_ways(to_estimator(model, sparse=is_sparse), X)


@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("gamma", [None, 0.05])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "polynomial", "linear", "sigmoid", "laplacian"])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_kernel_ridge(kernel, gamma, n_targets, is_sparse):
    X, _ = blobs(3, n=40)
    Y = np.random.default_rng(0).normal(size=(40, n_targets))
    X = sparsened(X) if is_sparse else X
    ridge = KernelRidge(kernel=kernel, gamma=gamma, degree=2, coef0=0.5).fit(X, Y[:, 0] if n_targets == 1 else Y)
    assert_both_ways(ridge, X)


def test_kernel_ridge_with_chi_squared_kernel_and_a_fractional_degree():
    X, y = digits(60)
    assert_both_ways(KernelRidge(kernel="chi2", gamma=0.3).fit(X, y), X, kind=KernelRidge)
    assert_both_ways(KernelRidge(kernel="poly", degree=1.5, gamma=0.1).fit(X, y), X, kind=KernelRidge)
    assert_both_ways(KernelRidge(kernel="poly", degree=2, gamma=0.1).fit(X, y), X, kind=SVR)
    ridge = KernelRidge(kernel="rbf", gamma=0.1).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(from_estimator(ridge).predict(X), ridge.predict(X), rtol=1e-4)


# ---------------------------------------------------------------------------------------------------------
# Machines that were trained apart
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("inner", [SVC(gamma=0.5), NuSVC(gamma=0.5, nu=0.05)], ids=["SVC", "NuSVC"])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_one_vs_rest(inner, n_classes, is_sparse):
    X, y = blobs(n_classes)
    X = sparsened(X) if is_sparse else X
    estimator = OneVsRestClassifier(inner).fit(X, y)
    model = assert_both_ways(estimator, X, kind=SVC if n_classes == 2 else OneVsRestClassifier)
    assert isinstance(model.decoder, Sign if n_classes == 2 else Argmax)
    assert model.n_vectors <= X.shape[0], "rows that machines share are stored once"


@pytest.mark.parametrize("n_classes", [3, 10])
@pytest.mark.parametrize("inner", [SVC(gamma=0.5), NuSVC(gamma=0.5, nu=0.05)], ids=["SVC", "NuSVC"])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_one_vs_one(inner, n_classes, is_sparse):
    X, y = blobs(n_classes)
    X = sparsened(X) if is_sparse else X
    estimator = OneVsOneClassifier(inner).fit(X, np.array(list("abcdefghij"))[y])
    model = assert_both_ways(estimator, X, kind=SVC)
    assert model.n_vectors <= X.shape[0]
    assert model.expansion.coef_mask is not None, "rows of one class serve its pairs only"
    assert to_estimator(model).support_vectors_.shape[0] == model.n_vectors, "and need no copies"


def test_one_vs_one_of_two_classes():
    X, y = blobs(2)
    estimator = OneVsOneClassifier(SVC(gamma=0.5)).fit(X, y)
    model = from_estimator(estimator)
    assert_same_answers(model, estimator, X)
    svc = to_estimator(model)
    np.testing.assert_array_equal(svc.predict(X), estimator.predict(X))
    np.testing.assert_allclose(svc.decision_function(X), estimator.estimators_[0].decision_function(X), rtol=1e-9)


def test_a_row_in_two_classes_is_still_one_vector():
    X, y = blobs(3, n=30)
    X, y = np.vstack([X, X[:1], X[:1]]), np.append(y, [(y[0] + 1) % 3, (y[0] + 2) % 3])
    estimator = OneVsOneClassifier(SVC(gamma=0.5, C=100)).fit(X, y)
    model = from_estimator(estimator)
    assert_same_answers(model, estimator, X)
    assert model.expansion.coef_mask is None
    assert np.unique(model.expansion.vectors, axis=0).shape[0] == model.n_vectors


@pytest.mark.parametrize("meta", [OneVsOneClassifier, OneVsRestClassifier])
def test_machines_with_different_widths_are_refused_with_the_way_out(meta):
    X, y = blobs(3)
    estimator = meta(SVC(gamma="scale")).fit(X, y)
    if meta is OneVsRestClassifier:  # every machine has seen all rows
        assert_both_ways(estimator, X)
        return
    with pytest.raises(InputError, match="Set gamma to a number"):
        from_estimator(estimator)


# ---------------------------------------------------------------------------------------------------------
# Pipelines
# ---------------------------------------------------------------------------------------------------------


SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    StandardScaler(with_mean=False, with_std=False),
    MinMaxScaler(),
    MinMaxScaler(feature_range=(-1, 1)),
    MaxAbsScaler(),
]
LAST = [SVC(), NuSVC(nu=0.1), OneClassSVM(), SVR(), KernelRidge(kernel="rbf"), OneVsRestClassifier(SVC(gamma=0.3))]


@pytest.mark.parametrize("last", LAST, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_a_scaler_is_kept_with_the_model(scaler, last):
    X, y = blobs(3)
    X = X * np.array([1.0, 10, 100, 0.1, 3]) + np.array([0, 50, -7, 0.3, 0])
    pipeline = make_pipeline(scaler, last).fit(X, y)
    model = assert_both_ways(pipeline, X, kind=Pipeline)
    assert model.scaling is not None


@pytest.mark.parametrize("scaler", [StandardScaler(with_mean=False), MaxAbsScaler()], ids=repr)
def test_a_scaler_that_shifts_nothing_works_on_sparse_rows(scaler):
    X, y = blobs(3)
    X = sparsened(X)
    assert_both_ways(make_pipeline(scaler, SVC()).fit(X, y), X)


def test_several_scalers_steps_that_pass_through_and_pipelines_in_pipelines():
    X, y = blobs(3)
    X[:, 2] = 5.0  # a constant feature
    steps = [("a", StandardScaler()), ("b", "passthrough"), ("c", MinMaxScaler((-2, 3))), ("d", None)]
    steps += [("e", Pipeline([("f", MaxAbsScaler()), ("g", SVC())]))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn deprecates None as a step
        pipeline = Pipeline(steps).fit(X, y)
        assert_both_ways(pipeline, X)
    assert_both_ways(Pipeline([("only", SVC())]).fit(X, y), X, kind=SVC)


@pytest.mark.parametrize("step", [PCA(2), RobustScaler()], ids=lambda e: type(e).__name__)
def test_other_transformers_are_refused_with_the_way_out(step):
    X, y = blobs(3)
    pipeline = make_pipeline(StandardScaler(), step, SVC()).fit(X, y)
    with pytest.raises(InputError, match=f"{type(step).__name__}.*compress its last step alone, on the transformed"):
        from_estimator(pipeline)
    assert_both_ways(pipeline[-1], pipeline[:-1].transform(X))


def test_a_clipping_scaler_is_refused():
    pipeline = make_pipeline(MinMaxScaler(clip=True), SVC()).fit(*blobs(3))
    with pytest.raises(InputError, match="clip=False"):
        from_estimator(pipeline)


# ---------------------------------------------------------------------------------------------------------
# What cannot be converted
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (SVC(), "the SVC is not fitted"),
        (make_pipeline(StandardScaler(), SVC()), "the Pipeline is not fitted"),
        (OneVsRestClassifier(SVC()), "the OneVsRestClassifier is not fitted"),
        (KernelRidge(), "the KernelRidge is not fitted"),
        (SVC, "SVC is a class: pass a fitted estimator"),
        (Ridge().fit([[0.0], [1.0]], [0, 1]), "Ridge cannot be converted; svmpress takes SVC, NuSVC"),
        (None, "NoneType cannot be converted"),
        (SVC(kernel="precomputed").fit(np.eye(4), [0, 0, 1, 1]), "SVC has kernel='precomputed'"),
        (SVC(kernel=rbf_kernel).fit(np.eye(4), [0, 0, 1, 1]), "SVC has a kernel that is a function"),
        (KernelRidge(kernel="cosine").fit(np.eye(4), [0, 0, 1, 1]), "KernelRidge has kernel='cosine'"),
        (KernelRidge(kernel=lambda a, b: a @ b).fit(np.eye(4), [0, 0, 1, 1]), "a kernel that is a function"),
        (OneVsRestClassifier(SVC()).fit(np.eye(4), np.eye(4, dtype=int)), "multilabel"),
        (OneVsRestClassifier(SVR()).fit(np.eye(4), [0, 1, 2, 0]), "holds a SVR"),
        (
            OneVsOneClassifier(make_pipeline(StandardScaler(), SVC())).fit(np.eye(4), [0, 1, 2, 0]),
            "holds a Pipeline",
        ),
        (GridSearchCV(SVC(), {"C": [1]}, cv=2).fit(np.eye(8), [0, 1] * 4), "pass its best_estimator_"),
        (Pipeline([("a", StandardScaler()), ("b", "passthrough")]).fit(np.eye(4)), "does not end in an estimator"),
    ],
    ids=lambda p: p if isinstance(p, str) else "",
)
def test_what_cannot_be_converted_is_named(estimator, words):
    with pytest.raises(InputError, match=words):
        from_estimator(estimator)


@pytest.mark.filterwarnings("ignore:Label .* is present in all training examples")
def test_one_class_only_is_refused():
    estimator = OneVsRestClassifier(SVC()).fit(np.eye(4), [1, 1, 1, 1])
    with pytest.raises(InputError, match="fitted on rows of one class only"):
        from_estimator(estimator)


def expansion(kernel, M=1, m=6, d=3, intercept=0.5):
    rng = np.random.default_rng(0)
    return KernelExpansion(kernel, rng.random((m, d)), rng.normal(size=(m, M)), np.full(M, intercept))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (KernelModel(expansion(RBF(), 3), PairDAG(np.arange(3))), "by votes, not by a DAG"),
        (KernelModel(expansion(Laplacian()), Sign(np.arange(2))), "no kernel Laplacian"),
        (KernelModel(expansion(ChiSquared()), Sign(np.array([-1, 1])), "outlier"), "no kernel ChiSquared"),
        (KernelModel(expansion(Polynomial(degree=2.5)), Sign(np.arange(2))), "no kernel Polynomial"),
        (KernelModel(expansion(Laplacian()), Identity(), "regression"), "and an intercept"),
        (KernelModel(expansion(RBF(), 2), Identity(), "regression"), "and an intercept"),
    ],
    ids=lambda p: p if isinstance(p, str) else "",
)
def test_what_scikit_learn_cannot_do_is_said_beforehand(model, words):
    assert words in "; ".join(obstacles(model, "sklearn"))
    with pytest.raises(FormatError, match=words):
        to_estimator(model)


# ---------------------------------------------------------------------------------------------------------
# Models that no estimator was before
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
@pytest.mark.parametrize("K", [3, 5])
def test_shared_machines_become_an_svc_with_copies(K, shape):
    X = np.random.default_rng(1).random((200, 3))
    model = KernelModel(expansion(RBF(2.0), K * (K - 1) // 2), PairVote(np.arange(K), shape))
    svc = to_estimator(model)
    assert svc.support_vectors_.shape[0] == (K - 1) * 6
    assert_same_answers(model, svc, X)
    masked = np.where(pair_mask(np.arange(6) % K, K), model.expansion.coef, 0)
    fits = KernelModel(KernelExpansion(RBF(2.0), model.expansion.vectors, masked, model.expansion.intercept),
                       PairVote(np.arange(K), shape))  # fmt: skip
    assert to_estimator(fits).support_vectors_.shape[0] == 6
    assert_same_answers(fits, to_estimator(fits), X)


def test_an_unsorted_order_of_classes_is_kept():
    X = np.random.default_rng(1).random((50, 3))
    for model in (
        KernelModel(expansion(RBF(2.0)), Sign(np.array([1, -1]))),
        KernelModel(expansion(RBF(2.0), 3), PairVote(np.array([3, 1, 2]))),
    ):
        assert_same_answers(model, to_estimator(model), X)
    one_a_class = KernelModel(expansion(RBF(2.0), 3), Argmax(np.array([3, 1, 2])))
    assert_same_answers(one_a_class, to_estimator(one_a_class, multiclass="ovr"), X)


def test_one_value_a_class_becomes_an_svc_of_pairs():
    X = np.random.default_rng(1).random((500, 3))
    for K in (2, 3, 6):
        model = KernelModel(expansion(RBF(2.0), K), Argmax(np.arange(K)[::-1]))
        svc = to_estimator(model)
        assert isinstance(svc, SVC)
        np.testing.assert_array_equal(svc.predict(X), model.predict(X))
        assert svc.support_vectors_.shape[0] <= (K - 1) * 6
        assert isinstance(to_estimator(model, multiclass="ovr"), OneVsRestClassifier)
    with pytest.raises(InputError, match="multiclass must be 'ovo' or 'ovr', not 'all'"):
        to_estimator(model, multiclass="all")


def test_an_svc_that_would_be_much_larger_is_not_made_unasked():
    model = KernelModel(expansion(RBF(2.0), 40), Argmax(np.arange(40)))
    with pytest.warns(svmpress.SvmpressWarning, match='multiclass="ovo" makes the SVC'):
        assert isinstance(to_estimator(model), OneVsRestClassifier)
    X = np.random.default_rng(1).random((500, 3))
    np.testing.assert_array_equal(to_estimator(model, multiclass="ovo").predict(X), model.predict(X))


@pytest.mark.parametrize("scaled", [False, True])
def test_names_of_features_go_both_ways(scaled, tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    svc = SVC(gamma=0.3)
    estimator = (make_pipeline(StandardScaler(), svc) if scaled else svc).fit(X, y)
    model = from_estimator(estimator)
    assert model.feature_names == tuple(X.columns)
    again = to_estimator(model)
    assert again.feature_names_in_.tolist() == list(X.columns)
    np.testing.assert_array_equal(again.predict(X), estimator.predict(X))
    save(model, tmp_path / "a.svmpress")
    assert as_model(tmp_path / "a.svmpress").feature_names == model.feature_names
    small = svmpress.compress(estimator, X, y, vectors=9).model
    assert small.feature_names == model.feature_names


def test_a_feature_that_the_scaling_drops_stays_dropped():
    X = np.random.default_rng(1).random((50, 3))
    model = KernelModel(
        expansion(RBF(2.0)), Sign(np.array([0, 1])), scaling=Scaling(np.array([0.5, 2, 1]), np.array([2.0, 0, 1]))
    )
    assert_same_answers(model, to_estimator(model), X)


@pytest.mark.parametrize("M", [1, 3])
def test_sparse_rows_on_demand(M):
    X = sparsened(np.random.default_rng(1).random((50, 3)))
    decoder = Sign(np.arange(2)) if M == 1 else PairVote(np.arange(3))
    model = KernelModel(expansion(RBF(2.0), M), decoder)
    with pytest.raises(ValueError, match="sparse"):
        to_estimator(model).predict(X)
    estimator = to_estimator(model, sparse=True)
    assert_same_answers(model, estimator, X)
    assert_same_answers(model, estimator, X.toarray())


@pytest.mark.parametrize("kernel", [RBF(0.7), Polynomial(0.5, 1.0, 2)], ids=repr)
def test_clones_and_deep_copies(kernel):
    model = KernelModel(expansion(kernel, 3), PairVote(np.arange(3), "ovo"))
    svc = to_estimator(model)
    unfitted = clone(svc)
    assert unfitted.get_params() == svc.get_params()
    assert not hasattr(unfitted, "support_vectors_")
    X, y = blobs(3, d=3)
    unfitted.fit(X, y)
    assert from_estimator(unfitted).kernel == kernel
    assert_same_answers(model, copy.deepcopy(svc), X)


def test_as_model_takes_anything(tmp_path):
    svc = SVC().fit(*blobs(3))
    model = as_model(svc)
    assert as_model(model) is model
    assert as_model(SimpleNamespace(model=model)) is model, "the result of compress()"
    assert as_model(SimpleNamespace(model_=model)) is model, "a meta-estimator"
    save(svc, tmp_path / "a.model")
    assert as_model(tmp_path / "a.model").n_vectors == model.n_vectors
    with pytest.raises(InputError, match="cannot read"):
        as_model(str(tmp_path / "none.model"))


def test_whatever_holds_a_model_can_be_converted():
    X, y = load_iris(return_X_y=True)
    svc = SVC(C=10, gamma=0.5).fit(X, y)
    result = svmpress.compress(svc, X, y, vectors=9)
    wrapped = svmpress.CompressedClassifier(svc, vectors=9).fit(X, y)
    for held, model in ((result, result.model), (wrapped, wrapped), (svc, svc)):
        np.testing.assert_array_equal(to_estimator(held).predict(X), model.predict(X))
