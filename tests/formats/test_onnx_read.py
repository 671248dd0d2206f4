"""ONNX-ML in: graphs that skl2onnx made, read here and run by onnxruntime."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from svmpress.cli import main
from svmpress.errors import FormatError
from svmpress.formats import load, obstacles

onnx = pytest.importorskip("onnx", reason="the extra onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")

X, Y = load_iris(return_X_y=True)
X = X.astype(np.float32)
TWO, WORDS = (Y > 0).astype(int), np.array(["a", "b", "c"])[Y]
ROWS = (X[:, [0, 1, 2, 3]] * 0.7 + X[::-1] * 0.3).astype(np.float32)


def graph(path, estimator, y):
    """Fit, convert and write; return the answers of onnxruntime at the rows, by the names of the outputs."""
    estimator.fit(X, y)
    options = {"zipmap": False} if hasattr(estimator, "classes_") else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        proto = skl2onnx.to_onnx(estimator, X[:1], options=options)
    path.write_bytes(proto.SerializeToString())
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": ROWS}), strict=True))


SVCS = [
    (SVC(kernel=kernel, coef0=0.5, gamma=0.1, degree=2), y)
    for kernel in ("linear", "poly", "rbf", "sigmoid")
    for y in (Y, TWO)
]
SVCS += [
    (SVC(), WORDS),
    (SVC(), np.array(["no", "yes"])[TWO]),
    (NuSVC(nu=0.2), Y),
    (SVC(decision_function_shape="ovo"), Y),
    (make_pipeline(StandardScaler(), SVC()), Y),
    (make_pipeline(MinMaxScaler(), SVC()), TWO),
    (make_pipeline(MaxAbsScaler(), StandardScaler(), SVC()), Y),
]


@pytest.mark.parametrize(("estimator", "y"), SVCS, ids=str)
def test_classifiers(tmp_path, estimator, y):
    there = graph(tmp_path / "a.onnx", estimator, y)
    model = load(tmp_path / "a.onnx")
    rows = ROWS.astype(np.float64)
    np.testing.assert_array_equal(model.predict(rows), there["label"])
    assert model.classes_.tolist() == estimator.classes_.tolist()
    if getattr(estimator, "decision_function_shape", "ovr") == "ovr":
        np.testing.assert_allclose(model.decision_function(rows), estimator.decision_function(ROWS), atol=2e-4)


def test_probabilities_are_kept(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn has plans for them
        svc = SVC(probability=True, random_state=0)
        there = graph(tmp_path / "a.onnx", svc, Y)
        model = load(tmp_path / "a.onnx")
        np.testing.assert_array_equal(model.predict(ROWS.astype(np.float64)), there["label"])
        for name in ("probA", "probB"):
            np.testing.assert_allclose(model.probability[name], getattr(svc, f"_{name}"), rtol=1e-6)


REGRESSORS = [
    SVR(),
    NuSVR(kernel="sigmoid", gamma=0.01),
    SVR(kernel="poly", degree=2, coef0=1),
    make_pipeline(StandardScaler(), SVR()),
]


@pytest.mark.parametrize("estimator", REGRESSORS, ids=str)
def test_regressors(tmp_path, estimator):
    there = graph(tmp_path / "a.onnx", estimator, X[:, 0] * 2 - X[:, 1])
    model = load(tmp_path / "a.onnx")
    assert model.task == "regression"
    np.testing.assert_allclose(model.predict(ROWS.astype(np.float64)), there["variable"].ravel(), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("estimator", [OneClassSVM(nu=0.2), make_pipeline(StandardScaler(), OneClassSVM(nu=0.2))])
def test_one_class_models(tmp_path, estimator):
    there = graph(tmp_path / "a.onnx", estimator, None)
    model = load(tmp_path / "a.onnx")
    assert model.task == "outlier"
    np.testing.assert_array_equal(model.predict(ROWS.astype(np.float64)), there["label"].ravel())


def test_the_command_line_takes_them(tmp_path, capsys):
    graph(tmp_path / "a.onnx", SVC(), Y)
    np.savez(tmp_path / "rows.npz", X=X, y=Y)
    argv = [
        "compress",
        tmp_path / "a.onnx",
        "-o",
        tmp_path / "s.model",
        "--data",
        tmp_path / "rows.npz",
        "--vectors",
        9,
    ]
    assert main([str(a) for a in argv]) == 0
    assert main(["inspect", str(tmp_path / "a.onnx")]) == 0
    assert "rbf" in capsys.readouterr().out
    assert load(tmp_path / "s.model").n_vectors == 9


REFUSED = [
    (make_pipeline(PCA(2), SVC()), Y, "there is a MatMul before the SVM, which svmpress cannot apply"),
    (make_pipeline(Normalizer(), SVC()), Y, "there is a Normalizer before the SVM"),
    (OneVsRestClassifier(SVC()), Y, "reads graphs with one SVMClassifier or SVMRegressor, and this has 3"),
    (LogisticRegression(max_iter=1000), Y, "and this has 0 among"),
]


@pytest.mark.parametrize(("estimator", "y", "words"), REFUSED, ids=str)
def test_what_svmpress_cannot_do_is_named(tmp_path, estimator, y, words):
    graph(tmp_path / "a.onnx", estimator, y)
    with pytest.raises(FormatError, match=words):
        load(tmp_path / "a.onnx")


def test_an_answer_that_is_changed_afterwards_is_refused(tmp_path):
    graph(tmp_path / "a.onnx", SVR(), X[:, 0])
    proto = onnx.load(tmp_path / "a.onnx")
    svm = next(node for node in proto.graph.node if node.op_type == "SVMRegressor")
    proto.graph.node.append(onnx.helper.make_node("Exp", [svm.output[0]], ["grown"]))
    (tmp_path / "a.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(FormatError, match="there is a Exp after the SVM that changes its answer"):
        load(tmp_path / "a.onnx")


def change(**values):
    def apply(node):
        for name, value in values.items():
            for i, a in enumerate(node.attribute):
                if a.name == name:
                    del node.attribute[i]
                    break
            if value is not None:
                node.attribute.append(onnx.helper.make_attribute(name, value))

    return apply


WRONG = [
    (change(kernel_type="WAVE"), "the kernel 'WAVE' is none of LINEAR, POLY, RBF, SIGMOID"),
    (change(kernel_params=[0.1]), "kernel_params has 1 numbers, and must have 3"),
    (change(kernel_params=[float("nan"), 0.0, 3.0]), "gamma of the rbf kernel must be a finite number"),
    (change(support_vectors=[1.0, 2.0]), "2 numbers are not [0-9]+ support vectors"),
    (change(support_vectors=None), "a linear model of weights alone has nothing to compress"),
    (change(vectors_per_class=[1, 2]), "vectors_per_class has 2 counts for 3 classes"),
    (change(vectors_per_class=[10**18, 1, 1]), "are not 1000000000000000002 support vectors"),
    (change(vectors_per_class=[-1, 1, 1]), "vectors_per_class has 3 counts"),
    (change(vectors_per_class=None), "numbers are not 0 support vectors"),
    (change(coefficients=[1.0]), "coefficients has 1 numbers, and must have"),
    (change(rho=[1.0]), "rho has 1 numbers, and must have 3"),
    (change(rho=[1.0, float("inf"), 0.0]), "intercept of a model must be finite"),
    (change(classlabels_ints=None), "the node names no classes"),
    (change(classlabels_ints=[1, 1, 2]), "the classes of a model must be distinct"),
    (change(post_transform="SOFTMAX"), "post_transform is SOFTMAX"),
    (change(prob_a=[1.0], prob_b=[1.0]), "prob_a has 1 numbers, and must have 3"),
]


@pytest.mark.parametrize(("changed", "words"), WRONG, ids=[re.sub(r"\W+", "-", words)[:40] for _, words in WRONG])
def test_wrong_nodes(tmp_path, changed, words):
    graph(tmp_path / "a.onnx", SVC(), Y)
    proto = onnx.load(tmp_path / "a.onnx")
    changed(next(node for node in proto.graph.node if node.op_type == "SVMClassifier"))
    (tmp_path / "b.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(FormatError, match=words) as caught:
        load(tmp_path / "b.onnx")
    assert "b.onnx" in str(caught.value)


def test_files_that_are_none(tmp_path):
    graph(tmp_path / "a.onnx", SVC(), Y)
    whole = (tmp_path / "a.onnx").read_bytes()
    path = tmp_path / "b.onnx"
    for content in (b"", b"\x00" * 50, b"svm_type c_svc\n", whole[:-1], whole[: len(whole) // 2], b"\xff" * 20):
        path.write_bytes(content)
        with pytest.raises(FormatError, match=r"b\.onnx"):
            load(path)


def test_they_are_not_written_by_this_module():
    from svmpress.formats import from_estimator, onnx_read

    assert callable(onnx_read.read)
    if obstacles(from_estimator(SVC().fit(X, Y)), "onnx"):  # unless a writer is there as well
        assert obstacles(from_estimator(SVC().fit(X, Y)), "onnx") == ["svmpress reads ONNX-ML and does not write it"]
