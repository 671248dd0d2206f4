"""What people train instead of a kernel machine, given what m vectors with one output a class cost.

    mlp             a multilayer perceptron with one or two hidden layers
    nystroem        Nystroem features, m components, and a linear SVM on them
    fourier         random Fourier features of the RBF kernel and logistic regression on them
    boosting        gradient boosting, trees of as many operations
    boosting-bytes  the same, trees of as many bytes

They see the training rows and their labels, and nothing of the teacher but its C and gamma. m vectors of d features
with K outputs (one for two classes) take ``m (d + K)`` multiply-adds and as many numbers, and so do a hidden layer of m
units and m random features. A network of two hidden layers of w units takes ``w (d + w + K)``, m Nystroem components
``m (d + m + K)``, which is more. Of sparse rows d is the mean number of non-zeros where operations are counted, and the
number of features where bytes are, as in :mod:`.costs`.

A tree multiplies nothing. An operation of it is a comparison on the way from the root to a leaf, the mean over training
rows, or the addition of its leaf; the bytes of a node are those of a threshold or value in double precision, a feature
and two children in 4 bytes each. The two counts are far apart, so there is a method for each.

Settings are chosen for each size as a person would: by the accuracy of a three-fold cross-validation over a small grid,
on at most :data:`TUNING_ROWS` training rows. Then the best one is trained on all of them.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC

from svmpress.kernels import RBF
from svmpress.numerics import Rows, arrays, is_csr
from svmpress.study.costs import array_bytes, row_width
from svmpress.study.task import Built, NotApplicable, Task

FOLDS = 3
TUNING_ROWS = 3_000
"""Of a cross-validation, at most."""
ROUNDS = 100
"""Of boosting, at most: scikit-learn's own number."""
NODE_BYTES = 8 + 4 + 2 * 4
"""Of a tree: a threshold or value, a feature, two children."""
_EPOCHS = 200
_ENOUGH_ROWS, _RARE = 1_000, 2
"""With fewer rows, or rows of a class, a network holds none back to stop by."""
_LEAVES, _RATES, _MANY_RATES = (8, 31), (0.1, 0.3), (0.05, 0.1)
"""Of boosting; of more than two classes 0.3 diverges on all rows of a large set, and not on those of a fold."""

Setting = Mapping[str, Any]


def outputs(task: Task) -> int:
    """Return how many outputs a model with one a class has; two classes need one."""
    n = len(np.unique(task.y))
    return 1 if n == 2 else n


def folds(task: Task, seed: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return the rows to train on and those to judge on, for each fold of a cross-validation."""
    rows = np.random.default_rng(seed).permutation(len(task.y))[:TUNING_ROWS]
    y = task.y[rows]
    enough = np.unique(y, return_counts=True)[1].min() >= FOLDS
    cut = (StratifiedKFold if enough else KFold)(FOLDS, shuffle=True, random_state=seed)
    return [(rows[fit], rows[judge]) for fit, judge in cut.split(np.zeros((len(rows), 1)), y)]


def best_setting(task: Task, seed: int, grid: Sequence[Setting], train: Callable[..., Any]) -> Setting:
    """Return the setting of a grid whose models are most accurate on the rows of the fold that they have not seen.

    Parameters
    ----------
    task : Task
    seed : int
    grid : sequence of dict
    train : callable
        From a setting, rows and labels to an estimator.
    """
    parts = folds(task, seed)

    def score(setting: Setting) -> float:
        fits = (train(setting, arrays.take(task.X, fit), task.y[fit]) for fit, _ in parts)
        tests = ((arrays.take(task.X, judge), task.y[judge]) for _, judge in parts)
        return float(np.mean([np.mean(m.predict(X) == y) for m, (X, y) in zip(fits, tests, strict=True)]))

    return max(grid, key=score)


def grid_of(**choices: Sequence[Any]) -> list[Setting]:
    """Return every combination of some choices.

    Examples
    --------
    >>> grid_of(layers=(1, 2), rate=(0.1,))
    [{'layers': 1, 'rate': 0.1}, {'layers': 2, 'rate': 0.1}]
    """
    return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]


def _fitted(estimator: Any, X: Rows, y: NDArray[Any]) -> Any:
    """Return a fitted estimator; one whose iterations are over counts as it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(X, y)


def _told(setting: Setting) -> str:
    return ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}" for name, value in setting.items()
    )


