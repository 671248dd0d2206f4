"""The report of ``benchmarks/search.py``: medians, verdicts, and the page that they make."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "benchmarks" / "results" / "search.jsonl"


@pytest.fixture(scope="module")
def report() -> ModuleType:
    spec = importlib.util.spec_from_file_location("search_report", ROOT / "benchmarks" / "search_report.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def benchmark(request, monkeypatch) -> ModuleType:
    """Return a program of the benchmarks as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    for name in ("journal", "sets", "search_report", "selection_report"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    spec = importlib.util.spec_from_file_location(f"benchmark_{request.param}", ROOT / f"benchmarks/{request.param}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def records(**sizes):
    common = {"set": "magic", "goal": 0.9, "rows": 100, "trials": 20, "sample": 50, "method": "Brief()", "code": "abc"}
    scores = {"score": 0.91, "test_score": 0.89, "seconds": 3.0}
    return [
        {**common, **scores, "contestant": contestant, "seed": seed, "vectors": m}
        for contestant, found in sizes.items()
        for seed, m in enumerate(found)
    ]


def test_the_median_decides(report):
    found = records(gp=[4, 5, 90], random=[5, 5, 5], grid=[6, 7, 8])
    (said,) = report.verdicts(found)
    assert said == "- **magic**: 5 vectors, at most as large as random search (5), smaller than the recipe (7)."
    (said,) = report.verdicts(records(gp=[6, 7], random=[5, 5], grid=[5, 5]))
    assert said.count("LARGER than") == 2
    (said,) = report.verdicts(records(gp=[5], random=[5], grid=[5]))
    assert "as large as the recipe" in said


def test_nothing_found_is_infinitely_large(report):
    (said,) = report.verdicts(records(gp=[9, None, 9], random=[None, None, 3], grid=[10, 10, 10]))
    assert "9 vectors, at most as large as random search (inf), smaller than the recipe (10)" in said
    assert "none" in report.table(records(gp=[None], random=[1], grid=[1]))


def test_only_seeds_that_all_contestants_have_are_compared(report):
    (said,) = report.verdicts(records(gp=[4, 4, 100, 100, 100], random=[5, 5], grid=[6, 6]))
    assert said == "- **magic**: 4 vectors, at most as large as random search (5), smaller than the recipe (6)."


def test_sets_that_are_not_complete_get_no_verdict(report):
    assert report.verdicts(records(gp=[4], random=[5])) == []


def test_the_words_of_the_page_are_kept(report):
    before = f"# Search\n\nwords\n\n{report.MARK}\nstale\n"
    page = report.page(before, records(gp=[4], random=[5], grid=[6]))
    assert page.startswith(f"# Search\n\nwords\n\n{report.MARK}")
    assert "stale" not in page
    assert report.page(page, []).endswith("No run has been recorded.\n")


@pytest.mark.parametrize(("seconds", "said"), [(20.0, "1.0 minutes"), (2400.0, "2.0 hours")])
def test_the_time_is_that_of_the_records(report, seconds, said):
    found = [r | {"seconds": seconds} for r in records(gp=[4], random=[5], grid=[6])]
    assert f"All 3 searches together took {said}." in " ".join(report.page(report.MARK, found).split())


def test_the_page_is_that_of_the_records(report):
    found = [json.loads(line) for line in RECORDS.read_text().splitlines()]
    last = list({(r["set"], r["contestant"], r["seed"]): r for r in found}.values())
    page = (ROOT / "docs" / "search.md").read_text(encoding="utf-8")
    assert page == report.page(page, last)


@pytest.mark.parametrize(
    ("benchmark", "name"), [("search", "search"), ("selection", "selection")], indirect=["benchmark"]
)
def test_a_line_that_was_cut_off_is_no_record(benchmark, name, tmp_path):
    lines = (ROOT / "benchmarks" / "results" / f"{name}.jsonl").read_bytes().splitlines(keepends=True)[:3]
    path = tmp_path / "records.jsonl"
    assert benchmark.records(path) == []
    for cut in (0, 1, 40, len(lines[2]) - 2):
        path.write_bytes(b"".join(lines[:2]) + lines[2][:cut])
        assert benchmark.records(path) == [json.loads(line) for line in lines[:2]]
        benchmark.journal.append(path, json.loads(lines[2]))
        assert [json.loads(line) for line in path.read_text().splitlines()] == [json.loads(line) for line in lines]
        assert path.read_bytes().endswith(b"\n")
    path.write_bytes(b"".join(lines[:2]).rstrip())  # whole, but for the line break
    assert len(benchmark.records(path)) == 2
    benchmark.journal.append(path, json.loads(lines[2]))
    assert len(benchmark.records(path)) == 3
    path.write_bytes(lines[0] + lines[1][:40] + b"\n" + lines[2])
    with pytest.raises(json.JSONDecodeError):
        benchmark.records(path)
