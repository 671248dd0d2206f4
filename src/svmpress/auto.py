"""The default method: variable projection, with every refinement of it judged on held-out rows.

The targets are the source's decision values on the given rows (its support vectors if there are none). A fifth of the
rows is held out and judges; the rest is fitted:

1. **Starts** (k-means centres, rows picked by multi-output LARS, a smaller model grown) are refined briefly; the best
   goes on.
2. **Settings** are tried from there, each kept only if it helps: a kernel width that is learned, the relevance of pairs
   (a one-vs-one machine listens less to rows of other classes than its two), a stronger ridge.
3. **Descent** by variable projection with what was found.
4. **Finishes**, kept only if they help: margins instead of values (the source's, or those of the labels).
5. **K outputs** instead of K(K-1)/2, with an Argmax decoder, if it is cheaper and no worse.
6. The last steps run on all rows.

The work is bounded: rows are sampled and iterations counted so that the whole costs about as much as training the
source a few dozen times, and never more than a fixed number of operations.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from svmpress import arrays
from svmpress.arrays import Array, Rows
from svmpress.decoders import Argmax, Decoder, PairDAG, PairVote, class_pairs, pair_mask
from svmpress.kernels import Kernel
from svmpress.losses import MarginLoss, sides_of
from svmpress.model import KernelExpansion
from svmpress.objective import ExpansionObjective, Floats, Loss, Parameters, ProjectedError
from svmpress.problem import Outcome, Problem, share
from svmpress.refine import Refined, TracePoint, polish, variable_projection
from svmpress.scoring import Judge, Verdict, split_rows
from svmpress.select.path import SelectionPath
from svmpress.select.starts import kmeans_centres, lars_rows

_MOST_WORK = 4e12
"""Floating-point operations of one compression: about a minute on two cores."""
_LEAST_WORK = 1e11
_EVALUATION = 2e10
"""Operations of one evaluation of the objective while searching: a third of a second."""
_MOST_LARS = 1000
"""Vectors beyond which LARS is not tried as a start: its time grows with their square."""
_WORTH_THREADS = 5e8
"""Operations of an evaluation from which a second thread pays."""
_CHEAP_START = 0.01
"""Share of the work below which one more start is cheap enough to try."""
_FEW_ROWS = 50
"""Below this nothing is held out: a judge of so few rows knows nothing."""


@dataclass(frozen=True)
class _Setting:
    """What varies between fits: how much rows of other classes count for a pair, the ridge, and the width."""

    relevance: float = 1.0
    ridge: float = 1e-7
    width: bool = False


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A fit and what the judge thinks of it."""

    fit: Refined
    verdict: Verdict | None
    decoder: Decoder | None = None

    def beats(self, other: _Candidate) -> bool:
        """Return whether the judge prefers this one; without a judge nothing is preferred."""
        return self.verdict is not None and self.score > other.score

    @property
    def score(self) -> float:
        return self.verdict.score if self.verdict is not None else -self.fit.value


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
        with threadpool_limits(limits=1 if run.is_small() else None):
            return run.outcome()


class _Rows:
    """Some rows of a problem with their targets, sorted by the class that the source gives them, on the backend."""

    def __init__(self, run: _Run, which: NDArray[np.intp]) -> None:
        which = which[np.argsort(run.classes[which], kind="stable")]
        self.which, self.n = which, len(which)
        self.sizes = np.bincount(run.classes[which], minlength=run.n_classes)
        self.X = run.problem.backend.asarray(arrays.take(run.rows, which))
        self.targets: Array = run.problem.backend.asarray(run.targets[which])

    def narrowed(self, run: _Run) -> _Rows:
        """Return the same rows with one target a class: its votes, softened between the values -1/2 and 1/2."""
        sides = sides_of(np.arange(run.n_classes), run.n_classes, pairwise=True)
        soft = np.clip(run.targets[self.which], -0.5, 0.5) @ sides.T
        other = copy(self)
        other.targets = run.problem.backend.asarray(soft)
        return other