# ---------------------------------------------------------------------------------------------------------
# Networks
# ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Perceptron:
    """A network of rectified linear units, trained by Adam until a tenth of the rows, held back, gain no more.

    Where there are few rows it holds none back, and stops when those that it is trained on gain no more.
    """

    name: str = "mlp"
    label: str = "multilayer perceptron"
    grows: bool = False
    seeded: bool = True

    def build(self, task: Task, sizes: Sequence[int], seed: int) -> Iterator[Built]:
        """Yield the network of each size."""
        ends = row_width(task.X) + outputs(task)
        for size in sizes:
            start = time.perf_counter()

            def train(setting: Setting, X: Rows, y: NDArray[Any], size: int = size) -> MLPClassifier:
                rarest = np.unique(y, return_counts=True)[1].min()
                network = MLPClassifier(
                    units(size, ends, setting["layers"]),
                    learning_rate_init=setting["rate"],
                    early_stopping=bool(len(y) >= _ENOUGH_ROWS and rarest >= _RARE),
                    max_iter=_EPOCHS,
                    random_state=seed,
                )
                return _fitted(network, X, y)

            layers = (1, 2) if units(size, ends, 2)[0] > 1 else (1,)
            setting = best_setting(task, seed, grid_of(layers=layers, rate=(1e-3, 1e-2)), train)
            network = train(setting, task.X, task.y)
            seconds = time.perf_counter() - start
            first, *rest = network.coefs_
            yield Built(
                size=size,
                vectors=0,
                multiply_adds=round(first.shape[1] * row_width(task.X_test)) + sum(w.size for w in rest),
                file_bytes=sum(map(array_bytes, (*network.coefs_, *network.intercepts_))),
                seconds=seconds,
                predict=network.predict,
                notes=_told(setting),
            )


def units(size: int, ends: float, layers: int) -> tuple[int, ...]:
    """Return the hidden layers of a network that costs what m vectors do.

    Parameters
    ----------
    size : int
        m.
    ends : float
        Features and outputs together, d + K.
    layers : int
        One or two.

    Examples
    --------
    >>> units(100, 11, 1), units(100, 11, 2)
    ((100,), (28, 28))
    """
    if layers == 1:
        return (size,)
    width = int((np.sqrt(ends**2 + 4 * size * ends) - ends) / 2)  # w (d + K) + w² = m (d + K)
    return (max(1, width),) * 2


@dataclass(frozen=True)
class NystroemSVC:
    """Nystroem features and a linear SVM, one against the rest.

    A prediction takes m kernel values, the m by m map of the features, and a weight for each class and component.
    """

    name: str = "nystroem"
    label: str = "Nystroem + LinearSVC"
    grows: bool = False
    seeded: bool = True

    def build(self, task: Task, sizes: Sequence[int], seed: int) -> Iterator[Built]:
        """Yield the classifier of each size."""
        if not isinstance(task.teacher.kernel, RBF):
            raise NotApplicable("the Nystroem features of this study are those of the RBF kernel")
        grid = grid_of(gamma=(task.gamma / 4, task.gamma), C=(task.C, 10 * task.C))
        for size in sizes:
            start = time.perf_counter()

            def train(setting: Setting, X: Rows, y: NDArray[Any], size: int = size) -> Pipeline:
                m = min(size, X.shape[0])
                features = Nystroem(kernel="rbf", gamma=setting["gamma"], n_components=m, random_state=seed)
                return _fitted(
                    make_pipeline(features, LinearSVC(C=setting["C"], dual=False, tol=1e-3, max_iter=200)), X, y
                )

            setting = best_setting(task, seed, grid, train)
            fitted = train(setting, task.X, task.y)
            seconds = time.perf_counter() - start
            features, linear = fitted[0], fitted[1]
            m = features.components_.shape[0]
            held = (features.components_, features.normalization_, linear.coef_, linear.intercept_, linear.classes_)
            yield Built(
                size=size,
                vectors=m,
                multiply_adds=round(m * row_width(task.X_test)) + m * m + linear.coef_.size,
                file_bytes=sum(map(array_bytes, held)),
                seconds=seconds,
                predict=fitted.predict,
                notes=_told(setting),
            )


@dataclass(frozen=True)
class FourierFeatures:
    """Random Fourier features of the RBF kernel, and logistic regression on them.

    The random weights are part of the file: they could be drawn again, by the same generator only.
    """

    name: str = "fourier"
    label: str = "random Fourier features"
    grows: bool = False
    seeded: bool = True

    def build(self, task: Task, sizes: Sequence[int], seed: int) -> Iterator[Built]:
        """Yield the classifier of each size."""
        if not isinstance(task.teacher.kernel, RBF):
            raise NotApplicable("the random Fourier features of this study are those of the RBF kernel")
        grid = grid_of(gamma=(task.gamma / 4, task.gamma), C=(task.C, 30 * task.C))
        for size in sizes:
            start = time.perf_counter()

            def train(setting: Setting, X: Rows, y: NDArray[Any], size: int = size) -> Pipeline:
                features = RBFSampler(gamma=setting["gamma"], n_components=size, random_state=seed)
                return _fitted(make_pipeline(features, LogisticRegression(C=setting["C"], max_iter=_EPOCHS)), X, y)

            setting = best_setting(task, seed, grid, train)
            fitted = train(setting, task.X, task.y)
            seconds = time.perf_counter() - start
            features, linear = fitted[0], fitted[1]
            held = (features.random_weights_, features.random_offset_, linear.coef_, linear.intercept_)
            yield Built(
                size=size,
                vectors=0,
                multiply_adds=round(size * row_width(task.X_test)) + linear.coef_.size,
                file_bytes=sum(map(array_bytes, held)),
                seconds=seconds,
                predict=fitted.predict,
                notes=_told(setting),
            )


