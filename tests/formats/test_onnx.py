"""ONNX files answer as the library: by the checker, the reference evaluator, onnxruntime, and onnxruntime-web in node.

A model of every kernel, decoder, task and precision answers thousands of rows. Where a row is clear, that is no value
that decides is within 1e-4 of changing sides, its label must be the library's. Exact ties are made of numbers that
every precision holds.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given
from onnx.reference import ReferenceEvaluator
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

import svmpress
from svmpress.decoders import Argmax, Identity, PairDAG, PairVote, Sign
from svmpress.errors import FormatError, InputError, MissingExtraError, SvmpressWarning
from svmpress.formats import FORMATS, format_of, from_estimator, load, obstacles, save
from svmpress.formats.onnx_probabilities import has_probabilities
from svmpress.kernels import KERNELS, RBF, ChiSquared, Linear, Polynomial, Sigmoid, kernel_by_name
from svmpress.model import KernelExpansion, KernelModel, Scaling
from test_format_conformance import models
from test_format_libsvm import train, values

CLEAR = 1e-4
PLAIN = {
    "Abs",
    "Add",
    "ArgMax",
    "Cast",
    "Clip",
    "Div",
    "Exp",
    "Gather",
    "Gemm",
    "Greater",
    "GreaterOrEqual",
    "Identity",
    "MatMul",
    "Mul",
    "Neg",
    "Pow",
    "ReduceSum",
    "Sigmoid",
    "Split",
    "Squeeze",
    "Sub",
    "Tanh",
    "Unsqueeze",
}
DTYPES = ["float32", "float64"]


def session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def written(folder: Path, model: KernelModel, **options) -> Path:
    path = folder / "m.onnx"
    save(model, path, **options)
    onnx.checker.check_model(path, full_check=True)
    return path


def answers(run, rows, dtype="float32") -> dict[str, np.ndarray]:
    """Return all outputs by name."""
    names = [o.name for o in run.get_outputs()]
    return dict(zip(names, run.run(None, {"rows": np.ascontiguousarray(rows, dtype=dtype)}), strict=True))


def clear_rows(decoder, F: np.ndarray) -> np.ndarray:
    """Return which rows no error of less than 1e-4 in a decision value can give another label, (n,) bool."""
    if isinstance(decoder, Argmax):
        top = np.sort(F, axis=1)
        return top[:, -1] - top[:, -2] > CLEAR
    clear = (np.abs(F) > CLEAR).all(axis=1)
    if isinstance(decoder, PairVote) and decoder.break_ties:
        top = np.sort(decoder._ovr(F), axis=1)
        clear &= top[:, -1] - top[:, -2] > CLEAR
    return clear


def agree(model: KernelModel, found: dict[str, np.ndarray], rows: np.ndarray, dtype: str, least: float = 0.5) -> None:
    """Check every output against the library; at least this share of the rows must be clear."""
    F = model.decision_values(rows)
    tolerance = {"rtol": 1e-4, "atol": 5e-5 * max(1, np.abs(F).max())} if dtype == "float32" else {"atol": 1e-9}
    np.testing.assert_allclose(found["decision_values"], F, **tolerance)
    scores = model.decision_function(rows)
    assert found["scores"].shape == scores.shape
    if model.classes_ is None:
        assert "label" not in found
        np.testing.assert_allclose(found["scores"], model.predict(rows), **tolerance)
        return
    clear = clear_rows(model.decoder, F)
    assert clear.mean() >= least
    np.testing.assert_array_equal(found["label"][clear], model.predict(rows)[clear])
    np.testing.assert_allclose(found["scores"][clear], scores[clear], **tolerance)
    if "probabilities" in found:
        are_close(found["probabilities"], model.predict_proba(rows), dtype)


# ---------------------------------------------------------------------------------------------------------
# Every kernel, decoder, precision and opset
# ---------------------------------------------------------------------------------------------------------


def random_model(kernel, decoder, task="classification", scaled=False, d=7, m=12, seed=0) -> KernelModel:
    rng = np.random.default_rng(seed)
    M = decoder.n_outputs or 2
    V = rng.uniform(0, 2, (m, d))
    scaling = Scaling(rng.uniform(-2, -1, d), rng.uniform(0.5, 1.5, d)) if scaled else None
    f = KernelExpansion(kernel, V, rng.normal(size=(m, M)), rng.normal(size=M))
    return KernelModel(f, decoder, task, scaling)


def rows_for(model: KernelModel, n: int = 400, seed: int = 1) -> np.ndarray:
    rows = np.random.default_rng(seed).uniform(0, 2, (n, model.n_features))
    return rows if model.scaling is None else rows / model.scaling.factor + model.scaling.shift


FIVE = np.array([3, -1, 4, 10, 5])
TWO = np.array(["no", "yes"])
DECODERS = {
    "sign": Sign(TWO),
    "outlier": Sign(np.array([-1, 1]), zero_class=0),
    "argmax": Argmax(np.array(["e", "d", "c", "b", "ü"])),
    "vote": PairVote(FIVE),
    "vote ovo": PairVote(FIVE, "ovo"),
    "vote ties": PairVote(FIVE, break_ties=True),
    "vote of two": PairVote(TWO),
    "vote of two, ties": PairVote(TWO, "ovo", True),
    "dag": PairDAG(FIVE),
    "dag of two": PairDAG(TWO),
    "dag of three": PairDAG(np.array([0.0, 1.0, 2.0])),
    "values": Identity(),
}
TASKS = {"outlier": "outlier", "values": "regression"}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scaled", [False, True], ids=["plain", "scaled"])
@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel(tmp_path, name, scaled, dtype):
    for degree in (3, 2.5, 0, 1, 6) if name == "poly" else (3,):
        model = random_model(kernel_by_name(name, gamma=0.3, coef0=0.5, degree=degree), PairVote(FIVE), scaled=scaled)
        rows = rows_for(model)
        path = written(tmp_path, model, dtype=dtype)
        agree(model, answers(session(path), rows, dtype), rows, dtype)
        reference = ReferenceEvaluator(onnx.load(path))
        found = dict(zip(reference.output_names, reference.run(None, {"rows": rows.astype(dtype)}), strict=True))
        agree(model, found, rows, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", KERNELS)
def test_scalings_that_mirror_and_ignore_features(tmp_path, name, dtype):
    model = random_model(kernel_by_name(name, gamma=0.3, coef0=0.5, degree=3), PairVote(FIVE))
    factor = np.array([1.5, -2.0, 0.0, 0.5, -0.25, 1.0, 1.0])
    scaled = np.where(factor != 0, rows_for(model), 7.0)
    rows = scaled / np.where(factor == 0, 1.0, factor) + 2.0
    model = replace(model, scaling=Scaling(np.full(7, 2.0), factor))
    agree(model, answers(session(written(tmp_path, model, dtype=dtype)), rows, dtype), rows, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", DECODERS)
def test_every_decoder(tmp_path, name, dtype):
    model = random_model(RBF(0.3), DECODERS[name], TASKS.get(name, "classification"))
    rows = rows_for(model, 2000)
    path = written(tmp_path, model, dtype=dtype)
    agree(model, answers(session(path), rows, dtype), rows, dtype, least=0.9)
    reference = ReferenceEvaluator(onnx.load(path))
    found = dict(zip(reference.output_names, reference.run(None, {"rows": rows.astype(dtype)}), strict=True))
    agree(model, found, rows, dtype, least=0.9)


@pytest.mark.parametrize("opset", range(13, 18))
def test_every_opset(tmp_path, opset):
    """The file says which, is of no newer format than that version had, and its answers are the same."""
    for name in ("vote ties", "dag", "sign"):
        model = random_model(RBF(0.3), DECODERS[name])
        path = written(tmp_path, model, opset=opset)
        proto = onnx.load(path)
        assert [(o.domain, o.version) for o in proto.opset_import] == [("", opset)]
        assert proto.ir_version <= 8
        agree(model, answers(session(path), rows_for(model)), rows_for(model), "float32")


def test_operators_are_plain(tmp_path):
    """None of ai.onnx.ml, no Min and no Max."""
    used = set()
    kernels = [kernel_by_name(name, gamma=0.5, degree=degree) for name in KERNELS for degree in (2, 2.5)]
    many = [random_model(kernel, PairVote(FIVE), scaled=scaled) for kernel in kernels for scaled in (True, False)]
    many += [random_model(RBF(0.3), d, TASKS.get(name, "classification")) for name, d in DECODERS.items()]
    many += [replace(many[-3], probability={"probA": [-1.0], "probB": [0.1]})]
    for model in many:
        graph = onnx.load(written(tmp_path, model)).graph
        assert {node.domain for node in graph.node} == {""}
        used |= {node.op_type for node in graph.node}
    assert used == PLAIN


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", DECODERS)
def test_exact_ties(tmp_path, name, dtype):
    """Decision values that are small whole numbers, equal ones and zeros among them, have the library's labels."""
    decoder = DECODERS[name]
    M = decoder.n_outputs or 2
    rng = np.random.default_rng(3)
    f = KernelExpansion(Linear(), np.eye(3), rng.integers(-1, 2, (3, M)).astype(float), np.zeros(M))
    model = KernelModel(f, decoder, TASKS.get(name, "classification"))
    rows = np.stack(np.meshgrid(*[np.arange(-3.0, 4.0)] * 3), axis=-1).reshape(-1, 3)
    F = model.decision_values(rows)
    assert np.mean(F == 0) > 0.1
    found = answers(session(written(tmp_path, model, dtype=dtype)), rows, dtype)
    np.testing.assert_array_equal(found["decision_values"], F)
    np.testing.assert_allclose(found["scores"], model.decision_function(rows), rtol=1e-6)
    if model.classes_ is not None:
        np.testing.assert_array_equal(found["label"], model.predict(rows))


