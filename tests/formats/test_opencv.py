"""OpenCV's files against OpenCV itself: trained and saved there and read here, written here and predicted there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

from real_models import real_model
from svmpress.decoders import Argmax, Identity, PairDAG, PairVote, Sign, pair_mask
from svmpress.errors import FormatError
from svmpress.formats import load, obstacles, save
from svmpress.kernels import RBF, ChiSquared, Laplacian, Linear, Polynomial, Sigmoid
from svmpress.model import KernelExpansion, KernelModel, Scaling
from test_format_conformance import models

cv2 = pytest.importorskip("cv2", reason="opencv-python-headless is not installed: make test-all brings it")
if not hasattr(cv2, "ml"):
    pytest.skip("this OpenCV has no module ml, as versions from 5 on", allow_module_level=True)

TYPES = {
    "C_SVC": cv2.ml.SVM_C_SVC,
    "NU_SVC": cv2.ml.SVM_NU_SVC,
    "ONE_CLASS": cv2.ml.SVM_ONE_CLASS,
    "EPS_SVR": cv2.ml.SVM_EPS_SVR,
    "NU_SVR": cv2.ml.SVM_NU_SVR,
}
KERNELS = {
    "LINEAR": cv2.ml.SVM_LINEAR,
    "POLY": cv2.ml.SVM_POLY,
    "RBF": cv2.ml.SVM_RBF,
    "SIGMOID": cv2.ml.SVM_SIGMOID,
    "CHI2": cv2.ml.SVM_CHI2,
    "INTER": cv2.ml.SVM_INTER,
}
ROWS = np.random.default_rng(7).uniform(0, 1, (300, 5)).astype(np.float32)


def trained(svm_type: str, kernel: str, n_classes: int = 2):
    rng = np.random.default_rng(n_classes)
    X = rng.uniform(0, 1, (90, 5)).astype(np.float32)
    t = X[:, 0] + 0.3 * X[:, 1]
    edges = np.quantile(t, np.linspace(0, 1, n_classes + 1)[1:-1])
    y = (np.digitize(t, edges) * 3 - 2).astype(np.int32) if "SVC" in svm_type else t
    svm = cv2.ml.SVM_create()
    svm.setType(TYPES[svm_type])
    svm.setKernel(KERNELS[kernel])
    svm.setC(2)
    svm.setNu(0.3)
    svm.setP(0.05)
    svm.setGamma(0.7)
    svm.setCoef0(0.3)
    svm.setDegree(2.5)
    svm.setTermCriteria((cv2.TERM_CRITERIA_MAX_ITER + cv2.TERM_CRITERIA_EPS, 1000, 1e-6))
    svm.train(X, cv2.ml.ROW_SAMPLE, y)
    return svm


def answers(svm, X):
    """Return OpenCV's labels or values, and its raw values: of a pair only, where there are two classes."""
    flag = cv2.ml.STAT_MODEL_RAW_OUTPUT
    return svm.predict(X)[1].ravel(), svm.predict(X, flags=flag)[1].ravel()


def assert_agrees(model: KernelModel, svm, X) -> None:
    """Our answers are OpenCV's: labels exactly, values to single precision of what is summed."""
    labels, raw = answers(svm, X)
    rows = X.astype(np.float64)
    f = model.expansion
    size = np.abs(f.kernel.gram(rows, f.vectors)) @ np.abs(f.coef) + np.abs(f.intercept)
    rounding = 64 * np.finfo(np.float32).eps * size[:, 0]
    values = f.decision_values(rows)[:, 0]
    if model.task == "regression":
        assert (np.abs(model.predict(rows) - labels) <= rounding).all()
    elif model.task == "outlier":
        np.testing.assert_array_equal(model.predict(rows), np.where(labels == 1, 1, -1))
        assert (np.abs(values - raw) <= rounding).all()
    else:
        np.testing.assert_array_equal(model.predict(rows), labels)
        if model.classes_.size == 2:  # else OpenCV's raw output is the label
            assert (np.abs(np.where(isinstance(model.decoder, Sign), -values, values) - raw) <= rounding).all()


# ---------------------------------------------------------------------------------------------------------
# Trained there
# ---------------------------------------------------------------------------------------------------------

CASES = [(t, k, K) for t in TYPES for k in KERNELS if k != "INTER" for K in ((2, 3) if "SVC" in t else (0,))]


