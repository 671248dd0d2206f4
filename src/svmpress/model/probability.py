"""Probabilities of classes: what turns decision values into them, and how that is fitted.

The parameters are named arrays, ``KernelModel.probability``, of one of five kinds:

    pairs         probA, probB (M,)               of LibSVM: a sigmoid a pair, then coupled
    sigmoid       sigmoid_slope, sigmoid_offset   (K,): a sigmoid a class, then normalised
    isotonic      isotonic_x, isotonic_y          (Σ n_k,): a curve a class, through n_k points in ascending
                  isotonic_points                 order, (K,), then normalised
    temperature   inverse_temperature (1,)        softmax of the scores times that
    marks         prob_density_marks (10,)        of LibSVM's one-class models: the decision values at which the
                                                  probability of an inlier becomes 0.1, 0.2, ..., 0.9, 0.999

*Pairs* (J. C. Platt, 1999): the first class i of a pair has ``r_ij = 1 / (1 + exp(A F_ij + B))`` of the probability of
both, where F is positive for class i. Coupling (T.-F. Wu, C.-J. Lin, R. C. Weng, *Probability estimates for multi-class
classification by pairwise coupling*, 2004, the second way) finds p that minimises
``Σ_ij (r_ji p_i - r_ij p_j)²``, ``Σ p = 1``, as LibSVM does, with its tolerance. Two classes need no coupling.

The others are those of scikit-learn's ``CalibratedClassifierCV``, over ``decision_function``. Two classes have one
score, the later one's.

Fitting takes targets (n, K): probabilities of the classes at each row, which are 0 and 1 where labels are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_softmax, softmax

from svmpress.decoders import Argmax, Decoder, Floats, PairDAG, PairVote, Sign, class_pairs
from svmpress.errors import InputError

Kind = Literal["pairs", "sigmoid", "isotonic", "temperature", "marks"]

_LEAST = 1e-7
"""What LibSVM allows of two classes at least."""
_BINS = 15
"""Of confidence, for the calibration error."""
_INLIER_LEVELS = np.array([0.001, *(np.arange(1, 10) / 10), 0.999])
"""The probabilities that an inlier can have: below the first mark, from each mark on."""
_MEMBERS: dict[str, Kind] = {
    "probA": "pairs",
    "sigmoid_slope": "sigmoid",
    "isotonic_x": "isotonic",
    "inverse_temperature": "temperature",
    "prob_density_marks": "marks",
}


def kind_of(parameters: Mapping[str, Any]) -> Kind | None:
    """Return the kind of these parameters; None where they are none, or not of classes or inliers."""
    return next((kind for name, kind in _MEMBERS.items() if name in parameters), None)


class Probabilities:
    """From decision values F (n, M) to the probability of each class, (n, K).

    Parameters
    ----------
    parameters : mapping of name to array
    decoder : Decoder

    Examples
    --------
    >>> sure = Probabilities({"probA": np.array([-1.0]), "probB": np.zeros(1)}, Sign(np.array(["no", "yes"])))
    >>> sure(np.array([[0.0], [9.0]])).round(3)
    array([[0.5, 0.5],
           [0. , 1. ]])
    """

    def __init__(self, parameters: Mapping[str, Floats], decoder: Decoder) -> None:
        kind = kind_of(parameters)
        self._n_classes = _n_classes(decoder)
        _check(parameters, kind, self._n_classes)
        self._parameters, self._decoder = parameters, decoder
        self._of = {
            "pairs": self._by_pairs,
            "sigmoid": self._by_sigmoids,
            "isotonic": self._by_curves,
            "temperature": self._by_temperature,
            "marks": self._by_marks,
        }[kind or "pairs"]

    def __call__(self, F: Floats) -> Floats:
        """Return the probabilities at decision values F."""
        return self._of(F.astype(np.float64, copy=False))

    def _by_pairs(self, F: Floats) -> Floats:
        r = _pair_values(self._decoder, F) * -self._parameters["probA"]
        r -= self._parameters["probB"]
        expit(r, out=r)
        np.maximum(r, _LEAST, out=r)
        np.minimum(r, 1 - _LEAST, out=r)
        return coupled(r, self._n_classes)

    def _by_temperature(self, F: Floats) -> Floats:
        scores = class_scores(self._decoder, F)
        both = np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores
        return np.asarray(softmax(self._parameters["inverse_temperature"] * both, axis=1))

    def _by_marks(self, F: Floats) -> Floats:
        inlier = _INLIER_LEVELS[np.searchsorted(self._parameters["prob_density_marks"], F[:, 0], side="right")]
        return np.stack([1 - inlier, inlier], axis=1)

    def _by_sigmoids(self, F: Floats) -> Floats:
        slope, offset = self._parameters["sigmoid_slope"], self._parameters["sigmoid_offset"]
        return _normalised(expit(-(slope * class_scores(self._decoder, F) + offset)))

    def _by_curves(self, F: Floats) -> Floats:
        scores, each = class_scores(self._decoder, F), []
        ends = np.cumsum(self._parameters["isotonic_points"].astype(np.intp))[:-1]
        curves = zip(*(np.split(self._parameters[name], ends) for name in ("isotonic_x", "isotonic_y")), strict=True)
        for k, (x, y) in enumerate(curves):
            each.append(np.interp(scores[:, k], x, y))
        return _normalised(np.stack(each, axis=1))


def _normalised(each: Floats) -> Floats:
    """Return probabilities that add up to one, (n, K), of those of each class, or of the later of two, (n, 1)."""
    if each.shape[1] == 1:
        return np.hstack([1 - each, each])
    total = each.sum(axis=1, keepdims=True)
    return np.divide(each, total, out=np.full_like(each, 1 / each.shape[1]), where=total > 0)


def class_probabilities(parameters: Mapping[str, Floats], decoder: Decoder, F: Floats) -> Floats:
    """Return the probability of each class, (n, K), at decision values F (n, M); see :class:`Probabilities`."""
    return Probabilities(parameters, decoder)(F)


def _check(parameters: Mapping[str, Floats], kind: Kind | None, n_classes: int) -> None:
    """Refuse parameters that are not those of so many classes: a file may hold anything."""
    n_scores = 1 if n_classes == 2 else n_classes
    points = parameters.get("isotonic_points", np.zeros(0))
    n_points = int(points.sum()) if (points >= 1).all() and (points < 2**31).all() else -1
    n_pairs = n_classes * (n_classes - 1) // 2
    wanted = {
        "pairs": {"probA": n_pairs, "probB": n_pairs},
        "sigmoid": {"sigmoid_slope": n_scores, "sigmoid_offset": n_scores},
        "isotonic": {"isotonic_x": n_points, "isotonic_y": n_points, "isotonic_points": n_scores},
        "temperature": {"inverse_temperature": 1},
        "marks": {"prob_density_marks": len(_INLIER_LEVELS) - 1},
    }
    for name, size in ({} if kind is None else wanted[kind]).items():
        a = parameters.get(name)
        if a is None or a.shape != (size,) or not np.isfinite(a).all():
            raise InputError(f"{name} of the model's probabilities must be {size} finite numbers")
    if kind == "marks" and (np.diff(parameters["prob_density_marks"]) < 0).any():
        raise InputError("prob_density_marks of the model's probabilities must be in ascending order")


def class_scores(decoder: Decoder, F: Floats) -> Floats:
    """Return one score a class, (n, K), or the later one's of two, (n, 1)."""
    if isinstance(decoder, PairDAG):
        decoder = PairVote(decoder.classes)
    if isinstance(decoder, PairVote):
        decoder = replace(decoder, shape="ovr")
    scores = decoder.scores(F)
    return scores[:, None] if scores.ndim == 1 else scores


