"""Rows from outside are checked and named precisely; products agree with plain NumPy on every library."""

from __future__ import annotations

import array_api_compat
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from svmpress.errors import InputError, MissingExtraError
from svmpress.numerics import Backend, arrays, to_numpy
from svmpress.numerics.arrays import check_rows

# ---------------------------------------------------------------------------------------------------------
# check_rows
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "words"), [(np.nan, "NaN"), (np.inf, "an infinite value"), (-np.inf, "an infinite value")]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_non_finite_values_are_named_by_row_and_column(backend, value, words, dtype):
    X = np.ones((7, 3))
    X[5, 1] = value
    with pytest.raises(InputError, match=f"^data holds {words} at row 5, column 1$"):
        check_rows(backend.asarray(X, dtype), name="data")


@given(n=st.integers(1, 8), d=st.integers(1, 8), data=st.data())
def test_the_first_non_finite_value_of_sparse_and_dense_rows_is_the_one_named(n, d, data):
    cells = st.tuples(st.integers(0, n - 1), st.integers(0, d - 1))
    bad = data.draw(st.lists(cells, min_size=1, max_size=4, unique=True))
    full = np.zeros((n, d))
    full[0, 0] = 3.0
    for r, c in bad:
        full[r, c] = np.nan
    row, column = min(bad)
    more = f" \\(and {len(bad) - 1} more such values\\)" if len(bad) > 1 else ""
    for X in (full, sparse.csr_array(full), sparse.csc_matrix(full), sparse.coo_array(full)):
        with pytest.raises(InputError, match=f"^X holds NaN at row {row}, column {column}{more}$"):
            check_rows(X)


def test_finite_values_whose_sum_overflows_are_fine():
    X = np.full((4, 2), 1e308)
    assert check_rows(X) is X


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.zeros(3), r"two-dimensional .* not 1-dimensional; for a single row pass X.reshape\(1, -1\)"),
        (np.zeros((2, 2, 2)), "not 3-dimensional$"),
        (np.array([["a", "b"]]), "not a table of numbers"),
        ([[1, 2], [3]], "not a table of numbers"),
        (np.array([[1 + 2j]]), "complex"),
        (np.zeros((3, 0)), "no columns"),
        (np.array([[None, 1.0]], dtype=object), "holds NaN at row 0, column 0|not a table of numbers"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(X, words):
    with pytest.raises(InputError, match=words):
        check_rows(X)


def test_the_number_of_features_and_of_rows_is_checked(sparse_rows):
    with pytest.raises(InputError, match="X has 5 features, but the model has 4"):
        check_rows(sparse_rows, n_features=4)
    with pytest.raises(InputError, match="no rows"):
        check_rows(np.zeros((0, 3)), allow_empty=False)
    assert check_rows(np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("dtype", [np.int64, np.bool_, np.uint8, np.float16, object])
def test_other_numbers_become_float64(dtype):
    X = check_rows(np.array([[1, 0], [0, 1]], dtype=dtype))
    assert X.dtype == np.float64
    np.testing.assert_array_equal(X, np.eye(2))


def test_masked_values_are_refused():
    X = np.ma.MaskedArray(np.eye(3), mask=np.eye(3, dtype=bool))
    with pytest.raises(InputError, match="X holds masked values"):
        check_rows(X)
    assert type(check_rows(np.ma.MaskedArray(np.eye(3)))) is np.ndarray


def test_floating_point_is_kept_as_it_is(backend):
    for dtype in ("float32", "float64"):
        X = backend.asarray(np.eye(3), dtype)
        assert check_rows(X) is X


def test_sparse_formats_become_csr_and_duplicates_are_summed_without_touching_the_argument():
    X = sparse.csr_matrix(
        (np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 3, 3])), shape=(2, 2), dtype=np.float32
    )
    rows = check_rows(X)
    assert arrays.is_csr(rows)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows.toarray(), [[4, 3], [0, 0]])
    assert X.nnz == 3
    assert check_rows(sparse.coo_array(np.eye(2, dtype=int))).dtype == np.float64


def test_sparse_indices_become_32_bit_where_they_fit(sparse_rows):
    wide = sparse.csr_array(
        (sparse_rows.data, sparse_rows.indices.astype(np.int64), sparse_rows.indptr.astype(np.int64)),
        shape=sparse_rows.shape,
    )
    assert wide.indices.dtype == np.int64
    rows = check_rows(wide)
    assert rows.indices.dtype == rows.indptr.dtype == np.int32
    assert wide.indices.dtype == np.int64
    assert np.shares_memory(rows.data, wide.data)
    np.testing.assert_array_equal(rows.toarray(), sparse_rows.toarray())
    vast = sparse.csr_array((np.ones(1), np.array([2**40]), np.array([0, 1])), shape=(1, 2**41))
    assert check_rows(vast).indices.dtype == np.int64


# ---------------------------------------------------------------------------------------------------------
# Products
# ---------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["dense", "csr"])
def rows(request, backend, sparse_rows):
    """The same twelve rows, dense in each library and as CSR."""
    return sparse_rows if request.param == "csr" else backend.asarray(sparse_rows.toarray())


