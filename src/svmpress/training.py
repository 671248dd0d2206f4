"""Training: a kernel SVM with its input scaling, and C and gamma chosen on held-out rows.

scikit-learn (LibSVM) does the training. When C or gamma is not given, a fifth of the rows is held out (stratified by
class), the others train one SVM for every point of a coarse logarithmic grid and then of a finer one around the best,
and the held-out rows choose: accuracy for a classifier, R² for a regressor, and on a tie the fewest support vectors.
Both stages train on a sample when there are many rows, because the time of an SVM grows with their square. The final
model is trained on all rows.

    coarse    C in s·2^{-1, 1, 3, 5, 7},  gamma in g·2^{-4, -2, 0, 2, 4}        at most 1,500 rows
    fine      C · 2^{-1, 0, 1},           gamma · 2^{-1, 0, 1}                  at most 6,000 rows

Here ``g = 1 / (d · var)`` for d features with variance var after scaling, and s is 1, or the standard deviation of
the targets of a regressor, whose tube is ``epsilon = s / 10`` unless given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

from svmpress.data import narrow_indices
from svmpress.errors import InputError
from svmpress.formats import as_model
from svmpress.model import KernelModel, Task
from svmpress.numerics import Rows, arrays, check_labels, column_names, seed_of

Scale = Literal["auto", "standard", "minmax", "maxabs"]
TRAINABLE = ("rbf", "linear", "poly", "sigmoid")
"""Kernels that LibSVM trains."""

_SCALERS: dict[str, type[BaseEstimator]] = {
    "standard": StandardScaler,
    "minmax": MinMaxScaler,
    "maxabs": MaxAbsScaler,
}
_COARSE_C, _COARSE_GAMMA = 2.0 ** np.arange(-1, 8, 2), 2.0 ** np.arange(-4, 5, 2)
_FINE = 2.0 ** np.arange(-1, 2)
_COARSE_ROWS, _FINE_ROWS, _HELD_OUT_ROWS = 1500, 6000, 5000
_CACHE_MB = 500


@dataclass(frozen=True)
class Trial:
    """One point of the grid: its score on the held-out rows and the support vectors that it took."""

    C: float
    gamma: float | None
    score: float
    vectors: int
    rows: int


@dataclass(frozen=True, eq=False)
class TrainResult:
    """What :func:`train` returns.

    Parameters
    ----------
    model : KernelModel
        Trained on all rows; its scaling goes with it.
    C, gamma : float or None
        What it was trained with; None where the kernel or the task has no such parameter.
    trials : tuple of Trial
        Every point that was tried, in order; empty if C and gamma were given.
    estimator : sklearn.pipeline.Pipeline
        The fitted scaler and SVM behind the model.
    """

    model: KernelModel
    C: float | None
    gamma: float | None
    trials: tuple[Trial, ...] = ()
    estimator: Pipeline = field(repr=False, default=None)

    @property
    def score(self) -> float | None:
        """The validation score of the chosen point."""
        scores = [t.score for t in self.trials if (t.C, t.gamma) == (self.C, self.gamma)]
        return scores[-1] if scores else None


@dataclass(frozen=True)
class _Recipe:
    """Everything about an SVM but C and gamma."""

    task: Task
    kernel: str
    scaler: type[BaseEstimator] | None
    epsilon: float
    nu: float
    degree: int
    coef0: float

    def build(self, C: float | None, gamma: float | None) -> Pipeline:
        """Return the unfitted scaler and SVM."""
        shape: dict[str, Any] = {"kernel": self.kernel, "degree": self.degree, "coef0": self.coef0}
        shape |= {"gamma": gamma or "scale", "cache_size": _CACHE_MB}
        if self.task == "classification":
            svm: BaseEstimator = SVC(C=C, **shape)
        elif self.task == "regression":
            svm = SVR(C=C, epsilon=self.epsilon, **shape)
        else:
            svm = OneClassSVM(nu=self.nu, **shape)
        return make_pipeline(svm) if self.scaler is None else make_pipeline(self.scaler(), svm)


def train(
    X: Any,
    y: Any = None,
    *,
    kernel: str = "rbf",
    C: float | None = None,
    gamma: float | None = None,
    task: Task = "classification",
    scale: Scale | None = "auto",
    validation: float = 0.2,
    degree: int = 3,
    coef0: float = 0.0,
    epsilon: float | None = None,
    nu: float = 0.1,
    random_state: Any = 0,
    progress: Callable[[str, int, int], None] | None = None,
) -> TrainResult:
    """Train a kernel SVM, choosing what is not given.

    Parameters
    ----------
    X : (n, d), dense or sparse
        The model keeps the names of a table's columns.
    y : (n,)
        Labels or values; a one-class SVM needs none and ignores them.
    kernel : "rbf", "linear", "poly" or "sigmoid"
    C, gamma : float, optional
        Chosen on held-out rows when not given. A one-class SVM has no C, and its gamma is ``1 / (d · var)`` by default.
    task : "classification", "regression" or "outlier"
    scale : "auto", "standard", "minmax", "maxabs" or None
        ``"auto"`` is standard for dense rows and maxabs, which keeps zeros, for sparse ones.
    validation : float
        The share of rows to hold out.
    degree, coef0
        Of the polynomial and sigmoid kernels.
    epsilon : float, optional
        Half the width of a regressor's tube; a tenth of the standard deviation of y by default.
    nu : float
        Of a one-class SVM: about the share of rows that it calls outliers.
    random_state : int, RandomState, Generator or None
        As for :func:`svmpress.compress`.
    progress : callable, optional
        Called with (stage, done, total).

    Returns
    -------
    TrainResult

    Raises
    ------
    InputError
        One class only, labels that are not one per row, too few rows to choose by validation, and the like.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> result = train(*load_iris(return_X_y=True), C=1.0, gamma=0.25)
    >>> result.model.n_features, result.C
    (4, 1.0)
    """
    _check_positive(C=C, gamma=gamma)
    seed, names = seed_of(random_state), column_names(X)
    X, y, recipe, spread = _prepared(X, y, task, kernel, scale, degree, coef0, epsilon, nu)
    base = _typical_gamma(X, recipe.scaler)
    trials: tuple[Trial, ...] = ()
    if task == "outlier":
        C, gamma = None, None if kernel == "linear" else gamma or base
    elif C is None or (gamma is None and kernel != "linear"):
        C, gamma, trials = _search(recipe, X, y, C, gamma, spread, base, validation, seed, progress)
    elif kernel == "linear":
        gamma = None
    if progress is not None:
        progress("training on all rows", 0, 1)
    estimator = recipe.build(C, gamma).fit(X, y)
    if progress is not None:
        progress("training on all rows", 1, 1)
    return TrainResult(replace(as_model(estimator), feature_names=names), C, gamma, trials, estimator)


def unfitted(
    X: Any,
    y: Any = None,
    *,
    kernel: str = "rbf",
    C: float | None = None,
    gamma: float | None = None,
    task: Task = "classification",
    scale: Scale | None = "auto",
    degree: int = 3,
    coef0: float = 0.0,
    epsilon: float | None = None,
    nu: float = 0.1,
) -> tuple[Rows, NDArray[Any] | None, Pipeline]:
    """Return checked rows and labels, and the scaler and SVM that :func:`train` would fit to them, not fitted.

    Parameters are as for :func:`train`; C is 1 and gamma ``"scale"`` where they are not given.

    Examples
    --------
    >>> X, y, pipeline = unfitted([[0.0], [1.0]], ["a", "b"])
    >>> [name for name, _ in pipeline.steps]
    ['standardscaler', 'svc']
    """
    _check_positive(C=C, gamma=gamma)
    X, y, recipe, spread = _prepared(X, y, task, kernel, scale, degree, coef0, epsilon, nu)
    return X, y, recipe.build(C or spread, gamma)


def _check_positive(**values: float | None) -> None:
    for name, value in values.items():
        if value is not None and not (np.isfinite(value) and value > 0):
            raise InputError(f"{name} must be a positive number, not {value!r}")


def _prepared(
    X: Any,
    y: Any,
    task: Task,
    kernel: str,
    scale: Scale | None,
    degree: int,
    coef0: float,
    epsilon: float | None,
    nu: float,
) -> tuple[Rows, Any, _Recipe, float]:
    """Return checked rows and labels, how to build the SVM for them, and the scale of a regressor's targets."""
    X = arrays.check_rows(X, allow_empty=False)
    X = X if arrays.is_csr(X) else arrays.to_numpy(X)
    if task not in ("classification", "regression", "outlier"):
        raise InputError(f"unknown task {task!r}; choose classification, regression or outlier")
    if kernel not in TRAINABLE:
        raise InputError(f"cannot train with the kernel {kernel!r}; choose one of {', '.join(TRAINABLE)}")
    _check_positive(epsilon=epsilon, nu=nu)
    if nu > 1:
        raise InputError(f"nu is a share of the rows, more than 0 and at most 1, not {nu!r}")
    if isinstance(degree, bool) or not isinstance(degree, int | np.integer) or degree < 0:
        raise InputError(f"degree must be a whole number of at least 0, not {degree!r}")
    if not np.isfinite(coef0):
        raise InputError(f"coef0 must be a finite number, not {coef0!r}")
    y = None if task == "outlier" else _targets(y, X.shape[0], task)
    spread = float(np.std(y)) or 1.0 if task == "regression" else 1.0
    scaler = _scaler(scale, X)
    if arrays.is_csr(X):
        X = X.toarray() if scaler in (StandardScaler, MinMaxScaler) else narrow_indices(X)
    return X, y, _Recipe(task, kernel, scaler, epsilon or spread / 10, nu, degree, coef0), spread


