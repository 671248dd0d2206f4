"""A rehearsal: the source trained again without the rows that judge.

Choices are made on held-out rows, but rows that the source was trained on are not held out from *it*: its decision
values near them already carry their labels, so a closer copy of the source looks better there than it is on new rows.
Where y is given, the choices are therefore rehearsed: an SVM with the source's kernel and C is trained on the other
rows alone, *it* is compressed, and the held-out rows judge that. What wins is then done to the source itself.

C need not be known. A coefficient of a C-SVM is at most C, and if none reaches it, any C at least as large as the
largest gives the same machine; so the largest coefficient of the source is a C that would have made it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from svmpress import arrays
from svmpress.decoders import PairDAG, PairVote, Sign
from svmpress.formats import from_estimator
from svmpress.kernels import Kernel
from svmpress.problem import Problem

_MANY_ROWS, _PART, _MOST_ROWS = 15_000, 3, 30_000
"""Rows that a rehearsal is content with, unless they are less than one in so many, and the most it may have: training
grows with the square of their number."""
_ALIKE = 0.9
_KERNELS = ("rbf", "poly", "sigmoid", "linear")


def rehearsal(problem: Problem, rows: NDArray[np.intp]) -> Problem | None:
    """Return the problem of compressing an SVM like the source, trained on these rows alone; None where it cannot be.

    Parameters
    ----------
    problem : Problem
        With rows.
    rows : (k,)
        Positions of the rows to train on, of which 15,000 are used, or a third if that is more, up to 30,000.

    Returns
    -------
    Problem or None
        None for regressors and one-class models, without y, for kernels that scikit-learn's SVC does not have, and if
        a class is missing from the rows.
    """
    source = problem.source
    known = isinstance(source.decoder, Sign | PairVote | PairDAG) and source.task == "classification"
    kernel = _sklearn_kernel(source.kernel)
    if problem.y is None or problem.rows is None or not known or kernel is None:
        return None
    most = max(_MANY_ROWS, min(len(rows) // _PART, _MOST_ROWS))
    if len(rows) > most:
        rows = np.sort(np.random.default_rng(problem.seed).permutation(rows)[:most])
    X, y = arrays.take(problem.rows, rows), problem.y[rows]
    assert source.classes_ is not None
    if len(np.unique(y)) < source.classes_.size:
        return None
    largest = float(np.abs(source.expansion.coef).max(initial=0.0))
    svc = SVC(C=largest or 1.0, cache_size=500, **kernel).fit(X, y)
    again = from_estimator(svc)
    expansion = again.expansion
    if isinstance(again.decoder, Sign) and not isinstance(source.decoder, Sign):  # a pair's value has the other sign
        expansion = replace(expansion, coef=-expansion.coef, intercept=-expansion.intercept)
    model = replace(again, expansion=expansion, decoder=source.decoder)
    return replace(problem, source=model, rows=X, y=y)


def _sklearn_kernel(kernel: Kernel) -> dict[str, object] | None:
    """Return the kernel as arguments of SVC; None if it has none such."""
    degree = kernel.params.get("degree", 0)
    if kernel.name not in _KERNELS or degree != int(degree):
        return None
    whole = {"degree": int(degree)} if "degree" in kernel.params else {}
    return {"kernel": kernel.name, **kernel.params, **whole}


def trusting_labels(problem: Problem, rows: NDArray[np.intp]) -> tuple[Problem, Problem | None]:
    """Return the problem and its rehearsal on these rows; without y and rehearsal where the source does not follow y.

    An SVM trained with weights of classes or rows does not answer as its labels suggest. Labels must not judge it then:
    what it answers counts.
    """
    rehearsed = rehearsal(problem, rows)
    if rehearsed is None or _alike(problem, rehearsed):
        return problem, rehearsed
    return replace(problem, y=None), None


def _alike(problem: Problem, rehearsed: Problem) -> bool:
    """Return whether a rehearsal answers its own rows as the source does, nine times out of ten."""
    answers = [some.source.decoder.labels(some.values(rehearsed.rows)) for some in (problem, rehearsed)]
    return bool(np.mean(answers[0] == answers[1]) >= _ALIKE)
