"""Models over data files: predict and evaluate in bounded memory, whatever the size of the file.

Rows come in blocks (:mod:`svmpress.data`), are fitted to the columns of the model, and are answered block by block.
svmlight text does not say how many features there are, so its rows may be narrower than the model, and the missing
columns are zeros. They may also be wider: for a model from a LibSVM file that means features that are zero in every
vector (or that ``svm-scale`` ignores), and so for one of SVM-light; for any other model it is an error.
"""

from __future__ import annotations

import contextlib
import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from svmpress import data
from svmpress.decoders import Floats
from svmpress.errors import InputError, SvmpressWarning
from svmpress.model import KernelModel, doubt_of_scale
from svmpress.numerics import Rows, arrays
from svmpress.storage import current_limits

Progress = Callable[[str, int, int], None]

_SPARSE_FORMATS = ("libsvm", "svmlight")
"""Model files that name no feature which is 0 in every vector."""

_LOOKED_AT = 2000
"""Rows of a file that are compared with the model's vectors."""

_DENSE_BYTES = 64 * 2**20
"""Sparse rows that a scaler makes dense are taken this much at a time."""

_TIMES, _LONG = 5, 0.1
"""The first block of an evaluation is answered so many times, or until that takes so many seconds, and the least
counts: of a file with one block, one measurement may be an accident."""


def read_options(model: KernelModel, **changes: Any) -> data.ReadOptions:
    """Return how to read data for a model: its number of features, their names, and where its feature indices start."""
    known: dict[str, Any] = {"n_features": model.n_features, "default_split": "test"}
    known["feature_names"] = model.feature_names
    if model.provenance.get("first_index") == 0:
        known["zero_based"] = True
    return data.ReadOptions(**(known | changes))


def fit_columns(model: KernelModel, X: Rows, *, elastic: bool = False) -> tuple[KernelModel, Rows]:
    """Return model and rows with the same number of features; see the module's docstring.

    Parameters
    ----------
    elastic : bool
        Whether the rows are svmlight text, the only ones that may differ from the model.
    """
    d, wanted = X.shape[1], model.n_features
    if elastic and d < wanted:
        return model, arrays.widen(X, wanted)
    if elastic and d > wanted and model.provenance.get("format") in _SPARSE_FORMATS:
        return (model.widened(d), X) if model.scaling is None else (model, X[:, :wanted])
    if d != wanted:
        raise InputError(f"the data has {d} features, but the model has {wanted}")
    return model, X


def prepared(model: KernelModel, X: Rows) -> Rows:
    """Return rows that the model's scaling can take: dense if it shifts them."""
    if model.scaling is None or model.scaling.shift is None or not arrays.is_csr(X):
        return X
    what = "the sparse data, dense as the scaling of the model makes it,"
    current_limits().check_memory(8 * math.prod(X.shape), arrays.stored_bytes(X), what)
    return arrays.dense(X)


Question = Literal["labels", "scores", "probabilities"]
"""What a model is asked about rows: ``predict``, ``decision_function`` or ``predict_proba``."""


def answers(model: KernelModel, X: Rows, question: Question = "labels", n_threads: int | None = None) -> NDArray[Any]:
    """Return what the model says about rows with its number of features; memory stays bounded.

    Parameters
    ----------
    question : "labels", "scores" or "probabilities"
        What to return: what ``predict``, ``decision_function`` or ``predict_proba`` says.
    n_threads : int, optional
        How many threads the compiled predictor may use; None: as many as ``OMP_NUM_THREADS`` says.
    """
    ask = {"labels": model.predict, "scores": model.decision_function}.get(question) or _probabilities(model)
    per_row = 8 * model.n_features if arrays.is_csr(X) else 1
    slices = list(arrays.blocks(X.shape[0], per_row, _DENSE_BYTES)) or [slice(0)]
    told = {} if n_threads is None else {"n_threads": n_threads}  # an emulator has no threads
    parts = [ask(prepared(model, X[rows]), **told) for rows in slices]
    return np.concatenate(parts) if len(parts) != 1 else parts[0]


def _probabilities(model: KernelModel) -> Callable[..., Floats]:
    """Return what gives the probabilities of a model's classes at rows."""
    if not model.has_probability:
        raise InputError(
            "the model has no probabilities of classes: its source was trained without (LibSVM: -b 1, scikit-learn: "
            "probability=True or a CalibratedClassifierCV)"
        )
    return model.predict_proba


