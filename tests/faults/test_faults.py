"""Saves under a file system that fails, kills at random moments, and several processes on one output.

Whatever happens, the old state is there whole or the new one is, an error says so, and nothing lies about.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from saves import model
from svmpress.errors import FormatError
from svmpress.formats import load, save
from svmpress.study import Records

HERE = Path(__file__).parent
KILLS = int(os.environ.get("SVMPRESS_KILLS", "3"))
"""How often each command is killed; ``make kills`` asks for a hundred."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the layer is a preloaded library of Linux")


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that lets calls fail."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs a C compiler")
    library = tmp_path_factory.mktemp("layer") / "faults.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, HERE / "faults.c", "-ldl"], check=True)
    return library


@pytest.fixture
def fast_folder(tmp_path: Path) -> Path:
    """A folder in memory if there is one: thousands of flushes to a disk take minutes."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        return tmp_path
    folder = memory / f"svmpress-{os.getpid()}-{tmp_path.name}"
    folder.mkdir()
    return folder


@pytest.mark.slow
def test_every_call_of_every_save_may_fail(layer, fast_folder):
    try:
        run = subprocess.run(
            [sys.executable, HERE / "saves.py", fast_folder],
            env={**os.environ, "LD_PRELOAD": str(layer), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        shutil.rmtree(fast_folder)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["wrong"] == []
    assert sum(found["tried"].values()) > 600
    assert min(found["tried"].values()) >= 20


# ---------------------------------------------------------------------------------------------------------
# Several processes
# ---------------------------------------------------------------------------------------------------------

WRITER = """
import sys, time
from pathlib import Path
from saves import model
from svmpress.formats import save
path, name = Path(sys.argv[1]), sys.argv[2]
end = time.monotonic() + float(sys.argv[3])
small = model(name)
while time.monotonic() < end:
    save(small, path)
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}


@pytest.mark.slow
def test_readers_beside_two_writers_see_one_model_or_the_other(tmp_path):
    path = tmp_path / "m.model"
    save(model("old"), path)
    rows = np.array([[0.3, -0.2]])
    known = {model(name).decision_values(rows).item() for name in ("old", "new")}
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, path, name, "2"], env=environment()) for name in ("old", "new")
    ]
    seen = 0
    while any(w.poll() is None for w in writers):
        assert load(path).decision_values(rows).item() in known
        seen += 1
    assert [w.wait() for w in writers] == [0, 0]
    assert seen > 10
    assert load(path).decision_values(rows).item() in known
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.model", "m.model.range"]


def test_a_search_that_is_running_keeps_its_records(tmp_path):
    from svmpress.errors import InputError
    from svmpress.tuning import Records

    path = tmp_path / "s.jsonl"
    with Records.kept(path, {"data": "x"}):
        with pytest.raises(InputError, match="in use by another search"):
            Records.discard(path)
        assert path.exists()
    Records.discard(path)
    assert not path.exists()


# ---------------------------------------------------------------------------------------------------------
# Kills
# ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows and a model for the commands."""
    folder = tmp_path_factory.mktemp("inputs")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    np.savetxt(folder / "rows.csv", np.column_stack([X, y]), delimiter=",", fmt="%g")
    command = ["train", "rows.csv", "-C", "1", "--gamma", "0.5", "-o", "big.model"]
    subprocess.run([sys.executable, "-m", "svmpress", *command], cwd=folder, check=True, capture_output=True)
    (folder / "sets").mkdir()
    parts = {"X_train": X[:200], "y_train": y[:200], "X_test": X[200:], "y_test": y[200:]}
    np.savez(folder / "sets" / "magic.npz", **parts)
    return folder


COMMANDS = {
    "train": ["train", "rows.csv", "-C", "2", "--gamma", "0.5", "-o", "out.model"],
    "compress": ["compress", "big.model", "-o", "out.model", "--vectors", "5", "--effort", "fast"],
    "export": ["export", "big.model", "-o", "out.svmpress"],
    "predict": ["predict", "big.model", "rows.csv", "-o", "out.txt"],
    "search": ["search", "rows.csv", "--max-vectors", "5", "--trials", "3", "--finalists", "1", "--sampler", "random",
               "--method", "lars", "-o", "out.svmpress", "--storage", "trials.jsonl"],
    "study": ["study", "--data", "sets", "--out", "study", "--methods", "full,random", "--sizes", "4,8", "--seeds", "0",
              "--jobs", "1", "--no-figures"],
}  # fmt: skip


def output_of(name: str) -> Path:
    """Return the file that a command writes."""
    return Path("study/study.jsonl" if name == "study" else COMMANDS[name][COMMANDS[name].index("-o") + 1])


def whole(path: Path) -> bool:
    """Whether an output is complete: a model that predicts, a label for every row, or records that can be read."""
    if path.suffix == ".txt":
        return path.read_text().count("\n") == 300
    try:
        if path.suffix == ".jsonl":
            return isinstance(Records.load(path), Records)
        return load(path).predict(np.zeros((1, 3))).shape == (1,)
    except FormatError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_killed_at_random_moments(inputs, tmp_path, name):
    shutil.copytree(inputs, tmp_path, dirs_exist_ok=True)
    command = [sys.executable, "-m", "svmpress", *COMMANDS[name], "-q"]
    output = tmp_path / output_of(name)
    start = time.monotonic()
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    took = time.monotonic() - start
    assert whole(output)
    moments = random.Random(name)
    for _ in range(KILLS):
        if moments.random() < 0.5:
            shutil.rmtree(output.parent) if name == "study" else output.unlink(missing_ok=True)
        running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(took * moments.uniform(0.3, 1.1))
        running.send_signal(signal.SIGKILL)
        running.wait()
        assert not output.exists() or whole(output)
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)  # nothing that was left is in the way
    assert whole(output)
    assert [p.name for p in tmp_path.rglob("*") if p.name.endswith((".tmp", "~"))] == []
    if name == "study":
        assert len(Records.load(output).done()) == 3
