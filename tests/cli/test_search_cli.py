"""``svmpress search``: the goal on the command line, the exit code, and files that appear or go away."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from typing import ClassVar

import numpy as np
import pytest
from sklearn.metrics import accuracy_score
from tqdm import tqdm

from svmpress.cli import main
from svmpress.cli.progress import Bars
from svmpress.cli.search import duration
from svmpress.formats import load
from svmpress.plots.figure2 import ring_data
from svmpress.tuning import Records
from svmpress.tuning.brief import Brief

QUICK = ["--sampler", "random", "--trials", "3", "--finalists", "1"]


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """The default compression takes seconds a size; what is tested here does not depend on it."""
    monkeypatch.setitem(__import__("svmpress.compression").compression.METHODS, "auto", lambda effort: Brief())


@pytest.fixture
def data(tmp_path):
    X, y = ring_data(240, seed=2)
    path = tmp_path / "rings.csv"
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header="a,b,label", comments="", fmt="%.6g")
    return path, X, y


def test_a_goal_that_is_met(data, tmp_path, capsys):
    path, X, y = data
    small = tmp_path / "small.model"
    code = main(["search", str(path), "--min-accuracy", "0.9", "-o", str(small), *QUICK])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    assert "fewest vectors with accuracy >= 0.9" in printed.out
    assert f"written to  {small}" in printed.out
    assert accuracy_score(y, load(small).predict(X)) > 0.85
    assert {p.name for p in tmp_path.iterdir()} == {"rings.csv", "small.model", "small.model.range"}


def test_facts_report_and_figure(data, tmp_path, capsys):
    path, *_ = data
    files = {name: tmp_path / name for name in ("small.svmpress", "trials.jsonl", "trials.csv", "front.png")}
    names = {"-o": "small.svmpress", "--storage": "trials.jsonl", "--report": "trials.csv", "--figure": "front.png"}
    outputs = [part for option, name in names.items() for part in (option, str(files[name]))]
    code = main(["search", str(path), "--max-vectors", "5", "-C", "3", "--json", "--cv", "2", *QUICK, *outputs])
    facts = json.loads(capsys.readouterr().out)
    assert code == 0
    assert facts["feasible"] is True
    assert facts["vectors"] == load(files["small.svmpress"]).n_vectors <= 5
    assert facts["held_out_rows"] == 240
    assert set(facts["params"]) == {"svc__gamma"}  # C was given
    assert len(facts["trials"]) == len(Records.load(files["trials.jsonl"]).tried) == 3
    assert all(p.exists() for p in files.values())
    with files["trials.csv"].open() as file:
        assert {row["trial"] for row in csv.DictReader(file)} == {"0", "1", "2"}


def test_exit_code_3_when_nothing_meets_the_goal(data, tmp_path, capsys):
    path, X, _ = data
    path.write_text("\n".join(f"{a},{b},{i % 2}" for i, (a, b) in enumerate(X)))
    small = tmp_path / "small.svmpress"
    assert main(["search", str(path), "--min-accuracy", "0.99", "-o", str(small), *QUICK]) == 3
    assert "no model that was tried meets the goal" in capsys.readouterr().out
    assert load(small).n_vectors > 0


def test_regression_and_outliers(data, tmp_path, capsys):
    path, X, _ = data
    wave = tmp_path / "wave.csv"
    np.savetxt(wave, np.column_stack([X, 1e5 * np.sin(X[:, 0])]), delimiter=",", fmt="%.8g")
    common = ["-o", str(tmp_path / "small.svmpress"), "--json", *QUICK]
    assert main(["search", str(wave), "--task", "regression", "--min-accuracy", "0.5", *common]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["score_name"] == "r2"
    assert facts["score"] >= 0.5
    assert main(["search", str(path), "--task", "outlier", "--no-labels", "--max-vectors", "9", *common]) == 0
    assert json.loads(capsys.readouterr().out)["score_name"] == "agreement"
    assert main(["search", str(path), "--task", "outlier", "--max-vectors", "9", *common]) == 0
    assert json.loads(capsys.readouterr().out)["score_name"] == "accuracy"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give min_accuracy, or a limit"),
        (["--min-accuracy", "97"], "at most 1"),
        (["--min-accuracy", "0.9", "--figure", "front.txt"], "names no picture format"),
        (["--min-accuracy", "0.9", "--time-limit", "soon"], "not a time such as"),
        (["--min-accuracy", "0.9", "--report", "rings.csv"], "is an input of this command"),
        (["--min-accuracy", "0.9", "--report", "small.model"], "named for two outputs"),
        (["--min-accuracy", "0.9", "--report", "a.png", "--figure", "./a.png"], "named for two outputs"),
        (["--min-accuracy", "0.9", "--storage", "small.model"], "named for two outputs"),
        (["--min-accuracy", "0.9", "--figure", "none/a.png"], "there is no folder none"),
        (["--min-accuracy", "0.9", "--storage", "rings.csv", "--restart"], "is an input of this command"),
        (["--min-accuracy", "0.9", "--trials", "0"], "trials must be"),
        (["--min-accuracy", "0.9", "--method", "magic"], "unknown method"),
    ],
)
def test_bad_input(arguments, message, data, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["search", "rings.csv", "-o", "small.model", *QUICK, *arguments]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""
    assert [p.name for p in tmp_path.iterdir()] == ["rings.csv"]


def test_missing_extra(data, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert main(["search", str(data[0]), "--min-accuracy", "0.9", "-o", str(tmp_path / "small.model")]) == 2
    assert "pip install 'svmpress[search]'" in capsys.readouterr().err


@pytest.mark.slow
def test_interrupted_by_ctrl_c_and_gone_on_with(data, tmp_path, capsys):
    path, *_ = data
    small = tmp_path / "small.svmpress"
    kept = tmp_path / "small.svmpress.search.jsonl"
    command = ["search", str(path), "--min-accuracy", "0.9", "-o", str(small), "--sampler", "random", "--trials"]
    process = subprocess.Popen(
        [sys.executable, "-m", "svmpress", *command, "500"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    while process.poll() is None and (not kept.exists() or kept.read_bytes().count(b"\n") < 3):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert "the same command goes on from there" in said
    n = len(Records.load(kept).tried)
    assert n >= 2
    assert main([*command, str(n + 1), "--finalists", "1", "--json"]) == 0
    printed = capsys.readouterr()
    assert "going on with the trials" in printed.err
    assert len(json.loads(printed.out)["trials"]) == n + 1
    assert not kept.exists()


class Drawn(tqdm):
    """A bar that is remembered."""

    all: ClassVar[list[Drawn]] = []

    def __init__(self, *args, **settings):
        super().__init__(*args, **settings)
        self.all.append(self)


def test_bars_go_on_where_a_stage_does(monkeypatch):
    monkeypatch.setattr("svmpress.cli.progress.tqdm", Drawn)
    monkeypatch.setattr(Drawn, "all", [])
    with Bars(show=True) as progress:
        progress("trials (best 9 vectors)", 400, 500)
        progress("trials (best 7 vectors)", 402, 500)
        (trials,) = Drawn.all  # a new best is no new stage
        assert (trials.initial, trials.n, trials.total) == (400, 402, 500)  # the speed is that of two trials
        assert "best 7 vectors" in str(trials)
        assert "best 9 vectors" not in str(trials)
        progress("finalist 1 (best 7 vectors): starts", 0, 3)
        progress("finalist 1 (best 7 vectors): descent", 0, 9)
        progress("trials (best 7 vectors)", 402, 500)
    assert len(Drawn.all) == 4
    assert [bar.initial for bar in Drawn.all] == [400, 0, 0, 402]


@pytest.mark.slow
def test_another_search_is_refused_and_restarted(data, tmp_path, capsys):
    path, *_ = data
    kept = tmp_path / "trials.jsonl"
    command = ["search", str(path), "-o", str(tmp_path / "s.svmpress"), "--storage", str(kept), *QUICK]
    assert main([*command, "--max-vectors", "4"]) == 0
    assert main([*command, "--max-vectors", "5"]) == 2
    assert "the goals differ" in capsys.readouterr().err
    assert main([*command, "--max-vectors", "5", "--restart"]) == 0


def test_restart_removes_records_only(data, tmp_path, capsys):
    kept = tmp_path / "notes.txt"
    kept.write_text("hello")
    command = ["search", str(data[0]), "-o", str(tmp_path / "s.svmpress"), "--max-vectors", "4", "--restart", *QUICK]
    assert main([*command, "--storage", str(kept)]) == 2
    assert "is not removed" in capsys.readouterr().err
    assert kept.read_text() == "hello"
    (tmp_path / "folder").mkdir()
    assert main([*command, "--storage", str(tmp_path / "folder")]) == 2
    assert "it is a folder" in capsys.readouterr().err


def test_durations():
    assert [duration(t) for t in ("90", "90s", "1.5m", "2h", " 3 s ")] == [90, 90, 90, 7200, 3]
    for wrong in ("", "0", "-1s", "1d", "nan"):
        with pytest.raises(Exception, match="not a time such as"):
            duration(wrong)
