"""Kernels whose machines are matrices: as few vectors as their rank, with the source's own values.

Linear kernel. The M machines are the rows of ``W = Aᵀ V`` (M, d), and ``f(x) = W x + b``. With the singular value
decomposition ``W = P S Qᵀ`` of rank r, the r rows of ``Qᵀ`` as vectors and ``S Pᵀ`` as coefficients are the same
function: at most min(d, M) vectors, and one for a machine alone.

Homogeneous quadratic kernel, ``(γ x·v)²``. A machine is a quadratic form ``x·S x + b``, ``S = γ² Σ a_i v_i v_iᵀ``: its
eigenvectors are the vectors, its eigenvalues over γ² the coefficients, at most d of them a machine (C. J. C. Burges,
*Simplified support vector decision rules*, 1996).

Fewer vectors than the rank, linear kernel. Of all matrices of rank m, ``W_m = P_m P_mᵀ W`` has the closest values at
rows X, where ``P_m`` (M, m) are the first left singular vectors of ``W Xcᵀ``, Xc the rows less their mean; intercepts
take up the mean. That is the best copy. Labels may recommend another function: what the usual way finds is taken if
rows prefer it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import PairDAG, PairVote, class_pairs, pair_mask
from svmpress.kernels import Linear, Polynomial
from svmpress.methods.base import Layout, Method, Outcome, Problem
from svmpress.methods.holdout import Holdout
from svmpress.model import KernelExpansion, KernelModel
from svmpress.numerics import Floats, arrays, one_blas_thread

_MOST_NUMBERS = 2**25
"""Of a matrix that is decomposed: 256 MiB."""
_MOST_FEATURES = 3_000
"""Of a quadratic form, whose decomposition takes the cube of their number."""
_MOST_ROWS = 5_000
"""That judge an approximation."""
_BAR = 1.0
"""Standard errors by which the usual way must be ahead of the best copy."""


@dataclass(frozen=True)
class Exact:
    """The source's own values from as few vectors as its rank; another method where these are too many.

    Parameters
    ----------
    otherwise : Method
        What is used for budgets below the rank.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from svmpress import compress
    >>> X, y = load_iris(return_X_y=True)
    >>> result = compress(SVC(kernel="linear").fit(X, y > 0), X, y > 0)
    >>> result.source.n_vectors, result.model.n_vectors
    (3, 1)
    """

    otherwise: Method

    def run(self, problem: Problem, m: int, smaller: Outcome | None = None) -> Outcome:
        """Return the source's own values if ``m`` vectors are enough for that, else the better of two ways."""
        exact = exact_expansion(problem.source, problem.layout)
        if exact is not None and exact.n_vectors <= m:
            return Outcome(exact, status="so many have the source's own values")
        usual = self.otherwise.run(problem, m, smaller)
        copy = closest_copy(problem, m)
        if copy is None or _is_ahead(problem, usual, copy):
            return usual
        note = "the closest of all linear copies of so few vectors is as good on the rows, and taken"
        return replace(usual, expansion=copy, decoder=None, copies=True, check=None, notes=(*usual.notes, note))


def exact_expansion(source: KernelModel, layout: Layout = "shared") -> KernelExpansion | None:
    """Return the source's function by fewer vectors than it has; None if its kernel has no such, or none are fewer.

    Parameters
    ----------
    source : KernelModel
    layout : "shared" or "libsvm"
        ``"libsvm"``: each vector belongs to one class, so that those of a class have the rank of its machines.
    """
    decoder, f = source.decoder, source.expansion
    n_classes = decoder.n_classes if isinstance(decoder, PairVote | PairDAG) else 2
    with one_blas_thread():  # so that it is the same to the last bit on any number of threads
        if isinstance(f.kernel, Linear):
            apart = layout == "libsvm" and n_classes > 2
            parts = _linear_parts(f, class_pairs(n_classes)[:, 0] if apart else np.zeros(f.n_outputs, np.intp))
        elif isinstance(f.kernel, Polynomial) and f.kernel.degree == 2 and f.kernel.coef0 == 0:
            parts = _quadratic_parts(f, f.kernel.gamma)
        else:
            return None
    if parts is None:
        return None
    vectors, coef = np.concatenate([v for v, _ in parts]), np.concatenate([a for _, a in parts])
    if len(vectors) >= f.n_vectors:
        return None
    mask = None
    if layout == "libsvm" and n_classes > 2:
        first = class_pairs(n_classes)[:, 0]
        mask = pair_mask(np.array([first[np.flatnonzero(a)[0]] for a in coef], np.intp), n_classes)
    return KernelExpansion(f.kernel, vectors, coef, f.intercept.astype(np.float64), mask)


