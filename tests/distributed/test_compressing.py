"""Rows of Dask collections as shards: on threads of this process, and on real clusters of processes that die."""

from __future__ import annotations

import os
import signal
import threading
import time
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

import svmpress
from svmpress.distributed import is_sharded, shards_of
from svmpress.distributed.compressing import _asked
from svmpress.errors import InputError
from svmpress.numerics import Shard, sample_of

da = pytest.importorskip("dask.array", reason="the extra dask is not installed")

N, D = 30_000, 100
"""More bytes than the least memory of a compression: 16 MiB."""
OPTIONS = {"vectors": 8, "max_memory": 2**24, "effort": "fast"}


def data(n: int = N, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D))
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] > 0).astype(int)


@pytest.fixture(scope="module")
def rows():
    return data()


@pytest.fixture(scope="module")
def svc(rows):
    X, y = rows
    return SVC(C=1.0, gamma=0.01).fit(X[:400], y[:400])


def the_same(a, b, X) -> None:
    F, G = (r.model.decision_function(X) for r in (a, b))
    np.testing.assert_allclose(F, G, rtol=0, atol=1e-7 * np.abs(F).max())
    assert [d.candidate for d in a.decisions] == [d.candidate for d in b.decisions]
    assert len(a.trace["all rows"]) == len(b.trace["all rows"]) > 3


def test_the_result_is_that_of_one_machine(svc, rows):
    X, y = rows
    alone = svmpress.compress(svc, X, y, **OPTIONS)
    found = svmpress.compress(svc, da.from_array(X, chunks=(7000, 60)), da.from_array(y, chunks=7000), **OPTIONS)
    the_same(alone, found, X[:1000])
    assert alone.expected.agreement.value > 0.8


def test_rows_that_came_from_another_worker_are_as_the_extension_reads_them(rows):
    raw = np.empty(8 * 200 * D + 1, dtype=np.uint8)[1:]
    X = raw.view(float).reshape(200, D)
    X[:] = rows[0][:200]
    assert not X.flags.aligned
    shard = _asked(Shard(X, {"targets": X[:, :1]}), 0, lambda shard: shard, ())
    for a, b in ((shard.X, X), (shard.columns["targets"], X[:, :1])):
        assert a.flags.aligned
        assert a.flags.c_contiguous
        np.testing.assert_array_equal(a, b)


def test_few_rows_come_to_the_client_and_nothing_differs(rows, svc):
    X, y = (a[:3000] for a in rows)
    options = {"vectors": 6, "effort": "fast"}
    expected = svmpress.compress(svc, X, y, **options).model.expansion
    found = svmpress.compress(svc, da.from_array(X, chunks=(800, -1)), da.from_array(y, chunks=800), **options)
    np.testing.assert_array_equal(found.model.expansion.vectors, expected.vectors)


def test_data_frames_and_blocks_of_csr(rows, svc):
    dd = pytest.importorskip("dask.dataframe", reason="the extra dask is not installed")
    X, y = (a[:900] for a in rows)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(D)]).assign(label=y)
    named = svmpress.from_estimator(SVC(gamma=0.01).fit(frame.drop(columns="label"), y))
    shuffled = dd.from_pandas(frame[["label", *(f"f{j}" for j in reversed(range(D)))]], npartitions=3)
    small = svmpress.compress(named, shuffled.drop(columns="label"), shuffled["label"], vectors=5).model
    expected = svmpress.compress(named, X, y, vectors=5).model
    np.testing.assert_array_equal(small.expansion.vectors, expected.expansion.vectors)
    words = frame["label"].map({0: "no", 1: "yes"}).astype("string[pyarrow]")
    in_words = dd.from_pandas(frame.assign(label=words), npartitions=2)
    spoken = svmpress.from_estimator(SVC(gamma=0.01).fit(frame.drop(columns="label"), words.to_numpy(dtype=str)))
    small = svmpress.compress(spoken, in_words.drop(columns="label"), in_words["label"], vectors=5).model
    assert set(small.predict(X)) == {"no", "yes"}
    blocks = da.from_array(X, chunks=(300, -1)).map_blocks(sparse.csr_array, dtype=float)
    sparse_rows = sample_of(shards_of(blocks, None, lambda X, y, source: Shard(X), None), 900, 0)
    np.testing.assert_array_equal(sparse_rows.X.toarray(), X)


def test_a_pipeline_of_scalers_takes_shards_and_others_do_not(rows):
    X, y = (a[:600] for a in rows)
    shards = da.from_array(X, chunks=(200, -1)), da.from_array(y, chunks=200)
    scaled = make_pipeline(StandardScaler(), SVC(gamma=0.01)).fit(X, y)
    searched = GridSearchCV(scaled, {"svc__C": [1.0, 2.0]}, cv=2).fit(X, y)
    expected = svmpress.compress(scaled, X, y, vectors=4).model.expansion.vectors
    np.testing.assert_array_equal(svmpress.compress(scaled, *shards, vectors=4).model.expansion.vectors, expected)
    assert svmpress.compress(searched, *shards, vectors=4).model.n_vectors == 4
    other = make_pipeline(PolynomialFeatures(1), SVC(gamma=0.01)).fit(X, y)
    with pytest.raises(InputError, match="transforms rows before its SVM sees them"):
        svmpress.compress(other, *shards, vectors=4)
    with pytest.raises(InputError, match="transforms rows before its SVM sees them"):
        svmpress.compress_path(other, *shards, sizes=[4])