@pytest.mark.parametrize("n", [0, 1, 3])
def test_any_number_of_rows(tmp_path, n):
    for name, kernel in (("vote ties", RBF(0.3)), ("dag", ChiSquared(0.3)), ("sign", Linear())):
        model = random_model(kernel, DECODERS[name])
        found = answers(session(written(tmp_path, model)), rows_for(model)[:n])
        assert found["label"].shape == (n,)
        np.testing.assert_array_equal(found["label"], model.predict(rows_for(model))[:n])


def test_a_model_without_vectors_and_one_with_sparse_ones(tmp_path):
    empty = KernelModel(KernelExpansion(RBF(1.0), np.zeros((0, 2)), np.zeros((0, 1)), np.array([-3.5])), Sign(TWO))
    assert answers(session(written(tmp_path, empty)), np.ones((2, 2)))["label"].tolist() == ["no", "no"]
    model = random_model(RBF(0.3), DECODERS["vote"])
    thin = replace(model, expansion=replace(model.expansion, vectors=sparse.csr_array(model.expansion.vectors)))
    save(thin, tmp_path / "thin.onnx")
    assert (tmp_path / "thin.onnx").read_bytes() == written(tmp_path, model).read_bytes()


# ---------------------------------------------------------------------------------------------------------
# Real sets, ten thousand rows each
# ---------------------------------------------------------------------------------------------------------


