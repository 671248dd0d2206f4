"""``quantize()``: a model in floats becomes one in whole numbers of 4, 8 or 16 bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Decoder, PairDAG, PairVote, positions_of
from svmpress.errors import InputError
from svmpress.exports.quantized.arithmetic import WHOLE, Halvings, Stage
from svmpress.exports.quantized.building import COEF_TOP, WEIGHT_BITS, assemble, make_grid, make_stage
from svmpress.exports.quantized.fitting import label_targets, solve
from svmpress.exports.quantized.grid import Floats, Grid, Pooling, as_bytes
from svmpress.exports.quantized.model import QuantizedModel
from svmpress.exports.quantized.tuning import tune
from svmpress.formats import as_model
from svmpress.kernels import RBF, Linear, Polynomial
from svmpress.model import KernelExpansion, KernelModel, Scaling
from svmpress.numerics import arrays

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
    _check_choices(weights, coef, input, augment)
    found = whole_obstacles(source)
    if found:
        raise InputError(f"the model cannot be quantised: {'; '.join(found)}")
    case = _Case.of(source, X, y, input, image, pool)
    inner = collapsed(case.inner)
    V = np.asarray(arrays.dense(inner.expansion.vectors), dtype=np.float64)
    reach = np.asarray(arrays.dense(case.inner.expansion.vectors), dtype=np.float64)  # vectors are like rows
    rows = case.scaled_rows()
    grid, zero = make_grid(inner, V, rows, reach, weights=weights, bytes_in=case.bytes_in, pooling=case.pooling)
    levels = None if case.X is None else grid.levels(case.X)
    stage = make_stage(inner, grid, zero, levels, reach, V[:, grid.kept])
    fit = _Fit.rounded(inner, grid, stage, zero, V)
    if levels is not None:
        fit = fit.solved(case, levels, random_state)
    if levels is not None and case.y is not None and source.task != "outlier":
        tell = (lambda done, total: progress("fine-tuning", done, total)) if progress is not None else None
        fit = fit.tuned(case, levels, augment, epochs, random_state, tell)
    w = np.clip(np.rint((fit.V - grid.offset) / grid.ratio), 0, grid.weight_top).astype(np.int64)
    return assemble(
        grid, stage, zero, w, fit.coef, fit.intercept, decoder=fit.decoder, task=source.task, types=(weights, coef)
    )


def _check_choices(weights: str, coef: str, input: str | None, augment: Any) -> None:
    for name, value, known in (
        ("weights", weights, [*WEIGHT_BITS]),
        ("coef", coef, [*COEF_TOP]),
        ("input", input, [None, "float", "uint8"]),
    ):
        if value not in known:
            raise InputError(f"unknown {name} {value!r}; choose one of {', '.join(k for k in known if k)}")
    if not isinstance(augment, int | np.integer) or augment < 0:
        raise InputError(f"augment must be a number of pixels, at least 0, not {augment!r}")


@dataclass(frozen=True, eq=False)
class _Case:
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
    def of(cls, source: KernelModel, X: Any, y: Any, input: str | None, image: Any, pool: int) -> _Case:
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
        f = pooling.sums(scaling.factor[None, :])[0] / area
        s = None if scaling.shift is None else pooling.sums(scaling.shift[None, :])[0] / area
        scaling = Scaling(s, f)
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


def collapsed(model: KernelModel) -> KernelModel:
    """Return a linear model with one vector for each output, where that is fewer; other models as they are."""
    e = model.expansion
    if not isinstance(e.kernel, Linear) or e.n_outputs >= e.n_vectors:
        return model
    W = np.asarray(arrays.dense(e.vectors), dtype=np.float64).T @ e.coef
    return replace(model, expansion=KernelExpansion(e.kernel, W.T, np.eye(e.n_outputs), e.intercept.astype(np.float64)))


@dataclass(frozen=True, eq=False)
class _Fit:
    """Vectors in levels (m, d), coefficients for the stage's kernel, and the decoder of its values."""

    grid: Grid
    stage: Stage
    kernel: Any
    V: Floats
    coef: Floats
    intercept: Floats
    decoder: Decoder

    @classmethod
    def rounded(cls, model: KernelModel, grid: Grid, stage: Stage, zero: int, V: Floats) -> _Fit:
        """Return the numbers as they are."""
        A, b = (np.asarray(a, dtype=np.float64) for a in (model.expansion.coef, model.expansion.intercept))
        kernel: Any = stage.kernel(model.kernel, grid.step)
        if not isinstance(stage, Halvings):
            A = A * stage.largest**stage.degree
            kernel = _Shifted(kernel, zero)
        levels = (V[:, grid.kept] - grid.low) / grid.step
        return cls(grid, stage, kernel, levels, A, b, model.decoder)

    def solved(self, case: _Case, levels: NDArray[Any], seed: int) -> _Fit:
        """Return the fit with coefficients solved again: for the source's values, or for labels."""
        if case.y is not None and case.source.task == "classification":
            targets, decoder = label_targets(case.y, self.decoder)
        else:
            targets, decoder = case.source_values(), self.decoder
        A, b = solve(self.kernel, levels, self.rounded_vectors(), targets, seed)
        return replace(self, coef=A, intercept=b, decoder=decoder)

    def rounded_vectors(self) -> NDArray[np.int64]:
        """Return the levels of the rounded vectors."""
        w = np.clip(np.rint((self.V - self.grid.offset) / self.grid.ratio), 0, self.grid.weight_top)
        return self.grid.of_weights(w.astype(np.int64))

    def tuned(
        self, case: _Case, levels: NDArray[Any], augment: int, epochs: int | None, seed: int, progress: Any
    ) -> _Fit:
        """Return the fit after fine-tuning on labels."""
        if case.y is None:
            return self
        y, classes = case.y, 0 if case.source.classes_ is None else len(case.source.classes_)
        if classes == 2 and isinstance(self.decoder, PairVote | PairDAG):
            y = 1 - y
        rows = _levels_of(case, self.grid, levels, augment)
        start = (self.V, self.coef, self.intercept)
        found = tune(
            self.grid, self.kernel, rows, y, start, classes=classes, seed=seed, epochs=epochs, progress=progress
        )
        return replace(self, V=found.V, coef=found.coef, intercept=found.intercept)


@dataclass(frozen=True)
class _Shifted:
    """A kernel of levels counted from the level of 0."""

    kernel: Any
    zero: int

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel, name)

    def gram(self, X: Any, V: Any) -> Any:
        return self.kernel.gram(X - self.zero, V - self.zero)

    def pullback(self, X: Any, V: Any, K: Any, G: Any) -> Any:
        return self.kernel.pullback(X - self.zero, V - self.zero, K, G)


def _levels_of(case: _Case, grid: Grid, levels: NDArray[Any], augment: int) -> Any:
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
