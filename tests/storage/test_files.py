"""Files appear whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from svmpress.errors import InputError
from svmpress.storage import replacing


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def test_a_new_file_appears_with_the_permissions_of_any_other(tmp_path):
    with replacing(tmp_path / "a") as (f,):
        f.write(b"1")
        assert not (tmp_path / "a").exists(), "it must not be there before it is complete"
    (tmp_path / "b").write_bytes(b"")
    assert contents(tmp_path) == {"a": b"1", "b": b""}
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == stat.S_IMODE((tmp_path / "b").stat().st_mode)


def test_a_file_that_is_replaced_keeps_its_permissions_and_links(tmp_path):
    target = tmp_path / "target"
    target.write_bytes(b"old")
    target.chmod(0o600)
    (tmp_path / "link").symlink_to(target)
    with replacing(tmp_path / "link") as (f,):
        f.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, MemoryError])
def test_whatever_happens_leaves_everything_as_it_was(tmp_path, error):
    (tmp_path / "a").write_bytes(b"old")

    def interrupted() -> None:
        with replacing(tmp_path / "a", tmp_path / "b") as (f, g):
            f.write(b"half")
            g.write(b"half")
            raise error

    with pytest.raises(error):
        interrupted()
    assert contents(tmp_path) == {"a": b"old"}


@pytest.mark.parametrize("when", ["write", "fsync", "replace"])
def test_a_full_disk_is_an_error_for_people_and_touches_nothing(tmp_path, monkeypatch, when):
    (tmp_path / "a").write_bytes(b"old")

    def fails(*_args, **_kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if when != "write":
        monkeypatch.setattr(os, when, fails)

    def write() -> None:
        with replacing(tmp_path / "a") as (f,):
            f.write(b"x")
            if when == "write":
                fails()

    with pytest.raises(InputError, match=r"^cannot write .*a: No space left on device$"):
        write()
    assert contents(tmp_path) == {"a": b"old"}


def test_a_really_full_disk():
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("only Linux has a device that is always full")

    def write() -> None:
        with replacing(full) as (f,):
            f.write(b"x")

    with pytest.raises(InputError, match="No space left"):
        write()
    assert full.is_char_device(), "a device must never be replaced by a file"


def test_files_that_belong_together_change_together(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    with replacing(tmp_path / "a", tmp_path / "b") as (f, g):
        f.write(b"1")
        g.write(b"2")
    assert contents(tmp_path) == {"a": b"1", "b": b"2"}


@pytest.mark.parametrize(
    ("name", "words"), [("none/a", "No such file or directory"), ("", "it is a folder"), ("a/b", "Not a directory")]
)
def test_where_no_file_can_be_is_said(tmp_path, name, words):
    (tmp_path / "a").write_bytes(b"old")

    def write() -> None:
        with replacing(tmp_path / name) as (f,):
            f.write(b"x")

    with pytest.raises(InputError, match=f"cannot write .*{words}"):
        write()
    assert contents(tmp_path) == {"a": b"old"}


def test_a_pipe_is_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with replacing(tmp_path / "pipe") as (f,):
            f.write(b"through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
