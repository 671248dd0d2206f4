"""The reduced-set method of Burges and Schölkopf (1997): the nearest shorter expansion in the kernel's own space.

A machine ``f = Σ_i a_i k(x_i, ·) + b`` is a vector ``Ψ = Σ_i a_i φ(x_i)`` of the space that the kernel stands for. The
reduced set are vectors ``V`` (m, d), not among the x_i, and coefficients ``B`` (m, M) that minimise the distance

    D(V, B) = Σ_p || Σ_i A_ip φ(x_i) - Σ_j B_jp φ(v_j) ||²
            = tr(Aᵀ K_XX A) - 2 tr(Bᵀ K_VX A) + tr(Bᵀ K_VV B)

with all M machines of a model sharing the vectors; the intercepts stay. It looks at no data, at no labels, and not at
where in the input space values matter: that is the difference to equation 10 of the paper, which matches values on
rows. For fixed V the best coefficients solve ``K_VV B = K_VX A``, and are put in (*variable projection*).

**One at a time.** For the RBF kernel, with ``Ψ - Ψ_k = Σ_i Γ_i φ(u_i)`` what k vectors have left (over the x_i and the
v_j so far), one more vector z with a coefficient of its own lowers D by ``||g(z)||²``, ``g(z) = Σ_i Γ_i k(u_i, z)``
(M,). A stationary z is a weighted mean of the u_i, which is a fixed point to iterate (Schölkopf et al., 1998):

    z  <-  Σ_i w_i u_i / Σ_i w_i,        w_i = k(u_i, z) Γ_i·g(z),        Σ_i w_i = ||g(z)||² > 0

Several starts run side by side and the best joins; the coefficients of all are solved for again, by a Cholesky factor
that grows by a row. Spans are nested, so the distance never grows. Other kernels start from random support vectors.

**All together.** L-BFGS on V, through ``kernel.gram`` and ``kernel.pullback``, never worse than its start.

One path of starts serves all sizes. Its memory is a few arrays of the size of the support vectors; its time for each
vector is a dozen passes over them, and a descent is bounded by a number of operations.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from svmpress.errors import InputError
from svmpress.kernels import RBF, Kernel
from svmpress.methods.base import Outcome, Problem
from svmpress.model import KernelExpansion
from svmpress.numerics import Array, Backend, Floats, Rows, arrays, solve_positive
from svmpress.objectives import Projection, Refined, variable_projection

_RIDGE = 1e-10
"""Added to K_VV, relative to its diagonal: conditions the solve where vectors come together."""
_DEPENDENT = 1e-8
"""A new vector whose squared distance from the span of the others is below this adds nothing but rounding."""
_STARTS = 4
"""Fixed-point iterations side by side: a pass over the support vectors is bound by memory, so four cost little more."""
_SETTLED = 1e-4
"""Relative gain of an iteration below which the fixed point is reached."""


class RkhsDistance:
    """``D(V) = min_B D(V, B)``, relative to the squared norm of the source, with its gradient.

    Parameters
    ----------
    source : KernelExpansion
    backend : Backend, optional
        Where to compute.
    max_bytes : int, optional
        Memory for what is kept of the kernel matrix between the two passes.
    """

    def __init__(self, source: KernelExpansion, backend: Backend | None = None, max_bytes: int | None = None) -> None:
        backend = backend or Backend.of("cpu")
        self.kernel: Kernel = source.kernel
        # copies, as torch takes no arrays that are read-only
        self.max_bytes = max_bytes or arrays.DEFAULT_MAX_BYTES
        self.rows: Rows = backend.rows(source.vectors.copy(), self.max_bytes)
        self.targets: Array = backend.asarray(source.coef.copy())
        self.intercept: Array = backend.asarray(source.intercept.copy())
        values = replace(source, intercept=np.zeros(source.n_outputs)).decision_values(source.vectors, self.max_bytes)
        self.norm = max(float(np.sum(source.coef * np.asarray(values))), 1e-300)
        """``tr(Aᵀ K_XX A)``, the squared norm of the source."""
        first = arrays.take(self.rows, slice(0, min(64, source.n_vectors)))
        self._ridge = _RIDGE * float(np.mean(np.diagonal(arrays.to_numpy(self.kernel.gram(first, first)))))

    def value_and_grad(self, V: Array, kernel: Kernel | None = None, *, width: bool = False) -> Projection:
        """Return D, its gradient with respect to V, and the coefficients that attain it.

        Another kernel than the source's has another space, and no distance to this one, so ``width`` must be False.
        """
        if width or (kernel is not None and kernel != self.kernel):
            raise InputError("the distance in the kernel's space is defined for the source's kernel only")
        xp, kernel = arrays.namespace(V), self.kernel
        kept: dict[int, Array] = {}
        P = xp.zeros((V.shape[0], self.targets.shape[1]), dtype=xp.float64, device=arrays.device_of(V))
        for block, _, K in self._blocks(V, kept):
            P = P + xp.matmul(K.T, self.targets[block, :])
        K_VV = kernel.gram(V, V)
        eye = xp.eye(V.shape[0], dtype=xp.float64, device=arrays.device_of(V))
        B = solve_positive(K_VV + self._ridge * eye, P)
        # B minimises D with the ridge, so the derivative of that may take it as a constant
        value = self.norm - 2 * float(xp.sum(B * P)) + float(xp.sum(B * xp.matmul(K_VV, B)))
        value += self._ridge * float(xp.sum(B * B))
        dV = 2 * kernel.pullback(V, V, K_VV, xp.matmul(B, B.T))  # V stands on both sides of K_VV
        for block, X, K in self._blocks(V, kept):
            dV = dV + kernel.pullback(X, V, K, -2 * xp.matmul(self.targets[block, :], B.T))
        return Projection(max(value, 0.0) / self.norm, dV / self.norm, None, B, self.intercept)

    def _blocks(self, V: Array, kept: dict[int, Array]) -> Iterator[tuple[slice, Rows, Array]]:
        """Yield blocks of the source's vectors with their kernel values, kept from the first pass if they fit."""
        n, m = self.rows.shape[0], V.shape[0]
        for block in arrays.blocks(n, 8 * 6 * m + arrays.extra_bytes(self.rows, V), self.max_bytes // 4):
            X = arrays.take(self.rows, block)
            K = kept.pop(block.start, None)
            if K is None:
                K = self.kernel.gram(X, V)
                if 8 * m * n <= self.max_bytes:
                    kept[block.start] = K
            yield block, X, K


@dataclass(frozen=True, eq=False)
class Starts:
    """Vectors taken one at a time.

    Parameters
    ----------
    vectors : (m, d)
    distance : (m,)
        D after each, relative to the squared norm of the source.
    seconds : (m,)
        Since the beginning.
    """

    vectors: Floats
    distance: Floats
    seconds: Floats


@dataclass(frozen=True)
class ReducedSet:
    """The reduced-set method; see the module's docstring.

    Parameters
    ----------
    max_iter : int
        Iterations of the descent on all vectors; 0 keeps those that were found one at a time.
    fixed_point : int
        Iterations for each vector that is added. More bring it nearer, and the descent after them hardly at all.
    work : float
        Floating-point operations of a descent at most; ten iterations are always taken.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from svmpress.compression import compress
    >>> X, y = load_iris(return_X_y=True)
    >>> compress(SVC().fit(X, y), vectors=5, method=ReducedSet()).model.n_vectors
    5
    """

    max_iter: int = 100
    fixed_point: int = 4
    work: float = 4e12

    def run(self, problem: Problem, m: int, smaller: Outcome | None = None) -> Outcome:
        """Return an expansion of ``m`` vectors; a smaller one is no help."""
        if problem.layout != "shared":
            raise InputError("the reduced-set method shares its vectors among machines: choose layout='shared'")
        start = self.start(problem, m)
        found = self.descend(problem, start.vectors)
        source = problem.source.expansion
        k = start.vectors.shape[0]
        return Outcome(
            KernelExpansion(source.kernel, found.vectors, found.coef, source.intercept),
            status="" if k == m else "more vectors would depend linearly on those that there are",
            trace={"reduced set": found.trace},
            notes=(f"distance in the kernel's space {found.value:.3g} of the source's squared norm",),
        )

    def start(self, problem: Problem, m: int) -> Starts:
        """Return ``m`` vectors, taken one at a time; the first k of them are the start of a model with k."""
        source, seed = problem.source.expansion, problem.seed
        if isinstance(source.kernel, RBF):
            return _FixedPoint(source, source.kernel.gamma, m).run(seed, self.fixed_point, problem.stage("fixed point"))
        some = np.random.default_rng(seed).permutation(source.n_vectors)[:m]
        V = np.asarray(arrays.dense(arrays.take(source.vectors, some)), dtype=np.float64)
        return Starts(V, np.full(len(some), np.nan), np.zeros(len(some)))

    def descend(self, problem: Problem, vectors: Floats, distance: RkhsDistance | None = None) -> Refined:
        """Move all vectors together; ``distance`` is that of the source, where there is one already."""
        source = problem.source.expansion
        distance = distance or RkhsDistance(source, problem.backend, problem.max_bytes)
        m, d = vectors.shape
        of_one = 2.0 * source.n_vectors * m * (2 * d + 2 * source.n_outputs) + m**3 / 3
        steps = min(self.max_iter, max(10, int(self.work / of_one)))
        return variable_projection(distance, vectors, max_iter=steps, progress=problem.stage("reduced set"))


class _FixedPoint:
    """Vectors for an RBF expansion, one at a time, on the host.

    ``L`` is the Cholesky factor of K_VV, ``H = L⁻¹ K_VX A`` (k, M): ``B = L⁻ᵀ H``, and ``D = norm - ||H||²``. A new
    vector is a new row of each.
    """

    def __init__(self, source: KernelExpansion, gamma: float, m: int) -> None:
        self.gamma, self.m = gamma, m
        X = source.vectors
        self.centre = np.zeros(X.shape[1]) if arrays.is_csr(X) else np.asarray(arrays.column_means(X), dtype=np.float64)
        self.X: Rows = X.astype(np.float64) if arrays.is_csr(X) else np.asarray(X, dtype=np.float64) - self.centre
        self.squares = np.asarray(arrays.square_norms(self.X))
        self.A = np.asarray(source.coef, dtype=np.float64)
        alone = replace(source, intercept=np.zeros(source.n_outputs))
        self.norm = max(float(np.sum(self.A * np.asarray(alone.decision_values(X)))), 1e-300)
        M = source.n_outputs
        self.V, self.k = np.zeros((m, X.shape[1])), 0
        self.B: Floats = np.zeros((0, M))
        self.L, self.H = np.zeros((m, m)), np.zeros((m, M))

    def run(self, seed: int, max_iter: int, progress: Callable[[int, int], None]) -> Starts:
        rng, begun = np.random.default_rng(seed), time.perf_counter()
        left, distance, seconds = self.norm, [], []
        while self.k < self.m:
            gained = self._add(rng, max_iter)
            if gained is None:
                break
            left -= gained
            distance.append(max(left, 0.0) / self.norm)
            seconds.append(time.perf_counter() - begun)
            progress(self.k, self.m)
        return Starts(self.V[: self.k] + self.centre, np.array(distance), np.array(seconds))

    def _gram(self, Z: Floats) -> tuple[Floats, Floats]:
        """Return kernel values of points (c, d) with the support vectors, (n, c), and with V, (k, c)."""
        V = self.V[: self.k]
        own = np.sum(Z * Z, axis=1)
        K_X = np.asarray(arrays.dot(self.X, Z)) * 2 - self.squares[:, None] - own
        K_V = V @ Z.T * 2 - np.sum(V * V, axis=1)[:, None] - own
        return np.exp(self.gamma * np.minimum(K_X, 0)), np.exp(self.gamma * np.minimum(K_V, 0))

    def _add(self, rng: np.random.Generator, max_iter: int) -> float | None:
        """Add a vector; return by how much it lowers D, or None where every one depends on those there are."""
        for _ in range(3):
            Z, gains = self._search(rng, max_iter)
            for j in np.argsort(-gains, kind="stable"):
                gained = self._join(Z[j])
                if gained is not None:
                    return gained
        return None

    def _search(self, rng: np.random.Generator, max_iter: int) -> tuple[Floats, Floats]:
        """Return the best points of the iterations from random support vectors, (c, d), and ``||g||²`` there, (c,)."""
        n = self.X.shape[0]
        Z = np.asarray(arrays.dense(arrays.take(self.X, rng.choice(n, min(n, _STARTS), replace=False))))
        best, gains = Z.copy(), np.full(len(Z), -np.inf)
        for _ in range(max_iter + 1):
            K_X, K_V = self._gram(Z)
            g = K_X.T @ self.A - K_V.T @ self.B  # (c, M)
            gain = np.sum(g * g, axis=1)
            better = gain > gains
            settled = not np.any(gain > gains * (1 + _SETTLED))
            best[better], gains[better] = Z[better], gain[better]
            if settled:
                break
            weights_X, weights_V = K_X * (self.A @ g.T), K_V * -(self.B @ g.T)
            total = np.maximum(gain, np.finfo(np.float64).tiny)[:, None]
            Z = (arrays.transposed_dot(weights_X, self.X) + weights_V.T @ self.V[: self.k]) / total
        return best, gains

    def _join(self, z: Floats) -> float | None:
        K_X, K_V = self._gram(z[None, :])
        k = self.k
        row = solve_triangular(self.L[:k, :k], K_V[:, 0], lower=True, check_finite=False) if k else np.empty(0)
        apart = 1.0 + _RIDGE - float(row @ row)
        if apart < _DEPENDENT:
            return None
        root = np.sqrt(apart)
        self.L[k, :k], self.L[k, k] = row, root
        self.H[k] = (K_X[:, 0] @ self.A - row @ self.H[:k]) / root
        new = self.H[k] / root
        # what the new vector has of the others, K_VV⁻¹ k(V, z), they need no longer: B without a solve for M columns
        others = solve_triangular(self.L[:k, :k], row, lower=True, trans="T", check_finite=False) if k else row
        self.B = np.concatenate([self.B - np.outer(others, new), new[None, :]])
        self.V[k], self.k = z, k + 1
        return float(self.H[k] @ self.H[k])