def _n_classes(decoder: Decoder) -> int:
    if decoder.classes is None:
        raise InputError("a regressor has no probabilities of classes")
    return int(decoder.classes.size)


def _pair_values(decoder: Decoder, F: Floats) -> Floats:
    """Return values that are positive for the first class of each pair, (n, M)."""
    if isinstance(decoder, Sign):
        return -F
    if isinstance(decoder, Argmax):
        first, second = class_pairs(_n_classes(decoder)).T
        return F[:, first] - F[:, second]
    return F


def coupled(r: Floats, n_classes: int) -> Floats:
    """Return probabilities of K classes, (n, K), of those of the first class of each pair, (n, M).

    Examples
    --------
    >>> coupled(np.array([[0.8, 0.5, 0.2]]), 3).round(2).tolist()
    [[0.44, 0.11, 0.44]]
    """
    if n_classes == 2:
        p = np.empty((len(r), 2))
        p[:, :1] = r
        np.subtract(1, r, out=p[:, 1:])
        return p
    first, second = class_pairs(n_classes).T
    n, K = len(r), n_classes
    against = np.zeros((n, K, K))  # [:, i, j]: the part of class i in the pair of i and j
    against[:, first, second], against[:, second, first] = r, 1 - r
    Q = -against.transpose(0, 2, 1) * against
    diagonal = (against**2).sum(axis=1)
    Q[:, np.arange(K), np.arange(K)] = diagonal
    p, active = np.full((n, K), 1 / K), np.arange(n)
    for _ in range(max(100, K)):
        Qp = np.einsum("nij,nj->ni", Q[active], p[active])
        pQp = np.einsum("ni,ni->n", p[active], Qp)
        far = np.abs(Qp - pQp[:, None]).max(axis=1, initial=0.0) >= 0.005 / K
        active, Qp, pQp = active[far], Qp[far], pQp[far]
        if active.size == 0:
            break
        p[active] = _swept(Q[active], diagonal[active], p[active], Qp, pQp)
    return p


