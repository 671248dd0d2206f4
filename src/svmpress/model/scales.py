"""Whether rows are scaled as a model's vectors are, as far as that can be seen."""

from __future__ import annotations

import numpy as np

from svmpress.model.kernel_model import KernelModel
from svmpress.numerics import Rows, arrays

_ROWS = 2000
"""Rows that are looked at, from the first on."""

_SLACK = 0.5
"""How far outside the interval the mean of a feature may be, in widths of the interval: new rows do exceed it."""


def doubt_of_scale(model: KernelModel, X: Rows) -> str | None:
    """Return why rows, scaled by the model if it scales, do not look like those it was trained on; None if they do.

    A model whose vectors all lie in [0, 1] or [-1, 1] was trained on scaled rows, most likely. Rows with a feature
    whose values are elsewhere on average were not scaled like that, or were scaled twice.

    Examples
    --------
    >>> from svmpress.decoders import Sign
    >>> from svmpress.kernels import RBF
    >>> from svmpress.model import KernelExpansion
    >>> f = KernelExpansion(RBF(1.0), np.array([[0.1], [0.9]]), np.ones((2, 1)), np.array([-0.5]))
    >>> doubt_of_scale(KernelModel(f, Sign(np.array([0, 1]))), np.array([[52.0], [57.0]]))[:60]
    'the vectors of the model lie in [0, 1], but feature 1 of the'
    """
    V = model.expansion.vectors
    values = V.data if arrays.is_csr(V) else V
    if values.size == 0 or X.shape[0] == 0 or np.abs(values).max() > 1 or not values.any():
        return None
    low = 0.0 if values.min() >= 0 else -1.0
    means = _means(arrays.take(X, slice(0, _ROWS)))
    margin = _SLACK * (1 - low)
    strange = np.flatnonzero((means < low - margin) | (means > 1 + margin))
    if strange.size == 0:
        return None
    j = int(strange[np.argmax(np.abs(means[strange]))])
    where = f"the vectors of the model lie in [{low:.0f}, 1]"
    found = f"{where}, but feature {j + 1} of the rows is {means[j]:.4g} on average"
    if model.scaling is None:
        return (
            f"{found}: the model was trained on scaled rows, it seems; scale these alike, or name the range file of "
            "svm-scale (--range FILE)"
        )
    return (
        f"{found} once the model has scaled them: it seems that they were scaled before; give them as they were "
        "measured, or read the model without its range file (--range none)"
    )


def _means(X: Rows) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the mean of each feature where it is not 0, and 0 for features that always are."""
    if arrays.is_csr(X):
        sums = np.asarray(X.sum(axis=0), dtype=np.float64).ravel()
        counts = np.bincount(X.indices[X.data != 0], minlength=X.shape[1])
    else:
        sums, counts = np.asarray(X, dtype=np.float64).sum(axis=0), np.count_nonzero(X, axis=0)
    means: np.ndarray[tuple[int], np.dtype[np.float64]] = sums / np.maximum(counts, 1)
    return means
