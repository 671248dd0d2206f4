"""What runs JavaScript in the tests: node, and Chromium without a window."""

from __future__ import annotations

import contextlib
import functools
import html
import http.server
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

NODE = shutil.which("node")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed here")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed here")


def run_node(script: Path, *arguments: object, cwd: Path | None = None) -> str:
    """Return what a script prints; ``cwd`` is where it runs."""
    assert NODE is not None
    run = subprocess.run(
        [NODE, script, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False, cwd=cwd
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def open_page(address: str) -> str:
    """Return the document of a page after its scripts have run."""
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={profile}"]
        command = [CHROMIUM, *flags, "--dump-dom", address]
        run = subprocess.run(command, check=False, capture_output=True, encoding="utf-8", timeout=120)
    assert run.returncode == 0, run.stderr
    return run.stdout


def text_of(document: str, tag: str) -> str:
    """Return the text of the first element of that kind, which has no others inside."""
    found = re.search(rf"<{tag}\b[^>]*>(.*?)</{tag}>", document, re.DOTALL)
    assert found is not None, document[-2000:]
    return html.unescape(found[1])


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine, and give its address."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