def many_rows(X: np.ndarray, n: int = 10_000) -> np.ndarray:
    """Return n points between neighbours in the order of the rows, where classes change, and beyond."""
    rng = np.random.default_rng(5)
    i, j = rng.integers(0, len(X), (2, n))
    return X[i] + rng.uniform(-0.2, 0.8, (n, 1)) * (X[j] - X[i])


def real_models():
    """Yield a name, a fitted estimator and its training rows."""
    X, y = load_digits(return_X_y=True)
    yield "digits", SVC(C=10, gamma=0.001).fit(X, y), X
    yield "digits, ties", SVC(C=10, gamma=0.001, break_ties=True).fit(X, y), X
    yield "digits, one-vs-rest", OneVsRestClassifier(SVC(C=10, gamma=0.001)).fit(X, y), X
    yield "digits, polynomial", SVC(kernel="poly", gamma=0.001, coef0=1).fit(X, y), X
    X, y = load_breast_cancer(return_X_y=True)
    yield "cancer, scaled", make_pipeline(StandardScaler(), SVC(C=3)).fit(X, y), X
    yield "cancer, sigmoid", make_pipeline(StandardScaler(), SVC(kernel="sigmoid")).fit(X, y), X
    yield "cancer, linear", make_pipeline(StandardScaler(), SVC(kernel="linear")).fit(X, y), X
    yield "cancer, outliers", make_pipeline(StandardScaler(), OneClassSVM(nu=0.1)).fit(X), X
    X, y = load_diabetes(return_X_y=True)
    yield "diabetes", SVR(C=100, gamma=5).fit(X, y), X


