"""Signals, closed streams, terminals without Greek: the program as it is found in the wild."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from svmpress.cli.signals import ending_on_signals
from svmpress.decoders import Sign
from svmpress.formats import save
from svmpress.kernels import RBF
from svmpress.model import KernelExpansion, KernelModel

PROGRAM = [sys.executable, "-m", "svmpress"]
CODES = [(signal.SIGINT, 130), (signal.SIGTERM, 143)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, rows, and rows whose training takes minutes."""
    folder = tmp_path_factory.mktemp("home")
    f = KernelExpansion(RBF(0.5), np.array([[1.0, 0.5]]), np.array([[1.0]]), np.array([-0.5]))
    save(KernelModel(f, Sign(np.array([-1, 1]))), folder / "m.svmpress")
    (folder / "rows.svm").write_text("1 1:1 2:0.5\n-1 1:3\n")
    rng = np.random.default_rng(0)
    hard = np.column_stack([rng.normal(size=(6000, 8)), rng.integers(0, 2, 6000)])
    np.savetxt(folder / "hard.csv", hard, delimiter=",", fmt="%g")
    return folder


def ended(process: subprocess.Popen[bytes], number: signal.Signals) -> tuple[int, float, str]:
    """Send a signal; return the exit code, how long it took, and what was said."""
    start = time.monotonic()
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    return process.returncode, time.monotonic() - start, err.decode()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), CODES)
def test_a_training_of_minutes_ends_at_once(home, tmp_path, number, code):
    """LibSVM trains in one call, during which Python sees no signal: the watching thread ends the process."""
    command = [*PROGRAM, "train", "hard.csv", "-C", "1e7", "--gamma", "0.05", "-q", "-o", tmp_path / "m.svmpress"]
    process = subprocess.Popen(command, cwd=home, stderr=subprocess.PIPE)
    time.sleep(6)
    assert process.poll() is None
    returned, took, err = ended(process, number)
    assert returned == code
    assert took < 5  # a second, were this machine ours alone
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("number", "code"), CODES)
def test_a_signal_while_modules_are_loaded(home, number, code):
    """Whenever it comes once the program has begun, there is no traceback."""
    for delay in (0.001, 0.05, 0.2, 0.5):
        program = f"""
import os, sys, threading
import svmpress.__main__ as m

class Alarm:  # the first module that the program loads is the moment when it has begun
    def find_spec(self, name, path=None, target=None):
        if name == "svmpress.cli":
            threading.Timer({delay}, os.kill, (os.getpid(), {int(number)})).start()

sys.argv[1:] = ["inspect", "m.svmpress"]
sys.meta_path.insert(0, Alarm())
m.start()
"""
        process = subprocess.run([sys.executable, "-c", program], cwd=home, capture_output=True, check=False)
        assert process.returncode in (0, code)
        assert b"Traceback" not in process.stderr
        if delay == 0.001:
            assert process.returncode == code


def test_signals_that_were_ignored_stay_ignored(home):
    code = "import signal, svmpress.__main__ as m; signal.signal(signal.SIGINT, signal.SIG_IGN); m.start()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "predict", "m.svmpress", "-"],
        cwd=home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(b"1 1:1 2:0.5\n", timeout=60)
    assert (process.returncode, out) == (0, b"1\n")


def test_what_a_signal_does_ends_with_the_command():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    def interrupted():
        with ending_on_signals():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    sys.unraisablehook = sys.__unraisablehook__
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    time.sleep(1)  # longer than the patience of the watching thread, which must have gone


# ---------------------------------------------------------------------------------------------------------
# Streams
# ---------------------------------------------------------------------------------------------------------


def shell(command: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command], cwd=cwd, capture_output=True, text=True, check=False, env={**os.environ, **env}
    )


def test_closed_standard_output(home, tmp_path):
    done = shell(f"{sys.executable} -m svmpress predict m.svmpress rows.svm -o {tmp_path}/labels.txt >&-", home)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "svmpress: error: cannot write to standard output: it is closed"
    assert (tmp_path / "labels.txt").read_text() == "1\n-1\n"  # and no report in it


def test_closed_standard_input_and_error(home):
    done = shell(f"{sys.executable} -m svmpress predict m.svmpress - <&-", home)
    assert (done.returncode, done.stderr) == (2, "svmpress: error: cannot read standard input: it is closed\n")
    assert shell(f"{sys.executable} -m svmpress predict none.model - 2>&-", home).returncode == 2
    assert shell(f"{sys.executable} -m svmpress predict m.svmpress rows.svm 2>&-", home).stdout == "1\n-1\n"


def test_a_terminal_that_knows_ascii_only(home, tmp_path):
    odd = tmp_path / "µ\udcff.svmpress"
    odd.write_bytes((home / "m.svmpress").read_bytes())
    done = subprocess.run(
        [*PROGRAM, "inspect", odd], capture_output=True, check=False, env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


# ---------------------------------------------------------------------------------------------------------
# Arguments
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("compress m.svmpress -o a.model --seed -1", "random_state must be a whole number from 0 to 4294967295"),
        ("compress m.svmpress -o a.model --seed 4294967296", "random_state must be a whole number from 0"),
        ("train hard.csv -o a.model --seed -1", "random_state must be"),
        ("train hard.csv -o a.model --task outlier --nu 2", "nu is a share of the rows"),
        ("train hard.csv -o a.model --kernel poly --degree -1", "degree must be a whole number of at least 0"),
        ("train hard.csv -o a.model --coef0 nan", "coef0 must be a finite number"),
        (f"predict m.svmpress rows.svm -o {'a' * 300}.txt", "File name too long"),
        (f"predict {'a' * 300}.model rows.svm", "File name too long"),
        (f"predict m.svmpress {'a' * 300}.svm", "file name too long"),
        (f"compress m.svmpress -o {'a' * 300}.model", "File name too long"),
        ("predict m.svmpress rows.svm --allow features", "--allow needs a name and a whole number"),
        ("predict m.svmpress rows.svm --allow feature=5", "there is no limit 'feature'; there are features, classes"),
        ("predict m.svmpress rows.svm --allow features=0", "must be a whole number of at least 1"),
        ("predict m.svmpress rows.svm --allow features=1", "rows.svm asks for 2 features, and the limit is 1"),
    ],
)
def test_odd_arguments(home, capsys, monkeypatch, arguments, words):
    from svmpress.cli import main

    monkeypatch.chdir(home)
    assert main(arguments.split()) == 2
    assert re.search(re.escape(words), capsys.readouterr().err)
    assert not (home / "a.model").exists()
