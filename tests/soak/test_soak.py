"""A few seconds of what ``make soak`` does for minutes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_eight_threads_and_processes_agree():
    command = [sys.executable, Path(__file__).parent / "soak.py", "--minutes", "0.1"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert ", 0 answers differ" in run.stdout
