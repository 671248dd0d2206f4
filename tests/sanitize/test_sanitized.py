"""Random models, rows and lies for the extension: ``make test-sanitize`` runs them under AddressSanitizer and UBSan.

Without the sanitizers a fixed few still run: answers are compared with NumPy's.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy import sparse

from svmpress import native
from svmpress.decoders import PairVote
from svmpress.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid
from svmpress.predictor import Predictor

compiled, _ = native.load()
pytestmark = pytest.mark.skipif(compiled is None, reason="the extension is not built")
TRIALS = int(os.environ.get("SVMPRESS_SANITIZE", "10"))
SETS = [] if compiled is None else [name for name, _ in compiled.instruction_sets()]
KERNELS = [RBF(0.3), Laplacian(0.2), Sigmoid(0.1, 0.2), Polynomial(0.5, 1.0, 3), Linear()]
NUMBERS = [0, 1, 2, 3, 7, 8, -1, 2**31 - 1, 2**31, 2**62, 2**63 - 1, -(2**63)]


def layouts(X, rng):
    """The same rows as others hold them: in other orders, strides and types."""
    wide = np.zeros((2 * X.shape[0] + 1, 3 * X.shape[1] + 1), X.dtype)
    wide[1::2, 1::3] = X
    return [X, np.asfortranarray(X), wide[1::2, 1::3], X[::-1][::-1], np.broadcast_to(X[:1], (5, X.shape[1]))]


@pytest.mark.parametrize("isa", SETS)
def test_random_models_and_rows(isa):
    rng = np.random.default_rng(1)
    for trial in range(TRIALS):
        m, d, M = (int(k) for k in rng.integers(1, (40, 30, 12)))
        kernel, dtype = KERNELS[trial % len(KERNELS)], (np.float64, np.float32)[trial // len(KERNELS) % 2]
        V, A, b = rng.normal(size=(m, d)).astype(dtype), rng.normal(size=(m, M)).astype(dtype), np.zeros(M, dtype)
        predictor = Predictor(kernel, V, A, b, isa)
        X = rng.normal(size=(int(rng.integers(0, 50)) + 1, d))
        for rows in [*layouts(X, rng), *layouts(X.astype(np.float32), rng)]:
            expected = kernel.gram(rows.astype(np.float64), V.astype(np.float64)) @ A.astype(np.float64)
            np.testing.assert_allclose(predictor.dense(rows, n_threads=3), expected, rtol=0, atol=2e-3 * (m + d) ** 2)
        rows = sparse.csr_array(X * (rng.random(X.shape) < 0.3))
        expected = kernel.gram(rows.toarray(), V.astype(np.float64)) @ A.astype(np.float64)
        np.testing.assert_allclose(predictor(rows), expected, rtol=0, atol=2e-3 * (m + d) ** 2)


@pytest.mark.parametrize("isa", SETS)
def test_random_ballots(isa):
    rng = np.random.default_rng(2)
    for _ in range(max(2, TRIALS // 5)):
        K, m, d = (int(k) for k in rng.integers((6, 1, 1), (20, 60, 20)))
        V, A = rng.normal(size=(m, d)), rng.normal(size=(m, K * (K - 1) // 2))
        predictor = Predictor(RBF(0.3), V, A, rng.normal(size=A.shape[1]), isa)
        packed, X = predictor.pack_ballot(K), rng.normal(size=(3 * K, d))
        winner = np.empty(len(X), np.int64)
        assert packed.vote_dense(X, winner, 2, None, None) == -1
        counted = PairVote(np.arange(K)).labels(predictor.dense(X))
        assert np.all((winner == counted) | (winner == -1))


def lie(value, rng):
    """Another value of the same kind, which says what is not so."""
    if isinstance(value, np.ndarray) and value.size:
        choice = rng.integers(4)
        if choice == 0:
            return value.ravel()[: rng.integers(value.size + 1)].copy()
        if choice == 1:
            with np.errstate(invalid="ignore", over="ignore"):
                return value.astype((np.float32, np.float64, np.int32, np.int64)[rng.integers(4)])
        changed = value.copy()
        changed.flat[rng.integers(value.size)] = NUMBERS[rng.integers(8)] if value.dtype.kind == "f" else (
            NUMBERS[rng.integers(len(NUMBERS))] if value.dtype == np.int64 else -5)  # fmt: skip
        return changed
    if isinstance(value, float):
        return float(rng.choice([0.0, -1.0, np.nan, np.inf, 1e308]))
    if isinstance(value, int):
        return NUMBERS[rng.integers(len(NUMBERS))]
    return value


def told(function, arguments, rng):
    """Call with some lies; nothing but an ordinary error may come of them."""
    arguments = dict(arguments)
    for name in rng.choice(list(arguments), size=rng.integers(1, 3), replace=False):
        arguments[str(name)] = lie(arguments[str(name)], rng)
    named = function in (compiled.Packed, compiled.Objective)
    try:
        return function(**arguments) if named else function(*arguments.values())
    except (ValueError, TypeError, OverflowError, MemoryError, BufferError):
        return None


@pytest.mark.parametrize("isa", SETS)
def test_arguments_that_lie(isa):
    from svmpress.predictor import packing

    rng = np.random.default_rng(3)
    lanes = dict(compiled.instruction_sets())[isa] // 8
    made = 0
    for trial in range(20 * TRIALS):
        M = (2, 6, 15)[trial % 3]
        V, A = rng.normal(size=(9, 4)), rng.normal(size=(9, M)) * (rng.random((9, M)) < 0.5)
        parts = packing.pack(KERNELS[trial % 5], V, A, np.zeros(M), lanes, np.dtype(float), compiled.FEW_OUTPUTS)
        packed = told(compiled.Packed, {"isa": isa, "itemsize": 8, **parts}, rng)
        if packed is None:
            continue
        made += 1
        X, out = rng.normal(size=(11, 4)), np.empty((11, M))
        rows = sparse.csr_array(X)
        told(packed.predict_dense,
             {"X": X, "out": out, "threads": 2, "shift": np.zeros(4), "factor": np.ones(4)}, rng)  # fmt: skip
        told(packed.predict_csr,
             {"values": rows.data, "indices": rows.indices.astype(np.int32), "indptr": rows.indptr.astype(np.int64),
              "out": out, "threads": 2}, rng)  # fmt: skip
    assert made > 0


@pytest.mark.parametrize("isa", SETS)
@pytest.mark.parametrize("as_csr", [False, True])
def test_objectives_that_lie(isa, as_csr):
    rng = np.random.default_rng(4)
    made = 0
    for trial in range(10 * TRIALS):
        X, M, m = rng.normal(size=(60, 4)), 3, 5
        rows = sparse.csr_array(X * (rng.random(X.shape) < 0.5))
        parts = (rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int64))
        if as_csr and trial % 3 == 0:
            parts = tuple(lie(part, rng) if i == trial % 9 // 3 else part for i, part in enumerate(parts))
        given = {
            "isa": isa,
            "rows": parts if as_csr else X,
            "n_features": 4,
            "n_outputs": M,
            "groups": np.array([[0, 1, 40, 3], [40, 1, 20, 2]]),
            "targets": rng.normal(size=40 * 3 + 20 * 2),
            "outputs": np.array([0, 1, 2, 0, 2]),
            "weights": np.ones(5),
            "sides": (None, np.ones(5))[trial % 2],
        }
        objective = told(compiled.Objective, given, rng)
        if objective is None:
            continue
        made += 1
        V, grams, moments, kept = np.ones((m, 4)), np.empty((2, 6, 6)), np.empty((6, 3)), np.empty((60, 16))
        told(objective.equations,
             {"kernel": trial % 5, "gamma": 0.5, "coef0": 0.1, "degree": 2.0, "V": V, "shift": np.zeros(5),
              "grams": grams, "moments": moments, "kept": (kept, None)[trial % 2],
              "pieces": (None, np.array([[0, 0, 3, 0, 5]]))[trial % 2], "threads": 2}, rng)  # fmt: skip
        told(objective.slopes,
             {"kernel": trial % 5, "gamma": 0.5, "coef0": 0.1, "degree": 2.0, "V": V, "coef": np.ones((m, M)),
              "intercept": np.zeros(M), "factor": 1.0, "trust": False, "width": True, "kept": kept, "known": False,
              "dV": np.empty((m, 4)), "dA": np.empty((m + 1, M)), "threads": 2}, rng)  # fmt: skip
    assert made > 0
