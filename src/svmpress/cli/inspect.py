"""``svmpress inspect``."""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from svmpress.cli.common import Report, add_command, format_bytes, format_seconds, table
from svmpress.cli.models import add_model_arguments, load_model

_EPILOG = """\
examples:
  svmpress inspect small.model
  svmpress inspect small.svmpress --json
"""
_MOST_LISTED = 12
"""Classes and names of features that are shown."""
_MOST_LETTERS = 60
"""Longer entries of the provenance are left out."""
_MOST_FEATURES = 4096
"""Models of more features than this get sparse rows, whose cost depends on what they hold."""
_TIMED_OPERATIONS = 10**8


def add(commands: Any) -> None:
    """Declare the command."""
    p = add_command(
        commands,
        "inspect",
        run,
        usage="MODEL [options]",
        help="Say what a model file holds, what it costs, and which predictor is in use.",
        epilog=_EPILOG,
    )
    p.add_argument("model", metavar="MODEL", help="model file")
    add_model_arguments(p)


def run(args: argparse.Namespace) -> Report:
    """Describe a model file."""
    from svmpress import predictor
    from svmpress.model import expansion_bytes
    from svmpress.numerics import arrays

    model = load_model(args, args.model)
    f = model.expansion
    facts = {
        "file": args.model,
        "file_bytes": Path(args.model).stat().st_size,
        "task": model.task,
        "kernel": {"name": model.kernel.name, **model.kernel.params},
        "vectors": model.n_vectors,
        "sparse_vectors": arrays.is_csr(f.vectors),
        "features": model.n_features,
        "feature_names": None if model.feature_names is None else list(model.feature_names),
        "outputs": model.n_outputs,
        "decoder": type(model.decoder).__name__,
        "classes": None if model.classes_ is None else model.classes_.tolist(),
        "libsvm_layout": f.coef_mask is not None,
        "bytes": expansion_bytes(f),
        "multiply_adds": f.multiply_adds,
        "seconds_per_prediction": _seconds(model),
        "scaling": _scaling(model),
        "probability": sorted(model.probability),
        "provenance": dict(model.provenance),
        "predictor": predictor.describe(),
    }
    return Report(facts, table(_text(facts)))


def _seconds(model: Any) -> float | None:
    """Return the measured time of one prediction, in batches of random rows; None where those would not be typical."""
    if model.n_features > _MOST_FEATURES:
        return None
    n = int(np.clip(_TIMED_OPERATIONS // max(1, model.expansion.multiply_adds), 1, 1000))
    X = np.abs(np.random.default_rng(0).standard_normal((n, model.n_features)))
    best = math.inf
    for _ in range(5):
        start = time.perf_counter()
        model.predict(X)
        best = min(best, time.perf_counter() - start)
    return best / n


def _scaling(model: Any) -> str | None:
    if model.scaling is None:
        return None
    return "factor per feature" if model.scaling.shift is None else "shift and factor per feature"


def _text(facts: dict[str, Any]) -> dict[str, Any]:
    kernel = dict(facts["kernel"])
    name = kernel.pop("name")
    params = ", ".join(f"{key}={value:g}" for key, value in kernel.items())
    return {
        "file": f"{facts['file']}, {format_bytes(facts['file_bytes'])}",
        "task": facts["task"],
        "kernel": f"{name} ({params})" if params else name,
        "vectors": f"{facts['vectors']:,} ({'sparse' if facts['sparse_vectors'] else 'dense'})",
        "features": _listed(facts["feature_names"]) or f"{facts['features']:,}",
        "outputs": f"{facts['outputs']:,}, decoded by {facts['decoder']}",
        "classes": _listed(facts["classes"]),
        "layout": "each vector belongs to one class (LibSVM)" if facts["libsvm_layout"] else None,
        "arrays": f"{format_bytes(facts['bytes'])} of vectors, coefficients and intercepts, dense",
        "cost": f"{facts['multiply_adds']:,} multiply-adds per prediction",
        "time": _time(facts["seconds_per_prediction"]),
        "scaling": facts["scaling"] or "none",
        "probability": ", ".join(facts["probability"]) or None,
        "provenance": _provenance(facts["provenance"]),
        "predictor": facts["predictor"],
    }


def _provenance(entries: dict[str, Any]) -> str | None:
    """Return what is known of where the model came from; what is kept for writing it again is no text for people."""
    shown = {key: value for key, value in entries.items() if key != "note" and len(str(value)) <= _MOST_LETTERS}
    return ", ".join(f"{key}={value}" for key, value in shown.items()) or None


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else f"about {format_seconds(seconds)} per prediction, in batches, on this machine"


def _listed(items: list[Any] | None) -> str | None:
    """Return how many there are, and the first of them."""
    if items is None:
        return None
    shown = ", ".join(map(str, items[:_MOST_LISTED]))
    return f"{len(items):,}: {shown}{', ...' if len(items) > _MOST_LISTED else ''}"
