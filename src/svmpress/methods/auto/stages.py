"""The stages of one way to fit, after its start: settings, descent, finish, each as held-out rows approve of it.

:mod:`svmpress.choices` decides between ways; here is what each of them goes through.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.kernels import Kernel
from svmpress.methods.auto.scene import Finish, Guard, Scene, Setting
from svmpress.methods.auto.trials import CLEAR, HELPS, Trials, Tried
from svmpress.methods.base import Problem
from svmpress.methods.holdout import Judge
from svmpress.numerics import Floats
from svmpress.objectives import Refined, scaled_to_margins, sides_of

REACH = 1.5
"""Where the values of a machine that votes are cut off: half a margin beyond the margin."""
_LONG, _LONGER, _MOST_LONG = 0.2, 0.4, 2000
"""Shares of the work of a finish that may go far, under a mask and where labels are many, and steps at most."""
_MANY_LABELS = 10
"""Labels for each number that moves, from which on a finish cannot follow them to the letter."""


@dataclass(frozen=True, eq=False)
class Choice:
    """What the search settled on: vectors and kernel to start from, how to fit, and how to finish."""

    vectors: Floats
    kernel: Kernel
    setting: Setting
    copies: bool = True
    """Whether the source's values are fitted; else labels, or values halfway to them."""
    steps: int | None = None
    """Steps of descent; None: as many as the work allows."""
    ridge: float | None = None
    """The ridge of the last solve; None: the setting's."""
    finish: Finish | None = None
    finish_steps: int = 0
    again: Refined | None = None
    """Where to start again instead, if the descent has steps enough."""


@dataclass(frozen=True)
class _Ladder:
    """Changes of one field of a setting, tried one after the other as far as they help; ``name`` may show the value.

    Of several ladders for the same field, the first that helps is enough.
    """

    knob: str
    name: str
    values: tuple[Any, ...]
    ties: bool = False
    """Whether an equal score counts as help: what a norm prevents comes later."""
    needed: float = HELPS
    """Standard errors by which the judge must prefer it."""


Way = tuple[Tried, Choice]
"""A fit and the choice that leads to it."""


