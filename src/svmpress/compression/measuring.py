"""Models on rows with answers: how many are right, how many are as the source's, and how long one takes."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.compression.expectation import Estimate
from svmpress.methods import Score
from svmpress.model import KernelModel, expansion_bytes
from svmpress.numerics import Rows, arrays

_TIMED_ROWS = 1_000
_TIMING_SECONDS = 0.03


@dataclass(frozen=True)
class Measured:
    """A model on rows, measured.

    Parameters
    ----------
    vectors, bytes, multiply_adds : int
        What it costs: its vectors, the bytes of its numbers, and the multiply-adds of a prediction.
    rows : int
        How many rows it was measured on.
    accuracy : Estimate or None
        The share of rows that are answered right, or R²; None where it is not known what is right.
    agreement : Estimate or None
        The share of rows that get the source's answer, or R² against its values.
    seconds_per_row : float
        In batches, on this machine, the best of several.
    """

    vectors: int
    bytes: int
    multiply_adds: int
    rows: int
    accuracy: Estimate | None
    agreement: Estimate | None
    seconds_per_row: float


def measured(model: KernelModel, source: KernelModel, X: Rows, y: NDArray[Any] | None) -> Measured:
    """Return a model measured on rows (n, d) as it gets them, unscaled, with answers y (n,) if these are known."""
    F, wanted = model.decision_values(X), source.decision_values(X)
    return Measured(
        vectors=model.n_vectors,
        bytes=expansion_bytes(model.expansion),
        multiply_adds=model.expansion.multiply_adds,
        rows=int(X.shape[0]),
        accuracy=None if y is None else Estimate.of(goodness(model.decoder.labels(F), y)),
        agreement=Estimate.of(goodness(model.decoder.labels(F), source.decoder.labels(wanted))),
        seconds_per_row=seconds_per_row(model, X),
    )


def goodness(answers: NDArray[Any], wanted: NDArray[Any]) -> Score:
    """Return how good answers (n,) are: right or not for labels, the parts of an R² for numbers of a regression.

    Examples
    --------
    >>> goodness(np.array(["a", "b"]), np.array(["a", "a"])).mean
    0.5
    """
    if answers.dtype.kind != "f" or wanted.dtype.kind != "f":
        return Score((answers == wanted).astype(np.float64))
    error, spread = answers - wanted, wanted - wanted.mean(axis=0)
    error, spread = error.reshape(len(error), -1), spread.reshape(len(spread), -1)
    total = float(np.mean(np.sum(spread**2, axis=1)))
    return Score(1.0 - np.sum(error**2, axis=1) / max(total, 1e-300))


def seconds_per_row(model: KernelModel, X: Rows) -> float:
    """Return the seconds that a prediction takes in batches, the best of several."""
    some = arrays.take(X, slice(0, _TIMED_ROWS))
    best, until = math.inf, time.perf_counter() + _TIMING_SECONDS
    while math.isinf(best) or time.perf_counter() < until:
        begin = time.perf_counter()
        model.predict(some)
        best = min(best, time.perf_counter() - begin)
    return best / max(1, some.shape[0])
