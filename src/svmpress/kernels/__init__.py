"""Kernels: the value of every pair (``gram``) and the way back from it to the vectors (``pullback``)."""

from svmpress.kernels.base import Kernel
from svmpress.kernels.exponentials import RBF, ChiSquared, Laplacian
from svmpress.kernels.projections import Linear, Polynomial, Sigmoid
from svmpress.kernels.registry import KERNELS, kernel_by_name

__all__ = [
    "KERNELS",
    "RBF",
    "ChiSquared",
    "Kernel",
    "Laplacian",
    "Linear",
    "Polynomial",
    "Sigmoid",
    "kernel_by_name",
]
