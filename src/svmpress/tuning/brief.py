"""A brief compression: what trials use, and a method for those in a hurry.

Variable projection for a few steps, and for a classifier with labels a few more on their margins: the default method
without its choices, at a hundredth of a second to a second a size. A size starts from the vectors of a smaller one and
as many new k-means centres as are missing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from svmpress.methods import FitTask, Margins, Outcome, Problem, Recipe, Work
from svmpress.model import KernelExpansion
from svmpress.numerics import Floats, arrays
from svmpress.objectives import Refined
from svmpress.select import kmeans_centres


@dataclass(frozen=True)
class Brief:
    """Variable projection, then margins of the labels, a fixed number of steps each; nothing is held out.

    Parameters
    ----------
    steps : int
        Of variable projection.
    label_steps : int
        On margins; none without labels.
    """

    steps: int = 12
    label_steps: int = 6

    def run(self, problem: Problem, m: int, smaller: Outcome | None = None) -> Outcome:
        """Return an expansion of ``m`` vectors, grown from ``smaller``."""
        before = None if smaller is None else np.asarray(arrays.dense(smaller.expansion.vectors))
        with threadpool_limits(limits=1):  # the products are small: threads would wait for each other
            rows = problem.source.expansion.vectors if problem.rows is None else problem.rows
            fit = self.fits(FitTask(replace(problem, rows=rows), m, Work(0.0)), before)[-1]
        status = "" if len(fit.vectors) == m else "there are fewer distinct rows than vectors asked for"
        return Outcome(expansion_of(fit), status=status)

    def fits(self, task: FitTask, smaller: Floats | None = None) -> list[Refined]:
        """Return the fits of m vectors: by values, and then by labels of classes where there are any."""
        X = task.rows
        before = np.empty((0, X.shape[1])) if smaller is None else smaller
        V = np.concatenate([before, kmeans_centres(X, task.m - len(before), task.problem.seed + task.m)])
        fits = [task.project(Recipe(), V, task.problem.source.kernel, self.steps, "fast")]
        if self.label_steps and task.problem.y is not None and not task.is_regression:
            fits.append(task.tune(Recipe(margins=Margins.LABELS), fits[0], self.label_steps, "fast"))
        return fits


def expansion_of(fit: Refined) -> KernelExpansion:
    """Return a fit as an expansion."""
    return KernelExpansion(fit.kernel, fit.vectors, fit.coef, fit.intercept)
