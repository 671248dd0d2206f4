"""The default method: variable projection, with every refinement of it judged on held-out rows.

The targets are the source's decision values on the given rows (its support vectors if there are none). First some rows
are held out, and the choices are made on the others; where there are labels, on a *rehearsal*, an SVM like the source
that never saw the held-out rows (:mod:`svmpress.methods.surrogate`):

1. **Starts** (k-means centres, rows picked by multi-output LARS or the elastic net, a smaller model grown; in the
   LibSVM layout centres of each class and of its support vectors) are refined briefly; the best goes on.
2. **Targets**: labels may be fitted instead (by a regressor, values halfway to y), with the norm in the kernel's space
   against over-fitting; that approximates kernel ridge regression. It does not repeat the errors of the source, it
   copies less of it, and one output a class does instead of one a pair (the LibSVM layout keeps pairs). Both ways go on
   until one is clearly behind.
3. **Settings** are tried from there, each kept only if it helps: the relevance of pairs (a one-vs-one machine listens
   less to rows of other classes than its two), a kernel width that is learned, a stronger ridge, and for a copy in the
   LibSVM layout the norm, and values as they are, where they are cut off beyond the margin (or the other way round).
4. **Descent** by variable projection, as far as it helps, and the ridge of its last solve.
5. **Finishes**, kept only if they help: margins instead of values (the source's, or those of the labels).

Where there is a model alone, its support vectors and the labels that its coefficients tell are tried as data first, and
what is more than a copy must answer as the source between the support vectors of each class (:mod:`svmpress.alone`).

Then the source itself is compressed with what was chosen, from the vectors that were found (near the start again, where
labels are fitted, or a copy in the LibSVM layout has steps enough), and the last steps run on all rows. The work is
bounded (:mod:`svmpress.methods.auto.effort`): rows are sampled and iterations counted.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from svmpress.errors import InputError
from svmpress.methods.auto.choices import Search
from svmpress.methods.auto.scene import Finish, Guard, Scene
from svmpress.methods.auto.stages import Choice
from svmpress.methods.base import Outcome, Problem
from svmpress.methods.data_free import between, told_labels
from svmpress.methods.holdout import Judge
from svmpress.numerics import one_blas_thread
from svmpress.objectives import Refined

_TOLD = "a model alone: its support vectors are the rows, and the signs of coefficients tell their labels"
_MOST = 0.5
"""Of the points between the support vectors of a class: what is not answered as by the source has given it up."""
_LAST_FINISH = 0.5
"""Share of the work that a finish may take on all rows, where these are many more than it was judged on."""
_ENOUGH_STEPS = 100
"""Steps of descent, and as many as there are features, after which it matters little how far it had come before."""
_GUARDED_TURNS = 4
"""How often the rows that guard a regressor follow its vectors."""


@dataclass(frozen=True)
class Auto:
    """Variable projection with what held-out rows approve of; see the module's docstring.

    Parameters
    ----------
    work : float, optional
        Floating-point operations to spend; by default in proportion to the training of the source, and bounded.
    copies_only : bool
        Whether the source's values are the only targets, and its answers the only measure; y is not used then.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from svmpress import compress
    >>> X, y = load_digits(return_X_y=True)
    >>> svc = SVC(gamma=0.001).fit(X, y)
    >>> compress(svc, vectors=60, method=Auto(copies_only=True)).model.n_outputs  # one a pair, as in the source
    45
    """

    work: float | None = None
    copies_only: bool = False

    def __post_init__(self) -> None:
        work: Any = self.work
        if work is not None and not (isinstance(work, int | float | np.number) and 0 < work < inf):
            raise InputError(f"work must be a number of operations, more than 0, not {self.work!r}")

    def run(self, problem: Problem, m: int, smaller: Outcome | None = None) -> Outcome:
        """Return an expansion of ``m`` vectors, grown from ``smaller`` if that is the best start."""
        search = Search(problem, m, self.work, smaller, self.copies_only)
        with one_blas_thread() if search.is_small() else nullcontext():
            search, choice, fit, scene = _compressed(search) if problem.rows is not None else _alone(search)
        return Outcome(
            search.trials.expansion(fit),
            decoder=None if scene.decoder is problem.source.decoder else scene.decoder,
            copies=choice.copies and choice.finish is not Finish.LABELS,
            status="" if len(fit.vectors) == m else "there are fewer distinct rows than vectors asked for",
            path=search.path,
            trace=search.trace,
            notes=tuple(search.notes),
        )


_Compressed = tuple[Search, Choice, Refined, Scene]
"""A search, what it chose, and what came of it."""


def _compressed(search: Search) -> _Compressed:
    """Make the choices, and do what was chosen to the source itself."""
    choice = search.choice()
    return search, choice, *_compress(search, choice)


def _alone(search: Search) -> _Compressed:
    """Compress a model without data: what is more than a copy of it must hold between its support vectors, too.

    These are the rows. Where coefficients tell their labels, labels that are far better than a copy are tried first.
    """
    problem, said = search.problem, []
    labels = told_labels(problem) if problem.layout == "shared" and not search.copies_only else None
    if labels is not None:
        told = Search(
            replace(problem, rows=search.rows, y=labels), search.m, search.wanted_work, search.smaller, notes=[_TOLD]
        )
        choice = told.choice_beyond_source()
        if choice is not None:
            found = told, choice, *_compress(told, choice)
            if _holds_between(told, *found[2:]):
                return found
        if len(told.notes) > 1:
            said.append(f"labels that coefficients tell are not used: {told.notes[-1]}")
        search.effort.spent += told.effort.spent
    search.notes.extend(said)
    found = _compressed(search)
    if found[1].copies or _holds_between(search, *found[2:]):
        return found
    said.append(f"classes are not fitted: {search.notes[-1]}")
    return _compressed(Search(problem, search.m, search.wanted_work, search.smaller, copies_only=True, notes=said))


def _holds_between(search: Search, fit: Refined, scene: Scene) -> bool:
    """Return whether no class is given up: most points between its support vectors get the answer of the source."""
    problem = search.problem
    points, classes = between(scene.X, scene.classes, problem.seed)
    judge = Judge(replace(problem, rows=points, y=None), np.arange(len(classes)))
    verdict = judge.of(search.trials.expansion(fit), scene.decoder)
    least = min(verdict.of(classes == c).score for c in np.unique(classes))
    search.notes.append(
        f"points between support vectors of a class: {verdict.score:.0%} are answered as by the source, and of each "
        f"class at least {least:.0%}"
    )
    return least >= _MOST


def _compress(search: Search, choice: Choice) -> tuple[Refined, Scene]:
    """Do what was chosen to the source itself."""
    problem, setting = replace(search.problem, rows=search.rows), choice.setting
    n = search.rows.shape[0]
    whole = Scene.of(problem)
    if not choice.copies:
        whole = search.by_labels(whole)
    some = search.effort.sample(n, whole.targets.shape[1], setting, search.problem.seed, copies=choice.copies)
    scene = whole if len(some) == n else whole.subset(some)
    if len(some) < n:
        search.notes.append(f"the descent ran on {len(some):,} of {n:,} rows, the last steps on all of them")
    left = search.effort.left  # what the search did not need goes into the descent
    part = 0.75 if scene is not whole or search.mask is None else 1.0  # which is slow under a mask
    steps = search.trials.steps(part * left, scene, setting, 15, 1000) if choice.steps is None else choice.steps
    enough = max(_ENOUGH_STEPS, search.rows.shape[1])
    if choice.again is not None and search.example is not None and steps >= enough:
        choice = replace(choice, vectors=choice.again.vectors, kernel=choice.again.kernel)
        search.notes.append(f"the descent starts again, near the start and with all rows, for {steps} steps")
    guard = Guard.of(whole)
    fit = _descend(search, scene, choice, steps, guard)
    if scene is not whole:
        last = search.trials.steps(0.25 * left, whole, setting, 3, 100)
        watched = guard.over(whole, fit.vectors)
        fit = search.trials.project(watched, fit.vectors, fit.kernel, setting, last, "all rows")
        search.trace["all rows"] = fit.trace
    if guard.is_needed or choice.ridge is not None:
        last_setting = replace(setting, ridge=choice.ridge or setting.ridge)
        watched = guard.over(whole, fit.vectors)
        fit = search.trials.project(watched, fit.vectors, fit.kernel, last_setting, 0, "last solve")
    if choice.finish is not None:
        wanted = choice.finish_steps
        affordable = search.effort.steps(_LAST_FINISH, search.effort.finish(whole), min(100, wanted), wanted)
        fit = search.trials.finish(whole, choice.finish, fit, setting, affordable)
        search.trace["finish"] = fit.trace
    return fit, whole


def _descend(search: Search, scene: Scene, choice: Choice, steps: int, guard: Guard) -> Refined:
    """Move the vectors; those of a regressor under guard, which follows them."""
    if not guard.is_needed:
        fit = search.trials.project(scene, choice.vectors, choice.kernel, choice.setting, steps, "descent")
        search.trace["descent"] = fit.trace
        return fit
    V, kernel, each = choice.vectors, choice.kernel, -(-steps // _GUARDED_TURNS)
    for turn in range(_GUARDED_TURNS):
        fit = search.trials.project(guard.over(scene, V), V, kernel, choice.setting, each, "descent")
        V, kernel = fit.vectors, fit.kernel
        search.trace[f"descent, turn {turn + 1}"] = fit.trace
    return fit
