"""The data sets of the study: where they come from, how they are prepared, and their teachers.

The paper's six sets are known by name, with a preparation and the C and gamma of an RBF SVM, one-vs-one, fixed here
once:

    pageblocks, magic, letters   features standardised on the training rows
    mnist                        divided by 255
    20news                       sublinear tf-idf, reduced to 200 dimensions by a truncated SVD, rows normalised
    ohsumed                      sublinear tf-idf; it stands in for DMOZ, which is not to be had

Any other set is standardised (sparse rows: sublinear tf-idf), and its C and gamma are chosen on held-out rows. Rows
come from ``NAME.npz`` in a folder (dense ``X_train``, ``y_train``, ``X_test``, ``y_test``, or CSR parts
``X_train_data``, ...), or from the network, see :mod:`svmpress.study.openml`. ``rows`` keeps a random part of them,
the same each time.

A *teacher* is trained once and cached as a native model, with a JSON file of facts beside it. A digest of the rows and
labels is among the facts, so that the teacher of other rows is not taken for this set's.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import SVC

from svmpress import data, formats
from svmpress.errors import FormatError, InputError
from svmpress.model import KernelModel
from svmpress.numerics import Rows, chosen_rows, is_csr
from svmpress.storage import replacing
from svmpress.study import openml
from svmpress.study.task import Task
from svmpress.training import train

PARAMETERS: dict[str, dict[str, float]] = {
    "pageblocks": {"C": 10, "gamma": 0.3},
    "magic": {"C": 30, "gamma": 0.1},
    "letters": {"C": 30, "gamma": 0.15},
    "20news": {"C": 10, "gamma": 2},
    "mnist": {"C": 10, "gamma": 0.02},
    "ohsumed": {"C": 10, "gamma": 0.3},
}
"""C and gamma of the teachers of the known sets."""
SETS = tuple(PARAMETERS)
"""The six sets, in the order of the paper's Table 1."""
_DIMENSIONS = 200
"""Of 20news, as in the paper."""
_HASHED_ROWS = 4096
"""At a time: no second copy of all rows."""


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to train on, (n, d) with labels (n,), and rows to test on.

    ``digest`` is :func:`digest_of` the rows before their preparation, which rounds differently on other machines;
    empty if it is not known.
    """

    X: Rows
    y: NDArray[Any]
    X_test: Rows
    y_test: NDArray[Any]
    digest: str = ""

    def some(self, rows: int | None) -> Split:
        """Return at most ``rows`` training rows and half as many test rows, chosen at random with seed 0, in order.

        Examples
        --------
        >>> X, y = np.arange(8.0)[:, None], np.arange(8)
        >>> Split(X, y, X, y).some(4).X.shape
        (4, 1)
        """
        if rows is None:
            return self
        train_rows = chosen_rows(len(self.y), rows, seed=0)
        test_rows = chosen_rows(len(self.y_test), max(rows // 2, 1), seed=0)
        return Split(self.X[train_rows], self.y[train_rows], self.X_test[test_rows], self.y_test[test_rows])


def digest_of(split: Split) -> str:
    """Return a digest of values, labels and their order, whatever types of numbers hold them.

    Examples
    --------
    >>> X, y = np.array([[0, 1], [2, 3]], dtype=np.uint8), np.array([0, 1])
    >>> digest_of(Split(X, y, X, y)) == digest_of(Split(X.astype(float), y, X, y))
    True
    """
    found = hashlib.sha256()
    for X, y in ((split.X, split.y), (split.X_test, split.y_test)):
        found.update(repr(tuple(map(int, X.shape))).encode())
        if is_csr(X):
            rows = X.sorted_indices()
            for part, kind in ((rows.data, np.float64), (rows.indices, np.int64), (rows.indptr, np.int64)):
                found.update(np.ascontiguousarray(part, dtype=kind).data)
        else:
            for first in range(0, X.shape[0], _HASHED_ROWS):
                found.update(np.ascontiguousarray(X[first : first + _HASHED_ROWS], dtype=np.float64).data)
        found.update("\0".join(map(str, np.asarray(y).tolist())).encode())
    return found.hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class Teacher:
    """A trained SVM as a model of svmpress.

    Parameters
    ----------
    model : KernelModel
    C, gamma : float
    score : float
        Its accuracy on the test rows.
    train_seconds : float
    """

    model: KernelModel
    C: float
    gamma: float
    score: float
    train_seconds: float


# ---------------------------------------------------------------------------------------------------------
# Rows
# ---------------------------------------------------------------------------------------------------------


def read(folder: Path, name: str) -> Split:
    """Return ``NAME.npz`` of a folder as it is."""
    path = folder / f"{name}.npz"
    if not path.is_file():
        here = ", ".join(sorted(p.stem for p in folder.glob("*.npz"))) or "none"
        raise InputError(f"there is no data set {name} in {folder}: {path.name} is missing (sets there: {here})")
    options = data.ReadOptions(format="npz", labels=True)
    train_part, test_part = (data.read(path, options, split=part) for part in ("train", "test"))
    if train_part.y is None or test_part.y is None or train_part.X.shape[1] != test_part.X.shape[1]:
        raise FormatError(f"{path}: training and test rows need labels and the same features")
    return Split(train_part.X, train_part.y, test_part.X, test_part.y)


def prepare(name: str, split: Split) -> Split:
    """Return the rows of a set as its teacher sees them; see the module's docstring."""
    X, X_test = split.X, split.X_test
    if name == "mnist":
        X, X_test = X / 255, X_test / 255
    elif is_csr(X):
        weights = TfidfTransformer(sublinear_tf=True).fit(X)
        X, X_test = weights.transform(X), weights.transform(X_test)
        if name == "20news":
            reduce = TruncatedSVD(min(_DIMENSIONS, min(X.shape) - 1), random_state=0).fit(X)
            X, X_test = normalize(reduce.transform(X)), normalize(reduce.transform(X_test))
    else:
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    return replace(split, X=X, X_test=X_test)


