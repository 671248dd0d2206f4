"""What one could train instead of a kernel machine: that it costs what it says, and sees no test row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.svm import SVC

import svmpress
from svmpress.study import METHODS
from svmpress.study.learners import (
    NODE_BYTES,
    TUNING_ROWS,
    best_setting,
    folds,
    grid_of,
    node_bytes,
    operations,
    outputs,
    units,
)
from svmpress.study.task import NotApplicable, Task

C, GAMMA = 5.0, 0.02
NAMES = ("fourier", "mlp", "boosting", "boosting-bytes")


def task_of(n_class: int, n: int = 150) -> Task:
    X, y = load_digits(n_class=n_class, return_X_y=True)
    X = X[:, 16:48] / 4
    model = svmpress.from_estimator(SVC(C=C, gamma=GAMMA).fit(X[:n], y[:n]))
    return Task("digits", X[:n], y[:n], X[n : n + 200], y[n : n + 200], model, C, GAMMA, 0.5)


@pytest.fixture(scope="module")
def three() -> Task:
    return task_of(3)


@pytest.fixture(scope="module")
def binary() -> Task:
    return task_of(2)


def answers(name, task, sizes=(6, 24), seed=0):
    return list(METHODS[name].build(task, sizes, seed))


def accuracy(built, task):
    return np.mean(built.predict(task.X_test) == task.y_test)


@pytest.mark.parametrize("kind", ["binary", "three"])
@pytest.mark.parametrize("name", NAMES)
def test_a_learner_costs_no_more_than_m_vectors_and_answers(name, kind, request):
    task = request.getfixturevalue(kind)
    found = answers(name, task)
    assert [b.size for b in found] == [6, 24]
    numbers = [b.size * (32 + outputs(task)) for b in found]
    for b, n in zip(found, numbers, strict=True):
        assert b.vectors == 0
        assert b.seconds > 0
        assert 0 < b.multiply_adds <= n
        if name != "boosting":  # trees of few operations may be many bytes
            few = 8 * (2 * b.size + outputs(task))  # offsets of units and outputs
            assert 0 < b.file_bytes <= 8 * n + few
        assert set(b.predict(task.X_test).tolist()) <= set(task.y.tolist())
    assert accuracy(found[1], task) > 0.85
    again = answers(name, task, (6,))[0]
    np.testing.assert_array_equal(again.predict(task.X_test), found[0].predict(task.X_test))
    assert again.notes == found[0].notes


@pytest.mark.parametrize("name", NAMES)
def test_test_rows_are_not_seen(name, three):
    """With other test rows and labels the same model is made."""
    blind = replace(three, X_test=np.zeros((3, 32)), y_test=np.full(3, "none"))
    seen, unseen = (answers(name, task, (6,))[0] for task in (three, blind))
    np.testing.assert_array_equal(seen.predict(three.X_test), unseen.predict(three.X_test))
    assert seen.notes == unseen.notes
    assert (seen.multiply_adds, seen.file_bytes) == (unseen.multiply_adds, unseen.file_bytes)


def test_a_network_of_two_layers_costs_what_one_of_one_does():
    for size, ends in ((3, 11), (50, 11), (465, 11), (845, 220)):
        (one,), (two, same) = units(size, ends, 1), units(size, ends, 2)
        assert two == same
        assert two * (ends + two) <= one * ends < (two + 1) * (ends + two + 1)


def test_operations_are_those_that_rows_take():
    """The oracle walks every training row through every tree."""
    X, y = load_digits(n_class=3, return_X_y=True)
    model = HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=5, early_stopping=False).fit(X, y)
    total, nodes = 0, 0
    for i, trees in enumerate(model._predictors):
        for tree in trees:
            nodes += len(tree.nodes)
            for row in X:
                at = 0
                while not tree.nodes[at]["is_leaf"]:
                    node = tree.nodes[at]
                    at = node["left"] if row[node["feature_idx"]] <= node["num_threshold"] else node["right"]
                    total += 1
                total += 1
        assert operations(model)[i] == pytest.approx(total / len(X))
        assert node_bytes(model)[i] == nodes * NODE_BYTES


def test_the_best_setting_is_that_of_the_folds(three):
    """One whose models are right on the rows that they were trained on and nowhere else is not chosen."""

    class Parrot:
        def __init__(self, X, y):
            self.known = {row.tobytes(): label for row, label in zip(X, y, strict=True)}

        def predict(self, X):
            return np.array([self.known.get(row.tobytes(), -1) for row in X])

    class Constant:
        def predict(self, X):
            return np.zeros(len(X), dtype=int)

    chosen = best_setting(
        three, 0, grid_of(of=(Parrot, Constant)), lambda s, X, y: s["of"](*(X, y) * (s["of"] is Parrot))
    )
    assert chosen["of"] is Constant


def test_folds_are_training_rows_each_judged_once(three):
    judged = np.concatenate([judge for _, judge in folds(three, 1)])
    assert sorted(judged.tolist()) == list(range(len(three.y)))
    assert all(not set(fit) & set(judge) for fit, judge in folds(three, 1))
    rare = replace(three, y=np.where(np.arange(len(three.y)) == 7, 9, three.y))  # a class of one row
    assert len(folds(rare, 0)) == 3
    many = replace(three, X=np.zeros((2 * TUNING_ROWS, 1)), y=np.arange(2 * TUNING_ROWS) % 3)
    assert sum(len(judge) for _, judge in folds(many, 0)) == TUNING_ROWS


def test_a_class_of_one_row_stops_no_network(three):
    rare = replace(three, y=np.where(np.arange(len(three.y)) == 7, 9, three.y))
    (b,) = answers("mlp", rare, (6,))
    assert accuracy(b, three) > 0.7


def test_sparse_rows(three):
    thin = replace(three, X=sparse.csr_array(three.X), X_test=sparse.csr_array(three.X_test))
    per_row = thin.X_test.nnz / 200
    (fourier,) = answers("fourier", thin, (12,))
    assert fourier.multiply_adds == round(12 * per_row) + 12 * 3
    np.testing.assert_array_equal(
        fourier.predict(thin.X_test), answers("fourier", three, (12,))[0].predict(three.X_test)
    )
    (network,) = answers("mlp", thin, (12,))
    assert network.multiply_adds < 12 * (per_row + 3) * 1.1
    assert network.file_bytes > 8 * 32
    assert accuracy(network, thin) > 0.7
    with pytest.raises(NotApplicable, match="no sparse rows"):
        answers("boosting", thin)


def test_where_not_one_round_fits_there_are_no_trees(three):
    assert answers("boosting-bytes", three, (1,)) == []
