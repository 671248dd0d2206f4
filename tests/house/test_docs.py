"""The documentation is true: its code runs, its links lead somewhere, its lists are complete.

Blocks of a page run in order, in one namespace and one empty folder: ``python`` is executed, ``pycon`` is a doctest,
and of ``console`` the commands of svmpress are run and their output is compared, numbers aside. ``text`` is only shown.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import json
import re
import runpy
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given

import browsers
import test_candidates
import test_format_conformance
import test_imports
import test_kernels
from svmpress.cli import main
from svmpress.errors import FormatError
from svmpress.formats import FORMATS, load
from svmpress.kernels import KERNELS

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "svmpress"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = sorted(p.relative_to(SOURCE) for p in SOURCE.rglob("*.py"))
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# ---------------------------------------------------------------------------------------------------------
# Docstrings
# ---------------------------------------------------------------------------------------------------------


def dotted(module: Path) -> str:
    return ".".join(["svmpress", *module.with_suffix("").parts]).removesuffix(".__init__")


@pytest.mark.parametrize("module", [m for m in MODULES if m.name != "__main__.py"], ids=dotted)
def test_examples_of_docstrings(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(dotted(module)))
    assert result.failed == 0
    examples = re.findall(r"^\s*>>> .*$", (SOURCE / module).read_text(encoding="utf-8"), re.MULTILINE)
    assert result.attempted == len([e for e in examples if "doctest: +SKIP" not in e])


# ---------------------------------------------------------------------------------------------------------
# Pages that run
# ---------------------------------------------------------------------------------------------------------


class Block(NamedTuple):
    """A fenced block: its language, its text, and the line of the page where it starts."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    fences = re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(m[1], m[2], text[: m.start(2)].count("\n") + 1) for m in fences]