def load(folder: Path | None, name: str, rows: int | None = None) -> Split:
    """Return a set, prepared.

    Parameters
    ----------
    folder : Path, optional
        With ``NAME.npz``; None: from the network.
    name : str
    rows : int, optional
        Keep at most this many rows to train on and half as many to test on.
    """
    raw = read(folder, name) if folder is not None else Split(*openml.fetch(name))
    some = raw.some(rows)
    if len(np.unique(some.y)) < 2:
        which = "training rows" if rows is None else f"{len(some.y):,} training rows that were drawn"
        raise InputError(f"the set {name} has one class only in its {which}; a classifier needs two")
    return prepare(name, replace(some, digest=digest_of(some)))


# ---------------------------------------------------------------------------------------------------------
# Teachers
# ---------------------------------------------------------------------------------------------------------


def teacher(cache: Path, name: str, split: Split) -> Teacher:
    """Return the teacher of a set, trained now if it is not in the cache.

    Parameters
    ----------
    cache : Path
        Folder of ``NAME.svmpress`` and ``NAME.json``.
    name : str
    split : Split
        Prepared rows.
    """
    model_path, facts_path = cache / f"{name}.svmpress", cache / f"{name}.json"
    if model_path.exists() and facts_path.exists():
        return _cached(model_path, facts_path, name, split)
    start = time.perf_counter()
    if name in PARAMETERS:
        chosen = PARAMETERS[name]
        model = formats.from_estimator(SVC(cache_size=1500, **chosen).fit(split.X, split.y))
    else:
        found = train(split.X, split.y, scale=None)
        chosen, model = {"C": float(found.C or 0), "gamma": float(found.gamma or 0)}, found.model
    seconds = time.perf_counter() - start
    score = float(np.mean(model.predict(split.X_test) == split.y_test))
    facts = {"score": score, "train_seconds": seconds, **chosen, **({"digest": split.digest} if split.digest else {})}
    cache.mkdir(parents=True, exist_ok=True)
    formats.save(model, model_path)
    with replacing(facts_path) as (file,):
        file.write(json.dumps(facts).encode())
    return Teacher(model, chosen["C"], chosen["gamma"], score, seconds)


def _cached(model_path: Path, facts_path: Path, name: str, split: Split) -> Teacher:
    model = formats.load(model_path)
    if model.n_features != split.X.shape[1]:
        raise InputError(
            f"{model_path} has {model.n_features} features and the set {name} has {split.X.shape[1]}: it is the "
            "teacher of other data; remove it, or name another folder of teachers"
        )
    try:
        facts: dict[str, Any] = PARAMETERS.get(name, {}) | json.loads(facts_path.read_text(encoding="utf-8"))
        found = Teacher(model, *(float(facts[key]) for key in ("C", "gamma", "score", "train_seconds")))
    except (ValueError, KeyError, TypeError) as e:
        raise FormatError(f"{facts_path} does not hold the facts of a teacher; remove it to train again") from e
    if split.digest and facts.get("digest", split.digest) != split.digest:
        raise InputError(
            f"{model_path} was trained on other rows or labels than the set {name} has now: remove it and "
            f"{facts_path.name}, or choose another --out or folder of teachers"
        )
    return found


def task(folder: Path | None, cache: Path, name: str, rows: int | None = None) -> Task:
    """Return a set with its teacher, as methods are given it."""
    split = load(folder, name, rows)
    found = teacher(cache, name, split)
    return Task(
        name, split.X, split.y, split.X_test, split.y_test,
        found.model, found.C, found.gamma, found.train_seconds, split.digest,
    )  # fmt: skip
