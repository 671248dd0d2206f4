"""The times of one row in the tour of scikit-learn are those of the last record."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_quotes_the_record():
    *_, line = (ROOT / "benchmarks" / "results" / "one_row.jsonl").read_text(encoding="utf-8").splitlines()
    record = json.loads(line)["microseconds"]
    page = (ROOT / "docs" / "scikit-learn.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"<!-- one row -->\n```text\n(.*?)```", page, re.DOTALL)
    assert shown.splitlines() == [f"{name:<40}{value:>10,.2f} µs" for name, value in record.items()]
