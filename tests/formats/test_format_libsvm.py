"""LibSVM's text format against LibSVM itself: trained there and read here, written here and predicted there.

The oracle is LibSVM's own code: the programs ``svm-train``, ``svm-predict`` and ``svm-scale`` where they are installed,
and always the library behind ``libsvm-official``, which also gives decision values.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from libsvm import svmutil
from scipy import sparse
from sklearn.datasets import load_digits, make_blobs, make_regression
from sklearn.svm import SVC

from svmpress.compression import compress
from svmpress.decoders import Argmax, Identity, PairDAG, PairVote, Sign, pair_mask
from svmpress.errors import FormatError, InputError
from svmpress.formats import from_estimator, load, obstacles, save, save_cost
from svmpress.formats.ranges import beside, range_lines, read_range
from svmpress.kernels import RBF, Laplacian, Linear, Polynomial
from svmpress.model import KernelExpansion, KernelModel, Scaling

SVM_TYPES = ["c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"]
KERNELS = ["linear", "polynomial", "rbf", "sigmoid"]
TASKS = ["classification", "classification", "outlier", "regression", "regression"]
HAS_PROGRAMS = all(shutil.which(name) for name in ("svm-train", "svm-predict", "svm-scale"))
ORACLES = [
    "library",
    pytest.param(
        "programs", marks=pytest.mark.skipif(not HAS_PROGRAMS, reason="LibSVM's programs are not installed here")
    ),
]


# ---------------------------------------------------------------------------------------------------------
# The oracle
# ---------------------------------------------------------------------------------------------------------


def write_rows(path: Path, X, y) -> Path:
    """Write rows for LibSVM, every feature named, with all their digits."""
    with path.open("w") as f:
        for x, target in zip(X.tolist(), y.tolist(), strict=True):
            f.write(f"{target!r} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(x)) + "\n")
    return path


def run(*command: object) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def train(folder: Path, X, y, options: str, oracle: str) -> Path:
    """Return a model file that LibSVM trained and wrote."""
    path = folder / "trained.model"
    if oracle == "programs":
        run("svm-train", "-q", *options.split(), write_rows(folder / "train.svm", X, y), path)
    else:
        svmutil.svm_save_model(str(path), svmutil.svm_train(y, X, f"-q {options}"))
    return path


def predictions(folder: Path, model: Path, X, oracle: str = "library"):
    """Return the labels or values that LibSVM predicts, (n,)."""
    if oracle == "programs":
        rows = write_rows(folder / "test.svm", X, np.zeros(len(X)))
        run("svm-predict", rows, model, folder / "out.txt")
        return np.loadtxt(folder / "out.txt", ndmin=1)
    return values(model, X)[0]


def values(model: Path, X, function: str = "svm_predict_values"):
    """Return labels (n,) and decision values (n, M) of LibSVM's library for a model file, or its probabilities (n, K).

    The C functions are called directly: the package's own loop gives nu-SVC a buffer of one value and crashes.
    """
    loaded = svmutil.svm_load_model(str(model))
    assert loaded is not None, "LibSVM refused the file"
    K = loaded.get_nr_class()
    n_values = K if function == "svm_predict_probability" else K * (K - 1) // 2
    labels, outputs = [], []
    for x in X:
        nodes, _ = svmutil.gen_svm_nodearray(x)
        buffer = (ctypes.c_double * n_values)()
        labels.append(getattr(svmutil.libsvm, function)(loaded, nodes, buffer))
        outputs.append(list(buffer))
    return np.array(labels), np.array(outputs)


def assert_agrees(model: KernelModel, path: Path, X, oracle: str = "library") -> None:
    """Our answers for every row are LibSVM's: labels exactly, values to rounding."""
    labels, decisions = values(path, X)
    if model.task == "classification":
        ours = model.decision_values(X)
        ours = -ours if ours.shape[1] == 1 else ours
        scale = np.abs(decisions).max() + 1e-300
        np.testing.assert_allclose(ours / scale, decisions / scale, rtol=0, atol=1e-11)
        np.testing.assert_array_equal(model.predict(X), labels)
        np.testing.assert_array_equal(model.predict(X), predictions(path.parent, path, X, oracle))
    elif model.task == "outlier":
        np.testing.assert_allclose(model.decision_function(X), decisions[:, 0], rtol=1e-9, atol=1e-11)
        np.testing.assert_array_equal(model.predict(X), predictions(path.parent, path, X, oracle))
    else:
        np.testing.assert_allclose(model.predict(X), labels, rtol=1e-9, atol=1e-9)
        # svm-predict prints regression values with few digits
        np.testing.assert_allclose(model.predict(X), predictions(path.parent, path, X, oracle), rtol=1e-4, atol=1e-4)


