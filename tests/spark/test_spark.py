"""Answers as a column of a Spark DataFrame, in a real local session."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC, SVR

import svmpress
from svmpress.errors import InputError
from svmpress.spark import answer_type, predict_batches, predict_column

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

NAMES = ("width", "height", "net depth")


def has_java() -> bool:
    java = shutil.which("java")
    return java is not None and subprocess.run([java, "-version"], capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def spark():
    sql = pytest.importorskip("pyspark.sql", reason="PySpark is not installed")
    if not has_java():
        pytest.skip("Spark runs on Java, which is not here")
    before = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    os.environ.pop("PYSPARK_PYTHON")
    if before is not None:
        os.environ["PYSPARK_PYTHON"] = before


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(300, 3))


@pytest.fixture(scope="module")
def model(X):
    y = np.array(["low", "mid", "top"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)]
    model = svmpress.from_estimator(SVC().fit(X, y))
    return replace(model, probability={"inverse_temperature": np.array([0.7])}, feature_names=NAMES)


@pytest.fixture(scope="module")
def rows(spark, X):
    """Columns in another order than the model's, in three partitions."""
    frame = pd.DataFrame(X, columns=list(NAMES))[["height", "net depth", "width"]].assign(id=np.arange(len(X)))
    return spark.createDataFrame(frame).repartition(3).cache()


METHODS = {"labels": "predict", "scores": "decision_function", "probabilities": "predict_proba"}


@pytest.mark.parametrize("question", METHODS)
def test_a_column_has_the_answers_of_the_model(rows, model, X, question):
    answered = rows.withColumn("answer", predict_column(model, question=question)).select("id", "answer").toPandas()
    expected = getattr(model, METHODS[question])(X)[answered.id]
    np.testing.assert_array_equal(np.stack(answered.answer.to_list()), expected)


@pytest.mark.parametrize("question", METHODS)
def test_batches_are_passed_on_with_the_answers(rows, model, X, question):
    schema = f"{rows.schema.toDDL()}, prediction {answer_type(model, question)}"
    answered = rows.mapInArrow(predict_batches(model, question=question), schema).toPandas()
    assert list(answered.columns) == [*rows.columns, "prediction"]
    expected = getattr(model, METHODS[question])(X)[answered.id]
    np.testing.assert_array_equal(np.stack(answered.prediction.to_list()), expected)


def test_a_regressor_and_other_labels_have_their_types(rows, X):
    for y, kind in ((X[:, 0], "double"), (X[:, 0] > 0, "boolean"), (np.sign(X[:, 0]).astype(np.int32), "int")):
        model = svmpress.from_estimator((SVR() if kind == "double" else SVC()).fit(X, y))
        assert answer_type(model) == kind
        answered = rows.select("id", predict_column(model, NAMES).alias("answer"))
        assert answered.schema["answer"].dataType.simpleString() == kind
        answered = answered.toPandas()
        np.testing.assert_array_equal(answered.answer, model.predict(X)[answered.id])
    assert answer_type(svmpress.from_estimator(SVR().fit(X, X[:, 0])).astype("float32")) == "float"


def test_a_partition_that_cannot_be_used_is_named(spark, model, X):
    from pyspark.errors import PythonException

    bad = X.copy()
    bad[170, 1] = np.nan
    frame = spark.createDataFrame(pd.DataFrame(bad, columns=list(NAMES)))
    with pytest.raises(PythonException, match=r"InputError: partition \d+, in the batch from row \d+ on: X holds NaN"):
        frame.select(predict_column(model)).collect()


def test_what_is_seen_at_once_is_refused_at_once(spark, model):
    with pytest.raises(InputError, match="2 columns are named, but the model has 3 features"):
        predict_column(model, ["width", "height"])
    with pytest.raises(InputError, match="name the 3 feature columns"):
        predict_column(replace(model, feature_names=None))
    with pytest.raises(InputError, match="no probabilities"):
        predict_column(replace(model, probability={}), question="probabilities")