def spoilt(X, y, how: str):
    """Return X and y in four partitions, of which the third is not as it should be."""

    def third(block, block_info=None):
        if block_info[0]["chunk-location"][0] != 2:
            return block
        block = block.copy()
        if how == "nan":
            block[5, 3] = np.nan
        elif how == "columns":
            block = block[:, :-1]
        elif how == "type":
            block = block.astype(np.float32)
        elif how == "text":
            block = block.astype(object)
            block[0, 0] = "many"
        elif how == "empty":
            block = block[:0]
        elif how == "infinite":
            block[7, 0] = -np.inf
        return block

    rows = da.from_array(X, chunks=(100, -1)).map_blocks(third, dtype=float)
    answers = y.copy()
    if how == "label":
        answers[250] = 7
    return rows, None if how == "empty" else da.from_array(answers, chunks=100)


SENTENCES = {
    "nan": "partition 2: .*NaN",
    "infinite": "partition 2: .*infinit",
    "columns": "partition 2: .*99",
    "type": "partition 2 holds dense float32, and partition 0 dense float64",
    "text": "partition 2: ",
    "empty": "partition 2: .*(no|0) rows",
    "label": "partition 2: y holds the label '7'",
}


@pytest.mark.parametrize("how", SENTENCES)
def test_what_is_wrong_with_a_partition_is_one_sentence(how, rows, svc):
    X, y = (a[:400] for a in rows)
    with pytest.raises(InputError, match=SENTENCES[how]) as caught:
        svmpress.compress(svc, *spoilt(X, y, how), vectors=4)
    assert "\n" not in str(caught.value)


def test_rows_and_answers_must_be_divided_alike(rows, svc):
    X, y = (a[:400] for a in rows)
    with pytest.raises(InputError, match="X has 4 partitions and y has 2"):
        svmpress.compress(svc, da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=200))
    with pytest.raises(
        InputError,
        match=r"partition [01]: y must be (250|150) labels for (250|150) rows, not an array of shape \(200,\)",
    ):
        svmpress.compress(svc, da.from_array(X, chunks=((250, 150), -1)), da.from_array(y, chunks=200))
    with pytest.raises(InputError, match="X is no Dask collection"):
        svmpress.compress(svc, X, da.from_array(y, chunks=200))
    assert is_sharded(da.from_array(X))
    assert not is_sharded(X)
    assert not is_sharded(None)


# ---------------------------------------------------------------------------------------------------------
# Clusters of processes
# ---------------------------------------------------------------------------------------------------------


def block_of(number: int, n: int):
    return data(n, seed=number)[0]


def made_on_workers(n: int, chunks: int):
    """Return rows that workers make themselves, so that lost ones can be made again."""
    from dask import delayed

    parts = [da.from_delayed(delayed(block_of)(i, n // chunks), (n // chunks, D), float) for i in range(chunks)]
    return da.concatenate(parts)


@pytest.fixture
def cluster():
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(silence_logs=50, **options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing_but_time(cluster, svc, rows):
    X = made_on_workers(N, 6)
    expected = svmpress.compress(svc, X.compute(), **OPTIONS)
    pids, killed = cluster.run(os.getpid), []

    def kill_one() -> None:
        killed.append(next(iter(pids.values())))
        os.kill(killed[0], signal.SIGKILL)

    def progress(stage: str, done: int, total: int) -> None:
        if "all rows" in stage and done and not killed:
            kill_one()

    found = svmpress.compress(svc, X, progress=progress, **OPTIONS)
    assert killed
    the_same(expected, found, rows[0][:1000])
    assert set(cluster.run(os.getpid).values()) != set(pids.values())


@pytest.mark.slow
def test_memory_of_the_client_does_not_grow_with_the_rows(cluster, svc):
    def peak(n: int) -> int:
        tracemalloc.start()
        try:
            found = svmpress.compress(svc, made_on_workers(n, n // 5000), **OPTIONS)
            assert "all rows" in found.trace
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few, many = peak(N), peak(5 * N)
    assert few > 2**24  # the sample
    assert many < 1.05 * few
    assert many < 5 * N * D * 8  # and all rows would not have had room


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*:ResourceWarning")
def test_a_cluster_that_goes_away_is_one_sentence(svc):
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    cluster = distributed.LocalCluster(silence_logs=50, **options)
    client = distributed.Client(cluster, timeout="5s")
    closing: list[threading.Thread] = []

    def progress(stage: str, done: int, total: int) -> None:
        if "choosing" in stage and not closing:
            closing.append(threading.Thread(target=cluster.close))
            closing[0].start()
            closing[0].join()

    try:
        with pytest.raises(InputError, match="the Dask cluster went away") as caught:
            svmpress.compress(svc, made_on_workers(N, 3), progress=progress, **OPTIONS)
        assert "\n" not in str(caught.value)
        assert closing
    finally:
        client.close()
        cluster.close()
        time.sleep(0.1)
