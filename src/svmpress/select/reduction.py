"""The elastic net as a squared-hinge SVM without bias (Zhou et al. 2015).

The elastic net with a bound, for regressors ``Ω`` (n, p), targets ``T`` (n, M) and coefficients B (p, M), is

    minimise  ||T - Ω B||² + λ ||B||²    subject to  Σ |B_jo| <= t

Where the bound holds with equality, ``B = t (D⁺ - D⁻)`` with entries that are not negative and sum to 1, and T may be
multiplied by that sum. For one target y (M = 1), every regressor gives two points,

    ẑ_js = s ω_j - y / t,    s = +1, -1        and the problem is      min_d ||Ẑ d||² + λ ||d||²,   d >= 0, Σ d = 1:

the point of their convex hull nearest to the origin, up to the ridge. That is the dual of a squared-hinge SVM without
bias whose 2p samples are ``ω_j - s y / t`` with the label s (folded into them, ẑ_js), and whose loss has the weight
``C = 1/λ`` in the scaling of eq. 1: its dual variables α, divided by their sum, are d.

**Inner products.** With ``G = ΩᵀΩ`` and ``H = ΩᵀT / t``, all that the machine needs is

    K_(js)(j's') = s s' G_jj' - s H_j - s' H_j' + κ,            κ = ||T||² / t²

so Gram matrix and correlations are enough, and a product Kα is one with G. The constant κ only scales α: the hull has
Σ d = 1, so κ is added to the objective. Any κ that leaves K positive semi-definite will do, and the smallest keeps the
most digits; the squared length of the least-squares fit takes the place of that of T.

**Several outputs.** Coefficients of different outputs meet in the bound alone: their samples stand in spaces of their
own but for the target, K_(jso)(j's'o') has no G where o ≠ o', and the Newton system falls into one block an output.

**Newton's system** on the active samples I. With ``N = s s' G_II + λ``, blockwise, ``h = s H``, and ``u = N⁻¹h``,
``v = N⁻¹1``, the solution of ``(K_II + λ) α = 1`` is

    α = d / (ρ - hᵀd + κ),    d = u + ρ v,    ρ = (1 - 1ᵀu) / 1ᵀv

because K is N - λ up to terms of rank two. d is the least squares on I with the bound as an equation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmpress.kernels import Linear
from svmpress.numerics import Array, Backend, Floats, solve_positive, to_numpy
from svmpress.select.hinge import fit_folded, fit_squared_hinge

SINGULAR = 1e-12
"""Ridge of every system, relative to the largest diagonal: linearly dependent regressors must not stop a solve."""
_MARGIN = 0.1
"""How much farther from the hull than necessary the origin is put."""


@dataclass(frozen=True, eq=False)
class Signed:
    """Coefficients that are not zero: positions (row, output), each with a sign; all (k,)."""

    rows: NDArray[np.intp]
    outputs: NDArray[np.intp]
    signs: Floats

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def of_samples(cls, which: NDArray[np.intp], n_rows: int, n_outputs: int) -> Signed:
        """Return what samples ``which`` of an array (2, n_rows, n_outputs) stand for; the sign + comes first."""
        sign, place = np.divmod(which, n_rows * n_outputs)
        rows, outputs = np.divmod(place, n_outputs)
        return cls(rows, outputs, np.where(sign == 0, 1.0, -1.0))

    @classmethod
    def of_coef(cls, coef: Floats) -> Signed:
        """Return the entries of coefficients (w, M) that are not zero."""
        rows, outputs = np.nonzero(coef)
        return cls(rows, outputs, np.sign(coef[rows, outputs]))

    @property
    def is_twofold(self) -> bool:
        """Whether some coefficient is there with both signs."""
        return len(np.unique(np.stack([self.rows, self.outputs]), axis=1).T) < len(self)

    def keep(self, which: NDArray[np.bool_]) -> Signed:
        """Return some of them."""
        return Signed(self.rows[which], self.outputs[which], self.signs[which])

    def solve(self, G: Array, C: Floats, ridge: float, here: Backend) -> tuple[Floats, Floats]:
        """Return ``N⁻¹ (s C)`` and ``N⁻¹ 1``, both (k,), for ``N = s s' G + ridge`` in blocks by output.

        Parameters
        ----------
        G : (w, w)
            Gram matrix, where ``here`` computes.
        C : (w, M)
            Correlations.
        """
        xp = here.xp
        u, v = np.empty(len(self)), np.empty(len(self))
        floor = SINGULAR * float(xp.max(xp.linalg.diagonal(G)))
        for output in np.unique(self.outputs):
            mine = np.flatnonzero(self.outputs == output)
            rows, signs = self.rows[mine], self.signs[mine]
            at = xp.asarray(rows, device=here.device)
            s = here.asarray(signs)
            N = xp.take(xp.take(G, at, axis=0), at, axis=1) * s[:, None] * s[None, :]
            N = N + (ridge + floor) * xp.eye(len(mine), dtype=N.dtype, device=here.device)
            sides = here.asarray(np.stack([signs * C[rows, output], np.ones(len(mine))], axis=1))
            both = to_numpy(solve_positive(N, sides))
            u[mine], v[mine] = both[:, 0], both[:, 1]
        return u, v


class Hull:
    """The 2wM samples of w regressors and M outputs: a :class:`svmpress.select.hinge.FoldedSamples`.

    Samples are numbered as the entries of an array (2, w, M): the sign + first, then regressors, then outputs. Half
    of the ridge is counted as part of the inner products, where it keeps them positive definite, and half as the
    loss; the dual does not tell them apart.

    Parameters
    ----------
    G : (w, w)
        Gram matrix, where ``here`` computes.
    C : (w, M)
        Correlations with the targets.
    bound : float
    ridge : float
        Positive.
    here : Backend
    """

    def __init__(self, G: Array, C: Floats, bound: float, ridge: float, here: Backend) -> None:
        self.here = here
        self._G, self._C, self._ridge, self._bound = G, C, ridge, bound
        self._H = here.asarray(C / bound)
        xp = here.xp
        # ||a||² + ||b||² >= ||a - b||² / 2 for the two signs of a regressor, so half of the half is sure to be there
        N = G + (ridge / 4) * xp.eye(G.shape[0], dtype=G.dtype, device=here.device)
        self._kappa = (1 + _MARGIN) * float(xp.sum(self._H * solve_positive(N, self._H)))

    @property
    def shape(self) -> tuple[int, int, int]:
        """The samples as an array: sign, regressor, output."""
        return (2, *self._C.shape)

    def times(self, alpha: Array) -> Array:
        """Return ``K α``, (2wM, 1)."""
        xp = self.here.xp
        A = xp.reshape(alpha, self.shape)
        D = A[0, ...] - A[1, ...]
        total = xp.sum(alpha)
        E = xp.matmul(self._G, D) - self._H * total
        shift = self._kappa * total - xp.sum(self._H * D)
        return xp.reshape(xp.stack([E, -E], axis=0) + shift, alpha.shape) + (self._ridge / 2) * alpha

    def solve_active(self, which: NDArray[np.intp], ridge: float) -> Floats:
        """Return ``(K_II + ridge)⁻¹ 1``, (k,)."""
        signed = Signed.of_samples(which, *self._C.shape)
        if not len(signed):
            return np.empty(0)
        u, v = signed.solve(self._G, self._C, self._ridge / 2 + ridge, self.here)
        h, u = signed.signs * self._C[signed.rows, signed.outputs] / self._bound, u / self._bound
        rho = (1 - u.sum()) / v.sum()
        d = u + rho * v
        return d / (rho - h @ d + self._kappa)

    def active(self, start: Floats, max_iter: int) -> tuple[NDArray[np.intp], Floats, int]:
        """Fit the machine in its dual variables.

        Parameters
        ----------
        start : (w, M)
            Coefficients to start from, of any norm but zero.
        max_iter : int

        Returns
        -------
        which : (k,)
            The samples with an active residual.
        coef : (w, M)
            Coefficients of the norm ``bound``.
        n_iter : int
            Newton steps.
        """
        d = np.stack([np.maximum(start, 0), np.maximum(-start, 0)]).ravel()
        d /= d.sum()
        K_d = to_numpy(self.times(self.here.asarray(d[:, None])))[:, 0]
        alpha0 = d / (d @ K_d)  # of all multiples of d, about the best
        fit = fit_folded(self, 2 / self._ridge, alpha0, max_iter=max_iter)
        alpha = fit.coef[:, 0]
        residuals = 1 - to_numpy(self.times(self.here.asarray(fit.coef)))[:, 0]
        A = alpha.reshape(self.shape) / alpha.sum()
        return np.flatnonzero(residuals > 0), self._bound * (A[0] - A[1]), int(fit.n_iter[0])


def active_in_primal(
    omega: Array, target: Array, bound: float, ridge: float, start: Floats, here: Backend, max_iter: int
) -> tuple[NDArray[np.intp], Floats, int]:
    """Fit the same machine in the primal: 2w samples in n dimensions, a Newton system of n.

    Parameters
    ----------
    omega : (n, w)
    target : (n,)
    bound, ridge, start, max_iter
        As for :class:`Hull` and :meth:`Hull.active`, with one output: ``start`` is (w, 1).

    Returns
    -------
    which, coef, n_iter
        As for :meth:`Hull.active`.
    """
    xp = here.xp
    n, w = omega.shape
    samples = xp.concat([omega.T - target[None, :] / bound, -omega.T - target[None, :] / bound], axis=0)
    d = np.concatenate([np.maximum(start[:, 0], 0), np.maximum(-start[:, 0], 0)])
    centre = to_numpy(xp.matmul(samples.T, here.asarray(d / d.sum())[:, None]))
    fit = fit_squared_hinge(
        Linear(),
        samples,
        np.ones(2 * w),
        xp.eye(n, dtype=samples.dtype, device=here.device),
        1 / ridge,
        bias=False,
        coef0=centre / (np.sum(centre * centre) + ridge * np.sum(d * d) / d.sum() ** 2),
        max_iter=max_iter,
    )
    residuals = 1 - to_numpy(xp.matmul(samples, here.asarray(fit.coef)))[:, 0]
    alpha = np.maximum(residuals, 0)
    d = alpha / alpha.sum()
    return np.flatnonzero(residuals > 0), bound * (d[:w] - d[w:])[:, None], int(fit.n_iter[0])
