"""Where variable projection starts: rows that LARS or the elastic net picks for all outputs, or k-means centres.

All work on a sample, because a start need not be exact: refinement moves the vectors anyway.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from svmpress.kernels import Kernel
from svmpress.numerics import Backend, Floats, Rows, arrays
from svmpress.select.columns import GramColumns
from svmpress.select.elastic_net import ElasticNet
from svmpress.select.lars import lars_path
from svmpress.select.path import SelectionPath

_SAMPLE = 4000
_CANDIDATES = 2000
_OUTPUTS = 16


def kmeans_centres(rows: Rows, m: int, seed: int) -> Floats:
    """Return the centres of m clusters, (m, d); the rows themselves where there are no more than m.

    Examples
    --------
    >>> kmeans_centres(np.arange(200.0).reshape(100, 2), 3, seed=0).shape
    (3, 2)
    """
    from sklearn.cluster import MiniBatchKMeans  # takes a second to load

    rng = np.random.default_rng(seed)
    rows = _sample(rows, max(_SAMPLE, 10 * m), rng)
    if rows.shape[0] <= m:
        return np.asarray(arrays.dense(rows), dtype=np.float64)
    batch = min(rows.shape[0], max(1024, 4 * m))
    means = MiniBatchKMeans(m, n_init=1, max_iter=10, batch_size=batch, init="random", random_state=seed).fit(rows)
    centres = np.asarray(means.cluster_centers_, dtype=np.float64)
    return centres[np.lexsort(centres.T[::-1])]


def lars_rows(
    kernel: Kernel,
    rows: Rows,
    targets: Floats,
    m: int,
    *,
    seed: int,
    backend: Backend | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Floats, SelectionPath]:
    """Return m rows that multi-output LARS picks to reproduce the targets, (m, d), and the path.

    Parameters
    ----------
    kernel : Kernel
    rows : (n, d)
    targets : (n, M)
        Reduced to their leading principal components: LARS sees the directions in which the machines differ most.
    m : int
        May be cut to the number of candidates that are independent.
    """
    pool, gram, T = _regression(kernel, rows, targets, m, seed, backend)
    path = lars_path(gram, gram.correlations(T), m, total=float(np.sum(T * T)), progress=progress)
    return np.asarray(arrays.dense(arrays.take(pool, path.order)), dtype=np.float64), path


def elastic_net_rows(
    kernel: Kernel,
    rows: Rows,
    targets: Floats,
    m: int,
    *,
    seed: int,
    backend: Backend | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Floats, SelectionPath]:
    """Return m rows that the elastic net picks to reproduce the targets, (m, d), and the path.

    Parameters are those of :func:`lars_rows`. The L2 term is the one that LARS has, on the norm of the function; beyond
    it this is the Lasso.
    """
    pool, gram, T = _regression(kernel, rows, targets, m, seed, backend)
    net = ElasticNet(backend=backend)
    path = net.path(gram, gram.correlations(T), m, total=float(np.sum(T * T)), progress=progress)
    return np.asarray(arrays.dense(arrays.take(pool, path.order)), dtype=np.float64), path


def _regression(
    kernel: Kernel, rows: Rows, targets: Floats, m: int, seed: int, backend: Backend | None
) -> tuple[Rows, GramColumns, Floats]:
    """Return candidates (p, d), the Gram matrix of their kernel columns on a sample of rows, and its targets (n, M)."""
    rng = np.random.default_rng(seed)
    n = rows.shape[0]
    some = rng.permutation(n)[:_SAMPLE]
    candidates = np.sort(some[: max(_CANDIDATES, 2 * m)])
    some = np.sort(some)
    T = targets[some] - targets[some].mean(axis=0)
    if T.shape[1] > _OUTPUTS:
        _, _, directions = np.linalg.svd(T, full_matrices=False)
        T = T @ directions[:_OUTPUTS].T
    pool = arrays.take(rows, candidates)
    return pool, GramColumns(kernel, arrays.take(rows, some), pool, ridge=1e-6, backend=backend), T


def _sample(rows: Rows, most: int, rng: np.random.Generator) -> Rows:
    n = rows.shape[0]
    some: NDArray[np.intp] = np.sort(rng.permutation(n)[:most])
    return rows if n <= most else arrays.take(rows, some)
