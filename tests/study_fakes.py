"""Methods for tests of the study's runner: they cost nothing, and misbehave in every way that real ones might.

Worker processes import this module to unpickle them.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from svmpress.errors import MissingExtraError
from svmpress.study import METHODS, Records
from svmpress.study.records import Cell, RunRecord, SetRecord
from svmpress.study.task import Built, NotApplicable, Task


@dataclass(frozen=True)
class Fake:
    """Answers as the teacher does, with the first ``size`` answers wrong the other way round; counts its calls."""

    name: str = "fake"
    label: str = "Fake"
    grows: bool = True
    seeded: bool = True
    log: str = ""

    def build(self, task: Task, sizes: Sequence[int], seed: int) -> Iterator[Built]:
        for size in sizes:
            if self.log:
                with Path(self.log).open("a") as file:
                    file.write(f"{task.name} {self.name} {seed} {size} {os.environ['OMP_NUM_THREADS']}\n")
            yield self.model(task, size, seed)

    def model(self, task: Task, size: int, seed: int) -> Built:
        wrong = max(0, 8 - size // 4 + seed)

        def predict(X):
            answers = np.array(task.teacher.predict(X))
            answers[:wrong] = -answers[:wrong]
            return answers

        return Built(size, size, size * task.X.shape[1], 100 * size, 0.5 * size, predict, notes="of no use")


@dataclass(frozen=True)
class Slow(Fake):
    """Sleeps for a minute before any size above 10."""

    def build(self, task, sizes, seed):
        for built in super().build(task, sizes, seed):
            if built.size > 10:
                time.sleep(60)
            yield built


@dataclass(frozen=True)
class Breaks(Fake):
    """Raises an error, or ends its process, at any size above 10."""

    how: str = "raise"

    def build(self, task, sizes, seed):
        for built in super().build(task, sizes, seed):
            if built.size > 10:
                if self.how == "die":
                    os._exit(7)
                raise ZeroDivisionError("no such number")
            yield built


@dataclass(frozen=True)
class CannotDo(Fake):
    """Cannot do any set."""

    def build(self, task, sizes, seed):
        raise NotApplicable("needs three classes")
        yield


@dataclass(frozen=True)
class Lacks(Fake):
    """Needs a module that is not installed."""

    module: str = "no_such_module"

    def build(self, task, sizes, seed):
        try:
            importlib.import_module(self.module)
        except ImportError as e:
            raise MissingExtraError("this method", "no-such-package", "study") from e
        yield from super().build(task, sizes, seed)


def two_moons(folder: Path, name: str = "moons", n: int = 120) -> Path:
    """Write a small data set as an NPZ file and return its folder."""
    from sklearn.datasets import make_moons

    X, y = make_moons(2 * n, noise=0.3, random_state=0)
    y = 2 * y - 1
    np.savez(folder / f"{name}.npz", X_train=X[:n], y_train=y[:n], X_test=X[n:], y_test=y[n:])
    return folder


CURVES = {
    # what is lost at the smallest and at the largest size, in accuracy
    "lars-svm": (0.5, 0.2),
    "cvm": (0.3, 0.02),
    "lars-svm-per-machine": (0.4, 0.1),
    "cvm-per-machine": (0.1, 0.0),
    "auto": (0.02, 0.0),
    "auto-libsvm": (0.05, 0.0),
    "reduced-svm": (0.15, 0.01),
    "reduced-svm-shared": (0.12, 0.01),
    "reduced-set": (0.2, 0.02),
    "random": (0.25, 0.03),
    "k-means": (0.15, 0.02),
    "subsample-svc": (0.3, 0.05),
    "nystroem": (0.2, -0.01),
    "fourier": (0.2, 0.01),
    "mlp": (0.1, 0.005),
    "boosting": (0.05, 0.01),
    "boosting-bytes": (0.15, 0.02),
    "dlib": (0.1, 0.02),
    "dlib-pair": (0.05, 0.0),
}


def made_up_records(seeds: int = 3) -> Records:
    """Return the records of a study that nobody ran, with every method and status on six sets."""
    rng = np.random.default_rng(0)
    shapes = {
        "pageblocks": (419, 10, 2, 0.97), "magic": (4652, 10, 2, 0.87), "letters": (7595, 16, 26, 0.977),
        "20news": (8454, 200, 20, 0.776), "mnist": (13375, 784, 10, 0.985), "ohsumed": (3268, 12173, 23, 0.639),
    }  # fmt: skip
    records: list[RunRecord | SetRecord | Cell] = [
        RunRecord("2026-01-02T03:04:05+00:00", "0.1.0", "3.13.0", "2.3.0", "1.7.0", 16, 16, 1, "NumPy")
    ]
    for name, (vectors, d, classes, accuracy) in shapes.items():
        records.append(SetRecord(name, 10 * vectors, vectors, d, classes, vectors, 10, 0.3, accuracy, 12.5))
        outputs = classes * (classes - 1) // 2
        full = (accuracy, 1.0, vectors, vectors * (d + outputs), vectors * d * 8, 12.5, vectors * d * 1e-7, 1, "0.1.0")
        used = vectors * (classes - 1)
        records.append(Cell(name, "full", 0, vectors, "done", *full, machine_vectors=used))
        sizes = [round(vectors * r) for r in (0.01, 0.02, 0.05, 0.1, 0.2)]
        for method, (few, many) in CURVES.items():
            for seed in range(seeds if METHODS[method].seeded else 1):
                for i, m in enumerate(sizes):
                    key = (name, method, seed, m)
                    if method.startswith("dlib") and classes > 2:
                        records.append(Cell(*key, "skipped", version="0.1.0", notes="dlib reduces binary models only"))
                    elif method.endswith("per-machine") and classes == 2:
                        records.append(Cell(*key, "skipped", version="0.1.0", notes="one machine"))
                    elif method == "cvm" and name == "mnist" and i == 4:
                        records.append(Cell(*key, "unfinished", version="0.1.0", limit=60, notes="not within 60 s"))
                    else:
                        lost = few + (many - few) * i / 4 + 0.003 * rng.standard_normal()
                        k = m * (classes - 1) if method.endswith("per-machine") else m
                        cost = (k, k * (d + outputs), k * d * 8, 0.1 * k, k * d * 1e-7 + 1e-4, 1, "0.1.0")
                        cell = Cell(*key, "done", accuracy - lost, 1 - abs(lost), *cost, machine_vectors=k)
                        records.append(cell)
    return Records.of(records)
