"""A module has one subject and about 400 lines at most, a function about 60."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "svmpress"
FILES = sorted(SOURCE.rglob("*.py"))
OF_C = sorted([*SOURCE.rglob("*.c"), *SOURCE.rglob("*.h")])
LINES_OF_MODULE, LINES_OF_FUNCTION = 400, 60


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function's body without its docstring."""
    first, *rest = node.body
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    begin = rest[0].lineno if documented and rest else first.lineno
    return (node.end_lineno or begin) - begin + 1


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_modules_and_functions_are_short(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= LINES_OF_MODULE
    functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = {f.name: length(f) for f in functions if length(f) > LINES_OF_FUNCTION}
    assert not long


@pytest.mark.parametrize("path", OF_C, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_files_of_c_are_short(path):
    assert path.read_text(encoding="utf-8").count("\n") <= LINES_OF_MODULE


def test_there_is_something_to_measure():
    assert len(FILES) > 50
    assert len(OF_C) > 10