def run_console(text: str, capture: Any) -> None:
    """Run each command of svmpress, and look for every line that is shown below it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *shown = part.splitlines()
        program, *arguments = shlex.split(command)
        assert program == "svmpress"
        code, printed = capture(arguments)
        assert code == 0, printed
        for line in shown:
            if line != "...":
                assert re.search(_without_numbers(line), printed, re.MULTILINE), f"{line!r} is not in:\n{printed}"


def _without_numbers(line: str) -> str:
    """Return a pattern that takes any numbers, units of time and blanks in the places of those of the line."""
    parts = re.findall(r"\d(?:[\d.,]*\d)?|\D+", line)
    pattern = "".join(r"[-+\d.,e]*\d" if part[0].isdigit() else re.escape(part) for part in parts)
    any_unit = re.sub(r"\b[nµm]?s\b", "[nµm]?s", pattern)
    return "^" + re.sub(r"(\\ )+", r"\\s+", any_unit) + "$"


@contextlib.contextmanager
def ran(page: Path, folder: Path, capture: Any) -> Iterator[dict[str, Any]]:
    """Run a page in a folder and give its namespace; what it registers is forgotten afterwards."""
    namespace: dict[str, Any] = {"__name__": page.stem}
    before = [(registry, dict(registry)) for registry in (KERNELS, FORMATS)]
    try:
        with contextlib.chdir(folder):
            for block in blocks(page):
                if block.language == "python":
                    code = "\n" * (block.line - 1) + block.text  # so that a traceback names the line of the page
                    exec(compile(code, str(page), "exec", dont_inherit=True), namespace)
                elif block.language == "pycon":
                    test = doctest.DocTestParser().get_doctest(
                        block.text, namespace, page.name, str(page), block.line - 1
                    )
                    assert doctest.DocTestRunner().run(test, clear_globs=False).failed == 0
                elif block.language == "console":
                    run_console(block.text, capture)
        yield namespace
    finally:
        for registry, content in before:
            registry.clear()
            registry.update(content)


@pytest.fixture
def capture(capsys):
    """Run a command of svmpress and return its exit code and all that it printed."""

    def run(arguments):
        capsys.readouterr()
        code = main(arguments)
        return code, "".join(capsys.readouterr())

    return run


def test_the_readme_runs(tmp_path, capture):
    with ran(ROOT / "README.md", tmp_path, capture) as namespace:
        X_test, y_test = namespace["X_test"], namespace["y_test"]
        assert namespace["svc"].support_.size == 661  # as the comment in the code says
        assert namespace["small"].n_vectors == 33
        assert np.mean(namespace["small"].predict(X_test) == y_test) > 0.97
        small = load(tmp_path / "small.model")
        labels = np.loadtxt(tmp_path / "labels.txt")
        np.testing.assert_array_equal(labels, small.predict(X_test))
        assert load(tmp_path / "small.svmpress").n_vectors == 33


def test_the_front_page_runs(tmp_path):
    with ran(ROOT / "docs" / "index.md", tmp_path, None) as namespace:
        assert namespace["svc"].support_.size == 661
        assert namespace["result"].model.n_vectors == 33


def test_the_code_of_the_method_page_runs(tmp_path):
    with ran(ROOT / "docs" / "method.md", tmp_path, None) as namespace:
        assert len(namespace["path"]) == 15


def test_the_tour_of_scikit_learn_runs(tmp_path):
    with ran(ROOT / "docs" / "scikit-learn.md", tmp_path, None) as namespace:
        assert namespace["result"].model.n_vectors == 60


def test_the_page_of_reports_runs(tmp_path, capture):
    with ran(ROOT / "docs" / "reports.md", tmp_path, capture) as namespace:
        assert namespace["path"].sizes == (10, 20, 50)
        assert {"report.html", "one.html", "both.html", "digits.html"} <= {p.name for p in tmp_path.iterdir()}


def test_the_page_of_exports_runs(tmp_path, capture):
    with ran(ROOT / "docs" / "exports.md", tmp_path, capture) as namespace:
        small, T = namespace["small"], namespace["X_test"]
        shown = {block.language: block.text for block in blocks(ROOT / "docs" / "exports.md")}
        if browsers.NODE:
            (tmp_path / "digit.mjs").write_text(shown["js"])
            printed = browsers.run_node(tmp_path / "digit.mjs", cwd=tmp_path)
            for line, pattern in zip(printed.splitlines(), shown["text"].splitlines(), strict=True):
                assert re.fullmatch(_without_numbers(pattern), line)
            assert json.loads(printed.splitlines()[0]) == small.predict(T[[0, 0]]).tolist()
        if browsers.CHROMIUM:
            (tmp_path / "page.html").write_text(shown["html"])
            with browsers.serving(tmp_path) as address:
                document = browsers.open_page(f"{address}/page.html")
            assert browsers.text_of(document, "output") == str(small.predict(T[:1])[0])
        np.testing.assert_array_equal(namespace["labels"], small.predict(T))


def test_every_page_with_code_is_run():
    """The tutorials are run by ``test_tutorials.py``."""
    tried = {
        "README.md",
        "docs/index.md",
        "docs/exports.md",
        "docs/reports.md",
        "docs/scikit-learn.md",
        "docs/add-a-kernel.md",
        "docs/add-a-format.md",
        "docs/add-a-candidate.md",
        "docs/method.md",
    }
    pages = [p for p in PAGES if p.parent.name != "tutorials"]
    assert {name_of(p) for p in pages if {"python", "pycon", "console"} & {b.language for b in blocks(p)}} == tried


def test_shown_output_is_compared_without_its_numbers():
    assert re.search(_without_numbers("time per row   1.8 µs"), "rows 3\ntime per row  950 ns\n", re.MULTILINE)
    assert re.search(_without_numbers("vectors 451 -> 45 (9.98%)"), "vectors   1,000 -> 3 (1%)", re.MULTILINE)
    assert not re.search(_without_numbers("speed-up 1.4 times"), "speed 1.4 times", re.MULTILINE)


# ---------------------------------------------------------------------------------------------------------
# Tutorial: add a kernel
# ---------------------------------------------------------------------------------------------------------

KERNEL_KIT = [
    check
    for name, check in vars(test_kernels).items()
    if name.startswith("test_") and "kernel" in inspect.signature(check).parameters
]
make_rows, dtype, V, G = test_kernels.make_rows, test_kernels.dtype, test_kernels.V, test_kernels.G


@pytest.fixture(scope="module")
def kernel_page(tmp_path_factory):
    with ran(ROOT / "docs" / "add-a-kernel.md", tmp_path_factory.mktemp("kernel"), None) as namespace:
        yield namespace


@pytest.fixture
def kernel(kernel_page, monkeypatch):
    assert kernel_page["GAMMA"] == test_kernels.GAMMA
    for kit, page in ((test_kernels.NAIVE, "naive"), (test_kernels.NAIVE_SLOPES, "naive_slopes")):
        for name, function in kernel_page[page].items():
            monkeypatch.setitem(kit, name, function)
    return test_kernels.conformance_kernel("cauchy")


@pytest.mark.parametrize("check", KERNEL_KIT, ids=lambda check: check.__name__.removeprefix("test_"))
def test_the_kernel_of_the_tutorial(check, kernel, backend, make_rows, dtype, sparse_rows, V, G, rng, assert_close):
    at_hand = locals()
    check(**{name: at_hand[name] for name in inspect.signature(check).parameters})


def test_the_kernel_kit_is_not_empty():
    assert len(KERNEL_KIT) >= 10


# ---------------------------------------------------------------------------------------------------------
# Tutorial: add a format
# ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def format_page(tmp_path_factory):
    with ran(ROOT / "docs" / "add-a-format.md", tmp_path_factory.mktemp("format"), None) as namespace:
        yield namespace


@given(model=test_format_conformance.models())
def test_the_format_of_the_tutorial(format_page, model):
    round_trip = (
        test_format_conformance.test_what_was_written_is_read_back_and_writing_it_again_changes_nothing.hypothesis
    )
    round_trip.inner_test(name="json", model=model)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00",
        "[1]",
        "{}",
        '{"format": "kernel regressor"}',
        '{"format": "kernel regressor", "kernel": {"name": "rbf"}, "shape": [1, 1], "vectors": [[1]], "coef": [[1]]}',
        '{"format": "kernel regressor", "kernel": {"name": "rfb"}, "shape": [0, 1], "vectors": [], "coef": [],'
        ' "intercept": [0]}',
        '{"format": "kernel regressor", "kernel": {"name": "rbf"}, "shape": [1, 1], "vectors": [[NaN]], "coef": [[1]],'
        ' "intercept": [0]}',
        "[" * 100_000,
    ],
)
def test_the_format_of_the_tutorial_refuses_nonsense(format_page, tmp_path, text):
    (tmp_path / "a.sine").write_text(text)
    with pytest.raises(FormatError, match="is no kernel regressor"):
        load(tmp_path / "a.sine")


# ---------------------------------------------------------------------------------------------------------
# Tutorial: add a candidate
# ---------------------------------------------------------------------------------------------------------

CANDIDATE_KIT = [check for name, check in vars(test_candidates).items() if name.startswith("test_")]


@pytest.fixture(scope="module")
def candidate_page(tmp_path_factory):
    with ran(ROOT / "docs" / "add-a-candidate.md", tmp_path_factory.mktemp("candidate"), None) as namespace:
        yield namespace


@pytest.mark.parametrize("check", CANDIDATE_KIT, ids=lambda check: check.__name__.removeprefix("test_"))
def test_the_candidate_of_the_tutorial(check, candidate_page):
    candidate = candidate_page["Ridge"]()
    kinds = test_candidates.QUICK if "kind" in inspect.signature(check).parameters else [None]
    for kind in kinds:
        check(candidate, *([] if kind is None else [kind]))


def test_the_candidate_kit_is_not_empty():
    assert len(CANDIDATE_KIT) >= 5


# ---------------------------------------------------------------------------------------------------------
# Examples
# ---------------------------------------------------------------------------------------------------------


def run_example(name: str, monkeypatch, folder: Path, *arguments: str) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")


def test_every_example_is_run():
    assert [p.name for p in EXAMPLES] == ["compress_svc.py", "figure2.py", "methods.py"]


def test_compress_svc(monkeypatch, tmp_path, capsys):
    run_example("compress_svc.py", monkeypatch, tmp_path, str(tmp_path))
    printed = capsys.readouterr().out
    assert "the same answer on 100% of the rows" in printed
    assert {p.name for p in tmp_path.iterdir()} == {"small.model", "small.model.range", "small.svmpress"}
    accuracies = [float(a) for a in re.findall(r"accuracy ([\d.]+)%", printed)]
    assert len(accuracies) == 3
    assert min(accuracies) > 96


def test_methods(monkeypatch, tmp_path, capsys):
    """More vectors make label regression worse, and decision values do not mind the wrong labels."""
    run_example("methods.py", monkeypatch, tmp_path)
    rows = re.findall(r"^(\w.*?)\s+([\d.]+)%\s+([\d.]+)%$", capsys.readouterr().out, re.MULTILINE)
    at = {name: (float(few), float(many)) for name, few, many in rows}
    labels, values = at["LARS on labels (eq. 9)"], at["LARS on decision values"]
    assert labels[1] < labels[0] < values[0]
    assert values[1] > 90
    assert min(at["auto"]) > 90
    shown = re.findall(
        r"^(\w.*?)\s+[\d.]+%\s+[\d.]+%$", (ROOT / "docs" / "method.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert shown == list(at)


def test_figure2(monkeypatch, tmp_path):
    from PIL import Image

    committed = ROOT / "docs" / "figure2.png"
    run_example("figure2.py", monkeypatch, tmp_path, "drawn.png")
    with Image.open(committed) as a, Image.open(tmp_path / "drawn.png") as b:
        assert a.size == b.size
    assert max(p.stat().st_size for p in (committed, tmp_path / "drawn.png")) < 300_000


# ---------------------------------------------------------------------------------------------------------
# Links and lists
# ---------------------------------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def links(page: Path) -> list[str]:
    targets = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    return [t for t in targets if not re.match(r"[a-z]+:", t)]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), f"{name_of(page)} links to {link}"
        if anchor:
            assert anchor in anchors(target), f"{name_of(page)} links to {link}"


def test_there_are_links():
    assert {"docs/architecture.md", "docs/method.md", "docs/cli.md"} <= set(links(ROOT / "README.md"))


ARCHITECTURE = ROOT / "docs" / "architecture.md"


def test_the_architecture_names_every_package_and_nothing_that_is_not_there():
    text = ARCHITECTURE.read_text(encoding="utf-8")
    (section,) = re.findall(r"^## Layers$(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    described = re.findall(r"^\| `([a-z]+)` \|", section, re.MULTILINE)
    assert described == [package for rank in layers_of(text) for package in rank]
    named = re.findall(r"(?<![\w/])([a-z_]+(?:/[a-z_0-9]+)*\.(?:py|h|c))\b", text)
    assert len(named) > 10
    missing = [m for m in named if not ((SOURCE / m).exists() or m == "__init__.py")]
    assert [m for m in missing if not (ROOT / m).exists() and not (ROOT / "tests" / m).exists()] == []


def layers_of(text: str) -> list[list[str]]:
    (listed,) = re.findall(r"<!-- layers -->\n```text\n(.*?)```", text, re.DOTALL)
    return [line.split(", ") for line in listed.splitlines()]


def test_the_architecture_has_the_layers_that_imports_obey():
    layers = layers_of(ARCHITECTURE.read_text(encoding="utf-8"))
    assert [set(layer) for layer in layers] == test_imports.RANKS
