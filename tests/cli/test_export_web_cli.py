"""``svmpress export`` to JavaScript: what it writes, what it says, and what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest

import svmpress
from svmpress.cli import main
from svmpress.decoders import Sign
from svmpress.exports import web_module
from svmpress.formats import save
from svmpress.kernels import RBF
from svmpress.model import KernelExpansion, KernelModel


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A small model in a file; the test stands in its folder."""
    monkeypatch.chdir(tmp_path)
    f = KernelExpansion(RBF(1.0), np.eye(3), np.ones((3, 1)), np.zeros(1))
    model = KernelModel(f, Sign(np.array([0, 1])))
    save(model, "m.svmpress")
    return model


def run(capsys, *arguments):
    code = main(["export", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("arguments", [["-o", "model.js"], ["-o", "model.js", "--target", "web"]])
def test_a_file(model, arguments, tmp_path, capsys):
    code, out, err = run(capsys, "m.svmpress", *arguments)
    assert (code, err) == (0, "")
    assert (tmp_path / "model.js").read_text() == web_module(model)
    assert {p.name for p in tmp_path.iterdir()} == {"m.svmpress", "model.js", "model.d.ts"}
    assert [line.split()[0] for line in out.splitlines()] == ["written", "target", "model.js", "model.d.ts"]


def test_a_folder_in_json(model, tmp_path, capsys):
    code, out, _ = run(capsys, "m.svmpress", "--target", "web", "-o", "web/", "--json")
    facts = json.loads(out)
    assert (code, facts["target"], facts["vectors"]) == (0, "web", 3)
    assert facts["files"] == {p.name: p.stat().st_size for p in (tmp_path / "web").iterdir()}
    assert (tmp_path / "web" / "model.js").read_text() == web_module(model)


def test_a_model_file_of_any_suffix(model, tmp_path, capsys):
    for arguments in (["-o", "a.js", "--format", "native"], ["-o", "b.svmpress", "--target", "file"]):
        assert run(capsys, "m.svmpress", *arguments)[0] == 0
    assert (tmp_path / "a.js").read_bytes() == (tmp_path / "b.svmpress").read_bytes()


BAD = {
    "no such model": (["x.svmpress", "-o", "m.js"], "cannot read x.svmpress"),
    "no such folder": (["m.svmpress", "-o", "none/m.js"], "cannot write none/m.js"),
    "a file in the way": (["m.svmpress", "--target", "web", "-o", "thesis.txt"], "thesis.txt is a file"),
    "a folder in the way": (["m.svmpress", "--target", "web", "-o", "."], "holds other things"),
    "a format": (["m.svmpress", "--target", "web", "-o", "m.js", "--format", "native"], "--format is for model files"),
    "the input": (["m.js", "--target", "web", "-o", "m.js"], "is an input of this command"),
    "a suffix of no file": (["m.svmpress", "--target", "file", "-o", "out.js"], "names no format"),
    "data for floats": (["m.svmpress", "-o", "m.js", "--data", "x.svm"], "--data is for whole numbers"),
    "flash": (["m.svmpress", "-o", "m.js", "--weights", "int8", "--max-flash", "2k"], "--max-flash is for C code"),
    "a page of whole numbers": (["m.svmpress", "-o", "m.html", "--weights", "int4"], "holds floats"),
    "a span": (["m.svmpress", "-o", "m.js", "--weights", "int4", "--span", "0", "1"], "--span is for a page"),
    "reading nothing": (["m.svmpress", "-o", "m.js", "--split", "test"], "there is no data to read"),
    "weights of a file": (["m.svmpress", "-o", "m.model", "--weights", "int8"], "--weights is for programs"),
    "labels": (["mixed.svmpress", "-o", "out.js"], "cannot write out.js as JavaScript: its class labels are of mixed"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input(what, model, tmp_path, capsys):
    save(KernelModel(model.expansion, Sign(np.array([1, "b"], dtype=object))), "mixed.svmpress")
    (tmp_path / "thesis.txt").write_text("mine")
    before = {p: p.read_bytes() for p in tmp_path.iterdir()}
    arguments, sentence = BAD[what]
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("svmpress: error: ")
    assert sentence in err
    assert err.count("\n") == 1
    assert before == {p: p.read_bytes() for p in tmp_path.iterdir()}


def test_whole_numbers(model, tmp_path, capsys):
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = (model.predict(X) > 0).astype(int)
    np.savez("rows.npz", X_train=X[:40], y_train=y[:40], X_test=X[40:], y_test=y[40:])
    more = ["--weights", "int4", "--coef", "int8", "--data", "rows.npz", "--test", "rows.npz", "--json"]
    code, out, err = run(capsys, "m.svmpress", "-o", "model.js", *more)
    facts = json.loads(out)
    q = svmpress.quantize(model, X[:40], y[:40], weights="int4", coef="int8", input="float")
    assert (code, err, facts["weights"], facts["number_bytes"]) == (0, "", "int4", q.number_bytes)
    assert (tmp_path / "model.js").read_text() == web_module(q)
    assert facts["accuracy"] == float(np.mean(q.predict(X[40:]) == y[40:]))
    code, out, err = run(capsys, "m.svmpress", "-o", "plain.js", "--weights", "int8")
    assert code == 0
    assert "3 of int8, 1 outputs" in out
    assert "without --data numbers are only rounded" in err
