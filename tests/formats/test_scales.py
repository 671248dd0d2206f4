"""Scale files beside model files, named on the command line, or of R, and rows that are scaled otherwise."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_iris
from sklearn.svm import SVC, SVR

import svmpress
from svmpress.cli import main
from svmpress.errors import FormatError, InputError, SvmpressWarning
from svmpress.formats import companions, from_estimator, load, save
from svmpress.model import doubt_of_scale

X, Y = load_iris(return_X_y=True)
LOW, HIGH = X.min(axis=0), X.max(axis=0)
SCALED = 2 * (X - LOW) / (HIGH - LOW) - 1
RANGE = "x\n-1 1\n" + "".join(f"{j + 1} {a!r} {b!r}\n" for j, (a, b) in enumerate(zip(LOW.tolist(), HIGH.tolist())))  # noqa: B905


@pytest.fixture
def folder(tmp_path):
    """What LibSVM's easy.py leaves: a model of scaled rows, and the range file under the name of the data."""
    save(SVC().fit(SCALED, Y), tmp_path / "iris.model")
    (tmp_path / "iris.range").write_text(RANGE)
    dump_svmlight_file(X, Y, str(tmp_path / "raw.svm"), zero_based=False)
    dump_svmlight_file(SCALED, Y, str(tmp_path / "scaled.svm"), zero_based=False)
    return tmp_path


def expected():
    return SVC().fit(SCALED, Y).predict(SCALED)


def test_the_range_file_of_easy_py_is_found(folder):
    np.testing.assert_array_equal(load(folder / "iris.model").predict(X), expected())


def test_our_own_comes_first(folder):
    (folder / "iris.model.range").write_text(RANGE.replace("-1 1", "0 1"))
    assert [p.name for p in companions(folder / "iris.model")] == ["iris.model.range", "iris.range"]
    np.testing.assert_allclose(load(folder / "iris.model").scaling(X), (SCALED + 1) / 2, atol=1e-12)


def test_a_range_file_can_be_named_or_declined(folder):
    shutil.move(folder / "iris.range", folder / "other")
    assert load(folder / "iris.model").scaling is None
    model = load(folder / "iris.model", ranges=folder / "other")
    np.testing.assert_array_equal(model.predict(X), expected())
    (folder / "iris.range").write_text(RANGE)
    assert load(folder / "iris.model", ranges="none").scaling is None
    with pytest.raises(InputError, match=r"cannot read .*nowhere"):
        load(folder / "iris.model", ranges=folder / "nowhere")


def test_range_files_are_for_libsvm_models(folder):
    save(SVC().fit(SCALED, Y), folder / "a.svmpress")
    with pytest.raises(InputError, match="is for models of LibSVM and SVM-light"):
        load(folder / "a.svmpress", ranges=folder / "iris.range")


def test_a_range_file_that_would_be_applied_is_not_written_beside(folder):
    """Nobody's x.range is removed, and no model without a scaling gets one by its name."""
    plain = load(folder / "iris.model", ranges="none")
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    with pytest.raises(FormatError, match=r"iris\.range is there and would be applied"):
        save(plain, folder / "iris.model")
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before
    scaled = load(folder / "iris.model")
    save(scaled, folder / "iris.model")
    np.testing.assert_array_equal(load(folder / "iris.model").predict(X), expected())
    with pytest.raises(FormatError, match=r"iris\.range is there"):
        save(plain, folder / "iris.model")