def assert_same_text(ours: Path, theirs: Path) -> None:
    """Both files say the same, key by key and number by number."""
    a, b = ours.read_text().split(), theirs.read_text().split()
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        assert x == y or [float(v) for v in x.split(":")] == [float(v) for v in y.split(":")]


def data(task: str, n_classes: int = 3):
    if task == "regression":
        X, y = make_regression(80, 6, noise=3.0, random_state=0)
        return X, y / 50
    X, y = make_blobs(120, 6, centers=n_classes, cluster_std=4.0, random_state=n_classes)
    return X / 10, (y * 3 - 2).astype(float)


def digits(n_classes: int):
    X, y = load_digits(return_X_y=True)
    keep = y < n_classes
    X, y = X[keep] / 16, y[keep].astype(float)
    n = min(400, len(X) // 2)
    return X[:n], y[:n], X[n : n + 500]


# ---------------------------------------------------------------------------------------------------------
# Trained there, read here; written here, predicted there
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("kernel", range(4), ids=KERNELS)
@pytest.mark.parametrize("svm_type", range(5), ids=SVM_TYPES)
def test_every_type_and_kernel(tmp_path, svm_type, kernel, oracle):
    task = TASKS[svm_type]
    X, y = data(task)
    path = train(tmp_path, X, y, f"-s {svm_type} -t {kernel} -g 0.3 -r 0.5 -d 2 -n 0.2", oracle)
    model = load(path)
    assert (model.task, model.provenance["svm_type"]) == (task, SVM_TYPES[svm_type])
    assert_agrees(model, path, X, oracle)
    again = tmp_path / "again.model"
    save(model, again)
    assert save_cost(model, "libsvm") == model.n_vectors
    assert_same_text(again, path)
    assert_agrees(model, again, X, oracle)


@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("n_classes", [2, 10])
def test_digits(tmp_path, n_classes, oracle):
    X, y, T = digits(n_classes)
    path = train(tmp_path, X, y, "-c 10 -g 0.1", oracle)
    model = load(path)
    assert model.classes_.tolist() == list(dict.fromkeys(y.astype(int).tolist())), "in order of appearance"
    assert_agrees(model, path, T, oracle)
    ours = from_estimator(SVC(C=10, gamma=0.1).fit(X, y))
    save(ours, tmp_path / "ours.model")
    assert_agrees(ours, tmp_path / "ours.model", T, oracle)
    assert save_cost(ours, "libsvm") == ours.n_vectors


@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("svm_type", range(5), ids=SVM_TYPES)
def test_probabilities_are_kept(tmp_path, svm_type, oracle):
    X, y = data(TASKS[svm_type])
    if svm_type == 2 and oracle == "programs":
        oracle = "library"  # the programs of older distributions have no probabilities of one-class models
    path = train(tmp_path, X, y, f"-s {svm_type} -g 0.3 -n 0.2 -b 1", oracle)
    model = load(path)
    again = tmp_path / "again.model"
    save(model, again)
    wanted = {"classification": {"probA", "probB"}, "outlier": {"prob_density_marks"}, "regression": {"probA"}}
    assert set(model.probability) == wanted[model.task]
    assert_agrees(model, again, X, oracle)
    before, after = (values(p, X, "svm_predict_probability") for p in (path, again))
    if model.task == "regression":  # LibSVM adds these up on several threads, in an order of their own
        np.testing.assert_allclose(before[0], after[0], rtol=1e-12, atol=1e-12)
    else:
        np.testing.assert_array_equal(before[0], after[0])
    np.testing.assert_array_equal(before[1], after[1])


def test_probabilities_of_inliers_are_libsvms(tmp_path):
    """They are there from LibSVM 3.31 on; the answer is that of the sign, whatever the probability."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    problem = np.vstack([X, 3 * X[:40]])
    y = np.repeat([1.0, -1.0], [200, 40])
    theirs = svmutil.svm_train(y, problem, "-q -s 2 -n 0.2 -g 0.3 -b 1")
    path, again = tmp_path / "a.model", tmp_path / "again.model"
    svmutil.svm_save_model(str(path), theirs)
    theirs = svmutil.svm_load_model(str(path))  # with the digits of the file
    ours = load(path)
    assert ours.has_probability
    save(ours, again)
    for model, name in ((ours, path), (load(again), again)):
        labels, _, both = svmutil.svm_predict(y, problem, svmutil.svm_load_model(str(name)), "-q -b 1")
        np.testing.assert_array_equal(model.predict_proba(problem)[:, ::-1], np.array(both))
        np.testing.assert_array_equal(model.predict(problem), labels)
    assert len(np.unique(ours.predict_proba(problem)[:, 1])) > 8
    small = compress(ours, problem, ratio=0.5)
    assert small.model.has_probability
    assert small.probabilities.difference < 0.1


def test_marks_of_a_density_are_in_ascending_order(tmp_path):
    X, _ = data("outlier")
    path = train(tmp_path, X, np.ones(len(X)), "-s 2 -g 0.3 -n 0.2 -b 1", "library")
    lines = path.read_text().splitlines()
    k = next(k for k, line in enumerate(lines) if line.startswith("prob_density_marks"))
    lines[k] = " ".join(["prob_density_marks", *reversed(lines[k].split()[1:])])
    (tmp_path / "b.model").write_text("\n".join(lines) + "\n")
    with pytest.raises(FormatError, match="prob_density_marks are not in ascending order"):
        load(tmp_path / "b.model")
    model = load(path)
    wrong = replace(model, probability={"prob_density_marks": -model.probability["prob_density_marks"]})
    assert "ascending" in obstacles(wrong, "libsvm")[0]
    with pytest.raises(InputError, match="must be in ascending order"):
        wrong.predict_proba(X)


def test_every_number_survives_though_libsvm_writes_fewer_digits(tmp_path):
    rng = np.random.default_rng(0)
    f = KernelExpansion(RBF(1 / 3), rng.normal(size=(5, 4)), rng.normal(size=(5, 1)), rng.normal(size=1))
    model = KernelModel(f, Sign(np.array([1, -1])))
    save(model, tmp_path / "a.model")
    assert_agrees(model, tmp_path / "a.model", rng.normal(size=(50, 4)))
    back = load(tmp_path / "a.model").expansion
    order = np.argsort(np.signbit(-f.coef[:, 0]), kind="stable")
    np.testing.assert_array_equal(back.vectors, f.vectors[order])
    np.testing.assert_array_equal(back.coef, f.coef[order])
    np.testing.assert_array_equal(back.intercept, f.intercept)


def test_vectors_are_sparse_or_dense_as_they_deserve(tmp_path):
    rng = np.random.default_rng(0)
    V = np.where(rng.random((20, 50)) < 0.1, rng.normal(size=(20, 50)), 0.0)
    V[:, -1] = 0
    for vectors in (V, sparse.csr_array(V)):
        f = KernelExpansion(Linear(), vectors, rng.normal(size=(20, 1)), np.zeros(1))
        save(KernelModel(f, Identity(), "regression"), tmp_path / "a.model")
        back = load(tmp_path / "a.model")
        assert sparse.issparse(back.expansion.vectors)
        np.testing.assert_array_equal(back.expansion.vectors.toarray(), V)
        assert (tmp_path / "a.model").read_text().count(":0 ") == 1, "the last feature is named once"
        assert_agrees(back, tmp_path / "a.model", rng.normal(size=(30, 50)))


# ---------------------------------------------------------------------------------------------------------
# Models that LibSVM could not have trained
# ---------------------------------------------------------------------------------------------------------


def random_model(decoder, M: int, kernel=None, m: int = 8, mask=None, task="classification"):
    kernel = kernel or RBF(0.7)
    rng = np.random.default_rng(M)
    coef = rng.normal(size=(m, M))
    coef = coef if mask is None else np.where(mask, coef, 0.0)
    return KernelModel(KernelExpansion(kernel, rng.normal(size=(m, 4)), coef, rng.normal(size=M) / 5), decoder, task)


@pytest.mark.parametrize("K", [3, 5])
@pytest.mark.parametrize("kind", ["shared", "argmax", "masked", "fits", "float32"])
def test_shared_models_are_copied_and_the_cost_is_known_before(tmp_path, kind, K):
    labels = np.arange(K)
    mask = pair_mask(np.arange(8) % K, K)
    pairs = K * (K - 1) // 2
    model = {
        "shared": lambda: random_model(PairVote(labels), pairs),
        "argmax": lambda: random_model(Argmax(labels), K),
        "fits": lambda: random_model(PairVote(labels), pairs, mask=mask),
        "masked": lambda: random_model(PairVote(labels, "ovo"), pairs, mask=mask),
        "float32": lambda: random_model(PairVote(labels), pairs),
    }[kind]()
    if kind == "float32":
        f = model.expansion
        small = [a.astype(np.float32) for a in (f.vectors, f.coef, f.intercept)]
        model = KernelModel(KernelExpansion(f.kernel, *small), model.decoder)
    assert save_cost(model, "libsvm") == (8 if kind in ("masked", "fits") else 8 * (K - 1))
    path = tmp_path / "a.model"
    save(model, path)
    assert int(path.read_text().split("total_sv ")[1].split()[0]) == save_cost(model, "libsvm")
    X = np.random.default_rng(9).normal(size=(300, 4))
    np.testing.assert_array_equal(model.predict(X), values(path, X)[0])
    assert_agrees(load(path), path, X)


@pytest.mark.parametrize("decoder", [Argmax, PairVote, PairDAG])
def test_two_classes_in_any_dress(tmp_path, decoder):
    model = random_model(decoder(np.array([7, -7])), 2 if decoder is Argmax else 1)
    save(model, tmp_path / "a.model")
    X = np.random.default_rng(9).normal(size=(300, 4))
    np.testing.assert_array_equal(model.predict(X), values(tmp_path / "a.model", X)[0])
    assert_agrees(load(tmp_path / "a.model"), tmp_path / "a.model", X)


@pytest.mark.parametrize("labels", [np.array([0.0, 1.0, 5.0]), np.array([0, 1, 5], dtype=np.uint8)])
def test_labels_that_are_integers_in_other_types(tmp_path, labels):
    save(random_model(PairVote(labels), 3), tmp_path / "a.model")
    assert load(tmp_path / "a.model").classes_.tolist() == [0, 1, 5]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (random_model(Sign(np.array(["a", "b"])), 1), "are integers, not text"),
        (random_model(Sign(np.array([0.5, 1])), 1), "32-bit integers"),
        (random_model(Sign(np.array([0, 2**31])), 1), "32-bit integers"),
        (random_model(Sign(np.array([0, 1])), 1, Laplacian(1.0)), "no laplacian kernel"),
        (random_model(Sign(np.array([0, 1])), 1, Polynomial(1.0, 0.0, 2.5)), "is an integer, not 2.5"),
        (random_model(Identity(), 2, task="regression"), "one output, not 2"),
        (random_model(PairDAG(np.arange(3)), 3), "by votes, not by a DAG"),
        (random_model(PairVote(np.arange(3), break_ties=True), 3), "does not break ties"),
        (random_model(Sign(np.array([0, 1])), 1, task="outlier"), "answer -1 and 1"),
        (
            KernelModel(
                random_model(Identity(), 1, task="regression").expansion,
                Identity(),
                "regression",
                scaling=Scaling(None, np.full(4, 1e-320)),
            ),
            "too extreme",
        ),
        (
            KernelModel(
                random_model(Sign(np.arange(2)), 1).expansion, Sign(np.arange(2)), probability={"probA": np.ones(1)}
            ),
            "probability parameters",
        ),
    ],
    ids=lambda p: p if isinstance(p, str) else "",
)
def test_what_the_format_cannot_hold_is_said_and_nothing_written(tmp_path, model, words):
    assert any(words in found for found in obstacles(model, "libsvm"))
    with pytest.raises(FormatError, match=words):
        save(model, tmp_path / "a.model")
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------------------------------------------
# Other writers
# ---------------------------------------------------------------------------------------------------------

BINARY = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 3
rho 0.25
label 1 -1
nr_sv 2 1
SV
0.5 1:1 3:-2
0.25 2:0.125
-0.75
"""


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def assert_is_binary_model(model: KernelModel) -> None:
    assert model.classes_.tolist() == [1, -1]
    np.testing.assert_array_equal(model.expansion.vectors, [[1, 0, -2], [0, 0.125, 0], [0, 0, 0]])
    np.testing.assert_array_equal(model.expansion.coef, [[-0.5], [-0.25], [0.75]])
    np.testing.assert_array_equal(model.expansion.intercept, [0.25])
    assert model.kernel == RBF(0.5)


def test_the_smallest_file_means_what_libsvm_says(tmp_path):
    path = write(tmp_path / "a.model", BINARY)
    assert_is_binary_model(load(path))
    assert_agrees(load(path), path, np.random.default_rng(0).normal(size=(20, 3)))


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.replace("\n", "\r\n"),
        lambda t: t.replace("\n", " \n"),
        lambda t: t.replace(" ", "\t"),
        lambda t: t.replace(" ", "   "),
        lambda t: t + "\n\n  \n",
        lambda t: "\ufeff" + t,
        lambda t: "\n" + t,
        lambda t: "\n".join([*t.split("\n")[:8][::-1], *t.split("\n")[8:]]),
        lambda t: t.replace("1:1 3:-2", "3:-2 1:1"),
        lambda t: t.replace("1:1 3:-2", "1:1e0 2:0 3:-2.0"),
        lambda t: t.replace("label 1", "label +1"),
    ],
    ids=[
        "crlf",
        "trailing blanks",
        "tabs",
        "blanks",
        "blank end",
        "bom",
        "blank start",
        "key order",
        "index order",
        "explicit zero",
        "plus",
    ],
)
def test_the_same_model_written_by_others(tmp_path, change):
    assert_is_binary_model(load(write(tmp_path / "a.model", change(BINARY))))


