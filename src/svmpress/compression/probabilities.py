"""Probabilities of a small model: the source's parameters where they still hold, else fitted again.

Parameters belong to decision values. Where these were copied, the source's parameters are kept, unless others that are
fitted to some rows are closer to its probabilities on others; where the small model has values of its own, the fitted
ones are taken. They are of the kind that the source had.

What they are fitted to are the source's probabilities, not labels: the source was calibrated on rows that it had not
been trained on, while those that are given here are its training rows, more often than not, and on these any SVM looks
surer than it should be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.methods import Problem, split_rows
from svmpress.model import Calibration, KernelModel, class_probabilities, fit_probability, kind_of
from svmpress.numerics import arrays

_LEAST_ROWS = 30
"""Rows from which on parameters are fitted and judged."""
_MOST_ROWS = 10_000
"""That parameters are fitted to."""
_BAR = 1.0
"""Standard errors by which fitted parameters must be ahead of those that are kept."""


@dataclass(frozen=True)
class ProbabilityCheck:
    """How good the probabilities of a small model are, on rows to which no parameters were fitted.

    If the source was trained on these rows, both it and the small model look better than they are on new ones.

    Parameters
    ----------
    kept : bool
        Whether the parameters are the source's; else they were fitted again.
    on : str
        What it was measured on.
    rows : int
    difference : float
        Mean distance of a probability from the source's.
    calibration, source_calibration : Calibration or None
        With labels: Brier score and expected calibration error, of the small model and of its source.
    """

    kept: bool
    on: str
    rows: int
    difference: float
    calibration: Calibration | None = None
    source_calibration: Calibration | None = None

    def lines(self) -> list[str]:
        """Return it for a person to read."""
        how = "kept" if self.kept else "calibrated again"
        found = [
            f"probabilities    {how}; {self.difference:.4f} from the source's on average, on {self.rows:,} {self.on}"
        ]
        if self.calibration is not None and self.source_calibration is not None:
            now, before = self.calibration, self.source_calibration
            found += [
                f"Brier score      {now.brier:.4f}; source {before.brier:.4f}",
                f"calibration err. {now.error:.4f}; source {before.error:.4f}",
            ]
        return found


def with_probabilities(model: KernelModel, problem: Problem) -> tuple[KernelModel, ProbabilityCheck | None]:
    """Return the small model with parameters of probabilities, and how good they are; None where there are none.

    Parameters
    ----------
    model : KernelModel
        With the source's parameters if it copies its values, else without.
    problem : Problem
        With the rows that were given and are used.
    """
    source = problem.source
    kind = kind_of(source.probability)
    if kind is None or not source.has_probability:
        return model, None
    on, X, y, fit, judges = _rows(problem)

    def values(which: NDArray[np.intp]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the small model's values at rows, and the source's probabilities."""
        rows = arrays.take(X, which)
        theirs = class_probabilities(source.probability, source.decoder, problem.values(rows))
        return arrays.to_numpy(model.expansion.decision_values(rows, problem.max_bytes)), theirs

    F, theirs = values(judges)
    kept = bool(model.probability)
    if fit.size:
        again = fit_probability(kind, model.decoder, *values(fit))
        old = None if not kept else class_probabilities(model.probability, model.decoder, F)
        if old is None or _is_ahead(class_probabilities(again, model.decoder, F), old, theirs):
            model, kept = replace(model, probability=again), False
    if not model.probability:
        return model, None
    ours = class_probabilities(model.probability, model.decoder, F)
    difference = float(np.abs(ours - theirs).mean())
    if y is None:
        return model, ProbabilityCheck(kept, on, judges.size, difference)
    right = y[judges]
    return model, ProbabilityCheck(
        kept, on, judges.size, difference, Calibration.of(ours, right), Calibration.of(theirs, right)
    )


def _rows(
    problem: Problem,
) -> tuple[str, arrays.Rows, NDArray[np.intp] | None, NDArray[np.intp], NDArray[np.intp]]:
    """Return what rows there are, they, the positions of their classes if labels are known, and two sets of positions.

    Parameters are fitted to the first, none where rows are few, and judged on the second.
    """
    if problem.rows is None:
        on, X, y = "support vectors, as no rows are known", problem.source.expansion.vectors, None
    else:
        on, X, y = "of the rows given", problem.rows, problem.y
    n = X.shape[0]
    if n < _LEAST_ROWS:
        return on, X, y, np.arange(0), np.arange(n)
    fit, judges = split_rows(n, problem.seed, y)
    return on, X, y, np.random.default_rng(problem.seed).permutation(fit)[:_MOST_ROWS], judges


def _is_ahead(new: NDArray[Any], old: NDArray[Any], targets: NDArray[Any]) -> bool:
    """Return whether probabilities are closer to the targets than others are, by more than noise."""
    gain = np.sum((old - targets) ** 2 - (new - targets) ** 2, axis=1)
    return bool(gain.mean() > _BAR * gain.std() / np.sqrt(len(gain)))
