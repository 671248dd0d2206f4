"""Where to start from: what it costs to select vectors in four ways, and what is left of it after refinement.

    python benchmarks/selection.py --data DIR                         everything; appends records, writes the page
    python benchmarks/selection.py --data DIR --part starts --sets magic --ratios 0.01 --seeds 0
    python benchmarks/selection.py --table                            write the page from the committed records

    python benchmarks/selection.py --data DIR --part scaling --threads 1 16 --device cuda --m 500

*Cost*: the problem of equation 9, n_sv vectors with labels, all candidates (Letter, two halves of the alphabet).
*Starts*: the six sets and a regression, each start refined by variable projection from the same sample of rows.
*Scaling*: LARS and the elastic net on the problem of *cost*, with all of the kernel matrix in memory, by threads and on
a device; only where it is asked for, since it wants a quiet machine.

Each cell runs in a process of its own, so that its peak memory is its own, and appends one record to
``benchmarks/results/selection.jsonl``; cells that have a record are not run again unless ``--again``. Seconds are those
of the processor, with the threads that ``OMP_NUM_THREADS`` allows: other work on the machine changes them little. Test
rows are used for the reported score and for nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import journal
import svmpress
from selection_report import METHODS, REFINED, page
from sets import PARAMETERS, SETS, load, score, teacher
from svmpress.kernels import RBF, Kernel
from svmpress.methods import FitTask, Problem, Recipe, Target, Work
from svmpress.model import KernelExpansion
from svmpress.numerics import Backend, Rows, arrays
from svmpress.objectives import sides_of
from svmpress.select import SelectionPath, elastic_net_rows, kmeans_centres, lars_rows, reduced_svm
from svmpress.select.columns import GramColumns
from svmpress.select.elastic_net import ElasticNet
from svmpress.select.lars import lars_path
from svmpress.study.worker import revision

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "benchmarks" / "results" / "selection.jsonl"
PAGE = ROOT / "docs" / "selection.md"
CACHE = ROOT / ".cache" / "teachers"
N_SV = (1000, 5000, 10_000, 20_000)
SIZES = (20, 100, 500)
PATHS = ("LARS", "elastic net")
AMPLE = 16 * 2**30
"""Memory that holds the largest kernel matrix, with room to spare."""
RATIOS = (0.01, 0.05)
ROWS = 4000
"""Training rows that a start is selected from and refined on."""


@contextmanager
def stopwatch(record: dict[str, Any], name: str) -> Iterator[None]:
    """Add the seconds of the processor and of the clock that the block takes."""
    cpu, wall = time.process_time(), time.perf_counter()
    yield
    record[name] = round(time.process_time() - cpu, 4)
    record[f"{name}_wall"] = round(time.perf_counter() - wall, 4)


# ---------------------------------------------------------------------------------------------------------
# Cost: equation 9
# ---------------------------------------------------------------------------------------------------------


def _equation_9(folder: Path, n_sv: int) -> tuple[Kernel, np.ndarray, np.ndarray]:
    """Return kernel, vectors and labels."""
    split = load(folder, "letters")
    S, letters = np.concatenate([split.X, split.X_test]), np.concatenate([split.y, split.y_test])
    some = np.random.default_rng(0).permutation(len(S))[:n_sv]
    return RBF(PARAMETERS["letters"]["gamma"]), S[some], np.where(letters[some] < 13, -1.0, 1.0)


def cost_cell(folder: Path, method: str, n_sv: int, m: int) -> dict[str, Any]:
    """Select m of n_sv vectors once and return the record."""
    kernel, S, y = _equation_9(folder, n_sv)
    record: dict[str, Any] = {"part": "cost", "method": method, "n_sv": n_sv, "m": m}
    with stopwatch(record, "seconds"):
        V, status = _selected(kernel, S, y, m, method)
    record |= {"vectors": len(V), "status": status, "error": _equation_7(kernel, S, y, V) / n_sv}
    return record


def _selected(kernel: Kernel, S: np.ndarray, y: np.ndarray, m: int, method: str) -> tuple[np.ndarray, str]:
    if method == "k-means":
        return kmeans_centres(S, m, seed=0), ""
    if method == "Reduced-SVM":
        return S[next(reduced_svm(kernel, S, y, [m], PARAMETERS["letters"]["C"])).indices], ""
    path = _path(kernel, S, y, m, method, Backend.of("cpu"), 2**30)
    return S[path.order], path.status.name


def _path(
    kernel: Kernel, S: np.ndarray, y: np.ndarray, m: int, method: str, backend: Backend, max_bytes: int
) -> SelectionPath:
    gram = GramColumns(kernel, S, S, ridge=1.0, max_bytes=max_bytes, backend=backend)
    C, total = gram.correlations(y[:, None]), float(len(y))
    find = lars_path if method == "LARS" else ElasticNet(backend=backend).path
    return find(gram, C, m, total=total)


def scaling_cell(folder: Path, method: str, n_sv: int, m: int, device: str, _: int) -> dict[str, Any]:
    """Select m of n_sv vectors on a device once it is warm, and return the record; threads are the process's."""
    kernel, S, y = _equation_9(folder, n_sv)
    backend = Backend.of(device)
    _path(kernel, S[:1000], y[:1000], 10, method, backend, AMPLE)
    record: dict[str, Any] = {"part": "scaling", "method": method, "n_sv": n_sv, "m": m, "device": device}
    with stopwatch(record, "seconds"):
        path = _path(kernel, S, y, m, method, backend, AMPLE)
    return record | {"vectors": len(path.order), "status": path.status.name}


