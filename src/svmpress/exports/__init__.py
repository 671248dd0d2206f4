"""Models out of Python: code for other machines, proven against the library by running it.

A target is a name in :data:`TARGETS` with a function that says what it cannot hold of a model, asked before anything is
written. Every export starts from a :class:`~svmpress.KernelModel`, and takes its scaling and its decoder along.
"""

from __future__ import annotations

from collections.abc import Callable

from svmpress.errors import InputError
from svmpress.exports.c import CExport, c_obstacles, export_c
from svmpress.exports.devices import DEVICES, Measured, measure, missing
from svmpress.exports.quantized import QuantizedModel, pooled, quantize, table_bytes, vector_bytes
from svmpress.model import KernelModel

__all__ = [
    "DEVICES",
    "TARGETS",
    "CExport",
    "Measured",
    "QuantizedModel",
    "export_c",
    "measure",
    "missing",
    "obstacles",
    "pooled",
    "quantize",
    "table_bytes",
    "vector_bytes",
]

TARGETS: dict[str, Callable[[KernelModel], list[str]]] = {"c": c_obstacles}
"""What each target cannot hold of a model."""


def obstacles(model: KernelModel, target: str) -> list[str]:
    """Return what a target cannot hold of a model, as sentences; an empty list if it can hold all.

    Examples
    --------
    >>> import numpy as np
    >>> from svmpress.decoders import Identity
    >>> from svmpress.kernels import Laplacian
    >>> from svmpress.model import KernelExpansion
    >>> f = KernelExpansion(Laplacian(1.0), np.zeros((1, 2)), np.ones((1, 1)), np.zeros(1))
    >>> obstacles(KernelModel(f, Identity(), "regression"), "c")
    ['whole numbers hold the kernels rbf, linear and poly, not laplacian: use weights="float"']
    """
    if target not in TARGETS:
        raise InputError(f"unknown target {target!r}; svmpress has {', '.join(TARGETS)}")
    return TARGETS[target](model)
