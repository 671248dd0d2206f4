"""What one row costs: in the small model, in estimators around it, and in the steps before it.

    python benchmarks/one_row.py [--repeats 7]          prints a table and appends a record

A table of 20 columns of numbers and 2 of words, two classes; the SVM behind a ColumnTransformer (imputers, a scaler,
one-hot words) is compressed to 30 vectors. Questions take turns; the least mean time of some hundred
calls is reported: this is about calls, not rows.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from tqdm import tqdm

import journal
import svmpress
from svmpress.methods import Auto
from svmpress.study.worker import revision

RECORDS = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "one_row.jsonl"
WORDS = {"town": ["Ulm", "Bonn", "Kiel"], "plan": ["free", "paid"]}
WORK = 1e8
"""Of a compression: how good it is does not matter here."""


def table(n: int) -> tuple[pd.DataFrame, Any]:
    """Return rows and labels."""
    X, y = make_classification(n, 20, n_informative=10, random_state=0)
    rng = np.random.default_rng(0)
    words = {name: rng.choice(some, n) for name, some in WORDS.items()}
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(20)]).assign(**words), y


def questions() -> dict[str, Callable[[], Any]]:
    """Return what is timed, by name."""
    rows, y = table(1500)
    numbers = [f"x{i}" for i in range(20)]
    cleaned = make_pipeline(SimpleImputer(), StandardScaler())
    before = ColumnTransformer([("numbers", cleaned, numbers), ("words", OneHotEncoder(), list(WORDS))])
    pipeline = make_pipeline(before, SVC(C=3)).fit(rows, y)
    small = svmpress.compress(pipeline, rows, y, vectors=30, method=Auto(work=WORK)).estimator
    plain = SVC(C=3).fit(rows[numbers], y)
    result = svmpress.compress(plain, rows[numbers], y, vectors=30, method=Auto(work=WORK))
    calibrated = CalibratedClassifierCV(SVC(C=3), ensemble=False).fit(rows[numbers].to_numpy(), y)
    probable = svmpress.compress(calibrated, rows[numbers].to_numpy(), y, vectors=30, method=Auto(work=WORK))
    one, frame, whole = rows[numbers].to_numpy()[:1].copy(), rows[numbers][:1], rows[:1]
    backwards = frame[numbers[::-1]]
    transformed = small[:-1].transform(whole)
    return {
        "model.predict, array": lambda: result.model.predict(one),
        "model.decision_function, array": lambda: result.model.decision_function(one),
        "model.predict_proba, array": lambda: probable.model.predict_proba(one),
        "estimator.predict, array": lambda: result.estimator.predict(one),
        "model.predict, table": lambda: result.model.predict(frame),
        "model.predict, table in another order": lambda: result.model.predict(backwards),
        "SVC.predict, table": lambda: plain.predict(frame),
        "small pipeline.predict, table": lambda: small.predict(whole),
        "its steps before the SVM alone": lambda: small[:-1].transform(whole),
        "its SVM alone": lambda: small[-1].predict(transformed),
        "large pipeline.predict, table": lambda: pipeline.predict(whole),
    }


def calls_of(ask: Callable[[], Any]) -> int:
    """Return how many calls take about 50 ms."""
    ask()
    begun = time.perf_counter()
    ask()
    return max(3, min(2000, int(0.05 / max(time.perf_counter() - begun, 1e-7))))


def seconds_of(ask: Callable[[], Any], calls: int) -> float:
    """Return the mean time of a call."""
    begun = time.perf_counter()
    for _ in range(calls):
        ask()
    return (time.perf_counter() - begun) / calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    asked = questions()
    calls = {name: calls_of(ask) for name, ask in asked.items()}
    least = dict.fromkeys(asked, float("inf"))
    for _ in tqdm(range(args.repeats), unit="turn", file=sys.stderr):
        for name, ask in asked.items():
            least[name] = min(least[name], seconds_of(ask, calls[name]))
    found = {name: round(1e6 * seconds, 2) for name, seconds in least.items()}
    for name, value in found.items():
        print(f"{name:40} {value:10,.2f} µs")
    record = {
        "microseconds": found,
        "code": revision(),
        "version": svmpress.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "sklearn": sklearn.__version__,
        "pandas": pd.__version__,
        "load": round(os.getloadavg()[0], 2),
        "cores": os.cpu_count(),
    }
    journal.append(RECORDS, record)


if __name__ == "__main__":
    main()