def _equation_7(kernel: Kernel, S: np.ndarray, y: np.ndarray, V: np.ndarray) -> float:
    """Return the least of equation 7 (intercept 0) on vectors V."""
    K = kernel.gram(S, V)
    N = K.T @ K + kernel.gram(V, V)
    return float(y @ y - (K.T @ y) @ arrays.solve_positive(N, (K.T @ y)[:, None])[:, 0])


# ---------------------------------------------------------------------------------------------------------
# Starts: what is left after refinement
# ---------------------------------------------------------------------------------------------------------


def start_cell(folder: Path, method: str, name: str, ratio: float, seed: int) -> dict[str, Any]:
    """Refine one start and return the record."""
    split = load(folder, name)
    big = teacher(folder, CACHE, name, split)
    m = max(2, round(ratio * big.model.n_vectors))
    problem = Problem(
        source=big.model,
        rows=split.X,
        y=_positions(big.model, split.y),
        layout="shared",
        backend=Backend.of("cpu"),
        seed=seed,
        max_bytes=2**30,
        progress=lambda stage, done, total: None,
    )
    rows = np.sort(np.random.default_rng(seed).permutation(split.X.shape[0])[:ROWS])
    task = FitTask(problem, m, Work(0.0)).of(rows)
    record: dict[str, Any] = {"part": "starts", "method": method, "set": name, "ratio": ratio, "seed": seed, "m": m}
    with stopwatch(record, "seconds"):
        V = _start(task, method, seed, PARAMETERS[name]["C"])
    record |= {"vectors": len(V), "score_full": big.score, "scores": {}, "errors": {}}
    kernel, done = big.model.kernel, 0
    with stopwatch(record, "refine_seconds"):
        for steps in REFINED:
            fit = task.project(Recipe(), V, kernel, steps - done, "refine")
            V, done = fit.vectors, steps
            small = KernelExpansion(fit.kernel, fit.vectors, fit.coef, fit.intercept)
            answers = big.model.decoder.labels(small.decision_values(split.X_test))
            record["scores"][str(steps)] = score(split.y_test, answers)
            record["errors"][str(steps)] = fit.value
    return record


def _positions(model: svmpress.KernelModel, y: np.ndarray) -> np.ndarray | None:
    if model.classes_ is None:
        return None
    return np.searchsorted(model.classes_, y)


def _start(task: FitTask, method: str, seed: int, C: float) -> np.ndarray:
    kernel, view, m = task.problem.source.kernel, task.view(Target.SOURCE), task.m
    starts: dict[str, Callable[[], np.ndarray]] = {
        "random": lambda: _rows(view.X, np.random.default_rng(seed).permutation(view.n)[:m]),
        "k-means": lambda: kmeans_centres(view.X, m, seed),
        "LARS": lambda: lars_rows(kernel, view.X, view.targets, m, seed=seed)[0],
        "elastic net": lambda: elastic_net_rows(kernel, view.X, view.targets, m, seed=seed)[0],
        "Reduced-SVM": lambda: _rows(
            view.X, next(reduced_svm(kernel, view.X, _sides(task), [m], C, seed=seed)).indices
        ),
    }
    return starts[method]()


