"""Choices: what held-out rows approve of before a source is compressed; see :mod:`svmpress.methods.auto`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import PairDAG, PairVote, pair_mask
from svmpress.methods.auto.effort import Effort
from svmpress.methods.auto.scene import Scene, Setting
from svmpress.methods.auto.stages import REACH, Choice, Stages, Way
from svmpress.methods.auto.starting import starts, starts_by_class
from svmpress.methods.auto.trials import CLEAR, FAR, HELPS, Trials, Tried
from svmpress.methods.base import Outcome, Problem, share
from svmpress.methods.data_free import owners
from svmpress.methods.holdout import Judge, Verdict, split_rows
from svmpress.methods.surrogate import trusting_labels
from svmpress.numerics import Floats, Rows, TracePoint, arrays
from svmpress.select import SelectionPath, kmeans_centres

_CHEAP_START = 0.01
"""Share of the work below which one more start is cheap enough to try."""
_NORM, _NORM_FACTOR, _MOST_NORMS = 0.1, 10**0.5, 5
"""Labels are no function of the rows: how closely they may be followed is for the judge to say. The weight of the norm
to begin with (that of an SVM's is 1 / 2C); by what to change it; and how far at most."""
_HARDLY = 0.001
"""Weight of rows of other classes for a pair that is fitted to labels: enough to keep its values in bounds."""
_FEW_ROWS = 50
"""Below this nothing is held out: a judge of so few rows knows nothing."""


@dataclass(eq=False)
class Search:
    """The search of one compression; ``problem``, ``trace``, ``path`` and ``notes`` tell afterwards what it came to.

    Parameters
    ----------
    problem : Problem
        Loses its labels if the source does not follow them, or is only to be copied.
    m : int
    wanted_work : float or None
        Operations to spend; None: the usual.
    smaller : Outcome, optional
        To grow from.
    copies_only : bool
        Whether the source's values are the only targets.
    """

    problem: Problem
    m: int
    wanted_work: float | None
    smaller: Outcome | None
    copies_only: bool = False
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
        if self.copies_only:
            self.problem = replace(self.problem, y=None)
        source = self.problem.source
        self.rows: Rows = self.problem.rows if self.problem.rows is not None else source.expansion.vectors
        self.n_outputs = source.expansion.n_outputs
        self.owner, self.mask = self._owned() if self.problem.layout == "libsvm" else (None, None)
        self.effort = Effort.of(source, self.rows, self.m, self.mask, self.wanted_work)
        self.trials = Trials(self.effort)
        self.stages = Stages(self.problem, self.m, self.mask, self.trials, self.notes)
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
        scene, setting = self._opening(problem)
        start = self._best_start(scene, judge, setting, self._starts(scene))
        if judge is None:
            return Choice(start.fit.vectors, start.fit.kernel, setting)
        return self._better_way(scene, self._by_labels_of(problem, scene), judge, start, setting)[1]

    def choice_beyond_source(self) -> Choice | None:
        """Choose labels as targets if they are far better than any copy, else nothing; the last note says why.

        For rows that are support vectors, whose labels deserve less trust than others.
        """
        problem, judge = self._rehearsed()
        if judge is None or self.example is None:
            return None
        scene, setting = self._opening(problem)
        centres = {"k-means centres": kmeans_centres(scene.X, self.m, problem.seed)}
        start = self._best_start(scene, judge, setting, centres)
        of_labels = self._by_labels_of(problem, scene)
        first = None if of_labels is None else self._following_labels(of_labels, judge, start, setting)
        if of_labels is None or first is None:
            return None
        if not self._beyond_copies(first[0], start):
            self.notes.append(f"{self.called} as targets are not far ahead {first[0].against(start)}")
            return None
        self._say_labels(first[0], start, of_labels)
        return self._finished(of_labels, judge, start, *first)[1]

    def _say_labels(self, labels: Tried, rival: Tried, scene: Scene) -> None:
        """Note that labels won, and what that saves."""
        outputs = scene.targets.shape[1]
        instead = f"; {outputs} outputs do for {self.n_outputs}" if outputs < self.n_outputs else ""
        self.notes.append(f"{self.called} are fitted, not the source's values {labels.against(rival)}{instead}")

    def _opening(self, problem: Problem) -> tuple[Scene, Setting]:
        """Return the scene to make the choices in, and the setting that they begin with."""
        assert problem.rows is not None
        setting = Setting.usual(masked=self.mask is not None)
        if self.mask is not None and self.example is not None and not self.problem.source.probability:
            # a vote asks for sides; where nothing was rehearsed the judge asks for the source's answers, and all counts
            setting = replace(setting, reach=REACH)
        if not problem.source.kernel.bounded:
            # such columns differ by a few directions only, and what is small among them is what tells
            setting = replace(setting, ridge=1e-7)
        some = self.effort.sample(problem.rows.shape[0], self.n_outputs, setting, self.problem.seed)
        return Scene.of(problem, some), setting

    def _better_way(self, scene: Scene, of_labels: Scene | None, judge: Judge, start: Tried, setting: Setting) -> Way:
        """Copy the source, or fit labels if that is better; whichever is clearly behind at some stage is given up."""
        first = None if of_labels is None else self._following_labels(of_labels, judge, start, setting)
        own = self.likeness or judge
        if of_labels is None or first is None:
            return self._finished(scene, own, start, *self.stages.best_setting(scene, own, start, setting))
        fewer = of_labels.targets.shape[1] < self.n_outputs
        if self._beyond_copies(first[0], start):
            self._say_labels(first[0], start, of_labels)
            return self._finished(of_labels, judge, start, *first)
        self.notes.append("the source's values as targets:")
        best, setting = self.stages.best_setting(scene, own, start, setting)
        rival = self._judged_alike(judge, scene, best)
        lead = first[0].gain_over(rival)
        hopeless = lead > CLEAR and self.likeness is None  # the values of a regressor take longer than classes
        copied = None if hopeless else self._finished(scene, own, start, best, setting)
        if copied is not None and lead < -CLEAR:
            self.notes.append(f"the source's values are fitted, not {self.called} {rival.against(first[0])}")
            return copied
        self.notes.append(f"{self.called} as targets:")
        labels = self._finished(of_labels, judge, start, *first)
        rival = rival if copied is None else self._judged_alike(judge, scene, copied[0])
        lead = labels[0].gain_over(rival)
        # labels may win by nothing where they take fewer outputs; else what leaves the source must pay
        if copied is None or (lead >= 0 if fewer else lead > HELPS):
            self._say_labels(labels[0], rival, of_labels)
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
        return labels.gain_over(start) > FAR and labels.verdict.gain_over(self.example) > CLEAR

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
        if self.copies_only:
            return False
        saves = scene.n_classes > 2 and self.mask is None
        if scene.labels is None and not saves:
            return False
        return self.trusted and self.problem.source.kernel.definite

    def _finished(self, scene: Scene, judge: Judge, start: Tried, best: Tried, setting: Setting) -> Way:
        return self.stages.finished(scene, judge, start, best, setting, trusted=self.trusted)

    def _starts(self, scene: Scene) -> dict[str, Floats]:
        if self.owner is not None:
            return starts_by_class(scene, self.owner, of_source=self.example is not None)
        cheap = 20 * self.effort.projection(scene.n, self.n_outputs, Setting()) < _CHEAP_START * self.effort.work
        smaller = None if self.smaller is None else self.smaller.expansion
        found, paths = starts(scene, self.m, smaller, cheap=cheap, brief=self.effort.is_brief)
        self.path.update(paths)
        return found

    def _best_start(self, scene: Scene, judge: Judge | None, setting: Setting, found: dict[str, Floats]) -> Tried:
        """Refine starts (m, d) briefly and return the best."""
        steps = self.trials.steps(0.03, scene, setting, 5, 60)
        tried = {}
        for name, V in found.items():
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
        needed = -FAR if self.mask is None else CLEAR
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
        best, setting = self.stages.best_setting(scene, judge, best, setting)
        if start.gain_over(best) > CLEAR:
            self.notes.append(f"{self.called} as targets: not used {best.against(start)}")
            return None
        return best, setting
