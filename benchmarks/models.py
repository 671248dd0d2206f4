"""Real models that nobody here made, before and after: file, size, and agreement at 10, 5 and 1 % of the vectors.

    python benchmarks/models.py --models DIR                 every model file of a folder; about a minute
    python benchmarks/models.py --models DIR --only vmaf     those with that in their name
    python benchmarks/models.py --table                      write docs/models.md from the records

No rows come with such models. Plausible ones are made of the model itself: a vector and one of its five nearest of the
same answer, mixed in a random share. That flatters: real rows lie elsewhere, too. One draw is fitted, another judges.
Each result is appended to ``benchmarks/results/models.jsonl``.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import journal
import svmpress
from models_report import page
from svmpress import formats
from svmpress.numerics import arrays
from svmpress.study.worker import revision

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "benchmarks" / "results" / "models.jsonl"
PAGE = ROOT / "docs" / "models.md"
RATIOS = (0.1, 0.05, 0.01)
ROWS, JUDGES, NEIGHBOURS = 4_000, 4_000, 5
NO_MODELS = {".md", ".npz", ".csv"}


def plausible_rows(model: svmpress.KernelModel, n: int, seed: int) -> NDArray[np.float64]:
    """Return n rows, unscaled: mixtures of neighbouring vectors to which the model gives the same answer."""
    rng = np.random.default_rng(seed)
    V = np.asarray(arrays.dense(model.expansion.vectors), dtype=np.float64)
    F = model.expansion.decision_values(V)
    groups = np.zeros(len(V), dtype=np.intp) if model.classes_ is None else model.decoder.positions(F)
    first = rng.integers(len(V), size=n)
    second = first.copy()
    for g in np.unique(groups):
        members = np.flatnonzero(groups == g)
        D = ((V[members][:, None, :] - V[members][None, :, :]) ** 2).sum(axis=2) if len(members) < 2_000 else None
        for i in np.flatnonzero(groups[first] == g):
            d = (
                D[np.searchsorted(members, first[i])]
                if D is not None
                else ((V[members] - V[first[i]]) ** 2).sum(axis=1)
            )
            near = members[np.argsort(d)[1 : NEIGHBOURS + 1]]
            second[i] = rng.choice(near) if len(near) else first[i]
    share = rng.random((n, 1))
    Z = share * V[first] + (1 - share) * V[second]
    if model.scaling is None:
        return Z
    factor = np.where(model.scaling.factor == 0, 1.0, model.scaling.factor)
    return Z / factor + (0.0 if model.scaling.shift is None else model.scaling.shift)


def seconds_per_row(model: svmpress.KernelModel, X: NDArray[np.float64]) -> float:
    """Return the best of five times of a prediction, in one batch."""
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        model.predict(X)
        times.append(time.perf_counter() - begin)
    return min(times) / len(X)


def agreement(model: svmpress.KernelModel, source: svmpress.KernelModel, X: NDArray[np.float64]) -> float:
    """Return the share of equal answers; of a regression, the R² against the source's values."""
    ours, theirs = model.predict(X), source.predict(X)
    if source.classes_ is not None:
        return float(np.mean(ours == theirs))
    return float(1 - np.sum((ours - theirs) ** 2) / np.sum((theirs - theirs.mean()) ** 2))


def largest_difference(model: svmpress.KernelModel, source: svmpress.KernelModel, X: NDArray[np.float64]) -> float:
    """Return how far a regression is from its source at most, in its own units."""
    return float(np.abs(model.predict(X) - source.predict(X)).max())


def measured(path: Path) -> list[dict[str, Any]]:
    """Return the records of one model file: itself, and each size of it."""
    source = formats.load(path)
    form = str(source.provenance["format"])
    X, judges = plausible_rows(source, ROWS, 0), plausible_rows(source, JUDGES, 1)
    shared = {
        "model": path.name,
        "format": form,
        "task": source.task,
        "kernel": source.kernel.name,
        "features": source.n_features,
        "vectors_full": source.n_vectors,
        "bytes_full": path.stat().st_size,
        "microseconds_full": round(1e6 * seconds_per_row(source, judges), 4),
        "rows": ROWS,
        "judges": JUDGES,
        "threads": int(os.environ.get("OMP_NUM_THREADS", "0")) or os.cpu_count(),
        "code": revision() or "unknown",
    }
    found = []
    for ratio in RATIOS:
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", svmpress.SvmpressWarning)
            result = svmpress.compress(source, X, ratio=ratio)
        took = time.perf_counter() - begin
        with tempfile.TemporaryDirectory() as folder:
            small = Path(folder) / f"small{formats.FORMATS[form].suffixes[0]}"
            formats.save(result.model, small, form)
            back = formats.load(small)
            size = small.stat().st_size
        found.append(
            shared
            | {
                "ratio": ratio,
                "vectors": back.n_vectors,
                "bytes": size,
                "agreement": agreement(back, source, judges),
                "largest": None if source.classes_ is not None else largest_difference(back, source, judges),
                "microseconds": round(1e6 * seconds_per_row(back, judges), 4),
                "seconds": round(took, 2),
                "warnings": list(result.warnings),
            }
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, metavar="DIR", help="folder of model files")
    parser.add_argument("--only", metavar="TEXT", default="", help="those with that in their name")
    parser.add_argument("--table", action="store_true", help="run nothing: write the page from the records")
    args = parser.parse_args()
    if not args.table:
        if args.models is None:
            parser.error("name a folder with --models, or say --table")
        for path in sorted(p for p in args.models.iterdir() if p.suffix not in NO_MODELS and args.only in p.name):
            for record in measured(path):
                journal.append(RECORDS, record)
                print(f"{record['model']:24} {record['ratio']:5.0%} {record['vectors']:5} {record['agreement']:.4f}")
    PAGE.write_text(page(journal.read(RECORDS)), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
