"""Rows a second beyond one process: Dask and Spark beside a bare loop, and a graphics processor beside its own product.

    python benchmarks/scale.py --dask                     47 vectors of 10 features, by size of the chunks
    python benchmarks/scale.py --dask --rows 100000000    as many rows, generated in chunks of a million, once
    python benchmarks/scale.py --spark                    the same model as a column of a Spark DataFrame
    python benchmarks/scale.py --gpu                      where torch sees a CUDA device

Each part appends a record to ``benchmarks/results/scale.jsonl``. Rows are drawn, not real: what is measured are
seconds, which depend on how many rows, features and vectors there are.

*Dask.* Two worker processes of one thread each, and two processes that do nothing but call the predictor on the same
rows, made by the same function, and add up the same labels: the bare loop. The two take turns, and the best of all
turns counts. What a chunk costs beyond the loop is the scheduler's.

*Spark.* A local session of two cores makes the rows (columns of expressions of the row's number), so its share of the
bare loop's rows a second, on the same two cores, holds what Spark does for making rows and bringing them to Python.
A column that only reads the features in Python, without a model, tells how much that is.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import journal
import svmpress
from scale_rows import FEATURES, VECTORS, block_of, loop_over, small_model
from svmpress import KernelModel, predictor

RECORDS = Path(__file__).parent / "results" / "scale.jsonl"
PROCESSES = 2
_CHUNKS = (10_000, 100_000, 1_000_000)


def turns(contenders: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Return the best seconds of each contender, all of which take turns."""
    best = dict.fromkeys(contenders, np.inf)
    for _ in range(rounds):
        for name, run in contenders.items():
            best[name] = min(best[name], run())
    return best


# ---------------------------------------------------------------------------------------------------------
# The bare loop
# ---------------------------------------------------------------------------------------------------------


class BareLoop:
    """Processes that call the predictor and do nothing else."""

    def __init__(self) -> None:
        self.pool = ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn"))

    def seconds(self, chunks: int, n: int) -> float:
        """Return what so many chunks of n rows take, and keep the sum of their labels."""
        start = time.perf_counter()
        shares = [range(k, chunks, PROCESSES) for k in range(PROCESSES)]
        self.answer = sum(self.pool.map(loop_over, shares, [n] * PROCESSES))
        return time.perf_counter() - start


# ---------------------------------------------------------------------------------------------------------
# Dask
# ---------------------------------------------------------------------------------------------------------


def lazy_sum(model: KernelModel, chunks: int, n: int) -> Any:
    """Return the sum of the labels of so many chunks of n rows, lazily."""
    import dask.array as da

    from svmpress import distributed

    rows = da.map_blocks(block_of, n, chunks=((n,) * chunks, (FEATURES,)), dtype=float, meta=np.zeros((0, FEATURES)))
    labels = distributed.predict(model, rows)
    return labels.map_blocks(lambda a: a.sum(keepdims=True), chunks=((1,) * chunks,), dtype=int).sum()


