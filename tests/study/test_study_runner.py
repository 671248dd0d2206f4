"""The study's runner: what is run, what is recorded, and that no interruption loses or repeats anything."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from study_fakes import Breaks, CannotDo, Fake, Lacks, Slow, two_moons
from svmpress.errors import FormatError, InputError
from svmpress.formats import load
from svmpress.study import Plan, Records
from svmpress.study.plan import RATIOS, Unit, paper_sizes, units, work
from svmpress.study.pools import ProcessWorker
from svmpress.study.records import Cell, Journal, RunRecord, SetRecord, merged, to_line
from svmpress.study.runner import cores, run
from svmpress.study.worker import Source, prediction_seconds, revision

ROOT = Path(__file__).parents[2]

# ---------------------------------------------------------------------------------------------------------
# Plans
# ---------------------------------------------------------------------------------------------------------


@given(n=st.integers(2, 50_000))
def test_sizes_are_those_of_the_paper(n):
    sizes = Plan(("a",), ("auto",)).sizes_for(n)
    largest = max(1, round(0.2 * n))
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == largest
    assert set(range(10, min(100, largest) + 1, 10)) <= set(sizes)
    assert {max(1, round(r * n)) for r in RATIOS} <= set(sizes)
    above = [s for s in sizes if s >= 100]
    assert all(b / a <= 1.75 for a, b in itertools.pairwise(above))
    assert len(sizes) < 35


def test_sizes_of_ones_own():
    plan = Plan(("a",), ("auto",), sizes=(7, 1000), ratios=(0.5,))
    assert plan.sizes_for(100) == [7, 50]
    assert Plan(("a",), ("auto",), ratios=(0.001,)).sizes_for(100) == [1]
    assert 84 in paper_sizes(419)


def test_units_share_a_path_or_have_a_size_each():
    methods = {"full": Fake("full", seeded=False), "path": Fake("path"), "each": Fake("each", grows=False)}
    plan = Plan(("a",), tuple(methods), seeds=(3, 1), sizes=(2, 5))
    found = units(plan, "a", 50, methods)
    assert [(u.method, u.seed, u.sizes) for u in found] == [
        ("full", 3, (50,)),
        ("path", 3, (2, 5)),
        ("path", 1, (2, 5)),
        ("each", 3, (2,)),
        ("each", 3, (5,)),
        ("each", 1, (2,)),
        ("each", 1, (5,)),
    ]


def test_more_rows_and_vectors_are_more_work():
    about = SetRecord("a", 100, 50, 10, 2, 40, 1.0, 0.1, 0.9, 1.0)
    small = work(Unit("a", "auto", 0, (5,)), about)
    assert work(Unit("a", "auto", 0, (5, 9)), about) > small
    assert work(Unit("a", "auto", 0, (5,)), replace(about, train=200)) > small
    assert work(Unit("a", "random", 0, (5,)), about) < small


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sets": ()}, "name each of the sets once"),
        ({"seeds": (1, 1)}, "name each of the seeds once"),
        ({"sizes": (0,)}, "at least 1"),
        ({"ratios": (1.5,)}, "between 0 and 1"),
        ({"rows": 1}, "rows must be at least 2"),
        ({"seeds": (0, -1)}, "from 0 to"),
        ({"seeds": (2**32,)}, "from 0 to"),
        ({"sizes": ()}, "at least one of the sizes"),
    ],
)
def test_bad_plans(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        replace(Plan(("a",), ("auto",)), **changes)


# ---------------------------------------------------------------------------------------------------------
# Records
# ---------------------------------------------------------------------------------------------------------

CELL = Cell("magic", "auto", 0, 10, "done", 0.9, 0.95, 10, 120, 1000, 1.5, 0.001, 1, "0.1.0", notes='a "note"\nµ')


def test_lines_round_trip(tmp_path):
    record = SetRecord("magic", 100, 50, 10, 2, 40, 30.0, 0.1, 0.87, 3.5)
    with Journal(tmp_path / "a.jsonl") as journal:
        journal.append(record)
        journal.append(CELL)
    found = Records.load(tmp_path / "a.jsonl")
    assert found.sets == {"magic": record}
    assert found.cells == {CELL.key: CELL}
    assert found.done() == [CELL]
    assert Records.load(tmp_path / "none.jsonl") == Records()


@given(cut=st.integers(1, len(to_line(CELL)) - 1))
def test_a_line_cut_off_by_a_kill_is_forgotten_and_written_again(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("cut") / "a.jsonl"
    whole = to_line(replace(CELL, size=20))
    path.write_bytes(whole + to_line(CELL)[:cut])
    assert [c.size for c in Records.load(path).done()] == [20]
    with Journal(path) as journal:
        journal.append(CELL)
    assert path.read_bytes() == whole + to_line(CELL)


def test_what_is_done_stays_done():
    failed = replace(CELL, status="failed", accuracy=None)
    assert Records.of([CELL, failed]).cells[CELL.key] == CELL
    assert Records.of([failed, CELL]).cells[CELL.key] == CELL
    assert Records.of([CELL, replace(CELL, accuracy=0.8)]).cells[CELL.key].accuracy == 0.8


def test_what_needs_another_run():
    late = Cell("a", "b", 0, 1, "unfinished", limit=10)
    assert [late.settled(limit) for limit in (5, 10, 11, None)] == [True, True, False, False]
    assert CELL.settled(1)
    assert replace(CELL, status="skipped").settled(None)
    assert not replace(CELL, status="failed").settled(None)


def test_bad_records(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"kind":"cell"}\n')
    with pytest.raises(FormatError, match="line 1 is not a record"):
        Records.load(path)
    path.write_bytes(to_line(CELL) + b"nonsense\n")
    with pytest.raises(FormatError, match="line 2"):
        Records.load(path)
    with pytest.raises(InputError, match="cannot write"):
        Journal(tmp_path / "no" / "a.jsonl")


def test_two_studies_do_not_write_to_one_file(tmp_path):
    with Journal(tmp_path / "a.jsonl"), pytest.raises(InputError, match="another study"):
        Journal(tmp_path / "a.jsonl")


def test_a_line_that_another_process_is_writing_is_not_cut_off(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    path.write_bytes(to_line(CELL)[:9])
    lock = Journal._lock

    def late(journal):  # the other process ends its line and goes, just before the lock is ours
        path.write_bytes(to_line(CELL))
        lock(journal)

    monkeypatch.setattr(Journal, "_lock", late)
    with Journal(path):
        assert path.read_bytes() == to_line(CELL)


def test_old_records_are_read_and_lack_the_new_fields(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"kind":"run","started":"2026-11-15T14:39:18+00:00","version":"0.1.0","python":"3.12.3","numpy":"2.5.2",'
        '"sklearn":"1.9.1","cores":16,"jobs":14,"threads":1,"predictor":"NumPy","limit":240.0}\n'
        '{"kind":"set","name":"magic","train":9,"test":3,"features":2,"classes":2,"vectors":4,"C":30.0,"gamma":0.1,'
        '"accuracy":0.8,"train_seconds":7.6}\n'
        '{"kind":"cell","set":"magic","method":"dlib","seed":0,"size":2,"status":"skipped","notes":"binary only"}\n'
    )
    found = Records.load(path)
    assert (found.runs[0].code, found.sets["magic"].digest) == (None, None)
    (cell,) = found.cells.values()
    assert (cell.code, cell.needs) == (None, None)
    assert found.machines[cell.key] == (16, 14, 1, "NumPy", "cpu")
    magic = found.sets["magic"]
    assert magic.same_data(replace(magic, digest="a"))
    assert not replace(magic, digest="b").same_data(replace(magic, digest="a"))
    assert not magic.same_data(replace(magic, train=10))


def test_journals_are_merged():
    run, other = (RunRecord("2026", "0", "3", "2", "1", cores, 1, 1, "NumPy") for cores in (2, 16))
    about = SetRecord("moons", 10, 5, 2, 2, 4, 1.0, 0.5, 0.9, 1.0)
    done, late, newer, more = (
        Cell("moons", "auto", 0, 2, "done", 0.8),
        Cell("moons", "auto", 0, 2, "unfinished", limit=9.0),
        Cell("moons", "auto", 0, 2, "done", 0.85),
        Cell("moons", "auto", 1, 2, "done", 0.7),
    )
    assert merged([[run, about, done], [other, about, late, more]]) == [about, run, done, other, more]
    assert merged([[run, about, late], [other, about, newer]]) == [about, other, newer]  # a run without cells goes
    found = Records.of(merged([[run, about, done, more], [other, about, newer]]))
    assert found.cells[newer.key].accuracy == 0.85
    assert (found.machines[newer.key].cores, found.machines[more.key].cores) == (16, 2)
    for strange in (replace(about, train=11), replace(about, vectors=5)):
        with pytest.raises(InputError, match="different rows or SVMs under the name moons"):
            merged([[run, about, done], [other, strange, more]])


# ---------------------------------------------------------------------------------------------------------
# Runs
# ---------------------------------------------------------------------------------------------------------

PLAN = Plan(("moons",), ("fake",), seeds=(0, 1), sizes=(5, 10, 20))


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    return two_moons(folder)


@contextmanager
def patched_environment(name: str, value: str):
    """Set a variable that the fake methods read, where no process of the study sets it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(name, value)
        yield


