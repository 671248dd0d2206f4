"""Write small models of every kind in the native format, for the tests of all later versions to read.

    python tests/formats/golden/write.py        writes tests/formats/golden/protocol-N/

N is the protocol that this version writes. A folder that is there is never written again: that its files stay as they
are is what they are for.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from svmpress.decoders import Argmax, Identity, PairDAG, PairVote, Sign
from svmpress.formats import native
from svmpress.kernels import RBF, ChiSquared, Laplacian, Linear, Polynomial, Sigmoid
from svmpress.model import KernelExpansion, KernelModel, Scaling

HERE = Path(__file__).parent
V = np.array([[0.5, 1.0, 0.0], [0.1, 0.0, 2.0], [1 / 3, 0.25, 1e-3], [3.0, 0.0, 0.0]])
"""Vectors, (4, 3), none negative: chi-squared kernels take no others."""
A = np.array([[0.7, -1.3, 0.1], [1 / 7, 0.2, -0.9], [-2.0, 0.0, 0.4], [0.3, 1.1, 0.0]])
B = np.array([0.1, -0.2, 1 / 3])
ROWS = np.array([[0.4, 0.9, 0.1], [0.0, 0.0, 0.0], [2.5, 0.5, 1.5], [1.0, 1.0, 1.0]])
"""What every model is asked."""


def models() -> dict[str, KernelModel]:
    """Return the models by name: every kernel, decoder, task and layout, and labels of every type."""
    one, three = (A[:, :1], B[:1]), (A, B)
    mask = A != 0
    words = np.array(["ä", "b", "c c"])
    csr = sparse.csr_array(V)
    platt = {"probA": np.array([-1.5]), "probB": np.array([0.25])}
    return {
        "binary": KernelModel(KernelExpansion(RBF(0.5), V, *one), Sign(np.array([0, 1])), probability=platt),
        "single-precision": KernelModel(
            KernelExpansion(RBF(0.5), *(a.astype(np.float32) for a in (V, *one))), Sign(np.array([False, True]))
        ),
        "sparse": KernelModel(KernelExpansion(RBF(2.0), csr, *three, mask), PairVote(np.array([3, 1, 2]))),
        "votes": KernelModel(
            KernelExpansion(Polynomial(0.5, 1.0, 3), V, *three), PairVote(words), scaling=Scaling(V[0], V[0] + 2.0)
        ),
        "graph": KernelModel(KernelExpansion(Laplacian(0.3), V, *three), PairDAG(np.array([0.5, 1.5, 2.5]))),
        "one-vs-rest": KernelModel(
            KernelExpansion(Sigmoid(0.1, -0.5), V, *three),
            Argmax(np.array([1, "two", 3.5], dtype=object)),
            scaling=Scaling(None, np.array([1.0, 2.0, 0.0])),
        ),
        "regression": KernelModel(
            KernelExpansion(ChiSquared(0.7), V, *three),
            Identity(),
            "regression",
            provenance={"made": "by hand", "C": 2.5},
        ),
        "names": KernelModel(
            KernelExpansion(RBF(0.5), V, *one), Sign(np.array(["in", "out"])), feature_names=("width", "höhe", "age")
        ),
        "outlier": KernelModel(KernelExpansion(Linear(), V, *one), Sign(np.array([-1, 1])), "outlier"),
    }


def record(model: KernelModel) -> dict[str, Any]:
    """Return what a model is and answers, as JSON holds it: its numbers read back bit by bit."""
    f = model.expansion
    dense = f.vectors.toarray() if sparse.issparse(f.vectors) else f.vectors
    arrays = {"vectors": dense, "coef": f.coef, "intercept": f.intercept, "coef_mask": f.coef_mask}
    arrays |= {"classes": model.classes_} | {name: np.asarray(a) for name, a in model.probability.items()}
    if model.scaling is not None:
        arrays |= {"shift": model.scaling.shift, "factor": model.scaling.factor}
    return {
        "task": model.task,
        "kernel": [f.kernel.name, dict(f.kernel.params)],
        "decoder": type(model.decoder).__name__,
        "sparse": bool(sparse.issparse(f.vectors)),
        "dtype": str(f.coef.dtype),
        "provenance": dict(model.provenance),
        "feature_names": None if model.feature_names is None else list(model.feature_names),
        "arrays": {name: None if a is None else a.tolist() for name, a in arrays.items()},
        "decision_values": model.decision_values(ROWS.astype(f.coef.dtype)).tolist(),
        "answers": model.predict(ROWS.astype(f.coef.dtype)).tolist(),
    }


def write(folder: Path) -> None:
    """Write the models and what they are, into a folder that must not be there."""
    folder.mkdir()
    made = models()
    for name, model in made.items():
        native.write(model, folder / f"{name}.svmpress")
    records = {name: record(model) for name, model in made.items()}
    (folder / "models.json").write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / f"protocol-{native.PROTOCOL}")