def measure_dask(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a record for each size of the chunks."""
    from svmpress.distributed import cluster

    model, bare = small_model(), BareLoop()
    with cluster(workers=PROCESSES) as client, client.as_current():
        sizes = _CHUNKS if args.rows is None else (1_000_000,)
        for n in sizes:
            chunks = max(2 * PROCESSES, (args.rows or 20_000_000) // n)
            chunks = min(chunks, 1000)

            def on_dask(chunks: int = chunks, n: int = n) -> float:
                start = time.perf_counter()
                found = int(lazy_sum(model, chunks, n).compute())
                seconds = time.perf_counter() - start
                assert found == bare.answer
                return seconds

            bare.seconds(PROCESSES, n)
            lazy_sum(model, PROCESSES, n).compute()
            best = turns({"bare": lambda c=chunks, n=n: bare.seconds(c, n), "dask": on_dask}, args.rounds)
            rows = chunks * n
            yield {
                "part": "dask",
                "rows": rows,
                "chunk": n,
                "chunks": chunks,
                "rounds": args.rounds,
                "rows_per_second": {name: round(rows / s) for name, s in best.items()},
                "share": round(best["bare"] / best["dask"], 3),
                "milliseconds_a_chunk_beyond": round(1e3 * (best["dask"] - best["bare"]) / chunks, 2),
            }
    bare.pool.shutdown()


# ---------------------------------------------------------------------------------------------------------
# Spark
# ---------------------------------------------------------------------------------------------------------


def measure_spark(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a record for each size of Arrow's batches."""
    import pandas as pd
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import col, pandas_udf
    from pyspark.sql.functions import sum as total

    from svmpress.spark import predict_column

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master(f"local[{PROCESSES}]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    model, bare, n = small_model(), BareLoop(), 100_000
    rows = args.rows or 5_000_000
    names = [f"x{j}" for j in range(FEATURES)]
    made = [((col("id") * (7919 + 2 * j) % 2003) / 1000.0 - 1).alias(f"x{j}") for j in range(FEATURES)]

    def only_read(*columns: pd.Series) -> pd.Series:
        return columns[0]

    only_read.__annotations__ = dict.fromkeys(("columns", "return"), pd.Series)

    def seconds(column: Any) -> float:
        start = time.perf_counter()
        session.range(0, rows, 1, 2 * PROCESSES).select(*made).select(column.alias("a")).select(total("a")).collect()
        return time.perf_counter() - start

    for batch in (10_000, 100_000):
        session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", batch)
        reader = pandas_udf(only_read, "double")(*names)
        bare.seconds(PROCESSES, n)
        seconds(predict_column(model, names))
        contenders = {
            "bare": lambda: bare.seconds(rows // n, n),
            "spark": lambda: seconds(predict_column(model, names)),
            "spark, no model": lambda r=reader: seconds(r),
        }
        best = turns(contenders, args.rounds)
        yield {
            "part": "spark",
            "rows": rows,
            "batch": batch,
            "rounds": args.rounds,
            "rows_per_second": {name: round(rows / s) for name, s in best.items()},
            "share": round(best["bare"] / best["spark"], 3),
            "share_without_model": round(best["bare"] / best["spark, no model"], 3),
        }
    session.stop()
    bare.pool.shutdown()


# ---------------------------------------------------------------------------------------------------------
# A graphics processor
# ---------------------------------------------------------------------------------------------------------


def measure_gpu(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a record for each shape: rows a second as a share of the bare product, and agreement with the host."""
    import torch

    if not torch.cuda.is_available():
        sys.exit("torch sees no CUDA device: there is nothing to measure")

    def seconds(run: Callable[[], Any]) -> float:
        torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        return time.perf_counter() - start

    for d in (20, 784):
        for m in (500, 90_000):
            for dtype in ("float32", "float64"):
                model, n = small_model(d, m, dtype), 2**20 if m == 500 else 2**14
                X = torch.randn((n, d), device="cuda", dtype=getattr(torch, dtype))
                V = torch.tensor(np.array(model.expansion.vectors), device="cuda")
                step = max(1, 2**30 // (m * X.element_size()))  # rows of a product that takes a gigabyte
                contenders = {
                    "product": lambda X=X, V=V, s=step: seconds(lambda: [x @ V.T for x in X.split(s)]),
                    "model": lambda X=X, model=model: seconds(lambda: model.decision_values(X)),
                }
                turns(contenders, 2)
                best = turns(contenders, max(5, args.rounds))
                some = X[:1000]
                away = model.decision_values(some).cpu().numpy() - model.decision_values(some.cpu().numpy())
                yield {
                    "part": "gpu",
                    "device": torch.cuda.get_device_name(),
                    "features": d,
                    "vectors": m,
                    "dtype": dtype,
                    "rows": n,
                    "rows_per_second": {name: round(n / s) for name, s in best.items()},
                    "share": round(best["product"] / best["model"], 3),
                    "furthest_from_host": float(np.abs(away).max()),
                }


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[dict[str, Any]]]] = {
    "dask": measure_dask,
    "spark": measure_spark,
    "gpu": measure_gpu,
}
"""What can be asked for on the command line, each a generator of records."""


def circumstances() -> dict[str, Any]:
    """Return what figures depend on besides."""
    return {
        "version": svmpress.__version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "predictor": predictor.describe(),
        "features": FEATURES,
        "vectors": VECTORS,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in PARTS:
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--rows", type=int, help="rows in all (default: 20 million on Dask, 5 million on Spark)")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # of the processes that are started
    for name, measure in PARTS.items():
        if getattr(args, name):
            for record in measure(args):
                print(record, flush=True)
                journal.append(RECORDS, circumstances() | record)


if __name__ == "__main__":
    main()
