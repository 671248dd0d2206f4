"""Folders that appear whole or not at all."""

from __future__ import annotations

import os

import pytest

from svmpress.errors import InputError
from svmpress.storage import folders, replacing_folder

NAMES = {"a.txt", "b.txt"}


def write(path, text):
    with replacing_folder(path, NAMES) as folder:
        for name in NAMES:
            (folder / name).write_text(text)


def test_a_folder_is_made_and_replaced(tmp_path):
    for text in ("first", "second"):
        write(tmp_path / "out", text)
        assert {p.name: p.read_text() for p in (tmp_path / "out").iterdir()} == dict.fromkeys(NAMES, text)
        assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_an_error_leaves_what_was_there(tmp_path):
    write(tmp_path / "out", "first")
    with pytest.raises(InputError, match="No such file"), replacing_folder(tmp_path / "out", NAMES) as folder:
        (folder / "a.txt").write_text((tmp_path / "no such file").read_text())
    assert {p.read_text() for p in (tmp_path / "out").iterdir()} == {"first"}
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_rename_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    write(tmp_path / "out", "first")
    monkeypatch.setattr(folders, "_exchange", lambda one, other: False)  # as where there is no such call
    rename = os.rename

    def failing(source, target):
        if os.fspath(source).endswith("new"):
            raise OSError(5, "Input/output error")
        rename(source, target)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(InputError, match="cannot write"):
        write(tmp_path / "out", "second")
    assert {p.read_text() for p in (tmp_path / "out").iterdir()} == {"first"}


def test_a_folder_of_other_things_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"holds other things, such as 'thesis.tex'"):
        write(tmp_path, "mine")
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_and_a_missing_parent_are_refused(tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(InputError, match="is a file"):
        write(tmp_path / "out", "mine")
    with pytest.raises(InputError, match="cannot write"):
        write(tmp_path / "no" / "out", "mine")
