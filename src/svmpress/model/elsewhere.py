"""Answers where the rows are: tensors of torch on their device, or arrays of another library than NumPy.

Rows never come to the host. The vectors go to the device once and stay there as long as the model lives, if they take
no more than a fourth of the memory that may be used; else they cross over a block at a time. What a decoder does with
NumPy is here once more, in the words of the array API standard.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import array_api_compat
import numpy as np

from svmpress.decoders import Argmax, Decoder, Identity, PairDAG, PairVote, Sign, class_pairs, pair_signs
from svmpress.numerics import Array, Rows, arrays

if TYPE_CHECKING:
    from svmpress.model.expansion import KernelExpansion

_LEAST_BYTES = 64 * 2**20
_MOST_BYTES = 4 * 2**30
"""Of working memory on a device. A launch on a graphics processor costs what it computes of some megabytes."""
_SHARE = 4
"""One part in this many of the memory that is free."""

_Copies = tuple[tuple[Any, ...], Array, Array, Array]
_COPIES: weakref.WeakKeyDictionary[KernelExpansion, _Copies] = weakref.WeakKeyDictionary()
"""Vectors, coefficients and intercepts on the device where a model last answered, with what tells devices apart."""


def here(a: Any, like: Array, dtype: Any = None) -> Array:
    """Return an array of NumPy in the library and on the device of another."""
    host = np.array(a, dtype=dtype)  # a copy: other libraries take no memory that must not be written to
    return arrays.namespace(like).asarray(host, device=arrays.device_of(like))


def working_bytes(X: Array) -> int:
    """Return how much memory a blocked loop may use where an array is: on a graphics processor a share of what is free.

    Examples
    --------
    >>> working_bytes(np.zeros(1)) == arrays.DEFAULT_MAX_BYTES
    True
    """
    if not array_api_compat.is_torch_array(X) or X.device.type != "cuda":
        return arrays.DEFAULT_MAX_BYTES
    import torch

    free, _ = torch.cuda.mem_get_info(X.device)
    return int(min(max(free // _SHARE, _LEAST_BYTES), _MOST_BYTES))


def values_elsewhere(
    f: KernelExpansion, X: Array, max_bytes: int | None = None, scaling: Callable[[Rows], Rows] | None = None
) -> Array:
    """Return f at rows of another library than NumPy, (n, M), in the precision of the model.

    Parameters
    ----------
    f : KernelExpansion
    X : (n, d)
    max_bytes : int, optional
        Working memory; None: :func:`working_bytes`.
    scaling : Scaling, optional
        Applied to each block of rows first.
    """
    xp, limit = arrays.namespace(X), max_bytes or working_bytes(X)
    vectors, coef, intercept = _moved(f, X, limit)
    own = isinstance(vectors, np.ndarray) or arrays.is_csr(vectors)
    width = max(1, min(f.n_vectors, limit // (32 * f.n_features)))
    row_bytes = 8 * (4 * width + 3 * f.n_features + 2 * f.n_outputs)
    parts = []
    for rows in arrays.blocks(X.shape[0], row_bytes, limit):
        x = arrays.take(X, rows)
        x = xp.astype(x if scaling is None else scaling(x), coef.dtype, copy=False)
        F = xp.zeros((x.shape[0], f.n_outputs), dtype=coef.dtype, device=arrays.device_of(X)) + intercept
        for some in arrays.blocks(f.n_vectors, 1, width):
            V = arrays.take(vectors, some)
            V = here(arrays.dense(V), X, f.precision) if own else V
            F = F + xp.matmul(f.kernel.gram(x, V), coef[some, :])
        parts.append(F)
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return xp.zeros((0, f.n_outputs), dtype=coef.dtype, device=arrays.device_of(X))
    return xp.concat(parts, axis=0)


def _moved(f: KernelExpansion, X: Array, limit: int) -> tuple[Rows, Array, Array]:
    """Return vectors, coefficients and intercepts on the device of X; the vectors as they are if they are too many."""
    place = (arrays.namespace(X).__name__, str(arrays.device_of(X)))
    kept = _COPIES.get(f)
    if kept is not None and kept[0] == place:
        return kept[1:]
    coef, intercept = (here(a, X, f.precision) for a in (f.coef, f.intercept))
    if f.precision.itemsize * f.n_vectors * f.n_features > limit // _SHARE:
        return f.vectors, coef, intercept
    _COPIES[f] = (place, here(arrays.dense(f.vectors), X, f.precision), coef, intercept)
    return _COPIES[f][1:]


def all_finite(F: Array) -> bool:
    """Return whether all values are finite, wherever they are."""
    if isinstance(F, np.ndarray):
        return bool(np.isfinite(F).all())
    xp = arrays.namespace(F)
    return bool(xp.all(xp.isfinite(F)))


# ---------------------------------------------------------------------------------------------------------
# Decoders
# ---------------------------------------------------------------------------------------------------------


def scores_of(decoder: Decoder, F: Array) -> Array:
    """Return what ``decoder.scores`` gives, for decision values of any library."""
    if isinstance(F, np.ndarray):
        return decoder.scores(F)
    if isinstance(decoder, PairVote) and decoder.shape == "ovr":
        scores = _confident_votes(decoder, F)
        return scores[:, 1] if decoder.n_classes == 2 else scores
    return F[:, 0] if isinstance(decoder, Sign) or (isinstance(decoder, Identity) and F.shape[1] == 1) else F


def labels_of(decoder: Decoder, F: Array) -> Array:
    """Return what ``decoder.labels`` gives, for decision values of any library; text in an array of NumPy."""
    if isinstance(F, np.ndarray):
        return decoder.labels(F)
    if decoder.classes is None:
        return scores_of(decoder, F)
    positions = positions_elsewhere(decoder, F)
    if decoder.classes.dtype.kind not in "fiub":
        return decoder.classes[arrays.to_numpy(positions)]
    return arrays.namespace(F).take(here(decoder.classes, F), positions, axis=0)


def positions_elsewhere(decoder: Decoder, F: Array) -> Array:
    """Return the position of each row's class, (n,), for decision values of another library than NumPy."""
    xp = arrays.namespace(F)
    if isinstance(decoder, Sign):
        return xp.astype(F[:, 0] >= 0 if decoder.zero_class == 1 else F[:, 0] > 0, xp.int64)
    if isinstance(decoder, Argmax):
        return xp.argmax(F, axis=1)
    if isinstance(decoder, PairVote):
        return xp.argmax(_confident_votes(decoder, F) if decoder.break_ties else _votes(decoder, F > 0), axis=1)
    if isinstance(decoder, PairDAG):
        return _last_left(decoder, F)
    return here(decoder.positions(arrays.to_numpy(F)), F)  # a decoder of somebody else


