"""Imports go one way, a package's inside is private to it, and importing svmpress loads no more than it needs.

``RANKS`` is the map: a package may import packages of the ranks above its own and nothing else, not even its
neighbours, whether at the top of a file, inside a function, or for types alone.
"""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "svmpress"

RANKS = [
    {"errors"},
    {"decoders", "native", "numerics", "storage"},
    {"kernels", "predictor"},
    {"model"},
    {"data", "formats", "objectives", "select"},
    {"distributed", "exports", "methods", "spark", "training", "wrapping"},
    {"compression", "plots"},
    {"estimators", "study", "tuning"},
    {"cli"},
]

ANYWHERE = {"__version__"}
"""What any module may take from ``svmpress`` itself."""

EXTRAS = [
    "torch",
    "matplotlib",
    "onnx",
    "onnxruntime",
    "skops",
    "pyarrow",
    "optuna",
    "dask",
    "distributed",
    "pyspark",
    "cupy",
    "dlib",
]
HEAVY = ["sklearn", "svmpress.tuning", "svmpress.estimators", "svmpress.study", "svmpress.training", "svmpress.cli"]
"""What ``import svmpress`` leaves for later."""

FILES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.name[0] != "_")
RANK = {name: rank for rank, packages in enumerate(RANKS) for name in packages}


def package_of(path: Path) -> str:
    """Return the module or package directly under svmpress that a file belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> list[tuple[str, str]]:
    """Return what a file imports of svmpress, wherever in the file: the module, and the name taken from it."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            found += [(node.module or "", alias.name) for alias in node.names]
    return [(module, name) for module, name in found if module.split(".")[0] == "svmpress"]


def others(path: Path) -> list[tuple[str, str, str]]:
    """Return what a file takes from other packages of svmpress: the package, the module below it, and the name."""
    found = []
    for module, name in imported(path):
        _, *parts = module.split(".")
        if not parts:
            if name not in ANYWHERE and name != package_of(path):
                found.append((name, "", ""))
        elif parts[0] != package_of(path):
            found.append((parts[0], ".".join(parts[1:]), name))
    return found


def test_there_is_something_to_walk():
    assert len(FILES) > 50
    assert ("numerics", "", "arrays") in others(SOURCE / "model" / "expansion.py")


def test_every_package_has_its_place_in_the_map_and_the_ranks_are_few():
    assert {package_of(path) for path in FILES} == set(RANK)
    assert len(RANKS) <= 9


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_imports_point_one_way(path):
    me = package_of(path)
    wrong = {package for package, _, _ in others(path) if RANK[package] >= RANK[me]}
    assert not wrong, f"{me} must not import {sorted(wrong)}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_nobody_reaches_into_another_package(path):
    for package, below, name in others(path):
        if package == "native":  # the extension module, which may be missing
            continue
        assert not below, f"{path.name} takes {name or 'a module'} from svmpress.{package}.{below}"
        if name and (SOURCE / package).is_dir():
            offered = importlib.import_module(f"svmpress.{package}").__all__
            assert name in offered, f"svmpress.{package} does not offer {name}"


def loaded(code: str, names: list[str]) -> list[str]:
    """Return which of these modules are loaded after some code has run in a fresh interpreter."""
    code = f"import sys\n{code}\nprint(*[m for m in {names} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.splitlines()[-1].split()


def test_importing_svmpress_loads_no_extra_and_nothing_that_can_wait():
    assert loaded("import svmpress", EXTRAS + HEAVY) == []


def test_help_and_predict_load_no_training():
    quiet = "import contextlib, io; from svmpress.cli import main\nwith contextlib.redirect_stdout(io.StringIO()):"
    assert loaded(f"{quiet}\n    main(['--help'])", [*EXTRAS, "sklearn", "svmpress.methods", "svmpress.study"]) == []


def test_every_public_name_can_be_had():
    import svmpress

    assert set(svmpress.__all__) == {name for _, name in imported(SOURCE / "__init__.py")}
    for name in svmpress.__all__:
        assert getattr(svmpress, name) is not None
    assert set(svmpress.__all__) <= set(dir(svmpress))
    with pytest.raises(AttributeError, match="no attribute 'press'"):
        svmpress.press  # noqa: B018
