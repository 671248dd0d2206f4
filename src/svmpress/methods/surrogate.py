"""A surrogate: an SVM like the source, trained without the held-out rows.

Choices are made on held-out rows, but rows that the source was trained on are not held out from *it*: its decision
values near them already carry their labels, so a closer copy of the source looks better there than it is on new rows.
Where y is given, an SVM with the source's kernel and C is therefore trained on other rows alone, choices are made by
compressing *it*, and what wins is then done to the source itself.

C need not be known. A coefficient of a C-SVM is at most C, and if none reaches it, any C at least as large as the
largest gives the same machine; so the largest coefficient of the source is a C that would have made it. Nor need the
tube of a support vector regression: the rows outside it are its support vectors, so it is as wide as the share of these
among the rows says. Its coefficients add up to zero; a regressor whose do not is another, and has no surrogate.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Identity, PairDAG, PairVote, Sign
from svmpress.formats import from_estimator
from svmpress.kernels import Kernel
from svmpress.methods.base import Problem
from svmpress.methods.holdout import Holdout
from svmpress.model import KernelModel
from svmpress.numerics import Floats, Rows, arrays

_ENOUGH_ROWS, _MOST_ROWS = 2_000, 15_000
"""Rows that a surrogate is trained on: half of those that are given, within these bounds. Training grows with the
square of their number."""
ALIKE = 0.9
"""How much of what a source answers must be so if labels are to stand for it."""
_ROUNDING = 1e-3
"""Of their absolute sum: how far from zero the sum of a machine's coefficients may be."""
_TOLERANCE = 1e-3
"""Of the spread of y, to which a regressor is trained: that of scikit-learn is in the units of y."""
_MOST_WORK = 8_000_000_000
"""Steps times rows after which the training of a regressor is given up, about a minute: with a large C it may take
forever."""
_KERNELS = ("rbf", "poly", "sigmoid", "linear")


def training_rows(rows: NDArray[np.intp], seed: int) -> NDArray[np.intp]:
    """Return the rows that a surrogate is trained on, of those that it may be trained on."""
    most = int(np.clip(len(rows) // 2, _ENOUGH_ROWS, _MOST_ROWS))
    return rows if len(rows) <= most else np.sort(np.random.default_rng(seed).permutation(rows)[:most])


def surrogate_of(problem: Problem, rows: NDArray[np.intp]) -> Problem | None:
    """Return the problem of compressing an SVM like the source, trained on these rows; None where it cannot be.

    Parameters
    ----------
    problem : Problem
        With rows.
    rows : (k,)
        Positions of the rows to train on.

    Returns
    -------
    Problem or None
        None for one-class models, without y, for kernels that scikit-learn's SVMs do not have, and if a class is
        missing from the rows. Of regressors, None if they are no SVMs, if their kernel is not positive definite, or if
        training takes too long.
    """
    source = problem.source
    kernel = _sklearn_kernel(source.kernel)
    if problem.y is None or problem.rows is None or kernel is None:
        return None
    X, y = arrays.take(problem.rows, rows), problem.y[rows]
    if isinstance(source.decoder, Identity):
        model = _regressor(problem, kernel, X, y) if _is_svr(source) and source.kernel.definite else None
    elif isinstance(source.decoder, Sign | PairVote | PairDAG) and source.task == "classification":
        model = _classifier(source, kernel, X, y)
    else:
        model = None
    return None if model is None else replace(problem, source=model, rows=X, y=y)


def _classifier(source: KernelModel, kernel: dict[str, object], X: Rows, y: NDArray[np.intp]) -> KernelModel | None:
    """Return an SVM like the source, trained on rows X (k, d) with positions y (k,) in its classes."""
    assert source.classes_ is not None
    if len(np.unique(y)) < source.classes_.size:
        return None
    from sklearn.svm import SVC

    again = from_estimator(SVC(C=largest_coefficient(source), cache_size=500, **kernel).fit(X, y))
    expansion = again.expansion
    if isinstance(again.decoder, Sign) and not isinstance(source.decoder, Sign):  # a pair's value has the other sign
        expansion = replace(expansion, coef=-expansion.coef, intercept=-expansion.intercept)
    return replace(again, expansion=expansion, decoder=source.decoder)


def _regressor(problem: Problem, kernel: dict[str, object], X: Rows, y: Floats) -> KernelModel | None:
    """Return a support vector regression like the source, trained on rows X (k, d) with values y (k, 1)."""
    assert problem.rows is not None
    source = problem.source
    missed = np.abs(problem.values(X) - y)
    inside = 1 - source.n_vectors / problem.rows.shape[0]
    tube = float(np.quantile(missed, max(0.0, inside), method="higher"))  # support vectors lie on its edge, or beyond
    limits = {
        "tol": _TOLERANCE * (float(np.std(y)) or 1.0),
        "max_iter": max(1, _MOST_WORK // X.shape[0]),
        "cache_size": 500,
    }
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVR

    svr = SVR(C=largest_coefficient(source), epsilon=tube, **limits, **kernel)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        svr.fit(X, y[:, 0])
    return None if svr.fit_status_ else from_estimator(svr)


def _is_svr(source: KernelModel) -> bool:
    """Return whether this regressor can be the solution of a support vector regression."""
    return source.n_outputs == 1 and is_balanced(source.expansion.coef)


def is_balanced(coef: NDArray[np.floating[Any]]) -> bool:
    """Return whether the coefficients (m, M) of each machine add up to zero, as those of a trained SVM do.

    Examples
    --------
    >>> is_balanced(np.array([[1.0], [-1.0]])), is_balanced(np.array([[1.0], [1.0]]))
    (True, False)
    """
    return bool((np.abs(coef.sum(axis=0)) <= _ROUNDING * np.abs(coef).sum(axis=0)).all())


def largest_coefficient(source: KernelModel) -> float:
    """Return a C that would have made the source, as the module's docstring says."""
    return float(np.abs(source.expansion.coef).max(initial=0.0)) or 1.0


def _sklearn_kernel(kernel: Kernel) -> dict[str, object] | None:
    """Return the kernel as arguments of SVC and SVR; None if it has none such."""
    degree = kernel.params.get("degree", 0)
    if kernel.name not in _KERNELS or degree != int(degree):
        return None
    whole = {"degree": int(degree)} if "degree" in kernel.params else {}
    return {"kernel": kernel.name, **kernel.params, **whole}


def follows_labels(problem: Problem, surrogate: Problem) -> bool:
    """Return whether the source answers as an SVM that was trained on y: nine rows in ten, or by so much R².

    An SVM trained with weights of classes or rows does not answer as its labels suggest, nor does one of other values
    than those of y, of their logarithms, say. Labels must not judge it then: what it answers counts.
    """
    assert surrogate.rows is not None
    rows = np.arange(surrogate.rows.shape[0])
    holdout = Holdout(replace(problem, rows=surrogate.rows, y=None), rows)
    return holdout.score_values(surrogate.values(surrogate.rows)).mean >= ALIKE
