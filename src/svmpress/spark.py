"""Answers as a column of a Spark DataFrame: Arrow batches in, one model broadcast to all executors.

    df.withColumn("answer", predict_column(model, ["width", "height"]))
    df.mapInArrow(predict_batches(model, ["width", "height"]), df.schema.add("prediction", answer_type(model)))

Executors need svmpress in the Python that they run. Each of their tasks predicts on as many threads as Spark gives it
(``spark.task.cpus``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from svmpress.data import streaming
from svmpress.errors import InputError, MissingExtraError
from svmpress.formats import as_model
from svmpress.model import KernelModel
from svmpress.numerics import check_names

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from pyspark.sql import Column

__all__ = ["answer_type", "predict_batches", "predict_column"]

_TYPES = {
    "b1": "boolean",
    "i1": "tinyint",
    "u1": "smallint",
    "i2": "smallint",
    "u2": "int",
    "i4": "int",
    "u4": "bigint",
    "i8": "bigint",
    "f4": "float",
    "f8": "double",
}
"""Types of Spark by those of NumPy; other labels are text."""
_ARROW = {"boolean": "bool", "tinyint": "int8", "smallint": "int16", "int": "int32", "bigint": "int64"}
_ARROW |= {"float": "float32", "double": "float64", "string": "string"}
"""Types of Arrow by those of Spark."""


def predict_column(model: Any, columns: Sequence[str] | None = None, question: streaming.Question = "labels") -> Column:
    """Return a column with the model's answer for each row, for ``withColumn`` or ``select``.

    Parameters
    ----------
    model : KernelModel, path, or fitted estimator
    columns : sequence of str, optional
        The feature columns, in the order of the model; None: the names that the model has.
    question : "labels", "scores" or "probabilities"
        What ``predict``, ``decision_function`` or ``predict_proba`` says. Several numbers a row are an array.

    Raises
    ------
    InputError
        Another number of columns than the model's, or no Spark session to broadcast the model with. On an executor, and
        there in the text of Spark's error: rows that hold something else than finite numbers, by their partition.
    MissingExtraError
        Without PySpark.
    """
    model = as_model(model)
    names = _feature_columns(model, columns)
    shared = _broadcast(model)
    from pyspark.sql.functions import col, pandas_udf

    def answer(batches: Iterator[tuple[pandas.Series[Any], ...]]) -> Iterator[pandas.Series[Any]]:
        import pandas as pd

        ask = _Asker(shared.value, question)
        for batch in batches:
            values = ask([s.to_numpy() for s in batch])
            yield pd.Series(values if values.ndim == 1 else list(values))

    # Spark reads the kind of function from its annotations, which it must be able to evaluate
    answer.__annotations__ = _annotations()
    return pandas_udf(answer, answer_type(model, question))(*(col(f"`{name}`") for name in names))


def predict_batches(
    model: Any,
    columns: Sequence[str] | None = None,
    question: streaming.Question = "labels",
    name: str = "prediction",
) -> Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]:
    """Return a function for ``mapInArrow``: it passes rows on, with the model's answers as one more column.

    Parameters
    ----------
    model, columns, question
        As for :func:`predict_column`.
    name : str
        Of the column, whose type is :func:`answer_type`.
    """
    model = as_model(model)
    names = _feature_columns(model, columns)
    shared, arrow_type = _broadcast(model), answer_type(model, question)

    def answer(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        ask = _Asker(shared.value, question)
        for batch in batches:
            check_names(batch.schema.names, names, "the batch")
            values = ask([batch.column(n).to_numpy(zero_copy_only=False) for n in names])
            yield batch.append_column(name, _as_arrow(values, arrow_type))

    return answer


def answer_type(model: Any, question: streaming.Question = "labels") -> str:
    """Return the type in Spark of a model's answers, as its schemas write it.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> svc = SVC().fit([[0.0], [1.0], [2.0]], ["low", "mid", "top"])
    >>> answer_type(svc), answer_type(svc, "scores")
    ('string', 'array<double>')
    """
    model = as_model(model)
    like = streaming.answers(model, np.zeros((0, model.n_features)), question)
    kind = _TYPES.get(like.dtype.str[1:], "string")
    return kind if like.ndim == 1 else f"array<{kind}>"


class _Asker:
    """A model that answers batches of one task, and counts their rows for its errors."""

    def __init__(self, model: KernelModel, question: streaming.Question) -> None:
        from pyspark import TaskContext

        context: Any = TaskContext.get()
        self._model, self._question = model, question
        self._partition, self._n_threads = context.partitionId(), max(1, context.cpus())
        self._done = 0

    def __call__(self, columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return the answers for rows whose features are these columns."""
        try:
            found = streaming.answers(self._model, np.column_stack(columns), self._question, self._n_threads)
        except InputError as e:
            raise InputError(f"partition {self._partition}, in the batch from row {self._done} on: {e}") from e
        self._done += len(found)
        return found


def _broadcast(model: KernelModel) -> Any:
    try:
        from pyspark.sql import SparkSession
    except ImportError as e:
        raise MissingExtraError("svmpress.spark", "PySpark", "spark") from e
    session = SparkSession.getActiveSession()
    if session is None:
        raise InputError("there is no Spark session to broadcast the model with: make one first, SparkSession.builder")
    return session.sparkContext.broadcast(model)


def _feature_columns(model: KernelModel, columns: Sequence[str] | None) -> Sequence[str]:
    names = model.feature_names if columns is None else tuple(columns)
    if names is None:
        raise InputError(f"name the {model.n_features} feature columns: the model has no names of its own")
    if len(names) != model.n_features:
        raise InputError(f"{len(names)} columns are named, but the model has {model.n_features} features")
    return names


def _annotations() -> dict[str, Any]:
    import pandas as pd

    return {"batches": Iterator[tuple[pd.Series, ...]], "return": Iterator[pd.Series]}


def _as_arrow(values: NDArray[Any], arrow_type: str) -> Any:
    import pyarrow as pa

    element = _ARROW[arrow_type.removeprefix("array<").removesuffix(">")]
    flat = pa.array(values.ravel().tolist() if element == "string" else np.ascontiguousarray(values).ravel())
    flat = flat.cast(element)
    if values.ndim == 1:
        return flat
    ends = np.arange(0, values.size + 1, values.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), flat)
