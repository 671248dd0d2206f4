"""What to expect of a compressed model.

Agreement with the source needs no labels, and is measured on the rows given. Accuracy on these would flatter: the
source was trained on them, most often, and its values near them carry their labels. So it is that of the search for
choices, where an SVM like the source was trained, and compressed, without the rows that judge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from svmpress.methods import Check, Holdout, Problem, Score
from svmpress.model import KernelModel, expansion_bytes
from svmpress.numerics import Rows, arrays, chosen_rows

_LEAST = 0.9
"""Agreement, or R², below which a small model does not answer as its source does."""
_CONFIDENCE = 0.95
_MOST = 5_000
"""Rows or vectors that are asked."""


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
    measure : "accuracy" or "R²"
    agreement : Estimate
        With the source: the share of rows that get the same answer, or R² against the source's values.
    rows : int
        How many rows that was measured on.
    on : str
        What these are.
    accuracy, source_accuracy : Estimate or None
        With y: the share of held-out rows that are answered right, or R², of the best small model of the search and of
        the SVM that it was made of, which is like the source. Neither has seen those rows.
    held_out : int
        How many rows the accuracies were measured on.
    lost : tuple of str
        Classes that the source answers and the small model does not.
    """

    measure: str
    agreement: Estimate
    rows: int
    on: str
    accuracy: Estimate | None = None
    source_accuracy: Estimate | None = None
    held_out: int = 0
    lost: tuple[str, ...] = ()

    @property
    def is_no_worse(self) -> bool:
        """Whether held-out rows say that what it answers is as good as what the source answers, if not the same."""
        if self.accuracy is None or self.source_accuracy is None:
            return False
        return self.accuracy.value >= self.source_accuracy.value

    def lines(self) -> list[str]:
        """Return it for a person to read."""
        what = "agreement" if self.measure == "accuracy" else "R² to source"
        found = []
        if self.accuracy is not None:
            beside = f"an SVM like the source: {self.source_accuracy}"
            found.append(f"{self.measure:<16} {self.accuracy} on {self.held_out:,} held-out rows; {beside}")
        found.append(f"{what:<16} {self.agreement} on {self.rows:,} {self.on}")
        return found


def expect(problem: Problem, model: KernelModel, check: Check | None) -> Expectation:
    """Return how a small model answers.

    Parameters
    ----------
    problem : Problem
        With the rows that were given and are used.
    model : KernelModel
    check : Check or None
        How the choices that led to it did on held-out rows.
    """
    source = problem.source
    vectors = source.expansion.vectors
    of_vectors = chosen_rows(vectors.shape[0], _MOST, problem.seed)
    if problem.rows is None:
        on, rows, some = "support vectors, as no rows are known", vectors, of_vectors
    else:
        on, rows, some = "of the rows given", problem.rows, chosen_rows(problem.rows.shape[0], _MOST, problem.seed)
    alike = Holdout(replace(problem, rows=rows, y=None), some)
    return Expectation(
        "R²" if source.classes_ is None else "accuracy",
        Estimate.of(alike.score_values(alike.values(model.expansion), model.decoder)),
        alike.n,
        on,
        None if check is None else Estimate.of(check.small),
        None if check is None else Estimate.of(check.teacher),
        0 if check is None else check.small.goodness.size,
        _lost_classes(problem, [alike.X, arrays.take(vectors, of_vectors)], model),
    )


def doubts(expectation: Expectation, source: KernelModel, model: KernelModel) -> tuple[str, ...]:
    """Return what a person should be warned of: answers that are not the source's."""
    found = []
    if expectation.agreement.value < _LEAST:
        is_regressor = source.classes_ is None
        what = "has, against its source's values, an R² of" if is_regressor else "agrees with its source on"
        of = f"{expectation.agreement.value:.1%} of {expectation.rows:,} {expectation.on}"
        beside = ", and is no worse than an SVM like the source on held-out rows" if expectation.is_no_worse else ""
        found.append(f"the small model {what} {of}{beside}")
    classes = source.classes_
    differs = expectation.agreement.value < 1.0  # one vector of a linear kernel may well separate two classes
    if classes is not None and source.task == "classification" and model.n_vectors < classes.size and differs:
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


def _lost_classes(problem: Problem, rows: list[Rows], model: KernelModel) -> tuple[str, ...]:
    """Return the classes that the source answers somewhere among these rows, and the small model nowhere."""
    source = problem.source
    if source.classes_ is None:
        return ()
    answered, kept = set(), set()
    for X in rows:
        answered |= set(source.decoder.positions(problem.values(X)).tolist())
        F = arrays.to_numpy(model.expansion.decision_values(X, problem.max_bytes))
        kept |= set(model.decoder.positions(F).tolist())
    return tuple(str(source.classes_[c]) for c in sorted(answered - kept))