@pytest.fixture(scope="module", params=list(real_models()), ids=lambda found: found[0])
def real(request):
    _, estimator, X = request.param
    return from_estimator(estimator), many_rows(X)


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_label_differs_on_ten_thousand_rows(tmp_path, real, dtype):
    """Rows are given to the library in double precision, whatever the graph's."""
    model, rows = real
    found = answers(session(written(tmp_path, model, dtype=dtype)), rows, dtype)
    agree(model, found, rows, dtype, least=0.95)


def test_rows_far_from_the_origin_lose_nothing(tmp_path):
    """The mean of the vectors is taken off first: distances of a thousandth of the values stay exact in float32."""
    rng = np.random.default_rng(7)
    near = rng.integers(-128, 129, (2000, 4)) / 64
    for scaling in (None, Scaling(np.full(4, 4096.1), np.full(4, 0.7))):
        V = near[:30] + 4096 if scaling is None else scaling(near[:30] + 4096)
        f = KernelExpansion(RBF(0.4), V, rng.normal(size=(30, 1)), np.zeros(1))
        model = KernelModel(f, Sign(TWO), scaling=scaling)
        found = answers(session(written(tmp_path, model)), near + 4096)
        np.testing.assert_allclose(found["decision_values"], model.decision_values(near + 4096), atol=2e-5)
    for kernel in (Linear(), Sigmoid(0.1, 0.2)):  # a shift that float32 does not hold is put right by the constant
        other = replace(model, expansion=replace(f, kernel=kernel))
        found = answers(session(written(tmp_path, other)), near + 4096)
        np.testing.assert_allclose(found["decision_values"], other.decision_values(near + 4096), atol=2e-5)


def test_sums_of_classes_that_cancel_lose_little(tmp_path):
    """Thousands of vectors sorted by class, with large coefficients: summed in that order, float32 is off by 0.02."""
    rng = np.random.default_rng(11)
    V = rng.normal(size=(4000, 3))
    signs = np.repeat([-30.0, 30.0], 2000)
    model = KernelModel(KernelExpansion(RBF(0.05), V, signs[:, None], np.zeros(1)), Sign(TWO))
    rows = rng.normal(size=(500, 3)).astype("float32")
    found = answers(session(written(tmp_path, model)), rows)
    assert np.abs(found["decision_values"] - model.decision_values(rows.astype("float64"))).max() < 2e-3


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_kernel_value_is_above_one(tmp_path, dtype):
    """At a vector itself the distance is zero to rounding, on either side of zero."""
    V = np.random.default_rng(8).normal(size=(60, 200)).astype("float32").astype("float64")
    model = KernelModel(KernelExpansion(RBF(0.05), V, np.eye(60), np.zeros(60)), Identity(), "regression")
    K = answers(session(written(tmp_path, model, dtype=dtype)), V, dtype)["decision_values"]
    assert K.max() <= 1
    np.testing.assert_allclose(np.diag(K), 1, atol=1e-4)


def test_features_that_are_zero_in_row_and_vector_add_nothing_to_chi_squared(tmp_path):
    model = random_model(ChiSquared(0.3), DECODERS["vote"])
    thin = model.expansion.vectors * (np.random.default_rng(9).uniform(size=model.expansion.vectors.shape) < 0.5)
    model = replace(model, expansion=replace(model.expansion, vectors=thin))
    rows = rows_for(model) * (np.random.default_rng(10).uniform(size=(400, 7)) < 0.5)
    agree(model, answers(session(written(tmp_path, model)), rows), rows, "float32")


