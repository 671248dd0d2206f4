"""The report of ``benchmarks/exports_onnx.py``: what its tables say of known records, and that the page has them."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from svmpress import RBF, Argmax, KernelExpansion, KernelModel, PairVote

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "benchmarks" / "results" / "exports_onnx.jsonl"
SHARED = {"run": "now", "code": "abc", "machine": "a toy", "python": "3", "versions": {"onnx": "1"}}


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    spec = importlib.util.spec_from_file_location("exports_onnx", ROOT / "benchmarks" / "exports_onnx.py")
    loaded = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "exports_onnx", loaded)
    spec.loader.exec_module(loaded)
    return loaded


def test_what_is_said_of_labels(benchmark):
    known = {"part": "labels", "set": "toy", "model": "full", "who": "onnxruntime", "precision": "float32"}
    known |= {"vectors": 1200, "features": 3, "rows": 10_000, "error": 2e-6, "largest_value": 7.0}
    exact = known | {"precision": "float64", "error": 3e-14, "clear": 9990, "differ": 0, "differ_clear": 0}
    wrong = known | {"clear": 9990, "differ": 3, "differ_clear": 2}
    values = known | {"set": "line"}
    said = benchmark.tables([SHARED | r for r in (wrong, exact, values)])
    assert "| set | model | clear rows | onnxruntime, float32 | onnxruntime, float64 |" in said
    assert "| toy | full, 1,200 × 3 | 9,990 of 10,000 | 2; 2e-06 | 0; 3e-14 |" in said
    assert "| line | full, 1,200 × 3 | 10,000 values | 2e-06 |  |" in said
    assert said.endswith("Labels: run now, revision abc, on a toy;\nPython 3, onnx 1.")


@pytest.mark.parametrize(("mine", "theirs", "verdict"), [(39e-6, 1.2e-3, "reached"), (41e-6, 9.0, "missed")])
def test_the_goal_has_two_parts(benchmark, mine, theirs, verdict):
    times = {"ONNX of svmpress, 100 vectors, float32": mine, "skl2onnx, full model": theirs}
    records = [SHARED | {"part": "one row", "who": who, "seconds": s, "threads": 1} for who, s in times.items()]
    assert f"times: {verdict}." in benchmark.tables(records)


def test_clear_rows(benchmark):
    def model(decoder):
        M = decoder.n_outputs
        return KernelModel(KernelExpansion(RBF(1.0), np.ones((1, 1)), np.ones((1, M)), np.zeros(M)), decoder)

    F = np.array([[1.0, -1.0, 0.99995], [1.0, 5e-5, -3.0]])
    assert benchmark.clear_rows(model(PairVote(np.arange(3))), F).tolist() == [True, False]
    assert benchmark.clear_rows(model(Argmax(np.arange(3))), F).tolist() == [False, True]


def test_each_part_has_its_own_last_run(benchmark, tmp_path, monkeypatch):
    records = [{"part": part, "run": run} for part, run in (("labels", 1), ("one row", 1), ("one row", 2))]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    monkeypatch.setattr(benchmark, "RECORDS", tmp_path / "r.jsonl")
    assert benchmark.last_runs() == [records[0], records[2]]


def test_the_page_has_the_last_run(benchmark):
    """``python benchmarks/exports_onnx.py --table`` brings it up to date."""
    assert benchmark.tables(benchmark.last_runs()) in (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")


def test_no_clear_label_differs_in_the_record():
    records = [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()]
    assert sum(r.get("differ_clear", 0) for r in records) == 0