@pytest.mark.parametrize("suffix", [".xml", ".yml"])
@pytest.mark.parametrize(("svm_type", "kernel", "n_classes"), CASES)
def test_every_type_and_kernel_there_and_back(tmp_path, svm_type, kernel, n_classes, suffix):
    svm = trained(svm_type, kernel, max(2, n_classes))
    svm.save(str(tmp_path / f"theirs{suffix}"))
    model = load(tmp_path / f"theirs{suffix}")
    assert (model.kernel.name, model.n_vectors) == (kernel.lower(), len(svm.getSupportVectors()))
    assert_agrees(model, svm, ROWS)
    save(model, tmp_path / f"ours{suffix}")
    again = cv2.ml.SVM_load(str(tmp_path / f"ours{suffix}"))
    assert (again.getType(), again.getKernelType()) == (TYPES[svm_type], KERNELS[kernel])
    np.testing.assert_array_equal(again.getSupportVectors(), svm.getSupportVectors())
    for theirs, ours in zip(answers(svm, ROWS), answers(again, ROWS), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_names_of_version_2(tmp_path):
    svm = trained("C_SVC", "RBF", 3)
    svm.save(str(tmp_path / "a.xml"))
    text = (tmp_path / "a.xml").read_text().replace("svmType", "svm_type").replace("opencv_ml_svm", "my_svm")
    (tmp_path / "a.xml").write_text(text)
    np.testing.assert_array_equal(answers(cv2.ml.SVM_load(str(tmp_path / "a.xml")), ROWS), answers(svm, ROWS))
    assert_agrees(load(tmp_path / "a.xml"), svm, ROWS)


def test_the_intersection_kernel_is_refused(tmp_path):
    trained("C_SVC", "INTER").save(str(tmp_path / "a.xml"))
    with pytest.raises(FormatError, match=r"histogram intersection kernel \(INTER\) has no gradient"):
        load(tmp_path / "a.xml")


def test_a_file_is_known_by_what_it_holds(tmp_path):
    svm = trained("C_SVC", "RBF")
    svm.save(str(tmp_path / "a.xml"))
    (tmp_path / "face.model").write_bytes((tmp_path / "a.xml").read_bytes())
    assert_agrees(load(tmp_path / "face.model"), svm, ROWS)


# ---------------------------------------------------------------------------------------------------------
# Written here
# ---------------------------------------------------------------------------------------------------------


def random_model(decoder, M: int, kernel=None, mask=None, task="classification", m: int = 8) -> KernelModel:
    rng = np.random.default_rng(M)
    coef = rng.normal(size=(m, M))
    coef = coef if mask is None else np.where(mask, coef, 0.0)
    vectors = rng.uniform(0, 1, size=(m, 5)).astype(np.float32).astype(np.float64)
    return KernelModel(KernelExpansion(kernel or RBF(0.7), vectors, coef, rng.normal(size=M) / 5, mask), decoder, task)


@pytest.mark.parametrize("suffix", [".xml", ".yaml"])
@pytest.mark.parametrize(
    "model",
    [
        random_model(Argmax(np.arange(4)), 4),
        random_model(PairVote(np.array([5, -5, 0])), 3),
        random_model(PairVote(np.arange(3)), 3, mask=pair_mask(np.arange(8) % 3, 3)),
        random_model(PairVote(np.array([1, 2])), 1),
        random_model(Sign(np.array([0, 9])), 1, ChiSquared(0.4)),
        random_model(Sign(np.array([0, 9])), 1, Sigmoid(0.4, 0.2)),
        random_model(Identity(), 1, Polynomial(0.5, 1.0, 3), task="regression"),
        random_model(Sign(np.array([-1, 1]), zero_class=0), 1, Linear(), task="outlier"),
        random_model(Identity(), 1, task="regression", m=1),
    ],
    ids=["argmax", "votes", "libsvm-layout", "pair", "chi2", "sigmoid", "poly", "outlier", "one-vector"],
)
def test_models_that_opencv_did_not_train(tmp_path, model, suffix):
    path = tmp_path / f"a{suffix}"
    save(model, path)
    assert load(path).n_vectors == model.n_vectors
    assert_agrees(load(path), cv2.ml.SVM_load(str(path)), ROWS)
    np.testing.assert_array_equal(load(path).predict(ROWS), model.predict(ROWS))


@settings(suppress_health_check=[HealthCheck.filter_too_much], max_examples=15)
@given(model=models())
def test_whatever_is_written_opencv_reads(tmp_path_factory, model):
    """OpenCV refuses some parameters; what it would refuse is an obstacle beforehand."""
    assume(not obstacles(model, "opencv"))
    folder = tmp_path_factory.mktemp("a")
    for suffix in (".xml", ".yml"):
        save(model, folder / f"a{suffix}")
        svm = cv2.ml.SVM_load(str(folder / f"a{suffix}"))
        vectors = model.expansion.vectors
        dense = vectors.toarray() if hasattr(vectors, "toarray") else vectors
        np.testing.assert_array_equal(svm.getSupportVectors(), np.asarray(dense).astype(np.float32))
        assert svm.getVarCount() == model.n_features


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (random_model(Sign(np.array(["a", "b"])), 1), "are integers, not text"),
        (random_model(Sign(np.array([0, 2**31])), 1), "32-bit integers"),
        (random_model(Sign(np.array([0, 1])), 1, Laplacian(1.0)), "no laplacian kernel"),
        (random_model(Sign(np.array([0, 1])), 1, RBF(0.0)), "gamma of OpenCV's kernels is more than 0"),
        (random_model(Sign(np.array([0, 1])), 1, Sigmoid(1.0, -1.0)), "coef0 of OpenCV's kernels is 0 or more"),
        (random_model(Identity(), 2, task="regression"), "one output, not 2"),
        (random_model(PairDAG(np.arange(3)), 3), "by votes, not by a DAG"),
        (random_model(PairVote(np.arange(3), break_ties=True), 3), "does not break ties"),
        (random_model(Sign(np.array([0, 1])), 1, task="outlier"), "answer 1 and 0"),
        (random_model(Sign(np.array([0, 1])), 1, m=0), "no model without vectors"),
    ],
)
def test_obstacles_are_said(tmp_path, model, words):
    with pytest.raises(FormatError, match=words):
        save(model, tmp_path / "a.xml")
    assert list(tmp_path.iterdir()) == []


