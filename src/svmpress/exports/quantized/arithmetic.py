r"""From sums of products of levels to kernel values, in whole numbers. The C code does the same, step by step.

With levels u of a row and ``v = offset + ratio · w`` of a vector, both (d,), one number is made of three parts,

    P  =  row + norm + scale · Σ_j u_j w_j                                             in 32 bits

    RBF            row = Σ u (u - 2 offset)    norm = Σ v²            scale = -2 ratio    P = Σ (u - v)²
    projections    row = (offset - zero) Σ u   norm = -zero Σ (v - zero)    scale = ratio     P = Σ (u - zero)(v - zero)

``zero`` being the level of 0. Norms are stored in units of ``2^down``. Rounding a norm multiplies a column of kernel
values by a constant, which belongs to the coefficients and costs nothing; adding to it on purpose makes a vector's
kernel values smaller, which is how coefficients of 8 bits get a scale for each vector.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmpress.errors import InputError
from svmpress.exports.quantized.grid import Ints
from svmpress.kernels import RBF, Kernel, Linear, Polynomial

ONE = 32767
"""The kernel value 1."""
OCTAVES, SEGMENTS = 16, 32
"""Beyond so many halvings a kernel value is 0; pieces of the table of one halving."""
_UNIT = 12
"""Bits after the point of an exponent."""


def table() -> NDArray[np.int64]:
    """Return 2^-u at u = 0, 1/32, ..., 1 in units of 1/32767, (33,)."""
    return np.rint(ONE * np.exp2(-np.arange(SEGMENTS + 1) / SEGMENTS)).astype(np.int64)


@dataclass(frozen=True)
class Halvings:
    """The RBF kernel: ``2^-t`` with ``t = a P``, by a table of 33 numbers and a straight line between two of them.

    Parameters
    ----------
    down : int
        Bits that are dropped of P.
    factor, shift : int
        ``t = ((P >> down) · factor) >> shift`` in units of 2^-12.

    Examples
    --------
    >>> Halvings.of(1 / 1000).values(np.array([0, 1000, 2000, 10_000, 16_000])).tolist()
    [32767, 16387, 8193, 32, 0]
    """

    down: int
    factor: int
    shift: int

    @classmethod
    def of(cls, a: float) -> Halvings:
        """Return the arithmetic for ``2^-(a P)``."""
        if not 2.0**-40 < a < 16:
            raise InputError(
                'the kernel is too narrow or too wide for whole numbers: use weights="int16" or weights="float"'
            )
        down = max(0, math.ceil(math.log2(OCTAVES / (a * 65535))))
        per_unit = a * 2**down * 2**_UNIT
        shift = min(15, math.floor(math.log2(65535 / per_unit)))
        if shift < 0:
            raise InputError('the kernel is too narrow for these levels: use weights="int16" or weights="float"')
        return cls(down, max(1, round(per_unit * 2**shift)), shift)

    @property
    def a(self) -> float:
        """Halvings for each unit of P, exactly."""
        return self.factor / 2.0 ** (self.shift + self.down + _UNIT)

    @property
    def far(self) -> int:
        """The largest ``P >> down`` whose kernel value is not 0."""
        return min(65535, ((OCTAVES << _UNIT << self.shift) - 1) // self.factor)

    def kernel(self, kernel: Kernel, step: float) -> Kernel:
        """Return the kernel of levels that this computes."""
        return RBF(self.a * math.log(2))

    def row(self, u: Ints, offset: int, zero: int) -> Ints:
        """Return a row's part of P, (n,)."""
        return np.asarray((u * (u - 2 * offset)).sum(axis=1))

    def norm(self, v: Ints, zero: int) -> Ints:
        """Return a vector's part of P, (m,)."""
        return np.asarray((v * v).sum(axis=1))

    def scale(self, ratio: int) -> int:
        """Return what products are multiplied by."""
        return -2 * ratio

    def values(self, P: Ints) -> Ints:
        """Return kernel values in units of 1/32767."""
        d = P >> self.down
        t = (np.minimum(d, self.far) * self.factor) >> self.shift
        i, r = (t >> 7) & 31, t & 127
        T = table()
        y = T[i] - (((T[i] - T[i + 1]) * r) >> 7)
        return np.where(d > self.far, 0, y >> (t >> _UNIT))


@dataclass(frozen=True)
class Powers:
    """Linear and polynomial kernels: ``s^degree`` with s in 1/32767 of the largest that was seen.

    Parameters
    ----------
    down, factor, add, shift : int
        ``s = ((P >> down) · factor + add) >> shift``, cut at ±1.
    degree : int
    largest : float
        What s = 1 stands for.
    """

    down: int
    factor: int
    add: int
    shift: int
    degree: int
    largest: float

    @classmethod
    def of(cls, kernel: Kernel, step: float, most: int) -> Powers:
        """Return the arithmetic for a kernel of projections up to ``most`` in size, in units of step²."""
        gamma, coef0 = kernel.params.get("gamma", 1.0), kernel.params.get("coef0", 0.0)
        degree = int(kernel.params.get("degree", 1))
        largest = abs(gamma) * step * step * most + abs(coef0)
        down = max(0, math.ceil(math.log2((most + 1) / 32767)))
        per_unit = ONE * gamma * step * step * 2**down / largest
        shift = min(15, math.floor(math.log2(32767 / max(per_unit, 1e-30))))
        if shift < 0:
            raise InputError('there are too few levels for this kernel: use weights="int16" or weights="float"')
        add = round(ONE * coef0 / largest * 2**shift)
        return cls(down, round(per_unit * 2**shift), add, shift, degree, largest)

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the largest ``P >> down`` that make a difference: beyond them s is cut.

        Examples
        --------
        >>> Powers(down=0, factor=16384, add=0, shift=10, degree=1, largest=1.0).ends
        (-2048, 2048)
        """
        if self.factor <= 0:
            return -(2**31 - 1), 2**31 - 1
        top = ONE << self.shift
        return (-top - self.add) // self.factor, -(-(top - self.add) // self.factor)

    def kernel(self, kernel: Kernel, step: float) -> Kernel:
        """Return the kernel of levels that this computes, in units of its largest value."""
        gamma = self.factor / 2.0 ** (self.shift + self.down) / ONE
        return Polynomial(gamma=gamma, coef0=self.add / 2.0**self.shift / ONE, degree=self.degree)

    def row(self, u: Ints, offset: int, zero: int) -> Ints:
        """Return a row's part of P, (n,)."""
        return np.asarray((offset - zero) * u.sum(axis=1))

    def norm(self, v: Ints, zero: int) -> Ints:
        """Return a vector's part of P, (m,)."""
        return np.asarray(-zero * (v - zero).sum(axis=1))

    def scale(self, ratio: int) -> int:
        """Return what products are multiplied by."""
        return ratio

    def values(self, P: Ints) -> Ints:
        """Return kernel values in units of 1/32767 of the largest."""
        s = np.clip(((P >> self.down) * self.factor + self.add) >> self.shift, -ONE, ONE)
        k = s
        for _ in range(self.degree - 1):
            k = (k * s) >> 15
        return k


Stage = Halvings | Powers

WHOLE = (RBF, Linear, Polynomial)
"""Kernels that whole numbers can hold."""
