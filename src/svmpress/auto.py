"""The default method: variable projection, with every refinement of it judged on held-out rows.

The targets are the source's decision values on the given rows (its support vectors if there are none). First some rows
are held out, and the choices are made on the others; where there are labels, on a *rehearsal*, an SVM like the source
that never saw the held-out rows (:mod:`svmpress.rehearsal`):

1. **Starts** (k-means centres, rows picked by multi-output LARS or the elastic net, a smaller model grown) are refined
   briefly; the best goes on.
2. **Settings** are tried from there, each kept only if it helps: the relevance of pairs (a one-vs-one machine listens
   less to rows of other classes than its two), a kernel width that is learned, a stronger ridge.
3. **Descent** by variable projection, as far as it helps, and the ridge of its last solve.
4. **Finishes**, kept only if they help: margins instead of values (the source's, or those of the labels).
5. **K outputs** instead of K(K-1)/2, with an Argmax decoder, if it is cheaper and no worse.

Then the source itself is compressed with what was chosen, from the vectors that were found, and the last steps run on
all rows. The work is bounded: rows are sampled and iterations counted so that the whole costs about as much as training
the source a few dozen times, and never more than a fixed number of operations.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress import arrays
from svmpress.arrays import Floats, Rows
from svmpress.cores import one_blas_thread
from svmpress.decoders import Argmax, Decoder, PairDAG, PairVote, class_pairs, pair_mask
from svmpress.kernels import Kernel
from svmpress.model import KernelExpansion
from svmpress.problem import Outcome, Problem, share
from svmpress.refine import Refined, TracePoint
from svmpress.rehearsal import trusting_labels
from svmpress.scene import Scene, Setting, heard_outputs
from svmpress.scoring import Judge, Verdict, split_rows
from svmpress.select.path import SelectionPath
from svmpress.select.starts import elastic_net_rows, kmeans_centres, lars_rows

_MOST_WORK = 2.5e12
"""Floating-point operations of one compression: a minute or two on two cores."""
_LEAST_WORK = 1.5e12
_MANY = 500
"""Vectors from which on the work grows with their number, up to twice."""
_EVALUATION = 2e10
"""Operations of one evaluation of the objective while searching: a third of a second."""
_WORTH_THREADS = 5e8
"""Operations of an evaluation from which a second thread pays."""
_CHEAP_START = 0.01
"""Share of the work below which one more start is cheap enough to try."""
_MOST_LARS, _MOST_NET = 1000, 200
"""Vectors beyond which LARS and the elastic net are not tried as starts: their time grows with the square."""
_HELPS, _CLEAR = 1.0, 2.0
"""Standard errors by which the judge must prefer another setting before it is adopted, and a shorter descent before the
longer one is given up."""
_FEW_ROWS = 50
"""Below this nothing is held out: a judge of so few rows knows nothing."""


@dataclass(frozen=True)
class Auto:
    """Variable projection with what held-out rows approve of; see the module's docstring.

    Parameters
    ----------
    work : float, optional
        Floating-point operations to spend; by default in proportion to the training of the source, and bounded.
    """

    work: float | None = None

    def run(self, problem: Problem, m: int, smaller: Outcome | None = None) -> Outcome:
        """Return an expansion of ``m`` vectors, grown from ``smaller`` if that is the best start."""
        run = _Run(problem, m, self.work, smaller)
        with one_blas_thread() if run.is_small() else nullcontext():
            return run.outcome()


@dataclass(frozen=True, eq=False)
class _Choice:
    """What the search settled on: vectors and kernel to start from, how to fit, and how to finish."""

    vectors: Floats
    kernel: Kernel
    setting: Setting
    steps: int | None = None
    """Steps of descent; None: as many as the work allows."""
    ridge: float | None = None
    """The ridge of the last solve; None: the setting's."""
    by_labels: bool | None = None
    """Which margins the finish uses; None: no finish."""
    finish_steps: int = 0
    decoder: Decoder | None = None
    """Another decoder than the source's, with one output a class."""


@dataclass(frozen=True, eq=False)
class _Tried:
    """A fit and what the judge says; without a judge the score is the negative objective."""

    fit: Refined
    verdict: Verdict | None

    @property
    def score(self) -> float:
        return -self.fit.value if self.verdict is None else self.verdict.score

    def against(self, other: _Tried) -> str:
        """Say how this compares."""
        return f"({other.score:.4f} -> {self.score:.4f}, {self.gain_over(other):+.1f} standard errors)"

    def gain_over(self, other: _Tried) -> float:
        """Return how much better the judge finds this, in standard errors."""
        return 0.0 if self.verdict is None or other.verdict is None else self.verdict.gain_over(other.verdict)


