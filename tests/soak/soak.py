"""Threads, forks and spawned processes on the same models for minutes: ``make soak MINUTES=30``.

Eight threads predict, save, load, read and pickle with shared models, and now and then a process is forked or spawned
beside them. Every answer must be the one of the beginning, and memory must not grow once everything was done once.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import pickle
import resource
import sys
import tempfile
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from svmpress import data
from svmpress.decoders import Argmax, PairVote, Sign
from svmpress.formats import load, save
from svmpress.kernels import RBF, Laplacian, Polynomial
from svmpress.model import KernelExpansion, KernelModel, Scaling

THREADS = 8
GROWTH = 1.05
"""How much more memory than after the first quarter may be in use at the end."""
SLACK = 8 * 2**20


def models() -> list[KernelModel]:
    """Models of several kernels, decoders and precisions."""
    rng = np.random.default_rng(0)

    def expansion(kernel: Any, n_outputs: int, *, csr: bool = False) -> KernelExpansion:
        V = rng.normal(size=(60, 12)) * (rng.random((60, 12)) < 0.5)
        V = sparse.csr_array(V) if csr else V
        return KernelExpansion(kernel, V, rng.normal(size=(60, n_outputs)), rng.normal(size=n_outputs))

    scaling = Scaling(rng.normal(size=12), np.abs(rng.normal(size=12)) + 0.1)
    return [
        KernelModel(expansion(RBF(0.1), 1), Sign(np.array([-1, 1])), scaling=scaling),
        KernelModel(expansion(Polynomial(0.1, 1.0, 3), 5), Argmax(np.arange(5))),
        KernelModel(expansion(RBF(0.2), 28, csr=True), PairVote(np.arange(8))),
        KernelModel(expansion(Laplacian(0.1), 1), Sign(np.array([-1, 1]))).astype("float32"),
    ]


def answers(model: KernelModel, X: Any) -> tuple[Any, Any]:
    """Values and labels of rows."""
    return model.decision_values(X), model.predict(X)


def agree(one: Any, other: Any) -> bool:
    """Whether two answers are the same, bit by bit."""
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def in_process(arguments: tuple[bytes, Any]) -> Any:
    """Answer in another process."""
    model, X = arguments
    return answers(pickle.loads(model), X)


class Soak:
    """Shared models and what they answered in the beginning."""

    def __init__(self, folder: Path, until: float) -> None:
        self.folder, self.until = folder, until
        rng = np.random.default_rng(1)
        self.models = models()
        self.rows = [rng.normal(size=(n, 12)) for n in (1, 7, 200)]
        self.expected = [[answers(m, X) for X in self.rows] for m in self.models]
        np.savez(folder / "rows.npz", X=self.rows[-1])
        self.calls, self.wrong, self.lock = 0, [], threading.Lock()

    def one(self, thread: int, number: int) -> None:
        """One round of a thread: predict, save, load, read and pickle."""
        rng = np.random.default_rng([thread, number])
        i, j = int(rng.integers(len(self.models))), int(rng.integers(len(self.rows)))
        model, X, expected = self.models[i], self.rows[j], self.expected[i][j]
        found = {"shared": answers(model, X), "threads": answers_on(model, X, 2)}
        if number % 10 == 0:
            path = self.folder / f"{thread}.svmpress"
            save(model, path)
            found["saved"] = answers(load(path), X)
            shared = self.folder / "all.svmpress"  # all threads write the same to it
            save(self.models[0], shared)
            if not agree(answers(load(shared), self.rows[j]), self.expected[0][j]):
                self.wrong.append("a file that all write to")
            found["pickled"] = answers(pickle.loads(pickle.dumps(model)), X)
            if not np.array_equal(data.read(self.folder / "rows.npz", labels=False).X, self.rows[-1]):
                self.wrong.append("rows")
        for kind, got in found.items():
            if not agree(got, expected):
                self.wrong.append(f"{kind}: model {i}, rows {j}")
        with self.lock:
            self.calls += len(found)

    def thread(self, number: int) -> None:
        """Rounds until the time is up."""
        round_ = 0
        while time.monotonic() < self.until:
            self.one(number, round_)
            round_ += 1

    def processes(self, method: str) -> None:
        """The same answers in forked or spawned processes, while the threads go on."""
        context = multiprocessing.get_context(method)
        with context.Pool(2) as pool:
            work = [(pickle.dumps(m), X) for m in self.models for X in self.rows]
            expected = [each for of_model in self.expected for each in of_model]
            for got, wanted in zip(pool.map_async(in_process, work).get(timeout=60), expected, strict=True):
                if not agree(got, wanted):
                    self.wrong.append(f"{method}ed process")


def answers_on(model: KernelModel, X: Any, n_threads: int) -> tuple[Any, Any]:
    """Values and labels of rows, on several threads of the extension."""
    return model.decision_values(X, n_threads=n_threads), model.predict(X, n_threads=n_threads)


def used() -> int:
    """Bytes of memory that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def main() -> int:
    """Soak for some minutes and print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    args = parser.parse_args()
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(THREADS) as pool:
        soak = Soak(Path(name), begun + 60 * args.minutes)
        running = [pool.submit(soak.thread, k) for k in range(THREADS)]
        memory, started = [], 0
        while time.monotonic() < soak.until:
            time.sleep(min(1.0, 6 * args.minutes))
            memory.append(used())
            if started < 20 * (time.monotonic() - begun) / (60 * args.minutes):
                soak.processes(("fork", "spawn")[started % 2])
                started += 1
        for each in running:
            each.result()
    early, late = max(memory[: max(1, len(memory) // 4)]), memory[-1]
    kind = "free-threaded" if not getattr(sys, "_is_gil_enabled", lambda: True)() else "with the GIL"
    print(f"Python {sys.version.split()[0]} {kind}, {THREADS} threads on {os.cpu_count()} cores")
    print(f"{soak.calls:,} answers in {time.monotonic() - begun:.0f} s, {started} pools of processes, "
          f"{len(soak.wrong)} answers differ")  # fmt: skip
    print(f"memory: {early / 2**20:.1f} MiB after a quarter, {late / 2**20:.1f} MiB at the end")
    for wrong in sorted(set(soak.wrong)):
        print(f"differs: {wrong}")
    return 1 if soak.wrong or late > GROWTH * early + SLACK else 0


if __name__ == "__main__":
    sys.exit(main())
