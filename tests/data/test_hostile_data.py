"""Damaged and hostile data files: one sentence about the file, whatever the parser made of it, and no huge memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from svmpress.data import read, stream
from svmpress.errors import FormatError, InputError
from svmpress.storage import limits

TEXT = "".join(f"{i % 2} 1:{i} 3:{i / 7:.6f}\n" for i in range(40)).encode()


def readable(path: Path) -> None:
    """The file is read, or refused with one sentence that names it."""
    message = str(path)
    try:
        read(path)
    except InputError as e:
        message = str(e)
    assert message.count(str(path)) >= 1
    assert len(message) < 800 + len(str(path))


def damaged(content: bytes, step: int = 1):
    for i in range(0, len(content), step):
        for change in (0x01, 0x80, 0xFF):
            yield content[:i] + bytes([content[i] ^ change]) + content[i + 1 :]


@pytest.mark.parametrize(
    ("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_every_byte_of_compressed_text(tmp_path, suffix, compress):
    path = tmp_path / f"rows.svm{suffix}"
    for content in damaged(compress(TEXT), 2):
        path.write_bytes(content)
        readable(path)


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("store", [np.savez, np.savez_compressed])
def test_every_byte_of_an_archive(tmp_path, store):
    path = tmp_path / "rows.npz"
    store(path, X=np.arange(12.0).reshape(4, 3), y=np.arange(4))
    for content in damaged(path.read_bytes(), 3):
        path.write_bytes(content)
        readable(path)


def test_bytes_of_a_parquet_file(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a": [1.0, 2.0, 3.0], "label": ["u", "v", "u"]}), path)
    for content in damaged(path.read_bytes(), 3):
        path.write_bytes(content)
        readable(path)


def test_a_damaged_file_is_not_taken_for_an_output_that_cannot_be_written(tmp_path, capsys):
    from saves import model
    from svmpress.cli import main
    from svmpress.formats import save

    save(model("old"), tmp_path / "m.svmpress")
    pq.write_table(pa.table({"a": np.arange(2000.0), "b": np.arange(2000.0)}), tmp_path / "bad.parquet")
    content = bytearray((tmp_path / "bad.parquet").read_bytes())
    content[40:200] = b"\xff" * 160
    (tmp_path / "bad.parquet").write_bytes(content)
    assert main(["predict", f"{tmp_path}/m.svmpress", f"{tmp_path}/bad.parquet", "-o", f"{tmp_path}/o.txt"]) == 2
    err = capsys.readouterr().err
    assert "bad.parquet is not a Parquet file, or is damaged" in err
    assert "cannot write" not in err
    assert not (tmp_path / "o.txt").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"1 {'9' * 5000}:1\n", "feature index 9+... is too large"),
        ("1 2147483647:1\n", "asks for 2,147,483,647 features"),
        (f"1 1:{'x' * 5000}\n", r"x{200}\.\.\.' is not a number"),
        (f"{'y' * 5000} 1:1\n", r"the label 'y{200}\.\.\.' is not a number"),
    ],
)  # fmt: skip
def test_messages_repeat_no_more_than_a_little_of_a_line(tmp_path, text, words):
    (tmp_path / "rows.svm").write_text(text)
    with pytest.raises(FormatError, match=words):
        read(tmp_path / "rows.svm")


def test_cells_are_cut_too(tmp_path):
    (tmp_path / "rows.csv").write_text(f"a,label\n{'z' * 5000},1\n")
    with pytest.raises(FormatError, match=r"'z{200}\.\.\.' is not a number"):
        read(tmp_path / "rows.csv")


def test_a_line_without_end(tmp_path):
    path = tmp_path / "rows.svm.gz"
    path.write_bytes(gzip.compress(b"1 1:" + b"1" * 10_000_000 + b"\n"))
    with limits(line=1_000_000), pytest.raises(FormatError, match="bytes in one line, and the limit is 1,000,000"):
        read(path)
    path = tmp_path / "rows.csv"
    path.write_text("a,label\n" + '"' + "1\n" * 2_000_000)  # a quote that is never closed
    with limits(line=1_000_000), pytest.raises(FormatError, match=r"rows\.csv is not a CSV file: field larger than"):
        read(path)


def test_what_unfolds_is_held_against_the_size_of_the_file(tmp_path):
    np.savez_compressed(tmp_path / "rows.npz", X=np.zeros((200_000, 40)), y=np.zeros(200_000))
    with limits(free=5 * 2**20, expansion=20):
        with pytest.raises(FormatError, match=r"unfolds to .* or more, and the limit is .*raise the limit"):
            read(tmp_path / "rows.npz")
        assert sum(block.X.shape[0] for block in stream(tmp_path / "rows.npz")) == 200_000  # a block at a time
    assert read(tmp_path / "rows.npz").X.shape == (200_000, 40)


def test_an_array_that_claims_to_be_huge(tmp_path):
    header = b"{'descr': '<f8', 'fortran_order': True, 'shape': (1000000000, 1000), }"
    member = b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + header.ljust(117) + b"\n" + b"\0" * 64
    with zipfile.ZipFile(tmp_path / "rows.npz", "w") as archive:
        archive.writestr("X.npy", member)
    with pytest.raises(FormatError, match=r"rows\.npz: X has .* bytes and unfolds to 8,000,000,000,000 or more"):
        read(tmp_path / "rows.npz", labels=False)


BOMBS = """
import gzip, resource, sys
import numpy as np
from scipy import sparse
from pathlib import Path
from svmpress.errors import FormatError
from svmpress.formats import load
from svmpress.data import read
import sklearn.datasets
folder = Path(sys.argv[1])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 400 * 2**20,) * 2)
for name in ("bomb.svm.gz", "bomb.npz"):
    try:
        read(folder / name)
    except FormatError as e:
        print("refused")
