"""``quantize()``: a model in floats becomes one in whole numbers of 4, 8 or 16 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from svmpress.errors import InputError
from svmpress.exports.quantized.arithmetic import WHOLE
from svmpress.exports.quantized.building import COEF_TOP, WEIGHT_BITS, assemble
from svmpress.exports.quantized.cases import Case
from svmpress.exports.quantized.choosing import fine_tuned
from svmpress.exports.quantized.fitting import Fit
from svmpress.exports.quantized.model import QuantizedModel
from svmpress.formats import as_model
from svmpress.kernels import RBF, Polynomial
from svmpress.model import KernelModel

Input = Literal["float", "uint8"]
Progress = Callable[[str, int, int], None]


def whole_obstacles(model: KernelModel) -> list[str]:
    """Return why whole numbers cannot hold a model; an empty list if they can."""
    kernel, found = model.kernel, []
    if not isinstance(kernel, WHOLE):
        found.append(f'whole numbers hold the kernels rbf, linear and poly, not {kernel.name}: use weights="float"')
    elif isinstance(kernel, Polynomial) and (kernel.degree != int(kernel.degree) or not 1 <= kernel.degree <= 8):
        found.append(f'whole numbers hold polynomials of degree 1 to 8, not {kernel.degree:g}: use weights="float"')
    elif isinstance(kernel, RBF) and kernel.gamma == 0:
        found.append("the kernel has gamma = 0, so the model answers all rows alike")
    if model.n_vectors == 0:
        found.append("the model has no vectors")
    return found


def quantize(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    weights: Literal["int4", "int8", "int16"] = "int8",
    coef: Literal["int8", "int16"] = "int16",
    input: Input | None = None,
    image: tuple[int, int] | None = None,
    pool: int = 1,
    augment: int = 0,
    epochs: int | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> QuantizedModel:
    """Return a model in whole numbers, which predicts as the C code of :func:`svmpress.export_c` does, bit for bit.

    Parameters
    ----------
    model : estimator, KernelModel or path
        With an RBF, linear or polynomial kernel; best a compressed one.
    X : (n, d), optional
        Rows like those that the device will see, unscaled. Coefficients are solved again for the rounded vectors, and
        features that tell nothing are left out. Without X, numbers are rounded and that is all.
    y : (n,), optional
        Their labels or values. Vectors and coefficients are then fine-tuned with rounding in the loop, and three or
        more classes get one output each.
    weights : "int4", "int8" or "int16"
        The numbers of the vectors.
    coef : "int8" or "int16"
        The coefficients; of 8 bits they have a scale for each vector.
    input : "float" or "uint8", optional
        What the device gets for a feature; by default bytes if X has that type.
    image : (height, width), optional
        Rows are images of so many pixels.
    pool : int
        Side of the squares of pixels of which only the mean is used. The model may be for images before or after that.
    augment : int
        Fine-tune on images that are shifted at random by up to so many pixels.
    epochs : int, optional
        Passes of the fine-tuning over the rows.
    random_state : int
    progress : callable, optional
        Called with (stage, done, total).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> import svmpress
    >>> X, y = load_digits(return_X_y=True)
    >>> small = svmpress.compress(SVC(gamma=0.001).fit(X, y), X, y, vectors=30).model
    >>> q = quantize(small, X, weights="int4", input="uint8")
    >>> q.n_vectors, int(q.weights.max()), float(np.mean(q.predict(X) == y)) > 0.9
    (30, 15, True)
    """
    source = as_model(model)
    _check_choices(weights, coef, input)
    _check_numbers(image, augment, epochs)
    found = whole_obstacles(source)
    if found:
        raise InputError(f"the model cannot be quantised: {'; '.join(found)}")
    case = Case.of(source, X, y, input, image, pool)
    fit = Fit.begin(case, weights)
    if case.X is not None:
        values = case.source_values()
        if case.y is None or source.task == "outlier":
            fit = fit.solved(values, fit.decoder, np.arange(len(values)), random_state)
        else:
            tell = (lambda done, total: progress("fine-tuning", done, total)) if progress is not None else None
            fit = fine_tuned(case, fit, values, weights, augment=augment, epochs=epochs, seed=random_state, tell=tell)
    return assemble(
        fit.grid, fit.stage, fit.zero, fit.weights(), fit.coef, fit.intercept,
        decoder=fit.decoder, task=source.task, types=(weights, coef),
    )  # fmt: skip


def _check_choices(weights: str, coef: str, input: str | None) -> None:
    for name, value, known in (
        ("weights", weights, [*WEIGHT_BITS]),
        ("coef", coef, [*COEF_TOP]),
        ("input", input, [None, "float", "uint8"]),
    ):
        if value not in known:
            raise InputError(f"unknown {name} {value!r}; choose one of {', '.join(k for k in known if k)}")


def _check_numbers(image: Any, augment: Any, epochs: Any) -> None:
    if image is not None and (not isinstance(image, tuple | list) or len(image) != 2):
        raise InputError(f"image must be (height, width), not {image!r}")
    if not isinstance(augment, int | np.integer) or augment < 0:
        raise InputError(f"augment must be a number of pixels, at least 0, not {augment!r}")
    if augment and image is None:
        raise InputError("augment needs image=(height, width)")
    if epochs is not None and (not isinstance(epochs, int | np.integer) or epochs < 1):
        raise InputError(f"epochs must be a whole number of at least 1, not {epochs!r}")