# ---------------------------------------------------------------------------------------------------------
# Trees
# ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Boosting:
    """Gradient boosting with as many rounds as are best, of those that the costs allow.

    Parameters
    ----------
    limit : "operations" or "bytes"
        What must not be more than m vectors have.
    """

    limit: Literal["operations", "bytes"] = "operations"
    name: str = "boosting"
    label: str = "gradient boosting"
    grows: bool = False
    seeded: bool = True

    def build(self, task: Task, sizes: Sequence[int], seed: int) -> Iterator[Built]:
        """Yield the trees of each size; where the costs allow no round at all, nothing."""
        if is_csr(task.X):
            raise NotApplicable("scikit-learn's gradient boosting takes no sparse rows")
        parts = folds(task, seed)
        rates = _RATES if outputs(task) == 1 else _MANY_RATES
        for size in sizes:
            start = time.perf_counter()
            budget = size * (row_width(task.X) + outputs(task)) * (1 if self.limit == "operations" else 8)
            tried = [
                (*self._rounds(task, parts, setting, budget, seed), setting)
                for setting in grid_of(leaves=_LEAVES, rate=rates)
            ]
            score, rounds, setting = max(tried, key=lambda found: found[0])
            if score < 0:
                continue
            model = _boosted(setting, rounds, task.X, task.y, seed)
            fitting = int(np.sum(self._costs(model) <= budget))
            if fitting == 0:
                continue
            model._predictors = model._predictors[:fitting]  # there is no public way to leave trees away
            yield Built(
                size=size,
                vectors=0,
                multiply_adds=round(float(operations(model)[-1])),
                file_bytes=int(node_bytes(model)[-1]),
                seconds=time.perf_counter() - start,
                predict=model.predict,
                notes=f"{_told(setting)}, rounds {fitting}",
            )

    def _costs(self, model: HistGradientBoostingClassifier) -> NDArray[np.float64]:
        return operations(model) if self.limit == "operations" else node_bytes(model)

    def _rounds(
        self,
        task: Task,
        parts: Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]],
        setting: Setting,
        budget: float,
        seed: int,
    ) -> tuple[float, int]:
        """Return the accuracy of a setting and the rounds that are best, (-1, 0) if there is not one that fits."""
        scores = []
        for fit, judge in parts:
            few = _boosted(setting, 1, task.X[fit], task.y[fit], seed)
            most = int(min(ROUNDS, budget // self._costs(few)[0]))
            if most == 0:
                return -1.0, 0
            model = few if most == 1 else _boosted(setting, most, task.X[fit], task.y[fit], seed)
            fitting = max(1, int(np.sum(self._costs(model) <= budget)))
            staged = itertools.islice(model.staged_predict(task.X[judge]), fitting)
            scores.append([float(np.mean(answers == task.y[judge])) for answers in staged])
        shortest = min(map(len, scores))
        means = np.mean([of_fold[:shortest] for of_fold in scores], axis=0)
        return float(means.max()), int(means.argmax()) + 1


def _boosted(setting: Setting, rounds: int, X: Rows, y: NDArray[Any], seed: int) -> HistGradientBoostingClassifier:
    model = HistGradientBoostingClassifier(
        learning_rate=setting["rate"],
        max_leaf_nodes=setting["leaves"],
        max_iter=rounds,
        early_stopping=False,
        random_state=seed,
    )
    return model.fit(X, y)


def operations(model: HistGradientBoostingClassifier) -> NDArray[np.float64]:
    """Return the operations of a prediction by the first 1, 2, ... rounds of trees, (rounds,)."""

    def of_tree(nodes: NDArray[Any]) -> float:
        leaves = nodes[nodes["is_leaf"] == 1]
        return float(np.average(leaves["depth"], weights=leaves["count"])) + 1

    return np.cumsum([sum(of_tree(tree.nodes) for tree in trees) for trees in model._predictors])


def node_bytes(model: HistGradientBoostingClassifier) -> NDArray[np.float64]:
    """Return the bytes of the first 1, 2, ... rounds of trees, (rounds,)."""
    return np.cumsum([sum(NODE_BYTES * len(tree.nodes) for tree in trees) for trees in model._predictors], dtype=float)