def run(capsys, *argv):
    capsys.readouterr()
    code = main([str(a) for a in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_command_line_says_which_file_scales(folder, capsys):
    code, out, err = run(capsys, "predict", folder / "iris.model", folder / "raw.svm")
    assert code == 0
    assert [int(v) for v in out.split()] == expected().tolist()
    assert f"note: rows are scaled by {folder / 'iris.range'}, found beside the model" in err
    shutil.move(folder / "iris.range", folder / "r")
    code, out, _ = run(capsys, "predict", folder / "iris.model", folder / "raw.svm", "--range", folder / "r")
    assert [int(v) for v in out.split()] == expected().tolist()
    for command in (["inspect"], ["export", "-o", folder / "e.svmpress"], ["compress", "-o", folder / "c.svmpress"]):
        code, out, _ = run(capsys, command[0], folder / "iris.model", *command[1:], "--range", folder / "r", "--json")
        assert code == 0
    for name in ("e", "c"):
        assert load(folder / f"{name}.svmpress").scaling is not None
    _, out, _ = run(capsys, "evaluate", folder / "iris.model", folder / "raw.svm", "--range", folder / "r")
    assert f"({np.sum(expected() == Y)} of 150)" in out


def test_the_command_line_refuses_before_the_work(folder, capsys):
    (folder / "small.range").write_text(RANGE)
    for argv in (
        ["compress", folder / "iris.model", "--range", "none"],
        ["train", folder / "raw.svm", "--scale", "none"],
    ):
        code, _, err = run(capsys, *argv, "-o", folder / "small.model", "--progress")
        assert code == 2
        assert "small.range is there and would be applied to" in err
        assert "reading" not in err  # nor anything else that takes time
    assert not (folder / "small.model").exists()


# ---------------------------------------------------------------------------------------------------------
# Rows that are scaled otherwise
# ---------------------------------------------------------------------------------------------------------


heard = pytest.mark.filterwarnings("always::svmpress.errors.SvmpressWarning")


@heard
def test_unscaled_rows_get_a_warning(folder, capsys):
    (folder / "iris.range").unlink()
    words = r"lie in \[-1, 1\], but feature 1 of the rows is 5.843 on average: the model was trained on scaled rows"
    with pytest.warns(SvmpressWarning) as heard_of:
        svmpress.compress(str(folder / "iris.model"), X, vectors=10)
    assert any(re.search(words, str(w.message)) for w in heard_of)
    _, _, err = run(capsys, "predict", folder / "iris.model", folder / "raw.svm", "-o", folder / "o.txt")
    assert "warning: the vectors of the model lie in [-1, 1], but feature 1 of the rows is 5.843" in err
    assert "(--range FILE)" in err
    argv = ["compress", folder / "iris.model", "-o", folder / "s.svmpress", "--data", folder / "raw.svm"]
    _, out, _ = run(capsys, *argv)
    assert "warning: the vectors of the model lie in" in out


@heard
def test_rows_that_are_scaled_twice_get_a_warning(folder, capsys):
    """The other way to be wrong, now that x.range is found: it is what LibSVM's own programs need."""
    dump_svmlight_file((SCALED + 1) / 2, Y, str(folder / "scaled.svm"), zero_based=False)
    _, _, err = run(capsys, "predict", folder / "iris.model", folder / "scaled.svm", "-o", folder / "o.txt")
    assert "once the model has scaled them: it seems that they were scaled before" in err


def test_rows_as_they_should_be_get_none():
    for model, rows in (
        (from_estimator(SVC().fit(SCALED, Y)), SCALED),
        (from_estimator(SVC().fit(SCALED, Y)), 1.3 * SCALED),  # new rows may exceed the range
        (from_estimator(SVC().fit(X, Y)), 10 * X),
        (from_estimator(SVC().fit((SCALED + 1) / 2, Y)), (SCALED + 1) / 2),
    ):
        assert doubt_of_scale(model, rows) is None


# ---------------------------------------------------------------------------------------------------------
# R's files
# ---------------------------------------------------------------------------------------------------------


def test_the_scales_of_r(tmp_path):
    """write.svm names its files so, and writes 'center scale' a line, of features and of the target."""
    center, scale = X.mean(axis=0), X.std(axis=0)
    t = 3 * X[:, 0] + 40
    Z, z = (X - center) / scale, (t - t.mean()) / t.std()
    svr = SVR().fit(Z, z)
    save(svr, tmp_path / "a.model")
    shutil.move(tmp_path / "a.model", tmp_path / "Rdata.svm")
    (tmp_path / "Rdata.scale").write_text("".join(f"{c!r} {s!r}\n" for c, s in zip(center.tolist(), scale.tolist())))  # noqa: B905
    (tmp_path / "Rdata.yscale").write_text(f"{t.mean().item()!r} {t.std().item()!r}\n")
    np.testing.assert_allclose(load(tmp_path / "Rdata.svm").predict(X), svr.predict(Z) * t.std() + t.mean(), rtol=1e-10)
    (tmp_path / "Rdata.yscale").unlink()
    np.testing.assert_allclose(load(tmp_path / "Rdata.svm").predict(X), svr.predict(Z), rtol=1e-9, atol=1e-9)
    (tmp_path / "Rdata.scale").write_text("\n")  # nothing was scaled
    np.testing.assert_allclose(load(tmp_path / "Rdata.svm").predict(X), svr.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 2\n", r"has scales of 1 features and the model has 4: R leaves out"),
        ("1 2\n" * 3 + "1 0\n", "line 4: expected a center and a scale, not '1 0'"),
        ("1 2\n" * 3 + "1 nan\n", "line 4: expected a center and a scale"),
        ("1 2\n" * 3 + "1 1e-320\n", "line 4: expected a center and a scale"),
        ("1 2\n" * 3 + "1\n", "line 4: expected a center and a scale"),
        ("1 2\n" * 3 + "1 2", "ends in the middle of line 4"),
        ("é\n", "not plain text"),
    ],
)
def test_wrong_scales_of_r(tmp_path, text, words):
    save(SVC().fit(X, Y), tmp_path / "a.model")
    shutil.move(tmp_path / "a.model", tmp_path / "a.svm")
    (tmp_path / "a.scale").write_text(text)
    with pytest.raises(FormatError, match=words):
        load(tmp_path / "a.svm")


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed here")
def test_r_itself(tmp_path):
    code = """
    library(e1071); data(iris)
    m <- svm(iris[,1:4], iris$Species); write.svm(m, "c.svm", "c.scale")
    r <- svm(iris[,1:3], iris[,4]); write.svm(r, "r.svm", "r.scale", "r.yscale")
    write.table(cbind(as.integer(predict(m, iris[,1:4])), predict(r, iris[,1:3])), "out", row.names=F, col.names=F)
    """
    if subprocess.run(["Rscript", "-e", "library(e1071)"], capture_output=True, check=False).returncode:
        pytest.skip("R has no package e1071 here")
    subprocess.run(["Rscript", "-e", code], cwd=tmp_path, capture_output=True, check=True)
    out = np.loadtxt(tmp_path / "out")
    np.testing.assert_array_equal(load(tmp_path / "c.svm").predict(X), out[:, 0])
    np.testing.assert_allclose(load(tmp_path / "r.svm").predict(X[:, :3]), out[:, 1], atol=1e-4)
