"""How fast predictions are: svmpress beside scikit-learn, scikit-learn-intelex, onnxruntime and a bare matrix product.

    python benchmarks/predict.py --data DIR            measure, append records, print the table, write docs/speed.md
    python benchmarks/predict.py --table               print the table of the last run again
    python benchmarks/predict.py --data DIR --sets magic --rounds 2        a quick look

``DIR`` holds ``magic.npz``, ``letters.npz`` and ``mnist.npz`` with ``X_train``, ``y_train``, ``X_test`` and ``y_test``.
The teachers are RBF SVMs of scikit-learn. Training and compressing take minutes, so both kinds of models are kept in
``.cache/``; ``--fresh`` makes them anew.

All contenders predict the same test rows in one process, in turn, round after round, and the best of all rounds
counts: a figure is a ratio of two such times of one run. Contenders that take long get the first rows only; times are
per row. Where there is a choice of precision both are measured and the faster counts, for everybody. Labels are
compared with those of ``SVC.predict``. scikit-learn-intelex fits the same SVM on the teacher's support
vectors, which has the same solution. A package that is not installed is named and left out.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import svmpress
from predict_report import page, table
from sets import estimator, load
from svmpress import RBF, KernelExpansion, KernelModel, Sign, predictor

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "benchmarks" / "results" / "predict.jsonl"
PAGE = ROOT / "docs" / "speed.md"
CACHE = ROOT / ".cache" / "predict"


@dataclass(frozen=True)
class Task:
    """A data set, its teacher, and how small the compressed model is."""

    ratio: float
    """A share of the accuracy benchmark that loses at most half a point."""
    slow_rows: int
    """Rows for contenders that need more than a tenth of a millisecond each."""


TASKS = {
    "magic": Task(ratio=0.01, slow_rows=3804),
    "letters": Task(ratio=0.06, slow_rows=1000),
    "mnist": Task(ratio=0.01, slow_rows=150),
}

Contender = tuple[str, Callable[[Any], Any], Any]
"""A name, a function of rows that returns labels (or anything), and its rows."""


# ---------------------------------------------------------------------------------------------------------
# Measuring
# ---------------------------------------------------------------------------------------------------------


def best_of_rounds(contenders: Iterable[Contender], rounds: int, least: float = 0.05) -> dict[str, tuple[float, Any]]:
    """Return for each contender its best time of one call in seconds and what it returned.

    Each round calls every contender in turn, often enough to fill ``least`` seconds; a first call warms up.
    """
    contenders = list(contenders)
    best: dict[str, tuple[float, Any]] = {}
    calls = {}
    for name, call, rows in contenders:
        start = time.perf_counter()
        answer = call(rows)
        calls[name] = max(1, min(1000, int(least / max(time.perf_counter() - start, 1e-7))))
        best[name] = (np.inf, answer)
    for _ in range(rounds):
        for name, call, rows in contenders:
            for _ in range(calls[name]):
                start = time.perf_counter()
                call(rows)
                seconds = time.perf_counter() - start
                best[name] = (min(best[name][0], seconds), best[name][1])
    return best


def teacher(name: str, X: NDArray[Any], y: NDArray[Any]) -> SVC:
    """Return the fitted SVC, from the cache if it is there."""
    path = CACHE / f"{name}.joblib"
    if not path.exists():
        print(f"training the teacher for {name} ...", flush=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        joblib.dump(estimator(name).fit(X, y), path)
    return joblib.load(path)


def compressed(name: str, svc: SVC, X: NDArray[Any], y: NDArray[Any]) -> KernelModel:
    """Return the small model, from the cache if it is there."""
    ratio = TASKS[name].ratio
    path = CACHE / f"{name}-{ratio:g}.svmpress"
    if not path.exists():
        print(f"compressing the teacher for {name} to {ratio:.1%} ...", flush=True)
        svmpress.save(svmpress.compress(svc, X, y, ratio=ratio).model, path)
    return svmpress.load(path)


# ---------------------------------------------------------------------------------------------------------
# Peers
# ---------------------------------------------------------------------------------------------------------


def intelex(svc: SVC, X: NDArray[Any], y: NDArray[Any], dtype: str) -> Callable[[Any], Any]:
    """Return ``predict`` of scikit-learn-intelex for the same SVM."""
    from sklearnex import svm

    chosen = svc.support_
    fitted = svm.SVC(C=svc.C, gamma=svc.gamma, kernel="rbf").fit(X[chosen].astype(dtype), y[chosen])
    return fitted.predict


def onnx(svc: SVC, threads: int) -> Callable[[Any], Any]:
    """Return ``predict`` of onnxruntime for the model as skl2onnx converts it."""
    import onnxruntime
    from skl2onnx import to_onnx

    row = np.zeros((1, svc.n_features_in_), dtype=np.float32)
    graph = to_onnx(svc, row, options={"zipmap": False})
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda rows: session.run(["label"], {name: rows})[0]


def peers(name: str, svc: SVC, data: tuple[NDArray[Any], ...], threads: int) -> tuple[list[Contender], list[str]]:
    """Return those that are installed, with their rows, and the names of those that are not."""
    X, y, T, _ = data
    few = TASKS[name].slow_rows
    found: list[Contender] = [("SVC.predict", svc.predict, T[:few])]
    missing = []
    try:
        for dtype in ("float64", "float32"):
            rows = T[: few * 20].astype(dtype)
            found.append((f"scikit-learn-intelex {dtype}", intelex(svc, X, y, dtype), rows))
    except ImportError:
        missing.append("scikit-learn-intelex")
    try:
        found.append(("onnxruntime float32", onnx(svc, threads), T[:few].astype(np.float32)))
    except ImportError:
        missing.append("onnxruntime or skl2onnx")
    return found, missing


# ---------------------------------------------------------------------------------------------------------
# The three parts of a run; each yields records without what all records of a run share
# ---------------------------------------------------------------------------------------------------------


def numpy_blocks(X: NDArray[Any], V: NDArray[Any], a: NDArray[Any], gamma: float, size: int) -> NDArray[Any]:
    """The plain way in NumPy, in blocks of ``size`` rows, with everything in place that can be."""
    norms = (V * V).sum(axis=1)
    parts = []
    for start in range(0, len(X), size):
        x = X[start : start + size]
        D = x @ V.T
        D *= -2
        D += (x * x).sum(axis=1)[:, None]
        D += norms
        np.maximum(D, 0, out=D)
        D *= -gamma
        np.exp(D, out=D)
        parts.append(D @ a)
    return np.concatenate(parts)


def random_model(m: int, d: int, dtype: str) -> KernelModel:
    """Return a binary RBF model with random vectors."""
    rng = np.random.default_rng(0)
    V, A = rng.standard_normal((m, d)).astype(dtype), rng.standard_normal((m, 1)).astype(dtype)
    return KernelModel(KernelExpansion(RBF(0.5 / d), V, A, np.zeros(1, dtype)), Sign(np.array([-1, 1])))


def kernel_value(d: int, m: int, rounds: int) -> Iterable[dict[str, Any]]:
    """One kernel value at few features, in float32, on one thread."""
    e, X = random_model(m, d, "float32").expansion, np.random.default_rng(1).standard_normal((4096, d)).astype("f4")
    V, a, gamma = e.vectors, e.coef[:, 0], e.kernel.params["gamma"]
    contenders: list[Contender] = [("svmpress", lambda X: e.decision_values(X, n_threads=1), X)]
    contenders += [
        (f"NumPy {size}", lambda X, size=size: numpy_blocks(X, V, a, gamma, size), X)
        for size in (16, 32, 64, 128, 256, 1024)
    ]
    with threadpool_limits(1):
        times = best_of_rounds(contenders, rounds)
    mine = times.pop("svmpress")[0]
    for who, seconds in (("svmpress", mine), ("NumPy in blocks", min(t for t, _ in times.values()))):
        yield {"part": "kernel value", "d": d, "m": m, "who": who, "seconds": seconds / len(X) / m, "threads": 1}


def matrix_product(rounds: int, threads: int) -> Iterable[dict[str, Any]]:
    """A whole prediction in float32 against its bare matrix product."""
    e = random_model(500, 784, "float32").expansion
    X, V = np.random.default_rng(1).standard_normal((10_000, 784)).astype("f4"), e.vectors.T
    contenders: list[Contender] = [("svmpress", lambda X: e.decision_values(X, n_threads=threads), X)]
    contenders.append(("matrix product", lambda X: X @ V, X))
    with threadpool_limits(threads):
        times = best_of_rounds(contenders, rounds)
    for who, (seconds, _) in times.items():
        yield {"part": "matrix product", "d": 784, "m": 500, "who": who, "seconds": seconds, "threads": threads}


def one_row(rounds: int) -> Iterable[dict[str, Any]]:
    """One call with one row of float64 at d = 10, m = 50."""
    model, x = random_model(50, 10, "float64"), np.random.default_rng(2).standard_normal((1, 10))
    calls = [("predict", model.predict, x), ("decision_function", model.decision_function, x)]
    for who, (seconds, _) in best_of_rounds(calls, rounds).items():
        yield {"part": "one row", "d": 10, "m": 50, "who": f"svmpress {who}", "seconds": seconds, "threads": 1}


def data_set(name: str, directory: Path, rounds: int, threads: int) -> Iterable[dict[str, Any]]:
    """Full and compressed models beside the peers: batches and single rows, accuracy and agreement of labels."""
    split = load(directory, name)
    data = X, y, T, t = split.X, split.y, split.X_test, split.y_test
    svc = teacher(name, X, y)
    full = svmpress.from_estimator(svc)
    small = compressed(name, svc, X, y)
    contenders, missing = peers(name, svc, data, threads)
    for label, model in (("full", full), ("compressed", small)):
        for dtype in ("float64", "float32"):
            cast = model.astype(dtype)
            call = lambda rows, model=cast: model.predict(rows, n_threads=threads)  # noqa: E731
            contenders.append((f"svmpress {label} {dtype}", call, T.astype(dtype)))
    print(f"measuring {name} ...", flush=True)
    with threadpool_limits(threads):
        times = best_of_rounds(contenders, rounds)
        single = best_of_rounds([(who, call, rows[:1]) for who, call, rows in contenders], rounds)
    reference = svc.predict(T)
    shape = {"set": name, "d": full.n_features, "threads": threads}
    for who, _, rows in contenders:
        seconds, labels = times[who]
        model = {"full": full, "compressed": small}.get(who.split()[1] if who.startswith("svmpress") else "", full)
        yield shape | {
            "part": "data set",
            "who": who,
            "m": model.n_vectors,
            "outputs": model.n_outputs,
            "rows": len(rows),
            "seconds": seconds / len(rows),
            "one_row": single[who][0],
            "agreement": float(np.mean(labels == reference[: len(rows)])),
            "accuracy": float(np.mean(labels == t[: len(rows)])),
        }
    for who in missing:
        yield shape | {"part": "missing", "who": who}


# ---------------------------------------------------------------------------------------------------------
# Records
# ---------------------------------------------------------------------------------------------------------


def environment(threads: int) -> dict[str, Any]:
    """Return what all records of a run share."""
    packages = ("numpy", "scikit-learn", "scikit-learn-intelex", "onnxruntime", "skl2onnx")
    versions = {}
    for name in packages:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    cpu = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        cpu = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), cpu)
    return {
        "run": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": f"{cpu}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "predictor": predictor.describe().split(",")[0] + f", {threads} threads)",
        "python": platform.python_version(),
        "versions": versions,
    }


def measure(directory: Path, names: list[str], rounds: int, threads: int) -> None:
    """Run everything and append one line per record as soon as it is there."""
    shared = environment(threads)
    RECORDS.parent.mkdir(parents=True, exist_ok=True)

    def parts() -> Iterable[dict[str, Any]]:
        for d, m in ((10, 500), (10, 4652), (16, 500), (16, 7595)):
            yield from kernel_value(d, m, rounds)
        yield from matrix_product(rounds, threads)
        yield from one_row(rounds)
        for name in names:
            yield from data_set(name, directory, rounds, threads)

    with RECORDS.open("a", encoding="utf-8") as file:
        for record in parts():
            file.write(json.dumps(shared | record) + "\n")
            file.flush()


def last_run() -> list[dict[str, Any]]:
    """Return the records of the last run."""
    if not RECORDS.exists():
        raise SystemExit(f"no records in {RECORDS}: run with --data first")
    records = [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()]
    return [r for r in records if r["run"] == records[-1]["run"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="directory of the data sets; measures")
    parser.add_argument("--sets", nargs="+", choices=list(TASKS), default=list(TASKS), help="only these sets")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of which the best counts (default: 7)")
    parser.add_argument("--threads", type=int, default=2, help="threads for everybody (default: 2)")
    parser.add_argument("--fresh", action="store_true", help="train and compress again, whatever is in .cache/")
    parser.add_argument("--table", action="store_true", help="print the table of the last run and measure nothing")
    arguments = parser.parse_args()
    if arguments.table == (arguments.data is not None):
        parser.error("say either --data DIR or --table")
    if arguments.fresh:
        shutil.rmtree(CACHE, ignore_errors=True)
    if arguments.data is not None:
        measure(arguments.data, arguments.sets, arguments.rounds, arguments.threads)
        PAGE.write_text(page(last_run(), list(TASKS)), encoding="utf-8")
    print(table(last_run(), list(TASKS)))


if __name__ == "__main__":
    main()