def test_what_has_no_place_is_an_obstacle():
    model = random_model(Sign(np.array([0, 1])), 1)
    scaled = KernelModel(model.expansion, model.decoder, scaling=Scaling(None, np.ones(5)))
    likely = KernelModel(model.expansion, model.decoder, probability={"probA": np.ones(1), "probB": np.ones(1)})
    assert obstacles(scaled, "opencv") == ["OpenCV's files have no place for an input scaling"]
    assert obstacles(likely, "opencv") == ["OpenCV's files have no place for probability parameters"]


# ---------------------------------------------------------------------------------------------------------
# A real file
# ---------------------------------------------------------------------------------------------------------


def test_a_licence_plate_detector(tmp_path):
    """EasyPR's, of OpenCV 3: 769 vectors of 352 features."""
    path = real_model("opencv_easypr.xml")
    model, svm = load(path), cv2.ml.SVM_load(str(path))
    V = svm.getSupportVectors()
    mixed = (0.6 * V + 0.4 * np.roll(V, 1, axis=0)).astype(np.float32)
    assert_agrees(model, svm, mixed)
    for suffix in (".xml", ".yml"):
        save(model, tmp_path / f"a{suffix}")
        again = cv2.ml.SVM_load(str(tmp_path / f"a{suffix}"))
        np.testing.assert_array_equal(again.getSupportVectors(), V)
        np.testing.assert_array_equal(answers(again, mixed)[1], answers(svm, mixed)[1])


# ---------------------------------------------------------------------------------------------------------
# Files that are wrong
# ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    model = random_model(PairVote(np.arange(3)), 3, m=4)
    for suffix in (".xml", ".yml"):
        save(model, folder / f"a{suffix}")
    return {suffix: (folder / f"a{suffix}").read_text() for suffix in (".xml", ".yml")}


