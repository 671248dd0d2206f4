"""What compression costs in accuracy: six data sets and a regression, by share of vectors kept.

    python benchmarks/accuracy.py --data DIR                          everything; appends records, writes the page
    python benchmarks/accuracy.py --data DIR --sets magic --ratios 0.01 --seeds 0
    python benchmarks/accuracy.py --table                             print the table of the committed records

Each cell (set, ratio, layout, rows given or not, seed) runs in a process of its own, so that its peak memory is its
own, and appends one record to ``benchmarks/results/accuracy.jsonl``; cells that have a record are not run again unless
``--again``. Teachers are trained once and cached in ``.cache/teachers``. Test rows are used for the reported score and
for nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import journal
import svmpress
from accuracy_report import page, table
from sets import SETS, load, score, teacher
from svmpress.study.worker import revision

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "benchmarks" / "results" / "accuracy.jsonl"
PAGE = ROOT / "docs" / "accuracy.md"
CACHE = ROOT / ".cache" / "teachers"
KEY = ("set", "ratio", "layout", "given", "seed")
"""What makes a cell."""
RATIOS = (0.005, 0.01, 0.02, 0.05, 0.1)
FEWEST = 4
"""Shares that leave fewer vectors than this are left out (half a percent of pageblocks is two)."""


def cell(
    folder: Path, name: str, ratio: float, layout: str, given: str, seed: int, device: str = "cpu"
) -> dict[str, Any]:
    """Compress one teacher once and return the record."""
    split = load(folder, name)
    big = teacher(folder, CACHE, name, split)
    rows = {"rows": (split.X, split.y), "nothing": (None, None)}[given]
    start = time.perf_counter()
    result = svmpress.compress(big.model, *rows, ratio=ratio, layout=layout, random_state=seed, device=device)
    seconds = time.perf_counter() - start
    answers, reference = result.model.predict(split.X_test), big.model.predict(split.X_test)
    return {
        "set": name,
        "ratio": ratio,
        "layout": layout,
        "given": given,
        "seed": seed,
        "vectors_full": big.model.n_vectors,
        "vectors": result.model.n_vectors,
        "outputs": result.model.n_outputs,
        "multiply_adds": result.model.expansion.multiply_adds,
        "score_full": big.score,
        "score": score(split.y_test, answers),
        "agreement": score(reference, answers),
        "train_seconds": round(big.train_seconds, 3),
        "compress_seconds": round(seconds, 3),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "device": device,
        "threads": int(os.environ.get("OMP_NUM_THREADS", "0")) or os.cpu_count(),
        "version": svmpress.__version__,
        "code": revision() or "unknown",
        "notes": list(result.notes),
    }


def cells(args: argparse.Namespace) -> list[tuple[str, float, str, str, int]]:
    """Return what to run: every ratio with rows, and 10 % for the LibSVM layout and without any rows."""
    wanted = []
    for seed in args.seeds:
        for name in args.sets:
            for ratio in args.ratios:
                for layout in args.layouts:
                    for given in args.given:
                        usual = layout == "shared" and given == "rows"
                        multiclass = name not in ("pageblocks", "magic", "california")
                        extra = ratio == 0.1 and (layout == "shared" or given == "rows")
                        if usual or (extra and (multiclass or layout == "shared")):
                            wanted.append((name, ratio, layout, given, seed))
    return wanted


def run_cell(args: argparse.Namespace, key: tuple[str, float, str, str, int], slot: int) -> dict[str, Any] | None:
    name, ratio, layout, given, seed = key
    command = [sys.executable, __file__, "--data", str(args.data), "--sets", name, "--ratios", str(ratio)]
    command += ["--layouts", layout, "--given", given, "--seeds", str(seed), "--device", args.device, "--one"]
    if args.cores:
        first = slot * args.cores
        command = ["taskset", "-c", f"{first}-{first + args.cores - 1}", *command]
    threads = {"OMP_NUM_THREADS": str(args.cores)} if args.cores else {}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **threads}, check=False)
    if done.returncode:
        print(f"{key} failed", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def measure(args: argparse.Namespace) -> None:
    have = set()
    if RECORDS.exists() and not args.again:
        have = {tuple(r[k] for k in KEY) for r in records(RECORDS)}
    for name in args.sets:
        teacher(args.data, CACHE, name)
    todo = [key for key in cells(args) if key not in have and key[1] * vectors_of(args, key[0]) >= FEWEST - 0.5]
    slots = list(range(args.jobs))

    def work(key: tuple[str, float, str, str, int]) -> None:
        slot = slots.pop()
        record = run_cell(args, key, slot)
        slots.append(slot)
        if record is not None:
            journal.append(RECORDS, record)
            lost = 100 * (record["score_full"] - record["score"])
            print(f"{key}: {lost:+.2f} points, {record['compress_seconds']:.1f} s", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(work, todo))


def vectors_of(args: argparse.Namespace, name: str) -> int:
    return teacher(args.data, CACHE, name).model.n_vectors


def records(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file, the last one of each cell."""
    return list({tuple(r[k] for k in KEY): r for r in journal.read(path)}.values())


def present_page() -> str:
    """Return the page of the records as they are."""
    return page(records(RECORDS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the NPZ files")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--ratios", nargs="+", type=float, default=list(RATIOS))
    parser.add_argument("--layouts", nargs="+", choices=("shared", "libsvm"), default=["shared", "libsvm"])
    parser.add_argument("--given", nargs="+", choices=("rows", "nothing"), default=["rows", "nothing"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--device", default="cpu", help="where to compute: cpu, or a device of torch such as cuda")
    parser.add_argument("--jobs", type=int, default=1, help="cells at a time")
    parser.add_argument("--cores", type=int, default=0, help="pin each cell to this many cores")
    parser.add_argument("--again", action="store_true", help="run cells that have a record, too")
    parser.add_argument("--table", action="store_true", help="print the table of the records and write the page")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        key = (args.sets[0], args.ratios[0], args.layouts[0], args.given[0], args.seeds[0])
        print(json.dumps(cell(args.data, *key, device=args.device)))
        return
    if not args.table:
        if args.data is None:
            parser.error("--data names the folder with the NPZ files")
        measure(args)
    print(table(records(RECORDS)))
    PAGE.write_text(present_page())


if __name__ == "__main__":
    main()
