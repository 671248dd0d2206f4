"""The function behind every model, ``f(x) = k(x, V) A + b``, and the scaling of rows before it.

V: (m, d) vectors   A: (m, M) coefficients   b: (M,) intercepts      (equation 3)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Floats
from svmpress.errors import InputError
from svmpress.kernels import Kernel
from svmpress.model.elsewhere import values_elsewhere
from svmpress.numerics import Array, Rows, arrays, lazy_property
from svmpress.predictor import Predictor

_VECTOR_BLOCK = 4096
"""Vectors in one block of the prediction loop: enough for a fast product, few enough for any memory cap."""


def frozen(a: NDArray[Any]) -> NDArray[Any]:
    """Return an array that nobody can write to: a copy, unless it is one already."""
    memory: Any = a
    while isinstance(memory, np.ndarray) and not memory.flags.writeable:
        memory = memory.base
    if memory is None or isinstance(memory, bytes):
        return a
    copy = np.array(a, order="K")
    copy.flags.writeable = False
    return copy


def _own_rows(X: Rows) -> Rows:
    """Return vectors that are nobody else's: dense ones that cannot be written to, or a copy of CSR ones.

    scikit-learn's compiled loops take no sparse rows that cannot be written to.
    """
    return X.copy() if arrays.is_csr(X) else frozen(arrays.to_numpy(X))


@dataclass(frozen=True, eq=False)
class KernelExpansion:
    """``f(x) = k(x, V) A + b``.

    Parameters
    ----------
    kernel : Kernel
    vectors : (m, d) NumPy or CSR
        Sources may be sparse; compressed vectors are always dense.
    coef : (m, M)
    intercept : (M,)
    coef_mask : (m, M) bool, optional
        Which entries of ``coef`` may differ from zero (the LibSVM layout); None: all.

    Examples
    --------
    >>> import numpy as np
    >>> from svmpress.kernels import RBF
    >>> f = KernelExpansion(RBF(1.0), np.zeros((1, 2)), np.ones((1, 1)), np.zeros(1))
    >>> f.decision_values(np.zeros((3, 2))).ravel().tolist()
    [1.0, 1.0, 1.0]
    """

    kernel: Kernel
    vectors: Rows
    coef: Floats
    intercept: Floats
    coef_mask: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        vectors = arrays.check_rows(self.vectors, name="vectors")
        vectors = _own_rows(vectors)
        coef, intercept = np.asarray(self.coef), np.asarray(self.intercept)
        if coef.ndim != 2 or coef.shape[0] != vectors.shape[0]:
            raise InputError(f"coef has shape {coef.shape}; {vectors.shape[0]} vectors need ({vectors.shape[0]}, M)")
        if intercept.shape != (coef.shape[1],) or coef.shape[1] == 0:
            raise InputError(f"intercept has shape {intercept.shape}; coef of shape {coef.shape} needs one per column")
        for name, a in (("coef", coef), ("intercept", intercept)):
            if a.dtype.kind != "f" or not np.isfinite(a).all():
                raise InputError(f"{name} of a model must be finite floating point numbers")
        if self.coef_mask is not None:
            mask = np.asarray(self.coef_mask, dtype=bool)
            if mask.shape != coef.shape:
                raise InputError(f"coef_mask has shape {mask.shape}, coef {coef.shape}")
            if np.any(coef[~mask] != 0):
                raise InputError("coef differs from zero where coef_mask forbids it")
            object.__setattr__(self, "coef_mask", frozen(mask))
        object.__setattr__(self, "vectors", vectors)
        object.__setattr__(self, "coef", frozen(coef))
        object.__setattr__(self, "intercept", frozen(intercept))

    @property
    def n_vectors(self) -> int:
        """The number of vectors, m: kernel values to compute for one prediction."""
        return int(self.vectors.shape[0])

    @property
    def n_features(self) -> int:
        """The number of features, d."""
        return int(self.vectors.shape[1])

    @property
    def n_outputs(self) -> int:
        """The number of decision values, M."""
        return int(self.coef.shape[1])

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of one prediction, ``m (d + M)``: distances, then the weighted sums."""
        weights = (
            self.n_outputs if self.coef_mask is None else float(self.coef_mask.sum(1).mean() if self.n_vectors else 0)
        )
        return int(self.n_vectors * (self.n_features + weights))

    @property
    def precision(self) -> np.dtype[Any]:
        """The precision that it computes in: float32 if vectors, coefficients and intercepts all are, else float64."""
        return np.result_type(self.vectors.dtype, self.coef, self.intercept)

    @lazy_property
    def predictor(self) -> Predictor:
        """The compiled predictor of this expansion, for the arrays that it can read."""
        return Predictor(self.kernel, self.vectors, self.coef, self.intercept)

    def decision_values(
        self,
        X: Rows,
        max_bytes: int | None = None,
        scaling: Scaling | None = None,
        n_threads: int | None = None,
    ) -> Array:
        """Return f at each row, (n, M), in the library and on the device of ``X``, in the model's precision.

        Rows go through the compiled predictor where that applies (see :mod:`svmpress.predictor`). Otherwise the loop
        runs over blocks of rows and of vectors: beyond the result it needs about ``max_bytes``, whatever the number
        of either (elsewhere than on the host, see :mod:`svmpress.model.elsewhere`). ``scaling`` is applied to each
        block of rows first.
        """
        fast = self.predictor(X, scaling, n_threads)
        if fast is not None:
            return fast
        if not arrays.is_csr(X) and not isinstance(X, np.ndarray):
            return values_elsewhere(self, X, max_bytes, scaling)
        values = np.empty((X.shape[0], self.n_outputs), self.precision)
        width = max(1, min(self.n_vectors, _VECTOR_BLOCK))
        row_bytes = 8 * (4 * width + 3 * self.n_features + 2 * self.n_outputs)
        for rows in arrays.blocks(X.shape[0], row_bytes, max_bytes):
            x = arrays.take(X, rows)
            x = x if scaling is None else scaling(x)
            F = np.zeros_like(values[rows]) + self.intercept
            for some in arrays.blocks(self.n_vectors, 1, width):
                F += np.matmul(self.kernel.gram(x, arrays.take(self.vectors, some)), self.coef[some])
            values[rows] = F
        return values


@dataclass(frozen=True, eq=False)
class Scaling:
    """``x -> (x - shift) * factor``, column by column, before the kernel: what a scaler in a pipeline does.

    Parameters
    ----------
    shift : (d,) or None
        None: nothing is subtracted, and sparse rows stay sparse.
    factor : (d,)
    """

    shift: Floats | None
    factor: Floats

    def __post_init__(self) -> None:
        factor = np.asarray(self.factor, dtype=np.float64, order="C")
        shift = None if self.shift is None else np.asarray(self.shift, dtype=np.float64, order="C")
        for name, a in (("factor", factor), ("shift", shift)):
            if a is not None and (a.shape != factor.shape or a.ndim != 1 or not np.isfinite(a).all()):
                raise InputError(f"{name} of a scaling must be one finite number per feature")
        object.__setattr__(self, "factor", frozen(factor))
        object.__setattr__(self, "shift", None if shift is None else frozen(shift))

    def __call__(self, X: Rows) -> Rows:
        """Return the scaled rows."""
        return arrays.scale_columns(X, self.shift, self.factor)
