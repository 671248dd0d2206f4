"""``search()``: C, the kernel width and the size together, so that the compressed model meets a goal.

trials      propose -> train once -> read every size off one path -> record        (sampled rows)
finalists   the best trials -> train -> compress() around the promised size        (all rows but those that judge)
the model   the best finalist's parameters and size -> train -> compress()         (all rows)
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

import numpy as np
from sklearn.svm import SVC

from svmpress.errors import InputError
from svmpress.methods import Layout, Method, Progress
from svmpress.numerics import arrays, executor_of, seed_of
from svmpress.tuning.ahead import Ahead, Reach
from svmpress.tuning.finals import Finalist, best_point, gain_of, promised_size, ranked
from svmpress.tuning.goal import Cost, Goal
from svmpress.tuning.inputs import check_arguments, check_judges, checked, described, digest, make_folds, named_metric
from svmpress.tuning.proposals import STARTUP, Observation, Sampler, check_sampler, propose
from svmpress.tuning.records import Records, Trial, keeping, plain
from svmpress.tuning.result import SearchResult, SearchStatus
from svmpress.tuning.space import Parameter, as_given, default_space, given_space
from svmpress.tuning.workbench import Metric, TrainingError, Workbench, read_path, source_point

_TRIALS_SHARE = 2 / 3
"""Share of the time limit after which no trial begins, so that time is left for finalists."""


def search(
    X: Any,
    y: Any = None,
    *,
    estimator: Any = None,
    min_accuracy: float | None = None,
    max_vectors: int | None = None,
    max_bytes: int | None = None,
    max_latency: float | None = None,
    minimise: Cost = "vectors",
    space: Mapping[str, Any] | None = None,
    scoring: str | Metric | None = None,
    trials: int = 30,
    finalists: int = 3,
    rows: int = 2000,
    time_limit: float | None = None,
    cv: int | None = None,
    validation: float = 0.2,
    storage: str | os.PathLike[str] | None = None,
    sampler: Sampler = "gp",
    method: str | Method = "auto",
    layout: Layout = "shared",
    refit: bool = True,
    random_state: Any = 0,
    executor: Any = None,
    progress: Progress | None = None,
) -> SearchResult:
    """Choose C, gamma and the number of vectors together, so that the compressed model meets a goal.

    With ``min_accuracy`` the smallest model that reaches it is looked for, within the limits if there are any; with
    limits alone, the most accurate model within them.

    Parameters
    ----------
    X : (n, d), dense or sparse
    y : (n,)
        Labels or values. A one-class SVM may have labels 1 (inlier) and -1, which then judge it; without them only
        the size is searched, and the score is the agreement with the SVM before compression.
    estimator : estimator, optional
        What is trained: ``SVC()`` by default; an SVM that svmpress reads, or a Pipeline of scalers and one, which is
        fitted anew for every split.
    min_accuracy : float, optional
        Accuracy, R² or whatever ``scoring`` is, on held-out rows, that the compressed model must reach.
    max_vectors, max_bytes, max_latency : optional
        Limits on its vectors, its bytes, and its seconds per prediction on this machine.
    minimise : "vectors", "bytes" or "latency"
        What is made small.
    space : mapping, optional
        Which parameters are searched: names to ``(low, high)`` or to a list of values; C and gamma by default, in
        ranges that suit the data. With ``{}`` only the size is searched.
    scoring : "accuracy", "balanced_accuracy", "r2" or callable, optional
        A callable gets true and predicted values; larger is better.
    trials : int
        How many settings are tried, those in ``storage`` included.
    finalists : int
        How many of them are tried again on all rows.
    rows : int
        Most rows that a trial trains on.
    time_limit : float, optional
        Seconds after which no finalist begins; trials end after two thirds of it. The model is made in any case.
    cv : int, optional
        Folds of cross-validation; by default a share of the rows is held out.
    validation : float
        That share.
    storage : path, optional
        File that keeps the trials: the same call goes on from there after an interruption.
    sampler : "gp" or "random"
        Gaussian processes (the extra ``search``), or chance.
    method, layout
        Of the compression, as for :func:`svmpress.compress`.
    refit : bool
        Whether the model is made from all rows, or without those that judged.
    random_state : int, RandomState, Generator or None
        As for :func:`svmpress.compress`. To go on from ``storage`` takes the same number.
    executor : Executor of concurrent.futures, or a client of Dask, optional
        Where trials whose settings are known beforehand, and finalists, are trained ahead. The result is the same.
    progress : callable, optional
        Called with (stage, done, total).

    Returns
    -------
    SearchResult
        ``.model`` is the compressed model, ``.feasible`` says whether it meets the goal, ``.summary()`` is for people.

    Raises
    ------
    MissingExtraError
        When Optuna or torch is not installed and ``sampler`` is "gp".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> result = search(X, y, min_accuracy=0.9, trials=3, finalists=1, sampler="random")
    >>> result.feasible
    True
    """
    begun = time.monotonic()
    goal = Goal(plain(min_accuracy), plain(max_vectors), plain(max_bytes), plain(max_latency), minimise)
    trials, finalists, rows, random_state = (*map(plain, (trials, finalists, rows)), seed_of(random_state))
    time_limit, cv, validation = map(plain, (time_limit, cv, validation))
    pool = executor_of(executor)
    check_arguments(sampler, time_limit, method, layout, trials=trials, finalists=finalists, rows=rows)
    estimator = SVC() if estimator is None else estimator
    X, y, kind = checked(estimator, X, y)
    name, metric = named_metric(scoring, kind, y)
    classes = y if kind == "classification" else None
    folds = make_folds(classes, X.shape[0], cv, validation, random_state)
    check_judges(metric, folds)
    seen = arrays.take(X, folds[0][0])  # ranges are for the rows to fit: no scaler sees a row that judges
    if space is None:
        values = y[folds[0][0]] if y is not None and kind == "regression" else None
        parameters = default_space(estimator, seen, values, labelled=y is not None)
    else:
        parameters = given_space(estimator, space)
    check_sampler(sampler if parameters else "random")
    bench = Workbench(estimator, X, y, classes is not None, metric, folds, rows, method, layout, random_state)
    first = as_given(estimator, parameters, seen)
    header = {
        "random_state": random_state,
        "data": digest(X, y),
        "features": int(X.shape[1]),
        "estimator": described(estimator),
        "goal": asdict(goal),
        "space": [asdict(p) for p in parameters],
        "score": name,
        "validation": cv or validation,
        "rows": rows,
        "sampler": sampler,
        "method": repr(method) if isinstance(method, str) or is_dataclass(method) else type(method).__name__,
        "layout": layout,
        "limit": _limit(goal, bench, first),
    }
    clock = _Clock(begun, math.inf if time_limit is None else begun + time_limit)
    with keeping(storage, header) as records:
        ahead = Ahead(bench, pool)
        run = _Search(bench, goal, parameters, first, records, sampler, trials, finalists, progress, clock, ahead)
        try:
            run.try_settings()
            run.try_finalists()
            return run.finished(name, refit)
        finally:
            ahead.stop()


def _limit(goal: Goal, bench: Workbench, first: Mapping[str, Any]) -> int | None:
    """Return the most vectors that the goal allows; bytes and seconds depend on the shape of a model."""
    if goal.max_bytes is None and goal.max_latency is None:
        return goal.max_vectors
    try:
        return goal.limit(bench.sides(first, all_rows=False)[0].source)
    except TrainingError as e:
        raise InputError(f"the estimator cannot be trained on these rows: {e}") from e


@dataclass(frozen=True)
class _Clock:
    """When the search began, and when it must end; of the monotonic clock."""

    begun: float
    end: float

    @property
    def trials_end(self) -> float:
        return self.begun + _TRIALS_SHARE * (self.end - self.begun)


@dataclass(eq=False)
class _Search:
    """One search; everything that it knows is in its records."""

    bench: Workbench
    goal: Goal
    space: tuple[Parameter, ...]
    first: Mapping[str, Any]
    records: Records
    sampler: Sampler
    n_trials: int
    n_finalists: int
    progress: Progress | None
    clock: _Clock
    ahead: Ahead

    def __post_init__(self) -> None:
        self.limit: int | None = self.records.header["limit"]  # as measured when the search began
        self.n_features = int(self.bench.X.shape[1])
        if not self.space:
            self.n_trials = self.n_finalists = 1

    @property
    def gain(self) -> float:
        """What trials gain on all rows; see :mod:`svmpress.tuning.finals`."""
        return gain_of(self.records.finalists, self.records.tried) if self.bench.sampled else 0.0

    # ---- trials -----------------------------------------------------------------------------------------

    def try_settings(self) -> None:
        """Try settings until there are enough, or the time is up."""
        if self.clock.end == math.inf:  # what is begun ahead knows no time limit
            known = self.n_trials if self.sampler == "random" else min(STARTUP, self.n_trials)
            settings = [self._proposal(number) for number in range(len(self.records.tried), known)]
            self.ahead.begin_trials(settings, self._reach())
        while len(self.records.tried) < self.n_trials:
            number = len(self.records.tried)
            self._report("trials", number, self.n_trials)
            if number and time.monotonic() > self.clock.trials_end:
                return
            if number == STARTUP and self.bench.sampled and not self.records.finalists:
                self._promote(ranked(self.records.tried, self.goal, 0.0, self.limit)[:1])
            self.records.append(self._trial(number, self._proposal(number)))
        if all(t.error for t in self.records.tried):
            raise InputError(f"no SVM could be trained: {self.records.tried[-1].error}")
        self._report("trials", self.n_trials, self.n_trials)

    def _proposal(self, number: int) -> dict[str, Any]:
        if number == 0 or not self.space:
            return dict(self.first)
        good = [t for t in self.records.tried if t.source is not None]
        observed = self.goal.shaped(self._observed(good))
        seen = [Observation(t.params, *values) for t, values in zip(good, observed, strict=True)]
        return propose(self.space, seen, number, sampler=self.sampler, seed=self.bench.seed)

    def _observed(self, trials: Sequence[Trial]) -> list[tuple[float, float | None]]:
        """Return what trials say about the goal: by the sizes that it allows, whatever the SVM itself is worth."""
        gain = self.gain
        return [self.goal.observed(t.curve_within(self.limit), gain) for t in trials]

    def _trial(self, number: int, params: dict[str, Any]) -> Trial:
        begun = time.monotonic()
        reach = self._reach()
        try:
            read = self.ahead.trial(params)
            sides = self.bench.sides(params, all_rows=False) if read is None else self.ahead.restored(read.trained)
        except TrainingError as e:
            return Trial(number, "trial", params, 0, None, (), time.monotonic() - begun, str(e))
        source = source_point(sides) if read is None else read.source
        most = reach.most(source.vectors)
        if read is not None and read.serves(most):
            curve = read.curve
        else:
            curve = read_path(sides, most, reach.enough, self.clock.trials_end)
        rows = max(side.rows.size for side in sides)
        return Trial(number, "trial", params, rows, source, curve, time.monotonic() - begun)

    def _reach(self) -> Reach:
        """Return how far paths are read, by what is known."""
        enough, promised = self.goal.min_accuracy, tuple[float, ...]()
        if enough is not None:
            promised = tuple(promised_size(t, self.goal, self.gain, self.limit) for t in self._feasible())
        return Reach(self.limit, enough, promised)

    def _feasible(self) -> list[Trial]:
        """Return the trials that meet the goal, as far as trials can tell."""
        good = [t for t in self.records.tried if t.source is not None]
        return [t for t, (_, missed) in zip(good, self._observed(good), strict=True) if (missed or 0.0) <= 0]

    # ---- finalists --------------------------------------------------------------------------------------

    def try_finalists(self) -> None:
        """Try the best trials again until there are enough finalists, or the time is up."""
        order = ranked(self.records.tried, self.goal, self.gain, self.limit)
        promoted = {f.number for f in self.records.finalists}
        best = order[: self.n_finalists]
        self._promote([t for t in best if t.number not in promoted])

    def _promote(self, trials: list[Trial]) -> None:
        self.ahead.begin_finalists([trial.params for trial in trials])
        for trial in trials:
            if self.records.finalists and time.monotonic() > self.clock.end:
                return
            self.records.append(self._finalist(trial))

    def _finalist(self, trial: Trial) -> Trial:
        begun = time.monotonic()
        try:
            sides = self.ahead.sides(trial.params)
            finalist = Finalist(self.bench, sides, self.goal, self.limit, self._finalist_progress())
        except TrainingError as e:
            return Trial(trial.number, "finalist", trial.params, 0, None, (), time.monotonic() - begun, str(e))
        if self.goal.min_accuracy is None:
            finalist.most_accurate()
        else:
            best = best_point(self.records.finalists, self.goal, self.n_features)
            beat = best[1] if best is not None and self.goal.is_met(best[1]) else None
            finalist.smallest(promised_size(trial, self.goal, self.gain, self.limit), beat, self.n_features)
        curve = tuple(finalist.points[m] for m in sorted(finalist.points))
        rows = max(fit.size for fit, _ in self.bench.folds)
        return Trial(
            trial.number, "finalist", trial.params, rows, finalist.source, curve, time.monotonic() - begun
        )  # fmt: skip

    # ---- the model --------------------------------------------------------------------------------------

    def finished(self, score_name: str, refit: bool) -> SearchResult:
        """Make the model of the best finalist, and return everything."""
        found = best_point(self.records.finalists, self.goal, self.n_features)
        if found is None:
            raise InputError("no finalist could be trained on all rows; try other ranges of the parameters")
        winner, point = found
        fit = self.bench.folds[0][0]
        rows = np.arange(self.bench.X.shape[0]) if refit else fit
        self._say("training the model", 0, 1)
        source = self.bench.trained(winner.params, rows)
        self._say("training the model", 1, 1)
        made = self.bench.compressed(source, rows, point.vectors, self.progress)
        feasible = self.goal.is_met(point)
        tried = self.records.tried
        return SearchResult(
            model=made.model,
            compression=made,
            params=dict(winner.params),
            score=point.score,
            score_name=score_name,
            goal=self.goal,
            status=SearchStatus.FEASIBLE if feasible else SearchStatus.INFEASIBLE,
            detail="" if len(tried) >= self.n_trials else f"the time was up after {len(tried)} trials",
            trials=tuple(tried),
            finalists=tuple(self.records.finalists),
            held_out=sum(held.size for _, held in self.bench.folds),
            limit=self.limit,
            seconds=time.monotonic() - self.clock.begun,
            notes=made.notes,
        )

    # ---- progress ---------------------------------------------------------------------------------------

    def _say(self, stage: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(stage, done, total)

    def _report(self, stage: str, done: int, total: int) -> None:
        self._say(f"{stage} ({self._best_so_far()})", done, total)

    def _finalist_progress(self) -> Progress:
        """Return a progress callback for the compressions of the next finalist."""
        number, best = len(self.records.finalists) + 1, self._best_so_far()
        return lambda stage, done, total: self._say(f"finalist {number} ({best}): {stage}", done, total)

    def _best_so_far(self) -> str:
        """Return the best of finalists, else of trials, for people."""
        found = best_point(self.records.finalists or self.records.tried, self.goal, self.n_features)
        if found is None:
            return "nothing yet"
        short = "" if self.goal.is_met(found[1]) else ", short of the goal"
        return f"best {found[1].vectors} vectors, {found[1].score:.4f}{short}"
