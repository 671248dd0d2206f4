"""Coefficients for rounded vectors: solved again where rows are known, which is what makes 4 bits enough.

Rounding moves a vector by up to half a step in every feature, and its coefficients were the best for where it stood.
For where it stands now they solve the same least-squares problem as in compression (:mod:`svmpress.objectives`), on
rows as the device reads them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Argmax, Decoder, PairDAG, PairVote, class_goals
from svmpress.errors import InputError
from svmpress.exports.quantized.arithmetic import Halvings, Stage
from svmpress.exports.quantized.building import make_grid, make_stage
from svmpress.exports.quantized.cases import Case
from svmpress.exports.quantized.grid import Floats, Grid, Ints
from svmpress.kernels import Linear
from svmpress.model import KernelExpansion, KernelModel
from svmpress.numerics import arrays
from svmpress.objectives import ProjectedError

_RIDGE = 1e-7
_ROWS = 30_000
"""More rows than these change coefficients by less than rounding does."""


@dataclass(frozen=True)
class _Shifted:
    """A kernel of levels that are counted from the level of 0."""

    kernel: Any
    zero: int

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel, name)

    def gram(self, X: Any, V: Any) -> Any:
        return self.kernel.gram(X - self.zero, V - self.zero)

    def pullback(self, X: Any, V: Any, K: Any, G: Any) -> Any:
        return self.kernel.pullback(X - self.zero, V - self.zero, K, G)


@dataclass(frozen=True, eq=False)
class Fit:
    """Vectors in levels (m, d), not yet rounded, with coefficients for the kernel of levels, and their decoder."""

    grid: Grid
    zero: int
    stage: Stage
    kernel: Any
    levels: Ints | None
    """The rows, (n, d)."""
    V: Floats
    coef: Floats
    intercept: Floats
    decoder: Decoder

    @classmethod
    def begin(cls, case: Case, weights: str, *, narrower: float = 1.0, cut: bool = False) -> Fit:
        """Return a source with its numbers as they are.

        Parameters
        ----------
        case : Case
        weights : str
        narrower : float
            The width γ is multiplied by it: a narrower kernel needs less cancelling of large coefficients.
        cut : bool
            Whether vectors are moved to where rows are, which is finer in few bits. They are moved in any case where
            sums of 32 bits do not reach them.
        """
        inner = collapsed(case.inner)
        if narrower != 1:
            kernel = inner.kernel.with_gamma(inner.kernel.params["gamma"] * narrower)
            inner = replace(inner, expansion=replace(inner.expansion, kernel=kernel))
        V = np.asarray(arrays.dense(inner.expansion.vectors), dtype=np.float64)
        reach = np.asarray(arrays.dense(case.inner.expansion.vectors), dtype=np.float64)  # vectors are like rows
        rows = case.scaled_rows()
        how: dict[str, Any] = {"weights": weights, "bytes_in": case.bytes_in, "pooling": case.pooling}
        within = V if rows is None else np.clip(V, rows.min(axis=0), rows.max(axis=0))
        V = within if cut else V
        try:
            grid, zero = make_grid(inner, V, rows, reach, **how)
        except InputError:  # vectors so far from all rows that sums do not fit
            if rows is None or cut:
                raise
            V = within
            grid, zero = make_grid(inner, V, rows, reach, **how)
        levels = None if case.X is None else grid.levels(case.X)
        stage = make_stage(inner, grid, zero, levels, reach, V[:, grid.kept])
        A, b = (np.asarray(a, dtype=np.float64) for a in (inner.expansion.coef, inner.expansion.intercept))
        of_levels: Any = stage.kernel(inner.kernel, grid.step)
        if not isinstance(stage, Halvings):
            A = A * stage.largest**stage.degree
            of_levels = _Shifted(of_levels, zero)
        in_levels = (V[:, grid.kept] - grid.low) / grid.step
        return cls(grid, zero, stage, of_levels, levels, in_levels, A, b, inner.decoder)

    @property
    def is_rbf(self) -> bool:
        """Whether the kernel has a width that may change."""
        return isinstance(self.stage, Halvings)

    def weights(self) -> Ints:
        """Return the rounded vectors, (m, d)."""
        w = np.clip(np.rint((self.V - self.grid.offset) / self.grid.ratio), 0, self.grid.weight_top)
        return w.astype(np.int64)

    def values(self, some: NDArray[np.intp]) -> Floats:
        """Return the decision values of some rows with rounded vectors, (k, M)."""
        assert self.levels is not None
        V = self.grid.of_weights(self.weights()).astype(np.float64)
        K = self.kernel.gram(self.levels[some].astype(np.float64), V)
        return np.asarray(K @ self.coef + self.intercept)

    def solved(self, targets: Floats, decoder: Decoder, some: NDArray[np.intp], seed: int) -> Fit:
        """Return the fit with the coefficients that come closest to targets (n, M) on some rows."""
        assert self.levels is not None
        if len(some) > _ROWS:
            some = np.sort(np.random.default_rng(seed).permutation(some)[:_ROWS])
        start = self.grid.of_weights(self.weights()).astype(np.float64)
        levels, wanted = self.levels[some].astype(np.float64), np.asarray(targets[some], dtype=np.float64)
        found = ProjectedError(self.kernel, levels, wanted, start, ridge=_RIDGE).value_and_grad(start)
        return replace(self, coef=np.asarray(found.coef), intercept=np.asarray(found.intercept), decoder=decoder)


def collapsed(model: KernelModel) -> KernelModel:
    """Return a linear model with one vector for each output, where that is fewer; other models as they are."""
    e = model.expansion
    if not isinstance(e.kernel, Linear) or e.n_outputs >= e.n_vectors:
        return model
    W = np.asarray(arrays.dense(e.vectors), dtype=np.float64).T @ e.coef
    return replace(model, expansion=KernelExpansion(e.kernel, W.T, np.eye(e.n_outputs), e.intercept.astype(np.float64)))


def label_targets(y: NDArray[Any], decoder: Decoder) -> tuple[Floats, Decoder]:
    """Return targets for labels, as positions or values, and the decoder of values that are like them.

    Three and more classes get one output each: fewer numbers than one for each pair, and as good with labels at hand.
    """
    if decoder.classes is None:
        return np.asarray(y, dtype=np.float64).reshape(len(y), -1), decoder
    K = len(decoder.classes)
    if K > 2 or isinstance(decoder, Argmax):
        return np.where(np.equal.outer(y, np.arange(K)), 1.0, -1.0), Argmax(decoder.classes)
    later = 0 if isinstance(decoder, PairVote | PairDAG) else 1  # there a positive value means the first class
    return np.where(y == later, 1.0, -1.0)[:, None], decoder


def goals_of(F: Floats, y: NDArray[Any], decoder: Decoder) -> tuple[Floats, Decoder]:
    """Return what to solve for before fine-tuning, and the decoder of values that are like it.

    With machines for pairs of three and more classes, labels are mixed with votes; otherwise the source's values stand
    for themselves, where there is one output a class or a value, or two classes.
    """
    if isinstance(decoder, PairVote | PairDAG) and decoder.n_classes > 2:
        return class_goals(F, y, decoder.n_classes), Argmax(decoder.classes)
    if decoder.classes is None or len(decoder.classes) == 2:
        return F, decoder
    return label_targets(y, decoder)
