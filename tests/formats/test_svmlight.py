"""SVM-light's files: the real one against its formula by a naive loop, written ones against LibSVM's machines."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import SVC

from real_models import real_model
from svmpress.cli import main
from svmpress.decoders import Identity, PairVote, Sign
from svmpress.errors import FormatError
from svmpress.formats import load, obstacles, save
from svmpress.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid
from svmpress.model import KernelExpansion, KernelModel

TEXT = """SVM-light Version V6.02
{kind} # kernel type
3 # kernel parameter -d 
0.5 # kernel parameter -g 
0.25 # kernel parameter -s 
2 # kernel parameter -r 
empty# kernel parameter -u 
4 # highest feature index 
17 # number of training documents 
4 # number of support vectors plus 1 
-0.75 # threshold b, each following line is a SV (starting with alpha*y)
0.5 1:0.25 3:-1 #
-1.25 2:2 #the second
3 1:1 2:-1 3:0.5 #
"""  # noqa: W291
KERNELS = {
    0: lambda a, b: a @ b,
    1: lambda a, b: (0.25 * (a @ b) + 2) ** 3,
    2: lambda a, b: math.exp(-0.5 * ((a - b) @ (a - b))),
    3: lambda a, b: math.tanh(0.25 * (a @ b) + 2),
}
V = np.array([[0.25, 0, -1, 0], [0, 2, 0, 0], [1, -1, 0.5, 0]])
ALPHA = np.array([0.5, -1.25, 3])
ROWS = np.random.default_rng(0).normal(size=(40, 4))


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize("kind", KERNELS)
def test_answers_are_those_of_the_formula(tmp_path, kind):
    model = load(written(tmp_path / "svm_model", TEXT.format(kind=kind)))
    wanted = [sum(a * KERNELS[kind](v, x) for a, v in zip(ALPHA, V, strict=True)) + 0.75 for x in ROWS]
    np.testing.assert_allclose(model.decision_function(ROWS), wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.predict(ROWS), np.where(np.array(wanted) > 0, 1, -1))
    assert model.n_features == 4
    save(model, tmp_path / "a.svmlight")
    again = load(tmp_path / "a.svmlight")
    np.testing.assert_array_equal(again.decision_function(ROWS), model.decision_function(ROWS))


def test_the_real_model(tmp_path):
    """AlloPred's, of SVM-light 6.02: 1,520 vectors of 7 features."""
    path = real_model("svmlight_allopred.txt")
    model = load(path)
    lines = path.read_text().split("\n")[11:]
    machine = [line.split("#")[0].split() for line in lines if line]
    alpha = np.array([float(tokens[0]) for tokens in machine])
    vectors = np.array([[float(t.split(":")[1]) for t in tokens[1:]] for tokens in machine])
    rows = vectors[::20] * 0.5 + vectors[5::20] * 0.5
    wanted = [alpha @ np.exp(-1e-4 * ((vectors - x) ** 2).sum(axis=1)) + 0.95992754 for x in rows]
    assert (model.n_vectors, model.n_features) == (1520, 7)
    np.testing.assert_allclose(model.decision_function(rows), wanted, atol=1e-8)
    save(model, tmp_path / "a.svmlight")
    np.testing.assert_array_equal(load(tmp_path / "a.svmlight").expansion.vectors, model.expansion.vectors)


def test_a_machine_of_libsvm_is_the_same_here(tmp_path):
    X, y = ROWS, np.where(ROWS[:, 0] > 0, 1, -1)
    svc = SVC(gamma=0.5).fit(X, y)
    save(svc, tmp_path / "a.svmlight")
    np.testing.assert_allclose(load(tmp_path / "a.svmlight").decision_function(X), svc.decision_function(X), rtol=1e-9)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(0.3, 1.0, 2), RBF(0.7), Sigmoid(0.2, -0.5)])
def test_regressions_say_so(tmp_path, kernel):
    rng = np.random.default_rng(1)
    f = KernelExpansion(kernel, rng.normal(size=(5, 4)), rng.normal(size=(5, 1)), rng.normal(size=1))
    model = KernelModel(f, Identity(), "regression")
    save(model, tmp_path / "a.svmlight")
    np.testing.assert_array_equal(load(tmp_path / "a.svmlight").predict(ROWS), model.predict(ROWS))


