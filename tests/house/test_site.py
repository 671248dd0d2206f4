"""What looks through the built site sees what is wrong with one, and the reference has every public name."""

from __future__ import annotations

import importlib
import re
import runpy

import pytest

from test_docs import ROOT

SITE = ROOT / "docs" / "_site"
faults = runpy.run_path(str(SITE / "check.py"))["faults"]

PAGE = '<link rel="stylesheet" href="{sheet}"><a href="{link}">there</a><h1 id="here">Here</h1>'


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, None),
        ({"link": "other.html#place"}, None),
        ({"link": "https://example.org"}, None),
        ({"link": "gone.html"}, "links to gone.html, which is not there"),
        ({"link": "#there"}, "no such place"),
        ({"link": "other.html#here"}, "no such place"),
        ({"sheet": "https://example.org/a.css"}, "loads https://example.org/a.css"),
        ({"sheet": "gone.css"}, "links to gone.css, which is not there"),
        ({"css": "@import url(//example.org/font.css)"}, "loads //example.org/font.css"),
    ],
)
def test_faults_of_a_site_are_found(changes, said, tmp_path):
    parts = {"sheet": "a.css", "link": "#here", "css": "a { color: red }"} | changes
    (tmp_path / "index.html").write_text(PAGE.format(**parts))
    (tmp_path / "other.html").write_text('<p id="place">')
    (tmp_path / "a.css").write_text(parts["css"])
    found, pages, _ = faults(tmp_path)
    assert pages == 2
    assert len(found) == (0 if said is None else 1)
    assert said is None or said in found[0]


def test_the_reference_lists_packages_that_say_what_they_offer():
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^   (svmpress[.a-z]*)$", page, re.MULTILINE)
    assert "svmpress" in listed
    for name in listed:
        assert importlib.import_module(name).__all__


def test_every_page_is_in_the_table_of_contents():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```", index, re.MULTILINE | re.DOTALL)
    listed = {re.sub(r".*<(.*)>$", r"\1", line) for block in blocks for line in block.splitlines()}
    pages = {p.relative_to(ROOT / "docs").with_suffix("").as_posix() for p in (ROOT / "docs").rglob("*.md")}
    pages |= {f"../{p.stem}" for p in ROOT.glob("*.md")}
    assert pages - listed == {"index"}
