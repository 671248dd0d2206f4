"""The data sets of the benchmarks and their teachers.

Each set is an NPZ file in a folder that the caller names. Preparation and parameters of the teachers are fixed here
once: features of the small dense sets are standardised on the training rows, MNIST is divided by 255, text becomes
sublinear tf-idf (20 Newsgroups reduced to 200 dimensions and normalised). Teachers are trained once and cached as
native models.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import SVC, SVR

import svmpress

PARAMETERS: dict[str, dict[str, float]] = {
    "pageblocks": {"C": 10, "gamma": 0.3},
    "magic": {"C": 30, "gamma": 0.1},
    "letters": {"C": 30, "gamma": 0.15},
    "20news": {"C": 10, "gamma": 2},
    "mnist": {"C": 10, "gamma": 0.02},
    "ohsumed": {"C": 10, "gamma": 0.3},
    "california": {"C": 3, "gamma": 0.5, "epsilon": 0.1},
}
SETS = tuple(PARAMETERS)


@dataclass(frozen=True)
class Split:
    """Prepared rows: training (n, d) and test."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


@dataclass(frozen=True)
class Teacher:
    """A trained SVM as a model of svmpress, what it scores on the test rows, and how long its training took."""

    model: svmpress.KernelModel
    score: float
    train_seconds: float


def load(folder: Path, name: str) -> Split:
    """Return a set, prepared."""
    path = folder / f"{name}.npz"
    if not path.exists():
        raise SystemExit(f"{path} is missing; --data names the folder with the NPZ files")
    z = np.load(path)

    def rows(part: str) -> Any:
        if f"X_{part}" in z:
            return z[f"X_{part}"].astype(np.float64)
        parts = z[f"X_{part}_data"].astype(np.float64), z[f"X_{part}_indices"].astype(np.int32), z[f"X_{part}_indptr"]
        return sp.csr_matrix(parts, shape=tuple(z[f"X_{part}_shape"]))

    X, X_test, y, y_test = rows("train"), rows("test"), z["y_train"], z["y_test"]
    if name == "mnist":
        return Split(X / 255, y, X_test / 255, y_test)
    if sp.issparse(X):
        weights = TfidfTransformer(sublinear_tf=True).fit(X)
        X, X_test = weights.transform(X), weights.transform(X_test)
        if name == "20news":
            reduce = TruncatedSVD(200, random_state=0).fit(X)
            X, X_test = normalize(reduce.transform(X)), normalize(reduce.transform(X_test))
        return Split(X, y, X_test, y_test)
    scaler = StandardScaler().fit(X)
    if name == "california":
        mean, spread = y.mean(), y.std()
        y, y_test = (y - mean) / spread, (y_test - mean) / spread
    return Split(scaler.transform(X), y, scaler.transform(X_test), y_test)


def estimator(name: str) -> Any:
    """Return the unfitted teacher of a set."""
    kind = SVR if name == "california" else SVC
    return kind(cache_size=1500, **PARAMETERS[name])


def score(y: np.ndarray, answers: np.ndarray) -> float:
    """Return the accuracy of labels, or the R² of values."""
    if y.dtype.kind == "f" and len(np.unique(y)) > 100:
        return 1.0 - float(np.sum((y - answers) ** 2) / np.sum((y - y.mean()) ** 2))
    return float(np.mean(y == answers))


def teacher(folder: Path, cache: Path, name: str, split: Split | None = None) -> Teacher:
    """Return the teacher of a set, trained now if it is not in the cache."""
    model_path, facts_path = cache / f"{name}.svmpress", cache / f"{name}.json"
    if model_path.exists() and facts_path.exists():
        facts = json.loads(facts_path.read_text())
        return Teacher(svmpress.load(model_path), facts["score"], facts["train_seconds"])
    split = split or load(folder, name)
    start = time.perf_counter()
    fitted = estimator(name).fit(split.X, split.y)
    seconds = time.perf_counter() - start
    model = svmpress.from_estimator(fitted)
    found = Teacher(model, score(split.y_test, model.predict(split.X_test)), seconds)
    cache.mkdir(parents=True, exist_ok=True)
    svmpress.save(model, model_path)
    facts_path.write_text(json.dumps({"score": found.score, "train_seconds": found.train_seconds}))
    return found
