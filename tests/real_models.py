"""Model files that nobody here made: a folder of them, named by SVMPRESS_MODELS, for tests that skip without it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def real_model(name: str) -> Path:
    """Return a file of that folder, or skip the test and say why."""
    folder = os.environ.get("SVMPRESS_MODELS")
    if not folder:
        pytest.skip("SVMPRESS_MODELS names no folder of real models")
    path = Path(folder) / name
    if not path.is_file():
        pytest.skip(f"the folder of real models has no {name}")
    return path