def _votes(decoder: PairVote, first: Array) -> Array:
    xp, K = arrays.namespace(first), decoder.n_classes
    signs = here(pair_signs(K), first, np.float32)
    return xp.matmul(xp.astype(first, signs.dtype), signs) + here(np.arange(K), first, np.float32)


def _confident_votes(decoder: PairVote, F: Array) -> Array:
    xp = arrays.namespace(F)
    confidence = xp.matmul(F, xp.astype(here(pair_signs(decoder.n_classes), F), F.dtype))
    return xp.astype(_votes(decoder, F >= 0), F.dtype) + confidence / (3 * (xp.abs(confidence) + 1))


def _last_left(decoder: PairDAG, F: Array) -> Array:
    """Return the class that is left of each row when the first and the last have met until one is alone."""
    xp, K = arrays.namespace(F), decoder.n_classes
    machine = np.zeros((K, K), dtype=np.int64)
    machine[tuple(class_pairs(K).T)] = np.arange(F.shape[1])
    of_pair, columns = here(machine.ravel(), F), here(np.arange(F.shape[1]), F)[None, :]
    low = xp.astype(xp.zeros_like(F[:, 0]), xp.int64)
    high = low + (K - 1)
    for _ in range(K - 1):
        asked = xp.take(of_pair, low * K + high, axis=0)[:, None] == columns
        first_wins = xp.any(asked & (F > 0), axis=1)
        high, low = xp.where(first_wins, high - 1, high), xp.where(first_wins, low, low + 1)
    return low