def test_thundersvm(tmp_path):
    """ThunderSVM ends its lists and SV with a blank, and adds the weights of a linear model on a line of their own."""
    X, y = data("classification")
    y = np.unique(y, return_inverse=True)[1] + 1
    theirs = train(tmp_path, X, y.astype(float), "-t 0", "library").read_text()
    header, vectors = theirs.split("SV\n")
    lines = [
        line if line.startswith(("svm", "kernel", "nr_class", "total")) else line + " "
        for line in header.strip().split("\n")
    ]
    weights = "coef \n" + "0.1234567890123456 -1e-05 " * 9 + "\n"
    path = write(tmp_path / "thunder.model", "\n".join(lines) + "\n" + weights + "SV \n" + vectors)
    assert_agrees(load(path), tmp_path / "trained.model", X)
    empty = write(tmp_path / "empty.model", "\n".join(lines) + "\ncoef \n\nSV \n" + vectors)
    assert_agrees(load(empty), tmp_path / "trained.model", X)


def test_features_counted_from_zero(tmp_path):
    """The data file decides where counting starts; LibSVM takes index 0 for a feature like any other."""
    text = BINARY.replace("1:1 3:-2", "0:1 2:-2").replace("2:0.125", "1:0.125")
    model = load(write(tmp_path / "a.model", text))
    assert_is_binary_model(model)
    save(model, tmp_path / "b.model")
    assert "0.5 0:1 2:-2 " in (tmp_path / "b.model").read_text()
    assert_is_binary_model(load(tmp_path / "b.model"))


