"""Dask collections are answered as rows in memory are, lazily, chunk by chunk, and bad partitions are named."""

from __future__ import annotations

import sys
from dataclasses import replace

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.callbacks import Callback
from scipy import sparse
from sklearn.svm import SVC, SVR

import svmpress
import svmpress.spark
from svmpress import distributed
from svmpress.errors import InputError, MissingExtraError

NAMES = ("width", "height", "depth")
QUESTIONS = ("predict", "decision_function", "predict_proba")


@pytest.fixture(autouse=True)
def _without_threads():
    with dask.config.set(scheduler="sync"):
        yield


@pytest.fixture
def X(rng):
    return rng.normal(size=(200, 3))


@pytest.fixture
def model(X):
    y = np.array(["low", "mid", "top"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)]
    model = svmpress.from_estimator(SVC().fit(X, y))
    return replace(model, probability={"inverse_temperature": np.array([0.7])}, feature_names=NAMES)


@pytest.fixture
def table(X):
    """Columns in another order than the model's, and one of text."""
    frame = pd.DataFrame(X, columns=list(NAMES))[["depth", "width", "height"]]
    return frame.assign(id=[f"row {k}" for k in range(len(frame))]).set_index(np.arange(len(frame)) * 10)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("chunks", [(60, 3), (60, 2), (1000, 3)], ids=str)
def test_arrays_are_answered_chunk_by_chunk(model, X, question, chunks):
    rows = da.from_array(X, chunks=chunks)
    got, expected = getattr(distributed, question)(model, rows), getattr(model, question)(X)
    assert got.chunks[0] == rows.chunks[0]
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(got.compute(), expected)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
def test_blocks_may_be_sparse(model, X, kind):
    X = X * (np.abs(X) > 0.5)
    rows = da.from_array(X, chunks=(70, 3)).map_blocks(kind, dtype=float)
    np.testing.assert_array_equal(distributed.predict(model, rows).compute(), model.predict(sparse.csr_array(X)))
    assert distributed.predict_proba(model, rows).compute().shape == (200, 3)


def test_chunks_of_unknown_size_and_without_rows_are_answered(model, X):
    rows = da.from_array(X, chunks=(50, 3))
    some = rows[da.from_array(X[:, 0] > 2, chunks=50)]
    assert np.isnan(some.shape[0])
    np.testing.assert_array_equal(distributed.predict(model, some).compute(), model.predict(X[X[:, 0] > 2]))
    none = da.concatenate([rows, rows[:0], rows[:7]])
    np.testing.assert_array_equal(distributed.predict(model, none).compute(), model.predict(np.vstack([X, X[:7]])))


def test_a_regressor_of_one_precision_answers_in_it(X):
    model = svmpress.from_estimator(SVR().fit(X, X[:, 0])).astype("float32")
    rows = da.from_array(X.astype("float32"), chunks=(90, 3))
    got = distributed.predict(model, rows)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got.compute(), model.predict(X.astype("float32")))


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("convert", [True, False], ids=["pyarrow strings", "pandas strings"])
def test_columns_of_tables_are_matched_by_name(model, table, X, question, convert):
    with dask.config.set({"dataframe.convert-string": convert}):
        rows = dd.from_pandas(table, npartitions=3)
        got = getattr(distributed, question)(model, rows)
        assert got.divisions == rows.divisions
        answers = got.compute()
    expected = getattr(model, question)(X)
    np.testing.assert_array_equal(answers.to_numpy(), expected)
    assert (answers.index == table.index).all()
    if question == "predict":
        assert answers.name == "prediction"
        joined = rows.assign(answer=got).compute()
        assert (joined.answer.to_numpy() == expected).all()
    else:
        kind = {"decision_function": "score", "predict_proba": "probability"}[question]
        assert list(answers.columns) == [f"{kind}_{c}" for c in model.classes_]


def test_only_columns_of_the_model_are_read(model, table, tmp_path):
    for k, part in enumerate((table[:50], table[50:])):
        part.to_parquet(tmp_path / f"{k}.parquet")
    answers = distributed.predict(model, dd.read_parquet(tmp_path))
    assert "'id'" not in answers.optimize().expr.tree_repr()
    assert (answers.compute().to_numpy() == model.predict(table[list(NAMES)].to_numpy())).all()


def test_a_model_without_names_takes_the_columns_as_they_come(model, X):
    rows = dd.from_pandas(pd.DataFrame(X), npartitions=2)
    got = distributed.predict(replace(model, feature_names=None), rows)
    np.testing.assert_array_equal(got.compute().to_numpy(), model.predict(X))


def test_the_model_is_one_key_of_the_graph_whatever_is_asked(model, X):
    rows = da.from_array(X, chunks=(10, 3))
    both = [distributed.predict(model, rows), distributed.decision_function(model, rows)]
    keys = {k for answers in dask.optimize(*both) for k in answers.__dask_graph__() if "svmpress-model" in str(k)}
    assert len(keys) == 1
    done = []
    with Callback(pretask=lambda key, *_: done.append(key)):
        dask.compute(*both)
    assert [key for key in done if "svmpress-model" in str(key)] == list(keys)


