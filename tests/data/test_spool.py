"""Rows in a scratch folder are the rows that were put there, and a file that is read that way is compressed as ever."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.svm import SVC, SVR, OneClassSVM

import svmpress
from svmpress.cli import main
from svmpress.compression import rows_of_file
from svmpress.data import ReadOptions, spooling, streaming
from svmpress.errors import InputError
from svmpress.numerics import Shard, sample_of


def put_and_read(parts, monkeypatch, shard_bytes=200, dense_from=0.25, **columns):
    monkeypatch.setattr("svmpress.data.spool.SHARD_BYTES", shard_bytes)
    with spooling() as spool:
        first = 0
        for X in parts:
            own = {k: a[first : first + X.shape[0]] for k, a in columns.items()}
            spool.put(Shard(X, own))
            first += X.shape[0]
        yield spool.finished(dense_from)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_rows_come_back_as_they_were(rng, dtype, monkeypatch):
    X, y = rng.standard_normal((50, 3)).astype(dtype), np.arange(50)
    for shards in put_and_read(np.split(X, [7, 20, 21]), monkeypatch, y=y):
        assert len(shards.sizes) > 1
        assert sum(shards.sizes) == 50
        found = list(shards)
        np.testing.assert_array_equal(np.concatenate([shard.X for shard in found]), X)
        assert found[0].X.dtype == dtype
        np.testing.assert_array_equal(np.concatenate([shard.columns["y"] for shard in found]), y)
        assert [shard.first for shard in found] == [0, *np.cumsum(shards.sizes)[:-1]]
        twice = shards.beside(lambda shard, by: {"twice": by * shard.columns["y"]}, 2)
        assert twice.total(lambda shard: (shard.columns["twice"].sum(), shard.columns["y"].sum())) == (2450, 1225)
        turned = twice.arranged(lambda shard, sign: Shard(sign * shard.X), -1)
        np.testing.assert_allclose(turned.total(lambda shard, axis: (shard.X.sum(axis),), 0)[0], -X.sum(0), rtol=1e-5)
        assert sample_of(twice, 10, seed=0).columns["twice"].tolist() == sorted(
            sample_of(twice, 10, seed=0).columns["y"] * 2
        )


@pytest.mark.parametrize(("share", "is_dense"), [(0.05, False), (0.6, True)])
def test_sparse_rows_grow_wider_and_may_become_dense(rng, share, is_dense, monkeypatch):
    X = sparse.random_array((60, 8), density=share, rng=rng, format="csr")
    X = sparse.csr_array(sparse.vstack([X, np.eye(1, 8, 7)]))
    narrow = X[:20, :5]
    every = sparse.csr_array(
        sparse.vstack([sparse.csr_array((narrow.data, narrow.indices, narrow.indptr), (20, 8)), X])
    )
    for shards in put_and_read([narrow, X[:40], X[40:]], monkeypatch):
        assert shards.n_features == 8
        found = [shard.X for shard in shards]
        assert all(sparse.issparse(x) != is_dense for x in found)
        whole = np.concatenate([x if is_dense else x.toarray() for x in found])
        np.testing.assert_array_equal(whole, every.toarray())


def test_nothing_is_left_in_the_folder_of_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def interrupted() -> None:
        with spooling() as spool:
            spool.put(Shard(np.ones((3, 2))))
            assert spool.finished(0.0).sizes == (3,)
            assert list(tmp_path.iterdir())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interrupted()
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_one_sentence(monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numpy.save", full)
    with spooling() as spool:
        spool.put(Shard(np.ones((3, 2))))
        with pytest.raises(InputError, match=r"cannot keep the rows in .*No space left.*TMPDIR"):
            spool.finished(0.0)


# ---------------------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------------------


def written(folder: Path, form: str, X, y) -> Path:
    path = folder / f"rows.{form}"
    if form == "csv":
        lines = [",".join([*(f"{v!r}" for v in row), str(label)]) for row, label in zip(X.tolist(), y, strict=True)]
        path.write_text("\n".join(lines) + "\n")
    elif form == "svm":
        from sklearn.datasets import dump_svmlight_file

        dump_svmlight_file(X, y, str(path), zero_based=False)
    elif form == "npz":
        np.savez(path, X=X, y=y)
    else:
        pa = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
        from pyarrow import parquet

        table = {f"f{j}": X[:, j] for j in range(X.shape[1])} | {"label": y}
        parquet.write_table(pa.table(table), path)
    return path


@pytest.mark.parametrize("form", ["csv", "svm", "npz", "parquet"])
def test_every_format_is_compressed_from_disk_as_from_memory(form, tmp_path, monkeypatch, capsys):
    X, y = load_iris(return_X_y=True)
    X, y = np.tile(X, (10, 1)), np.tile(y, 10)
    svmpress.save(svmpress.from_estimator(SVC(gamma=0.1).fit(X[:150], y[:150])), tmp_path / "big.svmpress")
    path = written(tmp_path, form, X, y)
    argv = ["compress", str(tmp_path / "big.svmpress"), "--data", str(path), "--vectors", "6", "-q", "-o"]
    assert main([*argv, str(tmp_path / "memory.svmpress")]) == 0
    monkeypatch.setattr("svmpress.compression.files.HELD_BYTES", 1000)
    monkeypatch.setattr("svmpress.data.spool.SHARD_BYTES", 4000)
    assert main([*argv, str(tmp_path / "disk.svmpress")]) == 0
    a, b = (svmpress.load(tmp_path / f"{name}.svmpress").expansion for name in ("memory", "disk"))
    np.testing.assert_array_equal(a.vectors, b.vectors)
    np.testing.assert_array_equal(a.coef, b.coef)
    capsys.readouterr()


def test_rows_beyond_memory_are_compressed_from_a_sample_and_then_all(tmp_path, rng, monkeypatch):
    monkeypatch.setattr("svmpress.data.spool.SHARD_BYTES", 2**22)
    X = rng.standard_normal((30_000, 100))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(30_000)
    model = svmpress.from_estimator(SVR(gamma=0.01).fit(X[:300], y[:300]))
    path = written(tmp_path, "npz", X, y)
    options = {"vectors": 5, "max_memory": 2**24, "effort": "fast"}
    expected = svmpress.compress(model, X, y, **options)
    with rows_of_file(model, str(path), streaming.read_options(model), held_bytes=2**20) as (source, shards, none):
        assert none is None
        assert len(shards.sizes) > 1
        found = svmpress.compress(source, shards, **options)
    assert len(found.trace["all rows"]) >= 4
    F, G = (r.model.decision_function(X[:1000]) for r in (expected, found))
    np.testing.assert_allclose(F, G, rtol=0, atol=1e-7 * np.abs(F).max())


def test_svmlight_rows_wider_than_the_model_widen_it(tmp_path, monkeypatch):
    text = "".join(f"{1 if i % 2 else -1} 1:{i % 7} 2:{i % 3}\n" for i in range(300))
    (tmp_path / "rows.svm").write_text(text + "1 1:1 4:0.5\n")
    X, y = np.array([[i % 7, i % 3] for i in range(300)], float), np.array([1 if i % 2 else -1 for i in range(300)])
    svmpress.save(svmpress.from_estimator(SVC(gamma=0.1).fit(X, y)), tmp_path / "m.model")
    model = svmpress.load(tmp_path / "m.model")
    monkeypatch.setattr("svmpress.data.spool.SHARD_BYTES", 1000)
    small = ReadOptions(n_features=2, block_bytes=500)
    with rows_of_file(model, str(tmp_path / "rows.svm"), small, held_bytes=1) as (source, shards, _):
        assert source.n_features == shards.n_features == 4
        assert sum(shards.sizes) == 301
        assert svmpress.compress(source, shards, vectors=4).model.n_features == 4


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        ("nan", "line 700"),
        ("text", "line 700"),
        ("label", "rows 0 to 1499: y holds the label '9.0'"),
        ("columns", "line 700"),
    ],
)
def test_what_is_wrong_in_a_large_file_is_said_and_nothing_is_written(broken, sentence, tmp_path, monkeypatch, capsys):
    X, y = load_iris(return_X_y=True)
    svmpress.save(svmpress.from_estimator(SVC(gamma=0.1).fit(X, y)), tmp_path / "big.svmpress")
    path = written(tmp_path, "csv", np.tile(X, (10, 1)), np.tile(y, 10))
    lines = path.read_text().splitlines()
    lines[699] = {"nan": "nan,1,1,1,0", "text": "a,1,1,1,0", "label": "1,1,1,1,9", "columns": "1,1,1,0"}[broken]
    path.write_text("\n".join(lines))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("svmpress.compression.files.HELD_BYTES", 100)
    out = tmp_path / "small.svmpress"
    code = main(
        ["compress", str(tmp_path / "big.svmpress"), "--data", str(path), "--vectors", "6", "-q", "-o", str(out)]
    )
    assert code == 2
    assert sentence in capsys.readouterr().err
    assert not out.exists()
    gc.collect()
    assert not list((tmp_path / "scratch").iterdir())


_PEAK = """
import resource, sys
import svmpress.data
blocks = svmpress.data.stream(sys.argv[1])
next(blocks)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for block in blocks: pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
def test_reading_parquet_does_not_keep_what_has_been_read(tmp_path, rng):
    pa = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    from pyarrow import parquet

    table = pa.table({f"f{j}": rng.standard_normal(1_000_000) for j in range(16)} | {"label": np.arange(1_000_000) % 2})
    parquet.write_table(table, tmp_path / "rows.parquet", use_dictionary=False, row_group_size=50_000)
    command = [sys.executable, "-c", _PEAK, str(tmp_path / "rows.parquet")]
    kibibytes = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert kibibytes < 60 * 1024  # of a file of 130 MB


