"""A short fixed part of the fuzzing, and what it found before; ``make fuzz SECONDS=`` does more."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import seeds
from svmpress import data, tuning
from svmpress.errors import FormatError, InputError
from svmpress.formats import load, save


@pytest.mark.slow
def test_two_thousand_mutants_and_none_outside():
    command = [
        sys.executable,
        Path(__file__).parent / "fuzz.py",
        "--seconds",
        "280",
        "--mutants",
        "2000",
        "--seed",
        "7",
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    tried, _ = run.stdout.split(" mutants", 1)
    assert int(tried.replace(",", "")) >= 200  # as many as a busy machine gets through
    assert ", 0 fell outside" not in run.stderr


def test_a_name_in_a_damaged_zip_is_not_repeated_whole(tmp_path):
    """Zipfile's message held the bytes that stood where the name of a member should have been."""
    path = tmp_path / "m.svmpress"
    save(seeds.models()["rbf.svmpress"], path)
    content = bytearray(path.read_bytes())
    start = content.index(b"coef.npy") - 4  # the length of the name in the member's own header
    content[start : start + 2] = (800).to_bytes(2, "little")
    path.write_bytes(bytes(content))
    with pytest.raises(FormatError) as caught:
        load(path)
    assert len(str(caught.value)) < 500 + len(str(path))


@pytest.mark.parametrize("line", ["[" * 100_000, '{"number": ' * 50_000, "3", '"', '{"number": 0, "curve": 5}'])
def test_records_that_are_nested_without_end(tmp_path, line):
    """Python's reader of JSON gives up with a RecursionError."""
    header = json.dumps({"svmpress_search": 1, "search": {}})
    (tmp_path / "search.jsonl").write_text(f"{header}\n{line}\n")
    with pytest.raises(FormatError, match="does not hold the records of a search"):
        tuning.Records.load(tmp_path / "search.jsonl")


def test_a_name_of_a_kernel_is_cut(tmp_path):
    """It may be as long as the schema of the file."""
    path, contents = tmp_path / "m.svmpress", {}
    save(seeds.models()["rbf.svmpress"], path)
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content.replace(b'"rbf"', b'"' + b"rbf " * 5000 + b'"'))
    with pytest.raises(FormatError, match=r"unknown kernel 'rbf rbf .*\.\.\.'; svmpress knows") as caught:
        load(path)
    assert len(str(caught.value)) < 300 + len(str(path))


def test_labels_of_what_are_no_characters(tmp_path):
    """NumPy makes no text of them, and says so by a SystemError."""
    labels = np.array([2**32 - 1, 97], np.uint32).view("<U1")
    np.savez(tmp_path / "rows.npz", X=np.zeros((2, 1)), y=labels)
    with pytest.raises(FormatError, match=r"rows\.npz: y holds text with what is no character"):
        data.read(tmp_path / "rows.npz")


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<U900000000', 'fortran_order': False, 'shape': (4,), }",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999, 3), }",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (-4, 3), }",
        b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (4, 3), }",
        b"{'descr': '|O', 'fortran_order': False, 'shape': (4, 3), }",
        b"{'descr': '\\x', 'fortran_order': False, 'shape': (4, 3), }",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': ((((((((((((",
        b"(" * 9000,
    ],
    ids=range(8),
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
def test_headers_of_arrays(tmp_path, header):
    member = b"\x93NUMPY\x01\x00" + (len(header) + 1).to_bytes(2, "little") + header + b"\n" + b"\0" * 96
    for name, key in (("rows.npz", "X"), ("labels.npz", "y")):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr(f"{key}.npy", member)
            if key == "y":
                np.save(tmp_path / "X.npy", np.zeros((4, 3)))
                archive.write(tmp_path / "X.npy", "X.npy")
        with pytest.raises(FormatError, match=name):
            data.read(tmp_path / name, labels=None if key == "y" else False)


LINES = "tr\nain" + "x" * 2000
ROWS = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("members", "options"),
    [
        ({f"X_{LINES}": b"no array"}, {}),
        ({f"X_{LINES}": np.where(ROWS == 4, np.nan, ROWS)}, {}),
        ({f"X_{LINES}": np.zeros(3)}, {}),
        ({f"X_{LINES}": ROWS.astype(str)}, {}),
        ({f"X_{LINES}": ROWS, "X_b": ROWS}, {}),
        ({f"X_{LINES}": ROWS, "X_b": ROWS}, {"split": "c"}),
        ({f"X_{LINES}": ROWS}, {"labels": True}),
        ({f"X_{LINES}": ROWS, f"y_{LINES}": np.zeros(3)}, {}),
        ({f"X_{LINES}": ROWS, f"y_{LINES}": np.array([0.0, np.nan])}, {}),
        ({f"X_{LINES}": ROWS, f"y_{LINES}": ROWS}, {}),
        ({LINES: ROWS}, {}),
    ],
    ids=range(11),
)
def test_names_in_an_archive_are_cut_and_in_one_line(tmp_path, members, options):
    """A line break in the name of an NPZ member stood in the message, which is one sentence."""
    with zipfile.ZipFile(tmp_path / "rows.npz", "w") as archive:
        for name, content in members.items():
            with archive.open(f"{name}.npy", "w") as member:
                if isinstance(content, bytes):
                    member.write(content)
                else:
                    np.lib.format.write_array(member, content)
    with pytest.raises(FormatError) as caught:
        data.read(tmp_path / "rows.npz", **({"labels": None} | options))
    message = str(caught.value).replace(str(tmp_path), "")
    assert "\n" not in message
    assert len(message) < 700


@pytest.mark.parametrize(
    "pointers", [[0, 1, 3, 2**15, 0], [0, 9, 3, 4, 9], [0, 2**31 - 1, 0, 0, 0], [0, 1, -(2**20), 1, 0]]
)
def test_row_pointers_that_lead_out_of_the_matrix(tmp_path, pointers):
    """SciPy checks the others only where the last is not 0; it then wrote to foreign memory, and the process died."""
    path = tmp_path / "m.svmpress"
    save(seeds.models()["csr.svmpress"], path)
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.array(pointers, np.int32), version=(1, 0))
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (contents | {"vectors_indptr.npy": stream.getvalue()}).items():
            archive.writestr(zipfile.ZipInfo(name), content)
    done = subprocess.run(
        [sys.executable, "-m", "svmpress", "inspect", path], capture_output=True, text=True, check=False
    )  # in a process of its own: without the mend it may die, or damage this one
    assert done.returncode == 2
    assert "its row pointers decrease" in done.stderr


def test_rows_whose_pointers_lead_out_of_the_matrix():
    rows = sparse.csr_array(np.eye(4, 3))
    rows.indptr[:] = [0, 1, 3, 2**15, 0]
    with pytest.raises(InputError, match="X is damaged: its row pointers decrease"):
        seeds.models()["csr.svmpress"].predict(rows)
