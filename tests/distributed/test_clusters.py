"""A real cluster of processes: one copy of the model a worker, parts that are whole, clusters that cannot be used."""

from __future__ import annotations

import importlib
import json
import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pandas as pd
import psutil
import pytest
from clusters import scheduler_and_worker
from distributed import Client, LocalCluster
from sklearn.svm import SVC

import svmpress
from svmpress import Laplacian, distributed
from svmpress.cli import main
from svmpress.distributed import cluster, files, predict_files, while_there
from svmpress.errors import InputError

pytestmark = [
    pytest.mark.slow,
    # Dask leaves sockets of clusters that end to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.timeout(100),
]

NAMES = ("width", "height")


@pytest.fixture(scope="module")
def client():
    with cluster(workers=2) as client:
        yield client


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    svc = SVC().fit(X, np.where(X[:, 0] * X[:, 1] > 0, "same", "other"))
    return replace(svmpress.from_estimator(svc), feature_names=NAMES)


@pytest.fixture
def folder(tmp_path, rng):
    """Four files of rows, the last of several row groups."""
    for k, n in enumerate((40, 500, 60, 900)):
        rows = pd.DataFrame(rng.normal(size=(n, 2)), columns=NAMES[::-1]).assign(id=np.arange(n))
        rows.to_parquet(tmp_path / f"day-{k}.parquet", row_group_size=300)
    return tmp_path


def days(folder: Path) -> list[str]:
    return sorted(str(p) for p in folder.glob("day-*.parquet"))


def read_parts(folder: Path) -> pd.DataFrame:
    return pd.concat([pd.read_parquet(p) for p in sorted(folder.glob("part-*.parquet"))], ignore_index=True)


def options(model):
    return svmpress.data.streaming.read_options(model, labels=False, keep=("id",))


# ---------------------------------------------------------------------------------------------------------
# Collections
# ---------------------------------------------------------------------------------------------------------


def test_a_worker_holds_one_copy_of_the_model_that_its_tasks_share(client, model, rng):
    X = rng.normal(size=(2000, 2))
    rows = da.from_array(X, chunks=(50, 2))
    with client.as_current():
        both = dask.persist(distributed.predict(model, rows), distributed.decision_function(model, rows))
        got = dask.compute(*both)

        def models(dask_worker):
            return [str(key) for key in dask_worker.data if "svmpress-model" in str(key)]

        delivered = client.compute(distributed.deliver(model))
        client.replicate([delivered])
        held = client.run(models)
    np.testing.assert_array_equal(got[0], model.predict(X))
    np.testing.assert_array_equal(got[1], model.decision_function(X))
    assert list(held.values()) == [[delivered.key]] * 2


def test_tasks_share_the_threads_of_a_worker():
    with (
        LocalCluster(n_workers=1, threads_per_worker=4, processes=True, dashboard_address=":0") as local,
        Client(local, set_as_default=False) as client,
    ):
        assert client.submit(counted, 0.0, pure=False).result() == 4
        assert min(client.gather(client.map(counted, [0.3] * 12, pure=False))) == 1


def counted(seconds):
    n = distributed.fair_threads()
    time.sleep(seconds)
    return n


def test_a_partition_on_a_worker_is_named(client, model):
    X = np.zeros((90, 2))
    X[70, 1] = np.nan
    with client.as_current(), pytest.raises(InputError, match=r"^partition 2: X holds NaN at row 10, column 1$"):
        distributed.predict(model, da.from_array(X, chunks=(30, 2))).compute()


