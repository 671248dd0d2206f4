"""Imports go one way, and importing svmpress loads no extra.

``LAYERS`` is the map: a module may import modules of the layers above it in this list and nothing else, not even its
neighbours. A package (``select``, ``formats``, ...) counts as one module.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "svmpress"

LAYERS = [
    {"errors", "cores"},
    {"arrays"},
    {"kernels", "listening", "systems"},
    {"decoders"},
    {"runtime"},
    {"model"},
    {"formats", "budget", "data", "progress"},
    {"hinge"},
    {"select", "objective"},
    {"losses"},
    {"refine"},
    {"problem"},
    {"scoring"},
    {"rehearsal", "scene"},
    {"alone"},
    {"effort", "starting"},
    {"trials"},
    {"stages"},
    {"choices"},
    {"auto", "paper", "reduced_set", "sizing"},
    {"compression"},
    {"estimators", "plots", "report", "train", "streaming"},
    {"tuning"},
    {"demo"},
    {"__init__"},
    {"study"},
    {"cli"},
    {"__main__"},
]

FORMATS_MAY_IMPORT = {"errors", "arrays", "kernels", "decoders", "model", "formats"}
"""A format is a translation of the model and knows nothing of compression."""

EXTRAS = ["torch", "matplotlib", "onnx", "onnxruntime", "pyarrow", "optuna", "dask", "cupy", "dlib"]


def unit(path: Path) -> str:
    """Return the module or package directly under svmpress that a file belongs to."""
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Return the units of svmpress that a file imports, wherever in the file it does so."""
    package = ["svmpress", *path.relative_to(SOURCE).parts[:-1]]
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            names |= {f"{module}.{alias.name}" for alias in node.names}
    own = [name.split(".") for name in names if name.split(".")[0] == "svmpress"]
    return {parts[1] if len(parts) > 1 and parts[1] in UNITS else "__init__" for parts in own}


FILES = sorted(SOURCE.rglob("*.py"))
UNITS = {unit(path) for path in FILES}
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}


def test_there_is_something_to_walk():
    assert {"arrays", "kernels", "model", "select"} <= UNITS
    assert imported(SOURCE / "model.py") >= {"arrays", "kernels", "errors", "decoders"}


def test_every_module_has_its_place_in_the_map():
    assert set(RANK) >= UNITS, f"add to LAYERS: {sorted(UNITS - set(RANK))}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_imports_point_one_way(path):
    me = unit(path)
    wrong = {name for name in imported(path) if name != me and RANK[name] >= RANK[me]}
    assert not wrong, f"{me} must not import {sorted(wrong)}"
    if me == "formats":
        assert imported(path) <= FORMATS_MAY_IMPORT


def test_importing_svmpress_loads_no_extra():
    code = f"import sys, svmpress; print(*[m for m in {EXTRAS} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
