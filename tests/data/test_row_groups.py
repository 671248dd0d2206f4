"""Parts of Parquet files: their row groups, and what is said of rows in them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from svmpress import data
from svmpress.data.tables import table_writer
from svmpress.errors import FormatError


@pytest.fixture
def path(tmp_path):
    """Ten rows in groups of four, four and two."""
    pq.write_table(
        pa.table({"a": np.arange(10.0), "b": np.arange(10.0) ** 2}), tmp_path / "x.parquet", row_group_size=4
    )
    return tmp_path / "x.parquet"


def test_groups_have_sizes(path, tmp_path):
    assert data.row_group_sizes(path) == [4, 4, 2]
    (tmp_path / "x.csv").write_text("1,2\n")
    assert data.row_group_sizes(tmp_path / "x.csv") is None
    assert data.row_group_sizes(path, "csv") is None


@pytest.mark.parametrize(("groups", "first", "last"), [((0, 1), 0, 4), ((1, 3), 4, 10), ((0, 3), 0, 10), (None, 0, 10)])
def test_some_groups_are_read_by_themselves(path, groups, first, last):
    blocks = list(data.stream(path, labels=False, row_groups=groups))
    np.testing.assert_array_equal(np.concatenate([b.X[:, 0] for b in blocks]), np.arange(first, last))
    assert (blocks[0].first_row, blocks[-1].fraction) == (first, 1.0)


def test_an_error_names_the_row_of_the_file(tmp_path):
    table = pa.table({"a": [0.0, 1.0, 2.0, float("nan")]})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=2)
    list(data.stream(tmp_path / "x.parquet", labels=False, row_groups=(0, 1)))
    with pytest.raises(FormatError, match="the value of row 3 is"):
        list(data.stream(tmp_path / "x.parquet", labels=False, row_groups=(1, 2)))


def test_text_is_written_as_it_was(tmp_path):
    columns = {
        "plain": np.array(["a", "ü"], dtype=object),
        "fixed": np.array(["one", "two"]),
        "gaps": np.array([None, "b"], dtype=object),
        "mixed": np.array([1, "b"], dtype=object),
    }
    with (tmp_path / "x.parquet").open("wb") as file, table_writer(file, "parquet") as writer:
        writer.write(columns)
    expected = {"plain": ["a", "ü"], "fixed": ["one", "two"], "gaps": [None, "b"], "mixed": ["1", "b"]}
    assert pq.read_table(tmp_path / "x.parquet").to_pydict() == expected
