"""The one model of svmpress: a kernel expansion, a decoder, and optionally a scaling of the input.

    f(x) = k(x, V) A + b          V: (m, d) vectors   A: (m, M) coefficients   b: (M,) intercepts      (eq. 3)

A binary SVM, a regressor and a one-class SVM have M = 1; one-vs-rest has M = K; one-vs-one has M = K(K-1)/2.
Everything that svmpress reads becomes this, and everything that it writes starts from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from svmpress import arrays
from svmpress.arrays import Array, Rows
from svmpress.decoders import (
    Argmax,
    Decoder,
    Floats,
    Identity,
    PairDAG,
    PairVote,
    Sign,
    class_pairs,
    pair_mask,
)
from svmpress.errors import InputError
from svmpress.kernels import Kernel
from svmpress.runtime import Ballot, Predictor

__all__ = [
    "Argmax",
    "Decoder",
    "Identity",
    "KernelExpansion",
    "KernelModel",
    "PairDAG",
    "PairVote",
    "Scaling",
    "Sign",
    "class_pairs",
    "pair_mask",
]

Task = Literal["classification", "regression", "outlier"]

_VECTOR_BLOCK = 4096
"""Vectors in one block of the prediction loop: enough for a fast product, few enough for any memory cap."""


def _frozen(a: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view, leaving the caller's own array as it was."""
    view = a.view()
    view.flags.writeable = False
    return view


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
        vectors = vectors if arrays.is_csr(vectors) else _frozen(arrays.to_numpy(vectors))
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
            object.__setattr__(self, "coef_mask", _frozen(mask))
        object.__setattr__(self, "vectors", vectors)
        object.__setattr__(self, "coef", _frozen(coef))
        object.__setattr__(self, "intercept", _frozen(intercept))

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

    @cached_property
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

        Rows go through the compiled predictor where that applies (see :mod:`svmpress.runtime`). Otherwise the loop
        runs over blocks of rows and of vectors: beyond the result it needs about ``max_bytes``, whatever the number
        of either. ``scaling`` is applied to each block of rows first.
        """
        fast = self.predictor(X, scaling, n_threads)
        if fast is not None:
            return fast
        xp, device = arrays.namespace(X), arrays.device_of(X)
        host = arrays.is_csr(X) or isinstance(X, np.ndarray)
        precision = np.result_type(self.vectors.dtype, self.coef, self.intercept)

        def here(a: Any) -> Any:
            return xp.asarray(np.array(a, dtype=precision), device=device)

        coef, intercept = here(self.coef), here(self.intercept)
        # vectors cross over a block at a time, and sparse ones become dense on the way
        limit = _VECTOR_BLOCK if host else (max_bytes or arrays.DEFAULT_MAX_BYTES) // (32 * self.n_features)
        width = max(1, min(self.n_vectors, limit, _VECTOR_BLOCK))
        row_bytes = 8 * (4 * width + 3 * self.n_features + 2 * self.n_outputs)
        values = xp.empty((X.shape[0], self.n_outputs), dtype=coef.dtype, device=device)
        for rows in arrays.blocks(X.shape[0], row_bytes, max_bytes):
            x = arrays.take(X, rows)
            x = x if scaling is None else scaling(x)
            x = x if host else xp.astype(x, coef.dtype, copy=False)  # torch multiplies no mixed precisions
            F = xp.zeros_like(values[rows, :]) + intercept
            for some in arrays.blocks(self.n_vectors, 1, width):
                V = arrays.take(self.vectors, some)
                V = V if host else here(arrays.dense(V))
                F += xp.matmul(self.kernel.gram(x, V), coef[some, :])
            values[rows, :] = F
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
        factor = np.asarray(self.factor, dtype=np.float64)
        shift = None if self.shift is None else np.asarray(self.shift, dtype=np.float64)
        for name, a in (("factor", factor), ("shift", shift)):
            if a is not None and (a.shape != factor.shape or a.ndim != 1 or not np.isfinite(a).all()):
                raise InputError(f"{name} of a scaling must be one finite number per feature")
        object.__setattr__(self, "factor", _frozen(factor))
        object.__setattr__(self, "shift", None if shift is None else _frozen(shift))

    def __call__(self, X: Rows) -> Rows:
        """Return the scaled rows."""
        return arrays.scale_columns(X, self.shift, self.factor)


@dataclass(frozen=True, eq=False)
class KernelModel:
    """A model that predicts: what svmpress reads, compresses and writes.

    Parameters
    ----------
    expansion : KernelExpansion
    decoder : Decoder
    task : "classification", "regression" or "outlier"
    scaling : Scaling, optional
        Applied to the rows first.
    probability : mapping of name to (k,) arrays
        LibSVM's ``probA``, ``probB`` and ``prob_density_marks``, kept as they came.
    provenance : mapping
        Where the model came from: plain strings and numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from svmpress.kernels import RBF
    >>> f = KernelExpansion(RBF(1.0), np.zeros((1, 2)), np.ones((1, 1)), np.array([-0.5]))
    >>> KernelModel(f, Sign(np.array(["far", "near"]))).predict([[0.1, 0.0], [3.0, 0.0]]).tolist()
    ['near', 'far']
    """

    expansion: KernelExpansion
    decoder: Decoder
    task: Task = "classification"
    scaling: Scaling | None = None
    probability: Mapping[str, Floats] = field(default_factory=dict)
    provenance: Mapping[str, str | float | int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        wanted = self.decoder.n_outputs
        if wanted is not None and wanted != self.expansion.n_outputs:
            raise InputError(f"{type(self.decoder).__name__} reads {wanted} outputs, the model has {self.n_outputs}")
        if (self.task == "regression") != (self.decoder.classes is None):
            raise InputError(f"a {self.task} model cannot have the decoder {type(self.decoder).__name__}")
        if self.scaling is not None and self.scaling.factor.shape != (self.n_features,):
            raise InputError(f"the scaling has {self.scaling.factor.size} features, the model {self.n_features}")
        object.__setattr__(self, "probability", MappingProxyType(dict(self.probability)))
        object.__setattr__(self, "provenance", MappingProxyType(dict(self.provenance)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the arguments of the constructor: its read-only mappings cannot be pickled."""
        parts = (self.expansion, self.decoder, self.task, self.scaling, dict(self.probability), dict(self.provenance))
        return KernelModel, parts

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        return self.expansion.kernel

    @property
    def n_vectors(self) -> int:
        """The number of vectors: kernel values to compute for one prediction."""
        return self.expansion.n_vectors

    @property
    def n_features(self) -> int:
        """The number of features of a row."""
        return self.expansion.n_features

    @property
    def n_outputs(self) -> int:
        """The number of decision values behind one prediction."""
        return self.expansion.n_outputs

    @property
    def classes_(self) -> NDArray[Any] | None:
        """The class labels, in the model's order; None for a regressor."""
        return self.decoder.classes

    def decision_values(self, X: Any, max_bytes: int | None = None, n_threads: int | None = None) -> Floats:
        """Return the raw values of every machine, (n, M), in the precision of the model.

        Parameters
        ----------
        X : array-like (n, d), or a SciPy sparse matrix
        max_bytes : int, optional
            About how much memory to use beyond the result.
        n_threads : int, optional
            How many threads the compiled predictor may use; None: as many as ``OMP_NUM_THREADS`` says.
        """
        # rows that need no conversion skip all checks but the predictor's own: a single row takes microseconds
        F = self.expansion.predictor.dense(X, self.scaling, n_threads)
        if F is None:
            X = arrays.check_rows(X, n_features=self.n_features)
            F = arrays.to_numpy(self.expansion.decision_values(X, max_bytes, self.scaling, n_threads))
        return F

    def decision_function(self, X: Any, max_bytes: int | None = None, n_threads: int | None = None) -> Floats:
        """Return the scores of each row as scikit-learn defines them, (n,) or (n, K) or (n, M)."""
        return self.decoder.scores(self.decision_values(X, max_bytes, n_threads))

    def predict(self, X: Any, max_bytes: int | None = None, n_threads: int | None = None) -> NDArray[Any]:
        """Return the answer for each row, (n,); see :meth:`decision_values` for the arguments."""
        if self._ballot is not None and isinstance(self.decoder, PairVote):
            labels = self._ballot.labels(self.decoder, X, self.scaling, n_threads)
            if labels is not None:
                return labels
        return self.decoder.labels(self.decision_values(X, max_bytes, n_threads))

    @cached_property
    def _ballot(self) -> Ballot | None:
        """A faster way to the labels of many rows, where there is one."""
        if not isinstance(self.decoder, PairVote) or self.decoder.break_ties:
            return None
        return self.expansion.predictor.ballot(self.decoder.n_classes)

    def astype(self, dtype: str | np.dtype[Any] | type[np.floating[Any]]) -> KernelModel:
        """Return the model in another precision, which is then the one that it computes in.

        Half the bytes and about twice the speed in float32, at a relative error of some 1e-6 in the decision values.

        Examples
        --------
        >>> import numpy as np
        >>> from svmpress.kernels import RBF
        >>> f = KernelExpansion(RBF(1.0), np.zeros((1, 2)), np.ones((1, 1)), np.zeros(1))
        >>> KernelModel(f, Identity(), "regression").astype("float32").decision_values([[0.0, 0.0]]).dtype
        dtype('float32')
        """
        e = self.expansion
        if np.dtype(dtype) not in (np.float32, np.float64):
            raise InputError(f"a model computes in float32 or float64, not {np.dtype(dtype)}")
        vectors, coef, intercept = (a.astype(dtype, copy=False) for a in (e.vectors, e.coef, e.intercept))
        return replace(self, expansion=replace(e, vectors=vectors, coef=coef, intercept=intercept))

    def with_decoder(self, decoder: Decoder) -> KernelModel:
        """Return the same expansion read by another decoder, for example :class:`PairDAG`."""
        return replace(self, decoder=decoder)

    def widened(self, n_features: int) -> KernelModel:
        """Return the model for rows with more columns, its vectors padded with zeros (LibSVM's meaning)."""
        if n_features == self.n_features:
            return self
        if self.scaling is not None:
            raise InputError("a model with a scaling has a fixed number of features")
        vectors = arrays.widen(self.expansion.vectors, n_features)
        return replace(self, expansion=replace(self.expansion, vectors=vectors))
