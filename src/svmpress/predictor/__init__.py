"""The fast predictor: ``F = k(X, V) A + b`` fused into one pass, in C.

Computed by array operations, the (n, m) matrix of kernel values travels to memory and back several times, and at
few features that, not arithmetic, is what a prediction costs. The compiled predictor takes a few rows and a block
of vectors at a time, so that distances, exponential and weighted sum stay in registers and cache; ``native/fused.h``
tells how, and :mod:`svmpress.predictor.packing` how a model is laid out for it. It is built for several instruction
sets, of which the best that the machine has is taken.

It computes in the precision of the model: float32 if vectors, coefficients and intercepts all are, else float64.
Where it does not apply it answers None, and the model computes with NumPy: if it was not built, for array
libraries other than NumPy, for kernels that it does not know, and for input that the caller must look at first.

Environment variables, read once: ``OMP_NUM_THREADS``, the number of threads; ``SVMPRESS_RUNTIME=numpy`` turns the
compiled predictor off; ``SVMPRESS_ISA`` forces one of ``avx512``, ``avx2`` and ``baseline``.
"""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from svmpress import native
from svmpress.decoders import pair_signs
from svmpress.numerics import arrays, lazy_property, threads
from svmpress.predictor import packing
from svmpress.predictor.packing import Kernel
from svmpress.predictor.voting import Ballot

if TYPE_CHECKING:
    from svmpress.native._compiled import Packed


_compiled, _WHY_NOT = native.load()

__all__ = [
    "Ballot",
    "Predictor",
    "describe",
    "instruction_sets",
    "threads",
]

_PLAIN = (np.ndarray, np.memmap)
"""Array types that are nothing but their memory; other subclasses may mean something else by it."""

_CONVERSION_BYTES = 2**20
"""Memory for copies of CSR rows that are not as the extension reads them."""

_NAMES = {"avx512": "AVX-512", "avx2": "AVX2"}
_BASELINES = {"x86_64": "SSE2", "AMD64": "SSE2", "aarch64": "NEON", "arm64": "NEON"}


def instruction_sets() -> dict[str, int]:
    """Return the instruction sets that can be used here and the bytes of their registers, fastest first.

    Empty where the compiled predictor was not built.
    """
    return {} if _compiled is None else dict(_compiled.instruction_sets())


def describe() -> str:
    """Say in a few words which predictor is in use.

    Examples
    --------
    >>> describe()  # doctest: +SKIP
    'compiled (AVX-512, 2 threads)'
    """
    if _compiled is None:
        return f"NumPy ({_WHY_NOT})"
    isa = native.instruction_set(_compiled)
    name = _NAMES.get(isa) or _BASELINES.get(platform.machine(), "portable")
    return f"compiled ({name}, {threads()} thread{'s' if threads() > 1 else ''})"


class Affine(Protocol):
    """A scaling of the rows, ``x -> (x - shift) * factor``; ``shift`` may be None."""

    @property
    def shift(self) -> NDArray[Any] | None: ...
    @property
    def factor(self) -> NDArray[Any]: ...


