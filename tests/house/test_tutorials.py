"""The tutorials do what they say: every block is run, in order, in one namespace and one empty folder.

As on other pages, and beyond that: what ``print`` shows is compared with the ``text`` block after it, numbers aside;
the programs of LibSVM and the C compiler are run, too; a ``c`` block is the file ``main.c``. A comment
``needs: PROGRAM`` before a block leaves it out where the program is not installed.
"""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import libsvm_programs
from test_docs import ROOT, _without_numbers, capture, run_console

TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))

__all__ = ["capture"]  # a fixture


class Block(NamedTuple):
    """A fenced block, the programs without which it is left out, and the line of the page where it starts."""

    needs: list[str]
    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    fences = re.finditer(r"^(?:<!-- needs: (.*) -->\n)?```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block((m[1] or "").split(), m[2], m[3], text[: m.start(3)].count("\n")) for m in fences]


def commands(text: str) -> list[str]:
    """Return the commands of a console block, each with what is shown below it."""
    return [f"$ {part}" for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]]


def compare(shown: str, printed: str) -> None:
    for line in shown.splitlines():
        if line != "...":
            assert re.search(_without_numbers(line), printed, re.MULTILINE), f"{line!r} is not in:\n{printed}"


def run_shell(text: str) -> None:
    command, _, shown = text.removeprefix("$ ").partition("\n")
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    compare(shown, done.stdout + done.stderr)


def run(page: Path, capture: Any) -> dict[str, Any]:
    """Run a page in the current folder and return its namespace."""
    namespace: dict[str, Any] = {"__name__": page.stem}
    printed = ""
    for block in blocks(page):
        if not all(map(shutil.which, block.needs)):
            continue
        if block.language == "python":
            code = compile("\n" * block.line + block.text, str(page), "exec", dont_inherit=True)
            with contextlib.redirect_stdout(io.StringIO()) as said:
                exec(code, namespace)
            printed = "\n".join(line.rstrip() for line in said.getvalue().splitlines())
        elif block.language == "text":
            compare(block.text, printed)
        elif block.language == "c":
            Path("main.c").write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            for command in commands(block.text):
                if command.startswith("$ svmpress "):
                    run_console(command, capture)
                else:
                    run_shell(command)
    return namespace


def test_every_language_on_the_pages_is_known():
    """Blocks of any other language would be passed over; ``sh`` is for what cannot be run here."""
    found = {block.language for page in TUTORIALS for block in blocks(page)}
    assert found == {"python", "console", "text", "c", "sh"}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    libsvm_programs.offer()
    return tmp_path


def page(name: str) -> Path:
    (found,) = (p for p in TUTORIALS if p.stem == name)
    return found


def test_users_of_scikit_learn(here, capture):
    namespace = run(page("scikit-learn"), capture)
    assert (here / "sizes.html").stat().st_size > 10_000
    assert namespace["small"].score(namespace["X_new"], namespace["y_new"]) > 0.97


def test_users_of_libsvm(here, capture):
    namespace = run(page("libsvm"), capture)
    assert namespace["model"].n_vectors == 54


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_builders_of_devices(here, capture):
    namespace = run(page("embedded"), capture)
    assert namespace["small"].n_vectors < namespace["big"].n_vectors / 5
    assert {"svm.c", "svm.h"} <= {p.name for p in (here / "firmware8").iterdir()}


def test_those_who_run_models_in_production(here, capture):
    namespace = run(page("mlops"), capture)
    assert (namespace["labels"] == namespace["y_new"]).mean() > 0.97


def test_those_who_have_very_many_rows(here, capture):
    run(page("many-rows"), capture)
    assert (here / "answers.csv").read_text().count("\n") == 40_001


@pytest.mark.filterwarnings("default::svmpress.errors.SvmpressWarning")
def test_researchers(here, capture, recwarn):
    namespace = run(page("research"), capture)
    assert len(namespace["right"]) == len(namespace["CANDIDATES"])
    assert any("agrees with its source on" in str(w.message) for w in recwarn)


def test_there_is_a_test_for_each():
    assert {p.stem for p in TUTORIALS} == {"scikit-learn", "libsvm", "embedded", "mlops", "many-rows", "research"}
