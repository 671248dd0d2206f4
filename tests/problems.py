"""Problems as `svmpress.compress` builds them, for tests of the parts below it."""

from __future__ import annotations

import numpy as np

import svmpress
from svmpress.methods import Problem
from svmpress.numerics import Backend


def problem_of(model, X=None, y=None) -> Problem:
    """Return the problem of an estimator or a model, with y as `compress` would translate it."""
    source = svmpress.from_estimator(model) if hasattr(model, "fit") else model
    if y is not None and source.classes_ is not None:
        y = np.array([source.classes_.tolist().index(v) for v in np.asarray(y).tolist()])
    elif y is not None:
        y = np.asarray(y, dtype=float)[:, None]
    return Problem(
        source=source,
        rows=X,
        y=y,
        layout="shared",
        backend=Backend.of("cpu"),
        seed=0,
        max_bytes=2**28,
        progress=lambda stage, done, total: None,
    )