def test_products_equal_dense_numpy(backend, rows, sparse_rows, rng, assert_close):
    full = sparse_rows.toarray()
    V, H = rng.normal(size=(3, 5)), rng.normal(size=(12, 4))
    assert_close(arrays.dot(rows, backend.asarray(V)), full @ V.T)
    assert_close(arrays.dot(backend.asarray(V), rows), V @ full.T)
    assert_close(arrays.dot(rows, rows), full @ full.T)
    assert_close(arrays.transposed_dot(backend.asarray(H), rows), H.T @ full)
    assert_close(arrays.square_norms(rows), (full**2).sum(1))
    assert_close(arrays.column_means(rows), full.mean(0))


def test_squared_distances_equal_a_naive_loop(backend, rows, sparse_rows, rng, assert_close):
    full, V = sparse_rows.toarray(), rng.normal(size=(3, 5))
    naive = np.array([[((x - v) ** 2).sum() for v in V] for x in full])
    assert_close(arrays.squared_distances(rows, backend.asarray(V)), naive)
    own = to_numpy(arrays.squared_distances(rows, rows))
    assert (own >= 0).all()
    assert_close(own, np.array([[((x - v) ** 2).sum() for v in full] for x in full]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_squared_distances_survive_a_cloud_far_from_the_origin(backend, dtype, rng, assert_close):
    far = 1e3 + rng.normal(size=(20, 4)).astype(dtype)
    naive = ((far[:, None, :].astype(float) - far[None, :5, :].astype(float)) ** 2).sum(2)
    D = arrays.squared_distances(backend.asarray(far, dtype), backend.asarray(far[:5], dtype))
    # without centring the error is eps * 4e6, thousands of times what is allowed here
    assert_close(D, naive, dtype=dtype)


def test_take_widen_scale_and_dense(backend, rows, sparse_rows, rng, assert_close):
    full = sparse_rows.toarray()
    some = np.array([7, 0, 7])
    assert_close(arrays.dense(arrays.take(rows, some)), full[some])
    assert_close(arrays.dense(arrays.take(rows, slice(2, 5))), full[2:5])
    factor = rng.uniform(1, 2, size=5)
    assert_close(arrays.dense(arrays.scale_columns(rows, None, factor)), full * factor)
    assert arrays.any_negative(rows) is False
    assert arrays.any_negative(rows * -1.0) is True
    like = arrays.dense(rows, like=backend.asarray(full))
    assert array_api_compat.array_namespace(like) is array_api_compat.array_namespace(backend.asarray(full))


def test_scaling_shifts_dense_rows_only(backend, sparse_rows, rng, assert_close):
    full, shift, factor = sparse_rows.toarray(), rng.normal(size=5), rng.uniform(1, 2, size=5)
    assert_close(arrays.scale_columns(backend.asarray(full), shift, factor), (full - shift) * factor)
    with pytest.raises(InputError, match="cannot be shifted"):
        arrays.scale_columns(sparse_rows, shift, factor)


def test_widen_appends_zeros_and_never_narrows(sparse_rows):
    full = sparse_rows.toarray()
    expected = np.hstack([full, np.zeros((12, 2))])
    np.testing.assert_array_equal(arrays.widen(full, 7), expected)
    np.testing.assert_array_equal(arrays.widen(sparse_rows, 7).toarray(), expected)
    assert arrays.widen(full, 5) is full
    with pytest.raises(InputError, match="cannot narrow"):
        arrays.widen(full, 4)


# ---------------------------------------------------------------------------------------------------------
# Blocks and backends
# ---------------------------------------------------------------------------------------------------------


@given(n=st.integers(0, 200), row=st.integers(0, 50), cap=st.integers(1, 400))
def test_blocks_cover_every_row_once_and_stay_under_the_cap(n, row, cap):
    parts = list(arrays.blocks(n, row, cap))
    assert [i for s in parts for i in range(s.start, s.stop)] == list(range(n))
    assert all(s.stop - s.start == 1 or (s.stop - s.start) * row <= cap for s in parts)


def test_a_backend_brings_arrays_there_and_back(backend, sparse_rows):
    a = backend.asarray([[1, 2]], "float32")
    assert a.dtype == backend.xp.float32
    np.testing.assert_array_equal(to_numpy(a), np.array([[1, 2]], dtype=np.float32))
    assert arrays.is_csr(backend.asarray(sparse_rows))


@pytest.mark.parametrize("room", [0.5, 2], ids=["too little", "enough"])
def test_sparse_rows_cross_over_once_where_there_is_room(backend, sparse_rows, room):
    n, d = sparse_rows.shape
    there = backend.rows(sparse_rows, int(room * 24 * n * d))
    assert arrays.is_csr(there) == (backend.is_numpy or room < 1)
    np.testing.assert_array_equal(to_numpy(arrays.dense(there)), sparse_rows.toarray())


def test_a_missing_torch_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'svmpress\[torch\]'"):
        Backend.of("cuda")


@pytest.mark.torch
def test_a_device_that_is_not_there_is_an_error_for_people():
    with pytest.raises(InputError, match="device 'nonsense' cannot be used"):
        Backend.of("nonsense")
