"""Compression of more rows than one place takes: over shards, and from a file larger than memory.

    python benchmarks/scale_compress.py --shards            4 shards on processes, against one process
    python benchmarks/scale_compress.py --out-of-core       50 million rows of a Parquet file

Each part appends a record to ``benchmarks/results/scale_compress.jsonl``. Rows
are drawn, not real: what is measured are seconds and bytes, which depend on how many rows, features and vectors there
are. The source is trained on the first rows.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.svm import SVC

import journal
import svmpress

RECORDS = Path(__file__).parent / "results" / "scale_compress.jsonl"
FEATURES, VECTORS = 20, 50
_BLOCK = 2**19


def rows(seed: int, n: int, d: int = FEATURES) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of two noisy classes that no plane divides."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=np.float32)
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n, dtype=np.float32)
    return X, (f > 0).astype(np.int8)


def rows_alone(seed: int, n: int) -> np.ndarray:
    return rows(seed, n)[0]


def source(n: int) -> Any:
    X, y = rows(0, n)
    return svmpress.from_estimator(SVC(gamma=0.05).fit(X, y))


def threads() -> int:
    return int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1))


# ---------------------------------------------------------------------------------------------------------
# Shards
# ---------------------------------------------------------------------------------------------------------


def shards(n: int, workers: int, repeats: int) -> dict[str, Any]:
    """Compress rows in one process, and the same rows in as many shards as there are workers, on as many threads."""
    import dask.array as da
    from dask import delayed
    from distributed import Client, LocalCluster, wait

    model, each = source(1500), n // workers
    options = {"vectors": VECTORS, "effort": "fast"}
    names = ("one process", "shards")
    found: dict[str, list[Timed]] = {name: [] for name in names}
    X = np.concatenate([rows_alone(i, each) for i in range(workers)])
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        made = delayed(rows_alone)
        parts = [da.from_delayed(made(i, each), (each, FEATURES), np.float32) for i in range(workers)]
        sharded = da.concatenate(parts).persist()
        wait(sharded)
        svmpress.compress(model, sharded, **options)  # workers load what they need once, however often they are asked
        for _ in range(repeats):  # by turns, as other work on the machine comes and goes
            found["one process"].append(timed(model, X, options))
            found["shards"].append(timed(model, sharded, options, client))
    a, b = (found[name][0].model.decision_function(X[:1000]) for name in names)
    record = {"part": "shards", "rows": n, "workers": workers, "repeats": repeats}
    for what in ("seconds", "cpu_seconds", "seconds_on_all_rows"):
        medians = [statistics.median(getattr(run, what) for run in found[name]) for name in names]
        record |= {what: dict(zip(names, medians, strict=True)), f"ratio_of_{what}": medians[1] / medians[0]}
    return record | {"difference": float(np.abs(a - b).max() / np.abs(a).max())}


@dataclass(frozen=True)
class Timed:
    """A compression: its model, its seconds, those of all processors, and those of its last steps, on all rows."""

    model: Any
    seconds: float
    cpu_seconds: float
    seconds_on_all_rows: float


def timed(model: Any, X: Any, options: dict[str, Any], client: Any = None) -> Timed:
    """Compress, and time it."""
    since: list[float] = []

    def progress(stage: str, done: int, total: int) -> None:
        if "all rows" in stage and not since:
            since.append(time.perf_counter())

    start, used = time.perf_counter(), processors(client)
    result = svmpress.compress(model, X, progress=progress, **options)
    end = time.perf_counter()
    return Timed(result.model, end - start, processors(client) - used, end - since[0])


# ---------------------------------------------------------------------------------------------------------
# What one step costs
# ---------------------------------------------------------------------------------------------------------


def constants(n: int, workers: int, partitions: tuple[int, ...] = (4, 40, 200)) -> dict[str, Any]:
    """Measure what a plan needs: seconds of one step for each row, and for each partition, and the bytes of a step."""
    import pickle

    import dask.array as da
    from dask import delayed
    from distributed import Client, LocalCluster

    from svmpress.distributed import shards_of
    from svmpress.numerics import Shard
    from svmpress.objectives import Arrangement, ProjectedError, ShardSums, arranged

    V = rows_alone(1, VECTORS).astype(float)
    model = source(1500)
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0")
    seconds, cpu = {}, {}
    with cluster, Client(cluster) as client:
        for size in (1000, n):
            for count in partitions:
                made = [
                    da.from_delayed(
                        delayed(rows_alone)(i, size // count + 1), (size // count + 1, FEATURES), np.float32
                    )
                    for i in range(count)
                ]
                parts = shards_of(da.concatenate(made), None, _as_shard, None)
                parts = parts.arranged(arranged, Arrangement(np.zeros(1)))
                sums = ShardSums(parts, size, V, np.ones((1, 1)))
                error = ProjectedError.over(
                    model.kernel, sums, V, common=np.zeros(1), weights=np.ones((1, 1)), ridge=1e-6
                )
                error.value_and_grad(V)
                start, used = time.perf_counter(), processors(client)
                for _ in range(3):
                    error.value_and_grad(V)
                seconds[f"{size} rows, {count} partitions"] = (time.perf_counter() - start) / 3
                cpu[f"{size} rows, {count} partitions"] = (processors(client) - used) / 3
    m = VECTORS
    parcel = len(pickle.dumps((np.zeros((1, m + 1, m + 1)), np.zeros((m + 1, 1))))) + len(
        pickle.dumps(np.zeros_like(V))
    )
    assert isinstance(Shard(V), Shard)
    found = {"part": "constants", "workers": workers, "seconds_of_a_step": seconds, "cpu_seconds_of_a_step": cpu}
    return found | {"bytes_back_of_a_partition": parcel, "microseconds_of_the_source_a_row": _of_source(model)}


def _of_source(model: Any, n: int = 200_000) -> float:
    """Return what the source's values at a row cost a processor, in microseconds."""
    X = rows_alone(2, n)
    model.decision_function(X[:1000])
    used = time.process_time()
    model.decision_function(X)
    return (time.process_time() - used) / n * 1e6


