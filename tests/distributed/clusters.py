"""Clusters for tests: processes of this machine, and a scheduler that can be killed."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time


@contextlib.contextmanager
def scheduler_and_worker(folder):
    """Give the address and the process of a scheduler with one worker, both of them programs of their own.

    The worker has two threads: on one, a task that waits for somebody else would keep back those after it.
    """
    file = folder / "scheduler.json"
    host = ["--host", "127.0.0.1"]
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", *host]
    scheduler = subprocess.Popen([*command, "--scheduler-file", str(file)], stderr=subprocess.DEVNULL)
    worker = None
    try:
        while not (file.exists() and file.read_text().strip().endswith("}")):
            assert scheduler.poll() is None
            time.sleep(0.05)
        address = json.loads(file.read_text())["address"]
        command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "2"]
        worker = subprocess.Popen([*command, "--no-dashboard", "--death-timeout", "60"], stderr=subprocess.DEVNULL)
        yield address, scheduler
    finally:
        for process in (worker, scheduler):
            if process is not None:
                process.kill()
                process.wait()