def go(plan, method, data, out, **settings):
    return run(replace(plan, methods=(method.name,)), {method.name: method}, out, folder=data, **settings)


def test_cells_hold_what_was_measured(data, tmp_path):
    log, seen, said = tmp_path / "log", [], []
    methods = {m.name: m for m in (Fake(log=str(log)), Fake("full", seeded=False), Fake("each", grows=False))}
    plan = replace(PLAN, methods=tuple(methods))
    records = run(
        plan, methods, tmp_path / "out", folder=data, jobs=2, progress=lambda *a: seen.append(a), say=said.append
    )
    (moons,) = records.sets.values()
    assert (moons.train, moons.test, moons.features, moons.classes) == (120, 120, 2, 2)
    teacher = load(tmp_path / "out" / "teachers" / "moons.svmpress")
    assert moons.vectors == teacher.n_vectors
    assert len(records.done()) == len(records.cells) == 2 * 3 + 1 + 2 * 3
    with np.load(data / "moons.npz") as z:
        X, X_test, y_test = z["X_train"], z["X_test"], z["y_test"]
    truth = teacher.predict((X_test - X.mean(0)) / X.std(0))
    assert moons.accuracy == pytest.approx(np.mean(truth == y_test), abs=1e-6)
    cell = records.cells["moons", "fake", 1, 10]
    wrong = np.arange(120) < 7
    assert cell.agreement == pytest.approx(1 - 7 / 120, abs=1e-6)
    assert cell.accuracy == pytest.approx(np.mean(np.where(wrong, -truth, truth) == y_test), abs=1e-6)
    assert (cell.vectors, cell.multiply_adds, cell.file_bytes, cell.build_seconds) == (10, 20, 1000, 5.0)
    assert cell.predict_seconds > 0
    assert cell.notes == "of no use"
    assert records.cells["moons", "full", 0, moons.vectors].status == "done"
    assert {line.split()[-1] for line in log.read_text().splitlines()} == {str(max(1, cores() // 2))}
    assert seen[0] == ("training", 0, 1)
    assert seen[-1] == ("study", 13, 13)
    assert len(said) == 2 + 1 + 6
    assert records.runs[0].jobs == 2


def test_an_executor_does_what_processes_do(data, tmp_path):
    def known(records):
        timed = {"predict_seconds": None, "threads": None}
        return {key: replace(cell, **timed) for key, cell in records.cells.items()}

    method = Fake(log=str(tmp_path / "log"))
    expected = go(PLAN, Fake(), data, tmp_path / "processes")
    said = []
    with ThreadPoolExecutor(2) as pool, patched_environment("OMP_NUM_THREADS", "1"):
        found = go(PLAN, method, data, tmp_path / "threads", executor=pool, jobs=2, say=said.append)
        assert go(PLAN, method, data, tmp_path / "threads", executor=pool).cells == found.cells
    assert known(found) == known(expected)
    assert len(said) == 2
    assert len((tmp_path / "log").read_text().splitlines()) == len(found.cells) == 6


@pytest.mark.slow
def test_a_cluster_does_what_processes_do(data, tmp_path):
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        found = go(PLAN, Fake(), data, tmp_path / "out", executor=client, jobs=2)
    assert len(found.done()) == 6
    assert found.cells["moons", "fake", 1, 10].agreement == pytest.approx(1 - 7 / 120, abs=1e-6)


def test_an_executor_breaks_in_one_sentence_and_keeps_what_is_done(data, tmp_path):
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(InputError, match="a limit is for processes that can be killed"):
            go(PLAN, Fake(), data, tmp_path / "out", executor=pool, limit=5)
        records = run(
            replace(PLAN, methods=("raises",), seeds=(0,)), {"raises": Breaks("raises")}, tmp_path / "out",
            folder=data, executor=pool,
        )  # fmt: skip
    assert [records.cells["moons", "raises", 0, size].status for size in (5, 10, 20)] == ["done", "done", "failed"]
    with pytest.raises(InputError, match="the executor takes no more work"):
        go(PLAN, Fake(), data, tmp_path / "out", executor=pool)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool, pytest.raises(InputError, match="has lost"):
        go(PLAN, Breaks("dies", how="die"), data, tmp_path / "out", executor=pool)
    assert Records.load(tmp_path / "out" / "study.jsonl").done() == records.done()


def test_a_second_run_does_what_is_missing_only(data, tmp_path):
    log = tmp_path / "log"
    method = Fake(log=str(log))
    out = tmp_path / "out"
    go(replace(PLAN, sizes=(5, 20), seeds=(0,)), method, data, out)
    path = out / "study.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    assert json.loads(lines[-1])["size"] == 20
    path.write_bytes(b"".join(lines)[:-9])  # killed while it wrote
    log.write_text("")
    records = go(PLAN, method, data, out)
    assert sorted(line.split()[2:4] for line in log.read_text().splitlines()) == [
        ["0", "10"], ["0", "20"], ["1", "10"], ["1", "20"], ["1", "5"],
    ]  # fmt: skip
    assert len(records.done()) == 6
    log.write_text("")
    assert go(PLAN, method, data, out).cells == records.cells
    assert log.read_text() == ""


def test_a_limit_is_recorded_and_a_larger_one_tries_again(data, tmp_path):
    records = go(replace(PLAN, seeds=(0,)), Slow("slow"), data, tmp_path / "out", limit=0.7)
    status = {size: records.cells["moons", "slow", 0, size].status for size in (5, 10, 20)}
    assert status == {5: "done", 10: "done", 20: "unfinished"}
    assert records.cells["moons", "slow", 0, 20].notes == "not finished within 0.7 s"
    quick = Fake("slow", log=str(tmp_path / "log"))
    records = go(replace(PLAN, seeds=(0,)), quick, data, tmp_path / "out", limit=50)
    assert records.cells["moons", "slow", 0, 20].status == "done"


def test_a_method_that_breaks_does_not_break_the_study(data, tmp_path):
    methods = {"raises": Breaks("raises"), "dies": Breaks("dies", how="die")}
    plan = replace(PLAN, methods=tuple(methods), seeds=(0,))
    records = run(plan, methods, tmp_path / "out", folder=data)
    reasons = {"raises": "ZeroDivisionError: no such number", "dies": "the process ended with code 7"}
    for name, reason in reasons.items():
        assert records.cells["moons", name, 0, 10].status == "done"
        cell = records.cells["moons", name, 0, 20]
        assert cell.status == "failed"
        assert reason in cell.notes
    again = run(plan, {name: Fake(name) for name in methods}, tmp_path / "out", folder=data)
    assert len(again.done()) == 6


def test_what_cannot_be_done_is_skipped_with_the_reason(data, tmp_path):
    records = go(PLAN, CannotDo("cannot"), data, tmp_path / "out")
    assert {(c.status, c.notes) for c in records.cells.values()} == {("skipped", "needs three classes")}


def test_a_missing_module_skips_until_it_is_there(data, tmp_path):
    records = go(PLAN, Lacks("lacks"), data, tmp_path / "out")
    assert {(c.status, c.notes, c.needs) for c in records.cells.values()} == {
        ("skipped", "this method needs no-such-package: pip install 'svmpress[study]'", "no_such_module")
    }
    assert all(c.settled(None) for c in records.cells.values())
    assert not any(replace(c, needs="numpy").settled(None) for c in records.cells.values())


def test_other_data_is_refused(data, tmp_path):
    out = tmp_path / "out"
    before = go(PLAN, Fake(), data, out)
    assert before.sets["moons"].digest
    with np.load(data / "moons.npz") as z:
        parts = dict(z)
    np.savez(data / "moons.npz", **{**parts, "X_test": parts["X_test"] + 1})
    with pytest.raises(InputError, match="was trained on other rows or labels"):
        go(PLAN, Fake(), data, out)
    with pytest.raises(InputError, match=r"study.jsonl has records of the set moons with other rows.*another --out"):
        go(PLAN, Fake(), data, out, teachers=tmp_path / "fresh")
    assert Records.load(out / "study.jsonl").cells == before.cells


def test_another_teacher_is_refused(data, tmp_path):
    out = tmp_path / "out"
    before = go(PLAN, Fake(), data, out)
    moons = before.sets["moons"]
    assert moons.same_teacher(replace(moons, train_seconds=99.0))
    lines = (out / "study.jsonl").read_text().replace(f'"vectors":{moons.vectors},', '"vectors":3,', 1)
    (out / "study.jsonl").write_text(lines)
    with pytest.raises(InputError, match=r"another SVM on moons .*\(3 vectors, C = .* and .*\): choose another --out"):
        go(replace(PLAN, seeds=(7,)), Fake(), data, out)


def test_a_worker_that_died_while_it_was_idle_is_replaced(data, tmp_path):
    worker = ProcessWorker(Source(data, tmp_path), {"fake": Fake()}, 1)

    def said() -> list[str]:
        kinds: list[str] = []
        while "set" not in kinds:
            assert worker.link.poll(60)
            kinds += [kind for kind, _ in worker.messages()]
        return kinds

    try:
        worker.give("moons")
        said()
        worker._process.kill()
        worker._process.join()
        worker.give("moons")
        assert "dead" not in said()
    finally:
        assert worker.stop() == -signal.SIGKILL


def test_cells_name_the_revision_of_the_code(data, tmp_path):
    records = go(PLAN, Fake(), data, tmp_path / "out")
    assert {c.code for c in records.cells.values()} == {records.runs[0].code} == {revision()}


def test_a_revision_is_that_of_the_package_only(tmp_path, monkeypatch):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    assert revision(package) is None

    def git(*words):
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        return subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    git("init")
    git("commit", "--allow-empty", "-m", "of something else")
    assert revision(package) is None
    git("add", ".")
    git("commit", "-m", "of the package")
    assert revision(package) == git("rev-parse", "--short", "HEAD").strip()
    before = revision(package)
    git("commit", "--allow-empty", "-m", "of something else")
    assert revision(package) == before
    (package / "__init__.py").write_text("1")
    assert revision(package).endswith("-dirty")
    monkeypatch.setenv("PATH", "")
    assert revision(package) is None


def test_what_other_code_made_is_renewed_when_asked(data, tmp_path):
    out, log = tmp_path / "out", tmp_path / "log"
    go(PLAN, Fake(), data, out)
    path = out / "study.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    old = [json.dumps(json.loads(line) | {"code": "0ld"}) + "\n" if '"seed":1' in line else line for line in lines]
    assert sum("0ld" in line for line in old) == 3
    path.write_text("".join(old))
    go(PLAN, Fake(log=str(log)), data, out)
    assert not log.exists()
    records = go(PLAN, Fake(log=str(log)), data, out, renew=True)
    assert [line.split()[2] for line in log.read_text().splitlines()] == ["1", "1", "1"]
    assert {c.code for c in records.done()} == {revision()}


def test_the_benchmark_goes_on_from_the_committed_records(data, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import study

    written = []
    monkeypatch.setattr(study, "RECORDS", tmp_path / "results" / "study.jsonl")
    monkeypatch.setattr(study, "write_page", lambda: written.append("page"))
    argv = ["study.py", "--data", str(data), "--sets", "moons", "--teachers", str(tmp_path), "--jobs", "1"]
    for method in ("full,random", "full,k-means"):
        monkeypatch.setattr("sys.argv", [*argv, "--methods", method, "--seeds", "0"])
        study.main()
    records = Records.load(tmp_path / "results" / "study.jsonl")
    assert {method for _, method, _, _ in records.cells} == {"full", "random", "k-means"}
    assert len(records.runs) == 2
    assert written == ["page", "page"]
    monkeypatch.setattr("sys.argv", [*argv, "--methods", "random", "--minutes", "1e-6"])
    study.main()  # stopped at once, in good order
    assert len(Records.load(tmp_path / "results" / "study.jsonl").cells) == len(records.cells)


def test_rows_are_part_of_a_study(data, tmp_path):
    records = go(replace(PLAN, rows=60), Fake(), data, tmp_path / "out")
    assert (records.sets["moons"].train, records.sets["moons"].test) == (60, 30)
    with pytest.raises(InputError, match="at most 60 rows, not with all rows"):
        go(PLAN, Fake(), data, tmp_path / "out")


def test_bad_input(data, tmp_path):
    with pytest.raises(InputError, match=r"no data set suns in .*sets there: moons"):
        go(replace(PLAN, sets=("suns",)), Fake(), data, tmp_path / "out")
    with pytest.raises(InputError, match="jobs must be at least 1"):
        go(PLAN, Fake(), data, tmp_path / "out", jobs=0)
    for limit in (0, -1, float("nan"), float("inf")):
        with pytest.raises(InputError, match="more than 0, not"):
            go(PLAN, Fake(), data, tmp_path / "out", limit=limit)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot make the folder"):
        go(PLAN, Fake(), data, tmp_path / "file" / "out")


SCRIPT = """
import sys
from pathlib import Path
from study_fakes import Slow
from svmpress.study.plan import Plan
from svmpress.study.runner import run
if __name__ == "__main__":
    plan = Plan(("moons",), ("slow",), sizes=(5, 10, 20))
    run(plan, {"slow": Slow("slow", log=sys.argv[3])}, Path(sys.argv[2]), folder=Path(sys.argv[1]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_killed_run_loses_nothing_and_leaves_no_process(data, tmp_path, number):
    out, log = tmp_path / "out", tmp_path / "log"
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "script.py"), str(data), str(out), str(log)],
        env=environment, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    while not (log.exists() and log.read_text().count("\n") == 3):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does: to parent and workers alike
    else:
        process.kill()
    process.communicate()
    assert [c.size for c in Records.load(out / "study.jsonl").done()] == [5, 10]
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.05)
    else:
        pytest.fail("a worker is still there")
    records = go(replace(PLAN, seeds=(0,)), Fake("slow"), data, out)
    assert [c.size for c in records.done()] == [5, 10, 20]


def test_predictions_are_timed_for_a_thousand_rows():
    calls = []

    def predict(X):
        calls.append(X.shape[0])
        time.sleep(0.01)

    assert prediction_seconds(predict, np.zeros((500, 1))) >= 0.02
    assert set(calls) == {500}
    assert len(calls) >= 3
