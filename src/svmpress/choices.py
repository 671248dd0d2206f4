"""Choices: what held-out rows approve of before a source is compressed; see :mod:`svmpress.auto`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress import arrays
from svmpress.arrays import Floats, Rows
from svmpress.decoders import PairDAG, PairVote, pair_mask
from svmpress.effort import Effort
from svmpress.kernels import Kernel
from svmpress.problem import Outcome, Problem, share
from svmpress.refine import TracePoint
from svmpress.rehearsal import trusting_labels
from svmpress.scene import Finish, Guard, Scene, Setting
from svmpress.scoring import Judge, Verdict, split_rows
from svmpress.select.path import SelectionPath
from svmpress.starting import owners, starts, starts_by_class
from svmpress.trials import Trials, Tried

_CHEAP_START = 0.01
"""Share of the work below which one more start is cheap enough to try."""
_BRIEF = 5e10
"""Operations below which a compression takes a few seconds."""
_HELPS, _CLEAR, _FAR = 1.0, 2.0, 3.0
"""Standard errors by which the judge must prefer another setting before it is adopted; one of two ways, or a shorter
descent, before the other is given up; and one way before the other is not even tried in earnest."""
_NORM, _NORM_FACTOR, _MOST_NORMS = 0.1, 10**0.5, 5
"""Labels are no function of the rows: how closely they may be followed is for the judge to say. The weight of the norm
to begin with (that of an SVM's is 1 / 2C); by what to change it; and how far at most."""
_HARDLY = 0.001
"""Weight of rows of other classes for a pair that is fitted to labels: enough to keep its values in bounds."""
_FEW_ROWS = 50
"""Below this nothing is held out: a judge of so few rows knows nothing."""


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


Way = tuple[Tried, Choice]
"""A fit and the choice that leads to it."""


@dataclass(eq=False)
class Search:
    """The search of one compression; ``problem``, ``trace``, ``path`` and ``notes`` tell afterwards what it came to.

    Parameters
    ----------
    problem : Problem
        Loses its labels if the source does not follow them.
    m : int
    wanted_work : float or None
        Operations to spend; None: the usual.
    smaller : Outcome, optional
        To grow from.
    """

    problem: Problem
    m: int
    wanted_work: float | None
    smaller: Outcome | None
    trace: dict[str, tuple[TracePoint, ...]] = field(default_factory=dict)
    path: dict[str, SelectionPath] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    trusted: bool = True
    """Whether the rehearsal saw most of the rows. An SVM that saw few is a poor thing to copy, and no measure for what
    copying the source is worth: then labels are no targets, and finishes on its margins win near ties."""
    example: Verdict | None = None
    """What the judge says of the rehearsed SVM itself."""
    likeness: Judge | None = None
    """Who judges a regressor's copy: its agreement with the rehearsed SVM, for y has noise, and a copy has none."""

    def __post_init__(self) -> None:
        source = self.problem.source
        self.rows: Rows = self.problem.rows if self.problem.rows is not None else source.expansion.vectors
        self.n_outputs = source.expansion.n_outputs
        self.owner, self.mask = self._owned() if self.problem.layout == "libsvm" else (None, None)
        self.effort = Effort.of(source, self.rows, self.m, self.mask, self.wanted_work)
        self.trials = Trials(self.effort)
        self.called = "values halfway to y" if source.decoder.classes is None else "classes"  # labels, to a person

    def _owned(self) -> tuple[NDArray[np.intp] | None, NDArray[np.bool_] | None]:
        """Return the class of each vector in a LibSVM file, (m,), and which coefficients it can have, (m, M).

        Each class has vectors in proportion to those of the source; two classes need no owners.
        """
        decoder = self.problem.source.decoder
        if not isinstance(decoder, PairVote | PairDAG) or decoder.n_classes == 2:
            return None, None
        have = np.bincount(owners(self.problem.source.expansion, decoder.n_classes), minlength=decoder.n_classes)
        owner = np.repeat(np.arange(decoder.n_classes), share(self.m, have))
        return owner, pair_mask(owner, decoder.n_classes)

    def is_small(self) -> bool:
        """Return whether an evaluation is too short for threads."""
        return self.effort.is_small(self.rows.shape[0], self.n_outputs)

    def choice(self) -> Choice:
        """Make the choices, on rows that leave some out to judge."""
        problem, judge = self._rehearsed()
        assert problem.rows is not None
        setting = Setting.usual(masked=self.mask is not None)
        if not problem.source.kernel.bounded:
            # such columns differ by a few directions only, and what is small among them is what tells
            setting = replace(setting, ridge=1e-7)
        some = self.effort.sample(problem.rows.shape[0], self.n_outputs, setting, self.problem.seed)
        scene = Scene.of(problem, some)
        start = self._best_start(scene, judge, setting)
        if judge is None:
            return Choice(start.fit.vectors, start.fit.kernel, setting)
        return self._better_way(scene, self._by_labels_of(problem, scene), judge, start, setting)[1]

    def _better_way(self, scene: Scene, of_labels: Scene | None, judge: Judge, start: Tried, setting: Setting) -> Way:
        """Copy the source, or fit labels if that is better; whichever is clearly behind at some stage is given up."""
        first = None if of_labels is None else self._following_labels(of_labels, judge, start, setting)
        own = self.likeness or judge
        if of_labels is None or first is None:
            return self._finished(scene, own, start, *self._best_setting(scene, own, start, setting))
        fewer = of_labels.targets.shape[1] < self.n_outputs
        instead = f"; {of_labels.targets.shape[1]} outputs do for {self.n_outputs}" if fewer else ""
        if self._beyond_copies(first[0], start):
            self.notes.append(f"{self.called} are fitted, not the source's values {first[0].against(start)}{instead}")
            return self._finished(of_labels, judge, start, *first)
        self.notes.append("the source's values as targets:")
        best, setting = self._best_setting(scene, own, start, setting)
        rival = self._judged_alike(judge, scene, best)
        lead = first[0].gain_over(rival)
        hopeless = lead > _CLEAR and self.likeness is None  # the values of a regressor take longer than classes
        copied = None if hopeless else self._finished(scene, own, start, best, setting)
        if copied is not None and lead < -_CLEAR:
            self.notes.append(f"the source's values are fitted, not {self.called} {rival.against(first[0])}")
            return copied
        self.notes.append(f"{self.called} as targets:")
        labels = self._finished(of_labels, judge, start, *first)
        rival = rival if copied is None else self._judged_alike(judge, scene, copied[0])
        lead = labels[0].gain_over(rival)
        # labels may win by nothing where they take fewer outputs; else what leaves the source must pay
        if copied is None or (lead >= 0 if fewer else lead > _HELPS):
            self.notes.append(f"{self.called} are fitted, not the source's values {labels[0].against(rival)}{instead}")
            return labels
        self.notes.append(f"the source's values are fitted, not {self.called} {rival.against(labels[0])}")
        return copied

    def _judged_alike(self, judge: Judge, scene: Scene, copy: Tried) -> Tried:
        """Return a copy as the judge of labels sees it."""
        return copy if self.likeness is None else self.trials.judged(judge, scene, copy.fit)

    def _beyond_copies(self, labels: Tried, start: Tried) -> bool:
        """Return whether labels are far ahead of the copy, and clearly of the source itself, which a copy aims at."""
        if self.example is None or labels.verdict is None:
            return False
        return labels.gain_over(start) > _FAR and labels.verdict.gain_over(self.example) > _CLEAR

    def _rehearsed(self) -> tuple[Problem, Judge | None]:
        """Return the problem to make the choices on, and who judges them; nobody if there are too few rows."""
        n = self.rows.shape[0]
        problem = replace(self.problem, rows=self.rows)
        if n < _FEW_ROWS:
            return problem, None
        rows, held = split_rows(n, self.problem.seed)
        labelled = problem.y is not None
        problem, rehearsed = trusting_labels(problem, rows)
        if labelled and problem.y is None:
            self.problem = replace(self.problem, y=None)  # nor does the compression itself see them
            self.notes.append(
                "the source does not answer as y suggests (weights, other values?): what it answers counts, not y"
            )
        if problem.y is not None and rehearsed is None and problem.source.decoder.classes is None:
            problem = replace(problem, y=None)  # a regressor has seen all: it is asked for its values, good or bad
            self.notes.append("y is not used: no regression like the source could be trained on some of the rows")
        judge = Judge(problem, held)
        if rehearsed is None:
            y = None if problem.y is None else problem.y[rows]
            return replace(problem, rows=arrays.take(self.rows, rows), y=y), judge
        assert rehearsed.rows is not None
        self.trusted = 2 * rehearsed.rows.shape[0] >= rows.size
        self.example = judge.of(rehearsed.source.expansion)
        if problem.source.decoder.classes is None:
            self.likeness = Judge(replace(problem, source=rehearsed.source, y=None), held)
        self.notes.append(
            f"choices were rehearsed on an SVM like the source, trained on {rehearsed.rows.shape[0]:,} rows; "
            f"it scores {self.example.score:.4f} on {held.size:,} held-out rows"
        )
        return rehearsed, judge

    def by_labels(self, scene: Scene) -> Scene:
        """Return the scene with labels as targets: one output a class, unless the layout wants one a pair."""
        return scene.by_labels(pairs=self.mask is not None)

    def _by_labels_of(self, problem: Problem, scene: Scene) -> Scene | None:
        """Return rows of a problem with labels as targets, if need be more rows than the scene's; None: not to fit."""
        if not self._may_follow_labels(scene):
            return None
        if self.mask is not None and problem.rows is not None and problem.rows.shape[0] > scene.n:
            setting = Setting(relevance=_HARDLY, norm=_NORM)
            some = self.effort.sample(problem.rows.shape[0], self.n_outputs, setting, self.problem.seed, copies=False)
            scene = Scene.of(problem, some)
        missing = 0 if scene.n_classes == 1 else scene.n_classes - len(np.unique(scene.known))
        if missing:  # nothing would be known of these
            self.notes.append(f"{self.called} as targets: not used ({missing} of them not among {scene.n:,} rows)")
            return None
        return self.by_labels(scene)

    def _may_follow_labels(self, scene: Scene) -> bool:
        """Return whether labels may be fitted; where that saves no outputs, only labels that are known."""
        saves = scene.n_classes > 2 and self.mask is None
        if scene.labels is None and not saves:
            return False
        return self.trusted and self.problem.source.kernel.definite

    def _finished(self, scene: Scene, judge: Judge, start: Tried, best: Tried, setting: Setting) -> Way:
        return self._best_finish(scene, judge, *self._best_descent(scene, judge, start, best, setting))

    def _starts(self, scene: Scene) -> dict[str, Floats]:
        if self.owner is not None:
            return starts_by_class(scene, self.owner, of_source=self.example is not None)
        cheap = 20 * self.effort.projection(scene.n, self.n_outputs, Setting()) < _CHEAP_START * self.effort.work
        smaller = None if self.smaller is None else self.smaller.expansion
        found, paths = starts(scene, self.m, smaller, cheap=cheap, brief=self.effort.work < _BRIEF)
        self.path.update(paths)
        return found

    def _best_start(self, scene: Scene, judge: Judge | None, setting: Setting) -> Tried:
        steps = self.trials.steps(0.03, scene, setting, 5, 60)
        tried = {}
        for name, V in self._starts(scene).items():
            fit = self.trials.project(scene, V, self.problem.source.kernel, setting, steps, f"start: {name}")
            tried[name] = self.trials.judged(judge, scene, fit)
            self.trace[f"start: {name}"] = fit.trace
        best = max(tried, key=lambda name: tried[name].score)
        scores = ", ".join(f"{name} {t.score:.4f}" for name, t in tried.items())
        self.notes.append(f"started from {best} (scores after {steps} steps: {scores})")
        return tried[best]

    def _following_labels(
        self, scene: Scene, judge: Judge, start: Tried, plain: Setting
    ) -> tuple[Tried, Setting] | None:
        """Return a first fit to labels and the best setting for it; nothing if it is clearly behind the copy."""
        if scene.pairwise and scene.n_classes > 2:  # what a pair is to say of other classes no label tells
            plain = replace(plain, relevance=_HARDLY)
        steps = self.trials.steps(0.03, scene, replace(plain, norm=_NORM), 5, 60)

        def tried(power: int) -> tuple[Tried, Setting]:
            setting = replace(plain, norm=_NORM * _NORM_FACTOR**power)
            return self.trials.continued(scene, judge, start, setting, steps), setting

        ways = [tried(0), tried(1)]
        # pairs save no outputs and take long: not worth a search for the norm that makes them less behind
        needed = -_FAR if self.mask is None else _CLEAR
        if all(fit.gain_over(start) < needed for fit, _ in ways):
            short = "" if needed < 0 else f"; pairs must lead by {needed:g}"
            self.notes.append(f"{self.called} as targets: not used {ways[0][0].against(start)}{short}")
            return None
        up = ways[1][0].score > ways[0][0].score
        for power in range(2, _MOST_NORMS) if up else range(-1, -_MOST_NORMS, -1):
            before = ways[-1] if up or power < -1 else ways[0]
            ways.append(tried(power))
            if ways[-1][0].score <= before[0].score:
                break
        best, setting = max(ways, key=lambda way: way[0].score)
        scores = ", ".join(f"{s.norm:.2g}: {t.score:.4f}" for t, s in ways)
        self.notes.append(f"{self.called} as targets, best with the norm's weight {setting.norm:.2g} ({scores})")
        best, setting = self._best_setting(scene, judge, best, setting)
        if start.gain_over(best) > _CLEAR:
            self.notes.append(f"{self.called} as targets: not used {best.against(start)}")
            return None
        return best, setting

    def _best_setting(self, scene: Scene, judge: Judge, best: Tried, setting: Setting) -> tuple[Tried, Setting]:
        """Try one change of setting after the other, against as much work without it, from the same vectors."""
        plain, settled = None, set()
        for ladder in self._ladders(scene):
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
            adopted = top.gain_over(plain) > _HELPS
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

    def _ladders(self, scene: Scene) -> list[_Ladder]:
        """Return the changes of setting to try."""
        ladders = []
        if scene.pairwise and scene.copies and 8 * scene.n_classes * self.m**2 < self.problem.max_bytes:
            name = "weight {:g} for rows of neither class of a pair"
            ways = ((0.01, 0.001), (0.1,)) if self.mask is None else ((0.001,),)
            ladders += [_Ladder("relevance", name, way) for way in ways]
        kernel = self.problem.source.kernel
        if kernel.width_matters and kernel.params["gamma"] > 0:
            ladders.append(_Ladder("width", "learning the kernel width", (True,)))
        if scene.copies and self.mask is not None and kernel.definite:
            # a machine has coefficients of its own and the rows of two classes: it can follow these to the letter
            name = "a norm of weight {:g}"
            ladders += [_Ladder("norm", name, way, ties=True) for way in ((0.01, 0.1, 1.0), (0.001,))]
        if scene.copies:
            ladders.append(_Ladder("ridge", "a stronger ridge", (1e-5,)))
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
        enough = _CLEAR if scene.copies else 0.0  # a closer copy is good in itself, a closer fit to labels is not
        top = next(tried for tried in reversed(way) if peak.gain_over(tried) <= enough)
        if top is not way[-1]:
            done = top.steps - best.steps
            self.notes.append(f"the descent stops after {done} steps, before it fits what does not carry over")
        if not scene.copies:  # vectors that know the labels of some rows start again with all
            choice = Choice(start.fit.vectors, start.fit.kernel, setting, False, top.steps - start.steps)
        elif top is way[-1]:
            choice = Choice(top.fit.vectors, top.fit.kernel, setting)
        else:
            choice = Choice(best.fit.vectors, best.fit.kernel, setting, steps=top.steps - best.steps)
        before = top.score
        if not scene.copies:  # what holds labels back is the norm, which has been chosen
            return top, choice
        for ridge in setting.ridge * np.array([10.0, 100.0, 1e3, 1e4]):
            other = self.trials.continued(watched, judge, top, replace(setting, ridge=float(ridge)), 0)
            if other.gain_over(top) > _CLEAR:
                top, choice = other, replace(choice, ridge=float(ridge))
        if choice.ridge is not None:
            self.notes.append(f"last solve with the ridge {choice.ridge:g} ({before:.4f} -> {top.score:.4f})")
        return top, choice

    def _best_finish(self, scene: Scene, judge: Judge, best: Tried, choice: Choice) -> Way:
        """Try margins instead of values, judged along the way: how far to go is part of the choice."""
        if not scene.finishes:
            return best, choice
        first = self.effort.steps(0.01, self.effort.finish(scene), 10, 25)
        top, chosen, tried = best, choice, {}
        for how in scene.finishes:
            at, done, way = best.fit, 0, []
            for steps in (first, first, 2 * first):
                at = self.trials.finish(scene, how, at, choice.setting, steps)
                done += steps
                way.append((self.trials.judged(judge, scene, at), done))
            peak, steps = max(way, key=lambda judged: judged[0].score)
            tried[how] = f"a finish on margins {how.value}, {steps} steps {peak.against(best)}"
            needed = 0.0 if self.trusted or how is not Finish.SOURCE else -_CLEAR
            if scene.copies and how is Finish.LABELS:  # what leaves the source must pay
                needed = _CLEAR
            elif choice.setting.norm and self.mask is not None:  # a finish has no norm to hold it back
                needed = _HELPS
            if peak.gain_over(top) > needed:
                top, chosen = peak, replace(choice, finish=how, finish_steps=steps)
        self._say_adopted("" if chosen.finish is None else tried.pop(chosen.finish), tried.values())
        return top, chosen