def _sides(task: FitTask) -> np.ndarray:
    view = task.view(Target.SOURCE)
    return sides_of(view.known, task.n_classes, view.pairwise)


def _rows(X: Rows, which: np.ndarray) -> np.ndarray:
    return np.asarray(arrays.dense(arrays.take(X, which)))


# ---------------------------------------------------------------------------------------------------------
# Running
# ---------------------------------------------------------------------------------------------------------

Key = tuple[Any, ...]


def cells(args: argparse.Namespace) -> list[Key]:
    """Return what to run: (part, method, ...) in the order of the cells' arguments."""
    wanted: list[Key] = []
    if "starts" in args.part:
        wanted += [
            ("starts", method, name, ratio, seed)
            for ratio in args.ratios
            for name in args.sets
            for seed in args.seeds
            for method in args.methods
            if method != "Reduced-SVM" or name != "california"  # it is trained on classes
        ]
    if "cost" in args.part:
        wanted += [("cost", way, n, m) for n in args.n_sv for m in args.m for way in args.methods if way != "random"]
    if "scaling" in args.part:
        places = [("cpu", threads) for threads in args.threads] + ([] if args.device == "cpu" else [(args.device, 1)])
        ways = [way for way in PATHS if way in args.methods]
        wanted += [
            ("scaling", way, n, m, *place) for n in args.n_sv for m in args.m for way in ways for place in places
        ]
    return wanted


def key_of(record: dict[str, Any]) -> Key:
    """Return the cell of a record."""
    if record["part"] == "cost":
        return ("cost", record["method"], record["n_sv"], record["m"])
    if record["part"] == "scaling":
        return ("scaling", *(record[k] for k in ("method", "n_sv", "m", "device", "threads")))
    return ("starts", record["method"], record["set"], record["ratio"], record["seed"])


def run_cell(args: argparse.Namespace, key: Key) -> dict[str, Any] | None:
    command = [sys.executable, __file__, "--data", str(args.data), "--one", json.dumps(key)]
    threads = {"OMP_NUM_THREADS": str(key[-1])} if key[0] == "scaling" else {}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **threads}, check=False)
    if done.returncode:
        print(f"{key} failed", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def one(folder: Path, key: Key) -> dict[str, Any]:
    """Run a cell here."""
    part, *rest = key
    cells: dict[str, Callable[..., dict[str, Any]]] = {
        "cost": cost_cell,
        "starts": start_cell,
        "scaling": scaling_cell,
    }
    return cells[part](folder, *rest) | {
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "threads": int(os.environ.get("OMP_NUM_THREADS", "0")) or os.cpu_count(),
        "version": svmpress.__version__,
        "code": revision() or "unknown",
    }


def records(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file, the last one of each cell."""
    return list({key_of(r): r for r in journal.read(path)}.values())


def measure(args: argparse.Namespace) -> None:
    have = set() if args.again else {key_of(r) for r in records(RECORDS)}
    for key in tqdm([key for key in cells(args) if key not in have], unit="cell", file=sys.stderr):
        record = run_cell(args, key)
        if record is not None:
            journal.append(RECORDS, record)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the NPZ files")
    parser.add_argument("--part", nargs="+", choices=("cost", "starts", "scaling"), default=["cost", "starts"])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--n-sv", nargs="+", type=int, default=list(N_SV))
    parser.add_argument("--m", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--ratios", nargs="+", type=float, default=list(RATIOS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, os.cpu_count() or 1], help="for scaling")
    parser.add_argument("--device", default="cpu", help="for scaling: a device of torch, such as cuda, beside the CPU")
    parser.add_argument("--again", action="store_true", help="run cells that have a record, too")
    parser.add_argument("--table", action="store_true", help="write the page from the records")
    parser.add_argument("--one", type=json.loads, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(one(args.data, tuple(args.one))))
        return
    if not args.table:
        if args.data is None:
            parser.error("--data names the folder with the NPZ files")
        measure(args)
    PAGE.write_text(page(records(RECORDS)))


if __name__ == "__main__":
    main()