BAD = [
    ("<sv_total>4<", "<sv_total>5<", "4 support vectors are there, and sv_total is 5"),
    ("<var_count>5<", "<var_count>6<", "support vector 0 has 5 features, and var_count is 6"),
    ("<var_count>5<", "<var_count>2000000000<", "has 5 features"),
    ("<type>RBF<", "<type>WAVE<", "the kernel 'WAVE' is none of LINEAR"),
    ("<svmType>C_SVC<", "<svmType>SVDD<", "the type 'SVDD' is none of C_SVC"),
    ("<gamma>0.7<", "<gamma>nan<", "has a number that is NaN or infinite"),
    ("<gamma>0.7<", "<gamma>-1<", "gamma of the rbf kernel must not be negative"),
    ("<gamma>0.7<", "<gamma>0.7 0.7<", "is not one number"),
    ("<gamma>0.7<", "<gamma>0_7<", "is not a list of numbers"),
    ("<gamma>0.7</gamma>", "", "there is no gamma"),
    ("<index>0 1 2 3<", "<index>0 1 2 4<", "names a vector that is not there: there are 4"),
    ("<index>0 1 2 3<", "<index>0 1 2 2<", "has 4 coefficients and names 3 vectors"),
    ("<index>0 1 2 3<", "<index>0 1 2 -1<", "names a vector that is not there"),
    ("<index>0 1 2 3<", "<index>0 1 2 0.5<", "is not a 32-bit integer"),
    ("<data>0 1 2<", "<data>0 1 1<", "must be two or more different numbers"),
    ("<data>0 1 2<", "<data>0 1 2 3<", "3 decision functions where there must be 6"),
    ("</opencv_storage>", "", "not well-formed XML"),
    ("<opencv_ml_svm>", "<opencv_ml_svm><sv_total>4</sv_total>", "<sv_total> is there twice"),
    ("opencv_storage>", "storage>", "root of OpenCV's XML is <opencv_storage>, not <storage>"),
    ("svmType>", "kind>", "which is not an SVM of OpenCV"),
    (
        "<opencv_storage>",
        '<!DOCTYPE a [<!ENTITY b "cccccccccc"><!ENTITY d "&b;&b;&b;">]><opencv_storage>',
        "line 2: a model needs no document type declaration",
    ),
    (
        "<opencv_storage>",
        '<!DOCTYPE a SYSTEM "file:///etc/passwd"><opencv_storage>',
        "a model needs no document type declaration",
    ),
    ("<opencv_storage>", "<opencv_storage>" + "<a>" * 100 + "</a>" * 100, "nested more than 64 deep"),
]


@pytest.mark.parametrize(("old", "new", "words"), BAD)
def test_wrong_xml(tmp_path, texts, old, new, words):
    assert old in texts[".xml"]
    (tmp_path / "a.xml").write_text(texts[".xml"].replace(old, new))
    with pytest.raises(FormatError, match=words) as caught:
        load(tmp_path / "a.xml", format="opencv")
    assert "a.xml" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("   sv_total: 4", "     sv_total: 4", "line 19: the indentation fits nothing above"),
        ("   sv_total: 4", "   sv_total 4", "line 19: expected 'key: value' with a new key, not 'sv_total 4'"),
        ("   sv_total: 4", "   sv_total: 4\n   sv_total: 4", "with a new key"),
        ("   sv_total: 4", "   sv_total: four", "sv_total of the model is not a list of numbers"),
    ],
)
def test_wrong_yaml(tmp_path, texts, old, new, words):
    assert old in texts[".yml"]
    (tmp_path / "a.yml").write_text(texts[".yml"].replace(old, new))
    with pytest.raises(FormatError, match=words):
        load(tmp_path / "a.yml")


@pytest.mark.parametrize("suffix", [".xml", ".yml"])
def test_a_file_that_ends_early_is_refused_or_whole(tmp_path, texts, suffix):
    """Cut anywhere but in the blanks at its end, a file is no model."""
    text = texts[suffix].rstrip()
    path = tmp_path / f"a{suffix}"
    for end in range(0, len(text), 29):
        path.write_text(text[:end])
        with pytest.raises(FormatError):
            load(path, format="opencv")


def test_bytes_that_are_no_text(tmp_path):
    for suffix in (".xml", ".yml"):
        path = Path(tmp_path) / f"a{suffix}"
        for content in (b"", b"\xff\xfe\x00", b"\x00" * 100, b"<", b"- a\n", b"a: [1, 2"):
            path.write_bytes(content)
            with pytest.raises(FormatError):
                load(path)
