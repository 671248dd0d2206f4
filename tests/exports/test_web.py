"""Web models, run by node and by Chromium: they answer as the library does, row for row."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from browsers import needs_node, run_node
from svmpress.decoders import Argmax, Identity, PairDAG, PairVote, Sign
from svmpress.exports import export_web
from svmpress.formats import load
from svmpress.kernels import RBF, ChiSquared, Laplacian, Linear, Polynomial, Sigmoid
from svmpress.model import KernelExpansion, KernelModel, Scaling

ROWS = 10_000
ENGINES = ["wasm", "javascript"]
HERE = Path(__file__).parent
pytestmark = needs_node


@pytest.fixture
def ask(tmp_path):
    """Export a model, and return what node says of some rows."""

    def answers(model, X, engine="wasm", dtype="float32"):
        module = tmp_path / "model.mjs"
        export_web(model, module, dtype=dtype)
        np.ascontiguousarray(X, dtype="<f8").tofile(tmp_path / "rows")
        found = json.loads(run_node(HERE / "answers.mjs", module, tmp_path / "rows", engine))
        assert found["engine"] == (engine if dtype == "float32" else "javascript")
        return SimpleNamespace(**{k: v if k == "engine" or v is None else np.array(v) for k, v in found.items()})

    return answers


def model_of(kernel, decoder, M, rng, *, m=11, d=5, scaled=False, task="classification"):
    """Return a model of random numbers, which lie away from the origin."""
    V, A = rng.uniform(1, 3, size=(m, d)), rng.normal(size=(m, M))
    scaling = Scaling(rng.normal(size=d), rng.uniform(0.5, 2, size=d)) if scaled else None
    return KernelModel(KernelExpansion(kernel, V, A, rng.normal(size=M) / 5), decoder, task, scaling)


KERNELS = {
    "rbf": RBF(0.8),
    "laplacian": Laplacian(0.4),
    "chi2": ChiSquared(0.9),
    "sigmoid": Sigmoid(0.05, -0.7),
    "poly": Polynomial(0.1, 0.5, 3),
    "poly, a root": Polynomial(0.1, 0.5, 1.5),
    "linear": Linear(),
}
NAMES = np.array(["a", "b", "c", "d"])
DECODERS = {
    "sign": (Sign(np.array([3, 7])), 1),
    "sign, zero first": (Sign(np.array([-1, 1]), zero_class=0), 1),
    "argmax": (Argmax(NAMES), 4),
    "votes": (PairVote(NAMES), 6),
    "votes, ovo": (PairVote(np.arange(4), shape="ovo"), 6),
    "votes, ties": (PairVote(NAMES, break_ties=True), 6),
    "votes of two": (PairVote(np.array([False, True])), 1),
    "dag": (PairDAG(np.array([0.5, 1.5, 2.5, 3.5])), 6),
}


def assert_same_answers(model, X, found, assert_close, dtype="float32"):
    """Compare values to rounding; labels must follow from those values, and be the library's, rounding aside."""
    expected = model.decision_values(X)
    assert_close(found.values.reshape(expected.shape), expected, dtype=dtype, ulps=1 / 64)
    values = found.values.reshape(expected.shape)
    labels, scores = model.decoder.labels(values), model.decoder.scores(values)
    assert_close(found.scores, scores, dtype=np.float64)
    if model.task == "regression":
        return
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_array_equal(found.labels, model.predict(X))  # with these seeds, no margin is within rounding


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel(kernel, engine, ask, rng, assert_close):
    model = model_of(KERNELS[kernel], PairVote(NAMES), 6, rng)
    X = rng.uniform(0.5, 3.5, size=(ROWS, 5))
    assert_same_answers(model, X, ask(model, X, engine), assert_close)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("decoder", DECODERS)
def test_every_decoder_with_a_scaling(decoder, engine, ask, rng, assert_close):
    kind, M = DECODERS[decoder]
    model = model_of(RBF(0.5), kind, M, rng, scaled=True)
    X = rng.uniform(0, 4, size=(ROWS, 5))
    assert_same_answers(model, X, ask(model, X, engine), assert_close)


