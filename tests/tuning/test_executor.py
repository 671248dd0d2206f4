"""A search on an executor finds what it finds without one."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest

import svmpress
from svmpress.errors import InputError
from svmpress.methods import Auto
from svmpress.plots.figure2 import ring_data
from svmpress.tuning.ahead import Reach, Read
from svmpress.tuning.records import Point

QUICK = {"trials": 5, "finalists": 2, "sampler": "random", "method": Auto(work=1e7)}


@pytest.fixture(scope="module")
def rings():
    return ring_data(300, seed=1)


def plain(trials):
    """Return what does not depend on the clock."""
    return [(t.number, t.stage, dict(t.params), t.rows, t.source, t.curve, t.error) for t in trials]


def the_same(a, b):
    assert plain(a.trials) == plain(b.trials)
    assert plain(a.finalists) == plain(b.finalists)
    assert (a.params, a.score, a.model.n_vectors) == (b.params, b.score, b.model.n_vectors)


class Counting(ThreadPoolExecutor):
    """Threads that count what they are given."""

    given = 0

    def submit(self, *arguments, **options):
        self.given += 1
        return super().submit(*arguments, **options)


def test_trials_and_finalists_are_made_by_the_executor(rings):
    with Counting(2) as pool:
        found = svmpress.search(*rings, executor=pool, max_vectors=9, **QUICK)
    assert pool.given == len(found.trials) + len(found.finalists) == 7


def test_an_executor_that_was_shut_down_is_one_sentence(rings):
    pool = ThreadPoolExecutor(2)
    pool.shutdown()
    with pytest.raises(InputError, match="the executor takes no more work"):
        svmpress.search(*rings, executor=pool, max_vectors=9, **QUICK)


@pytest.mark.parametrize("goal", [{"min_accuracy": 0.9}, {"max_vectors": 12}, {"min_accuracy": 0.9, "cv": 2}])
def test_threads_change_nothing(rings, goal):
    with ThreadPoolExecutor(2) as pool:
        found = svmpress.search(*rings, executor=pool, **goal, **QUICK)
    the_same(svmpress.search(*rings, **goal, **QUICK), found)


def test_a_setting_that_cannot_be_trained_is_recorded_all_the_same(rings):
    from sklearn.svm import NuSVC

    options = {"estimator": NuSVC(), "space": {"nu": [0.3, 1.0]}, "max_vectors": 9, **QUICK}
    with ThreadPoolExecutor(2) as pool:
        found = svmpress.search(*rings, executor=pool, **options)
    the_same(svmpress.search(*rings, **options), found)


@pytest.mark.slow
def test_processes_and_dask_change_nothing(rings):
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    expected = svmpress.search(*rings, min_accuracy=0.9, **QUICK)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        the_same(expected, svmpress.search(*rings, min_accuracy=0.9, executor=pool, **QUICK))
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        the_same(expected, svmpress.search(*rings, min_accuracy=0.9, executor=client, **QUICK))


def test_what_is_no_executor_is_refused(rings):
    with pytest.raises(InputError, match=r"executor must be an Executor of concurrent\.futures or a client of Dask"):
        svmpress.search(*rings, min_accuracy=0.9, executor=4, **QUICK)


def test_a_path_serves_where_it_would_have_been_the_same():
    read = Read([], Point(90, 1, 0.9), (Point(2, 1, 0.5), Point(4, 1, 0.9)), most=45)
    assert read.serves(45)
    assert read.serves(20)
    assert not read.serves(8)
    assert not read.serves(3)
    assert Reach(None, 0.9).most(90) == 45
    assert Reach(None, 0.9, (3.2, 20.0)).most(90) == 13
    assert Reach(30, 0.9).most(90) == 30
    assert Reach(30, None, (1.0,)).most(20) == 20
