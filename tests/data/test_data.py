"""Data files: what is read, in blocks or whole, and what is said about files that cannot be used."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as np_arrays
from scipy import sparse

from svmpress.data import ReadOptions, read, stream
from svmpress.data.source import label_text, labels_like, settle_labels
from svmpress.errors import FormatError, InputError, MissingExtraError

FORMATS = ["svmlight", "csv", "npz", "npz-compressed", "npz-fortran", "npz-csr", "parquet"]


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def write(path: Path, kind: str, X, y) -> Path:
    """Write rows in one of the formats."""
    if kind == "svmlight":
        path = path / "rows.svm"
        named = [" ".join(f"{j + 1}:{float(v)!r}" for j, v in enumerate(row) if v) for row in X]
        path.write_text("".join(f"{label} {line}\n" for label, line in zip(y, named, strict=True)))
    elif kind == "csv":
        path = path / "rows.csv"
        names = ",".join([f"f{j}" for j in range(X.shape[1])] + ["label"])
        lines = [",".join(map(repr, [*map(float, row), float(label)])) for row, label in zip(X, y, strict=True)]
        path.write_text("\n".join([names, *lines]) + "\n")
    elif kind == "parquet":
        path = path / "rows.parquet"
        columns = {f"f{j}": X[:, j] for j in range(X.shape[1])}
        pq.write_table(pa.table({**columns, "label": y}), path, row_group_size=max(7, len(y) // 50))
    else:
        path = path / "rows.npz"
        save = np.savez_compressed if kind == "npz-compressed" else np.savez
        if kind == "npz-csr":
            S = sparse.csr_array(X)
            save(path, X_data=S.data, X_indices=S.indices, X_indptr=S.indptr, X_shape=np.array(S.shape), y=y)
        else:
            save(path, X=np.asfortranarray(X) if kind == "npz-fortran" else X, y=y)
    return path


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4)) * (rng.random((50, 4)) < 0.7)
    X[:, 3] = rng.normal(size=50)
    return X, rng.integers(-1, 3, size=50)


@pytest.mark.parametrize("kind", FORMATS)
def test_whole_files_come_back(tmp_path, rows, kind):
    X, y = rows
    got = read(write(tmp_path, kind, X, y))
    np.testing.assert_array_equal(dense(got.X), X)
    np.testing.assert_array_equal(got.y, y)
    assert got.y.dtype == np.int64


@pytest.mark.parametrize("kind", FORMATS)
def test_blocks_cover_the_file_in_order(tmp_path, rows, kind):
    X, y = rows
    blocks = list(stream(write(tmp_path, kind, X, y), block_bytes=200))
    assert len(blocks) > 3
    assert [b.first_row for b in blocks] == np.cumsum([0] + [b.X.shape[0] for b in blocks[:-1]]).tolist()
    np.testing.assert_array_equal(np.concatenate([dense(b.X) for b in blocks]), X)
    np.testing.assert_array_equal(labels_like(np.concatenate([b.y for b in blocks]), None), y)
    fractions = [b.fraction for b in blocks]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    X=np_arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(1, 4)), elements=st.floats(-1e300, 1e300)),
    kind=st.sampled_from(FORMATS),
    block_bytes=st.integers(1, 400),
)
def test_values_are_bit_equal_whatever_the_block(tmp_path, X, kind, block_bytes):
    y = np.arange(X.shape[0])
    got = read(write(tmp_path, kind, X, y), block_bytes=block_bytes)
    wanted = X[:, : got.X.shape[1]]
    assert not X[:, got.X.shape[1] :].any()  # svmlight text does not name trailing zeros
    np.testing.assert_array_equal(dense(got.X), wanted)
    np.testing.assert_array_equal(got.y, y)


@pytest.mark.parametrize("kind", ["svmlight", "csv", "npz-compressed", "npz-csr", "parquet"])
def test_streaming_stays_in_bounded_memory(tmp_path, kind):
    n, d = 40_000, 20
    X = np.random.default_rng(0).integers(1, 9, size=(n, d)).astype(float)
    path = write(tmp_path, kind, X, np.arange(n) % 2)
    del X
    for _ in stream(path, block_bytes=50_000):  # imports and caches are not what is measured
        break
    tracemalloc.start()
    seen = arrow = 0
    for block in stream(path, block_bytes=50_000):
        seen += block.X.shape[0]
        arrow = max(arrow, pa.total_allocated_bytes())  # not on Python's heap
    peak = tracemalloc.get_traced_memory()[1] + arrow
    tracemalloc.stop()
    assert seen == n
    assert peak < n * d * 8 / 2.5  # whole, the rows alone are n * d * 8 bytes


def test_compressed_text(tmp_path):
    text = b"a,b,y\n1,2,3\n4,5,6\n"
    for suffix, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)):
        path = tmp_path / f"rows.csv{suffix}"
        path.write_bytes(pack(text))
        assert read(path).X.tolist() == [[1, 2], [4, 5]]
    path.write_bytes(lzma.compress(text * 1000)[:-30])
    with pytest.raises(FormatError, match="damaged compressed file"):
        read(path)
    path = tmp_path / "cut.csv.gz"
    path.write_bytes(gzip.compress(text)[:-9])
    with pytest.raises(FormatError, match="damaged compressed file"):
        read(path)


@pytest.mark.parametrize(
    ("text", "kind"),
    [("1 1:2\n", "svmlight"), ("+1\n-1 3:1\n", "svmlight"), ("1,2\n3,4\n", "csv"), ("a\tb\n1\t2\n", "csv")],
)
def test_format_by_content(tmp_path, text, kind):
    path = tmp_path / "a9a.t"
    path.write_text(text)
    np.testing.assert_array_equal(dense(read(path).X), dense(read(path, format=kind).X))


def test_npz_and_parquet_by_content(tmp_path, rows):
    for kind in ("npz", "parquet"):
        path = write(tmp_path, kind, *rows).rename(tmp_path / "rows")
        np.testing.assert_array_equal(read(path).X, rows[0])


# ---------------------------------------------------------------------------------------------------------
# svmlight
# ---------------------------------------------------------------------------------------------------------


def test_svmlight_comments_blank_lines_qid_and_crlf(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_bytes(b"# head\r\n1 qid:4 1:0.5 3:2 # note\r\n\r\n-1\r\n+1 2:1e-3")
    got = read(path)
    assert dense(got.X).tolist() == [[0.5, 0, 2], [0, 0, 0], [0, 1e-3, 0]]
    assert got.y.tolist() == [1, -1, 1]


def test_svmlight_without_labels(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1:2 2:3\n\n2:4\n")  # an empty line is a row of zeros here
    for labels in (None, False):
        got = read(path, labels=labels)
        assert dense(got.X).tolist() == [[2, 3], [0, 0], [0, 4]]
        assert got.y is None


def test_svmlight_zero_based(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 0:7 1:8\n")
    assert dense(read(path, zero_based=True).X).tolist() == [[7, 8]]


def test_sparse_indices_are_32_bit(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n1 9:1\n")
    assert read(path, block_bytes=1).X.indices.dtype == np.int32
    assert all(b.X.indptr.dtype == np.int32 for b in stream(path))
    X = sparse.csr_array(np.eye(9))
    sparse.save_npz(tmp_path / "rows.npz", sparse.csr_array((X.data, X.indices.astype(np.int64), X.indptr), X.shape))
    assert read(tmp_path / "rows.npz", labels=None).X.indices.dtype == np.int32


def test_svmlight_stays_sparse_only_when_it_is(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n1 9:1\n")
    assert sparse.issparse(read(path).X)
    path.write_text("1 1:1 2:1\n1 1:1 3:1\n")
    assert isinstance(read(path).X, np.ndarray)


BAD_SVMLIGHT = [
    ("1 1:1\n1 1:nan\n", "line 2: feature 1 is NaN"),
    ("1 1:1\n\n# c\n1 3:-inf\n", "line 4: feature 3 is infinite"),
    ("nan 1:1\n", "line 1: the label is nan"),
    ("1 2:1 1:2\n", "feature index 1 comes after 2"),
    ("1 1:1 1:2\n", "feature index 1 comes after 1"),
    ("1 0:1\n", "indices start at 1"),
    ("1 -1:1\n", "'-1' in '-1:1' is not a feature index"),
    ("1 1:1\nx 1:1\n", "line 2: the label 'x' is not a number"),
    ("1 1:2 7\n", "'7' is not index:value"),
    ("1 a:2\n", "'a' in 'a:2' is not a feature index"),
    ("1 1:2:3\n", "feature 1: '2:3' is not a number"),
    ("1 1:\n", "feature 1: '' is not a number"),
    ("1 99999999999:1\n", "too large"),
    ("1:2 2:3\n", "the label is missing"),
    ("# nothing\n", "no rows"),
    ("\n \n", "is empty"),
    ("", "is empty"),
    ("svm_type c_svc\nkernel_type rbf\n", "is a model, not data"),
    ("1 1:\0\n", "binary"),
]


@pytest.mark.parametrize(("text", "message"), BAD_SVMLIGHT)
def test_bad_svmlight(tmp_path, text, message):
    path = tmp_path / "rows.svm"
    path.write_text(text)
    with pytest.raises(FormatError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_bad_line_numbers_count_through_blocks(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n" * 100 + "1 1:oops\n")
    with pytest.raises(FormatError, match="line 101: feature 1: 'oops' is not a number"):
        read(path, block_bytes=50)


# ---------------------------------------------------------------------------------------------------------
# CSV
# ---------------------------------------------------------------------------------------------------------


def csv(tmp_path, text, **options):
    path = tmp_path / "rows.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read(path, **options)


@pytest.mark.parametrize(
    ("text", "X", "y"),
    [
        ("a,b,label\n1,2,x\n3,4,z\n", [[1, 2], [3, 4]], ["x", "z"]),
        ("Class,a,b\n0,1,2\n1,3,4\n", [[1, 2], [3, 4]], [0, 1]),
        ("1,2,0\n3,4,1\n", [[1, 2], [3, 4]], [0, 1]),
        ("5.1,3,setosa\n1,2,virginica\n", [[5.1, 3], [1, 2]], ["setosa", "virginica"]),
        ("0,1,target\n1,2,2.5\n", [[1, 2]], [2.5]),
        ("a;b;y\n1;2;3\n", [[1, 2]], [3]),
        ("\ufeffa\tb\n\n1\t2\n", [[1]], [2]),
        ('a,b,"my,class"\n"1", 2,"x,\ny"\n', [[1, 2]], ["x,\ny"]),
    ],
)
def test_csv(tmp_path, text, X, y):
    got = csv(tmp_path, text)
    assert got.X.tolist() == X
    assert got.y.tolist() == y


def test_csv_label_column(tmp_path):
    text = "a,b,c\n1,2,3\n"
    for label, X, y in (("a", [[2, 3]], [1]), (1, [[1, 3]], [2]), ("-3", [[2, 3]], [1]), (None, [[1, 2]], [3])):
        got = csv(tmp_path, text, label=label)
        assert got.X.tolist() == X
        assert got.y.tolist() == y
    assert csv(tmp_path, text, labels=False).X.tolist() == [[1, 2, 3]]


def test_csv_label_column_follows_the_model(tmp_path):
    assert csv(tmp_path, "1,2\n3,4\n", labels=None, n_features=2).y is None
    assert csv(tmp_path, "x,y\n3,4\n", labels=None, n_features=2).X.tolist() == [[3, 4]]
    assert csv(tmp_path, "1,2\n3,4\n", labels=None, n_features=1).y.tolist() == [2, 4]
    with pytest.raises(FormatError, match="no column is the label"):
        csv(tmp_path, "1,2\n3,4\n", n_features=2)


def test_csv_header_by_argument(tmp_path):
    assert csv(tmp_path, "1,2\n3,4\n", header=True).X.tolist() == [[3]]
    with pytest.raises(FormatError, match=r"line 1, column 0 .*'a' is not a number"):
        csv(tmp_path, "a,b\n3,4\n", header=False)


BAD_CSV = [
    ("a,b,label\n1,2,x\n1,nan,x\n", "line 3, column 'b': the value is NaN"),
    ("label,a,b\nx,1,inf\n", "line 2, column 'b': the value is infinite"),
    ("1,2,3\n1,-inf,3\n", r"line 2, column 1 \(from 0\): the value is infinite"),
    ("a,b,label\n1,,x\n", "line 2, column 'b': the value is missing"),
    ("a,b,label\n1,NA,x\n", "line 2, column 'b': the value is missing"),
    ("a,b,label\n1,foo,x\n", "line 2, column 'b': 'foo' is not a number"),
    ("a,b,label\n1,2,x\n\n1,2\n", "line 4: 2 cells, but the first line has 3"),
    ("a,b,label\n1,2,\n", "line 2: the label is missing"),
    ("a,b,c\n", "a header and no rows"),
    (",a,b\n0,1,2\n", "the first column has no name"),
    ("a\n1\n", "a single column"),
    ("", "is empty"),
    (b"a,b\n\xff,2\n", "not UTF-8"),
    (b"PK\x00\x01", "binary"),
]


@pytest.mark.parametrize(("text", "message"), BAD_CSV)
def test_bad_csv(tmp_path, text, message):
    with pytest.raises(FormatError, match=message):
        csv(tmp_path, text)


def test_bad_label_columns(tmp_path):
    with pytest.raises(FormatError, match="no column 'q'; its columns are a, b"):
        csv(tmp_path, "a,b\n1,2\n", label="q")
    with pytest.raises(FormatError, match="no column 7"):
        csv(tmp_path, "a,b\n1,2\n", label=7)


# ---------------------------------------------------------------------------------------------------------
# NPZ and Parquet
# ---------------------------------------------------------------------------------------------------------


def npz(tmp_path, _options=None, **content):
    path = tmp_path / "rows.npz"
    np.savez(path, **content)
    return read(path, ReadOptions(**(_options or {})))


def test_npz_parts(tmp_path):
    content = {"x_train": np.ones((3, 2)), "y_train": [1, 2, 3], "x_test": np.zeros((1, 2)), "y_test": ["a"]}
    assert npz(tmp_path, {"split": "test"}, **content).y.tolist() == ["a"]
    assert npz(tmp_path, {"default_split": "train"}, **content).y.tolist() == [1, 2, 3]
    with pytest.raises(FormatError, match="has the parts test, train; choose one"):
        npz(tmp_path, **content)
    with pytest.raises(FormatError, match="no part 'dev'; it has test, train"):
        npz(tmp_path, {"split": "dev"}, **content)
    other = npz(tmp_path, {"split": "train", "label": "y5"}, y5_train=[7, 8, 9], **content)
    assert other.y.tolist() == [7, 8, 9]


def test_npz_as_scipy_writes_it(tmp_path):
    path = tmp_path / "rows.npz"
    X = sparse.random_array((20, 30), density=0.1, format="csr", rng=np.random.default_rng(0))
    sparse.save_npz(path, X)
    np.testing.assert_array_equal(dense(read(path, labels=None, block_bytes=64).X), X.toarray())
    sparse.save_npz(path, X.tocsc())
    with pytest.raises(FormatError, match="not CSR"):
        read(path, labels=None)


BAD_NPZ = [
    ({"X": [[1, 2], [np.nan, 4]], "y": [1, 2]}, "X at row 1, column 0 is NaN"),
    ({"X": np.ones((3, 2)), "y": [1]}, "3 rows and 1 labels"),
    ({"X": np.ones((1, 2)), "y": [np.inf]}, "label of row 0 is not finite"),
    ({"X": np.ones((3, 2))}, "no labels"),
    ({"X": np.ones((3, 2)), "y": np.ones((3, 2))}, "labels are one per row"),
    ({"X": np.ones((3, 2, 2)), "y": [1, 2, 3]}, "two-dimensional"),
    ({"X": np.array([["a"]]), "y": [1]}, "not numbers"),
    ({"X": np.array([[None]]), "y": [1]}, "Python objects"),
    ({"X": np.ones((0, 2)), "y": []}, "no rows"),
    ({"q": 1}, "holds q, but no array X"),
    ({"X_data": [1.0], "X_indices": [9], "X_indptr": [0, 1], "X_shape": [1, 2], "y": [1]}, "column index"),
    ({"X_data": [1.0], "X_indices": [1], "X_indptr": [0, 1], "X_shape": [3, 2], "y": [1]}, "do not fit"),
    ({"X_data": [1.0], "X_indices": [1], "X_indptr": [0, 9], "X_shape": [1, 2], "y": [1]}, "truncated"),
]


@pytest.mark.parametrize(("content", "message"), BAD_NPZ)
def test_bad_npz(tmp_path, content, message):
    with pytest.raises(FormatError, match=message):
        npz(tmp_path, **content)


def test_truncated_npz(tmp_path, rows):
    path = write(tmp_path, "npz", *rows)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(FormatError, match="not a NumPy archive, or is damaged"):
        read(path)


def test_parquet_types(tmp_path):
    path = tmp_path / "rows.parquet"
    label = pa.array(["x", "z"]).dictionary_encode()
    pq.write_table(pa.table({"a": [1, 2], "label": label, "b": [True, False]}), path)
    got = read(path)
    assert got.X.tolist() == [[1, 1], [2, 0]]
    assert got.y.tolist() == ["x", "z"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"a": [1, None], "label": [1, 2]}, "column 'a': the value of row 1 is missing"),
        ({"a": [1.0, float("nan")], "label": [1, 2]}, "column 'a': the value of row 1 is NaN"),
        ({"a": ["u", "v"], "label": [1, 2]}, "column 'a': the type is string"),
        ({"a": [1, 2], "label": [None, 2]}, "the label of row 0 is missing"),
        ({"a": [], "label": []}, "type is null|no rows"),
    ],
)
def test_bad_parquet(tmp_path, content, message):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(content), path)
    with pytest.raises(FormatError, match=message):
        read(path)
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(FormatError, match="not a Parquet file"):
        read(path)


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"svmpress\[parquet\]"):
        read(tmp_path / "rows.parquet")


@pytest.mark.parametrize("name", ["rows.svm", "rows.csv", "rows.npz", "rows.parquet", "rows"])
def test_missing_files(tmp_path, name):
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / name)


def test_unknown_format(tmp_path):
    with pytest.raises(InputError, match="unknown data format 'arff'"):
        read(tmp_path / "rows", format="arff")


# ---------------------------------------------------------------------------------------------------------
# Labels
# ---------------------------------------------------------------------------------------------------------


def test_settled_labels():
    assert settle_labels(np.array(["1", "2.0"], dtype=object)).tolist() == [1, 2]
    assert settle_labels(np.array([True, False])).tolist() == [1, 0]
    assert settle_labels(np.array(["1", "x"], dtype=object)).tolist() == ["1", "x"]
    assert settle_labels(np.array([0.5, 2])).tolist() == [0.5, 2.0]


def test_labels_in_the_type_of_the_model():
    assert labels_like(np.array(["1", "2.0"], dtype=object), np.array([1, 2])).tolist() == [1.0, 2.0]
    assert labels_like(np.array([1.0, 2.0]), np.array(["1", "2"])).tolist() == ["1", "2"]
    with pytest.raises(InputError, match="label of row 11 is 'cat', but the classes of the model are numbers"):
        labels_like(np.array(["1", "cat"], dtype=object), np.array([1, 2]), first_row=10)


def test_label_text():
    assert [label_text(v) for v in (1, 1.0, -1.0, 0.1, "cat", True)] == [
        "1",
        "1",
        "-1",
        "0.10000000000000001",
        "cat",
        "1",
    ]


# ---------------------------------------------------------------------------------------------------------
# Named columns
# ---------------------------------------------------------------------------------------------------------

NAMED = {"id": ["a", "b"], "width": [1.0, 2.0], "kind": [5, 6], "height": [3.0, 4.0]}


def named(folder: Path, kind: str, columns=NAMED) -> Path:
    if kind == "parquet":
        pq.write_table(pa.table(columns), folder / "t.parquet")
        return folder / "t.parquet"
    rows = zip(*columns.values(), strict=True)
    (folder / "t.csv").write_text("\n".join(",".join(map(str, row)) for row in [tuple(columns), *rows]) + "\n")
    return folder / "t.csv"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("field", ["columns", "feature_names"])
def test_named_columns_come_in_the_order_that_is_asked_for(tmp_path, kind, field):
    options = ReadOptions(**{field: ("height", "width")}, label="kind", keep=("id",))
    (block,) = stream(named(tmp_path, kind), options)
    assert block.X.tolist() == [[3, 1], [4, 2]]
    assert [float(v) for v in block.y] == [5, 6]
    assert block.carried["id"].tolist() == ["a", "b"]
    rest = {name: NAMED[name] for name in ("width", "kind", "height")}
    (block,) = stream(named(tmp_path, kind, rest), ReadOptions(**{field: ("height", "width")}))
    assert [float(v) for v in block.y] == [5, 6], "the only column that is left"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_named_columns_that_cannot_be(tmp_path, kind):
    path = named(tmp_path, kind)
    for options, words in (
        (ReadOptions(feature_names=("depth",)), "lacks the column 'depth' of the model"),
        (ReadOptions(columns=("width", "width")), "one is named twice"),
        (ReadOptions(columns=("width", "height")), r"beside the features is the label \('id', 'kind'\)"),
        (ReadOptions(columns=("width",), label="width"), "one is named twice"),
        (ReadOptions(keep=("nothing",)), "has no column 'nothing'"),
    ):
        with pytest.raises(InputError, match=words):
            list(stream(path, options))
    (block,) = stream(path, ReadOptions(columns=("width", "height"), labels=None))
    assert block.y is None


def test_names_of_features_do_not_matter_where_columns_have_none(tmp_path):
    (tmp_path / "t.csv").write_text("1,2,7\n3,4,8\n")
    (block,) = stream(tmp_path / "t.csv", ReadOptions(feature_names=("a", "b")))
    assert block.X.tolist() == [[1, 2], [3, 4]]
