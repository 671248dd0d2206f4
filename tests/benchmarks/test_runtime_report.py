"""The report of ``benchmarks/predict.py``: which figures its records reach, and the page that they make."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "benchmarks" / "results" / "predict.jsonl"
SETS = ["magic", "letters", "mnist"]


@pytest.fixture
def report(monkeypatch):
    spec = importlib.util.spec_from_file_location("predict_report", ROOT / "benchmarks" / "predict_report.py")
    loaded = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "predict_report", loaded)  # dataclasses look their module up
    spec.loader.exec_module(loaded)
    return loaded


def run_of_magic(svc=100e-6, full=2e-6, small=20e-9, agreement=1.0, accuracy=0.868):
    shared = {"run": "then", "machine": "a machine", "predictor": "compiled", "python": "3", "versions": {"numpy": "2"}}
    common = shared | {"part": "data set", "set": "magic", "d": 10, "m": 40, "outputs": 1, "rows": 9, "one_row": 1e-5}
    return [
        shared | {"part": "kernel value", "d": 10, "m": 500, "who": "svmpress", "seconds": 0.5e-9},
        shared | {"part": "kernel value", "d": 10, "m": 500, "who": "NumPy in blocks", "seconds": 1.6e-9},
        shared | {"part": "matrix product", "d": 784, "m": 500, "who": "svmpress", "seconds": 0.14},
        shared | {"part": "matrix product", "d": 784, "m": 500, "who": "matrix product", "seconds": 0.1},
        common | {"who": "SVC.predict", "seconds": svc, "agreement": 1.0, "accuracy": 0.9, "one_row": 5e-4},
        common | {"who": "svmpress full float64", "seconds": full, "agreement": agreement, "accuracy": 0.87},
        common | {"who": "svmpress full float32", "seconds": full / 2, "agreement": 0.99, "accuracy": 0.87},
        common | {"who": "svmpress compressed float32", "seconds": small, "agreement": 0.9, "accuracy": accuracy},
        shared | {"part": "missing", "set": "magic", "who": "scikit-learn-intelex"},
    ]


def verdicts(report, records):
    return {f.what: f.reached for f in report.figures(records, SETS)}


def test_figures_are_reached_or_missed(report):
    found = verdicts(report, run_of_magic())
    assert found["kernel value, d = 10, m = 500, one thread: faster than float32 NumPy in blocks"]
    assert not found["d = 784, m = 500, 10,000 rows: time of the bare float32 matrix product"]
    assert found["magic, full model: faster than SVC.predict"]
    assert found["magic, full model: labels equal to SVC.predict"]
    assert found["magic, compressed: accuracy lost on the test rows"]
    assert found["magic, compressed: faster than SVC.predict"]
    assert found["one row of magic, compressed: faster than SVC.predict on its full model"]

    worse = verdicts(report, run_of_magic(full=11e-6, small=40e-9, agreement=0.999, accuracy=0.86))
    assert not worse["magic, full model: faster than SVC.predict"]
    assert not worse["magic, full model: labels equal to SVC.predict"]
    assert not worse["magic, compressed: accuracy lost on the test rows"]
    assert not worse["magic, compressed: faster than SVC.predict"]


def test_missing_peers_are_named_and_left_out(report):
    records = run_of_magic()
    assert not any("intelex" in what or "onnx" in what for what in verdicts(report, records))
    page = report.page(records, SETS)
    assert "Not installed and left out: scikit-learn-intelex." in page
    assert "## magic, d = 10" in page
    assert "## mnist" not in page
    assert "**missed**" in page


@pytest.mark.skipif(not RECORDS.exists(), reason="no run of benchmarks/predict.py has been recorded")
def test_the_page_is_made_from_the_records(report):
    records = [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()]
    last = [r for r in records if r["run"] == records[-1]["run"]]
    assert (ROOT / "docs" / "speed.md").read_text(encoding="utf-8") == report.page(last, SETS)
