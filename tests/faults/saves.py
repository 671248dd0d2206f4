"""Every kind of save under a file system that fails at every call: run by ``test_faults.py`` with the layer preloaded.

Prints one JSON object: how many saves were disturbed, and what was wrong with which.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from svmpress.cli import main
from svmpress.decoders import Sign
from svmpress.errors import InputError
from svmpress.formats import load, save
from svmpress.kernels import RBF
from svmpress.model import KernelExpansion, KernelModel, Scaling
from svmpress.storage import replacing_folder

FAULTS = ["no space", "broken", "short", "kill"]
NOTHING = "nothing"


def model(name: str, *, scaled: bool = True) -> KernelModel:
    """Two models that differ in everything: coefficients, vectors, scaling."""
    k = {"old": 1.0, "new": 2.0}[name]
    f = KernelExpansion(RBF(0.5 * k), np.array([[k, 0.5], [0.25, -k]]), np.array([[k], [-1.0]]), np.array([0.1 * k]))
    scaling = Scaling(np.array([k, -k]), np.array([0.5 * k, 2.0])) if scaled else None
    return KernelModel(f, Sign(np.array([-1, 1])), scaling=scaling)


ROWS = np.array([[0.3, -0.2], [1.5, 2.0]])


def read_model(path: Path, scaled: dict[str, bool]) -> str:
    """Which of the models a file holds; anything else is an error."""
    if not path.exists():
        return NOTHING
    values = load(path).decision_values(ROWS)
    for name in ("old", "new"):
        if np.array_equal(values, model(name, scaled=scaled[name]).decision_values(ROWS)):
            return name
    raise AssertionError("neither the old nor the new model")


@dataclass
class Save:
    """A kind of save: what is there before, what writes, and what is there afterwards."""

    before: Callable[[Path], Any]
    write: Callable[[Path], Any]
    read: Callable[[Path], str]


def of_model(file: str, old: bool | None, new: bool) -> Save:
    """A model over an old one (None: over nothing), each scaled or not."""
    scaled = {"old": bool(old), "new": new}

    def before(folder: Path) -> None:
        if old is not None:
            save(model("old", scaled=old), folder / file)

    return Save(before, lambda f: save(model("new", scaled=new), f / file), lambda f: read_model(f / file, scaled))


def foreign(folder: Path) -> None:
    """A model and a range file of LibSVM's own programs, which know nothing of digests."""
    save(model("old"), folder / "m.model")
    for file in (folder / "m.model", folder / "m.model.range"):
        kept = [line for line in file.read_text().splitlines(keepends=True) if not line.startswith("#")]
        file.write_text("".join(kept))


def labels(folder: Path) -> str:
    text = (folder / "labels.txt").read_text()
    return {"old\n": "old", "1\n" * 50: "new"}[text]


def predict(folder: Path) -> None:
    code = main(["predict", str(folder.parent / "p.svmpress"), str(folder.parent / "rows.svm"), "-q", "-o",
                 str(folder / "labels.txt")])  # fmt: skip
    if code:
        raise InputError(f"exit code {code}")


