"""Levels: the small whole numbers that rows and vectors become before anything is computed with them.

In the space of the kernel, after the model's own scaling, feature j of a row is read as a level ``u`` in ``0 .. top``,

    z_j  ≈  low_j + step · u                    step: one for all features, so that distances stay distances

and a number of a vector as ``offset + ratio · w`` levels with a whole weight ``w`` in ``0 .. weight_top``. Both are
counted from the same ``low``, so that a squared distance is a whole number of ``step²``. On a device a level is made by
one subtraction, one multiplication and a cut, in float32; or it is the input byte itself, where the model scales all
features alike. No compiler can contract a subtraction and a product, which is why every target gets the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.errors import InputError

Ints = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Pooling:
    """Means of squares of pixels: an image becomes smaller before the model sees it.

    Parameters
    ----------
    height, width : int
        Of the images, which are rows of ``height · width`` pixels.
    size : int
        Side of the squares.

    Examples
    --------
    >>> Pooling(2, 4, 2).means(np.array([[1, 2, 9, 9, 3, 4, 9, 9]])).tolist()
    [[3, 9]]
    """

    height: int
    width: int
    size: int

    def __post_init__(self) -> None:
        for name in ("height", "width", "size"):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
                raise InputError(f"the {name} of a pooling must be a whole number of at least 1, not {value!r}")
        if self.height % self.size or self.width % self.size:
            raise InputError(
                f"images of {self.height} x {self.width} have no whole number of {self.size} x {self.size}"
            )

    @property
    def n_inputs(self) -> int:
        """Pixels before."""
        return self.height * self.width

    @property
    def n_outputs(self) -> int:
        """Pixels after."""
        return self.n_inputs // self.size**2

    def sums(self, X: Floats | Ints) -> Any:
        """Return the sum of each square, (n, n_outputs)."""
        h, w, p = self.height // self.size, self.width // self.size, self.size
        return X.reshape(len(X), h, p, w, p).sum(axis=(2, 4)).reshape(len(X), h * w)

    def means(self, X: Ints) -> Ints:
        """Return the mean of each square, rounded, of pixels that are whole numbers."""
        area = self.size**2
        return np.asarray((self.sums(X) + area // 2) // area)


@dataclass(frozen=True, eq=False)
class Grid:
    """How rows become levels; see the module's docstring.

    Parameters
    ----------
    n_inputs : int
        Features of a row as the device gets it.
    bytes_in : bool
        Whether these are bytes, whole numbers from 0 to 255; floats otherwise.
    pooling : Pooling, optional
    kept : (d,) int
        Which features, after pooling, take part.
    shift, factor : (d,) float32, or None
        ``u = trunc((x - shift) · factor)``; None: the byte is the level.
    low : (d,)
    step : float
    top : int
    offset, ratio, weight_top : int
    """

    n_inputs: int
    bytes_in: bool
    pooling: Pooling | None
    kept: NDArray[np.intp]
    shift: NDArray[np.float32] | None
    factor: NDArray[np.float32] | None
    low: Floats
    step: float
    top: int
    offset: int
    ratio: int
    weight_top: int

    @property
    def n_levels(self) -> int:
        """Features that take part, d."""
        return len(self.kept)

    def levels(self, X: Floats | Ints) -> Ints:
        """Return the levels of rows as the device gets them, (n, d): what ``PREFIX_read`` does in C."""
        with np.errstate(over="ignore"):  # what is too large for float32 is infinite, and is cut as such
            X = as_bytes(X).astype(np.int64) if self.bytes_in else np.asarray(X, dtype=np.float32)
        if self.pooling is not None:
            X = self.pooling.means(X.astype(np.int64))
        X = X[:, self.kept]
        if self.shift is None or self.factor is None:
            return X.astype(np.int64)
        with np.errstate(over="ignore", invalid="ignore"):
            t = (X.astype(np.float32) - self.shift) * self.factor
        return np.asarray(np.where(t > 0, np.minimum(t, np.float32(self.top)), np.float32(0)).astype(np.int64))

    def weights(self, V: Floats) -> Ints:
        """Return the weights of vectors in the space of the kernel, (m, d), the nearest that there are."""
        levels = (V - self.low) / self.step
        return np.clip(np.rint((levels - self.offset) / self.ratio), 0, self.weight_top).astype(np.int64)

    def of_weights(self, w: Ints) -> Ints:
        """Return the levels that weights stand for, (m, d)."""
        return self.offset + self.ratio * w

    def real(self, levels: Ints) -> Floats:
        """Return levels in the space of the kernel."""
        return np.asarray(self.low + self.step * levels)


def as_bytes(X: Any) -> NDArray[np.uint8]:
    """Return rows as bytes; refuse what is none.

    Examples
    --------
    >>> as_bytes(np.array([[0.0, 255.0]])).dtype
    dtype('uint8')
    """
    X = np.asarray(X)
    if X.dtype == np.uint8:
        return X
    whole = np.asarray(X, dtype=np.float64)
    wrong = ~((whole >= 0) & (whole <= 255) & (whole == np.floor(whole)))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InputError(
            f'input="uint8" needs whole numbers from 0 to 255, not {whole[row, column]:g} (row {row}, column {column})'
        )
    return whole.astype(np.uint8)
