"""The stack trace of ``docs/architecture.md``: from ``compress()`` to the arithmetic, in few frames of ours."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from sklearn.datasets import make_moons
from sklearn.svm import SVC

import svmpress
from svmpress import native
from svmpress.methods import Auto

HOME = Path(svmpress.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
MOST = 12
"""Frames of ours, the one in C among them."""


def frames_of_ours(frame: FrameType | None) -> list[tuple[str, str]]:
    """Return function and file of each frame in svmpress, outermost first."""
    found = []
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(HOME):
            found.append((frame.f_code.co_qualname, path.relative_to(HOME).as_posix()))
        frame = frame.f_back
    return found[::-1]


@pytest.fixture(scope="module")
def traces() -> list[list[tuple[str, str]]]:
    """Where a compression was each time that it entered the first pass of the objective."""
    compiled, reason = native.load()
    if compiled is None:
        pytest.skip(f"the extension is not used: {reason}")
    X, y = make_moons(200, noise=0.2, random_state=0)
    svc, found = SVC(C=10, gamma=1.0).fit(X, y), []

    def watch(frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and isinstance(getattr(called, "__self__", None), compiled.Objective):
            found.append([*frames_of_ours(frame), (f"Objective.{called.__name__}", "native, in C")])

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        svmpress.compress(svc, X, y, vectors=5, method=Auto(work=1e8))
    finally:
        sys.setprofile(before)
    return [trace for trace in found if trace[-1][0] == "Objective.equations"]


def test_the_trace_of_the_page_is_a_real_one(traces):
    (shown,) = re.findall(r"<!-- trace -->\n```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    expected = [tuple(re.split(r" {2,}", line)) for line in shown.splitlines()]
    real = [[(name, path) for name, path in trace] for trace in traces]
    assert expected in real, f"the shortest is {min(real, key=len)}"


def test_few_frames_lead_to_the_arithmetic(traces):
    assert min(len(trace) for trace in traces) <= MOST
