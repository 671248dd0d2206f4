"""Models as programs: what leaves Python, proven against the library by running it.

    export_web(model, folder)       a module of JavaScript for browsers and node
    export_c(model, folder)         C code for microcontrollers, in whole numbers or single precision
    export_page(model, file)        a page to try it in
    to_torch(model)                 a layer of torch, to differentiate, to tune and to export from there

An export is no file format: nothing is read back. Each target is a package of its own below this one, with a function
that says what it cannot hold of a model, asked before anything is written; list it in :data:`TARGETS`. Every export
starts from a :class:`~svmpress.KernelModel`, and takes its scaling and its decoder along.
"""

from __future__ import annotations

from collections.abc import Callable

from svmpress.errors import InputError
from svmpress.exports import web
from svmpress.exports.c import CExport, c_obstacles, export_c
from svmpress.exports.devices import DEVICES, Measured, measure, missing
from svmpress.exports.layer import to_torch
from svmpress.exports.quantized import QuantizedModel, pooled, quantize, table_bytes, vector_bytes
from svmpress.exports.web import export_page, export_web, web_module, web_script
from svmpress.model import KernelModel

__all__ = [
    "DEVICES",
    "TARGETS",
    "CExport",
    "Measured",
    "QuantizedModel",
    "export_c",
    "export_page",
    "export_web",
    "measure",
    "missing",
    "obstacles",
    "pooled",
    "quantize",
    "table_bytes",
    "to_torch",
    "vector_bytes",
    "web_module",
    "web_script",
]

TARGETS: dict[str, Callable[[KernelModel], list[str]]] = {"web": web.obstacles, "c": c_obstacles}
"""Every target by name, and what says why it cannot hold a model."""


def obstacles(model: KernelModel, target: str) -> list[str]:
    """Return why a target cannot hold a model, a sentence each; empty when it can.

    Examples
    --------
    >>> import numpy as np
    >>> from svmpress.decoders import Identity, Sign
    >>> from svmpress.kernels import RBF, Laplacian
    >>> from svmpress.model import KernelExpansion
    >>> f = KernelExpansion(RBF(1.0), np.zeros((1, 2)), np.ones((1, 1)), np.zeros(1))
    >>> obstacles(KernelModel(f, Sign(np.array([1, "b"], dtype=object))), "web")
    ['its class labels are of mixed types, number and string: make them all text or all numbers']
    >>> f = KernelExpansion(Laplacian(1.0), np.zeros((1, 2)), np.ones((1, 1)), np.zeros(1))
    >>> obstacles(KernelModel(f, Identity(), "regression"), "c")
    ['whole numbers hold the kernels rbf, linear and poly, not laplacian: use weights="float"']
    """
    if target not in TARGETS:
        raise InputError(f"unknown target {target!r}; svmpress exports to {', '.join(TARGETS)}")
    return TARGETS[target](model)