def processors(client: Any) -> float:
    """Return the seconds that processors have worked for this process, which has the scheduler, and for workers."""
    return time.process_time() + (0.0 if client is None else sum(client.run(time.process_time).values()))


def _as_shard(X: Any, y: Any, source: Any) -> Any:
    from svmpress.numerics import Shard

    return Shard(X, {"targets": np.sin(X[:, :1]).astype(float)})


# ---------------------------------------------------------------------------------------------------------
# Out of core
# ---------------------------------------------------------------------------------------------------------


def out_of_core(n: int, folder: Path) -> dict[str, Any]:
    """Compress by the command, with the rows of a Parquet file, and say what its memory was at most."""
    import pyarrow
    from pyarrow import parquet

    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        path, model = Path(temporary) / "rows.parquet", Path(temporary) / "big.svmpress"
        svmpress.save(source(1500), model)
        writer = None
        for i, first in enumerate(range(0, n, _BLOCK)):
            X, y = rows(i, min(_BLOCK, n - first))
            table = pyarrow.table({f"f{j}": X[:, j] for j in range(FEATURES)} | {"label": y})
            writer = writer or parquet.ParquetWriter(path, table.schema, use_dictionary=False, compression="none")
            writer.write_table(table)
        assert writer is not None
        writer.close()
        bytes_of_file = path.stat().st_size
        out = Path(temporary) / "small.svmpress"
        command = [sys.executable, "-m", "svmpress", "compress", str(model), "--data", str(path), "-o", str(out)]
        start = time.perf_counter()
        done = subprocess.run([*command, "--vectors", str(VECTORS)], capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - start
        if done.returncode:
            raise SystemExit(done.stderr)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        agreement = re.search(r"agreement +([\d.]+)", done.stdout)
        vectors = svmpress.load(model).n_vectors
    return {
        "part": "out of core",
        "rows": n,
        "bytes_of_file": bytes_of_file,
        "bytes_of_memory": peak,
        "seconds": seconds,
        "source_vectors": vectors,
        "agreement": float(agreement[1]) if agreement else None,
    }


def record(found: dict[str, Any]) -> None:
    """Append what was found, with its circumstances, and show it."""
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    about = {"day": day, "version": svmpress.__version__, "threads": threads(), "cores": os.cpu_count()}
    about |= {"features": FEATURES, "vectors": VECTORS, "load": round(os.getloadavg()[0], 1)}
    journal.append(RECORDS, {**about, **found})
    print({**about, **found})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the parts of this file."""
    parser.add_argument("--shards", action="store_true", help="4 shards against one process")
    parser.add_argument("--constants", action="store_true", help="what a plan for more rows and workers needs")
    parser.add_argument("--out-of-core", action="store_true", help="a Parquet file larger than memory")
    parser.add_argument("--shard-rows", type=float, default=4e6, metavar="N", help="rows of --shards")
    parser.add_argument("--file-rows", type=float, default=5e7, metavar="N", help="rows of --out-of-core")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="of --shards; the median counts")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()), help="folder for the file")


def run(args: argparse.Namespace) -> None:
    """Run the parts that the arguments ask for."""
    if args.shards:
        record(shards(int(args.shard_rows), 4, args.repeats))
    if args.constants:
        record(constants(int(args.shard_rows), 4))
    if args.out_of_core:
        record(out_of_core(int(args.file_rows), args.scratch))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    run(parser.parse_args())


if __name__ == "__main__":
    main()