wide = load(folder / "wide.model")
print(wide.predict(sparse.csr_array(([1.0], [5], [0, 1]), shape=(1, wide.n_features))).tolist())
"""


@pytest.mark.slow
def test_small_files_do_not_ask_for_huge_memory(tmp_path):
    """In a process that may take 400 MB more than it has: what is compressed, and sparse vectors that stay sparse."""
    if not Path("/proc/self/statm").exists() or not hasattr(resource, "RLIMIT_AS"):
        pytest.skip("needs the process information of Linux")
    with gzip.open(tmp_path / "bomb.svm.gz", "wb") as f:
        for _ in range(40):
            f.write(b"1 1:1 2:1\n" * 100_000)
    np.savez_compressed(tmp_path / "bomb.npz", X=np.zeros((60_000, 1000)), y=np.zeros(60_000))
    (tmp_path / "wide.model").write_text(
        "svm_type c_svc\nkernel_type rbf\ngamma 1\nnr_class 2\ntotal_sv 1\nrho 0.5\nlabel 1 -1\nnr_sv 1 0\nSV\n"
        "1 16777216:1\n"
    )
    run = subprocess.run([sys.executable, "-c", BOMBS, tmp_path], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.split()) == (0, ["refused", "refused", "[-1]"]), run.stderr


def test_sparse_rows_of_a_hundred_million_columns(tmp_path):
    from svmpress.decoders import Sign
    from svmpress.kernels import RBF, Laplacian, Linear, Polynomial
    from svmpress.model import KernelExpansion, KernelModel

    d = 10**8
    V = sparse.csr_array(([1.0, 2.0, 3.0], [5, d - 1, 7], [0, 2, 3]), shape=(2, d))
    X = sparse.csr_array(([1.0, 1.0, 0.5], [5, 99, d - 1], [0, 2, 3]), shape=(2, d))
    for kernel in (RBF(0.1), Polynomial(0.5, 1.0, 2), Linear(), Laplacian(0.1)):
        f = KernelExpansion(kernel, V, np.array([[1.0], [-2.0]]), np.array([0.25]))
        few = [np.array([[1.0, 0, 0, 2], [0, 3, 0, 0]]), np.array([[1.0, 0, 1, 0], [0, 0, 0, 0.5]])]  # 5, 7, 99, d - 1
        expected = KernelExpansion(kernel, few[0], f.coef, f.intercept).decision_values(few[1])
        got = KernelModel(f, Sign(np.array([0, 1]))).decision_values(X)
        np.testing.assert_allclose(got, expected, rtol=1e-13)
