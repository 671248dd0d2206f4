"""``benchmarks/exports_web.py``: its last record reaches the goal, and ``docs/exports.md`` has its table."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    spec = importlib.util.spec_from_file_location("exports_web", ROOT / "benchmarks" / "exports_web.py")
    loaded = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "exports_web", loaded)
    spec.loader.exec_module(loaded)
    return loaded


def test_the_page_quotes_the_last_record(benchmark):
    record = benchmark.journal.read(benchmark.RECORDS)[-1]
    page = benchmark.PAGE.read_text(encoding="utf-8")
    assert f"{benchmark.BEGIN}{benchmark.table(record)}{benchmark.END}" in page


def test_the_last_record_reaches_the_goal(benchmark):
    record = benchmark.journal.read(benchmark.RECORDS)[-1]
    found = {row["who"].split()[0]: row for row in record["contenders"]}
    assert (record["set"], record["vectors"], record["test_rows"]) == ("mnist", 100, 10_000)
    assert max(found["WebAssembly"][call] for call in ("batch", "single")) <= 20e-6
    assert {row["differing"] for row in record["contenders"]} == {0}
