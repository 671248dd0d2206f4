"""Kernels: the value of every pair (``gram``) and the way back from it to the vectors (``pullback``).

A kernel is a frozen dataclass whose fields are its parameters. With rows ``X`` (n, d) and vectors ``V`` (m, d),

    gram(X, V)              ->  K,     (n, m)   K_ij = k(x_i, v_j)
    pullback(X, V, K, G)    ->  dL/dV, (m, d)   given K = gram(X, V) and G = dL/dK, (n, m)
    pullback_gamma(...)     ->  dL/dγ, a number, for kernels that have a ``gamma``

That is all that compression needs of a kernel. Both are matrix products wherever the mathematics allows, in
whichever array library the arguments belong to; rows may be CSR. To add a kernel, write these methods and list
the class in :data:`KERNELS`: the conformance tests then run on it.

The paper's RBF kernel has the width σ; here ``gamma = 1 / 2σ²`` as in LibSVM and scikit-learn.
"""

from __future__ import annotations

from svmpress.errors import InputError, shown
from svmpress.kernels.base import Kernel
from svmpress.kernels.exponentials import RBF, ChiSquared, Laplacian
from svmpress.kernels.projections import Linear, Polynomial, Sigmoid

KERNELS: dict[str, type[Kernel]] = {k.name: k for k in (RBF, Polynomial, Sigmoid, Linear, Laplacian, ChiSquared)}
"""Every kernel by its name on the command line and in files."""


def kernel_by_name(name: str, **params: float) -> Kernel:
    """Return a kernel from its name; parameters that it does not have are ignored.

    Examples
    --------
    >>> kernel_by_name("rbf", gamma=0.5, degree=3)
    RBF(gamma=0.5)
    """
    if name not in KERNELS:
        raise InputError(f"unknown kernel {shown(str(name), 40)!r}; svmpress knows {', '.join(sorted(KERNELS))}")
    kind = KERNELS[name]
    known = {k: v for k, v in params.items() if k in kind.__dataclass_fields__}
    return kind(**known)
