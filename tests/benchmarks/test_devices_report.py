"""The report of ``benchmarks/devices.py``: limits kept and missed, and the page that records make."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "benchmarks" / "results" / "devices.jsonl"


@pytest.fixture(scope="module")
def report() -> ModuleType:
    spec = importlib.util.spec_from_file_location("devices_report", ROOT / "benchmarks" / "devices_report.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def record(flash=4000, ram=150, milliseconds=5.0, accuracy=0.94, goal=None, wrong=0, **more):
    uno = {"flash": flash, "ram": ram, "cycles": 80_000, "milliseconds": milliseconds, "rows": 8, "wrong": wrong}
    floats = {"accuracy": 0.945, "uno": {"cycles": 1_000_000}}
    whole = {"accuracy": 0.944, "uno": {"cycles": 100_000}}
    peers = {
        "emlearn, random forest": {
            "version": "1",
            "found": {"flash": 4090, "ram": 99, "milliseconds": 0.1, "accuracy": 0.93},
        },
        "micromlgen, full SVM": {"version": "2", "found": "does not compile: a | b"},
    }
    return {
        "cell": "segment", "weights": "int4", "vectors": 60, "accuracy": accuracy, "accuracy_full": 0.95,
        "limits": {"flash": 4096, "ram": 200, "milliseconds": 8, "goal": goal},
        "devices": {"uno": uno, "microbit": "not installed"}, "peers": peers,
        "variants": {"float": floats, "int8": whole},
    } | more  # fmt: skip


def test_limits_are_kept_or_missed(report):
    assert all(report.verdicts(record()).values())
    for wrong in ({"flash": 4097}, {"ram": 201}, {"milliseconds": 8.1}, {"accuracy": 0.934}):
        (name,) = wrong
        assert [n for n, kept in report.verdicts(record(**wrong)).items() if not kept] == [name]
    assert not report.verdicts(record(accuracy=0.96, goal=0.97))["accuracy"]
    assert not any(report.verdicts(record(devices={"uno": "too large"})).values())


def test_what_is_missed_is_bold(report):
    assert "| 4,000 B | 150 B | 5.0 ms | 94.00% |" in report.table([record()])
    assert "| **5,000 B** |" in report.table([record(flash=5000)])
    assert "| **93.00%** | 95.00% |" in report.table([record(accuracy=0.93)])
    assert "does not fit" in report.table([record(devices={"uno": "too large"})])


def test_the_page_has_all_tables_and_keeps_its_words(report):
    page = report.page(f"# Title\n\nwords\n\n{report.MARK}\nstale\n", [record(wrong=1)])
    assert page.startswith(f"# Title\n\nwords\n\n{report.MARK}\n")
    assert "stale" not in page
    assert "Not run yet: mnist-16k, mnist-30k, mnist-16k-no-pooling, penbased, letters." in page
    assert "1 of 1 cells keep all" in page
    assert "Of 8 rows on simulated devices 1 were answered otherwise" in page
    assert "| segment | 94.50% | 94.40% |  | 1,000,000 | 100,000 | 10.0 times |" in page
    assert "does not compile: a / b" in page
    assert "| 4,090 B | 99 B | 0.1 ms | 93.00% |" in page
    assert report.page(page, []).endswith("No run has been recorded.\n")


@pytest.mark.skipif(not RECORDS.exists(), reason="no run of benchmarks/devices.py has been recorded")
def test_the_page_is_that_of_the_records(report):
    found = {r["cell"]: r for r in map(json.loads, RECORDS.read_text().splitlines())}
    page = (ROOT / "docs" / "devices.md").read_text(encoding="utf-8")
    order = report.CELLS
    assert page == report.page(page, [found[name] for name in order if name in found])