@dataclass(frozen=True, eq=False)
class Stages:
    """The stages of the fits of one compression.

    Parameters
    ----------
    problem : Problem
        Of which the source and the memory count.
    m : int
    mask : (m, M) bool or None
        Coefficients that may differ from zero, if not all.
    trials : Trials
    notes : list of str
        Grows by what was decided, and why.
    """

    problem: Problem
    m: int
    mask: NDArray[np.bool_] | None
    trials: Trials
    notes: list[str]

    def finished(
        self, scene: Scene, judge: Judge, start: Tried, best: Tried, setting: Setting, *, trusted: bool
    ) -> Way:
        """Descend and finish; not ``trusted``: the teacher saw few rows, and finishes on its margins win near ties."""
        return self._best_finish(scene, judge, *self._best_descent(scene, judge, start, best, setting), trusted=trusted)

    def best_setting(self, scene: Scene, judge: Judge, best: Tried, setting: Setting) -> tuple[Tried, Setting]:
        """Try one change of setting after the other, against as much work without it, from the same vectors."""
        plain, settled = None, set()
        for ladder in self._ladders(scene, setting):
            if ladder.knob in settled:
                continue
            plain = plain or self._sampled(scene, judge, best, setting)
            top, chosen, tried = plain, setting, {}
            for value in ladder.values:
                changed = replace(setting, **{ladder.knob: value})
                other = self._sampled(scene, judge, best, changed)
                tried[changed] = f"{ladder.name.format(value)} {other.against(plain)}"
                if other.score < top.score or (other.score == top.score and not ladder.ties):
                    break  # further along the same ladder is no better
                top, chosen = other, changed
            adopted = top.gain_over(plain) > ladder.needed
            self._say_adopted(tried.pop(chosen) if adopted else "", tried.values())
            if adopted:
                best, setting, plain = top, chosen, None
                settled.add(ladder.knob)
        return plain or best, setting

    def _say_adopted(self, adopted: str, others: Iterable[str]) -> None:
        """Note what was adopted, if anything, and what was tried beside it."""
        rest = ", or ".join(others)
        if adopted:
            self.notes.append(f"adopted: {adopted}{f'; tried, too: {rest}' if rest else ''}")
        else:
            self.notes.append(f"not adopted: {rest}")

    def _sampled(self, scene: Scene, judge: Judge, at: Tried, setting: Setting) -> Tried:
        """Go on for as many steps as a small part of the work buys with this setting: some take more than others."""
        return self.trials.continued(scene, judge, at, setting, self.trials.steps(0.02, scene, setting, 4, 60))

    def _ladders(self, scene: Scene, setting: Setting) -> list[_Ladder]:
        """Return the changes of setting to try."""
        ladders = []
        usual = HELPS if self.mask is None else CLEAR  # a mask has more to try, and more that helps by chance
        if scene.pairwise and scene.copies and 8 * scene.n_classes * self.m**2 < self.problem.max_bytes:
            name = "weight {:g} for rows of neither class of a pair"
            ways = ((0.01, 0.001), (0.1,)) if self.mask is None else ((0.001,),)
            # without a mask, a step takes several times as long: in a whole descent it must be worth that
            ladders += [_Ladder("relevance", name, way, needed=CLEAR) for way in ways]
        kernel = self.problem.source.kernel
        if kernel.width_matters and kernel.params["gamma"] > 0:
            ladders.append(_Ladder("width", "learning the kernel width", (True,), needed=usual))
        if scene.copies and self.mask is not None and not self.problem.source.probability:
            # a machine with few coefficients votes; probabilities were calibrated on values, however large
            cut = setting.reach < inf
            name = f"values as they are, not cut off at {REACH:g}" if cut else "values cut off at {:g}"
            ladders.append(_Ladder("reach", name, (inf if cut else REACH,)))
        if scene.copies and self.mask is not None and kernel.definite:
            # a machine has coefficients of its own and the rows of two classes: it can follow these to the letter
            name = "a norm of weight {:g}"
            ladders.append(_Ladder("norm", name, (0.01, 0.1, 1.0), ties=True))
            ladders.append(_Ladder("norm", name, (0.001,), ties=True, needed=usual))  # the norm's second chance
        if scene.copies:
            ladders.append(_Ladder("ridge", "a stronger ridge", (1e-5,), needed=usual))
        return ladders

    def _best_descent(self, scene: Scene, judge: Judge, start: Tried, best: Tried, setting: Setting) -> Way:
        """Descend, judged along the way: how far to go and the ridge of the last solve are choices, too."""
        total = self.trials.steps(0.2, scene, setting, 12, 600)
        way = [best]
        # a copy that competes with y must not look better than it will be under guard
        guard = Guard.of(scene) if scene.labels is not None else Guard(is_needed=False)
        watched = guard.over(scene, best.fit.vectors)
        for steps in (total // 4, total // 4, total // 2):
            tried = self.trials.continued(watched, judge, way[-1], setting, steps)
            if guard.is_needed:
                watched = guard.over(scene, tried.fit.vectors)
                tried = self.trials.continued(watched, judge, tried, setting, 0)
            way.append(tried)
        peak = max(way, key=lambda tried: tried.score)
        enough = CLEAR if scene.copies else 0.0  # a closer copy is good in itself, a closer fit to labels is not
        top = next(tried for tried in reversed(way) if peak.gain_over(tried) <= enough)
        if top is not way[-1]:
            done = top.steps - best.steps
            self.notes.append(f"the descent stops after {done} steps, before it fits what does not carry over")
        if not scene.copies:  # vectors that know the labels of some rows start again with all
            choice = Choice(start.fit.vectors, start.fit.kernel, setting, False, top.steps - start.steps)
        elif top is way[-1]:
            # under a mask a machine holds every row that it has seen, and vectors stay with those that came first
            again = None if self.mask is None else start.fit
            choice = Choice(top.fit.vectors, top.fit.kernel, setting, again=again)
        else:
            choice = Choice(best.fit.vectors, best.fit.kernel, setting, steps=top.steps - best.steps)
        before = top.score
        if not scene.copies:  # what holds labels back is the norm, which has been chosen
            return top, choice
        for ridge in setting.ridge * np.array([10.0, 100.0, 1e3, 1e4]):
            other = self.trials.continued(watched, judge, top, replace(setting, ridge=float(ridge)), 0)
            if other.gain_over(top) > CLEAR:
                top, choice = other, replace(choice, ridge=float(ridge))
        if choice.ridge is not None:
            self.notes.append(f"last solve with the ridge {choice.ridge:g} ({before:.4f} -> {top.score:.4f})")
        return top, choice

    def _best_finish(self, scene: Scene, judge: Judge, best: Tried, choice: Choice, *, trusted: bool) -> Way:
        """Try margins instead of values, judged along the way: how far to go is part of the choice."""
        if not scene.finishes:
            return best, choice
        many = trusted and self._many_labels(scene, choice)
        top, chosen, tried = best, choice, {}
        for how in sorted(scene.finishes, key=lambda how: many and how is not Finish.LABELS):
            safe = how is Finish.LABELS and many
            # machines with few coefficients have a long way to the source's margins; what needs a norm must not go it
            masked = how is Finish.SOURCE and self.mask is not None and not choice.setting.norm
            part = _LONGER if safe else _LONG if masked else 0.0
            way = self._finishing(scene, judge, how, best, choice.setting, part)
            last, steps = peak = max(way, key=lambda judged: judged[0].score)
            if safe:  # further is better in itself where labels are many
                last, steps = next(judged for judged in reversed(way) if peak[0].gain_over(judged[0]) <= CLEAR)
            tried[how] = f"a finish on margins {how.value}, {steps} steps {last.against(best)}"
            if safe:
                ahead = self._ahead(judge, scene, best, last)
                tried[how] += f"; {ahead:+.1f} by the margins of these rows"
                # margins say more of a row than whether its answer is right, which is the same before and after of most
                needed = -HELPS if ahead > CLEAR else 0.0
            elif how is Finish.LABELS and scene.copies:  # what leaves the source must pay
                needed = CLEAR
            elif (many and chosen.finish is not None) or (self.mask is not None and (trusted or choice.setting.norm)):
                needed = HELPS  # many labels know better; machines with few coefficients may hold every row after it
            else:
                needed = 0.0 if trusted or how is Finish.LABELS else -CLEAR
            if last.gain_over(top) > needed:
                top, chosen = last, replace(choice, finish=how, finish_steps=steps)
        self._say_adopted("" if chosen.finish is None else tried.pop(chosen.finish), tried.values())
        return top, chosen

    def _finishing(
        self, scene: Scene, judge: Judge, how: Finish, best: Tried, setting: Setting, part: float
    ) -> list[tuple[Tried, int]]:
        """Go on with margins, each time for as many steps again; return what came of it, and after how many.

        In all, some hundred steps, or as many as ``part`` of the work buys if that is more.
        """
        cost = self.trials.effort.finish(scene)
        first = self.trials.effort.steps(0.01, cost, 10, 25)
        most = self.trials.effort.steps(part, cost, 4 * first, _MOST_LONG)
        at, done, way = best.fit, 0, []
        while 2 * done <= most:
            steps = done or first
            at = self.trials.finish(scene, how, at, setting, steps)
            done += steps
            way.append((self.trials.judged(judge, scene, at), done))
        return way

    def _ahead(self, judge: Judge, scene: Scene, before: Tried, after: Tried) -> float:
        """Return by how many standard errors held-out rows are closer to the margins of their labels after a finish.

        One machine's values, fitted to others, first get the scale and the shift that suit margins best: that alone
        changes hardly an answer, and is no gain.
        """
        finished, plain = (self.trials.expansion(tried.fit) for tried in (after, before))
        F = np.asarray(plain.decision_values(scene.X, self.problem.max_bytes))[:, 0]
        scale, shift = scaled_to_margins(F, sides_of(scene.known, 2, scene.pairwise)[:, 0])
        plain = replace(plain, coef=scale * plain.coef, intercept=scale * plain.intercept + shift)
        return judge.margins(finished, scene.decoder).gain_over(judge.margins(plain, scene.decoder))

    def _many_labels(self, scene: Scene, choice: Choice) -> bool:
        """Return whether rows outnumber what a finish moves by far, so that it may go far.

        Asked of one machine alone. Not where all takes a second or two, nor of a copy that has probabilities, which a
        finish on labels would lose.
        """
        if scene.labels is None or scene.targets.shape[1] != 1 or self.trials.effort.is_brief:
            return False
        if choice.copies and self.problem.source.probability:
            return False
        return scene.n >= _MANY_LABELS * (self.m + 1) * (scene.X.shape[1] + 1)
