"""The invariants of the one model: what it refuses, what it computes, and the memory that takes."""

from __future__ import annotations

import pickle
import tracemalloc
from dataclasses import FrozenInstanceError, replace

import array_api_compat
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC, SVR

from svmpress.decoders import Argmax, Identity, PairDAG, PairVote, Sign
from svmpress.errors import InputError
from svmpress.kernels import KERNELS, RBF, Linear, kernel_by_name
from svmpress.model import KernelExpansion, KernelModel, Scaling
from svmpress.numerics import to_numpy

MIB = 2**20


def expansion(m=6, d=5, M=1, *, kernel=None, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    return KernelExpansion(
        kernel or RBF(0.3),
        rng.uniform(size=(m, d)).astype(dtype),
        rng.normal(size=(m, M)).astype(dtype),
        rng.normal(size=M).astype(dtype),
    )


def model(M=1, decoder=None, **kwargs):
    task = "regression" if decoder is None else "classification"
    return KernelModel(expansion(M=M, **kwargs), decoder or Identity(), task)


# ---------------------------------------------------------------------------------------------------------
# Values
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_decision_values_equal_the_sum_that_defines_them(name, backend, sparse_rows, assert_close):
    """f(x) = Σ_j k(x, v_j) A_j + b on every array library, for dense rows and for CSR."""
    f = expansion(M=3, kernel=kernel_by_name(name, gamma=0.2, coef0=0.1, degree=2))
    full = sparse_rows.toarray()
    expected = [
        sum(f.kernel.gram(x[None], v[None])[0, 0] * a for v, a in zip(f.vectors, f.coef, strict=True)) + f.intercept
        for x in full
    ]
    got = f.decision_values(backend.asarray(full))
    assert array_api_compat.array_namespace(got) is array_api_compat.array_namespace(backend.asarray(full))
    assert_close(got, expected)
    assert_close(f.decision_values(sparse_rows), expected)


@pytest.mark.parametrize("rows_dtype", ["float32", "float64"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", [RBF(0.3), Linear()])
def test_values_come_in_the_precision_of_the_model(backend, kernel, dtype, rows_dtype, sparse_rows, assert_close):
    full = sparse_rows.toarray()
    got = expansion(kernel=kernel, dtype=dtype).decision_values(backend.asarray(full, rows_dtype))
    assert to_numpy(got).dtype == dtype
    assert_close(got, expansion(kernel=kernel).decision_values(full), dtype="float32")


def test_sparse_vectors_predict_like_dense_ones(backend, sparse_rows, rng, assert_close):
    f = expansion(m=12)
    f = replace(f, vectors=sparse_rows)
    X = rng.uniform(size=(7, 5))
    expected = replace(f, vectors=sparse_rows.toarray()).decision_values(X)
    assert_close(f.decision_values(backend.asarray(X)), expected)
    assert_close(f.decision_values(sparse.csr_array(X)), expected)


def test_more_vectors_than_a_block_holds(rng, assert_close):
    f = expansion(m=4096 * 2 + 3, d=2, M=2)
    X = rng.uniform(size=(5, 2))
    assert_close(f.decision_values(X), f.kernel.gram(X, f.vectors) @ f.coef + f.intercept)


def test_blocks_of_rows_change_nothing_but_rounding(rng, assert_close):
    m = replace(model(M=3), scaling=Scaling(rng.normal(size=5), rng.uniform(1, 2, size=5)))
    X = rng.uniform(size=(101, 5))
    assert_close(m.decision_values(X, max_bytes=1), m.decision_values(X))
    assert_close(m.decision_values(X, max_bytes=2000), m.decision_values(X))


def test_no_rows_give_no_answers(sparse_rows):
    m = model(decoder=Sign(np.array(["a", "b"])))
    for X in (np.zeros((0, 5)), sparse_rows[:0]):
        assert m.decision_values(X).shape == (0, 1)
        assert m.predict(X).shape == m.decision_function(X).shape == (0,)


def test_no_vectors_leave_the_intercept():
    f = KernelExpansion(RBF(), np.zeros((0, 5)), np.zeros((0, 2)), np.array([1.0, -2.0]))
    np.testing.assert_array_equal(f.decision_values(np.ones((3, 5))), [[1, -2]] * 3)
    assert f.multiply_adds == 0


def test_the_cost_of_a_prediction_counts_distances_and_sums():
    f = expansion(m=6, d=5, M=3)
    assert f.multiply_adds == 6 * (5 + 3)
    mask = np.zeros((6, 3), dtype=bool)
    mask[:, 0] = True
    assert replace(f, coef=f.coef * mask, coef_mask=mask).multiply_adds == 6 * (5 + 1)


# ---------------------------------------------------------------------------------------------------------
# The same answers as scikit-learn
# ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(200, n_features=4, centers=2, cluster_std=6.0, random_state=3)
    return X, np.array(["no", "yes"])[y]


def test_a_binary_svc_is_an_expansion_read_by_its_sign(blobs, assert_close):
    X, y = blobs
    svc = SVC(gamma=0.05).fit(X, y)
    f = KernelExpansion(RBF(0.05), svc.support_vectors_, svc.dual_coef_.T, svc.intercept_)
    ours = KernelModel(f, Sign(svc.classes_))
    assert_close(ours.decision_function(X), svc.decision_function(X))
    np.testing.assert_array_equal(ours.predict(X), svc.predict(X))
    np.testing.assert_array_equal(ours.classes_, svc.classes_)


def test_an_svr_is_an_expansion(blobs, assert_close):
    X, _ = blobs
    svr = SVR(gamma=0.05).fit(X, X[:, 0])
    f = KernelExpansion(RBF(0.05), svr.support_vectors_, svr.dual_coef_.T, svr.intercept_)
    ours = KernelModel(f, Identity(), "regression")
    assert_close(ours.predict(X), svr.predict(X))
    assert ours.classes_ is None


@pytest.mark.parametrize("scaler", [StandardScaler(), MaxAbsScaler()], ids=["standard", "max-abs"])
def test_a_scaling_does_what_the_scaler_of_a_pipeline_does(scaler, blobs, assert_close):
    X, y = blobs
    pipeline = make_pipeline(scaler, SVC(gamma=0.5)).fit(X, y)
    svc = pipeline[-1]
    f = KernelExpansion(RBF(0.5), svc.support_vectors_, svc.dual_coef_.T, svc.intercept_)
    scaling = Scaling(getattr(pipeline[0], "mean_", None), 1 / pipeline[0].scale_)
    ours = KernelModel(f, Sign(svc.classes_), scaling=scaling)
    assert_close(ours.decision_function(X), pipeline.decision_function(X))
    if scaling.shift is None:
        assert_close(ours.decision_function(sparse.csr_matrix(X)), pipeline.decision_function(X))
    else:
        with pytest.raises(InputError, match="cannot be shifted"):
            ours.predict(sparse.csr_matrix(X))


# ---------------------------------------------------------------------------------------------------------
# Memory
# ---------------------------------------------------------------------------------------------------------


def peak_bytes(call):
    """Return the most memory that was allocated at any time of the call, the result included."""
    tracemalloc.start()
    try:
        result = call()
        return tracemalloc.get_traced_memory()[1] - result.nbytes
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("n", "m", "d", "M"),
    [(3000, 5000, 4, 1), (60_000, 10, 20, 1), (20_000, 10, 4, 45)],
    ids=["many vectors", "many rows", "many outputs"],
)
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_prediction_stays_under_its_memory_cap(n, m, d, M, form, rng):
    """What would be needed without blocks is several times the cap in each of these."""
    cap = 2 * MIB
    assert 8 * n * max(m, d, M) > 3 * cap
    f = KernelModel(expansion(m=m, d=d, M=M), Identity(), "regression", Scaling(None, np.ones(d)))
    X = rng.uniform(size=(n, d)) * (rng.uniform(size=(n, d)) < 0.3)
    X = sparse.csr_array(X) if form == "csr" else X
    assert peak_bytes(lambda: f.decision_values(X, max_bytes=cap)) < 1.25 * cap


# ---------------------------------------------------------------------------------------------------------
# Invariants
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"vectors": np.full((6, 5), np.nan)}, r"vectors holds NaN at row 0, column 0 \(and 29 more"),
        ({"vectors": np.zeros(5)}, "vectors must be two-dimensional"),
        ({"coef": np.zeros((5, 1))}, r"coef has shape \(5, 1\); 6 vectors need \(6, M\)"),
        ({"coef": np.zeros(6)}, r"coef has shape \(6,\)"),
        ({"coef": np.zeros((6, 0)), "intercept": np.zeros(0)}, "intercept has shape"),
        ({"intercept": np.zeros(2)}, r"intercept has shape \(2,\)"),
        ({"coef": np.full((6, 1), np.inf)}, "coef of a model must be finite"),
        ({"intercept": np.array([np.nan])}, "intercept of a model must be finite"),
        ({"coef": np.ones((6, 1), dtype=int)}, "coef of a model must be finite floating point"),
        ({"coef_mask": np.ones((6, 2), dtype=bool)}, "coef_mask has shape"),
        ({"coef_mask": np.zeros((6, 1), dtype=bool)}, "coef differs from zero where coef_mask forbids"),
    ],
)
def test_an_inconsistent_expansion_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        replace(expansion(), **change)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"decoder": Sign(np.array([0, 1]))}, "a regression model cannot have the decoder Sign"),
        ({"task": "classification"}, "a classification model cannot have the decoder Identity"),
        ({"decoder": Argmax(np.arange(3)), "task": "classification"}, "Argmax reads 3 outputs, the model has 1"),
        ({"scaling": Scaling(None, np.ones(4))}, "the scaling has 4 features, the model 5"),
    ],
)
def test_an_inconsistent_model_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        replace(model(), **change)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Scaling(np.zeros(2), np.ones(3)),
        lambda: Scaling(None, np.ones((2, 2))),
        lambda: Scaling(None, np.array([np.inf])),
        lambda: Scaling(np.array([np.nan]), np.ones(1)),
    ],
)
def test_an_inconsistent_scaling_is_refused(make):
    with pytest.raises(InputError, match="one finite number per feature"):
        make()


