"""What each candidate of the default method is worth: all of them, each left out alone, and copies only.

    python benchmarks/ablation.py --data DIR --jobs 4    runs what has no record yet, then writes the page
    python benchmarks/ablation.py --data DIR --sets ring segment --ratios 0.05 --seeds 0 --variants auto
    python benchmarks/ablation.py --page             writes docs/decisions.md from the records

On the sets of ``DIR/small``, which had no part in making the method, and those of the accuracy table (``--large``).
Every cell (set, ratio, variant, seed) is one record in ``benchmarks/results/ablation.jsonl``. Teachers of small sets
are chosen by 3-fold cross-validation on at most 3,000 training rows; test rows are used for the reported score alone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmpress
from ablation_report import MASKED, page

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "benchmarks" / "results" / "ablation.jsonl"
PAGE = ROOT / "docs" / "decisions.md"
CACHE = ROOT / ".cache" / "teachers"
SMALL = ("banana", "german", "marketing", "penbased", "ring", "segment", "splice", "twonorm", "vehicle")
LARGE = ("pageblocks", "magic", "letters", "20news", "mnist", "ohsumed", "california")
RATIOS = (0.01, 0.02, 0.05, 0.1)
MOST_TUNED_ON = 3000
FEWEST_VECTORS = 2
OF_MASKS = ("norm", "clip")
"""Candidates that apply in the LibSVM layout alone."""


class Cell(NamedTuple):
    """One compression: its place in the experiment."""

    set: str
    ratio: float
    variant: str
    seed: int


class Loaded(NamedTuple):
    """A set and its teacher."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    model: svmpress.KernelModel


@lru_cache(maxsize=2)
def load(folder: Path, name: str) -> Loaded:
    """Return a set, prepared, and its teacher, trained now if it is not in the cache."""
    if name in LARGE:
        import sets

        split = sets.load(folder, name)
        return Loaded(split.X, split.y, split.X_test, split.y_test, sets.teacher(folder, CACHE, name, split).model)
    with np.load(folder / "small" / f"{name}.npz") as z:
        X, y, X_test, y_test = (z[key] for key in ("X_train", "y_train", "X_test", "y_test"))
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    path = CACHE / f"small-{name}.svmpress"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        svmpress.save(svmpress.from_estimator(tuned(X, y)), path)
    return Loaded(X, y, X_test, y_test, svmpress.load(path))


def tuned(X: np.ndarray, y: np.ndarray) -> SVC:
    """Return the teacher of a small set: C and gamma by cross-validation."""
    some = np.random.default_rng(0).permutation(len(y))[:MOST_TUNED_ON]
    grid = {"C": [1, 10, 100], "gamma": [factor / X.shape[1] for factor in (0.25, 1, 4)]}
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    found = GridSearchCV(SVC(cache_size=500), grid, cv=folds).fit(X[some], y[some])
    return found.best_estimator_.fit(X, y)


def variants() -> dict[str, Any]:
    """Return the methods to compare, by name."""
    from svmpress.methods import CANDIDATES, Auto

    found = {"auto": Auto(), "copies": Auto(copies_only=True), "model alone": Auto(), "fast": Auto(effort="fast")}
    found[MASKED] = Auto()
    for left_out in CANDIDATES:
        rest = tuple(c for c in CANDIDATES if c is not left_out)
        masked = left_out.name in OF_MASKS
        found[f"{MASKED if masked else ''} without {left_out.name}".strip()] = Auto(candidates=rest)
    return found


def score(y: np.ndarray, answers: np.ndarray) -> float:
    """Return the accuracy of labels, or the R² of values."""
    if y.dtype.kind == "f" and len(np.unique(y)) > 100:
        return 1.0 - float(np.sum((y - answers) ** 2) / np.sum((y - y.mean()) ** 2))
    return float(np.mean(y == answers))


def run(folder: Path, cell: Cell, code: str) -> dict[str, Any]:
    """Compress once and return the record."""
    data = load(folder, cell.set)
    m = round(cell.ratio * data.model.n_vectors)
    rows = (None, None) if cell.variant == "model alone" else (data.X, data.y)
    method = variants()[cell.variant] if code != "baseline" else "auto"
    start = time.perf_counter()
    layout = "libsvm" if cell.variant.startswith(MASKED) else "shared"
    result = svmpress.compress(data.model, *rows, vectors=m, random_state=cell.seed, method=method, layout=layout)
    seconds = time.perf_counter() - start
    answers, reference = result.model.predict(data.X_test), data.model.predict(data.X_test)
    decisions = [vars(d) for d in getattr(result, "decisions", ())]
    return {
        **cell._asdict(),
        "code": code,
        "vectors": result.model.n_vectors,
        "outputs": result.model.n_outputs,
        "score_full": score(data.y_test, reference),
        "score": score(data.y_test, answers),
        "agreement": score(reference, answers),
        "seconds": round(seconds, 3),
        "decisions": decisions,
    }


def cells(args: argparse.Namespace) -> Iterator[Cell]:
    """Return what is asked for, large and slow things first."""
    for name, ratio, variant, seed in product(args.sets, sorted(args.ratios, reverse=True), args.variants, args.seeds):
        model = load(args.data, name).model
        has_mask = model.classes_ is not None and model.classes_.size > 2
        enough = round(ratio * model.n_vectors) >= FEWEST_VECTORS
        if enough and (has_mask or not variant.startswith(MASKED)):
            yield Cell(name, ratio, variant, seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--large", action="store_true", help="the sets of the accuracy table, too")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--ratios", nargs="+", type=float, default=list(RATIOS))
    parser.add_argument("--variants", nargs="+")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--code", default="", help="what to call this revision in the records")
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--page", action="store_true", help="only write the page")
    args = parser.parse_args()
    args.sets = args.sets or [*SMALL, *(LARGE if args.large else ())]
    args.variants = args.variants or list(variants())
    if not args.page:
        known = [json.loads(line) for line in args.records.read_text().splitlines()] if args.records.exists() else []
        done = {(r["code"], *(r[key] for key in Cell._fields)) for r in known}
        todo = [cell for cell in cells(args) if (args.code, *cell) not in done]
        args.records.parent.mkdir(parents=True, exist_ok=True)
        with ProcessPoolExecutor(args.jobs) as pool, args.records.open("a") as file:
            futures = {pool.submit(run, args.data, cell, args.code): cell for cell in todo}
            for i, future in enumerate(as_completed(futures)):
                file.write(json.dumps(future.result()) + "\n")
                file.flush()
                print(f"\r{i + 1} of {len(todo)}", end="", file=sys.stderr)
    if args.records == RECORDS:
        PAGE.write_text(page(args.records), encoding="utf-8")


if __name__ == "__main__":
    main()
