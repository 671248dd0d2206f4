"""How many threads a prediction may use."""

from __future__ import annotations

import os


def _default_threads() -> int:
    said = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if said.isdecimal() and int(said) > 0:
        return int(said)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_THREADS = _default_threads()


def threads() -> int:
    """Return how many threads a prediction uses at most, when not told otherwise."""
    return _THREADS