# ---------------------------------------------------------------------------------------------------------
# Scaling: the range file beside the model
# ---------------------------------------------------------------------------------------------------------


def scaled_model(shift, factor):
    model = random_model(Sign(np.array([-1, 1])), 1)
    return KernelModel(model.expansion, model.decoder, scaling=Scaling(shift, np.array(factor)))


SCALINGS = [
    (np.array([1.0, -2.0, 1e6, 0.1]), [1 / 3, 10.0, 1e3, 0.0]),
    (None, [0.1, 1 / 7, 3.3, 1.0]),
    (np.array([0.0, 5.0, -5.0, 1e-3]), [-1.5, 1e-6, 1e6, 2.0]),
]


@pytest.mark.parametrize(("shift", "factor"), SCALINGS)
def test_a_scaling_survives_bit_by_bit(tmp_path, shift, factor):
    model = scaled_model(shift, factor)
    save(model, tmp_path / "a.model")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.model", "a.model.range"]
    back = load(tmp_path / "a.model").scaling
    np.testing.assert_array_equal(back.factor, model.scaling.factor)
    assert (back.shift is None) == (shift is None)
    np.testing.assert_array_equal(back.shift if shift is not None else 0, shift if shift is not None else 0)


@pytest.mark.skipif(not HAS_PROGRAMS, reason="LibSVM's programs are not installed here")
@pytest.mark.parametrize(("shift", "factor"), SCALINGS)
def test_svm_scale_reads_our_range_files(tmp_path, shift, factor):
    model = scaled_model(shift, factor)
    save(model, tmp_path / "a.model")
    X = np.random.default_rng(3).normal(size=(40, 4)) + (0 if shift is None else shift)
    rows = write_rows(tmp_path / "rows.svm", X, np.zeros(40))
    scaled = tmp_path / "scaled.svm"
    scaled.write_text(run("svm-scale", "-r", tmp_path / "a.model.range", rows))
    theirs = np.zeros((40, 4))
    for i, line in enumerate(scaled.read_text().splitlines()):
        for token in line.split()[1:]:
            j, v = token.split(":")
            theirs[i, int(j) - 1] = float(v)
    np.testing.assert_allclose(theirs, model.scaling(X), rtol=1e-5, atol=1e-7)  # svm-scale prints 6 digits
    out = predictions(tmp_path, tmp_path / "a.model", theirs, "programs")
    sure = np.abs(model.decision_function(X)) > 1e-3
    assert sure.sum() > 20
    np.testing.assert_array_equal(model.predict(X)[sure], out[sure])