# ---------------------------------------------------------------------------------------------------------
# Probabilities
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_probabilities_of_two_classes_are_those_of_libsvm(tmp_path, dtype):
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    y = 2 * y + 3
    trained = train(tmp_path, X, y, "-s 0 -b 1 -c 3", "library")
    _, expected = values(trained, X, "svm_predict_probability")
    model = load(trained)
    assert model.probability
    voting = KernelModel(
        replace(model.expansion, coef=-model.expansion.coef, intercept=-model.expansion.intercept),
        PairVote(model.classes_),
        probability=model.probability,
    )
    for each in (model, voting):
        found = answers(session(written(tmp_path, each, dtype=dtype)), X, dtype)
        np.testing.assert_allclose(found["probabilities"], expected, atol=1e-5 if dtype == "float32" else 1e-9)
        np.testing.assert_allclose(found["probabilities"].sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_probabilities_stay_off_zero_and_one(tmp_path, dtype):
    """LibSVM keeps them 1e-7 away."""
    f = KernelExpansion(Linear(), np.ones((1, 1)), np.ones((1, 1)), np.zeros(1))
    model = KernelModel(f, Sign(TWO), probability={"probA": np.array([-1.0]), "probB": np.array([0.0])})
    rows = np.array([[-50.0], [0.0], [50.0]])
    found = answers(session(written(tmp_path, model, dtype=dtype)), rows, dtype)["probabilities"]
    np.testing.assert_allclose(found, [[1 - 1e-7, 1e-7], [0.5, 0.5], [1e-7, 1 - 1e-7]], rtol=1e-6)
    assert 0 < found.min() < found.max() < 1


def calibrated(K: int, kind: str = "pairs", decoder=PairVote, seed: int = 0, sharpness: float = 3.0) -> KernelModel:
    """Return a model of K classes with random parameters of a kind of probabilities."""
    classes, rng = np.arange(K) + 3, np.random.default_rng(seed)
    model = random_model(RBF(0.3), decoder(classes), seed=seed) if decoder is not Argmax else None
    if model is None:
        f = random_model(RBF(0.3), Argmax(classes), seed=seed).expansion
        model = KernelModel(f, Argmax(classes))
    M, n = K * (K - 1) // 2, 1 if K == 2 else K
    given = {
        "pairs": {"probA": -sharpness * rng.uniform(0.2, 1, M), "probB": rng.normal(size=M)},
        "sigmoid": {"sigmoid_slope": -rng.uniform(0.2, 1, n), "sigmoid_offset": rng.normal(size=n)},
        "temperature": {"inverse_temperature": np.array([0.7])},
    }
    return replace(model, probability=given[kind])


def are_close(found: np.ndarray, expected: np.ndarray, dtype: str) -> None:
    np.testing.assert_allclose(found, expected, atol=2e-5 if dtype == "float32" else 1e-9)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=2e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_probabilities_of_many_classes_are_those_of_libsvm(tmp_path, dtype):
    X, y = load_digits(return_X_y=True)
    X = X / 16 + np.random.default_rng(0).normal(size=X.shape) / 2  # so noisy that many rows are unsure
    trained = train(tmp_path, X[:700], y[:700], "-s 0 -b 1 -c 3 -g 0.03", "library")
    _, expected = values(trained, X, "svm_predict_probability")
    found = answers(session(written(tmp_path, load(trained), dtype=dtype)), X, dtype)["probabilities"]
    are_close(found, expected, dtype)
    assert np.median(found.max(axis=1)) < 0.9


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("decoder", [PairVote, PairDAG, Argmax])
@pytest.mark.parametrize("K", [3, 7, 26])
def test_coupling_is_the_librarys(K, decoder, dtype, tmp_path):
    for sharpness in (0.3, 3, 40):
        model = calibrated(K, decoder=decoder, sharpness=sharpness)
        rows = rows_for(model)
        found = answers(session(written(tmp_path, model, dtype=dtype)), rows, dtype)["probabilities"]
        are_close(found, model.predict_proba(rows), dtype)


@pytest.mark.parametrize("opset", [13, 17])
def test_coupling_in_the_reference_evaluator(opset, tmp_path):
    model = calibrated(4)
    rows = rows_for(model, n=60)
    path = written(tmp_path, model, opset=opset)
    named = [o.name for o in onnx.load(path).graph.output]
    found = dict(zip(named, ReferenceEvaluator(str(path)).run(None, {"rows": rows.astype("float32")}), strict=True))
    are_close(found["probabilities"], model.predict_proba(rows), "float32")


def test_no_rows_have_no_probabilities(tmp_path):
    found = answers(session(written(tmp_path, calibrated(5))), np.zeros((0, 7)))["probabilities"]
    assert found.shape == (0, 5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["sigmoid", "temperature"])
@pytest.mark.parametrize(("K", "decoder"), [(2, Sign), (2, PairVote), (5, PairVote), (5, PairDAG), (5, Argmax)])
def test_probabilities_by_scores_of_classes(K, decoder, kind, dtype, tmp_path):
    model = calibrated(K, kind, decoder)
    rows = rows_for(model)
    found = answers(session(written(tmp_path, model, dtype=dtype)), rows, dtype)["probabilities"]
    are_close(found, model.predict_proba(rows), dtype)


def test_only_coupling_needs_a_loop_and_it_can_be_left_out(tmp_path):
    def operators(model, **options):
        return {node.op_type for node in onnx.load(written(tmp_path, model, **options)).graph.node}

    assert "Loop" in operators(calibrated(3))
    assert operators(calibrated(3), probabilities=False) <= PLAIN
    for model in (calibrated(2), calibrated(3, "sigmoid"), calibrated(3, "temperature")):
        assert operators(model) <= PLAIN | {"Concat", "Softmax", "Where"}


def test_probabilities_that_no_graph_gives_are_left_out_with_a_warning(tmp_path):
    points = {"isotonic_x": np.arange(10.0), "isotonic_y": np.linspace(0, 1, 10), "isotonic_points": np.full(5, 2.0)}
    curves = replace(random_model(RBF(0.3), PairVote(FIVE)), probability=points)
    marks = replace(
        random_model(RBF(0.3), DECODERS["outlier"], "outlier"), probability={"prob_density_marks": np.ones(10)}
    )
    few = replace(random_model(RBF(0.3), PairVote(FIVE)), probability={"probA": np.ones(3), "probB": np.ones(3)})
    many = calibrated(201, sharpness=1)
    for model, words in ((curves, "isotonic"), (marks, "density"), (few, "probA .* 10 finite"), (many, "200 classes")):
        with pytest.warns(SvmpressWarning, match=f"no output 'probabilities': .*{words}"):
            path = written(tmp_path, model)
        assert "probabilities" not in answers(session(path), rows_for(model, n=3))


@pytest.mark.filterwarnings("error")
def test_a_regressor_with_libsvms_width_of_noise_has_no_probabilities_to_miss(tmp_path):
    model = replace(random_model(RBF(0.3), Identity(), "regression"), probability={"probA": np.ones(1)})
    assert list(answers(session(written(tmp_path, model)), rows_for(model))) == ["scores", "decision_values"]


# ---------------------------------------------------------------------------------------------------------
# The file
# ---------------------------------------------------------------------------------------------------------


def test_the_file_says_where_it_comes_from(tmp_path):
    model = replace(random_model(RBF(0.3), PairVote(FIVE)), provenance={"svm_type": "c_svc", "compressed_from": 300})
    path = written(tmp_path, model)
    run = session(path)
    proto = onnx.load(path)
    assert (proto.producer_name, proto.producer_version) == ("svmpress", svmpress.__version__)
    said = run.get_modelmeta().custom_metadata_map
    assert said == {
        "svmpress.task": "classification",
        "svmpress.kernel": "rbf",
        "svmpress.gamma": "0.3",
        "svmpress.decoder": "PairVote",
        "svmpress.vectors": "12",
        "svmpress.features": "7",
        "svmpress.outputs": "10",
        "svmpress.classes": "5",
        "svmpress.precision": "float32",
        "svmpress.source.svm_type": "c_svc",
        "svmpress.source.compressed_from": "300",
    }
    assert [i.shape for i in run.get_inputs()] == [["n", 7]]
    shapes = {o.name: (o.type, o.shape) for o in run.get_outputs()}
    assert shapes == {
        "label": ("tensor(int64)", ["n"]),
        "scores": ("tensor(float)", ["n", 5]),
        "decision_values": ("tensor(float)", ["n", 10]),
    }


@given(model=models())
def test_any_model_is_written_and_runs_or_says_what_is_in_the_way(model):
    """Whatever is no obstacle gives a valid file, the same bytes twice, and answers of the library's shapes."""
    for dtype in DTYPES:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "m.onnx"
            if obstacles(model, "onnx", dtype=dtype):
                with pytest.raises(FormatError, match="cannot save the model as onnx"):
                    save(model, path, dtype=dtype)
                assert list(Path(folder).iterdir()) == []
                continue
            path = written(Path(folder), model, dtype=dtype)
            first = path.read_bytes()
            assert written(Path(folder), model, dtype=dtype).read_bytes() == first
            found = answers(session(path), np.zeros((2, model.n_features)), dtype)
            if model.classes_ is not None:
                assert set(found["label"].tolist()) <= set(model.classes_.tolist())
            assert found["decision_values"].shape == (2, model.n_outputs)
            assert ("probabilities" in found) == has_probabilities(model)


def refused(model: KernelModel, folder: Path, words: str, **options) -> None:
    with pytest.raises(FormatError, match=f"cannot save the model as onnx: .*{words}"):
        save(model, folder / "m.onnx", **options)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.array([1, "one"], dtype=object), "mixed types"),
        (np.array([0.5, 1.0]), "0.5 is neither"),
        (np.array([1.0, np.inf]), "inf is neither"),
        (np.array([1, 2**64], dtype=object), "is neither"),
        (np.array([1, 10**400], dtype=object), "is neither"),
        (np.array([b"no", b"yes"]), "bytes"),
        (np.array(["2020", "2021"], dtype="datetime64[Y]"), "other than integers and text"),
        (np.array(["\ud800", "b"]), "no Unicode text"),
    ],
    ids=str,
)
def test_labels_that_are_no_integers_and_no_text(tmp_path, labels, words):
    refused(random_model(RBF(0.3), Sign(labels)), tmp_path, words)


