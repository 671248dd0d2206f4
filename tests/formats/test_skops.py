"""skops files: what skops itself writes and reads, and what it must not be given."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.kernel_ridge import KernelRidge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

import svmpress
from svmpress.cli import main
from svmpress.decoders import PairDAG, PairVote
from svmpress.errors import FormatError
from svmpress.formats import from_estimator, load, obstacles, save, save_cost
from svmpress.kernels import RBF
from svmpress.model import KernelExpansion, KernelModel

skops_io = pytest.importorskip("skops.io", reason="the extra skops is not installed")

X, Y = load_iris(return_X_y=True)
WORDS = np.array(["a", "b", "c"])[Y]


def not_known_to_skops(X):
    return 2 * X


ESTIMATORS = [
    SVC().fit(X, Y),
    SVC(kernel="poly", degree=2).fit(X, WORDS),
    SVC().fit(X, Y > 0),
    SVC().fit(sparse.csr_matrix(X), Y),
    make_pipeline(StandardScaler(), SVC()).fit(X, Y),
    OneVsRestClassifier(SVC()).fit(X, Y),
    SVR().fit(X, X[:, 0]),
    OneClassSVM(nu=0.2).fit(X),
    KernelRidge(kernel="laplacian").fit(X, X[:, :2]),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_there_and_back(tmp_path, estimator):
    skops_io.dump(estimator, tmp_path / "theirs.skops")
    model = load(tmp_path / "theirs.skops")
    np.testing.assert_array_equal(model.predict(X), from_estimator(estimator).predict(X))
    save(model, tmp_path / "ours.skops")
    named = skops_io.get_untrusted_types(file=tmp_path / "ours.skops")
    assert all(name.startswith("scipy.sparse") for name in named)
    theirs = skops_io.load(tmp_path / "ours.skops", trusted=named)
    rows = sparse.csr_matrix(X) if sparse.issparse(model.expansion.vectors) else X
    compare = np.testing.assert_allclose if model.task == "regression" else np.testing.assert_array_equal
    compare(theirs.predict(rows), model.predict(X))
    save(load(tmp_path / "ours.skops"), tmp_path / "again.skops")
    assert (tmp_path / "again.skops").read_bytes() == (tmp_path / "ours.skops").read_bytes()


def test_a_compressed_model(tmp_path):
    small = svmpress.compress(SVC().fit(X, Y), X, Y, vectors=9, layout="libsvm").model
    save(small, tmp_path / "small.skops")
    np.testing.assert_array_equal(skops_io.load(tmp_path / "small.skops").predict(X), small.predict(X))


def test_an_svc_has_vectors_by_class(tmp_path, capsys):
    """As a LibSVM file: the command line asks for that layout, and says what copies another needs."""
    rng = np.random.default_rng(0)
    f = KernelExpansion(RBF(0.5), rng.normal(size=(9, 4)), rng.normal(size=(9, 3)), rng.normal(size=3))
    shared = KernelModel(f, PairVote(np.arange(3)))
    save(shared, tmp_path / "a.skops")
    assert load(tmp_path / "a.skops").n_vectors == save_cost(shared, "skops") == 18
    assert save_cost(from_estimator(OneVsRestClassifier(SVC()).fit(X, Y)), "skops") < 200
    save(SVC().fit(X, Y), tmp_path / "big.model")
    assert main(["compress", str(tmp_path / "big.model"), "-o", str(tmp_path / "s.skops"), "--vectors", "9"]) == 0
    assert load(tmp_path / "s.skops").n_vectors == 9
    save(shared, tmp_path / "shared.svmpress")
    assert main(["export", str(tmp_path / "shared.svmpress"), "-o", str(tmp_path / "e.skops")]) == 0
    assert "the skops format needs 18 vectors for the 9 of the model" in capsys.readouterr().err


def test_other_types_are_named_and_never_built(tmp_path):
    pipeline = make_pipeline(FunctionTransformer(not_known_to_skops), SVC()).fit(X, Y)
    skops_io.dump(pipeline, tmp_path / "a.skops")
    with pytest.raises(FormatError, match=r"holds .*not_known_to_skops, which skops does not trust: review that"):
        load(tmp_path / "a.skops")


def test_estimators_that_are_no_svm(tmp_path):
    skops_io.dump(KMeans(2, random_state=0).fit(X), tmp_path / "a.skops")
    with pytest.raises(FormatError, match=r"a\.skops: KMeans cannot be converted"):
        load(tmp_path / "a.skops")
    skops_io.dump([1, 2], tmp_path / "a.skops")
    with pytest.raises(FormatError, match="list cannot be converted"):
        load(tmp_path / "a.skops")


def test_obstacles_are_those_of_scikit_learn():
    model = from_estimator(SVC().fit(X, Y))
    dag = model.with_decoder(PairDAG(np.arange(3)))
    assert obstacles(dag, "skops") == obstacles(dag, "sklearn") != []
    words = model.with_decoder(type(model.decoder)(np.array(["a", "b", "c"], dtype=object)))
    assert "no class labels that are Python objects" in obstacles(words, "skops")[0]


# ---------------------------------------------------------------------------------------------------------
# Files that are wrong
# ---------------------------------------------------------------------------------------------------------


def changed(tmp_path, change, compression=zipfile.ZIP_STORED):
    """Write a file of skops after ``change(members)``, a dict of their bytes."""
    with zipfile.ZipFile(io.BytesIO(skops_io.dumps(SVC().fit(X, Y)))) as z:
        members = {name: z.read(name) for name in z.namelist()}
    change(members)
    with zipfile.ZipFile(tmp_path / "b.skops", "w", compression) as z:
        for name, content in members.items():
            z.writestr(name, content)
    return tmp_path / "b.skops"


def array(members):
    return next(name for name in members if name.endswith(".npy") and len(members[name]) > 1000)


def claim(members):
    """Let an array say that it is a hundred gigabytes."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (10**10, 1)})
    members[array(members)] = stream.getvalue()


