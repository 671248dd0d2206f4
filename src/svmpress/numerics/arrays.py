"""Arrays of any library, rows dense or sparse, and loops whose memory is bounded.

Everything above this module is written once against the array API standard and runs on NumPy, torch, CuPy or
``array_api_strict``, wherever its arguments live. *Rows* are what a kernel is evaluated on: a two-dimensional
dense array of any such library, or a SciPy CSR matrix. Only this module knows CSR: the functions below are the
complete list of what the rest of svmpress does to rows.

Shapes: ``X`` is (n, d), ``V`` is (m, d).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from svmpress.errors import InputError, MissingExtraError
from svmpress.numerics.arguments import refuse_bad_pointers
from svmpress.numerics.columns import common_columns

Array = Any
"""An array of any library that follows the array API standard."""

Rows = Any
"""A two-dimensional Array or a ``scipy.sparse`` CSR array."""

Floats = NDArray[np.float64]
"""An array of NumPy in double precision."""

DEFAULT_MAX_BYTES = 256 * 2**20
"""Working memory of a blocked loop when the caller does not say."""

_DENSE_BYTES = 24
"""Of a number of CSR rows that become dense in another library: there, on the way, and centred."""
_MOST_WIDENED = 2**26
"""Bytes up to which dense rows stay dense when columns of zeros are added."""


# ---------------------------------------------------------------------------------------------------------
# Where arrays live
# ---------------------------------------------------------------------------------------------------------


def namespace(*arrays: Rows) -> Any:
    """Return the array API namespace shared by the dense arguments; CSR rows follow the others."""
    dense = [a for a in arrays if not is_csr(a)]
    return array_api_compat.array_namespace(*dense) if dense else array_api_compat.array_namespace(np.empty(0))


def device_of(*arrays: Rows) -> Any:
    """Return the device of the first dense argument."""
    for a in arrays:
        if not is_csr(a):
            return array_api_compat.device(a)
    return "cpu"


@dataclass(frozen=True)
class Backend:
    """A library and a device to compute on: what ``device=`` names.

    Examples
    --------
    >>> Backend.of("cpu").asarray([[1.0, 2.0]]).shape
    (1, 2)
    """

    xp: Any
    device: Any

    @classmethod
    def of(cls, device: str) -> Backend:
        """Return the backend for a device name.

        ``"cpu"`` is NumPy; ``"torch"`` is torch on the CPU; anything else (``"cuda"``, ``"cuda:1"``, ``"xpu"``)
        is a device of torch.
        """
        if device == "cpu":
            return cls(array_api_compat.array_namespace(np.empty(0)), "cpu")
        try:
            import torch
        except ImportError as e:
            raise MissingExtraError(f"device={device!r}", "torch", "torch") from e
        try:
            place = torch.device("cpu" if device == "torch" else device)
            probe = torch.zeros(1, device=place, dtype=torch.float64)
        except (RuntimeError, AssertionError, TypeError) as e:
            reason = str(e).strip().splitlines()[0]
            raise InputError(f"device {device!r} cannot be used for double precision: {reason}") from e
        return cls(array_api_compat.array_namespace(probe), place)

    @property
    def is_numpy(self) -> bool:
        """Whether this is NumPy, on the host: where the compiled predictor and sparse rows are."""
        return bool(array_api_compat.is_numpy_namespace(self.xp))

    def asarray(self, a: Rows, dtype: str = "float64") -> Rows:
        """Copy or move ``a`` here, as floating point ``dtype``; CSR rows stay CSR on the host."""
        if is_csr(a):
            return a.astype(dtype, copy=False)
        host = to_numpy(a).astype(dtype, copy=False)
        lends = self.is_numpy or host.flags.writeable  # other libraries take no memory that must not be written to
        return self.xp.asarray(host if lends else host.copy(), device=self.device)

    def rows(self, X: Rows, max_bytes: int) -> Rows:
        """Copy or move rows here; elsewhere than in NumPy, CSR rows become dense if ``max_bytes`` are enough for that.

        The array API knows no sparse rows: those that are too many stay on the host, and cross over a block at a time
        whenever they are used.
        """
        fits = _DENSE_BYTES * X.shape[0] * X.shape[1] <= max_bytes
        return self.asarray(X.toarray() if is_csr(X) and fits and not self.is_numpy else X)


def to_numpy(a: Array) -> NDArray[Any]:
    """Return a dense array of any library as NumPy, copying only across devices."""
    if isinstance(a, np.ndarray):
        return a
    if array_api_compat.is_torch_array(a):
        return a.detach().cpu().numpy()
    if array_api_compat.is_cupy_array(a):
        return a.get()
    return np.asarray(a)


# ---------------------------------------------------------------------------------------------------------
# Rows that come from outside
# ---------------------------------------------------------------------------------------------------------


def check_rows(X: Any, *, name: str = "X", n_features: int | None = None, allow_empty: bool = True) -> Rows:
    """Return ``X`` as floating point rows, or say what is wrong with it.

    Parameters
    ----------
    X : array-like (n, d), or a SciPy sparse matrix
        Integers and booleans become float64; float32 and float64 are kept; sparse formats become CSR.
    name : str
        What the error messages call it.
    n_features : int, optional
        The number of columns that the model expects.
    allow_empty : bool
        Whether zero rows are fine.

    Raises
    ------
    InputError
        Not two-dimensional, not numbers, the wrong number of columns, or a NaN or an infinity, named by row
        and column, both counted from 0.
    """
    X = _as_csr(X, name) if is_csr(X) else _as_dense(X, name)
    n, d = X.shape
    if n_features is not None and d != n_features:
        raise InputError(f"{name} has {d} features, but the model has {n_features}")
    if d == 0:
        raise InputError(f"{name} has no columns")
    if n == 0 and not allow_empty:
        raise InputError(f"{name} has no rows")
    _check_finite(X, name)
    return X


def _as_csr(X: Any, name: str) -> Rows:
    X = sparse.csr_array(X)
    refuse_bad_pointers(X.indptr, name)
    if X.dtype.kind == "c":
        raise InputError(f"{name} holds complex numbers; svmpress works on real ones")
    X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.indices.dtype != np.int32 and max(X.nnz, *X.shape) <= np.iinfo(np.int32).max:
        # scikit-learn's solvers take no others; the values are shared, and the caller's matrix stays as it was
        X = sparse.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    return X


def _as_dense(X: Any, name: str) -> Array:
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise InputError(f"{name} holds masked values; fill them in or leave their rows out")
    if not array_api_compat.is_array_api_obj(X) or isinstance(X, np.ndarray):  # and no subclass
        try:
            X = np.asarray(X)
        except ValueError as e:
            raise InputError(f"{name} is not a table of numbers: {e}") from e
    if isinstance(X, np.ndarray) and X.dtype.kind not in "fiub":
        if X.dtype.kind == "c":
            raise InputError(f"{name} holds complex numbers; svmpress works on real ones")
        if X.dtype.kind in "mM":
            raise InputError(f"{name} holds dates or durations; convert them to numbers, in a unit of your choice")
        try:
            X = X.astype(np.float64)
        except (ValueError, TypeError) as e:
            raise InputError(f"{name} is not a table of numbers: {e}") from e
    if X.ndim != 2:
        hint = "; for a single row pass X.reshape(1, -1)" if X.ndim == 1 else ""
        raise InputError(f"{name} must be two-dimensional (rows, features), not {X.ndim}-dimensional{hint}")
    xp = namespace(X)
    if X.dtype not in (xp.float32, xp.float64):
        X = xp.astype(X, xp.float64)
    return X


def _check_finite(X: Rows, name: str) -> None:
    values = X.data if is_csr(X) else X
    xp = namespace(values)
    with np.errstate(all="ignore"):  # a sum of finite values may overflow; the exact test follows then
        if bool(xp.isfinite(xp.sum(values))):
            return
    bad = np.flatnonzero(~np.isfinite(to_numpy(values)).ravel())
    if bad.size == 0:
        return
    first = int(bad[0])
    if is_csr(X):
        row, column = int(np.searchsorted(X.indptr, first, side="right")) - 1, int(X.indices[first])
        what = X.data[first]
    else:
        row, column = divmod(first, X.shape[1])
        what = to_numpy(values)[row, column]
    kind = "NaN" if np.isnan(what) else "an infinite value"
    more = f" (and {bad.size - 1} more such values)" if bad.size > 1 else ""
    raise InputError(f"{name} holds {kind} at row {row}, column {column}{more}")


# ---------------------------------------------------------------------------------------------------------
# What kernels do with rows
# ---------------------------------------------------------------------------------------------------------


def is_csr(X: Rows) -> bool:
    """Return whether the rows are sparse."""
    return bool(sparse.issparse(X))


def stored_bytes(X: Rows) -> int:
    """Return the bytes that rows of NumPy or CSR take."""
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if is_csr(X) else X.nbytes)


def dense(X: Rows, like: Array | None = None) -> Array:
    """Return rows as a dense array, in the library and on the device of ``like`` (default: NumPy)."""
    if not is_csr(X):
        return X
    full = X.toarray()
    if like is None or is_csr(like) or isinstance(like, np.ndarray):
        return full
    return namespace(like).asarray(full, device=array_api_compat.device(like))


def dot(X: Rows, V: Rows) -> Array:
    """Return ``X Vᵀ``, (n, m), dense."""
    if is_csr(X) and is_csr(V):
        X, V = common_columns(X, V)
        return (X @ V.T).toarray()
    if is_csr(X) and isinstance(V, np.ndarray):
        return X @ V.T
    if is_csr(V) and isinstance(X, np.ndarray):
        return (V @ X.T).T
    X, V = dense(X, like=V), dense(V, like=X)
    return namespace(X, V).matmul(X, V.T)


def transposed_dot(H: Array, X: Rows) -> Array:
    """Return ``Hᵀ X``, (m, d), dense, for ``H`` of shape (n, m)."""
    if is_csr(X) and isinstance(H, np.ndarray):
        return (X.T @ H).T
    return namespace(H).matmul(H.T, dense(X, like=H))


def extra_bytes(X: Rows, like: Array) -> int:
    """Return what kernel values of a row take beyond themselves, where ``like`` is: it is centred, or becomes dense."""
    if isinstance(like, np.ndarray):
        return 0
    return int(X.shape[1]) * (_DENSE_BYTES if is_csr(X) else 8)


def square_norms(X: Rows) -> Array:
    """Return the squared Euclidean norm of each row, (n,)."""
    if is_csr(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return namespace(X).sum(X * X, axis=1)


def any_negative(X: Rows) -> bool:
    """Return whether some value is below zero."""
    values = X.data if is_csr(X) else X
    return bool(namespace(values).any(values < 0))


def column_means(X: Rows) -> NDArray[Any]:
    """Return the mean of each column, (d,), as NumPy."""
    if is_csr(X):
        return np.asarray(X.mean(axis=0)).ravel()
    return to_numpy(namespace(X).mean(X, axis=0))


def squared_distances(X: Rows, V: Rows) -> Array:
    """Return ``||x_i - v_j||²``, (n, m), by the expansion into a matrix product.

    Dense operands are first centred on the mean of ``V``: distances do not change, while the cancellation error
    of ``||x||² + ||v||² - 2 x·v`` falls with the square of the distance from the origin. What is left below
    zero is rounding and is set to 0.
    """
    if not is_csr(X) and not is_csr(V) and V.shape[0]:
        centre = namespace(X, V).mean(V, axis=0)
        X, V = X - centre, V - centre
    D = dot(X, V)
    xp = namespace(D)
    D *= -2
    D += _moved(square_norms(X), D)[:, None]
    D += _moved(square_norms(V), D)[None, :]
    return xp.maximum(D, xp.zeros_like(D[:1, :1])) if D.shape[0] and D.shape[1] else D


def _moved(a: Array, like: Array) -> Array:
    """Bring a NumPy vector (the norms of CSR rows) to the library of ``like``."""
    if isinstance(a, np.ndarray) and not isinstance(like, np.ndarray):
        return namespace(like).asarray(a, device=array_api_compat.device(like))
    return a


def take(X: Rows, rows: slice | NDArray[np.intp]) -> Rows:
    """Return some rows: a slice, or integer positions as NumPy."""
    if is_csr(X) or isinstance(X, np.ndarray):
        return X[rows]
    if isinstance(rows, slice):
        return X[rows, :]
    xp = namespace(X)
    return xp.take(X, xp.asarray(rows, device=array_api_compat.device(X)), axis=0)


def concatenated(*parts: Rows) -> Rows:
    """Return rows of NumPy or CSR one below the other; CSR if any is."""
    if any(is_csr(part) for part in parts):
        return sparse.csr_array(sparse.vstack([sparse.csr_array(part) for part in parts]))
    return np.concatenate(parts)


def widen(X: Rows, n_features: int) -> Rows:
    """Return rows with columns of zeros appended up to ``n_features``; as CSR where they would be huge."""
    extra = n_features - X.shape[1]
    if extra < 0:
        raise InputError(f"cannot narrow rows of {X.shape[1]} features to {n_features}")
    if extra == 0:
        return X
    if is_csr(X):
        return sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
    if X.dtype.itemsize * X.shape[0] * n_features > max(_MOST_WIDENED, 2 * X.nbytes):
        return widen(sparse.csr_array(X), n_features)
    return np.hstack([X, np.zeros((X.shape[0], extra), dtype=X.dtype)])


def scale_columns(X: Rows, shift: Array | None, factor: Array) -> Rows:
    """Return ``(X - shift) * factor``; sparse rows stay sparse, so they need ``shift=None``."""
    if is_csr(X):
        if shift is not None:
            raise InputError("sparse rows cannot be shifted by a scaler without becoming dense")
        return sparse.csr_array(X.multiply(factor[None, :]))
    if not isinstance(X, np.ndarray):  # copies, as other libraries take no memory that must not be written to
        xp, device = namespace(X), array_api_compat.device(X)
        shift, factor = (a if a is None else xp.asarray(np.array(a), device=device) for a in (shift, factor))
    return X * factor if shift is None else (X - shift) * factor


# ---------------------------------------------------------------------------------------------------------
# Loops under a memory cap
# ---------------------------------------------------------------------------------------------------------


def blocks(n: int, bytes_per_row: int, max_bytes: int | None = None) -> Iterator[slice]:
    """Yield slices that cover ``range(n)``, as long as ``max_bytes`` allows and at least one row each."""
    step = max(1, (max_bytes or DEFAULT_MAX_BYTES) // max(1, bytes_per_row))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))