@pytest.mark.parametrize(("labels", "kind"), [([False, True], int), ([-1.0, 2.0], int), (["a", "b"], str)])
def test_labels_of_other_types(tmp_path, labels, kind):
    model = random_model(RBF(0.3), Sign(np.array(labels)))
    found = answers(session(written(tmp_path, model)), rows_for(model))["label"].tolist()
    assert {type(v) for v in found} == {kind}
    assert found == model.predict(rows_for(model)).tolist()


def test_numbers_that_float32_cannot_hold(tmp_path):
    huge = replace(random_model(Linear(), Sign(TWO)), scaling=Scaling(np.zeros(7), np.full(7, 1e200)))
    refused(huge, tmp_path, "overflow float32 on the way to the graph; float64 has room")
    assert obstacles(huge, "onnx", dtype="float64") == []
    refused(random_model(Polynomial(1e300, 1e300), Sign(TWO)), tmp_path, "overflow float32")
    f = KernelExpansion(RBF(1e300), np.array([[-1e10], [1e10]]), np.ones((2, 1)), np.zeros(1))
    refused(KernelModel(f, Sign(TWO)), tmp_path, "overflow float64 on the way to the graph$", dtype="float64")


def test_what_is_too_large_is_refused_before_it_is_made_dense(tmp_path):
    vectors = sparse.csr_array((40_000, 60_000), dtype=np.float64)
    model = KernelModel(KernelExpansion(RBF(1.0), vectors, np.ones((40_000, 1)), np.zeros(1)), Sign(TWO))
    refused(model, tmp_path, "dense, its vectors are 8.9 GiB")


