"""What is said of the project in several places is the same in all of them."""

from __future__ import annotations

import re
import tomllib

import svmpress
from svmpress.cli import main
from test_docs import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def citation(key: str) -> str:
    (value,) = re.findall(rf"^{key}: (.*)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    return value.strip('"')


def test_the_version_is_said_alike_everywhere(capsys):
    assert PROJECT["version"] == svmpress.__version__ == citation("version")
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"svmpress {svmpress.__version__}\n"


def test_name_and_licence_are_those_of_the_citation():
    assert (PROJECT["name"], PROJECT["license"]) == (citation("title"), citation("license"))


def test_the_readme_names_extras_that_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        text += page.read_text(encoding="utf-8")
    named = {e for part in re.findall(r"(?:svmpress|\.)\[([a-z,]+)\]", text) for e in part.split(",")}
    assert {"onnx", "parquet", "plots"} <= named <= set(PROJECT["optional-dependencies"])