@dataclass(eq=False)
class _Run:
    """One compression."""

    problem: Problem
    m: int
    wanted_work: float | None
    smaller: Outcome | None
    trace: dict[str, tuple[TracePoint, ...]] = field(default_factory=dict)
    path: dict[str, SelectionPath] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    spent: float = 0.0
    """Operations so far."""

    def __post_init__(self) -> None:
        source = self.problem.source.expansion
        self.rows: Rows = self.problem.rows if self.problem.rows is not None else source.vectors
        self.n_outputs = source.n_outputs
        self.mask = self._libsvm_mask() if self.problem.layout == "libsvm" else None
        n, d = self.rows.shape
        self.width = float(self.rows.nnz / n) if arrays.is_csr(self.rows) else float(d)
        of_source = 200.0 * n * source.n_vectors * (self.width + 20)
        usual = float(np.clip(of_source, _LEAST_WORK, _MOST_WORK))
        if self.problem.source.decoder.classes is None:  # values must be closer than what labels need
            usual *= 2
        # a step costs more with more vectors: their number must not fall to nothing
        self.work = self.wanted_work or usual * float(np.clip(self.m / _MANY, 1.0, 2.0))

    def _libsvm_mask(self) -> NDArray[np.bool_] | None:
        """Return which coefficients a LibSVM file can hold, (m, M), with vectors for each class as the source has."""
        source, decoder = self.problem.source.expansion, self.problem.source.decoder
        self.owner = np.zeros(self.m, dtype=np.intp)
        if not isinstance(decoder, PairVote | PairDAG):
            return None
        n_classes = decoder.n_classes
        used = np.zeros((source.n_vectors, n_classes))
        for p, (i, j) in enumerate(class_pairs(n_classes)):  # coefficients > 0 belong to the first class of a pair
            used[:, i] += np.maximum(source.coef[:, p], 0)
            used[:, j] += np.maximum(-source.coef[:, p], 0)
        have = np.bincount(used.argmax(axis=1), minlength=n_classes)
        self.owner = np.repeat(np.arange(n_classes), share(self.m, have))
        return pair_mask(self.owner, n_classes)

    # ---- how much work ----------------------------------------------------------------------------------

    def _operations(self, n: int, setting: Setting) -> float:
        """Return the operations of one evaluation on n rows."""
        m, outputs = self.m, float(self.n_outputs)
        solve = m**3 / 3 + m * m
        if self.mask is not None:
            solve = outputs * float(self.mask.sum(axis=0).mean()) ** 3 / 3
        elif setting.relevance < 1:  # a system for each output, put together from those of the classes
            solve = outputs * (solve + 4 * np.sqrt(2 * outputs) * m * m)
        if setting.relevance < 1:  # most outputs hear of some rows only
            outputs = heard_outputs(self.n_outputs)
        optimiser = 60.0 * m * self.rows.shape[1]
        return n * (4 * m * self.width + 2 * m * m + 6 * m * outputs + 200 * m) + solve + optimiser

    def _steps(self, part: float, n: int, setting: Setting, least: int, most: int) -> int:
        """Return how many iterations on n rows a part of the work buys."""
        return int(np.clip(part * self.work / self._operations(n, setting), least, most))

    def _project(self, scene: Scene, V: Floats, kernel: Kernel, setting: Setting, steps: int, stage: str) -> Refined:
        """Fit by variable projection, and count the work."""
        mask = self.mask if scene.targets.shape[1] == self.n_outputs else None
        fit = scene.project(V, kernel, setting, steps, stage, mask)
        self.spent += (fit.n_iter + 1) * self._operations(scene.n, setting)
        return fit

    def is_small(self) -> bool:
        """Return whether an evaluation is so short that threads would wait for each other longer than they work."""
        return self._operations(self.rows.shape[0], Setting()) < _WORTH_THREADS

    def _sample(self, n: int, setting: Setting) -> NDArray[np.intp]:
        """Return positions of as many of n rows as one evaluation may cost, at least ten for each unknown of a machine.

        With a mask a machine has few unknowns: fewer rows and more steps are the better bargain.
        """
        per_row = self._operations(1, setting) - self._operations(0, setting)
        unknowns, cost = (self.m, _EVALUATION) if self.mask is None else (self.mask.sum(axis=0).mean(), _EVALUATION / 3)
        most = int(max(10 * unknowns, 2000, cost / per_row))
        if n <= most:
            return np.arange(n)
        return np.sort(np.random.default_rng(self.problem.seed).permutation(n)[:most])

    # ---- the stages -------------------------------------------------------------------------------------

    def outcome(self) -> Outcome:
        choice = self._search()
        fit = self._compress(choice)
        expansion = self._expansion(fit)
        return Outcome(
            expansion,
            decoder=choice.decoder,
            status="" if len(fit.vectors) == self.m else "there are fewer distinct rows than vectors asked for",
            path=self.path,
            trace=self.trace,
            notes=tuple(self.notes),
        )

    def _search(self) -> _Choice:
        """Make the choices, on rows that leave some out to judge."""
        n = self.rows.shape[0]
        problem, judge = replace(self.problem, rows=self.rows), None
        if problem.source.decoder.classes is None:  # a regressor is asked for the source's values, good or bad
            problem = replace(problem, y=None)
        if n >= _FEW_ROWS:
            rows, held = split_rows(n, self.problem.seed)
            labelled = problem.y is not None
            problem, rehearsed = trusting_labels(problem, rows)
            if labelled and problem.y is None:
                self.notes.append("the source does not answer as its labels suggest (weights?): it is copied as it is")
            judge = Judge(problem, held)
            if rehearsed is not None:
                assert rehearsed.rows is not None
                self.notes.append(
                    f"choices were rehearsed on an SVM like the source, trained on {rehearsed.rows.shape[0]:,} rows; "
                    f"it scores {judge.of(rehearsed.source.expansion).score:.4f} on {held.size:,} held-out rows"
                )
            y = None if problem.y is None else problem.y[rows]
            problem = rehearsed or replace(problem, rows=arrays.take(self.rows, rows), y=y)
        assert problem.rows is not None
        setting = Setting(relevance=0.01 if self.mask is not None else 1.0)
        scene = Scene.of(problem, self._sample(problem.rows.shape[0], setting))
        best = self._best_start(scene, judge, setting)
        if judge is None:
            return _Choice(best.fit.vectors, best.fit.kernel, setting)
        best, setting = self._best_setting(scene, judge, best, setting)
        best, choice = self._best_descent(scene, judge, best, setting)
        narrow = self._fewer_outputs(scene, judge, best, choice)
        return narrow or self._best_finish(scene, judge, best, choice)

    def _compress(self, choice: _Choice) -> Refined:
        """Do what was chosen to the source itself."""
        problem, setting = replace(self.problem, rows=self.rows), choice.setting
        n = self.rows.shape[0]
        some = self._sample(n, setting)
        whole = Scene.of(problem)
        scene = whole if len(some) == n else whole.subset(some)
        if len(some) < n:
            self.notes.append(f"the descent ran on {len(some):,} of {n:,} rows, the last steps on all of them")
        narrow = choice.decoder is not None
        if narrow:
            whole, scene = whole.narrowed(), scene.narrowed()
        left = max(0.3, 1 - self.spent / self.work)  # what the search did not need goes into the descent
        steps = self._steps(0.75 * left, scene.n, setting, 15, 300) if choice.steps is None else choice.steps
        fit = self._project(scene, choice.vectors, choice.kernel, setting, steps, "descent")
        self.trace["descent"] = fit.trace
        if scene is not whole:
            last = self._steps(0.25 * left, n, setting, 3, 30)
            fit = self._project(whole, fit.vectors, fit.kernel, setting, last, "all rows")
            self.trace["all rows"] = fit.trace
        if choice.ridge is not None:
            fit = self._project(whole, fit.vectors, fit.kernel, replace(setting, ridge=choice.ridge), 0, "ridge")
        if narrow:
            fit = whole.polish_rivals(fit, setting, choice.finish_steps, "finish")
            self.trace["finish"] = fit.trace
        elif choice.by_labels is not None:
            fit = whole.polish(fit, choice.by_labels, setting, choice.finish_steps, "finish", self.mask)
            self.trace["finish"] = fit.trace
        return fit

    def _expansion(self, fit: Refined) -> KernelExpansion:
        mask = self.mask if fit.coef.shape[1] == self.n_outputs else None
        return KernelExpansion(
            fit.kernel, fit.vectors, fit.coef if mask is None else fit.coef * mask, fit.intercept, mask
        )

    def _judged(self, judge: Judge | None, fit: Refined, decoder: Decoder | None = None) -> _Tried:
        return _Tried(fit, None if judge is None else judge.of(self._expansion(fit), decoder))

    def _starts(self, scene: Scene) -> dict[str, Floats]:
        seed, X = self.problem.seed, scene.X
        if self.mask is not None:
            counts = np.bincount(self.owner, minlength=scene.n_classes)
            members = [arrays.take(X, np.flatnonzero(scene.classes == c)) for c in range(scene.n_classes)]
            centres = [_centres(rows, int(k), seed, X) for rows, k in zip(members, counts, strict=True)]
            return {"k-means centres of each class": np.concatenate(centres)}
        starts = {}
        if self.smaller is not None and self.smaller.expansion.n_vectors <= self.m:
            grown = np.asarray(arrays.dense(self.smaller.expansion.vectors))
            starts["the smaller model and more centres"] = np.concatenate(
                [grown, _centres(X, self.m - len(grown), seed, X)]
            )
        starts["k-means centres"] = kmeans_centres(X, self.m, seed)
        if 20 * self._operations(scene.n, Setting()) < _CHEAP_START * self.work:
            for again in range(1, 4):
                starts[f"k-means centres, try {again + 1}"] = kmeans_centres(X, self.m, seed + 1000 * again)
        for name, select, most in (("LARS", lars_rows, _MOST_LARS), ("elastic net", elastic_net_rows, _MOST_NET)):
            if self.m <= min(most, scene.n // 2):
                kernel, backend = self.problem.source.kernel, self.problem.backend
                progress = self.problem.stage(name)
                V, path = select(kernel, X, scene.targets, self.m, seed=seed, backend=backend, progress=progress)
                if len(V) == self.m:
                    starts[name] = V
                    self.path[name] = path
        return starts

    def _best_start(self, scene: Scene, judge: Judge | None, setting: Setting) -> _Tried:
        steps = self._steps(0.03, scene.n, setting, 5, 20)
        tried = {}
        for name, V in self._starts(scene).items():
            fit = self._project(scene, V, self.problem.source.kernel, setting, steps, f"start: {name}")
            tried[name] = self._judged(judge, fit)
            self.trace[f"start: {name}"] = fit.trace
        best = max(tried, key=lambda name: tried[name].score)
        scores = ", ".join(f"{name} {t.score:.4f}" for name, t in tried.items())
        self.notes.append(f"started from {best} (scores after {steps} steps: {scores})")
        return tried[best]

    def _best_setting(self, scene: Scene, judge: Judge, best: _Tried, setting: Setting) -> tuple[_Tried, Setting]:
        """Try one change of setting after the other, against as many steps without it, from the same vectors."""
        plain = None
        for ladder in self._ladders(scene):
            if ladder[0][1].get("relevance", 0.0) > setting.relevance:
                continue  # a smaller weight has been adopted
            steps = self._steps(0.02, scene.n, setting, 4, 20)
            plain = plain or self._continued(scene, judge, best, setting, steps)
            top, chosen, tried = plain, setting, []
            for name, change in ladder:
                changed = replace(setting, **change)
                other = self._continued(scene, judge, best, changed, steps)
                tried.append(f"{name} {other.against(plain)}")
                if other.score <= top.score:
                    break  # further along the same ladder is no better
                top, chosen = other, changed
            adopted = top.gain_over(plain) > _HELPS
            self.notes.append(f"{'adopted' if adopted else 'not adopted'}: {', '.join(tried)}")
            if adopted:
                best, setting, plain = top, chosen, None
        return plain or best, setting

    def _continued(self, scene: Scene, judge: Judge, at: _Tried, setting: Setting, steps: int) -> _Tried:
        fit = self._project(scene, at.fit.vectors, at.fit.kernel, setting, steps, "settings")
        return self._judged(judge, fit)

    def _ladders(self, scene: Scene) -> list[list[tuple[str, dict[str, Any]]]]:
        """Return the changes of setting to try; along each ladder only as far as they help."""
        ladders: list[list[tuple[str, dict[str, Any]]]] = []
        if scene.pairwise and 8 * scene.n_classes * self.m**2 < self.problem.max_bytes:
            name = "weight {:g} for rows of neither class of a pair"
            ways = ((0.01, 0.001), (0.1,)) if self.mask is None else ((0.001,),)
            ladders += [[(name.format(weight), {"relevance": weight}) for weight in way] for way in ways]
        kernel = self.problem.source.kernel
        if kernel.width_matters and kernel.params["gamma"] > 0:
            ladders.append([("learning the kernel width", {"width": True})])
        ladders.append([("a stronger ridge", {"ridge": 1e-5})])
        return ladders

    def _best_descent(self, scene: Scene, judge: Judge, best: _Tried, setting: Setting) -> tuple[_Tried, _Choice]:
        """Descend, judged along the way: how far to go and the ridge of the last solve are choices, too."""
        total = self._steps(0.2, scene.n, setting, 12, 200)
        way, done = [(best, 0)], 0
        for steps in (total // 4, total // 4, total // 2):
            done += steps
            way.append((self._continued(scene, judge, way[-1][0], setting, steps), done))
        peak = max((tried for tried, _ in way), key=lambda tried: tried.score)
        top, steps = next((tried, steps) for tried, steps in reversed(way) if peak.gain_over(tried) <= _CLEAR)
        if steps == done:
            choice = _Choice(top.fit.vectors, top.fit.kernel, setting)
        else:
            self.notes.append(f"the descent stops after {steps} steps, before it fits what does not carry over")
            choice = _Choice(best.fit.vectors, best.fit.kernel, setting, steps=steps)
        before = top.score
        for ridge in setting.ridge * np.array([10.0, 100.0, 1e3, 1e4]):
            other = self._continued(scene, judge, top, replace(setting, ridge=float(ridge)), 0)
            if other.gain_over(top) > _CLEAR:
                top, choice = other, replace(choice, ridge=float(ridge))
        if choice.ridge is not None:
            self.notes.append(f"last solve with the ridge {choice.ridge:g} ({before:.4f} -> {top.score:.4f})")
        return top, choice

    def _best_finish(self, scene: Scene, judge: Judge, best: _Tried, choice: _Choice) -> _Choice:
        """Try margins instead of values, judged along the way: how far to go is part of the choice."""
        if scene.n_classes < 2:
            return choice
        dense = replace(choice.setting, relevance=1.0)  # all outputs hear of all rows
        first = self._steps(0.01, scene.n, dense, 3, 10)
        top, chosen, tried = best, choice, []
        for by_labels in (False, True) if scene.labels is not None else (False,):
            at, done, way = best.fit, 0, []
            for steps in (first, first, 2 * first):
                at = scene.polish(at, by_labels, choice.setting, steps, "finish", self.mask)
                done += steps
                self.spent += (steps + 2) * self._operations(scene.n, dense)
                way.append((self._judged(judge, at), done))
            peak, steps = max(way, key=lambda judged: judged[0].score)
            tried.append(f"{'the labels' if by_labels else 'the source'}, {steps} steps {peak.against(best)}")
            if peak.score > top.score:
                top, chosen = peak, replace(choice, by_labels=by_labels, finish_steps=steps)
        adopted = top is not best
        self.notes.append(f"{'adopted' if adopted else 'not adopted'}: a finish on margins of {', or of '.join(tried)}")
        return chosen if adopted else choice

    def _fewer_outputs(self, scene: Scene, judge: Judge, best: _Tried, choice: _Choice) -> _Choice | None:
        """Return the choice of one output a class, if it is cheaper and the judge finds it no worse."""
        classes = self.problem.source.decoder.classes
        if not scene.pairwise or self.mask is not None or classes is None or scene.n_classes < 4:
            return None
        setting = replace(choice.setting, relevance=1.0)
        steps = self._steps(0.01, scene.n, setting, 5, 20)
        fit = self._project(scene.narrowed(), best.fit.vectors, best.fit.kernel, setting, steps, "one output a class")
        fit = scene.polish_rivals(fit, setting, 3 * steps, "one output a class")
        self.spent += 3 * steps * self._operations(scene.n, setting)
        narrow = self._judged(judge, fit, Argmax(classes))
        if narrow.score < best.score:
            self.notes.append(f"one output a class: not used ({best.score:.4f} -> {narrow.score:.4f})")
            return None
        self.notes.append(f"one output a class: cheaper and no worse ({best.score:.4f} -> {narrow.score:.4f})")
        return _Choice(fit.vectors, fit.kernel, setting, finish_steps=3 * steps, decoder=Argmax(classes))


def _centres(X: Rows, k: int, seed: int, others: Rows) -> Floats:
    """Return k centres of X, with random other rows where X has too few."""
    centres = kmeans_centres(X, k, seed) if X.shape[0] and k else np.empty((0, others.shape[1]))
    if len(centres) < k:
        pick = np.random.default_rng(seed).integers(0, others.shape[0], k - len(centres))
        centres = np.concatenate([centres, np.asarray(arrays.dense(arrays.take(others, pick)))])
    return centres[:k]