def test_labels_and_messages_are_those_of_rows_in_memory(tmp_path, rng):
    """Text for a one-class model is no label; classes that are text take numbers; rows are counted in each file."""
    X = rng.normal(size=(60, 2))
    outliers = svmpress.from_estimator(OneClassSVM().fit(X))
    named = svmpress.from_estimator(SVC().fit(X, np.where(X[:, 0] > 0, "1", "2")))
    for model, labels in ((outliers, ["a", "b"]), (named, ["1.0", "2"])):
        lines = [f"{a!r},{b!r},{labels[k % 2]}" for k, (a, b) in enumerate(X.tolist())]
        (tmp_path / "rows.csv").write_text("\n".join(["width,height,label", *lines]) + "\n")
        options = streaming.read_options(model, labels=None, label="label")
        with rows_of_file(model, tmp_path / "rows.csv", options) as (_, _, y):
            expected = y
        with rows_of_file(model, tmp_path / "rows.csv", options, held_bytes=1) as (_, shards, _):
            columns = next(iter(shards)).columns
            assert ("y" in columns) == (expected is not None)
    (tmp_path / "more.csv").write_text("width,height,label\n1,2,3\n")
    with (
        pytest.raises(InputError, match=r"more\.csv, rows 0 to 0: .*'3'"),
        rows_of_file(named, [tmp_path / "rows.csv", tmp_path / "more.csv"], options, held_bytes=1),
    ):
        pass