@dataclass(frozen=True, eq=False)
class Answered:
    """A block of rows with its answers.

    Parameters
    ----------
    values : (k,) or (k, M)
        Labels, values, or scores.
    block : data.Block
        Where they come from.
    model : KernelModel
        The model that answered, possibly widened.
    X : (k, d)
        The rows as the model saw them.
    seconds : float
        What the answering took, reading left out.
    """

    values: NDArray[Any]
    block: data.Block
    model: KernelModel
    X: Rows
    seconds: float


class _Fitting:
    """A model, widened as far as rows of svmlight text have needed so far."""

    def __init__(self, model: KernelModel) -> None:
        self._model = self._wide = model

    def __call__(self, block: data.Block) -> tuple[KernelModel, Rows]:
        """Return model and rows with the same number of features."""
        if not block.elastic:
            return fit_columns(self._model, block.X)
        self._wide, X = fit_columns(self._wide, block.X, elastic=True)
        return self._wide, X


def predict_file(
    model: KernelModel,
    path: data.Paths,
    options: data.ReadOptions | None = None,
    *,
    question: Question = "labels",
    stage: str = "predicting",
    progress: Progress | None = None,
    n_threads: int | None = None,
    measure: bool = False,
) -> Iterator[Answered]:
    """Yield answers for the rows of data files, block by block, in order.

    With ``measure`` the first block is answered several times, so that ``seconds`` is no accident.
    """
    fitted = _Fitting(model)
    with contextlib.closing(data.stream(path, options or read_options(model, labels=None))) as blocks:
        for block in blocks:
            model, X = fitted(block)
            if block.first_row == 0:
                if isinstance(model, KernelModel):
                    _doubt(model, X)
                answers(model, X[:1])  # what happens once, such as laying out the vectors, is not the cost of a row
            times = _TIMES if measure and block.first_row == 0 else 1
            values, seconds = _timed(partial(answers, model, X, question, n_threads), times)
            yield Answered(values, block, model, X, seconds)
            if progress is not None:
                done = block.first_row + X.shape[0]
                progress(stage, done, round(done / block.fraction) if block.fraction else 0)


def _timed(ask: Callable[[], NDArray[Any]], times: int) -> tuple[NDArray[Any], float]:
    """Return answers, and the least time that they took."""
    begun, least = time.perf_counter(), math.inf
    for _ in range(times):
        start = time.perf_counter()
        values = ask()
        least = min(least, time.perf_counter() - start)
        if time.perf_counter() - begun > _LONG:
            break
    return values, least


def _doubt(model: KernelModel, X: Rows) -> None:
    """Warn of rows that are not scaled as the model's vectors are."""
    some = prepared(model, X[: min(X.shape[0], _LOOKED_AT)])
    doubt = doubt_of_scale(model, some if model.scaling is None else model.scaling(some))
    if doubt is not None:
        warnings.warn(doubt, SvmpressWarning, stacklevel=2)


def as_lines(values: NDArray[Any]) -> str:
    r"""Return one line for each answer, as ``svm-predict`` writes them; several numbers are separated by blanks.

    Examples
    --------
    >>> as_lines(np.array([1, -1]))
    '1\n-1\n'
    """
    if values.dtype.kind == "f":
        rows = values.reshape(len(values), -1).tolist()
        return "".join(" ".join([f"{v:.17g}" for v in row]) + "\n" for row in rows)
    texts = {label: data.label_text(label) + "\n" for label in set(values.tolist())}
    return "".join([texts[v] for v in values.tolist()])


# ---------------------------------------------------------------------------------------------------------
# Evaluation
# ---------------------------------------------------------------------------------------------------------


class Moments:
    """Sums over pairs (truth, answer) of a regression, from which R², MSE and the correlation follow.

    Sums are taken around the first truth, so that values far from zero lose no digits.
    """

    def __init__(self) -> None:
        self.n = 0
        self._origin = 0.0
        self._squared_error = 0.0
        self._sums: Floats = np.zeros(5)  # y, f, y², f², y f

    def add(self, truth: Floats, answer: Floats) -> None:
        """Take in more pairs."""
        if self.n == 0:
            self._origin = float(truth[0])
        y, f = truth - self._origin, answer - self._origin
        self.n += y.size
        self._squared_error += float(np.sum((y - f) ** 2))
        self._sums = self._sums + np.array([y.sum(), f.sum(), y @ y, f @ f, y @ f])

    def summary(self) -> dict[str, float | None]:
        """Return R², mean squared error and squared correlation; None where they are not defined."""
        sy, sf, yy, ff, yf = self._sums
        spread_y, spread_f = yy - sy * sy / self.n, ff - sf * sf / self.n
        both = yf - sy * sf / self.n
        return {
            "r2": 1 - self._squared_error / spread_y if spread_y > 0 else None,
            "mse": self._squared_error / self.n,
            "squared_correlation": both * both / (spread_y * spread_f) if spread_y > 0 and spread_f > 0 else None,
        }