def write_folder(text: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        with replacing_folder(folder / "out", ["a", "b"]) as fresh:
            for name in ("a", "b"):
                (fresh / name).write_text(text)

    return write


def read_folder(folder: Path) -> str:
    (text,) = {(folder / "out" / name).read_text() for name in ("a", "b")}
    return text


def search_records(folder: Path) -> None:
    from svmpress.tuning import Records

    with Records.kept(folder / "search.jsonl", {"data": "x"}) as records:
        for number in range(2):
            records.append(trial(number))


def trial(number: int) -> Any:
    from svmpress.tuning.records import Point, Trial

    return Trial(number, "trial", {"C": 1.0}, 10, Point(5, 1, 0.5), (), 0.5)


def read_search(folder: Path) -> str:
    """Records go on where they ended: some whole trials and maybe a cut line, or no file at all."""
    from svmpress.tuning import Records

    path = folder / "search.jsonl"
    if not path.exists():
        return "old"
    if b"\n" not in path.read_bytes():  # the process was killed in the header, which the next search writes again
        with Records.kept(path, {"data": "x"}):
            return "old"
    with Records.kept(path, {"data": "x"}) as records:
        assert records.trials == [trial(n) for n in range(len(records.trials))]
        return "new" if len(records.trials) == 2 else "old"


SAVES = {
    "native": of_model("m.svmpress", True, True),
    "native, first": of_model("m.svmpress", None, True),
    "libsvm": of_model("m.model", False, False),
    "libsvm, scaled": of_model("m.model", True, True),
    "libsvm, scaled, first": of_model("m.model", None, True),
    "libsvm, no longer scaled": of_model("m.model", True, False),
    "libsvm, scaled now": of_model("m.model", False, True),
    "libsvm, over LibSVM's own": replace(of_model("m.model", True, True), before=foreign),
    "predictions": Save(lambda f: (f / "labels.txt").write_text("old\n"), predict, labels),
    "folder": Save(write_folder("old"), write_folder("new"), read_folder),
    "search": Save(lambda f: None, search_records, read_search),
}  # fmt: skip


def disturb(layer: Any, home: Path, name: str, fault: int, call: int) -> str | None:
    """Save with one fault; return what is wrong afterwards, or None."""
    what = SAVES[name]
    folder = home / "here"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    what.before(folder)
    old = what.read(folder) if name != "search" else "old"
    error, killed = None, False
    if FAULTS[fault] == "kill":
        child = os.fork()
        if child == 0:
            layer.faults_arm(str(folder).encode(), call, fault)
            what.write(folder)
            os._exit(0)
        killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
    else:
        layer.faults_arm(str(folder).encode(), call, fault)
        try:
            what.write(folder)
        except InputError as e:
            error = e
        finally:
            layer.faults_disarm()
    now = what.read(folder)
    either = killed or name == "search"  # a record that may not have reached the disk is there, and whole
    wanted = {old, "new"} if either else {old} if error else {"new"}
    if now not in wanted:
        return f"{now} after {error or 'no error'}"
    litter = [p.name for p in folder.iterdir() if p.name.startswith(".")]
    litter += [p.name for p in folder.glob("*~") if error]  # without an error, its removal is what failed
    if litter and not killed and name != "folder":
        return f"left {litter} after {error or 'no error'}"
    return None


def count(layer: Any, home: Path, name: str) -> int:
    """How many calls a save makes."""
    folder = home / "here"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    SAVES[name].before(folder)
    layer.faults_arm(str(folder).encode(), 0, 0)
    SAVES[name].write(folder)
    return int(layer.faults_disarm())


def run() -> None:
    """Disturb every save at every call."""
    layer = ctypes.CDLL(os.environ["LD_PRELOAD"])
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    home = Path(tempfile.mkdtemp(dir=sys.argv[1]))
    f = KernelExpansion(RBF(0.5), np.array([[1.0, 0.5]]), np.array([[1.0]]), np.array([0.1]))
    save(KernelModel(f, Sign(np.array([-1, 1]))), home / "p.svmpress")
    (home / "rows.svm").write_text("1 1:1 2:0.5\n" * 50)
    out = sys.stdout
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    tried, wrong = {}, []
    for name in SAVES:
        tried[name] = 0
        calls = count(layer, home, name)
        for fault in range(len(FAULTS)):
            for call in range(1, calls + 1):
                tried[name] += 1
                try:
                    problem = disturb(layer, home, name, fault, call)
                except Exception as e:
                    problem = f"{type(e).__name__}: {e}"
                if problem:
                    wrong.append([name, FAULTS[fault], call, problem])
    out.write(json.dumps({"tried": tried, "wrong": wrong}))


if __name__ == "__main__":
    run()
