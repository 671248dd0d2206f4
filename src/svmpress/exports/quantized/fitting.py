"""Coefficients for rounded vectors: solved again where rows are known, which is what makes 4 bits enough.

Rounding moves a vector by up to half a step in every feature, and its coefficients were the best for where it stood.
For where it stands now they solve the same least-squares problem as in compression (:mod:`svmpress.objectives`), on
rows as the device reads them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Argmax, Decoder, PairDAG, PairVote
from svmpress.exports.quantized.grid import Floats, Ints
from svmpress.kernels import Kernel
from svmpress.objectives import ProjectedError

_RIDGE = 1e-7
_ROWS = 30_000
"""More rows than these change coefficients by less than rounding does."""


def solve(kernel: Kernel, levels: Ints, V: Ints, targets: Floats, seed: int) -> tuple[Floats, Floats]:
    """Return the coefficients (m, M) and intercepts (M,) with which vectors come closest to targets.

    Parameters
    ----------
    kernel : Kernel
        Of levels.
    levels : (n, d)
        Rows.
    V : (m, d)
        Levels of the vectors.
    targets : (n, M)
    seed : int
    """
    if len(levels) > _ROWS:
        some = np.sort(np.random.default_rng(seed).permutation(len(levels))[:_ROWS])
        levels, targets = levels[some], targets[some]
    start = V.astype(np.float64)
    error = ProjectedError(kernel, levels.astype(np.float64), targets.astype(np.float64), start, ridge=_RIDGE)
    found = error.value_and_grad(start)
    return np.asarray(found.coef), np.asarray(found.intercept)


def label_targets(y: NDArray[Any], decoder: Decoder) -> tuple[Floats, Decoder]:
    """Return targets for labels, as positions or values, and the decoder of values that are like them.

    Three and more classes get one output each: fewer numbers than one for each pair, and as good with labels at hand.
    """
    if decoder.classes is None:
        return np.asarray(y, dtype=np.float64).reshape(len(y), -1), decoder
    if len(decoder.classes) == 2:
        first = isinstance(decoder, PairVote | PairDAG)  # a positive value there means the first class
        if isinstance(decoder, Argmax):
            return np.where(np.equal.outer(y, np.arange(2)), 1.0, -1.0), decoder
        return np.where((y == 1) ^ first, 1.0, -1.0)[:, None], decoder
    K = len(decoder.classes)
    return np.where(np.equal.outer(y, np.arange(K)), 1.0, -1.0), Argmax(decoder.classes)