class _Run:
    """One compression."""

    def __init__(self, problem: Problem, m: int, work: float | None, smaller: Outcome | None) -> None:
        self.problem, self.m, self.smaller = problem, m, smaller
        self.source = problem.source.expansion
        self.rows: Rows = problem.rows if problem.rows is not None else self.source.vectors
        self.targets: Floats = np.asarray(self.source.decision_values(self.rows, problem.max_bytes), dtype=np.float64)
        decoder = problem.source.decoder
        self.pairwise = isinstance(decoder, PairVote | PairDAG)
        self.n_classes = 1 if decoder.classes is None else decoder.classes.size
        self.classes = self._source_classes(decoder)
        self.labels = None if decoder.classes is None or problem.y is None else problem.y
        self.owner = self._owners() if problem.layout == "libsvm" and self.pairwise else None
        self.mask = None if self.owner is None else pair_mask(self.owner, self.n_classes)
        self.trace: dict[str, tuple[TracePoint, ...]] = {}
        self.path: dict[str, SelectionPath] = {}
        self.notes: list[str] = []
        n, d = self.rows.shape
        self.width = float(self.rows.nnz / n) if arrays.is_csr(self.rows) else float(d)
        of_source = 200.0 * n * self.source.n_vectors * (self.width + 20)
        self.work = work or float(np.clip(of_source, _LEAST_WORK, _MOST_WORK))

    # ---- set-up -----------------------------------------------------------------------------------------

    def _source_classes(self, decoder: Decoder) -> NDArray[np.intp]:
        """Return the class that the source gives each row, (n,); zeros for a regressor."""
        if decoder.classes is None:
            return np.zeros(self.rows.shape[0], dtype=np.intp)
        place = {label: i for i, label in enumerate(decoder.classes.tolist())}
        return np.array([place[label] for label in decoder.labels(self.targets).tolist()], dtype=np.intp)

    def _owners(self) -> NDArray[np.intp]:
        """Return the class of each vector in the LibSVM layout, (m,): as many as the source has for that class."""
        coef, pairs = self.source.coef, class_pairs(self.n_classes)
        used = np.zeros((self.source.n_vectors, self.n_classes))
        for p, (i, j) in enumerate(pairs):  # a vector of class i has coefficients > 0 where i is first
            used[:, i] += np.maximum(coef[:, p], 0)
            used[:, j] += np.maximum(-coef[:, p], 0)
        have = np.bincount(used.argmax(axis=1), minlength=self.n_classes)
        return np.repeat(np.arange(self.n_classes), share(self.m, have))

    def _operations(self, n: int, setting: _Setting, n_outputs: int | None = None) -> float:
        """Return the operations of one evaluation on n rows."""
        m, outputs = self.m, n_outputs or self.source.n_outputs
        solve = m**3 / 3 + m * m
        if self.mask is not None:
            solve = outputs * (2 * m / self.n_classes) ** 3 / 3
        elif setting.relevance < 1:
            solve *= outputs
        optimiser = 60.0 * m * self.rows.shape[1]
        return n * (4 * m * self.width + 2 * m * m + 6 * m * outputs + 40 * m) + solve + optimiser

    def is_small(self) -> bool:
        """Return whether an evaluation is so short that threads would wait for each other longer than they work."""
        return self._operations(self.rows.shape[0], _Setting()) < _WORTH_THREADS

    def _iterations(self, work_share: float, n: int, setting: _Setting, least: int, most: int) -> int:
        return int(np.clip(work_share * self.work / self._operations(n, setting), least, most))

    # ---- fits -------------------------------------------------------------------------------------------

    def _project(
        self, rows: _Rows, V: Floats, kernel: Kernel, setting: _Setting, iterations: int, stage: str
    ) -> Refined:
        weights = None
        if setting.relevance < 1:
            own = np.abs(sides_of(np.arange(self.n_classes), self.n_classes, pairwise=True))
            weights = setting.relevance + (1 - setting.relevance) * own
        objective = ProjectedError(
            kernel,
            rows.X,
            rows.targets,
            self.problem.backend.asarray(V),
            sizes=None if weights is None else rows.sizes,
            weights=weights,
            mask=self.mask,
            ridge=setting.ridge,
            max_bytes=self.problem.max_bytes,
        )
        return variable_projection(
            objective,
            V,
            kernel=kernel,
            learn_width=setting.width and kernel.has_width,
            max_iter=iterations,
            progress=self.problem.stage(stage),
        )

    def _polish(self, rows: _Rows, loss: Loss, at: Refined, setting: _Setting, iterations: int, stage: str) -> Refined:
        backend = self.problem.backend
        start = Parameters(at.kernel, *(backend.asarray(a) for a in (at.vectors, at.coef, at.intercept)))
        return polish(
            ExpansionObjective(rows.X, loss, self.problem.max_bytes),
            start,
            learn_width=setting.width and at.kernel.has_width,
            mask=self.mask,
            max_iter=iterations,
            progress=self.problem.stage(stage),
        )

    def _expansion(self, fit: Refined) -> KernelExpansion:
        mask = self.mask if fit.coef.shape[1] == self.source.n_outputs else None
        coef = fit.coef if mask is None else fit.coef * mask
        return KernelExpansion(fit.kernel, fit.vectors, coef, fit.intercept, mask)

    def _judged(self, judge: Judge | None, fit: Refined, decoder: Decoder | None = None) -> _Candidate:
        return _Candidate(fit, None if judge is None else judge.of(self._expansion(fit), decoder), decoder)

    def _margins(self, rows: _Rows, labels: bool) -> MarginLoss:
        classes = self.classes if not labels or self.labels is None else self.labels
        sides = sides_of(classes[rows.which], self.n_classes, self.pairwise)
        return MarginLoss(self.problem.backend.asarray(sides), rows.targets, trust=not labels)

    # ---- the stages -------------------------------------------------------------------------------------

    def outcome(self) -> Outcome:
        n = self.rows.shape[0]
        everything = np.arange(n)
        fit_rows, judge = everything, None
        if n >= _FEW_ROWS:
            fit_rows, held = split_rows(n, self.problem.seed)
            judge = Judge(replace(self.problem, rows=self.rows), held)
        setting = _Setting(relevance=0.01 if self.mask is not None else 1.0)
        rows = _Rows(self, self._sample(fit_rows, setting))
        best = self._best_start(rows, judge, setting)
        best, setting = self._best_setting(rows, judge, best, setting)
        best = self._descend(rows, judge, best, setting)
        best, finish = self._best_finish(rows, judge, best, setting)
        narrow = self._fewer_outputs(everything, rows, judge, best, setting)
        final, decoder = narrow or (self._on_all_rows(everything, best, setting, finish), None)
        return Outcome(
            self._expansion(final),
            decoder=decoder,
            status="" if len(final.vectors) == self.m else "there are fewer distinct rows than vectors asked for",
            path=self.path,
            trace=self.trace,
            notes=tuple(self.notes),
        )

    def _sample(self, which: NDArray[np.intp], setting: _Setting) -> NDArray[np.intp]:
        """Return as many of the rows as one evaluation may cost, at least ten for each vector."""
        per_row = self._operations(1, setting) - self._operations(0, setting)
        most = int(max(10 * self.m, 2000, _EVALUATION / per_row))
        if len(which) <= most:
            return which
        rng = np.random.default_rng(self.problem.seed)
        self.notes.append(f"searched on {most:,} of {len(which):,} rows, chosen at random")
        return np.sort(rng.permutation(which)[:most])

    def _starts(self, rows: _Rows) -> dict[str, Floats]:
        seed, kernel = self.problem.seed, self.source.kernel
        X = arrays.take(self.rows, rows.which)
        if self.owner is not None:
            by_class = []
            for c, k in enumerate(np.bincount(self.owner, minlength=self.n_classes)):
                members = np.flatnonzero(self.classes[rows.which] == c)
                by_class.append(self._filled(arrays.take(X, members), int(k), seed, X))
            return {"k-means centres of each class": np.concatenate(by_class)}
        starts = {}
        if self.smaller is not None and self.smaller.expansion.n_vectors < self.m:
            grown = arrays.dense(self.smaller.expansion.vectors)
            more = self._filled(X, self.m - len(grown), seed, X)
            starts["the smaller model and more centres"] = np.concatenate([grown, more])
        starts["k-means centres"] = kmeans_centres(X, self.m, seed)
        if 30 * self._operations(rows.n, _Setting()) < _CHEAP_START * self.work:
            for again in range(1, 4):
                starts[f"k-means centres, try {again + 1}"] = kmeans_centres(X, self.m, seed + 1000 * again)
        if self.m <= min(_MOST_LARS, rows.n // 2):
            V, path = lars_rows(
                kernel,
                X,
                self.targets[rows.which],
                self.m,
                seed=seed,
                backend=self.problem.backend,
                progress=self.problem.stage("LARS"),
            )
            if len(V) == self.m:
                starts["LARS"] = V
                self.path["LARS"] = path
        return starts

    @staticmethod
    def _filled(X: Rows, k: int, seed: int, others: Rows) -> Floats:
        """Return k centres of X, with random other rows where X has too few."""
        centres = kmeans_centres(X, k, seed) if X.shape[0] and k else np.empty((0, others.shape[1]))
        if len(centres) < k:
            pick = np.random.default_rng(seed).integers(0, others.shape[0], k - len(centres))
            centres = np.concatenate([centres, np.asarray(arrays.dense(arrays.take(others, pick)))])
        return centres

    def _best_start(self, rows: _Rows, judge: Judge | None, setting: _Setting) -> _Candidate:
        starts = self._starts(rows)
        short = self._iterations(0.03, rows.n, setting, 8, 20)
        tried = {}
        for name, V in starts.items():
            fit = self._project(rows, V, self.source.kernel, setting, short, f"start: {name}")
            tried[name] = self._judged(judge, fit)
            self.trace[f"start: {name}"] = fit.trace
        best = max(tried, key=lambda name: tried[name].score)
        scores = ", ".join(f"{name} {c.score:.4f}" for name, c in tried.items())
        self.notes.append(
            f"started from {best}" + (f" (held-out scores after {short} steps: {scores})" if judge else "")
        )
        return tried[best]

    def _best_setting(
        self, rows: _Rows, judge: Judge | None, best: _Candidate, setting: _Setting
    ) -> tuple[_Candidate, _Setting]:
        """Try one change of setting after the other, against as many steps without it, from the same vectors."""
        if judge is None:
            return best, setting
        plain = None
        for ladder in self._ladders():
            for name, change in ladder:
                short = self._iterations(0.03, rows.n, setting, 8, 20)
                if plain is None:
                    plain = self._continued(rows, judge, best, setting, short)
                changed = replace(setting, **change)
                other = self._continued(rows, judge, best, changed, short)
                if not other.beats(plain):
                    self.notes.append(f"{name}: not used ({plain.score:.4f} -> {other.score:.4f})")
                    break  # further along the same ladder is no better
                self.notes.append(f"{name}: helps on held-out rows ({plain.score:.4f} -> {other.score:.4f})")
                best, setting, plain = other, changed, None
        return plain or best, setting

    def _continued(self, rows: _Rows, judge: Judge, at: _Candidate, setting: _Setting, steps: int) -> _Candidate:
        fit = self._project(rows, at.fit.vectors, at.fit.kernel, setting, steps, "settings")
        return self._judged(judge, fit)

    def _ladders(self) -> list[list[tuple[str, dict[str, Any]]]]:
        """Return the changes of setting to try; along each ladder only as far as they help."""
        ladders: list[list[tuple[str, dict[str, Any]]]] = []
        if self.source.kernel.params.get("gamma", 0) > 0:
            ladders.append([("learning the kernel width", {"width": True})])
        if self.pairwise and 8 * self.n_classes * self.m**2 < self.problem.max_bytes:
            weights = (0.1, 0.01, 0.001) if self.mask is None else (0.001,)
            name = "weight {:g} for rows of neither class of a pair"
            ladders.append([(name.format(weight), {"relevance": weight}) for weight in weights])
        ladders.append([("a stronger ridge", {"ridge": 1e-5}), ("a still stronger ridge", {"ridge": 1e-4})])
        return ladders

    def _descend(self, rows: _Rows, judge: Judge | None, best: _Candidate, setting: _Setting) -> _Candidate:
        iterations = self._iterations(0.3, rows.n, setting, 20, 120)
        fit = self._project(rows, best.fit.vectors, best.fit.kernel, setting, iterations, "descent")
        self.trace["descent"] = fit.trace
        after = self._judged(judge, fit)
        return best if best.beats(after) else after

    def _best_finish(
        self, rows: _Rows, judge: Judge | None, best: _Candidate, setting: _Setting
    ) -> tuple[_Candidate, bool | None]:
        """Return the best candidate and which margins made it: True the labels', False the source's, None neither."""
        finish = None
        if judge is None or self.n_classes < 2:
            return best, finish
        iterations = self._iterations(0.08, rows.n, setting, 10, 40)
        start = best
        for labels in (False, True) if self.labels is not None else (False,):
            name = "margins of the labels" if labels else "margins of the source"
            fit = self._polish(rows, self._margins(rows, labels), start.fit, setting, iterations, f"finish: {name}")
            self.trace[f"finish: {name}"] = fit.trace
            change = self._judged(judge, fit)
            if change.beats(best):
                self.notes.append(f"finish on {name}: helps on held-out rows ({best.score:.4f} -> {change.score:.4f})")
                best, finish = change, labels
            else:
                self.notes.append(f"finish on {name}: not used ({best.score:.4f} -> {change.score:.4f})")
        return best, finish

    def _fewer_outputs(
        self, everything: NDArray[np.intp], rows: _Rows, judge: Judge | None, best: _Candidate, setting: _Setting
    ) -> tuple[Refined, Decoder] | None:
        """Return a fit with one output a class and its decoder, if it is cheaper and the judge finds it no worse."""
        classes = self.problem.source.decoder.classes
        if judge is None or not self.pairwise or self.mask is not None or classes is None or self.n_classes < 4:
            return None
        decoder = Argmax(classes)
        setting = replace(setting, relevance=1.0)
        steps = self._iterations(0.05, rows.n, setting, 8, 30)
        at = best.fit
        fit = self._project(rows.narrowed(self), at.vectors, at.kernel, setting, steps, "one output a class")
        narrow = self._judged(judge, fit, decoder)
        if narrow.score < best.score:
            self.notes.append(f"one output a class: not used ({best.score:.4f} -> {narrow.score:.4f})")
            return None
        self.notes.append(f"one output a class: cheaper and no worse ({best.score:.4f} -> {narrow.score:.4f})")
        whole = _Rows(self, everything).narrowed(self)
        steps = self._iterations(0.25, whole.n, setting, 4, 50)
        return self._project(whole, fit.vectors, fit.kernel, setting, steps, "all rows"), decoder

    def _on_all_rows(
        self, everything: NDArray[np.intp], best: _Candidate, setting: _Setting, finish: bool | None
    ) -> Refined:
        """Run the last steps on all rows, from the best candidate."""
        whole = _Rows(self, everything)
        iterations = self._iterations(0.25, whole.n, setting, 4, 50)
        if finish is None:
            fit = self._project(whole, best.fit.vectors, best.fit.kernel, setting, iterations, "all rows")
        else:
            fit = self._polish(whole, self._margins(whole, finish), best.fit, setting, iterations, "all rows")
        self.trace["all rows"] = fit.trace
        return fit
