"""A brief compression: what trials use, and a method for those in a hurry.

Variable projection for a few steps, and for a classifier with labels a few more on their margins: the compression of
:mod:`svmpress.methods.auto` without its choices, at a hundredth of a second to a second a size. A size starts from the vectors
of a smaller one and as many new k-means centres as are missing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from svmpress.methods import Finish, Outcome, Problem, Scene, Setting
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
            fit = self.fits(Scene.of(problem), m, before)[-1]
        status = "" if len(fit.vectors) == m else "there are fewer distinct rows than vectors asked for"
        return Outcome(expansion_of(fit), status=status)

    def fits(self, scene: Scene, m: int, smaller: Floats | None = None) -> list[Refined]:
        """Return the fits of m vectors: by values, and then by labels of classes where there are any."""
        d = scene.X.shape[1]
        before = np.empty((0, d)) if smaller is None else smaller
        V = np.concatenate([before, kmeans_centres(scene.X, m - len(before), scene.problem.seed + m)])
        kernel = scene.problem.source.kernel
        fits = [scene.project(V, kernel, Setting(), self.steps, "brief", None)]
        if Finish.LABELS in scene.finishes and self.label_steps:
            fits.append(scene.finish(Finish.LABELS, fits[0], Setting(), self.label_steps, "brief", None))
        return fits


def expansion_of(fit: Refined) -> KernelExpansion:
    """Return a fit as an expansion."""
    return KernelExpansion(fit.kernel, fit.vectors, fit.coef, fit.intercept)