def test_kernels_and_decoders_of_others(tmp_path):
    class Wider(RBF):
        pass

    class Last(Argmax):
        pass

    refused(random_model(Wider(0.3), Sign(TWO)), tmp_path, "the kernel rbf has no graph")
    refused(random_model(RBF(0.3), Last(FIVE)), tmp_path, "the decoder Last has no graph")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"opset": 12}, "from 13 to 17, not 12"),
        ({"opset": "new"}, "from 13 to 17, not 'new'"),
        ({"opset": 13.0}, "from 13 to 17, not 13.0"),
        ({"dtype": None}, "float32 or float64, not None"),
        ({"dtype": "float16"}, "float32 or float64, not 'float16'"),
        ({"dtype": "half a float"}, "float32 or float64"),
        ({"optset": 13}, "no option 'optset'; it has opset, dtype"),
    ],
)
def test_options_that_are_none(tmp_path, options, words):
    with pytest.raises(InputError, match=words):
        save(random_model(RBF(0.3), Sign(TWO)), tmp_path / "m.onnx", **options)
    with pytest.raises(InputError, match="the native format has no option 'opset'; it has none"):
        save(random_model(RBF(0.3), Sign(TWO)), tmp_path / "m.svmpress", opset=13)
    assert list(tmp_path.iterdir()) == []


def test_a_graph_is_not_read_back(tmp_path):
    path = written(tmp_path, random_model(RBF(0.3), Sign(TWO)))
    with pytest.raises(FormatError, match=r"m\.onnx: svmpress writes ONNX files and does not read them"):
        load(path)


def test_the_package_is_missed_before_the_work_begins(tmp_path, monkeypatch):
    monkeypatch.setattr("svmpress.formats.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"writing onnx files needs onnx: pip install 'svmpress\[onnx\]'"):
        format_of("m.onnx")
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match="needs onnx"):
        FORMATS["onnx"].write(random_model(RBF(0.3), Sign(TWO)), tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []
