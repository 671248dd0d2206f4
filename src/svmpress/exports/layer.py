"""A model as a layer of torch: differentiable, tuned further, or exported by torch's own tools.

    f(x) = k(x, V) A + b        V (m, d), A (m, M), b (M,) and the kernel's width are parameters of the layer

The scaling of the input and the mask of the coefficients are buffers: they belong to the state, and are not tuned. Each
kernel is one formula below, in tensors alone, so that nothing depends on values and the graph can be traced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from svmpress.errors import InputError, MissingExtraError
from svmpress.model import KernelModel, positions_elsewhere, scores_of
from svmpress.numerics import dense, to_numpy

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

Answer = Literal["scores", "labels", "values"]
"""What a layer answers."""


def to_torch(model: KernelModel, answer: Answer = "scores") -> Module:
    """Return a model as a ``torch.nn.Module`` in the model's precision.

    Parameters
    ----------
    model : KernelModel
    answer : "scores", "labels" or "values"
        What its ``forward`` returns for rows (n, d): what ``decision_function`` says; the position of each row's class
        in ``layer.classes_``, (n,), or a regressor's values; the values of all machines, (n, M).

    Returns
    -------
    torch.nn.Module
        With parameters ``vectors``, ``coef``, ``intercept``, and ``gamma`` where the kernel has one, and the method
        ``to_model()``, which returns a KernelModel of what they are by then.

    Raises
    ------
    InputError
        A kernel without a formula here, or another answer.
    MissingExtraError
        Without torch.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> import svmpress
    >>> small = svmpress.from_estimator(SVC().fit([[0.0], [1.0]], [0, 1]))
    >>> layer = svmpress.to_torch(small)  # doctest: +SKIP
    >>> optimiser = torch.optim.Adam(layer.parameters())  # doctest: +SKIP
    """
    try:
        import torch  # noqa: F401
    except ImportError as e:
        raise MissingExtraError("to_torch", "torch", "torch") from e
    if model.kernel.name not in FORMULAS:
        raise InputError(
            f"there is no formula in torch for the {model.kernel.name} kernel; {', '.join(FORMULAS)} have one"
        )
    if answer not in ("scores", "labels", "values"):
        raise InputError(f"a layer answers with scores, labels or values, not {answer!r}")
    layer: Module = _layer_class()(model, answer)
    return layer


def __getattr__(name: str) -> Any:
    """Give the class to those who read a layer that was saved whole."""
    if name == "KernelLayer":
        return _layer_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _layer_class() -> Any:
    """Return the class of layers; it cannot be made where torch is not installed."""
    import torch
    from torch import nn

    class KernelLayer(nn.Module):  # type: ignore[misc]
        """``f(x) = k(x, V) A + b`` and its decoder."""

        def __init__(self, model: KernelModel, answer: Answer) -> None:
            super().__init__()
            f = model.expansion
            self.answer, self.classes_ = answer, model.classes_
            self._model = model
            self._fixed = {name: float(value) for name, value in f.kernel.params.items() if name != "gamma"}
            for name, a in (("vectors", dense(f.vectors)), ("coef", f.coef), ("intercept", f.intercept)):
                setattr(self, name, nn.Parameter(torch.tensor(np.array(a, dtype=f.precision))))
            if f.kernel.has_width:
                gamma = np.array(f.kernel.params["gamma"], dtype=f.precision)
                self.gamma = nn.Parameter(torch.tensor(gamma))
            scaling = model.scaling
            for name, a in (
                ("shift", None if scaling is None else scaling.shift),
                ("factor", None if scaling is None else scaling.factor),
                ("mask", f.coef_mask),
            ):
                self.register_buffer(name, None if a is None else torch.tensor(np.array(a, dtype=f.precision)))

        def values(self, x: Tensor) -> Tensor:
            """Return the values of all machines, (n, M), at rows (n, d)."""
            x = x.to(self.vectors.dtype)
            x = x if self.shift is None else x - self.shift
            x = x if self.factor is None else x * self.factor
            coef = self.coef if self.mask is None else self.coef * self.mask
            fixed = self._fixed if not hasattr(self, "gamma") else self._fixed | {"gamma": self.gamma}
            return FORMULAS[self._model.kernel.name](x, self.vectors, fixed) @ coef + self.intercept

        def forward(self, x: Tensor) -> Tensor:
            """Return the answer to rows (n, d)."""
            F = self.values(x)
            if self.answer == "values":
                return F
            decoder = self._model.decoder
            labels = self.answer == "labels" and decoder.classes is not None
            return positions_elsewhere(decoder, F) if labels else scores_of(decoder, F)

        def to_model(self) -> KernelModel:
            """Return the KernelModel that this layer is by now."""
            return _model_of(self, self._model)

        def extra_repr(self) -> str:
            """Return what a print of the layer says."""
            return f"{self._model!r}, answer={self.answer!r}"

    KernelLayer.__qualname__ = "KernelLayer"
    return KernelLayer


def _model_of(layer: Any, model: KernelModel) -> KernelModel:
    """Return a model with the parameters of a layer; without probabilities if it was tuned, which they do not know."""
    V, coef, intercept = (to_numpy(a) for a in (layer.vectors, layer.coef, layer.intercept))
    mask = model.expansion.coef_mask
    kernel = model.kernel.with_gamma(float(layer.gamma.detach())) if model.kernel.has_width else model.kernel
    coef = coef if mask is None else np.where(mask, coef, np.zeros((), coef.dtype))
    expansion = replace(model.expansion, kernel=kernel, vectors=V, coef=coef, intercept=intercept)
    tuned = any(
        not np.array_equal(to_numpy(one), to_numpy(other))
        for one, other in (
            (expansion.vectors, model.expansion.vectors),
            (coef, model.expansion.coef),
            (intercept, model.expansion.intercept),
        )
    )
    return replace(model, expansion=expansion, probability={} if tuned else model.probability)


# ---------------------------------------------------------------------------------------------------------
# Kernels
# ---------------------------------------------------------------------------------------------------------


def _rbf(x: Tensor, v: Tensor, p: Mapping[str, Any]) -> Tensor:
    centre = v.detach().mean(0)  # distances do not change, and lose fewer digits
    x, v = x - centre, v - centre
    D = (x * x).sum(1)[:, None] - 2 * (x @ v.T) + (v * v).sum(1)
    return (-p["gamma"] * D.clamp(min=0)).exp()


def _laplacian(x: Tensor, v: Tensor, p: Mapping[str, Any]) -> Tensor:
    return (-p["gamma"] * (x[:, None, :] - v).abs().sum(2)).exp()


def _chi_squared(x: Tensor, v: Tensor, p: Mapping[str, Any]) -> Tensor:
    total = x[:, None, :] + v
    D = (x[:, None, :] - v) ** 2 / total.masked_fill(total <= 0, 1)
    return (-p["gamma"] * D.sum(2)).exp()


def _linear(x: Tensor, v: Tensor, p: Mapping[str, Any]) -> Tensor:
    return x @ v.T


def _polynomial(x: Tensor, v: Tensor, p: Mapping[str, Any]) -> Tensor:
    power: Tensor = (p["gamma"] * (x @ v.T) + p["coef0"]) ** p["degree"]
    return power


def _sigmoid(x: Tensor, v: Tensor, p: Mapping[str, Any]) -> Tensor:
    value: Tensor = (p["gamma"] * (x @ v.T) + p["coef0"]).tanh()
    return value


FORMULAS: dict[str, Callable[[Tensor, Tensor, Mapping[str, Any]], Tensor]] = {
    "rbf": _rbf,
    "laplacian": _laplacian,
    "chi2": _chi_squared,
    "linear": _linear,
    "poly": _polynomial,
    "sigmoid": _sigmoid,
}
"""Kernel values (n, m) of rows (n, d) and vectors (m, d) by the kernel's name."""