def unpack(members):
    members["1.npy"] = b"\0" * 90_000_000


def pickled(members):
    stream = io.BytesIO()
    np.save(stream, np.array([{}], dtype=object), allow_pickle=True)
    members[array(members)] = stream.getvalue()


def without(key):
    def change(members):
        schema = json.loads(members["schema.json"])
        schema["content"]["content"].pop(key)
        members["schema.json"] = json.dumps(schema).encode()

    return change


def schema(text):
    return lambda members: members.update({"schema.json": text})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (claim, "an array claims other bytes than it has"),
        (unpack, "and unfolds to"),
        (pickled, "an array claims other bytes than it has"),
        (lambda members: members.pop("schema.json"), "without schema.json"),
        (lambda members: members.pop(array(members)), "is damaged"),
        (schema(b"{"), "is damaged"),
        (schema(b"[]"), "is damaged"),
        (schema(b"{}"), "is damaged"),
        (schema(b'{"a":' * 100_000), "is damaged"),
        (without("support_vectors_"), "holds a damaged SVC: AttributeError"),
        (without("kernel"), "holds a damaged SVC: AttributeError"),
        (without("classes_"), "holds a damaged SVC|not fitted"),
    ],
)
def test_wrong_files(tmp_path, change, words):
    path = changed(tmp_path, change, zipfile.ZIP_DEFLATED)
    with pytest.raises(FormatError, match=words) as caught:
        load(path)
    assert "b.skops" in str(caught.value)


def test_few_bytes_do_not_make_a_large_table(tmp_path):
    """An SVC of many classes has a pair of each two; its file has a coefficient for each class."""
    svc, K = SVC().fit(X, Y), 2000
    svc.classes_, svc._n_support = np.arange(K), np.ones(K, dtype=np.int32)
    svc.support_vectors_, svc.support_ = np.zeros((K, 1)), np.arange(K, dtype=np.int32)
    svc.dual_coef_ = svc._dual_coef_ = np.zeros((K - 1, K), dtype=np.float64)
    (tmp_path / "a.skops").write_bytes(skops_io.dumps(svc, compression=zipfile.ZIP_DEFLATED))
    with pytest.raises(FormatError, match=r"2000 vectors and 1999000 machines make more numbers|100 times its size"):
        load(tmp_path / "a.skops")


@pytest.mark.parametrize("content", [b"", b"PK\3\4", b"svm_type c_svc\n", b"\0" * 100])
def test_files_that_are_none(tmp_path, content):
    (tmp_path / "a.skops").write_bytes(content)
    with pytest.raises(FormatError, match=r"a\.skops is not a skops file, or is damaged"):
        load(tmp_path / "a.skops")
