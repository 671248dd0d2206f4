"""How much work a compression may take, and what its steps cost."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise
from math import inf

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

from problems import problem_of
from svmpress.decoders import Sign, pair_mask
from svmpress.kernels import RBF
from svmpress.methods import Auto, FitTask, Recipe, Work
from svmpress.methods.auto.application import sample
from svmpress.methods.auto.work import Shape, row_values, usual_work
from svmpress.model import KernelExpansion, KernelModel


def source(n_vectors: int, d: int = 4) -> KernelModel:
    f = KernelExpansion(RBF(0.1), np.zeros((n_vectors, d)), np.ones((n_vectors, 1)), np.zeros(1))
    return KernelModel(f, Sign([0, 1]))


def test_usual_work_is_bounded_and_grows_without_a_jump():
    rows = np.zeros((20_000, 4))
    assert usual_work(source(1), rows[:10], 1.0) == usual_work(source(2), rows[:10], 1.0) > 0
    assert usual_work(source(1), rows, 1e30) == usual_work(source(2), rows, 1e40)
    work = [usual_work(source(m), rows, 1.0) for m in range(400, 1200, 10)]
    assert (np.diff(work) >= 0).all()
    assert max(b / a for a, b in pairwise(work)) < 1.5


def test_an_account_knows_what_is_left():
    work = Work(100.0)
    assert (work.left, work.seconds_left, work.is_late) == (100.0, None, False)
    work.spent = 130.0
    assert work.left == 0
    assert Work(100.0, deadline=time.perf_counter()).is_late
    assert Work(1.0, deadline=inf).seconds_left is None
    work = Work(100.0, deadline=time.perf_counter() + 1e6)
    with work.within(0.5):
        assert 0.4e6 < work.seconds_left < 0.6e6
    assert work.seconds_left > 0.9e6


def test_zeros_of_sparse_rows_cost_nothing():
    X = np.eye(10)
    assert row_values(X) == 10
    assert row_values(sparse.csr_array(X)) == 1


def test_a_mask_saves_the_work_of_systems_that_nobody_solves():
    mask = pair_mask(np.repeat(np.arange(20), 50), 20)
    shape = Shape(50_000, 1000, 10, 10.0, 20.0, np.full(190, 1000), 20)
    masked = replace(shape, unknowns=mask.sum(axis=0))
    assert masked.projection() < 0.5 * shape.projection()


def test_systems_of_unequal_sizes_are_counted_as_what_they_are():
    equal, unequal = (Shape(0, 600, 4, 4.0, 3.0, np.array(sizes), 3) for sizes in ([200] * 3, [600, 0, 0]))
    assert unequal.projection() > 5 * equal.projection()


def test_an_evaluation_of_few_rows_is_not_free():
    few, more = (Shape(n, 4, 10, 10.0, 1.0).projection() for n in (10, 200))
    assert few > 0.5 * more
    assert Shape(10, 4, 10, 10.0, 1.0).projection(norm=True) > few


@pytest.mark.parametrize("layout", ["shared", "libsvm"])
def test_a_descent_has_rows_enough_for_what_moves(layout):
    X, y = make_blobs(3000, 3, centers=4, random_state=0)
    problem = replace(problem_of(SVC(gamma=0.1).fit(X[:300], y[:300]), X, y), layout=layout)
    all_of_them = sample(FitTask(problem, 10, Work(1e12)), Recipe(), 1e9)
    assert all_of_them.rows.shape[0] == 3000  # an evaluation costs next to nothing
    many = replace(problem, rows=np.repeat(X, 100, axis=0), y=np.repeat(y, 100))
    some = sample(FitTask(many, 400, Work(1e12)), Recipe(), 1e9)
    assert 4000 <= some.rows.shape[0] < 300_000
    assert len(some.problem.y) == some.rows.shape[0]


def test_more_work_is_more_steps():
    X, y = make_blobs(200, centers=3, cluster_std=2.0, random_state=0)
    problem = problem_of(SVC(gamma=0.3).fit(X, y), X, y)
    steps = []
    for work in (1e5, 3e9):
        outcome = Auto(work=work).run(problem, 6)
        steps.append(sum(d.steps for d in outcome.decisions) + outcome.trace["descent"][-1].iteration)
    assert steps[0] < steps[1]
