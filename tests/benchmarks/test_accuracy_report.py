"""``benchmarks/accuracy.py``: what its page says of known records."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def loaded(name: str, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def report(monkeypatch):
    return loaded("accuracy_report", monkeypatch)


def cell(lost: float, seed: int = 0, **about):
    """Return a record of a cell that loses so many points."""
    common = {"set": "magic", "ratio": 0.01, "layout": "shared", "given": "rows", "vectors_full": 4652, "vectors": 47}
    costs = {"train_seconds": 6.0, "compress_seconds": 20.0, "peak_memory_mb": 300, "threads": 2, "outputs": 1}
    scores = {"score_full": 0.87, "score": 0.87 - lost / 100, "agreement": 0.97}
    return common | costs | scores | {"seed": seed, "code": "abc"} | about


def test_the_table_has_the_mean_over_seeds_and_its_standard_error(report):
    table = report.table([cell(0.3), cell(-0.1, 1), cell(-0.3, 2), cell(0.2, ratio=0.02)])
    assert "| magic | 87.00 | -0.03 ± 0.18 | +0.20 |" in table


def test_a_set_without_records_has_no_row(report):
    assert "pageblocks" not in report.table([cell(0.0)])


def test_the_page_knows_layouts_and_what_was_given(report):
    at = {"ratio": 0.1, "set": "letters"}
    page = report.page([cell(0.08, **at), cell(0.7, layout="libsvm", **at), cell(1.0, given="nothing", **at)])
    assert "| letters | +0.08 | +0.70 | +1.00 |" in page


def test_costs_are_the_shortest_times_and_the_highest_memory_of_the_seeds(report):
    page = report.page([cell(0.0), cell(0.0, 1, compress_seconds=15.0, train_seconds=9.0, peak_memory_mb=400)])
    assert "| magic | 1 % | 47 of 4652 | 1 | 0.9700 | 2 | 15.0 | 6.0 | 400 |" in page


def test_the_committed_page_is_that_of_the_committed_records(monkeypatch):
    """``python benchmarks/accuracy.py --table`` brings it up to date."""
    accuracy = loaded("accuracy", monkeypatch)
    assert accuracy.PAGE.read_text(encoding="utf-8") == accuracy.present_page()