def _swept(Q: Floats, diagonal: Floats, p: Floats, Qp: Floats, pQp: Floats) -> Floats:
    """Return p (n, K) after one round over the classes, each moved to where its equation holds."""
    for t in range(p.shape[1]):
        step = (pQp - Qp[:, t]) / diagonal[:, t]
        p[:, t] += step
        scale = 1 / (1 + step)
        pQp = (pQp + step * (step * diagonal[:, t] + 2 * Qp[:, t])) * scale**2
        Qp = (Qp + step[:, None] * Q[:, t]) * scale[:, None]
        p *= scale[:, None]
    return p


# ---------------------------------------------------------------------------------------------------------
# Fitting
# ---------------------------------------------------------------------------------------------------------


def fit_probability(kind: Kind, decoder: Decoder, F: Floats, targets: Floats) -> dict[str, Floats]:
    """Return parameters of a kind, fitted to probabilities of the classes.

    Parameters
    ----------
    kind : "pairs", "sigmoid", "isotonic", "temperature" or "marks"
    decoder : Decoder
    F : (n, M)
        Decision values.
    targets : (n, K)
        Probabilities of the classes; 0 and 1 where labels are known.
    """
    F = F.astype(np.float64, copy=False)
    if kind == "pairs":
        values, pairs = _pair_values(decoder, F), class_pairs(_n_classes(decoder))
        weights = targets[:, pairs].sum(axis=2)
        parts = np.divide(targets[:, pairs[:, 0]], weights, out=np.full_like(values, 0.5), where=weights > 0)
        found = [fit_sigmoid(values[:, k], parts[:, k], weights[:, k]) for k in range(len(pairs))]
        return {"probA": np.array([a for a, _ in found]), "probB": np.array([b for _, b in found])}
    if kind == "marks":
        return {"prob_density_marks": _fit_marks(F[:, 0], targets[:, 1])}
    scores = class_scores(decoder, F)
    wanted = targets[:, 1:] if scores.shape[1] == 1 else targets
    if kind == "temperature":
        return {"inverse_temperature": _fit_temperature(scores, targets)}
    if kind == "sigmoid":
        found = [fit_sigmoid(f, t, np.ones_like(t)) for f, t in zip(scores.T, wanted.T, strict=True)]
        return {"sigmoid_slope": np.array([a for a, _ in found]), "sigmoid_offset": np.array([b for _, b in found])}
    from sklearn.isotonic import IsotonicRegression

    stairs = [IsotonicRegression().fit(f, t) for f, t in zip(scores.T, wanted.T, strict=True)]
    return {
        "isotonic_x": np.concatenate([s.X_thresholds_ for s in stairs]),
        "isotonic_y": np.concatenate([s.y_thresholds_ for s in stairs]),
        "isotonic_points": np.array([float(len(s.X_thresholds_)) for s in stairs]),
    }


