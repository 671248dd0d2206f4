"""The function ``f(x) = k(x, V) A + b`` as plain ONNX operators, with the scaling of the input.

V: (m, d) vectors   A: (m, M) coefficients   b: (M,) intercepts   x -> (x - shift) * factor: the scaling

Three kinds of kernels need three layouts:

- RBF: rows and vectors are moved by the mean of the vectors and multiplied by √γ, so that
  ``log k = 2 x·v - ||v||² - ||x||²`` is one ``Gemm`` and one sum. Distances stay the same, while rounding falls with
  the square of the distance from the origin. What rounding leaves above 0 is clipped.
- Laplacian and chi-squared are no matrix product: an (n, m, d) array of differences is made and summed.
- Polynomial, sigmoid and linear need inner products alone, and take the factor of the scaling into the vectors; a
  linear model is one matrix of weights.

A number that the graph subtracts from the rows is rounded to its precision *before* the vectors are moved by it, so
that rounding it costs nothing. Vectors of an SVM are sorted by class, and a sum in that order is large until the last
class brings it down again; here classes are mixed evenly, and a sum of thousands in float32 loses up to fifty times
less.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.formats.onnx_graph import ROWS, Graph
from svmpress.kernels import RBF, ChiSquared, Kernel, Laplacian, Linear, Polynomial, Sigmoid
from svmpress.model import KernelModel
from svmpress.numerics import is_csr

Doubles = NDArray[np.float64]

DECISION_VALUES = "decision_values"
"""The name of f(x), (n, M)."""

_GOLDEN = (5**0.5 - 1) / 2


def kernel_obstacles(model: KernelModel) -> list[str]:
    """Return why the kernel of a model has no place in a graph; empty when it has."""
    if type(model.kernel) in (Linear, *_KERNELS):
        return []
    return [f"the kernel {model.kernel.name} has no graph of ONNX operators"]


def add_decision_values(graph: Graph, model: KernelModel) -> str:
    """Add f and return its name, :data:`DECISION_VALUES`, (n, M)."""
    f = model.expansion
    if isinstance(f.kernel, Linear) or f.n_vectors == 0:
        return _add_weights(graph, model)
    K = _KERNELS[type(f.kernel)](graph, model)
    coef = graph.constant("coef", f.coef[_mixed(f.n_vectors)])
    intercept = graph.constant("intercept", f.intercept)
    return graph.apply("Gemm", K, coef, intercept, name=DECISION_VALUES)


def _mixed(m: int) -> NDArray[np.intp]:
    """Return an order of m vectors that spreads every run of them evenly, by multiples of the golden ratio.

    Examples
    --------
    >>> _mixed(6).tolist()
    [0, 5, 2, 4, 1, 3]
    """
    return np.argsort(np.arange(m) * _GOLDEN % 1.0, kind="stable")


def _vectors(model: KernelModel) -> Doubles:
    """Return the vectors, dense and :func:`_mixed`."""
    V = model.expansion.vectors
    return np.asarray(V.toarray() if is_csr(V) else V, dtype=np.float64)[_mixed(model.n_vectors)]


def _scaling(model: KernelModel) -> tuple[Doubles, Doubles]:
    """Return shift and factor, (d,) each; zeros and ones where the model has none."""
    zeros, ones = np.zeros(model.n_features), np.ones(model.n_features)
    if model.scaling is None:
        return zeros, ones
    shift = model.scaling.shift
    return (zeros if shift is None else np.asarray(shift)), np.asarray(model.scaling.factor)


def _times(graph: Graph, x: str, name: str, factor: Doubles) -> str:
    """Multiply the columns of x by a factor each; a factor that all share is one number."""
    same = factor.size > 0 and (factor == factor[0]).all()
    return graph.apply("Mul", x, graph.constant(name, factor[0] if same else factor))


# ---------------------------------------------------------------------------------------------------------
# Kernels of differences
# ---------------------------------------------------------------------------------------------------------


def _moved(graph: Graph, model: KernelModel, size: float) -> tuple[str, Doubles]:
    """Return rows and vectors of which the mean of the vectors is the origin, both scaled and times ``size``."""
    shift, factor = _scaling(model)
    V = _vectors(model)
    origin = graph.rounded(shift + V.mean(axis=0) / factor)  # in the units of the rows
    origin = np.where(np.isfinite(origin) & (factor != 0), origin, graph.rounded(np.where(factor, shift, 0.0)))
    x = graph.apply("Sub", ROWS, graph.constant("origin", origin))
    return _times(graph, x, "factor", size * factor), size * (V - (origin - shift) * factor)


def _rbf(graph: Graph, model: KernelModel) -> str:
    x, V = _moved(graph, model, float(np.sqrt(model.kernel.params["gamma"])))
    V = graph.rounded(V)
    products = graph.apply(
        "Gemm", x, graph.constant("twice_vectors", 2 * V.T), graph.constant("norms", -(V * V).sum(axis=1))
    )
    squares = graph.apply("ReduceSum", graph.apply("Mul", x, x), _axis(graph, 1), keepdims=1)
    log_k = graph.apply("Sub", products, squares)
    return graph.apply("Exp", graph.apply("Clip", log_k, "", graph.constant("zero", 0.0)))


def _laplacian(graph: Graph, model: KernelModel) -> str:
    x, V = _moved(graph, model, model.kernel.params["gamma"])
    return _exp_of_minus_sum(graph, graph.apply("Abs", _differences(graph, x, V)))


def _chi_squared(graph: Graph, model: KernelModel) -> str:
    """(γx - γv)² / (γx + γv) is γ times the summand; a smallest divisor makes 0 / 0 zero."""
    gamma, V = model.kernel.params["gamma"], _vectors(model)
    shift, factor = _scaling(model)
    x = graph.apply("Sub", ROWS, graph.constant("shift", shift)) if shift.any() else ROWS
    x, V = _times(graph, x, "factor", gamma * factor), gamma * V
    difference = _differences(graph, x, V)
    total = graph.apply("Add", _of_each_vector(graph, x), "vectors")
    total = graph.apply("Clip", total, graph.constant("tiny", np.finfo(graph.dtype).tiny))
    quotient = graph.apply("Div", graph.apply("Mul", difference, difference), total)
    return _exp_of_minus_sum(graph, quotient)


def _differences(graph: Graph, x: str, V: Doubles) -> str:
    """Return every row less every vector, (n, m, d)."""
    return graph.apply("Sub", _of_each_vector(graph, x), graph.constant("vectors", V))


def _of_each_vector(graph: Graph, x: str) -> str:
    """Return rows (n, d) as (n, 1, d)."""
    return graph.apply("Unsqueeze", x, _axis(graph, 1))


def _exp_of_minus_sum(graph: Graph, cube: str) -> str:
    return graph.apply("Exp", graph.apply("Neg", graph.apply("ReduceSum", cube, _axis(graph, 2), keepdims=0)))


def _axis(graph: Graph, axis: int) -> str:
    return graph.constant(f"axis_{axis}", np.array([axis], dtype=np.int64))


# ---------------------------------------------------------------------------------------------------------
# Kernels of inner products
# ---------------------------------------------------------------------------------------------------------


def _inner(graph: Graph, model: KernelModel, W: Doubles, bias: Doubles, names: tuple[str, str]) -> tuple[str, str, str]:
    """Return what a ``Gemm`` needs for ``s(x) W + bias``, s being the scaling and W (d, k)."""
    shift, factor = _scaling(model)
    W = factor[:, None] * W
    x = ROWS
    if shift.any():
        moved = graph.rounded(shift)
        x = graph.apply("Sub", ROWS, graph.constant("shift", moved))
        bias = bias + (moved - shift) @ W
    return x, graph.constant(names[0], W), graph.constant(names[1], bias)


def _affine(graph: Graph, model: KernelModel) -> str:
    """Return ``γ x·v + c₀``, (n, m)."""
    p, V = model.kernel.params, _vectors(model)
    bias = np.full(len(V), p["coef0"], dtype=np.float64)
    return graph.apply("Gemm", *_inner(graph, model, p["gamma"] * V.T, bias, ("vectors", "coef0")))


def _polynomial(graph: Graph, model: KernelModel) -> str:
    return _power(graph, _affine(graph, model), model.kernel.params["degree"])


def _power(graph: Graph, s: str, degree: float) -> str:
    """Return s to a power; products where that is whole: some back ends know no powers of negative numbers."""
    if degree != int(degree) or degree == 0:
        return graph.apply("Pow", s, graph.constant("degree", float(degree)))
    result, n = "", int(degree)
    while n:
        if n % 2:
            result = graph.apply("Mul", result, s) if result else s
        n //= 2
        if n:
            s = graph.apply("Mul", s, s)
    return result


def _sigmoid(graph: Graph, model: KernelModel) -> str:
    return graph.apply("Tanh", _affine(graph, model))


def _add_weights(graph: Graph, model: KernelModel) -> str:
    """Add a linear model, one (d, M) matrix; a model without vectors is one of zeros."""
    f = model.expansion
    coef, intercept = f.coef.astype(np.float64), f.intercept.astype(np.float64)
    W = np.asarray(f.vectors.T @ coef, dtype=np.float64) if f.n_vectors else np.zeros((f.n_features, f.n_outputs))
    parts: Any = _inner(graph, model, W, intercept, ("weights", "intercept"))
    return graph.apply("Gemm", *parts, name=DECISION_VALUES)


_KERNELS: dict[type[Kernel], Callable[[Graph, KernelModel], str]] = {
    RBF: _rbf,
    Polynomial: _polynomial,
    Sigmoid: _sigmoid,
    Laplacian: _laplacian,
    ChiSquared: _chi_squared,
}