def _targets(y: Any, n: int, task: Task) -> NDArray[Any]:
    if y is None:
        raise InputError(f"{task} needs labels: one for each row")
    y = check_labels(y)
    if y.shape != (n,):
        raise InputError(f"y must be {n} labels for {n} rows, not an array of shape {y.shape}")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise InputError(f"the label of row {int(np.argmin(np.isfinite(y)))} is not finite")
    if task == "regression":
        try:
            return y.astype(np.float64)
        except (ValueError, TypeError) as e:
            raise InputError("regression needs numbers for labels, and some are text") from e
    classes = np.unique(y)
    if classes.size < 2:
        raise InputError(f"all rows have the label {classes[0]}; a classifier needs at least two classes")
    if y.dtype.kind == "f" and (y != np.rint(y)).any() and classes.size > max(20, n // 10):
        raise InputError(
            f"the labels are {classes.size} different fractional numbers; "
            "if they are values to predict, choose the task regression"
        )
    return y


def _scaler(scale: str | None, X: Rows) -> type[BaseEstimator] | None:
    if scale is None or scale == "none":
        return None
    if scale == "auto":
        return MaxAbsScaler if arrays.is_csr(X) else StandardScaler
    if scale not in _SCALERS:
        raise InputError(f"unknown scaling {scale!r}; choose one of auto, {', '.join(_SCALERS)} or none")
    return _SCALERS[scale]


def _typical_gamma(X: Rows, scaler: type[BaseEstimator] | None) -> float:
    """Return ``1 / (d var)`` for the scaled rows: the width at which typical distances are about 1."""
    scaled = X if scaler is None else scaler().fit_transform(X)
    mean_square = float(arrays.square_norms(scaled).mean()) / X.shape[1]
    variance = mean_square - float(arrays.column_means(scaled).mean()) ** 2
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


# ---------------------------------------------------------------------------------------------------------
# The search
# ---------------------------------------------------------------------------------------------------------


def _search(
    recipe: _Recipe,
    X: Rows,
    y: NDArray[Any],
    C: float | None,
    gamma: float | None,
    spread: float,
    base: float,
    validation: float,
    seed: int,
    progress: Callable[[str, int, int], None] | None,
) -> tuple[float, float | None, tuple[Trial, ...]]:
    """Return the best C and gamma, and every trial; a value that is given stays."""
    fit, held = held_out(y if recipe.task == "classification" else None, X.shape[0], validation, seed)
    coarse = _grid(C, gamma, recipe.kernel, spread * _COARSE_C, base * _COARSE_GAMMA)
    fine_size = len(_grid(C, gamma, recipe.kernel, _FINE, _FINE))
    total = len(coarse) + fine_size
    trials: list[Trial] = []

    def best_of(points: list[tuple[float, float | None]], most: int) -> Trial:
        rows = sample_rows(fit, y if recipe.task == "classification" else None, most, seed)
        tried = []
        for point in points:
            estimator = recipe.build(*point).fit(arrays.take(X, rows), y[rows])
            score = float(estimator.score(arrays.take(X, held), y[held]))
            tried.append(Trial(*point, score, int(estimator[-1].support_.size), rows.size))
            if progress is not None:
                progress("choosing C and gamma", len(trials) + len(tried), total)
        trials.extend(tried)
        return max(tried, key=lambda t: (t.score, -t.vectors))

    middle = best_of(coarse, _COARSE_ROWS)
    widths = middle.gamma * _FINE if middle.gamma is not None else _FINE
    best = best_of(_grid(C, gamma, recipe.kernel, middle.C * _FINE, widths), _FINE_ROWS)
    return best.C, best.gamma, tuple(trials)


def _grid(
    C: float | None, gamma: float | None, kernel: str, Cs: NDArray[Any], gammas: NDArray[Any]
) -> list[tuple[float, float | None]]:
    costs = [float(v) for v in Cs] if C is None else [C]
    widths: list[float | None] = [float(v) for v in gammas] if gamma is None else [gamma]
    return [(c, g) for c in costs for g in (widths if kernel != "linear" else [None])]


def held_out(y: NDArray[Any] | None, n: int, share: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return positions of the rows to fit and of the rows that judge, stratified by ``y`` unless it is None.

    Each class keeps at least one row to fit.

    Examples
    --------
    >>> fit, held = held_out(np.array([0] * 10 + [1] * 5), 15, 0.2, seed=0)
    >>> sorted(np.array([0] * 10 + [1] * 5)[held].tolist())
    [0, 0, 1]
    """
    if not 0 < share < 1:
        raise InputError(f"the share of rows to hold out must be between 0 and 1, not {share!r}")
    rng = np.random.default_rng(seed)
    groups = [np.arange(n)] if y is None else [np.flatnonzero(y == c) for c in np.unique(y)]
    held = [rng.permutation(g)[: min(round(share * g.size), g.size - 1)] for g in groups]
    judges = np.sort(np.concatenate(held))
    if judges.size == 0:
        raise InputError(f"{n} rows are too few to choose C and gamma by validation; give both")
    rest = np.ones(n, dtype=bool)
    rest[judges] = False
    if judges.size > _HELD_OUT_ROWS:  # more than enough to tell two settings apart
        judges = np.sort(rng.choice(judges, _HELD_OUT_ROWS, replace=False))
    return np.flatnonzero(rest), judges


def sample_rows(rows: NDArray[np.intp], y: NDArray[Any] | None, most: int, seed: int) -> NDArray[np.intp]:
    """Return at most about ``most`` of the rows, with every class of ``y`` among them.

    Examples
    --------
    >>> sample_rows(np.arange(100), None, 10, seed=0).size
    10
    """
    if rows.size <= most:
        return rows
    chosen, _ = held_out(None if y is None else y[rows], rows.size, 1 - most / rows.size, seed + 1)
    return rows[chosen]
