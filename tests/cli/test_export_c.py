"""``svmpress export --target c``: options, what it prints, and what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_digits
from sklearn.svm import SVC

import svmpress
from svmpress.cli import main
from svmpress.exports import missing


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("device")
    X, y = load_digits(return_X_y=True)
    dump_svmlight_file(X[:600], y[:600], str(folder / "train.svm"), zero_based=False)
    dump_svmlight_file(X[600:900], y[600:900], str(folder / "test.svm"), zero_based=False)
    model = svmpress.from_estimator(SVC(gamma=0.001, C=10).fit(X[:600], y[:600]))
    np.savez(folder / "rows.npz", X_train=X[:300], y_train=y[:300], X_test=X[300:600], y_test=y[300:600])
    svmpress.save(model, folder / "big.svmpress")
    svmpress.save(svmpress.compress(model, X[:600], y[:600], vectors=20).model, folder / "small.svmpress")
    return folder


def export(capsys, *argv):
    code = main(["export", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_the_folder_and_the_report(here, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(here)
    argv = ["small.svmpress", "-o", str(tmp_path / "c"), "--target", "c", "--data", "train.svm", "--test", "test.svm"]
    code, out, _ = export(capsys, *argv, "--coef", "int8", "--input", "uint8", "--json")
    assert code == 0
    facts = json.loads(out)
    assert facts["files"] == ["README.md", "c.ino", "selftest.c", "svm.c", "svm.h"]
    assert (facts["weights"], facts["vectors"], facts["outputs"], facts["measured"]) == ("int8", 20, 10, None)
    assert facts["accuracy"] > facts["accuracy_of_model"] - 0.03
    code, out, _ = export(capsys, *argv, "-q")
    assert code == 0
    assert "test accuracy" in out


def test_a_budget_of_flash(here, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(here)
    argv = ["big.svmpress", "-o", str(tmp_path / "c"), "--target", "c", "--data", "train.svm", "--weights", "int4"]
    more = ["--coef", "int8", "--image", "8x8", "--pool", "2", "--input", "uint8", "--test", "test.svm"]
    code, out, _ = export(capsys, *argv, *more, "--max-flash", "500", "--json")
    assert code == 0
    facts = json.loads(out)
    assert 300 < facts["number_bytes"] <= 500
    assert facts["outputs"] == 10
    assert facts["accuracy"] > 0.75


@pytest.mark.skipif(bool(missing("uno")), reason=f"{', '.join(missing('uno'))} not installed")
def test_measured_on_a_device(here, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(here)
    argv = ["small.svmpress", "-o", str(tmp_path / "c"), "--target", "c", "--weights", "int4", "--measure", "uno"]
    code, out, err = export(capsys, *argv)
    assert code == 0
    assert "8 of 8 rows as expected" in out
    assert "without --data" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--format native", "--format is for files"),
        ("--max-flash 20", "max_flash=20 is too small"),
        ("--image 8by8", "is not a height and a width"),
        ("--image 8x9 --pool 3", "no whole number of 3 x 3"),
        ("--span 0 16", "--span is for a page"),
        ("--split test", "there is no data to read"),
        ("--data rows.npz --split none", "has no part 'none'"),
        ("--prefix 9lives", "the prefix must be"),
        ("--measure pdp11", "unknown device"),
        ("--data none.svm", "cannot read none.svm"),
        ("--data train.svm --input uint8 --image 4x4", "features"),
    ],
)
def test_bad_input(here, tmp_path, monkeypatch, capsys, options, message):
    monkeypatch.chdir(here)
    code, out, err = export(capsys, "small.svmpress", "-o", str(tmp_path / "c"), "--target", "c", *options.split())
    assert (code, out) == (2, "")
    assert message in err
    assert not (tmp_path / "c").exists()


def test_a_folder_of_somebody_else(here, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(here)
    (tmp_path / "notes").write_text("mine")
    code, _, err = export(capsys, "small.svmpress", "-o", str(tmp_path), "--target", "c")
    assert code == 2
    assert "holds other things" in err


def test_source_files_are_folders(here, monkeypatch, capsys):
    monkeypatch.chdir(here)
    code, _, err = export(capsys, "small.svmpress", "-o", "svm.c")
    assert code == 2
    assert "--target c" in err


def test_the_emulator_answers_as_the_report_says(here, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(here)
    X, y = load_digits(return_X_y=True)
    argv = ["small.svmpress", "-o", str(tmp_path / "c"), "--target", "c", "--test", "test.svm", "--json"]
    _, out, _ = export(capsys, *argv)
    q = svmpress.quantize(svmpress.load("small.svmpress"))
    assert json.loads(out)["accuracy"] == float(np.mean(q.predict(X[600:900]) == y[600:900]))


def test_the_part_of_a_file_that_is_read(here, tmp_path, monkeypatch, capsys):
    """A part that is named is that of --data; --test keeps its own, or gets the one that is named if it is alone."""
    monkeypatch.chdir(here)
    X, y = load_digits(return_X_y=True)

    def accuracy(*more):
        argv = ["small.svmpress", "-o", str(tmp_path / "c"), "--target", "c", "--test", "rows.npz", "--json"]
        code, out, _ = export(capsys, *argv, *more)
        assert code == 0
        return json.loads(out)["accuracy"]

    def expected(q, part):
        return float(np.mean(q.predict(X[part]) == y[part]))

    train, test, small = slice(0, 300), slice(300, 600), svmpress.load("small.svmpress")
    assert accuracy() == expected(svmpress.quantize(small), test)
    assert accuracy("--split", "train") == expected(svmpress.quantize(small), train)
    on_test = svmpress.quantize(small, X[test], y[test], input="float")
    assert accuracy("--data", "rows.npz", "--split", "test") == expected(on_test, test)