def test_wider_rows_are_read_as_those_of_libsvm(tmp_path, capsys):
    model = written(tmp_path / "svm_model", TEXT.format(kind=2))
    rows = written(tmp_path / "rows.svm", "1 1:0.25 3:-1 9:1\n-1 2:2\n")
    assert main(["predict", str(model), str(rows)]) == 0
    assert capsys.readouterr().out == "1\n-1\n"


def test_a_model_is_no_data(tmp_path, capsys):
    model = written(tmp_path / "svm_model", TEXT.format(kind=2))
    assert main(["predict", str(model), str(model)]) == 2
    assert "is a model, not data" in capsys.readouterr().err


def test_a_range_file_beside_it_is_applied(tmp_path):
    model = written(tmp_path / "m.txt", TEXT.format(kind=2))
    written(tmp_path / "m.range", "x\n-1 1\n" + "".join(f"{j} 0 10\n" for j in range(1, 5)))
    plain = load(model, ranges="none")
    np.testing.assert_allclose(load(model).predict(5 * ROWS + 5), plain.predict(ROWS))
    with pytest.raises(FormatError, match=r"m\.range is there and would be applied"):
        save(plain, tmp_path / "m.svmlight")


def test_obstacles_are_said():
    f = KernelExpansion(RBF(0.5), V, ALPHA[:, None], np.zeros(1))
    for model, words in (
        (KernelModel(f, Sign(np.array([0, 1]))), "which are -1 and 1"),
        (KernelModel(f, PairVote(np.array([-1, 1]))), "which are -1 and 1"),
        (KernelModel(f, Sign(np.array([-1, 1]), zero_class=0), "outlier"), "no one-class models"),
        (KernelModel(KernelExpansion(Laplacian(1), V, f.coef, f.intercept), Identity(), "regression"), "no laplacian"),
        (KernelModel(f, Sign(np.array([-1, 1])), probability={"probA": np.ones(1)}), "no place for probability"),
    ):
        assert words in "; ".join(obstacles(model, "svmlight"))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("2 # kernel type", "4 # kernel type", "the kernel type is 4; svmpress reads 0 to 3"),
        ("2 # kernel type", "two # kernel type", "the kernel type is 'two', which is no number"),
        ("0.5 # kernel parameter -g", "-0.5 # kernel parameter -g", "gamma of the rbf kernel must not be negative"),
        ("0.5 # kernel parameter -g", "nan # kernel parameter -g", "is 'nan', which is no number"),
        ("17 # number of training documents \n", "", "line 9: expected a value and '# number of training documents'"),
        ("4 # number of support", "5 # number of support", "3 of 4 vectors are there, the file looks truncated"),
        ("4 # highest", "999999999999 # highest", "must be from 1 to 2147483647"),
        ("3:-1", "3:nan", "line 12: a coefficient or a feature is NaN or infinite"),
        ("3:-1", "3", "line 12: expected a coefficient, then index:value pairs"),
        ("3:-1", "0:-1", "line 12: a feature index is outside"),
        ("3:-1", "99999999:-1", "asks for 99,999,999 features"),
        ("3:-1", "1:-1", "line 12: a feature is there twice"),
        ("3:-1", "3:1_0", "line 12: expected a coefficient"),
        ("0.5 #\n", "0.5 #", "line 14: the file ends in the middle of this line"),
    ],
)
def test_wrong_files(tmp_path, old, new, words):
    text = TEXT.format(kind=2)
    assert old in text
    with pytest.raises(FormatError, match=words):
        load(written(tmp_path / "a", text.replace(old, new)))


def test_the_vectors_themselves_say_how_many_features_there_are(tmp_path):
    text = TEXT.format(kind=2).replace("4 # highest", "0 # highest")
    assert load(written(tmp_path / "a", text)).n_features == 3


def test_a_file_that_ends_early_is_refused(tmp_path):
    text = TEXT.format(kind=2)
    for end in range(len("SVM-light Version"), len(text) - 1, 7):
        with pytest.raises(FormatError):
            load(written(tmp_path / "a", text[:end]))
