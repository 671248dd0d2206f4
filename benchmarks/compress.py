"""How long compressing takes, beside the training of the same SVM in the same process.

    python benchmarks/compress.py --data DIR                 the cells of the table, balanced and fast; two threads
    python benchmarks/compress.py --data DIR --sets magic    some of them
    python benchmarks/compress.py --data DIR --small         the sets of DIR/small, the usual tenth and a hundredth
    python benchmarks/compress.py --growth                   seconds and memory against rows, vectors and features
    python benchmarks/compress.py --gpu                      large random expansions on a GPU
    python benchmarks/compress.py --table                    print the table of the records, and write the page

Each set runs in a process of its own: it trains the SVM once, compresses it at each effort (best of ``--repeat``), and
appends records to ``benchmarks/results/compress.jsonl``. Ratios of times in one process say more than seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import journal
import sets
import svmpress
from compress_report import page, table
from svmpress.study.worker import revision

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "benchmarks" / "results" / "compress.jsonl"
PAGE = ROOT / "docs" / "compress-speed.md"
CELLS: dict[str, list[float]] = {
    "pageblocks": [0.05],
    "magic": [0.01],
    "letters": [0.02],
    "20news": [0.02],
    "ohsumed": [0.01],
    "california": [0.01],
    "mnist": [0.01, 20],
}
"""Shares of the vectors, or their numbers."""
SMALL = ("banana", "german", "marketing", "penbased", "ring", "segment", "splice", "twonorm", "vehicle")
EFFORTS = ("balanced", "fast")
ROWS = (1_000, 10_000, 100_000, 1_000_000)
OUT = (10, 50, 200, 1_000, 2_000)
IN = (1_000, 10_000, 100_000)
FEATURES = (2, 20, 200, 2_000)


def measured(X: Any, y: Any, model: Any, effort: str, **budget: Any) -> tuple[svmpress.Compression, float, float]:
    """Return a compression, its wall-clock seconds and those of all processors."""
    begin, used = time.perf_counter(), time.process_time()
    result = svmpress.compress(model, X, y, effort=effort, **budget)
    return result, time.perf_counter() - begin, time.process_time() - used


def run_set(folder: Path, name: str, repeat: int) -> list[dict[str, Any]]:
    """Train, compress, and return the records of one set."""
    small = name in SMALL
    if small:
        from ablation import load, tuned

        data = load(folder, name)
        X, y, X_test, y_test = data.X, data.y, data.X_test, data.y_test
        estimator: Any = tuned(X, y)
    else:
        split = sets.load(folder, name)
        X, y, X_test, y_test = split.X, split.y, split.X_test, split.y_test
        estimator = sets.estimator(name)
    begin = time.perf_counter()
    estimator.fit(X, y)
    train_seconds = time.perf_counter() - begin
    model = svmpress.from_estimator(estimator)
    full = sets.score(y_test, model.predict(X_test))
    found = []
    for budget in [0.01, 0.1] if small else CELLS[name]:
        m = max(2, round(budget * model.n_vectors)) if budget < 1 else int(budget)
        for effort in EFFORTS:
            runs = [measured(X, y, model, effort, vectors=m) for _ in range(repeat)]
            result = runs[0][0]
            found.append(
                {
                    "part": "small" if small else "set",
                    "set": name,
                    "budget": budget,
                    "effort": effort,
                    "rows": X.shape[0],
                    "features": X.shape[1],
                    "vectors_full": model.n_vectors,
                    "vectors": result.model.n_vectors,
                    "train_seconds": round(train_seconds, 3),
                    "seconds": round(min(r[1] for r in runs), 3),
                    "processor_seconds": round(min(r[2] for r in runs), 3),
                    "lost": round(100 * (full - sets.score(y_test, result.model.predict(X_test))), 3),
                    "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
                    **circumstances(),
                }
            )
    return found


def circumstances() -> dict[str, Any]:
    """Return what else a record should know."""
    return {
        "threads": int(os.environ.get("OMP_NUM_THREADS", "0")) or os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "code": revision() or "unknown",
    }


def random_model(n_vectors: int, d: int) -> svmpress.KernelModel:
    """Return a binary SVM that was never trained: random vectors and coefficients that add up to zero."""
    rng = np.random.default_rng(0)
    coef = rng.normal(size=(n_vectors, 1))
    coef -= coef.mean()
    expansion = svmpress.KernelExpansion(svmpress.RBF(gamma=1 / d), rng.normal(size=(n_vectors, d)), coef, np.zeros(1))
    return svmpress.KernelModel(expansion, svmpress.Sign(np.array([0, 1])))


def run_shape(rows: int, n_vectors: int, d: int, m: int, device: str = "cpu") -> dict[str, Any]:
    """Compress a random expansion on random rows and return the record."""
    X = np.random.default_rng(1).normal(size=(rows, d))
    model = random_model(n_vectors, d)
    begin, used = time.perf_counter(), time.process_time()
    svmpress.compress(model, X, vectors=m, device=device)
    return {
        "part": "growth" if device == "cpu" else "gpu",
        "rows": rows,
        "vectors_full": n_vectors,
        "features": d,
        "vectors": m,
        "seconds": round(time.perf_counter() - begin, 3),
        "processor_seconds": round(time.process_time() - used, 3),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "device": device,
        **circumstances(),
    }


def shapes() -> list[tuple[int, int, int, int]]:
    """Return what growth is measured on: rows, vectors in, features, vectors out; one of them varies at a time."""
    found = [(n, 5_000, 20, 50) for n in ROWS]
    found += [(20_000, 5_000, 20, m) for m in OUT]
    found += [(20_000, n_vectors, 20, 50) for n_vectors in IN]
    found += [(20_000, 5_000, d, 50) for d in FEATURES]
    return list(dict.fromkeys(found))


def in_own_process(arguments: list[str]) -> list[dict[str, Any]]:
    """Run this program again for one thing, and return its records."""
    done = subprocess.run([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        print(f"failed: {' '.join(arguments)}", file=sys.stderr)
        return []
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the NPZ files")
    parser.add_argument("--sets", nargs="+", choices=[*CELLS, *SMALL], help="default: those of the table")
    parser.add_argument("--small", action="store_true", help="the sets of DIR/small")
    parser.add_argument("--growth", action="store_true", help="random expansions of many shapes")
    parser.add_argument("--gpu", action="store_true", help="large random expansions on a GPU")
    parser.add_argument("--repeat", type=int, default=2, help="compressions of which the fastest counts")
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--table", action="store_true", help="print the table and write the page, run nothing")
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        kind, *rest = args.one
        made = (
            run_set(args.data, rest[0], args.repeat)
            if kind == "set"
            else [run_shape(*(int(v) for v in rest[:4]), rest[4])]
        )
        print(json.dumps(made))
        return
    if not args.table:
        jobs = []
        if args.growth or args.gpu:
            cases = [(1_000_000, 90_000, 20, 500), (1_000_000, 90_000, 20, 2_000)] if args.gpu else shapes()
            device = "cuda" if args.gpu else "cpu"
            jobs = [["--one", "shape", *(str(v) for v in case), device] for case in cases]
        else:
            if args.data is None:
                parser.error("--data names the folder with the NPZ files")
            names = args.sets or (SMALL if args.small else CELLS)
            jobs = [["--data", str(args.data), "--repeat", str(args.repeat), "--one", "set", name] for name in names]
        for job in jobs:
            for record in in_own_process(job):
                journal.append(args.records, record)
                print(json.dumps(record), file=sys.stderr, flush=True)
    print(table(journal.read(args.records)))
    if args.records == RECORDS:
        PAGE.write_text(page(journal.read(RECORDS)), encoding="utf-8")


if __name__ == "__main__":
    main()
