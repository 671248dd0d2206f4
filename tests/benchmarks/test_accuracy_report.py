"""``benchmarks/accuracy.py``: what its page says of known records, and what it takes over from a study."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from study_fakes import made_up_records
from svmpress.study.records import to_line

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


@pytest.fixture
def accuracy(monkeypatch, tmp_path):
    """The command, with records and a page of its own."""
    module = loaded("accuracy", monkeypatch)
    monkeypatch.setattr(module, "RECORDS", tmp_path / "accuracy.jsonl")
    monkeypatch.setattr(module, "PAGE", tmp_path / "accuracy.md")
    return module


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.jsonl"
    made = made_up_records()
    path.write_bytes(b"".join(to_line(r) for r in (*made.runs, *made.sets.values(), *made.cells.values())))
    return path


def cell(lost: float, seed: int = 0, **about):
    """A record of a cell that loses so many points."""
    common = {"set": "magic", "ratio": 0.01, "layout": "shared", "given": "rows", "vectors_full": 4652, "vectors": 47}
    costs = {"train_seconds": 6.0, "compress_seconds": 20.0, "peak_memory_mb": 300, "threads": 2, "outputs": 1}
    scores = {"score_full": 0.87, "score": 0.87 - lost / 100, "agreement": 0.97}
    return common | costs | scores | {"seed": seed, "code": "abc"} | about


def test_the_table_sets_the_mean_over_seeds_against_the_aim(report):
    table = report.table([cell(0.3), cell(-0.1, 1), cell(-0.3, 2), cell(0.2, ratio=0.02)])
    assert "| magic | 87.00 | -0.03 (+0.0 met) | +0.20 (+0.0) |" in table


def test_a_set_without_records_has_no_row(report):
    assert "pageblocks" not in report.table([cell(0.0)])


def test_the_page_knows_layouts_and_what_was_given(report):
    at = {"ratio": 0.1, "set": "letters"}
    page = report.page([cell(0.08, **at), cell(0.7, layout="libsvm", **at), cell(1.0, given="nothing", **at)], [], {})
    assert "| letters | +0.08 (+0.1 met) | +0.70 (+0.5) | +1.00 (+1.1 met) |" in page


def test_seconds_and_scores_may_be_of_different_revisions(report):
    slow = cell(0.5, elsewhere=True, compress_seconds=900.0, peak_memory_mb=9000, code="new")
    quiet = [cell(9.0, code="old", compress_seconds=70.0), cell(9.0, code="now")]
    quiet.append(cell(9.0, 1, code="now", train_seconds=60.0))  # disturbed
    text = report.page([slow], quiet, {})
    assert "| magic | 87.00 | +0.50 (+0.0) |" in text
    row = next(line for line in text.splitlines() if line.startswith("| magic | 1 %"))
    assert row == "| magic | 1 % | 47 of 4652 | 1 | 0.9700 | 1 | new | 20.0 | ~72 | 300 | now, 2 seeds |"


def test_a_loaded_machine_times_nothing(accuracy):
    accuracy.journal.append(accuracy.RECORDS, cell(0.0, code="quiet"))
    accuracy.journal.append(accuracy.RECORDS, cell(0.0, code="busy", elsewhere=True))
    assert [r["code"] for r in accuracy.records(accuracy.RECORDS)] == ["busy"]
    assert [r["code"] for r in accuracy.timed(accuracy.RECORDS)] == ["quiet"]


def test_a_study_is_taken_over_once(accuracy, study, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["accuracy.py", "--from-study", str(study)])
    accuracy.main()
    first = accuracy.RECORDS.read_text()
    taken = [json.loads(line) for line in first.splitlines()]
    assert {r["layout"] for r in taken} == {"shared", "libsvm"}
    assert {r["ratio"] for r in taken} == {0.01, 0.02, 0.05, 0.1}, "a fifth is no share of this page"
    assert all(r["elsewhere"] for r in taken)
    assert "| letters | 97.70 |" in capsys.readouterr().out
    accuracy.main()
    assert accuracy.RECORDS.read_text() == first


def test_what_was_taken_over_does_not_displace_what_was_measured_since(accuracy, study, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["accuracy.py", "--from-study", str(study)])
    accuracy.main()
    newer = cell(-7.0, code="newer")
    accuracy.journal.append(accuracy.RECORDS, newer)
    accuracy.main()
    now = {tuple(r[k] for k in accuracy.KEY): r for r in accuracy.records(accuracy.RECORDS)}
    assert now[tuple(newer[k] for k in accuracy.KEY)]["code"] == "newer"
    assert capsys.readouterr().out


def test_a_quick_study_is_refused(accuracy, tmp_path):
    made = made_up_records()
    run = made.runs[0].__class__(**{**made.runs[0].__dict__, "quick": True})
    path = tmp_path / "quick.jsonl"
    path.write_bytes(to_line(run))
    with pytest.raises(SystemExit, match="no study of whole sets"):
        accuracy.from_study(path)


def test_the_committed_page_is_that_of_the_committed_records(monkeypatch):
    """``python benchmarks/accuracy.py --table`` brings it up to date."""
    accuracy = loaded("accuracy", monkeypatch)
    assert accuracy.PAGE.read_text(encoding="utf-8") == accuracy.present_page()