@pytest.mark.skipif(not HAS_PROGRAMS, reason="LibSVM's programs are not installed here")
@pytest.mark.parametrize("limits", ["-l 0 -u 1", "-l -1 -u 1", "-l -2 -u 5"])
def test_we_read_the_range_files_of_svm_scale(tmp_path, limits):
    X, y, T = digits(10)
    X[:, 0] = T[:, 0] = 0.75  # a feature that never changes is not in the file
    rows = write_rows(tmp_path / "train.svm", X, y)
    scaled = run("svm-scale", *limits.split(), "-s", tmp_path / "a.model.range", rows)
    (tmp_path / "scaled.svm").write_text(scaled)
    run("svm-train", "-q", "-g", "0.02", tmp_path / "scaled.svm", tmp_path / "a.model")
    model = load(tmp_path / "a.model")
    assert model.n_features == 64
    assert model.scaling.factor[0] == 0
    test = write_rows(tmp_path / "t.svm", T, np.zeros(len(T)))
    (tmp_path / "t.scaled").write_text(run("svm-scale", "-r", tmp_path / "a.model.range", test))
    run("svm-predict", tmp_path / "t.scaled", tmp_path / "a.model", tmp_path / "out.txt")
    agreement = np.mean(model.predict(T) == np.loadtxt(tmp_path / "out.txt"))
    assert agreement > 0.99, "svm-scale prints 6 digits: only rows on a boundary may differ"


