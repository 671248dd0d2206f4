"""What to expect of a compressed model: how it answers rows that no fit has seen, beside its source.

Agreement with the source needs no labels. Accuracy does, and there the source has an advantage: it may have been
trained on these very rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from svmpress.methods import Holdout, Problem, Score
from svmpress.model import KernelModel, expansion_bytes
from svmpress.numerics import arrays

_LEAST = 0.9
"""Agreement, or R², below which a small model does not answer as its source does."""
_CONFIDENCE = 0.95
_MOST_VECTORS = 2_000
"""Vectors of the source that stand in for rows where there are none."""


@dataclass(frozen=True)
class Estimate:
    """A share or an R², with the interval that holds the true one in 95 of 100 cases."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4f} ({self.low:.4f} to {self.high:.4f})"

    @classmethod
    def of(cls, score: Score) -> Estimate:
        """Return the estimate of a score: Wilson's interval for shares, else that of a mean.

        Examples
        --------
        >>> print(Estimate.of(Score(np.array([1.0] * 99 + [0.0]))))
        0.9900 (0.9455 to 0.9982)
        """
        g, n, z = score.goodness, score.goodness.size, float(ndtri(0.5 + _CONFIDENCE / 2))
        p = score.mean
        if np.isin(g, (0.0, 1.0)).all():
            middle, half = p + z * z / (2 * n), z * float(np.sqrt(p * (1 - p) / n + (z / (2 * n)) ** 2))
            low, high = ((middle + side * half) / (1 + z * z / n) for side in (-1, 1))
            return cls(p, max(0.0, min(low, p)), min(1.0, max(high, p)))  # the ends of p = 0 and 1 are so to rounding
        half = z * float(g.std()) / np.sqrt(n)
        return cls(p, p - half, p + half)


@dataclass(frozen=True)
class Expectation:
    """How a small model answers, measured.

    Parameters
    ----------
    on : str
        What it was measured on: held-out rows, fitted rows, or support vectors.
    rows : int
    measure : "accuracy" or "R²"
    agreement : Estimate
        With the source: the share of rows that get the same answer, or R² against the source's values.
    accuracy, source_accuracy : Estimate or None
        With y: the share of rows that are answered right, or R².
    lost : tuple of str
        Classes that the source answers and the small model does not.
    """

    on: str
    rows: int
    measure: str
    agreement: Estimate
    accuracy: Estimate | None = None
    source_accuracy: Estimate | None = None
    lost: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Return it for a person to read."""
        agreement = "agreement" if self.measure == "accuracy" else "R² of source"
        found = []
        if self.accuracy is not None:
            found.append(f"{self.measure:<16} {self.accuracy}; source {self.source_accuracy}")
        found.append(f"{agreement:<16} {self.agreement}")
        found.append(f"measured on      {self.rows:,} {self.on}")
        return found


def expect(problem: Problem, check: NDArray[np.intp] | None, model: KernelModel) -> Expectation:
    """Return how a small model answers.

    Parameters
    ----------
    problem : Problem
        With all rows that were given and are used.
    check : (k,) or None
        Rows among these that were not fitted; None: there are none.
    model : KernelModel
    """
    source = problem.source
    on = "held-out rows"
    if problem.rows is None:
        on, rows = "support vectors of the source, as no rows are known", source.expansion.vectors
        check = _some(rows.shape[0], problem.seed)
        problem = replace(problem, rows=rows, y=None)
    elif check is None:
        on, check = "rows that were fitted: there are too few to hold any out", np.arange(problem.rows.shape[0])
    alike = Holdout(replace(problem, y=None), check)
    F = alike.values(model.expansion)
    accuracy = source_accuracy = None
    if problem.y is not None:
        right = Holdout(problem, check)
        accuracy, source_accuracy = Estimate.of(right.score_values(F, model.decoder)), Estimate.of(right.source)
    return Expectation(
        on,
        alike.n,
        "R²" if source.classes_ is None else "accuracy",
        Estimate.of(alike.score_values(F, model.decoder)),
        accuracy,
        source_accuracy,
        _lost_classes(problem, check, model),
    )


def doubts(expectation: Expectation, source: KernelModel, model: KernelModel) -> tuple[str, ...]:
    """Return what a person should be warned of: answers that are not the source's."""
    found = []
    if expectation.agreement.value < _LEAST:
        what = (
            "agrees with its source on" if source.classes_ is not None else "has, against its source's values, an R² of"
        )
        found.append(
            f"the small model {what} {expectation.agreement.value:.1%} of {expectation.rows:,} {expectation.on}"
        )
    classes = source.classes_
    if classes is not None and source.task == "classification" and model.n_vectors < classes.size:
        found.append(f"there are fewer vectors ({model.n_vectors}) than classes ({classes.size})")
    if expectation.lost:
        some = ", ".join(expectation.lost[:5])
        found.append(f"the small model no longer answers {len(expectation.lost)} of the classes: {some}")
    return tuple(found)


def growth(source: KernelModel, model: KernelModel) -> tuple[str, ...]:
    """Return a warning where the small model takes more bytes than its source, whose vectors are sparse."""
    before, after = _stored_bytes(source), expansion_bytes(model.expansion)
    if after <= before:
        return ()
    return (
        f"its dense vectors take {after:,} bytes, more than the {before:,} of the source: max_bytes= asks for fewer",
    )


def _stored_bytes(model: KernelModel) -> int:
    vectors = model.expansion.vectors
    if not arrays.is_csr(vectors):
        return expansion_bytes(model.expansion)
    dense = vectors.shape[0] * vectors.shape[1]
    each = vectors.data.itemsize + vectors.indices.itemsize
    return int(expansion_bytes(model.expansion) - model.expansion.coef.dtype.itemsize * dense + each * vectors.nnz)


def _lost_classes(problem: Problem, check: NDArray[np.intp], model: KernelModel) -> tuple[str, ...]:
    """Return the classes that the source answers somewhere, and the small model nowhere."""
    source = problem.source
    if source.classes_ is None:
        return ()
    vectors = source.expansion.vectors
    some = arrays.take(vectors, _some(vectors.shape[0], problem.seed))
    rows = [some] if problem.rows is None else [arrays.take(problem.rows, check), some]
    answered, kept = set(), set()
    for X in rows:
        answered |= set(source.decoder.positions(problem.values(X)).tolist())
        F = arrays.to_numpy(model.expansion.decision_values(X, problem.max_bytes))
        kept |= set(model.decoder.positions(F).tolist())
    return tuple(str(source.classes_[c]) for c in sorted(answered - kept))


def _some(n: int, seed: int) -> NDArray[np.intp]:
    return np.sort(np.random.default_rng(seed).permutation(n)[:_MOST_VECTORS])
