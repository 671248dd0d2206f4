"""A source with the rows to quantise it with: what the device gets, what the model sees, and what is right."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import positions_of
from svmpress.errors import InputError
from svmpress.exports.quantized.grid import Floats, Grid, Pooling, as_bytes
from svmpress.kernels import RBF, Linear, Polynomial
from svmpress.model import KernelModel, Scaling
from svmpress.numerics import arrays


@dataclass(frozen=True, eq=False)
class Case:
    """A source with its rows: which of them the model sees, and what they are answered with."""

    source: KernelModel
    inner: KernelModel
    """The source for rows after pooling."""
    X: NDArray[Any] | None
    y: NDArray[Any] | None
    bytes_in: bool
    pooling: Pooling | None
    image: tuple[int, int] | None

    @classmethod
    def of(cls, source: KernelModel, X: Any, y: Any, input: str | None, image: Any, pool: int) -> Case:
        """Return the case; refuse rows and images that do not belong together."""
        pooling = None
        if image is not None:
            pooling = Pooling(image[0], image[1], pool)
        elif pool != 1:
            raise InputError("pool needs image=(height, width)")
        n_inputs = source.n_features if pooling is None else pooling.n_inputs
        if pooling is not None and source.n_features not in (n_inputs, pooling.n_outputs):
            raise InputError(
                f"the model has {source.n_features} features, which are neither the {n_inputs} pixels of the images "
                f"nor the {pooling.n_outputs} after pooling"
            )
        bytes_in = input == "uint8" or (input is None and getattr(X, "dtype", None) == np.uint8)
        if X is not None:
            X = arrays.to_numpy(arrays.dense(arrays.check_rows(X, n_features=n_inputs, allow_empty=False)))
        if bytes_in and X is not None:
            X = as_bytes(X)
        pooled = pooling is not None and pooling.size > 1
        if pooled and not bytes_in:
            raise InputError('pooling is for images of bytes: pass input="uint8"')
        inner = source
        if pooled and pooling is not None and source.n_features == n_inputs:
            inner = pooled_model(source, pooling)
        return cls(source, inner, X, _answers(source, X, y), bytes_in, pooling if pooled else None, image)

    def scaled_rows(self) -> Floats | None:
        """Return rows as the kernel sees them, after pooling and scaling."""
        if self.X is None:
            return None
        seen: Any = self.X if self.pooling is None else self.pooling.means(self.X.astype(np.int64))
        seen = np.asarray(seen, dtype=np.float64)
        return np.asarray(seen if self.inner.scaling is None else self.inner.scaling(seen), dtype=np.float64)

    def source_values(self) -> Floats:
        """Return what the source answers, (n, M)."""
        if self.X is None:
            raise InputError("there are no rows")
        X: Any = np.asarray(self.X, dtype=np.float64)
        if self.pooling is not None and self.source.n_features != self.pooling.n_inputs:
            X = self.pooling.means(self.X.astype(np.int64)).astype(np.float64)
        return np.asarray(self.source.decision_values(X), dtype=np.float64)


def _answers(source: KernelModel, X: Any, y: Any) -> NDArray[Any] | None:
    if y is None:
        return None
    if X is None:
        raise InputError("y was given without X")
    y = np.asarray(y)
    if source.classes_ is None:
        values = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        if values.shape != (len(X), source.n_outputs) or not np.isfinite(values).all():
            raise InputError(f"y must be {len(X)} finite values for {len(X)} rows")
        return values
    if y.shape != (len(X),):
        raise InputError(f"y must be {len(X)} labels for {len(X)} rows, not an array of shape {y.shape}")
    unknown = set(y.tolist()).difference(source.classes_.tolist())
    if unknown:
        raise InputError(f"y holds the label {min(map(str, unknown))!r}, which the model does not know")
    return positions_of(y, source.classes_)


def pooled_model(model: KernelModel, pooling: Pooling) -> KernelModel:
    """Return a model for pooled images: means of the vectors' pixels, and a kernel as wide in fewer features."""
    area = pooling.size**2
    V = np.asarray(arrays.dense(model.expansion.vectors), dtype=np.float64)
    if not isinstance(model.kernel, RBF | Linear | Polynomial):
        raise InputError(f"a model with the kernel {model.kernel.name} cannot be pooled")
    kernel: Any = model.kernel
    if not isinstance(kernel, Linear):
        kernel = kernel.with_gamma(kernel.params["gamma"] * area)
    means = pooling.sums(V) / area
    if isinstance(kernel, Linear):
        means = means * area
    scaling = model.scaling
    if scaling is not None:
        if np.ptp(scaling.factor) or (scaling.shift is not None and np.ptp(scaling.shift)):
            raise InputError("a model that scales each pixel for itself cannot be pooled: train it on pooled images")
        some = slice(0, pooling.n_outputs)
        scaling = Scaling(None if scaling.shift is None else scaling.shift[some], scaling.factor[some])
    return replace(model, expansion=replace(model.expansion, kernel=kernel, vectors=means), scaling=scaling)


def pooled(
    model: KernelModel, X: Any, image: tuple[int, int], pool: int
) -> tuple[KernelModel, NDArray[np.float64] | None]:
    """Return a model for pooled images, and the pooled rows; a model for such images already is returned as it is.

    Parameters
    ----------
    model : KernelModel
    X : (n, height * width) or None
        Bytes.
    image : (height, width)
    pool : int

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from svmpress.formats import from_estimator
    >>> X, y = load_digits(return_X_y=True)
    >>> small, rows = pooled(from_estimator(SVC(gamma=0.001).fit(X, y)), X, (8, 8), 2)
    >>> small.n_features, rows.shape
    (16, (1797, 16))
    """
    pooling = Pooling(image[0], image[1], pool)
    if pool > 1 and model.n_features == pooling.n_inputs:
        model = pooled_model(model, pooling)
    if X is None:
        return model, None
    X = arrays.to_numpy(arrays.dense(arrays.check_rows(X, n_features=pooling.n_inputs)))
    return model, pooling.means(as_bytes(X).astype(np.int64)).astype(np.float64)


def levels_of(case: Case, grid: Grid, levels: NDArray[Any], augment: int) -> Any:
    """Return what gives levels of some rows, shifted at random where that was asked for."""
    if not augment:
        small = levels.astype(np.float32)
        return lambda some, rng: small[some]
    if case.image is None or case.X is None:
        raise InputError("augment needs X and image=(height, width)")
    images = case.X.reshape(-1, *case.image)

    def shifted(some: Any, rng: Any) -> Any:
        if rng is None:
            return levels[some].astype(np.float32)
        down, right = rng.integers(-augment, augment + 1, 2)
        return grid.levels(moved(images[some], down, right).reshape(len(some), -1)).astype(np.float32)

    return shifted


def moved(images: NDArray[Any], down: int, right: int) -> NDArray[Any]:
    """Return images (n, h, w) moved by some pixels; what comes in from outside is like the corner.

    Examples
    --------
    >>> moved(np.array([[[1, 2], [3, 4]]]), 1, 0).tolist()
    [[[1, 1], [1, 2]]]
    """
    out = np.empty_like(images)
    out[:] = images[:, :1, :1]
    h, w = images.shape[1:]
    to = (slice(max(0, down), h + min(0, down)), slice(max(0, right), w + min(0, right)))
    of = (slice(max(0, -down), h - max(0, down)), slice(max(0, -right), w - max(0, right)))
    out[:, to[0], to[1]] = images[:, of[0], of[1]]
    return out
