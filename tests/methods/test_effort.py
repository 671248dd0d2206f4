"""How much work a compression may take."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from svmpress.decoders import PairVote, pair_mask
from svmpress.kernels import RBF
from svmpress.methods import Setting
from svmpress.methods.auto.effort import Effort
from svmpress.model import KernelExpansion, KernelModel


def effort(n_vectors: int, m: int, *, n: int = 20_000, d: int = 4, masked: bool = False) -> Effort:
    coef = np.ones((n_vectors, 3))
    source = KernelModel(KernelExpansion(RBF(0.1), np.zeros((n_vectors, d)), coef, np.zeros(3)), PairVote(np.arange(3)))
    mask = pair_mask(np.arange(m) % 3, 3) if masked else None
    return Effort.of(source, np.zeros((n, d)), m, mask)


@pytest.mark.parametrize("masked", [False, True])
def test_work_is_bounded_whatever_is_asked_for(masked):
    for m in (10, 1000, 6000):
        assert 2e10 <= effort(12_000, m, masked=masked).work <= 2.4e13


def test_work_grows_with_the_vectors_and_without_a_jump():
    work = [effort(5_000, m).work for m in range(400, 1200, 10)]
    assert (np.diff(work) >= 0).all()
    assert max(b / a for a, b in pairwise(work)) < 1.5


def test_many_vectors_have_some_hundred_evaluations():
    plenty = effort(3_000, 900)
    some = plenty.sample(20_000, 3, Setting(), 0).size
    assert plenty.work / plenty.projection(some, 3, Setting()) >= 299


def test_a_mask_is_worth_more_work():
    assert effort(5_000, 300, masked=True).work == pytest.approx(3 * effort(5_000, 300).work)


def test_labels_under_a_mask_take_more_rows_than_a_copy():
    masked = effort(5_000, 1_500, n=100_000, d=400, masked=True)
    rows = [masked.sample(100_000, 3, Setting(), 0, copies=copies).size for copies in (True, False)]
    assert rows == [10_000, 15_000]  # ten for each of 1,000 unknowns of a machine, and for each of 1,500 vectors


def test_a_mask_saves_the_work_of_systems_that_nobody_solves():
    mask = pair_mask(np.repeat(np.arange(20), 50), 20)
    masked, plain = (Effort(1000, 1e12, 10, 10.0, some) for some in (mask, None))
    setting = Setting(relevance=0.01)
    assert masked.projection(50_000, 190, setting) < 0.5 * plain.projection(50_000, 190, setting)
    assert masked.sample(10**7, 190, setting, 0).size > 1.5 * plain.sample(10**7, 190, setting, 0).size


def test_systems_of_unequal_sizes_are_counted_as_what_they_are():
    equal, unequal = np.zeros((600, 3), dtype=bool), np.zeros((600, 3), dtype=bool)
    equal[:200] = True
    unequal[:, 0] = True
    costs = [Effort(600, 1e10, 4, 4.0, mask).projection(0, 3, Setting()) for mask in (equal, unequal)]
    assert costs[1] > 5 * costs[0]


def test_an_evaluation_of_few_rows_is_not_free():
    few = Effort(4, 2e10, 10, 10.0, None)
    assert few.projection(10, 1, Setting()) > 0.5 * few.projection(200, 1, Setting())
    assert few.steps(1.0, few.projection(10, 1, Setting()), 0, 10**9) < 10_000  # a step takes a fraction of 1 ms
