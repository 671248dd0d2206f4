"""A model in whole numbers, and its emulator: the same steps as the C code, with the same results bit for bit.

    rows -> levels u (d,) -> P = row + norm + scale · Σ u w -> kernel values k (m,) -> F = k C + b -> decoder

Everything but the reading of float rows is exact arithmetic in whole numbers, here in 64 bits. Bounds that are checked
when a model is made keep P within 32 bits and F within those of :attr:`QuantizedModel.sum_bits`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Decoder, PairVote, pair_signs
from svmpress.exports.quantized.arithmetic import Stage
from svmpress.exports.quantized.grid import Floats, Grid, Ints
from svmpress.model import Task
from svmpress.numerics import arrays

_BLOCK = 2**22
"""Numbers of one block of rows."""


@dataclass(frozen=True, eq=False)
class QuantizedModel:
    """What :func:`svmpress.quantize` returns: it predicts as a KernelModel does, and as the C code does.

    Parameters
    ----------
    grid : Grid
    stage : Halvings or Powers
    zero : int
        The level of 0 in the space of the kernel, for kernels of projections.
    weights : (m, d) int
    norms : (m,) int
        In units of ``2^stage.down``.
    coef : (m, M) int
    intercept : (M,) int
    unit : float
        What 1 of a decision value stands for.
    decoder : Decoder
    task : "classification", "regression" or "outlier"
    weight_type, coef_type : str
        ``"int4"``, ``"int8"`` or ``"int16"``.
    most_kernel : (m,) int
        A bound of each vector's kernel values.
    """

    grid: Grid
    stage: Stage
    zero: int
    weights: Ints
    norms: Ints
    coef: Ints
    intercept: Ints
    unit: float
    decoder: Decoder
    task: Task
    weight_type: str
    coef_type: str
    most_kernel: Ints

    @property
    def n_vectors(self) -> int:
        """The number of vectors."""
        return int(self.weights.shape[0])

    @property
    def n_features(self) -> int:
        """Features of a row as the device gets it: pixels before pooling."""
        return self.grid.n_inputs

    @property
    def n_outputs(self) -> int:
        """The number of decision values behind one prediction."""
        return int(self.coef.shape[1])

    @property
    def classes_(self) -> NDArray[Any] | None:
        """The class labels, in the model's order; None for a regressor."""
        return self.decoder.classes

    @property
    def feature_names(self) -> None:
        """None: a device knows no names."""
        return

    @property
    def scaling(self) -> None:
        """None: the levels of a row have it inside."""
        return

    @property
    def provenance(self) -> dict[str, Any]:
        """Empty: what the numbers were before is not kept."""
        return {}

    @property
    def sum_bits(self) -> int:
        """Bits of a decision value, 32 or 64: enough for the largest that there can be."""
        most = (self.most_kernel @ np.abs(self.coef) + np.abs(self.intercept)).max()
        return 32 if most < 2**31 else 64

    @property
    def number_bytes(self) -> int:
        """Bytes of vectors, norms, coefficients and intercepts, as ``max_flash`` counts them."""
        return table_bytes(self.n_vectors, self.grid.n_levels, self.n_outputs, self.weight_type, self.coef_type)

    def kernel_values(self, X: Any) -> Ints:
        """Return the kernel values of rows in units of 1/32767, (n, m)."""
        u = self.grid.levels(X)
        row = self.stage.row(u, self.grid.offset, self.zero)
        products = u.astype(np.float64) @ self.weights.T.astype(np.float64)  # sums stay below 2^53, so they are exact
        norms = self.norms << self.stage.down
        return self.stage.values(row[:, None] + norms + self.stage.scale(self.grid.ratio) * products.astype(np.int64))

    def integer_values(self, X: Any) -> Ints:
        """Return the decision values of rows as the C code has them, (n, M)."""
        X = arrays.to_numpy(arrays.dense(arrays.check_rows(X, n_features=self.n_features)))
        F = np.empty((len(X), self.n_outputs), dtype=np.int64)
        step = max(1, _BLOCK // (self.grid.n_inputs + 4 * self.n_vectors))
        for first in range(0, len(X), step):
            rows = slice(first, first + step)
            K = self.kernel_values(X[rows])
            F[rows] = (K.astype(np.float64) @ self.coef.astype(np.float64)).astype(np.int64) + self.intercept
        return F

    def decision_values(self, X: Any) -> Floats:
        """Return the values of every machine, (n, M)."""
        return np.asarray(self.unit * self.integer_values(X))

    def decision_function(self, X: Any) -> Floats:
        """Return the scores of each row as scikit-learn defines them."""
        return self.decoder.scores(self.decision_values(X))

    def positions(self, X: Any) -> NDArray[np.intp]:
        """Return the position of each row's class, (n,): what ``PREFIX_predict`` returns in C."""
        return decide(self.decoder, self.integer_values(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the answer for each row, (n,)."""
        if self.classes_ is None:
            return self.decoder.labels(self.decision_values(X))
        return np.asarray(self.classes_[self.positions(X)])


def decide(decoder: Decoder, F: Ints) -> NDArray[np.intp]:
    """Return the position of each row's class for decision values in whole numbers."""
    if isinstance(decoder, PairVote) and decoder.break_ties:  # equal votes: the larger sum, which needs no division
        signs = pair_signs(decoder.n_classes).astype(np.int64)
        votes, sums = np.where(F >= 0, 1, -1) @ signs, F @ signs
        order = np.lexsort((-np.arange(decoder.n_classes) + 0 * sums, sums, votes), axis=1)
        return np.asarray(order[:, -1])
    return decoder.positions(F.astype(np.float64))


def table_bytes(m: int, d: int, n_outputs: int, weights: str, coef: str) -> int:
    """Return the bytes of vectors, norms, coefficients and intercepts in whole numbers, or in floats.

    Examples
    --------
    >>> table_bytes(10, 16, 3, "int4", "int8"), table_bytes(10, 16, 3, "float", "float")
    (142, 772)
    """
    return m * vector_bytes(d, n_outputs, weights, coef) + 4 * n_outputs


def vector_bytes(d: int, n_outputs: int, weights: str, coef: str) -> int:
    """Return the bytes of one vector with its norm and its coefficients."""
    of_weights = {"int4": -(-d // 2), "int8": d, "int16": 2 * d, "float": 4 * d}[weights]
    of_coef = {"int8": 1, "int16": 2, "float": 4}[coef] * n_outputs
    return of_weights + of_coef + (0 if weights == "float" else 2)