def fit_sigmoid(f: Floats, targets: Floats, weights: Floats) -> tuple[float, float]:
    """Return a and b of ``1 / (1 + exp(a f + b))`` with the largest likelihood; f, targets and weights are (n,).

    As Platt has it, targets keep away from 0 and 1 by what so few rows may hide.
    """
    yes, no = float(weights @ targets), float(weights @ (1 - targets))
    high, low = (yes + 1) / (yes + 2), 1 / (no + 2)
    wanted, scale = low + (high - low) * targets, float(np.abs(f).max(initial=0.0)) or 1.0
    x = f / scale

    def loss(ab: Floats) -> tuple[float, Floats]:
        z = ab[0] * x + ab[1]  # minus the logit
        slope = weights * (wanted - expit(-z))
        return float(weights @ (np.logaddexp(0, z) - (1 - wanted) * z)), np.array([slope @ x, slope.sum()])

    found = minimize(loss, [0.0, np.log((no + 1) / (yes + 1))], jac=True, method="L-BFGS-B", options={"gtol": 1e-8})
    return float(found.x[0] / scale), float(found.x[1])


def _fit_marks(f: Floats, inlier: Floats) -> Floats:
    """Return marks that so many of the values f (n,) lie below as there are rows less likely to be inliers."""
    below = [float(np.mean(inlier < level - 0.05)) for level in [*_INLIER_LEVELS[1:-1], 1.0]]
    return np.asarray(np.quantile(f, below), dtype=np.float64)


def _fit_temperature(scores: Floats, targets: Floats) -> Floats:
    both = np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores
    found = minimize_scalar(
        lambda log_beta: -float(np.mean(np.sum(targets * log_softmax(np.exp(log_beta) * both, axis=1), axis=1))),
        bounds=(-10, 10),
        method="bounded",
    )
    return np.array([np.exp(found.x)])


# ---------------------------------------------------------------------------------------------------------
# How good probabilities are
# ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Calibration:
    """How good probabilities are at rows with labels.

    Parameters
    ----------
    brier : float
        Mean squared distance of the probabilities from the label: of the later class where there are two, else summed
        over the classes.
    error : float
        Expected calibration error: how far confidence in the answer is from being right, the mean over rows in 15 bins
        of confidence.
    """

    brier: float
    error: float

    @classmethod
    def of(cls, P: Floats, wanted: NDArray[np.intp]) -> Calibration:
        """Return that of probabilities (n, K) for the positions of the right classes (n,).

        Examples
        --------
        >>> Calibration.of(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1, 1]))
        Calibration(brier=0.5, error=0.5)
        """
        distance = P - np.eye(P.shape[1])[wanted]
        brier = float(np.mean(np.sum(distance**2, axis=1))) / (2 if P.shape[1] == 2 else 1)
        confidence, right = P.max(axis=1), P.argmax(axis=1) == wanted
        place = np.minimum((confidence * _BINS).astype(np.intp), _BINS - 1)
        gaps = np.bincount(place, weights=confidence - right, minlength=_BINS)
        return cls(brier, float(np.abs(gaps).sum() / len(P)))