def test_nothing_is_computed_before_it_is_asked_for(model):
    def never(block):
        raise AssertionError("a block was made")

    rows = da.zeros((100, 3), chunks=(10, 3)).map_blocks(never, dtype=float, meta=np.zeros((0, 3)))
    distributed.predict_proba(model, rows)


# ---------------------------------------------------------------------------------------------------------
# Bad input
# ---------------------------------------------------------------------------------------------------------


def broken(X, number, block):
    """Return rows of which one block is another one."""
    parts = [da.from_array(X[k : k + 50], chunks=(50, 3)) for k in range(0, 200, 50)]
    made = dask.delayed(lambda: block)()
    parts[number] = da.from_delayed(made, shape=(50, 3), dtype=float)
    return da.concatenate(parts)


@pytest.mark.parametrize(
    ("block", "sentence"),
    [
        (np.where(np.arange(150).reshape(50, 3) == 22, np.nan, 0.0), "partition 2: X holds NaN at row 7, column 1"),
        (np.zeros((50, 4)), "partition 2: X has 4 features, but the model has 3"),
        (np.full((50, 3), "wide"), "partition 2: X is not a table of numbers"),
        (np.zeros((50, 3), dtype=complex), "partition 2: X holds complex numbers"),
        (sparse.csr_array(np.full((50, 3), np.inf)), "partition 2: X holds an infinite value at row 0, column 0"),
    ],
    ids=["NaN", "columns", "text", "complex", "infinite and sparse"],
)
def test_a_block_that_cannot_be_used_is_named(model, X, block, sentence):
    rows = distributed.predict(model, broken(X, 2, block))
    with pytest.raises(InputError, match=sentence):
        rows.compute()


def shards(table, number, change):
    """Return a table of three shards, of which one is not what it was said to be."""
    parts = [table.iloc[:70], table.iloc[70:140], table.iloc[140:]]
    parts[number] = change(parts[number])
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=table, verify_meta=False)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda t: t.rename(columns={"height": "hight"}), "partition 1: X lacks the column 'height' of the model"),
        (lambda t: t.assign(width="wide"), "partition 1: X is not a table of numbers"),
        (lambda t: t.assign(width=t.width.where(t.width < 1)), "partition 1: X holds NaN at row"),
        (lambda t: t.assign(width=t.width.astype("Float64").mask(t.width > 1)), "partition 1: X"),
    ],
    ids=["other columns", "text", "NaN", "missing"],
)
def test_a_shard_that_cannot_be_used_is_named(model, table, change, sentence):
    with dask.config.set({"dataframe.convert-string": False}):
        rows = distributed.predict(model, shards(table, 1, change))
        with pytest.raises(InputError, match=sentence):
            rows.compute()


def test_a_shard_without_rows_has_no_answers(model, table):
    with dask.config.set({"dataframe.convert-string": False}):
        got = distributed.predict(model, shards(table, 1, lambda t: t.iloc[:0])).compute()
    assert len(got) == len(table) - 70


def test_what_is_seen_at_once_is_refused_at_once(model, table, X):
    rows = dd.from_pandas(table, npartitions=2)
    with pytest.raises(InputError, match="X has 2 features, but the model has 3"):
        distributed.predict(model, da.from_array(X[:, :2]))
    with pytest.raises(InputError, match="two-dimensional"):
        distributed.predict(model, da.from_array(X[0]))
    with pytest.raises(InputError, match="lacks the column 'height'"):
        distributed.predict(model, rows[["width", "depth"]])
    with pytest.raises(InputError, match="X has 4 columns, but the model has 3 features"):
        distributed.predict(replace(model, feature_names=None), rows)
    with pytest.raises(InputError, match="not a Series"):
        distributed.predict(model, rows["width"])
    with pytest.raises(InputError, match="Dask array or DataFrame, not ndarray"):
        distributed.predict(model, X)
    with pytest.raises(InputError, match="no probabilities"):
        distributed.predict_proba(replace(model, probability={}), rows)


def test_what_is_not_installed_is_named(model, X, monkeypatch):
    rows = da.from_array(X)
    for package in ("dask.base", "dask.delayed", "distributed", "pyspark.sql", "torch"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"svmpress\[dask\]"):
        distributed.predict(model, rows)
    with pytest.raises(MissingExtraError, match=r"svmpress\[dask\]"):
        distributed.deliver(model)
    with pytest.raises(MissingExtraError, match=r"svmpress\[dask\]"), distributed.cluster(workers=1):
        pass
    with pytest.raises(MissingExtraError, match=r"svmpress\[spark\]"):
        svmpress.spark.predict_column(model)
    with pytest.raises(MissingExtraError, match=r"svmpress\[torch\]"):
        svmpress.to_torch(model)
