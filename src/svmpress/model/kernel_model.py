"""The one model of svmpress: a kernel expansion, a decoder, and optionally a scaling of the input.

    f(x) = k(x, V) A + b          V: (m, d) vectors   A: (m, M) coefficients   b: (M,) intercepts      (eq. 3)

A binary SVM, a regressor and a one-class SVM have M = 1; one-vs-rest has M = K; one-vs-one has M = K(K-1)/2.
Everything that svmpress reads becomes this, and everything that it writes starts from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Decoder, Floats, PairVote
from svmpress.errors import InputError
from svmpress.kernels import Kernel
from svmpress.model.elsewhere import all_finite, here, labels_of, scores_of
from svmpress.model.expansion import KernelExpansion, Scaling
from svmpress.model.probability import Probabilities, kind_of
from svmpress.numerics import arrays, as_array, check_threads, lazy_property
from svmpress.predictor import Ballot

Task = Literal["classification", "regression", "outlier"]


def _finite(name: str, values: Any) -> Floats:
    """Return parameters of probabilities as they came, if they are finite numbers."""
    a = np.asarray(values)
    if a.dtype.kind not in "fiu" or not np.isfinite(a).all():
        raise InputError(f"{str(name)[:40]} of the model's probabilities must be finite numbers")
    return a


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
        What makes probabilities of decision values: LibSVM's ``probA``, ``probB`` and ``prob_density_marks`` as they
        came, or others; see :mod:`svmpress.model.probability`.
    provenance : mapping
        Where the model came from: plain strings and numbers.
    feature_names : tuple of str, optional
        Names of the columns: those of a table are matched by name, in whatever order they come.

    Examples
    --------
    >>> import numpy as np
    >>> from svmpress.decoders import Sign
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
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        wanted = self.decoder.n_outputs
        if wanted is not None and wanted != self.expansion.n_outputs:
            raise InputError(f"{type(self.decoder).__name__} reads {wanted} outputs, the model has {self.n_outputs}")
        if (self.task == "regression") != (self.decoder.classes is None):
            raise InputError(f"a {self.task} model cannot have the decoder {type(self.decoder).__name__}")
        if self.scaling is not None and self.scaling.factor.shape != (self.n_features,):
            raise InputError(f"the scaling has {self.scaling.factor.size} features, the model {self.n_features}")
        if self.feature_names is not None:
            names = tuple(map(str, self.feature_names))
            if len(names) != self.n_features or len(set(names)) != len(names):
                raise InputError(f"feature_names must be {self.n_features} different names, one for each feature")
            object.__setattr__(self, "feature_names", names)
        probability = {name: _finite(name, values) for name, values in self.probability.items()}
        object.__setattr__(self, "probability", MappingProxyType(probability))
        object.__setattr__(self, "provenance", MappingProxyType(dict(self.provenance)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the arguments of the constructor: its read-only mappings cannot be pickled."""
        told = (dict(self.probability), dict(self.provenance), self.feature_names)
        return KernelModel, (self.expansion, self.decoder, self.task, self.scaling, *told)

    def __repr__(self) -> str:
        """Return what it is in a few words: thousands of numbers tell a reader nothing."""
        kind = self.task if self.classes_ is None else f"{self.task} with {self.classes_.size} classes"
        return f"KernelModel({self.n_vectors} vectors of {self.n_features} features, {self.kernel}, {kind})"

    def _repr_html_(self) -> str:
        """Return a small table for notebooks, in the colours of the page around it."""
        rows = {
            "vectors": f"{self.n_vectors:,}",
            "features": f"{self.n_features:,}",
            "kernel": str(self.kernel),
            "task": self.task if self.classes_ is None else f"{self.task}, {self.classes_.size:,} classes",
            "outputs": f"{self.n_outputs:,}",
        }
        cells = "".join(f'<tr><th scope="row">{k}</th><td>{escape(v)}</td></tr>' for k, v in rows.items())
        return f"<table>{cells}</table>"

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
        X : array-like (n, d), a SciPy sparse matrix, or a table
            If columns of the table and :attr:`feature_names` are text, they are matched by name. Tensors of torch, and
            arrays of other libraries than NumPy, are answered where they are: what comes back is an array of the same
            library on the same device.
        max_bytes : int, optional
            About how much memory to use beyond the result.
        n_threads : int, optional
            How many threads the compiled predictor may use; None: as many as ``OMP_NUM_THREADS`` says.
        """
        n_threads = None if n_threads is None else check_threads(n_threads)
        # rows that need no conversion skip all checks but the predictor's own: a single row takes microseconds
        F = self.expansion.predictor.dense(X, self.scaling, n_threads)
        if F is None and hasattr(X, "columns"):
            X = as_array(X, self.feature_names)
            F = self.expansion.predictor.dense(X, self.scaling, n_threads)
        if F is None:
            X = arrays.check_rows(X, n_features=self.n_features)
            with np.errstate(over="ignore", invalid="ignore"):
                F = self.expansion.decision_values(X, max_bytes, self.scaling, n_threads)
            if not all_finite(F):
                bad = ~np.isfinite(arrays.to_numpy(F)).all(axis=1)
                raise InputError(
                    f"the values of row {int(np.argmax(bad))} are too large for the {self.kernel.name} kernel of this "
                    f"model: its answer overflows {F.dtype}"
                )
        return F

    def decision_function(self, X: Any, max_bytes: int | None = None, n_threads: int | None = None) -> Floats:
        """Return the scores of each row as scikit-learn defines them, (n,) or (n, K) or (n, M)."""
        return scores_of(self.decoder, self.decision_values(X, max_bytes, n_threads))

    def predict(self, X: Any, max_bytes: int | None = None, n_threads: int | None = None) -> NDArray[Any]:
        """Return the answer for each row, (n,); see :meth:`decision_values` for the arguments.

        Labels that are text are an array of NumPy, whatever the rows are: tensors hold numbers.
        """
        n_threads = None if n_threads is None else check_threads(n_threads)
        if self._ballot is not None and isinstance(self.decoder, PairVote):
            labels = self._ballot.labels(self.decoder, X, self.scaling, n_threads)
            if labels is not None:
                return labels
        return labels_of(self.decoder, self.decision_values(X, max_bytes, n_threads))

    @property
    def has_probability(self) -> bool:
        """Whether there is a :meth:`predict_proba`."""
        kind = kind_of(self.probability)
        return kind is not None and {"classification": kind != "marks", "outlier": kind == "marks"}.get(
            self.task, False
        )

    def predict_proba(self, X: Any, max_bytes: int | None = None, n_threads: int | None = None) -> Floats:
        """Return the probability of each class, (n, K), in the order of ``classes_``: of a one-class model, -1 and 1.

        Of tensors, decision values come to the host for this, and the probabilities go back.

        Raises
        ------
        InputError
            When the model was not given what it takes: see :attr:`has_probability`.
        """
        if not self.has_probability:
            raise InputError(
                "the model has no probabilities, as its source had none: compress a CalibratedClassifierCV around "
                "the SVM, or a LibSVM model that was trained with -b 1"
            )
        F = self.decision_values(X, max_bytes, n_threads)
        return self._sure(F) if isinstance(F, np.ndarray) else here(self._sure(arrays.to_numpy(F)), F)

    @lazy_property
    def _sure(self) -> Probabilities:
        """From decision values to probabilities."""
        return Probabilities(self.probability, self.decoder)

    @lazy_property
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
        >>> from svmpress.decoders import Identity
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
        return replace(self, expansion=replace(self.expansion, vectors=vectors), feature_names=None)
