"""Trials: the fits of one compression, the work that they take, and what a judge says of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from svmpress.kernels import Kernel
from svmpress.methods.auto.effort import Effort
from svmpress.methods.auto.scene import Finish, Scene, Setting
from svmpress.methods.holdout import Judge, Verdict
from svmpress.model import KernelExpansion
from svmpress.numerics import Floats
from svmpress.objectives import Refined

HELPS, CLEAR, FAR = 1.0, 2.0, 3.0
"""Standard errors by which the judge must prefer another setting before it is adopted; one of two ways, or a shorter
descent, before the other is given up, and a setting where many are tried; and one way before the other is not even
tried in earnest."""


@dataclass(frozen=True, eq=False)
class Tried:
    """A fit and what the judge says; without a judge the score is the negative objective."""

    fit: Refined
    verdict: Verdict | None
    steps: int = 0
    """How many the descent has taken to get here."""

    @property
    def score(self) -> float:
        """The judge's score; higher is better."""
        return -self.fit.value if self.verdict is None else self.verdict.score

    def against(self, other: Tried) -> str:
        """Say how this compares."""
        return f"({other.score:.4f} -> {self.score:.4f}, {self.gain_over(other):+.1f} standard errors)"

    def gain_over(self, other: Tried) -> float:
        """Return how much better the judge finds this, in standard errors."""
        return 0.0 if self.verdict is None or other.verdict is None else self.verdict.gain_over(other.verdict)


@dataclass(frozen=True, eq=False)
class Trials:
    """Fits scenes and keeps the account.

    Parameters
    ----------
    effort : Effort
        Whose ``spent`` grows.
    """

    effort: Effort

    def steps(self, part: float, scene: Scene, setting: Setting, least: int, most: int) -> int:
        """Return how many iterations a part of the work buys."""
        return self.effort.steps(part, self._cost(scene, setting), least, most)

    def project(self, scene: Scene, V: Floats, kernel: Kernel, setting: Setting, steps: int, stage: str) -> Refined:
        """Fit by variable projection from vectors V (m, d)."""
        fit = scene.project(V, kernel, setting, steps, stage, self.effort.mask_of(scene.targets.shape[1]))
        self.effort.spent += (fit.n_iter + 1) * self._cost(scene, setting)
        return fit

    def finish(self, scene: Scene, how: Finish, at: Refined, setting: Setting, steps: int) -> Refined:
        """Go on with margins instead of values."""
        fit = scene.finish(how, at, setting, steps, "finish", self.effort.mask_of(scene.targets.shape[1]))
        self.effort.spent += (steps + 2) * self.effort.finish(scene)
        return fit

    def continued(self, scene: Scene, judge: Judge, at: Tried, setting: Setting, steps: int) -> Tried:
        """Go on from a fit by variable projection, and have it judged."""
        fit = self.project(scene, at.fit.vectors, at.fit.kernel, setting, steps, "settings")
        return replace(self.judged(judge, scene, fit), steps=at.steps + fit.n_iter)

    def judged(self, judge: Judge | None, scene: Scene, fit: Refined) -> Tried:
        """Ask the judge, if there is one."""
        return Tried(fit, None if judge is None else judge.of(self.expansion(fit), scene.decoder))

    def expansion(self, fit: Refined) -> KernelExpansion:
        """Return what was fitted, with its mask."""
        mask = self.effort.mask_of(fit.coef.shape[1])
        return KernelExpansion(
            fit.kernel, fit.vectors, fit.coef if mask is None else fit.coef * mask, fit.intercept, mask
        )

    def _cost(self, scene: Scene, setting: Setting) -> float:
        return self.effort.projection(scene.n, scene.targets.shape[1], setting)