class Predictor:
    """The decision values of one kernel expansion, by the compiled predictor.

    Packing happens at the first call; thousands of vectors with hundreds of outputs take some tenths of a second. Any
    number of threads may call.

    Parameters
    ----------
    kernel : Kernel
    vectors : (m, d) NumPy or CSR
    coef : (m, M)
    intercept : (M,)
    isa : str, optional
        One of :func:`instruction_sets`; None: the fastest, or what ``SVMPRESS_ISA`` says.
    """

    def __init__(
        self,
        kernel: Kernel,
        vectors: arrays.Rows,
        coef: NDArray[Any],
        intercept: NDArray[Any],
        isa: str | None = None,
    ) -> None:
        self._parts = (kernel, vectors, coef, intercept, isa)
        self._dtype = np.result_type(vectors.dtype, coef.dtype, intercept.dtype)
        self._n_outputs = int(coef.shape[1])
        self._n_features = int(vectors.shape[1])
        self._usable = (
            _compiled is not None
            and self._dtype in (np.float32, np.float64)
            and packing.can_pack(kernel, vectors, self._n_outputs)
        )
        self._packed: Packed | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy without what was packed: it belongs to this machine."""
        return Predictor, self._parts

    @property
    def usable(self) -> bool:
        """Whether this expansion is one for the compiled predictor."""
        return self._usable

    def _pack(self) -> Packed:
        kernel, vectors, coef, intercept, _ = self._parts
        assert _compiled is not None
        isa, lanes = self._layout()
        few = _compiled.FEW_OUTPUTS
        runs = self._runs if self._n_outputs > few else None
        parts = packing.pack(kernel, vectors, coef, intercept, lanes, self._dtype, few, runs)
        self._packed = _compiled.Packed(isa=isa, itemsize=self._dtype.itemsize, **parts)
        return self._packed

    @lazy_property
    def _runs(self) -> list[packing.Run]:
        """The groups of the coefficients; to find them is most of the work of packing."""
        return packing.runs_of(self._parts[2], self._layout()[1])

    def _layout(self) -> tuple[str, int]:
        """Return the instruction set and the lanes of its registers."""
        assert _compiled is not None
        isa = self._parts[-1] or native.instruction_set(_compiled)
        return isa, instruction_sets()[isa] // self._dtype.itemsize

    def pack_ballot(self, n_classes: int) -> Packed:
        """Return the machines of all pairs of K classes, packed for a vote; outputs are sums over a class's pairs."""
        kernel, vectors, coef, intercept, _ = self._parts
        assert _compiled is not None
        isa, lanes = self._layout()
        signs = pair_signs(n_classes)
        parts = packing.pack(
            kernel, vectors, coef @ signs, intercept @ signs, lanes, self._dtype, _compiled.FEW_OUTPUTS
        )
        checks = packing.pack_checks(coef, intercept, n_classes, lanes)
        for name, a in zip(("checks", "check_intercept"), checks, strict=True):
            parts[name] = np.ascontiguousarray(a, dtype=self._dtype)
        return _compiled.Packed(isa=isa, itemsize=self._dtype.itemsize, **parts)

    def ballot(self, n_classes: int) -> Ballot | None:
        """Return the vote of these machines, one for each pair of K classes; None where counting is as fast."""
        kernel, _, coef, _, _ = self._parts
        few = _compiled is None or n_classes <= _compiled.FEW_OUTPUTS or kernel.name == "linear"
        if few or not self._usable:
            return None
        (_, lanes), (m, n_outputs) = self._layout(), coef.shape

        def pays(work: int) -> bool:
            return Ballot.pays(self._n_features, n_classes, m, work, lanes)

        # one run of all columns is about the most that sums may cost, and is known at once
        most = packing.work_of_sums([packing.whole_run(m, n_outputs, lanes)], n_outputs, lanes)
        worth = pays(most) and pays(packing.work_of_sums(self._runs, n_outputs, lanes))
        return Ballot(self, n_classes) if worth else None

    def reads(self, X: Any) -> bool:
        """Return whether these are rows for the compiled predictor, as they are."""
        return (
            self._usable
            and type(X) in _PLAIN
            and X.ndim == 2
            and X.shape[1] == self._n_features
            and X.dtype.char in "fd"
            and X.dtype.isnative
        )

    def dense(self, X: Any, scaling: Affine | None = None, n_threads: int | None = None) -> NDArray[Any] | None:
        """Return the decision values of rows as they come, (n, M), or None for anything out of the ordinary.

        Parameters
        ----------
        X : (n, d)
            float32 or float64 NumPy array in any layout.
        scaling : Affine, optional
            Applied to the rows first.
        n_threads : int, optional
            None: :func:`threads`. Small inputs use fewer.

        Returns
        -------
        NDArray or None
            None if this predictor is not usable, ``X`` is something else, or it or an answer is NaN or infinite: the
            caller then takes the ordinary way, which converts, computes or says what is wrong.
        """
        if not self.reads(X):
            return None
        packed = self._packed or self._pack()
        F = np.empty((X.shape[0], self._n_outputs), self._dtype)
        shift, factor = (None, None) if scaling is None else (scaling.shift, scaling.factor)
        bad = packed.predict_dense(X, F, n_threads or threads(), shift, factor)
        return F if bad < 0 else None

    def __call__(self, X: Any, scaling: Affine | None = None, n_threads: int | None = None) -> NDArray[Any] | None:
        """Return the same for rows that :func:`svmpress.numerics.arrays.check_rows` has passed, which may be CSR."""
        if not arrays.is_csr(X):
            return self.dense(X, scaling, n_threads)
        if not self._usable or X.shape[1] != self._n_features or (scaling is not None and scaling.shift is not None):
            return None
        packed = self._packed or self._pack()
        F = np.empty((X.shape[0], self._n_outputs), self._dtype)
        converts = scaling is not None or X.data.dtype != self._dtype or X.indices.dtype != np.int32
        row_bytes = 8 + (24 * X.nnz // max(1, X.shape[0]) if converts else 0)
        for rows in arrays.blocks(X.shape[0], row_bytes, _CONVERSION_BYTES):
            indptr = X.indptr[rows.start : rows.stop + 1].astype(np.int64)
            part = slice(indptr[0], indptr[-1])
            values = X.data[part] if scaling is None else X.data[part] * scaling.factor[X.indices[part]]
            values = np.ascontiguousarray(values, self._dtype)
            indices = np.ascontiguousarray(X.indices[part], np.int32)
            bad = packed.predict_csr(values, indices, indptr - indptr[0], F[rows], n_threads or threads())
            if bad >= 0:
                return None
        return F