@pytest.mark.parametrize("decoder", DECODERS)
def test_exact_ties(decoder, ask, rng):
    """Small integers make every sum exact, so that zeros and equal votes are the library's."""
    kind, M = DECODERS[decoder]
    V, A = rng.integers(-2, 3, size=(6, 3)) * 1.0, rng.integers(-1, 2, size=(6, M)) * 1.0
    model = KernelModel(KernelExpansion(Linear(), V, A, np.zeros(M)), kind)
    X = rng.integers(-2, 3, size=(ROWS, 3)) * 1.0
    F = model.decision_values(X)
    assert np.mean((F == 0).any(axis=1)) > 0.1
    for engine in ENGINES:
        found = ask(model, X, engine)
        np.testing.assert_array_equal(found.values, F)
        np.testing.assert_array_equal(found.labels, model.predict(X))
        np.testing.assert_allclose(found.scores, model.decision_function(X), rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("M", [1, 3])
def test_regression(M, engine, ask, rng, assert_close):
    model = model_of(RBF(0.5), Identity(), M, rng, task="regression")
    X = rng.uniform(0, 4, size=(500, 5))
    found = ask(model, X, engine)
    assert_same_answers(model, X, found, assert_close)
    np.testing.assert_array_equal(found.labels, found.scores)


def test_outliers(ask, rng, assert_close):
    model = model_of(RBF(0.5), Sign(np.array([-1, 1]), zero_class=0), 1, rng, task="outlier")
    X = rng.uniform(0, 4, size=(ROWS, 5))
    assert_same_answers(model, X, ask(model, X), assert_close)


@pytest.mark.parametrize("kernel", KERNELS)
def test_double_precision(kernel, ask, rng, assert_close):
    model = model_of(KERNELS[kernel], Argmax(NAMES), 4, rng, scaled=kernel not in ("chi2", "poly, a root"))
    X = rng.uniform(0.5, 3.5, size=(500, 5))
    assert_same_answers(model, X, ask(model, X, dtype="float64"), assert_close, np.float64)


@pytest.mark.parametrize(("m", "d", "M"), [(0, 2, 1), (1, 1, 1), (4, 3, 4), (7, 9, 5), (9, 784, 8), (23, 2, 45)])
def test_every_shape(m, d, M, ask, rng, assert_close):
    """Vectors and outputs that fill their panels, and that do not; rows that fill their tiles, and that do not."""
    for kernel in (RBF(0.3 / d), Laplacian(0.1 / d)):
        f = KernelExpansion(kernel, rng.normal(size=(m, d)), rng.normal(size=(m, M)), rng.normal(size=M))
        model = KernelModel(f, Identity(), "regression")
        X = rng.normal(size=(71, d))
        assert_same_answers(model, X, ask(model, X), assert_close)


def test_sparse_vectors_in_single_precision(ask, rng, assert_close):
    V = np.where(rng.random((9, 30)) < 0.2, rng.normal(size=(9, 30)), 0).astype("float32")
    f = KernelExpansion(
        RBF(0.1), sparse.csr_array(V), rng.normal(size=(9, 1)).astype("float32"), np.zeros(1, "float32")
    )
    model = KernelModel(f, Sign(np.array([0, 1])))
    X = np.where(rng.random((200, 30)) < 0.2, rng.normal(size=(200, 30)), 0)
    assert_same_answers(model, X, ask(model, X), assert_close)


@pytest.mark.parametrize("engine", ENGINES)
def test_features_far_from_the_origin(engine, ask, rng, assert_close):
    """As years are: in single precision, |x|² - 2 x·v + |v|² alone would lose four digits more."""
    model = model_of(RBF(0.5), Argmax(NAMES), 4, rng)
    far = KernelExpansion(RBF(0.5), model.expansion.vectors + 2000, model.expansion.coef, model.expansion.intercept)
    X = rng.uniform(2000, 2004, size=(ROWS, 5))
    far_model = KernelModel(far, Argmax(NAMES))
    assert_same_answers(far_model, X, ask(far_model, X, engine), assert_close)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_infinitely_far_away(engine, ask, rng):
    """Their squares overflow, and their kernel values are zero."""
    model = model_of(RBF(0.5), Argmax(NAMES), 4, rng)
    X = np.array([[1e30, 0, 0, 0, 0], [-3e38, 3e38, 3e38, -3e38, 3e38]])
    expected = np.tile(model.expansion.intercept, (2, 1)).astype("float32" if engine == "wasm" else "float64")
    np.testing.assert_allclose(ask(model, X, engine).values, expected, rtol=1e-7)


def ulps(found, expected):
    """Return the errors in units of the last place of single precision."""
    return np.abs(found - expected) / np.spacing(np.abs(expected).astype("float32")).astype(float)


def test_exponential_in_units_of_the_last_place(ask):
    """With γ = log 2 the argument of 2^t is the row itself, and nothing but the exponential errs."""
    f = KernelExpansion(Laplacian(np.log(2)), np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1))
    X = np.concatenate([np.linspace(0, 3, 30_001), np.linspace(3, 152, 30_001)]).astype("float32").astype(float)
    values = ask(KernelModel(f, Identity(), "regression"), X[:, None]).values[:, 0]
    assert ulps(values, np.exp2(-X)).max() < 1.1
    assert values[-1] == 0


def test_hyperbolic_tangent_in_units_of_the_last_place(ask):
    f = KernelExpansion(Sigmoid(1.0, 0.0), np.ones((1, 1)), np.ones((1, 1)), np.zeros(1))
    X = np.concatenate([np.linspace(-12, 12, 30_001), np.logspace(-20, 1, 10_000)]).astype("float32").astype(float)
    values = ask(KernelModel(f, Identity(), "regression"), X[:, None]).values[:, 0]
    assert ulps(values, np.tanh(X))[X != 0].max() < 3
    np.testing.assert_array_equal(np.abs(values) <= 1, True)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("K", [2, 4])
def test_probabilities_are_libsvms(K, engine, ask, rng, tmp_path):
    from libsvm import svmutil

    X, y = rng.normal(size=(120, 3)), np.arange(120) % K
    X[:, 0] += y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = svmutil.svm_train(y.tolist(), X.tolist(), "-q -b 1 -g 0.4")
        svmutil.svm_save_model(str(tmp_path / "b.model"), theirs)
        theirs = svmutil.svm_load_model(str(tmp_path / "b.model"))
        _, _, expected = svmutil.svm_predict([0] * len(X), X.tolist(), theirs, "-q -b 1")
    found = ask(load(tmp_path / "b.model"), X, engine).probabilities
    np.testing.assert_allclose(found, expected, atol=2e-6)
