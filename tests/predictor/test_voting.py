"""The vote by checks answers as the full count of votes does, on every row."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svmpress import predictor
from svmpress.decoders import PairVote, class_pairs
from svmpress.errors import InputError
from svmpress.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid
from svmpress.model import KernelExpansion, KernelModel, Scaling
from svmpress.predictor import Ballot, Predictor

ISAS = list(predictor.instruction_sets())
compiled = pytest.mark.skipif(not ISAS, reason="this installation was built without a C compiler")
KERNELS = [RBF(0.3), Laplacian(0.2), Sigmoid(0.1, -0.3), Polynomial(0.2, 0.5, 3)]


def counted(classes, F):
    """Count the votes one by one; the first of equal counts wins."""
    votes = np.zeros((len(F), len(classes)), dtype=int)
    for p, (i, j) in enumerate(class_pairs(len(classes))):
        for row, value in enumerate(F[:, p]):
            votes[row, i if value > 0 else j] += 1
    return classes[np.argmax(votes, axis=1)]


def shared_model(seed, m, d, K, dtype, consistent):
    """Return the parts of a one-vs-one model; a consistent one has f_ij = g_i - g_j and a clear winner everywhere."""
    rng = np.random.default_rng(seed)
    V, pairs = rng.standard_normal((m, d)), class_pairs(K)
    A, b = rng.standard_normal((m, K)), rng.standard_normal(K)
    A, b = A[:, pairs[:, 0]] - A[:, pairs[:, 1]], b[pairs[:, 0]] - b[pairs[:, 1]]
    if not consistent:
        A, b = A + 2 * rng.standard_normal(A.shape), b + rng.standard_normal(b.shape)
    return tuple(a.astype(dtype) for a in (V, A, b))


@compiled
@given(
    kernel=st.sampled_from(KERNELS),
    isa=st.sampled_from(ISAS or [""]),
    dtype=st.sampled_from(["float32", "float64"]),
    n=st.integers(40, 1200),
    m=st.integers(0, 60),
    d=st.integers(1, 20),
    K=st.integers(5, 20),
    consistent=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_answers_as_the_count_does(kernel, isa, dtype, n, m, d, K, consistent, seed):
    V, A, b = shared_model(seed, m, d, K, dtype, consistent)
    X = np.random.default_rng(seed + 1).standard_normal((n, d)).astype(dtype)
    machines, decoder = Predictor(kernel, V, A, b, isa), PairVote(np.arange(K))
    got = Ballot(machines, K).labels(decoder, X)
    F = machines.dense(X)
    clear = np.abs(F).min(axis=1) > 1e-4 * np.abs(F).max(axis=1)  # rounding decides about the others
    np.testing.assert_array_equal(got[clear], decoder.labels(F)[clear])
    np.testing.assert_array_equal(decoder.labels(F)[:50], counted(decoder.classes, F[:50]))


@compiled
@pytest.mark.parametrize("K", [5, 17, 26])
def test_a_winner_of_all_its_pairs_needs_no_count(K, monkeypatch):
    V, A, b = shared_model(0, 40, 3, K, "float64", consistent=True)
    machines = Predictor(RBF(0.3), V, A, b)
    X = np.random.default_rng(1).standard_normal((2000, 3))
    expected = PairVote(np.arange(K)).labels(machines.dense(X))
    monkeypatch.setattr(Predictor, "dense", lambda *_: pytest.fail("the votes were counted"))
    got = Ballot(machines, K).labels(PairVote(np.arange(K)), X)
    np.testing.assert_array_equal(got, expected)


@pytest.fixture(scope="module")
def letters():
    """A model of many classes and few features, with shared vectors: one for which checks pay; and rows."""
    V, A, b = shared_model(0, 30, 3, 20, "float64", consistent=False)
    model = KernelModel(KernelExpansion(RBF(0.3), V, A, b), PairVote(np.char.add("class ", np.arange(20).astype(str))))
    return model, np.random.default_rng(1).standard_normal((1500, 3))


@compiled
def test_a_model_uses_it_and_answers_the_same(letters):
    model, X = letters
    assert model._ballot is not None
    expected = model.decoder.labels(model.decision_values(X))
    np.testing.assert_array_equal(model.predict(X), expected)
    np.testing.assert_array_equal(model.predict(X[::-1, :], n_threads=3), expected[::-1])
    np.testing.assert_array_equal(model.predict(np.asfortranarray(X)), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), expected)
    np.testing.assert_array_equal(model.predict(X[:5]), expected[:5])  # few rows are counted
    np.testing.assert_array_equal(model.predict(X.tolist()), expected)


@compiled
def test_the_scaling_comes_first(letters):
    model, X = letters
    scaling = Scaling(np.array([1.0, -2.0, 0.5]), np.array([2.0, 0.25, 3.0]))
    scaled = KernelModel(model.expansion, model.decoder, scaling=scaling)
    np.testing.assert_array_equal(scaled.predict(X), scaled.decoder.labels(scaled.decision_values(X)))
    np.testing.assert_array_equal(scaled.predict(X), model.predict(scaling(X)))


@compiled
def test_a_row_that_is_not_finite_is_named(letters):
    model, X = letters
    X = X.copy()
    X[700, 1] = np.nan
    with pytest.raises(InputError, match="row 700, column 1"):
        model.predict(X)


@compiled
def test_only_where_it_pays(letters):
    model, _ = letters
    assert KernelModel(model.expansion, PairVote(model.classes_, break_ties=True))._ballot is None
    wide = np.zeros((30, 5000))
    assert Predictor(RBF(1.0), wide, model.expansion.coef, model.expansion.intercept).ballot(20) is None
    assert Predictor(Linear(), wide[:, :3], model.expansion.coef, model.expansion.intercept).ballot(20) is None
    few = KernelExpansion(RBF(1.0), np.zeros((2, 1)), np.ones((2, 6)), np.zeros(6))
    assert KernelModel(few, PairVote(np.arange(4)))._ballot is None


@compiled
@pytest.mark.parametrize(("m", "pays"), [(0, False), (26, True), (104, True), (7800, False)])
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_few_vectors_of_many_classes_leave_most_of_the_work_to_the_count(isa, dtype, m, pays):
    pairs, of_class = class_pairs(26), np.repeat(np.arange(26), m // 26)
    own = (pairs == of_class[:, None, None]).any(axis=2)  # the LibSVM layout: 25 of 325 machines
    parts = (a.astype(dtype) for a in (np.zeros((m, 16)), own, np.zeros(325)))
    assert (Predictor(RBF(1.0), *parts, isa).ballot(26) is not None) == pays


@compiled
def test_machines_without_vectors_answer_by_their_intercepts():
    b = np.where(class_pairs(6)[:, 0] == 2, 1.0, -1.0)
    empty = KernelExpansion(RBF(1.0), np.zeros((0, 4)), np.zeros((0, 15)), b)
    model = KernelModel(empty, PairVote(np.arange(6)))
    np.testing.assert_array_equal(model.predict(np.zeros((50, 4))), counted(np.arange(6), np.tile(b, (50, 1))))


@compiled
def test_what_is_no_ballot_says_so(letters):
    model, X = letters
    packed = model.expansion.predictor._pack()
    with pytest.raises(ValueError, match="no ballot"):
        packed.vote_dense(X, np.empty(len(X), dtype=np.int64), 1, None, None)