def test_a_model_that_a_worker_cannot_import_is_refused(client, model, tmp_path, monkeypatch):
    (tmp_path / "at_home.py").write_text(
        "from dataclasses import dataclass\n"
        "from svmpress import RBF\n"
        "@dataclass(frozen=True)\n"
        "class Own(RBF):\n"
        "    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    own = importlib.import_module("at_home").Own
    strange = replace(model, expansion=replace(model.expansion, kernel=own(0.5)))
    with (
        client.as_current(),
        pytest.raises(InputError, match=r"the worker tcp\S+ cannot use this model: No module named 'at_home'"),
    ):
        distributed.predict(strange, da.zeros((10, 2)))


def test_another_version_on_a_worker_is_refused(client, model):
    other = replace(model, expansion=replace(model.expansion, kernel=Laplacian(0.5)))
    here = svmpress.__version__
    client.run(set_version, "0.0.1")
    try:
        with pytest.raises(InputError, match=r"it has svmpress 0\.0\.1, and its client"):
            distributed.check_workers(client, other)
    finally:
        client.run(set_version, here)
    distributed.check_workers(client, other)


def set_version(version):
    from svmpress.distributed import clusters

    clusters.__version__ = version


# ---------------------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------------------


def test_parts_are_those_of_one_process_and_are_not_made_twice(client, model, folder, monkeypatch):
    monkeypatch.setattr(files.plan, "__defaults__", (None, 300))
    out, seen = folder / "out", []

    def progress(stage, done, total):
        seen.append((stage, done, total))

    ask = {"options": options(model), "progress": progress, "question": "scores"}
    first = predict_files(model, days(folder), out, client, **ask)
    assert (first.parts, first.skipped, first.rows) == (7, 0, 1500)
    assert seen[0] == ("predicting", 0, 1500)
    assert seen[-1] == ("predicting", 1500, 1500)
    rows = pd.concat([pd.read_parquet(p) for p in days(folder)], ignore_index=True)
    got = read_parts(out)
    np.testing.assert_array_equal(got.score, model.decision_function(rows))
    np.testing.assert_array_equal(got.id, rows.id)
    assert got.file.nunique() == 4
    (out / "part-000003.parquet").unlink()
    before = (out / "part-000001.parquet").stat().st_mtime_ns
    seen.clear()
    second = predict_files(model, days(folder), out, client, **ask)
    assert (second.parts, second.skipped, second.rows) == (7, 6, 60)
    assert seen[0] == ("predicting", 1440, 1500)
    assert (out / "part-000001.parquet").stat().st_mtime_ns == before
    pd.testing.assert_frame_equal(read_parts(out), got)


def test_another_task_does_not_go_into_the_same_folder(client, model, folder):
    predict_files(model, days(folder)[:1], folder / "out", client, options=options(model))
    with pytest.raises(InputError, match="parts of another question"):
        predict_files(model, days(folder)[:1], folder / "out", client, options=options(model), question="scores")
    with pytest.raises(InputError, match="parts of another file"):
        predict_files(model, days(folder), folder / "out", client, options=options(model))
    other = replace(model, expansion=replace(model.expansion, intercept=model.expansion.intercept + 1))
    with pytest.raises(InputError, match="parts of another model"):
        predict_files(other, days(folder)[:1], folder / "out", client, options=options(model))
    with pytest.raises(InputError, match=r"holds other things, such as 'day-0\.parquet'"):
        predict_files(model, days(folder), folder, client, options=options(model))
    (folder / "out" / files.MANIFEST).write_text("[]")
    with pytest.raises(InputError, match="is not what svmpress wrote"):
        predict_files(model, days(folder)[:1], folder / "out", client, options=options(model))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda t: t.assign(width=t.width.where(t.width < 1)),
            r"day-1\.parquet, column 'width': the value of row",
        ),
        (lambda t: t.rename(columns={"height": "hight"}), "day-1.parquet lacks the column 'height' of the model"),
        (lambda t: t.assign(height="tall"), "day-1.parquet.*'height'"),
    ],
    ids=["NaN", "other columns", "text"],
)
def test_a_shard_that_cannot_be_used_is_named_and_leaves_nothing(client, model, folder, change, sentence):
    day = folder / "day-1.parquet"
    change(pd.read_parquet(day)).to_parquet(day)
    with pytest.raises(InputError, match=sentence):
        predict_files(model, days(folder), folder / "out", client, options=options(model))
    assert "part-000001.parquet" not in os.listdir(folder / "out")
    for part in (folder / "out").glob("part-*"):
        pd.read_parquet(part)  # whole, or it could not be read


def test_a_shard_without_rows_has_no_part(client, model, folder):
    day = folder / "day-2.parquet"
    pd.read_parquet(day)[:0].to_parquet(day)
    done = predict_files(model, days(folder), folder / "out", client, options=options(model))
    assert done.empty == (str(day),)
    assert len(read_parts(folder / "out")) == 1440
    with pytest.raises(InputError, match="no file has rows"):
        predict_files(model, [day], folder / "none", client, options=options(model))


@pytest.fixture
def pipe(folder):
    """A named pipe among the files of rows: whoever reads it waits until the test writes."""
    os.mkfifo(folder / "slow.csv")
    return folder / "slow.csv"


