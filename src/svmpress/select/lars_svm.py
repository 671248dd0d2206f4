"""LARS-SVM: which support vectors of one machine to keep (equations 5 to 9 of the paper).

On the support vectors S of a machine with labels y and a fixed intercept b, the squared-hinge objective without its
maximum (every support vector has an active residual there) is

    ||1 - K̂ a - y b||² + aᵀ K a,        K = k(S, S),   K̂ = diag(y) K                               (6, 7)

which is the least-squares problem ``||Ω a + β||²`` with

    ΩᵀΩ = K̂ᵀK̂ + K = K K + K,           -Ωᵀβ = K̂ᵀ(1 - y b) = K (y - b)                            (8, 9)

because y² = 1: a ridge regression of the *labels* on kernel columns. LARS needs only those two, so the paper's
eigen-decomposition ``ΩᵀΩ = S D Sᵀ``, ``Ω = √D Sᵀ``, is never formed; the tests do, as an oracle.

The derivation is exact for squared-hinge machines. The support vectors of a plain-hinge SVM on noisy data are mostly
margin violators, whose labels point the wrong way; there, regress the machine's own *decision values*, ``K (f - b)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from svmpress.errors import InputError
from svmpress.kernels import Kernel
from svmpress.numerics import Backend, Floats, Rows
from svmpress.select.columns import GramColumns
from svmpress.select.lars import lars_path
from svmpress.select.path import LarsPath

Target = Literal["labels", "decision"]


def lars_svm(
    kernel: Kernel,
    vectors: Rows,
    coef: Floats,
    intercept: float,
    m: int,
    *,
    target: Target = "labels",
    max_bytes: int = 2**30,
    backend: Backend | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> LarsPath:
    """Select ``m`` support vectors of one machine.

    Parameters
    ----------
    kernel : Kernel
    vectors : (n_sv, d)
        The support vectors of the machine.
    coef : (n_sv,)
        Their coefficients; the sign is the label.
    intercept : float
    m : int
    target : "labels" or "decision"
        Regress the labels, as in the paper, or the machine's decision values.
    max_bytes : int
        Memory for what is kept of the kernel matrix.

    Returns
    -------
    LarsPath
        ``.at(k)`` has the LARS-SVM coefficients, ``.refit(k)`` the least-squares ones.
    """
    if np.any(coef == 0):
        raise InputError("a support vector has the coefficient zero; leave it out before selecting")
    gram = GramColumns(
        kernel, vectors, vectors, ridge=1.0 if target == "labels" else 0.0, max_bytes=max_bytes, backend=backend
    )
    wanted = (np.sign(coef) - intercept)[:, None] if target == "labels" else gram.kernel_times(coef[:, None])
    return lars_path(gram, gram.correlations(wanted), m, total=float(np.sum(wanted**2)), progress=progress)
