"""The data sets of the benchmarks and their teachers: those of the study, and a regression.

Preparation, parameters and the cache of teachers are :mod:`svmpress.study.sets`'s. *california* is added here: features
and values standardised on the training rows, an SVR as the teacher.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import svmpress
from svmpress.study import sets as study
from svmpress.study.sets import Split

PARAMETERS: dict[str, dict[str, float]] = {**study.PARAMETERS, "california": {"C": 3, "gamma": 0.5, "epsilon": 0.1}}
SETS = tuple(PARAMETERS)


@dataclass(frozen=True)
class Teacher:
    """A trained SVM as a model of svmpress, what it scores on the test rows, and how long its training took."""

    model: svmpress.KernelModel
    score: float
    train_seconds: float


def load(folder: Path, name: str) -> Split:
    """Return a set, prepared."""
    try:
        if name != "california":
            return study.load(folder, name)
        raw = study.read(folder, name)
    except svmpress.InputError as e:
        raise SystemExit(str(e)) from e
    scaler = StandardScaler().fit(raw.X)
    mean, spread = raw.y.mean(), raw.y.std()
    values = [(y - mean) / spread for y in (raw.y, raw.y_test)]
    return Split(scaler.transform(raw.X), values[0], scaler.transform(raw.X_test), values[1])


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
    if name != "california":
        found = study.teacher(cache, name, split)
        return Teacher(found.model, found.score, found.train_seconds)
    start = time.perf_counter()
    model = svmpress.from_estimator(estimator(name).fit(split.X, split.y))
    seconds = time.perf_counter() - start
    cache.mkdir(parents=True, exist_ok=True)
    svmpress.save(model, model_path)
    trained = Teacher(model, score(split.y_test, model.predict(split.X_test)), seconds)
    facts_path.write_text(json.dumps({"score": trained.score, "train_seconds": seconds}))
    return trained