_Part = tuple[Floats, Floats]
"""Vectors (r, d) and their coefficients (r, M)."""


def _linear_parts(f: KernelExpansion, group: NDArray[np.intp]) -> list[_Part] | None:
    """Return the vectors that machines of one group share, group by group; ``group`` is (M,)."""
    if f.n_outputs * f.n_features > _MOST_NUMBERS:
        return None
    W, parts = _weights(f), []
    for g in np.unique(group):
        own = np.flatnonzero(group == g)
        P, s, Q = np.linalg.svd(W[own], full_matrices=False)
        rank = _rank(s, W.shape)
        coef = np.zeros((rank, f.n_outputs))
        coef[:, own] = (P[:, :rank] * s[:rank]).T
        parts.append((Q[:rank], coef))
    return parts


def _quadratic_parts(f: KernelExpansion, gamma: float) -> list[_Part] | None:
    """Return the eigenvectors of each machine."""
    if f.n_features > _MOST_FEATURES or f.n_features >= f.n_vectors or gamma == 0:
        return None
    V, parts = arrays.dense(f.vectors).astype(np.float64), []
    for k in range(f.n_outputs):
        values, vectors = np.linalg.eigh((V * f.coef[:, [k]]).T @ V)
        kept = np.abs(values) > np.finfo(float).eps * len(values) * np.abs(values).max()
        coef = np.zeros((int(kept.sum()), f.n_outputs))
        coef[:, k] = values[kept]
        parts.append((vectors.T[kept], coef))
    return parts


def closest_copy(problem: Problem, m: int) -> KernelExpansion | None:
    """Return the ``m`` vectors whose values are closest to a linear source's at the rows; None for another kernel.

    None, too, in LibSVM's layout of several classes.
    """
    f = problem.source.expansion
    owned = problem.layout == "libsvm" and f.n_outputs > 1
    if not isinstance(f.kernel, Linear) or owned or f.n_outputs * f.n_features > _MOST_NUMBERS:
        return None
    X = f.vectors if problem.rows is None else problem.rows
    most = max(1_000, _MOST_NUMBERS // f.n_outputs)
    if X.shape[0] > most:
        X = arrays.take(X, np.random.default_rng(problem.seed).permutation(X.shape[0])[:most])
    W, mean = _weights(f), arrays.column_means(X)
    F = arrays.to_numpy(arrays.dot(X, W)) - W @ mean
    with one_blas_thread():
        _, P = np.linalg.eigh(F.T @ F)
    P = P[:, ::-1][:, :m]
    vectors = P.T @ W
    intercept = f.intercept + W @ mean - P @ (vectors @ mean)
    return KernelExpansion(f.kernel, vectors, np.ascontiguousarray(P.T), intercept)


def _weights(f: KernelExpansion) -> Floats:
    """Return the machines of a linear kernel as rows, (M, d)."""
    A = f.coef.astype(np.float64)
    return np.asarray(arrays.transposed_dot(A, f.vectors))


def _rank(s: Floats, shape: tuple[int, ...]) -> int:
    """Return how many singular values differ from zero by more than rounding, at least one."""
    return max(1, int(np.sum(s > np.finfo(float).eps * max(shape) * s.max(initial=0.0))))


def _is_ahead(problem: Problem, usual: Outcome, copy: KernelExpansion) -> bool:
    """Return whether the usual way answers the rows better than the closest copy does, by more than noise."""
    X = problem.source.expansion.vectors if problem.rows is None else problem.rows
    some = np.random.default_rng(problem.seed).permutation(X.shape[0])[:_MOST_ROWS]
    holdout = Holdout(replace(problem, rows=X), some)
    return holdout.score(usual.expansion, usual.decoder).gain_over(holdout.score(copy)) > _BAR
