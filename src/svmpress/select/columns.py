"""Gram matrices of least-squares problems over kernel columns, one column at a time.

Selection regresses targets on the columns of a kernel matrix ``K = k(R, S)``, rows ``R`` (n, d) against candidates
``S`` (p, d), with the penalty ``ridge · aᵀ k(S, S) a``. All that LARS asks of the problem is

    Gram matrix     KᵀK + ridge · k(S, S)   (p, p), by columns, and its diagonal
    correlations    Kᵀ T                    (p, M), once

so neither it nor K is ever formed whole: K is kept as far as the memory cap allows and computed again, block by block,
where it is not. A pass over K costs far more than the products with it, so columns are fetched several at a time.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from svmpress.errors import InputError
from svmpress.kernels import Kernel
from svmpress.numerics import Array, Backend, Floats, Rows, arrays


class GramColumns:
    """Columns of ``KᵀK + ridge · k(S, S)``, computed when asked for.

    Parameters
    ----------
    kernel : Kernel
    rows : (n, d)
    candidates : (p, d)
    ridge : float
        Weight of the penalty ``aᵀ k(S, S) a``: 1 in equation 9 of the paper, 0 for plain least squares.
    max_bytes : int
        Memory for what is kept of K.
    backend : Backend, optional
        Where to compute; results are NumPy.
    """

    def __init__(
        self,
        kernel: Kernel,
        rows: Rows,
        candidates: Rows,
        *,
        ridge: float = 0.0,
        max_bytes: int = 2**30,
        backend: Backend | None = None,
    ) -> None:
        backend = backend or Backend.of("cpu")
        self.kernel, self.ridge = kernel, ridge
        self._rows, self._candidates = (backend.rows(some, max_bytes // 4) for some in (rows, candidates))
        n, p = rows.shape[0], candidates.shape[0]
        self._blocks = list(arrays.blocks(n, 8 * 4 * p, max_bytes // 8))
        self._kept: list[Array] = []
        used = 0
        for block in self._blocks:  # keep the first blocks of K, as many as fit
            used += 8 * p * (block.stop - block.start)
            if used > max_bytes - max_bytes // 4:
                break
            self._kept.append(self.kernel.gram(arrays.take(self._rows, block), self._candidates))
        self._squares: Floats | None = None
        self.is_cached = len(self._kept) == len(self._blocks)
        """Whether all of K is in memory, so that a column costs a product and nothing else."""

    @property
    def n_candidates(self) -> int:
        """The number of candidates, p."""
        return int(self._candidates.shape[0])

    def _kernel_blocks(self) -> Iterator[tuple[slice, Array]]:
        for i, block in enumerate(self._blocks):
            if i < len(self._kept):
                yield block, self._kept[i]
            else:
                yield block, self.kernel.gram(arrays.take(self._rows, block), self._candidates)

    def correlations(self, targets: Floats) -> Floats:
        """Return ``KᵀT``, (p, M), for targets (n, M)."""
        total, squares = np.zeros((self.n_candidates, targets.shape[1])), np.zeros(self.n_candidates)
        for block, K in self._kernel_blocks():
            xp = arrays.namespace(K)
            T = xp.asarray(np.ascontiguousarray(targets[block]), device=arrays.device_of(K))
            total += arrays.to_numpy(xp.matmul(K.T, T))
            squares += arrays.to_numpy(xp.sum(K * K, axis=0))  # asked for next: it saves `diagonal` a pass
        self._squares = squares
        return total

    def diagonal(self) -> Floats:
        """Return the diagonal of the Gram matrix, (p,)."""
        if self._squares is None:
            self.correlations(np.zeros((self._rows.shape[0], 1)))
        assert self._squares is not None
        if not self.ridge:
            return self._squares
        own = []
        for some in arrays.blocks(self.n_candidates, 1, 64):  # a kernel gives its diagonal only as part of a matrix
            S = arrays.take(self._candidates, some)
            own.append(np.diagonal(arrays.to_numpy(self.kernel.gram(S, S))))
        return self._squares + self.ridge * np.concatenate(own)

    def kernel_times(self, coef: Floats) -> Floats:
        """Return ``K a``, (n, M), for coefficients (p, M)."""
        parts = []
        for _, K in self._kernel_blocks():
            xp = arrays.namespace(K)
            parts.append(arrays.to_numpy(xp.matmul(K, xp.asarray(coef, device=arrays.device_of(K)))))
        return np.concatenate(parts)

    def columns(self, which: NDArray[np.intp]) -> Floats:
        """Return the columns ``which`` of the Gram matrix, (p, len(which))."""
        chosen = arrays.take(self._candidates, which)
        total = np.zeros((self.n_candidates, len(which)))
        for block, K in self._kernel_blocks():
            k = self.kernel.gram(arrays.take(self._rows, block), chosen)
            total += arrays.to_numpy(arrays.namespace(K).matmul(K.T, k))
        if self.ridge:
            total += self.ridge * arrays.to_numpy(self.kernel.gram(self._candidates, chosen))
        return total


class DenseColumns:
    """The same interface over a Gram matrix that exists already, (p, p)."""

    def __init__(self, gram: Floats) -> None:
        self._gram = np.asarray(gram, dtype=np.float64)
        self.is_cached = True

    @property
    def n_candidates(self) -> int:
        """The number of candidates, p."""
        return int(self._gram.shape[0])

    def columns(self, which: NDArray[np.intp]) -> Floats:
        """Return the columns ``which`` of the Gram matrix, (p, len(which))."""
        return self._gram[:, which]

    def diagonal(self) -> Floats:
        """Return the diagonal of the Gram matrix, (p,)."""
        return np.diagonal(self._gram)


class DesignColumns:
    """The Gram matrix of regressors that are there as a matrix, for which the primal form may be the smaller.

    Parameters
    ----------
    omega : (n, p)
    targets : (n,) or (n, M)
    backend : Backend, optional
        Where to compute.
    """

    def __init__(self, omega: Array, targets: Array, backend: Backend | None = None) -> None:
        here = backend or Backend.of("cpu")
        targets = np.asarray(arrays.to_numpy(targets), dtype=np.float64)
        self.omega = here.asarray(omega)
        self.targets = here.asarray(targets[:, None] if targets.ndim == 1 else targets)
        self.is_cached = True
        if self.targets.shape[0] != self.omega.shape[0]:
            raise InputError(f"{self.omega.shape[0]} rows of regressors for {self.targets.shape[0]} targets")

    @property
    def n_candidates(self) -> int:
        """The number of candidates, p."""
        return int(self.omega.shape[1])

    @property
    def correlations(self) -> Floats:
        """``ΩᵀT``, (p, M)."""
        return np.asarray(arrays.to_numpy(self.omega.T @ self.targets))

    @property
    def total(self) -> float:
        """``||T||²``."""
        return float(np.sum(arrays.to_numpy(self.targets) ** 2))

    def columns(self, which: NDArray[np.intp]) -> Floats:
        """Return the columns ``which`` of the Gram matrix, (p, len(which))."""
        return np.asarray(arrays.to_numpy(self.omega.T @ columns_of(self.omega, which)))

    def diagonal(self) -> Floats:
        """Return the diagonal of the Gram matrix, (p,)."""
        return np.asarray(np.sum(arrays.to_numpy(self.omega) ** 2, axis=0))


def columns_of(A: Array, which: NDArray[np.intp]) -> Array:
    """Return the columns ``which`` of a dense array of any library."""
    xp = arrays.namespace(A)
    return xp.take(A, xp.asarray(which, device=arrays.device_of(A)), axis=1)
