"""What a plain user spends on tuning the source: scikit-learn's grid search of 9 cells and 3 folds, as it comes.

    python benchmarks/tuning.py --data DIR [--sets ...]          appends records; sets that have one are not run again
    python benchmarks/tuning.py --data DIR --again               all the same

``GridSearchCV(SVC(cache_size=1500), {"C": [...], "gamma": [...]}, cv=3).fit(X, y)``, the rest left alone: one process,
every cell trained on two thirds of the rows and scored on the third, and the best one trained again on all. The grid is
a decade up and down from the teacher's C and gamma. ``docs/accuracy.md`` sets the seconds of compression beside it.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from pathlib import Path
from typing import Any

import sklearn
from sklearn.model_selection import GridSearchCV
from tqdm import tqdm

import journal
from sets import PARAMETERS, SETS, estimator, load

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "benchmarks" / "results" / "tuning.jsonl"
FACTORS = (0.1, 1.0, 10.0)


def measure(folder: Path, name: str) -> dict[str, Any]:
    """Tune the teacher of a set once and return the record."""
    split = load(folder, name)
    grid = {key: [factor * PARAMETERS[name][key] for factor in FACTORS] for key in ("C", "gamma")}
    search = GridSearchCV(estimator(name), grid, cv=3)
    begun = time.perf_counter()
    search.fit(split.X, split.y)
    seconds = time.perf_counter() - begun
    return {
        "set": name,
        "cells": len(list(itertools.product(*grid.values()))),
        "folds": search.n_splits_,
        "seconds": round(seconds, 2),
        "best": search.best_params_,
        "load": round(os.getloadavg()[0], 2),
        "cores": os.cpu_count(),
        "scikit_learn": sklearn.__version__,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the NPZ files")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=[name for name in SETS if name != "mnist"])
    parser.add_argument("--again", action="store_true", help="run sets that have a record, too")
    args = parser.parse_args()
    have = set() if args.again else {r["set"] for r in journal.read(RECORDS)}
    for name in tqdm([name for name in args.sets if name not in have], unit="set", file=sys.stderr):
        journal.append(RECORDS, measure(args.data, name))


if __name__ == "__main__":
    main()
