"""The demonstration, on smaller data: what it prints is what its files hold."""

from __future__ import annotations

import functools
import json
import sys

import numpy as np
import onnxruntime
import pytest
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import train_test_split

import svmpress.cli.demonstration
from svmpress.cli import main
from svmpress.cli.demonstration import demo
from svmpress.errors import InputError
from svmpress.exports import missing
from svmpress.formats import load

SMALL = {"n_informative": 8, "n_redundant": 2, "n_clusters_per_class": 4, "flip_y": 0.08, "random_state": 0}


def few_clusters(*_, **__):
    return make_classification(700, 12, **SMALL)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(svmpress.cli.demonstration, "load_digits", functools.partial(load_digits, n_class=4))
    monkeypatch.setattr(svmpress.cli.demonstration, "make_classification", few_clusters)
    monkeypatch.setattr(svmpress.cli.demonstration, "_TIMING_SECONDS", 0.02)


@pytest.mark.slow
def test_files_and_table(tmp_path):
    stages = []
    result = demo(tmp_path / "out", progress=lambda stage, done, total: stages.append(stage))
    digits = result.comparisons[0]
    small = load(tmp_path / "out" / "digits-small.model")
    X, y = load_digits(n_class=4, return_X_y=True)
    _, X_test, _, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    assert digits.after.accuracy == pytest.approx(float(np.mean(small.predict(X_test) == y_test)))
    assert digits.after.accuracy > 0.95
    assert digits.after.vectors == small.n_vectors <= 0.1 * digits.before.vectors + 1
    assert digits.after.file_bytes == (tmp_path / "out" / "digits-small.model").stat().st_size
    assert (tmp_path / "out" / "figure2.png").read_bytes().startswith(b"\x89PNG")
    assert "figure2.svg" in result.text()
    names = ["digits.html", "digits-web/model.js", "digits-web/index.html", "digits.onnx"]
    for export, name in zip(result.exports, names, strict=True):
        assert export.file_bytes == (tmp_path / "out" / name).stat().st_size
        assert f"{name}  {export.about}, {export.file_bytes / 1024:,.1f} KiB" in result.text()
    assert f"{digits.after.accuracy:.2%}" in result.text()
    session = onnxruntime.InferenceSession(tmp_path / "out" / "digits.onnx", providers=["CPUExecutionProvider"])
    labels = session.run(["label"], {"rows": X_test.astype("float32")})[0]
    np.testing.assert_array_equal(labels, small.predict(X_test))
    assert {s.split(":")[0] for s in stages} == {"digits", "clusters", "microcontroller", "Figure 2"}
    firmware = result.firmware
    assert {"svm.h", "svm.c", "selftest.c"} < {p.name for p in (tmp_path / "out" / "digits-c").iterdir()}
    assert firmware.accuracy > 0.9
    assert (firmware.measured is None) == bool(missing("uno"))
    if firmware.measured is not None:
        assert firmware.measured.wrong == 0
        assert f"{firmware.measured.flash:,} bytes of flash" in result.text()


@pytest.mark.slow
def test_command(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "out"), "--no-figure", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [c["name"] for c in facts["comparisons"]] == ["digits", "clusters"]
    assert facts["figures"] == []
    assert len(facts["exports"]) == 4


@pytest.mark.slow
def test_what_needs_an_extra_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "onnx", None)
    result = demo(tmp_path)
    assert result.figures == ()
    assert len(result.exports) == 3
    assert "digits.onnx is left out: writing onnx files needs onnx" in result.text()
    assert "left out: drawing figures needs matplotlib" in result.text()


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot make the folder"):
        demo(tmp_path / "file" / "out")