def test_columns_of_later_files_are_those_of_the_first_for_a_model_without_names(client, model, tmp_path, rng):
    nameless = replace(model, feature_names=None)
    X = rng.normal(size=(60, 2))
    pd.DataFrame(X, columns=NAMES).to_csv(tmp_path / "a.csv", index=False)
    pd.DataFrame(X[:, ::-1], columns=NAMES[::-1]).to_csv(tmp_path / "b.csv", index=False)
    predict_files(nameless, [tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path / "out", client)
    for part in sorted((tmp_path / "out").glob("*.parquet")):
        np.testing.assert_array_equal(pd.read_parquet(part)["prediction"].to_numpy(), model.predict(X))
    assert len(list((tmp_path / "out").glob("*.parquet"))) == 2


def _read_what_is_not_there():
    raise FileNotFoundError("rows of day 3")


def test_an_error_of_a_task_is_not_taken_for_the_end_of_the_cluster(client):
    with pytest.raises(FileNotFoundError, match="rows of day 3"), while_there(client):
        client.submit(_read_what_is_not_there).result()


def test_a_worker_that_ends_in_the_middle_costs_only_time(model, folder, pipe):
    with cluster(workers=2) as client:
        ended = threading.Thread(target=end_the_reader, args=(client, pipe), daemon=True)
        ended.start()
        done = predict_files(model, [*days(folder), pipe], folder / "out", client, options=options(model))
        ended.join()
    rows = pd.concat([*(pd.read_parquet(p) for p in days(folder)), pd.DataFrame(SLOW)], ignore_index=True)
    assert done.parts == 5
    np.testing.assert_array_equal(read_parts(folder / "out").prediction, model.predict(rows))


SLOW = {"id": [1, 2], "width": [0.5, -1.0], "height": [0.25, 2.0]}


def end_the_reader(client, pipe):
    """Kill the worker that waits for the pipe, and let the next one read it."""
    pids, reader = client.run(os.getpid), None
    while reader is None:
        time.sleep(0.02)
        busy = client.processing().items()
        reader = next((worker for worker, keys in busy if any(pipe.name in str(key) for key in keys)), None)
    os.kill(pids[reader], signal.SIGKILL)
    while psutil.pid_exists(pids[reader]):  # what it has opened must be closed before somebody writes
        time.sleep(0.02)
    pipe.write_text(pd.DataFrame(SLOW).to_csv(index=False))


def test_a_cluster_that_goes_away_is_said_in_one_sentence(model, folder, pipe):
    out = folder / "out"
    with scheduler_and_worker(folder) as (address, scheduler), cluster(address) as client:
        ended = threading.Thread(target=kill_once_at_work, args=(scheduler, out), daemon=True)
        ended.start()
        client.wait_for_workers(1)
        with pytest.raises(InputError, match="the Dask cluster went away; parts that are finished stay"):
            predict_files(model, [*days(folder), pipe], out, client, options=options(model))
        ended.join()
    assert len(read_parts(out)) == 1500


def kill_once_at_work(scheduler, out):
    while len(list(out.glob("part-*"))) < 4:
        time.sleep(0.02)
    scheduler.kill()


def test_a_part_that_ends_every_worker_is_named():
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), cluster(workers=1) as client:
        ending = client.submit(os._exit, 1, key="rows of day 3")
        with pytest.raises(InputError, match="rows of day 3: its worker ended, 1 times in all"), while_there():
            ending.result()


# ---------------------------------------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------------------------------------


def test_the_command_writes_parts_and_goes_on(model, folder, capsys):
    svmpress.save(model, folder / "m.svmpress")
    command = ["predict", str(folder / "m.svmpress"), str(folder / "day-*.parquet"), "-o", str(folder / "out")]
    command += ["--id", "id", "--workers", "2", "--json"]
    assert main(command) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["parts"], facts["parts_skipped"], facts["rows"]) == (4, 0, 1500)
    assert main(["predict", command[1], command[2], "-o", str(folder / "one.parquet"), "--id", "id", "-q"]) == 0
    pd.testing.assert_frame_equal(read_parts(folder / "out"), pd.read_parquet(folder / "one.parquet"))
    (folder / "out" / "part-000002.parquet").unlink()
    capsys.readouterr()
    with scheduler_and_worker(folder) as (address, _):
        assert main([*command[:7], "--dask", address, "--progress"]) == 0
    printed = capsys.readouterr()
    assert "60 rows" in printed.out
    assert "3 were there" in printed.out
    assert "predicting" in printed.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--workers", "2"], "give -o FOLDER"),
        (["--workers", "0", "-o", "out"], "1 or more, not 0"),
        (["--workers", "2", "-o", "out.parquet"], "the name of a file"),
        (["--dask", "tcp://127.0.0.1:9", "-o", "out", "-"], "standard input"),
    ],
)
def test_what_a_cluster_cannot_do_is_refused_before_it_starts(arguments, sentence, model, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    svmpress.save(model, "m.svmpress")
    rows = [] if "-" in arguments else ["day-0.parquet"]
    assert main(["predict", "m.svmpress", *rows, *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_no_scheduler_at_the_address_is_one_sentence(monkeypatch):
    monkeypatch.setattr(distributed.clusters, "_PATIENCE", "0.5s")
    with (
        pytest.raises(InputError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"),
        cluster("tcp://127.0.0.1:9"),
    ):
        pass