def test_rows_are_checked_before_they_are_used():
    with pytest.raises(InputError, match="X has 3 features, but the model has 5"):
        model().predict(np.zeros((2, 3)))
    bad = np.zeros((2, 5))
    bad[1, 4] = np.inf
    for X in (bad, sparse.csr_array(bad)):
        with pytest.raises(InputError, match="X holds an infinite value at row 1, column 4"):
            model().predict(X)


def test_models_are_read_only_and_leave_the_callers_arrays_writable():
    own = np.zeros((6, 5))
    f = replace(expansion(), vectors=own)
    for a in (f.vectors, f.coef, f.intercept):
        with pytest.raises(ValueError, match="read-only"):
            a[0] = 1
    own[0, 0] = 1
    m = KernelModel(f, Identity(), "regression", provenance={"source": "test"})
    with pytest.raises(FrozenInstanceError):
        m.task = "outlier"
    with pytest.raises(TypeError):
        m.provenance["source"] = "changed"


def test_widened_models_ignore_the_new_columns(rng, sparse_rows):
    m = model()
    X = rng.uniform(size=(4, 5))
    wider = m.widened(8)
    assert wider.n_features == 8
    np.testing.assert_array_equal(wider.predict(np.hstack([X, np.zeros((4, 3))])), m.predict(X))
    assert m.widened(5) is m
    with pytest.raises(InputError, match="cannot narrow"):
        m.widened(4)
    with pytest.raises(InputError, match="fixed number of features"):
        replace(m, scaling=Scaling(None, np.ones(5))).widened(6)
    of_sparse = replace(m, expansion=replace(expansion(m=12), vectors=sparse_rows)).widened(8)
    assert of_sparse.expansion.vectors.shape == (12, 8)


def test_another_decoder_reads_the_same_values(rng):
    m = model(M=6, decoder=PairVote(np.arange(4)))
    X = rng.normal(size=(50, 5))
    dag = m.with_decoder(PairDAG(np.arange(4)))
    np.testing.assert_array_equal(dag.predict(X), PairDAG(np.arange(4)).labels(m.decision_values(X)))


def test_a_model_survives_pickling(rng):
    m = KernelModel(
        expansion(),
        Sign(np.array(["a", "b"])),
        scaling=Scaling(np.ones(5), np.ones(5)),
        probability={"probA": np.array([1.0])},
        provenance={"source": "test"},
    )
    copy = pickle.loads(pickle.dumps(m))
    X = rng.normal(size=(20, 5))
    np.testing.assert_array_equal(copy.decision_values(X), m.decision_values(X))
    np.testing.assert_array_equal(copy.predict(X), m.predict(X))
    assert copy.provenance == m.provenance
    assert copy.probability["probA"] == [1.0]