@dataclass(frozen=True)
class Evaluation:
    """What :func:`evaluate_file` measures.

    Parameters
    ----------
    rows : int
    metrics : dict
        ``accuracy``, or ``r2``, ``mse`` and ``squared_correlation``; empty without labels.
    seconds_per_row : float
        Of prediction alone, in batches.
    agreement : float, optional
        The share of rows on which a reference gives the same answer; for a regressor the R² against its answers.
    reference : Evaluation, optional
        The reference on the same rows.
    unknown : int
        Rows whose label is none of the model's classes; they count as wrong.
    """

    rows: int
    metrics: dict[str, float | None]
    seconds_per_row: float
    agreement: float | None = None
    reference: Evaluation | None = None
    unknown: int = 0

    @property
    def speedup(self) -> float | None:
        """How many times faster than the reference."""
        return None if self.reference is None else self.reference.seconds_per_row / self.seconds_per_row


class _Tally:
    """Counts hits of a classifier or keeps the moments of a regressor."""

    def __init__(self, regression: bool) -> None:
        self.rows, self.hits, self.labelled = 0, 0, True
        self.moments = Moments() if regression else None

    def add(self, truth: NDArray[Any] | None, answer: NDArray[Any]) -> None:
        self.rows += len(answer)
        if truth is None:
            self.labelled = False
        elif self.moments is None:
            self.hits += int(np.sum(truth == answer))
        else:
            self.moments.add(truth, answer)

    def metrics(self) -> dict[str, float | None]:
        if not self.labelled:
            return {}
        return {"accuracy": self.hits / self.rows} if self.moments is None else self.moments.summary()


def evaluate_file(
    model: KernelModel,
    path: data.Paths,
    options: data.ReadOptions | None = None,
    *,
    reference: KernelModel | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Score a model on data files with labels, and compare it with a reference model on these rows.

    With a reference the files may lack labels: agreement and speed remain. A one-class model is scored like a
    classifier with the classes 1 (inlier) and -1.

    Raises
    ------
    InputError
        Labels of another type than the model's, models that answer different questions, and all that
        :func:`svmpress.data.stream` says about the files.
    """
    if reference is not None and reference.task != model.task:
        raise InputError(f"a model for {model.task} cannot be compared with one for {reference.task}")
    regression = model.classes_ is None
    if regression and model.n_outputs > 1:
        raise InputError(f"the model answers with {model.n_outputs} numbers a row, and data files have one label")
    own, other, same = _Tally(regression), _Tally(regression), _Tally(regression)
    known = None if model.classes_ is None else data.labels_like(model.classes_, model.classes_)
    seconds, other_seconds, unknown = 0.0, 0.0, 0
    options = options or read_options(model)
    fitted = None if reference is None else _Fitting(reference)
    for part in predict_file(model, path, options, stage="evaluating", progress=progress, measure=True):
        truth = None
        if part.block.y is not None:
            truth = data.labels_like(part.block.y, model.classes_, part.block.first_row)
            unknown += 0 if known is None else int(np.sum(~np.isin(truth, known)))
            if unknown and model.task == "outlier":
                raise InputError("the labels of a one-class model are 1 (inlier) and -1, and there are others")
        elif reference is None:
            raise InputError(f"{part.block.file} has no labels to compare with")
        answer = data.labels_like(part.values, model.classes_)
        own.add(truth, answer)
        seconds += part.seconds
        if fitted is not None:
            reference, X = fitted(part.block)
            if part.block.first_row == 0:
                answers(reference, X[:1])
            answered, took = _timed(partial(answers, reference, X), _TIMES if part.block.first_row == 0 else 1)
            said = data.labels_like(answered, model.classes_)
            other_seconds += took
            other.add(truth, said)
            same.add(said, answer)
    compared = None
    if reference is not None:
        compared = Evaluation(other.rows, other.metrics(), other_seconds / other.rows)
    agreement = None if compared is None else same.metrics()["r2" if regression else "accuracy"]
    return Evaluation(own.rows, own.metrics(), seconds / own.rows, agreement, compared, unknown)