def test_a_range_file_that_is_no_longer_true_goes_with_its_model(tmp_path):
    plain = random_model(Sign(np.array([-1, 1])), 1)
    save(scaled_model(*SCALINGS[0]), tmp_path / "a.model")
    save(plain, tmp_path / "a.model")
    assert not beside(tmp_path / "a.model").exists()
    assert load(tmp_path / "a.model").scaling is None


def test_a_range_file_of_somebody_else_is_not_applied_to_a_new_model(tmp_path):
    ranges = beside(tmp_path / "a.model")
    ranges.write_text("x\n0 1\n1 0 1\n")
    with pytest.raises(FormatError, match="would be applied to the model when it is read"):
        save(random_model(Sign(np.array([-1, 1])), 1), tmp_path / "a.model")
    assert [p.name for p in tmp_path.iterdir()] == ["a.model.range"]
    save(scaled_model(*SCALINGS[0]), tmp_path / "a.model")
    np.testing.assert_array_equal(load(tmp_path / "a.model").scaling.shift, SCALINGS[0][0])


def test_a_range_file_may_have_more_features_than_the_vectors_show(tmp_path):
    write(tmp_path / "a.model", BINARY)
    write(beside(tmp_path / "a.model"), "x\n-1 1\n1 0 2\n2 0 4\n5 1 3\n")
    model = load(tmp_path / "a.model")
    assert model.n_features == 5
    np.testing.assert_array_equal(model.scaling(np.array([[2.0, 2, 9, 9, 1]])), [[1, 0, 0, 0, -1]])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("y\n-1 1\n0 9\nx\n0 1\n1 0 1\n", "scales the target too"),
        ("1 2 3\n", "line 1: a range file of svm-scale starts"),
        ("", "line 1"),
        ("x\n", "line 1"),
        ("x\n0\n1 0 1\n", "line 2: expected 2 numbers"),
        ("x\n1 1\n1 0 1\n", "lower and upper are equal"),
        ("x\n0 1\n1 0\n", "line 3: expected 3 numbers, not '1 0'"),
        ("x\n0 1\n1 0 nan\n", "line 3: expected 3 numbers"),
        ("x\n0 1\n1 0 1\n2 0 0.1", "ends in the middle of line 4"),
        ("x\n0 1\n1 0 1\n1 0 1\n", "distinct"),
        ("x\n0 1\n999999999999 0 1\n", "line 3: features must be distinct, their numbers at most"),
        ("x\n0 1\n1 0 1e999999999\n", "line 3: expected 3 numbers"),
        ("x\n0 1e-999999999\n1 0 1\n", "lower and upper are equal"),
        ("x\n0 1\n1 0 1_0\n", "line 3: expected 3 numbers"),
        ("x\n0 1\n1.5 0 1\n", "distinct"),
        ("x\n-1 1\n1 0 1e-320\n", "line 3: this range overflows"),
        ("x\n0 1\n1 0 1\n\u00e9\n", "not plain text"),
    ],
)
def test_a_broken_range_file_is_refused(tmp_path, text, words):
    write(tmp_path / "a.model", BINARY)
    write(beside(tmp_path / "a.model"), text)
    with pytest.raises(FormatError, match=words):
        load(tmp_path / "a.model")


def test_range_files_of_random_scalings(tmp_path):
    rng = np.random.default_rng(0)
    factor = np.exp(rng.uniform(-30, 30, size=5000)) * rng.choice([-1, 1], size=5000)
    shift = rng.normal(size=5000) * np.exp(rng.uniform(-30, 30, size=5000))
    write(tmp_path / "range", "\n".join(range_lines(Scaling(shift, factor))) + "\n")
    back = read_range(tmp_path / "range", (tmp_path / "range").read_text().split("\n"), 5000)
    np.testing.assert_array_equal(back.factor, factor)
    np.testing.assert_array_equal(back.shift, shift)
