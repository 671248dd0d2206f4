"""The report of ``benchmarks/selection.py``: what its tables and its conclusion say of known records."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "benchmarks" / "results" / "selection.jsonl"


@pytest.fixture
def report(monkeypatch):
    spec = importlib.util.spec_from_file_location("selection_report", ROOT / "benchmarks" / "selection_report.py")
    loaded = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "selection_report", loaded)
    spec.loader.exec_module(loaded)
    return loaded


SHARED = {"threads": 1, "code": "abc", "version": "0"}


def start(method, lost, name="magic", seed=0, error=1.0):
    """A start that loses so many points after every number of iterations."""
    scores, errors = ({str(n): value for n in (0, 20, 100)} for value in (0.9 - lost / 100, error))
    cell = {"part": "starts", "method": method, "set": name, "ratio": 0.01, "seed": seed, "m": 47, "vectors": 47}
    return SHARED | cell | {"score_full": 0.9, "scores": scores, "errors": errors, "seconds": 2, "refine_seconds": 3}


def starts(net_lost, net_error, name="magic"):
    lost = {"random": 3.0, "k-means": 2.0, "LARS": 1.0}
    known = [start(way, points, name, error=points) for way, points in lost.items()]
    return [*known, start("elastic net", net_lost, name, error=net_error)]


def test_cost_is_shown_by_size_and_what_was_not_run_is_said(report):
    cell = {"part": "cost", "m": 20, "vectors": 20, "status": "", "error": 0.5}
    records = [
        SHARED | cell | {"method": "LARS", "n_sv": 1000, "seconds": 1.234},
        SHARED | cell | {"method": "LARS", "n_sv": 20000, "seconds": 40.0, "vectors": 19},
        SHARED | cell | {"method": "k-means", "n_sv": 1000, "seconds": 0.1},
    ]
    page = report.page(records)
    assert "| 1,000 | 20 | 0.10 | 1.23 |" in page
    assert "| 20,000 | 20 | not run | 40.00 (19 vectors) |" in page
    assert "Not run yet." in page


def test_threads_and_devices_are_set_against_one_thread(report):
    cell = {"part": "scaling", "method": "LARS", "n_sv": 5000, "m": 20, "vectors": 20, "remark": "a toy"}
    places = [("cpu", 1, 8.0), ("cpu", 4, 4.0), ("cuda", 1, 0.5)]
    records = [SHARED | cell | {"device": d, "threads": t, "seconds_wall": wall} for d, t, wall in places]
    page = report.page(records)
    assert "| n_sv | m |  | 1 thread | 4 threads | GPU |" in page
    assert "| 5,000 | 20 | LARS | 8.00 | 4.00 (2.0 times) | 0.50 (16.0 times) |" in page
    assert "Measured on a toy." in page
    assert "many cores" not in report.page(starts(0.5, 0.5))


def test_a_start_that_helps_is_worth_its_place(report):
    page = report.page([*starts(0.5, 0.5, "magic"), *starts(0.4, 0.5, "letters")])
    assert "| the best of k-means, LARS |  |  | +1.00 |" in page
    assert "| the best of k-means, LARS, elastic net |  |  | +0.45 |" in page
    assert "gains +0.55 points (standard error 0.05): it is worth a place among the starts" in page


def test_a_start_that_is_not_chosen_changes_nothing(report):
    page = report.page([*starts(0.5, 5.0, "magic"), *starts(0.4, 5.0, "letters")])  # better, but its error is higher
    assert "gains +0.00 points (standard error 0.00): it need not be among the starts" in page


def test_a_gain_on_one_set_of_two_may_be_chance(report):
    page = report.page([*starts(0.0, 0.5, "magic"), *starts(1.0, 0.5, "letters")])
    assert "gains +0.50 points (standard error 0.50): not clearly more than chance" in page


def test_the_regression_has_a_verdict_of_its_own(report):
    page = report.page([*starts(2.0, 5.0), *starts(0.4, 0.5, "california")])
    assert "Classifiers: the elastic net beside k-means and LARS gains +0.00 points" in page
    assert "The regression: the elastic net beside k-means and LARS gains +0.60 points" in page


def test_reduced_svm_is_compared_where_it_was_run(report):
    page = report.page([*starts(2.0, 5.0), start("Reduced-SVM", 0.2, error=0.1), *starts(2.0, 5.0, "letters")])
    assert "Reduced-SVM was run on magic at 1 %." in page
    assert "By itself it loses +0.20 points, the best of k-means and LARS +1.00." in page


@pytest.mark.skipif(not RECORDS.exists(), reason="no run of benchmarks/selection.py has been recorded")
def test_the_page_is_made_from_the_records(report):
    lines = RECORDS.read_text(encoding="utf-8").splitlines()
    cells = ("part", "method", "set", "ratio", "seed", "n_sv", "m", "device", "threads")
    last = {tuple(r.get(k) for k in cells): r for r in map(json.loads, lines)}
    assert (ROOT / "docs" / "selection.md").read_text(encoding="utf-8") == report.page(list(last.values()))
