"""Answers for the rows of a Dask collection: lazy, chunk by chunk, each worker with one copy of the model.

    collection                         predict            decision_function, predict_proba
    Array, dense or CSR blocks         Array (n,)         Array (n,) or (n, K)
    DataFrame                          Series             Series, or DataFrame with a column a class

Rows keep their chunks, and those of a DataFrame their index and divisions. A partition that cannot be used is named in
the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from svmpress.data import answers, streaming
from svmpress.distributed.clusters import check_workers, current_client, fair_threads
from svmpress.distributed.delivery import deliver
from svmpress.errors import InputError, MissingExtraError
from svmpress.formats import as_model
from svmpress.model import KernelModel
from svmpress.numerics import arrays, as_array, check_names, column_names

if TYPE_CHECKING:
    import pandas


def predict(model: Any, X: Any) -> Any:
    """Return the answer for each row of a Dask collection, lazily.

    Parameters
    ----------
    model : KernelModel, path, or fitted estimator
    X : dask.array.Array (n, d), of dense or CSR blocks; or dask.dataframe.DataFrame
        Columns of a DataFrame are matched with those of the model by name, where it has names; others are not read.

    Returns
    -------
    dask.array.Array (n,) or dask.dataframe.Series

    Raises
    ------
    InputError
        Another number of columns or other names than the model's; a cluster whose workers cannot unpack the model.
        When it is computed: a partition that holds something else than finite numbers, by its number from 0.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> rows = np.linspace(0, 1, 50).reshape(-1, 1)
    >>> svc = SVC().fit(rows, rows[:, 0] > 0.5)
    >>> predict(svc, da.from_array(rows, chunks=(20, 1)))
    dask.array<_only_column, shape=(50,), dtype=bool, chunksize=(20,), chunktype=numpy.ndarray>
    """
    return _asked(model, X, "labels")


def decision_function(model: Any, X: Any) -> Any:
    """Return the scores of each row of a Dask collection, lazily; see :func:`predict`.

    Returns
    -------
    dask.array.Array (n,) or (n, K), or dask.dataframe.Series or DataFrame
    """
    return _asked(model, X, "scores")


def predict_proba(model: Any, X: Any) -> Any:
    """Return the probability of each class for each row of a Dask collection, lazily; see :func:`predict`.

    Returns
    -------
    dask.array.Array (n, K), or dask.dataframe.DataFrame with a column ``probability_CLASS`` a class
    """
    return _asked(model, X, "probabilities")


def _asked(model: Any, X: Any, question: streaming.Question) -> Any:
    try:
        from dask.base import is_dask_collection
    except ImportError as e:
        raise MissingExtraError("svmpress.distributed", "dask", "dask") from e
    model = as_model(model)
    if not is_dask_collection(X) or not (hasattr(X, "map_blocks") or hasattr(X, "map_partitions")):
        raise InputError(
            f"X must be a Dask array or DataFrame, not {type(X).__name__}; call the model's own methods for other rows"
        )
    ask = _asked_of_table if column_names(X) is not None or not hasattr(X, "map_blocks") else _asked_of_array
    return ask(model, X, question)


def _delivered(model: KernelModel) -> Any:
    """Return the model as a key of the graph, once the workers of the current cluster are known to take it."""
    client = current_client()
    if client is not None:
        check_workers(client, model)
    return deliver(model)


# ---------------------------------------------------------------------------------------------------------
# Arrays
# ---------------------------------------------------------------------------------------------------------


def _asked_of_array(model: KernelModel, X: Any, question: streaming.Question) -> Any:
    if X.ndim != 2:
        raise InputError(f"X must be two-dimensional (rows, features), not {X.ndim}-dimensional")
    if not np.isnan(X.shape[1]) and X.shape[1] != model.n_features:
        raise InputError(f"X has {X.shape[1]} features, but the model has {model.n_features}")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    like = streaming.answers(model, np.zeros((0, model.n_features)), question)
    options = {"question": question, "alone": X.npartitions == 1, "dtype": like.dtype}
    columns = like if like.ndim == 2 else like[:, None]
    wide = X.map_blocks(
        _answer_block, _delivered(model), chunks=(X.chunks[0], columns.shape[1:]), meta=columns, **options
    )
    # a block that loses an axis is not made in one task with those it comes from, where the model is an argument
    return wide if like.ndim == 2 else wide.map_blocks(_only_column, drop_axis=1, meta=like, dtype=like.dtype)


def _answer_block(
    block: Any, model: KernelModel, question: streaming.Question, alone: bool, block_id: tuple[int, ...] | None = None
) -> Any:
    """Return the answers for one block, (k, M)."""
    values = _answer(block, model, question, alone, 0 if block_id is None else block_id[0])
    return values if values.ndim == 2 else values[:, None]


def _only_column(block: Any) -> Any:
    return block[:, 0]


def _answer(block: Any, model: KernelModel, question: streaming.Question, alone: bool, number: int) -> Any:
    """Return the answers for the rows of a partition, or say which it is that cannot be used."""
    try:
        # the model looks at dense rows itself, and at those that its predictor reads in the same pass
        X = arrays.check_rows(block, n_features=model.n_features) if arrays.is_csr(block) else block
        return streaming.answers(model, X, question, fair_threads(alone))
    except InputError as e:
        raise InputError(f"partition {number}: {e}") from e


# ---------------------------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------------------------


def _asked_of_table(model: KernelModel, X: Any, question: streaming.Question) -> Any:
    if X.ndim != 2:
        raise InputError("X must be a DataFrame with a column for each feature, not a Series")
    given = column_names(X)
    names = given if model.feature_names is None else model.feature_names
    if given is not None and names is not None:
        check_names(given, names, "X")
    n_columns = len(X.columns if names is None else names)
    if n_columns != model.n_features:
        raise InputError(f"X has {n_columns} columns, but the model has {model.n_features} features")
    like = _as_table(model, streaming.answers(model, np.zeros((0, model.n_features)), question), question, None)
    options = {"question": question, "names": names, "alone": X.npartitions == 1}
    if names is not None and given != tuple(names) and _reads_what_is_asked(X):
        X = X[list(names)]
    return X.map_partitions(_answer_table, _delivered(model), meta=like, **options)


def _reads_what_is_asked(X: Any) -> bool:
    """Return whether columns that nobody asks for are not even read, as of Parquet files.

    Elsewhere they are chosen by the task that answers, which can say of which partition one is missing.
    """
    leaves = [e for e in X.expr.walk() if not e.dependencies()]
    return all(getattr(type(leaf), "_absorb_projections", False) for leaf in leaves)


def _answer_table(
    part: Any,
    model: KernelModel,
    question: streaming.Question,
    names: Sequence[str] | None,
    alone: bool,
    partition_info: dict[str, Any] | None = None,
) -> Any:
    """Return the answers for one partition of a DataFrame, with its index."""
    number = 0 if partition_info is None else int(partition_info["number"])
    try:
        rows = as_array(part, names)
    except InputError as e:
        raise InputError(f"partition {number}: {e}") from e
    return _as_table(model, _answer(rows, model, question, alone, number), question, part.index)


def _as_table(
    model: KernelModel, values: Any, question: streaming.Question, index: Any
) -> pandas.Series[Any] | pandas.DataFrame:
    """Return answers as a Series, or as a DataFrame where there are several a row."""
    import pandas as pd

    columns = answers.named_answers(model, values, question)
    if question == "probabilities":
        columns.pop("prediction", None)
    elif len(columns) == 1:
        ((name, a),) = columns.items()
        return pd.Series(a, index=index, name=name)
    return pd.DataFrame(columns, index=index)
