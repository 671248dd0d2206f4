"""Names of features: columns of tables are matched by name, in files and in memory."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import svmpress
from svmpress import data
from svmpress.cli import main
from svmpress.data import streaming
from svmpress.errors import FormatError, InputError
from svmpress.numerics import column_names


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def model(iris):
    X, y = iris
    return svmpress.from_estimator(SVC(gamma=0.3).fit(X, np.array(["a", "b", "c"])[y]))


def shuffled(X):
    return X[list(X.columns[[2, 0, 3, 1]])]


@pytest.mark.parametrize("make", [pd.DataFrame, pyarrow.Table.from_pandas], ids=["pandas", "pyarrow"])
def test_reordered_columns_are_put_in_order(iris, model, make):
    X, _ = iris
    expected = model.decision_function(X.to_numpy())
    np.testing.assert_array_equal(model.decision_function(make(shuffled(X))), expected)
    np.testing.assert_array_equal(model.decision_function(make(shuffled(X).assign(id=7.0))), expected)
    np.testing.assert_array_equal(model.predict(make(shuffled(X))), model.predict(X.to_numpy()))


def test_missing_columns_are_named(iris, model):
    X, y = iris
    fewer = X.drop(columns=["petal width (cm)", "sepal width (cm)"])
    with pytest.raises(InputError, match=r"X lacks the columns 'sepal width \(cm\)', 'petal width \(cm\)'"):
        model.predict(fewer)
    with pytest.raises(InputError, match="X lacks the columns"):
        svmpress.compress(model, fewer, y)
    with pytest.raises(InputError, match="several columns named 'sepal width"):
        model.predict(pd.concat([X, X[["sepal width (cm)"]]], axis=1))


def test_columns_that_are_numbered_are_taken_as_they_come(iris, model):
    X, _ = iris
    np.testing.assert_array_equal(model.predict(pd.DataFrame(X.to_numpy())), model.predict(X))
    assert column_names(pd.DataFrame(X.to_numpy())) is None
    np.testing.assert_array_equal(replace(model, feature_names=None).predict(X), model.predict(X))


def test_compress_matches_names_and_keeps_them(iris, model):
    X, _ = iris
    one = svmpress.compress(model, X, vectors=8).model
    two = svmpress.compress(model, shuffled(X), vectors=8).model
    np.testing.assert_array_equal(one.expansion.vectors, two.expansion.vectors)
    assert one.feature_names == model.feature_names
    assert one.astype(np.float32).feature_names == model.feature_names


def test_names_are_as_many_as_features(model):
    for names in (("a", "b"), ("a", "a", "b", "c")):
        with pytest.raises(InputError, match="feature_names must be 4 different names"):
            replace(model, feature_names=names)


# ---------------------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------------------


def write(table, path):
    table.to_csv(path, index=False) if path.suffix == ".csv" else table.to_parquet(path, index=False)
    return path


@pytest.fixture(params=["rows.csv", "rows.parquet"])
def path(request, tmp_path):
    return tmp_path / request.param


def answers(model, path, **options):
    parts = streaming.predict_file(model, str(path), streaming.read_options(model, labels=None, **options))
    return np.concatenate([part.values for part in parts])


def test_columns_of_files_are_matched_by_name(iris, model, path):
    X, y = iris
    expected = model.predict(X.to_numpy())
    table = shuffled(X)
    table.insert(1, "id", np.arange(len(X)))
    table.insert(3, "class", np.array(["a", "b", "c"])[y])
    np.testing.assert_array_equal(answers(model, write(table, path)), expected)
    rows = data.read(path, streaming.read_options(model))
    np.testing.assert_array_equal(rows.X, X.to_numpy())
    assert set(rows.y) == {"a", "b", "c"}
    np.testing.assert_array_equal(answers(model, write(shuffled(X), path)), expected)  # no label
    only = shuffled(X).assign(what=np.array(["a", "b", "c"])[y])
    assert set(data.read(write(only, path), streaming.read_options(model)).y) == {"a", "b", "c"}


def test_what_is_missing_or_unclear_in_a_file_is_said(iris, model, path):
    X, _ = iris
    with pytest.raises(InputError, match=r"rows.\w+ lacks the column 'sepal length \(cm\)' of the model"):
        answers(model, write(X.rename(columns={"sepal length (cm)": "length"}), path))
    both = write(X.assign(one=1.0, two=2.0), path)
    with pytest.raises(FormatError, match="not clear which column beside the features is the label"):
        data.read(both, streaming.read_options(model))
    assert set(data.read(both, streaming.read_options(model, label="two")).y.astype(float)) == {2.0}
    with pytest.raises(FormatError, match="is a feature of the model, so it is not the label"):
        data.read(both, streaming.read_options(model, label="petal width (cm)"))


def test_files_without_names_are_taken_as_they_come(iris, model, tmp_path):
    X, _ = iris
    np.savetxt(tmp_path / "rows.csv", X.to_numpy(), delimiter=",")
    np.testing.assert_array_equal(answers(model, tmp_path / "rows.csv"), model.predict(X))


def test_the_command_line_matches_names(iris, model, tmp_path, capsys):
    X, y = iris
    svmpress.save(model, tmp_path / "big.svmpress")
    rows = str(write(shuffled(X).assign(label=np.array(["a", "b", "c"])[y]), tmp_path / "rows.csv"))
    small, big = str(tmp_path / "small.svmpress"), str(tmp_path / "big.svmpress")
    assert main(["compress", big, "-o", small, "--data", rows, "--vectors", "9", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["expected"]["source_accuracy"]["value"] > 0.95
    assert main(["predict", small, rows]) == 0
    assert np.mean(np.array(capsys.readouterr().out.split()) == model.predict(X)) > 0.95


# ---------------------------------------------------------------------------------------------------------
# The native format
# ---------------------------------------------------------------------------------------------------------


def rewritten(path, **changes):
    """Write a native file again with other entries in its schema; None leaves an entry out."""
    with zipfile.ZipFile(path) as old:
        members = {info.filename: old.read(info) for info in old.infolist()}
    schema = {k: v for k, v in (json.loads(members["schema.json"]) | changes).items() if v is not None}
    members["schema.json"] = json.dumps(schema).encode()
    with zipfile.ZipFile(path, "w") as new:
        for name, content in members.items():
            new.writestr(name, content)


def test_native_files_keep_names_and_old_ones_have_none(model, iris, tmp_path):
    path = tmp_path / "a.svmpress"
    svmpress.save(model, path)
    assert svmpress.load(path).feature_names == model.feature_names
    rewritten(path, feature_names=None)
    assert svmpress.load(path).feature_names is None
    np.testing.assert_array_equal(svmpress.load(path).predict(iris[0]), model.predict(iris[0]))


@pytest.mark.parametrize("names", ["abcd", ["a", "b"], ["a", "a", "b", "c"], [1, 2, 3, 4], {"a": 1}, 5])
def test_names_that_are_none_are_refused(model, names, tmp_path):
    path = tmp_path / "a.svmpress"
    svmpress.save(model, path)
    rewritten(path, feature_names=names)
    with pytest.raises(FormatError, match="names"):
        svmpress.load(path)
