"""Decoders against scikit-learn's SVC and against naive loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as np_arrays
from sklearn.datasets import load_digits, make_blobs
from sklearn.svm import SVC
from sklearn.utils.multiclass import _ovr_decision_function

from svmpress.decoders import Argmax, Identity, PairDAG, PairVote, Sign, class_pairs, pair_mask
from svmpress.errors import InputError

NAMES = np.array(["ash", "birch", "cedar", "date"])
few_values = st.sampled_from([-1.5, -0.5, -0.0, 0.0, 0.5, 1.5])
"""Few enough that ties of votes and exact zeros are common."""


@pytest.fixture(scope="module", params=[3, 10])
def one_vs_one(request):
    """A multi-class SVC, rows it has not seen, and the values of its machines there."""
    if request.param == 3:
        X, y = make_blobs(240, n_features=2, centers=3, cluster_std=4.0, random_state=1)
        y = NAMES[y]
    else:
        X, y = load_digits(return_X_y=True)
        X, y = X[:600] + np.random.default_rng(0).normal(0, 6.0, size=(600, 64)), y[:600]
    half = len(y) // 2
    svc = SVC(gamma="scale", decision_function_shape="ovo").fit(X[:half], y[:half])
    return svc, X[half:], svc.decision_function(X[half:])


def test_votes_equal_svc(one_vs_one):
    svc, X, F = one_vs_one
    np.testing.assert_array_equal(PairVote(svc.classes_).labels(F), svc.predict(X))


def test_scores_equal_both_shapes_of_svc(one_vs_one, assert_close):
    svc, X, F = one_vs_one
    np.testing.assert_array_equal(PairVote(svc.classes_, shape="ovo").scores(F), F)
    ovr = SVC(**{**svc.get_params(), "decision_function_shape": "ovr"}).fit(X, svc.predict(X))
    values = SVC(**svc.get_params()).fit(X, svc.predict(X)).decision_function(X)
    assert_close(PairVote(svc.classes_, shape="ovr").scores(values), ovr.decision_function(X))


def test_broken_ties_equal_svc(one_vs_one):
    svc, X, F = one_vs_one
    params = svc.get_params() | {"decision_function_shape": "ovr", "break_ties": True}
    breaking = SVC(**params).fit(X, svc.predict(X))
    values = SVC(**svc.get_params()).fit(X, svc.predict(X)).decision_function(X)
    decoder = PairVote(svc.classes_, break_ties=True)
    np.testing.assert_array_equal(decoder.labels(values), breaking.predict(X))
    assert (decoder.labels(F) != PairVote(svc.classes_).labels(F)).any()  # there are ties to break


@given(np_arrays(float, st.tuples(st.integers(0, 6), st.just(6)), elements=few_values))
def test_scores_equal_scikit_learn_at_ties_and_exact_zeros(F):
    np.testing.assert_array_equal(PairVote(NAMES).scores(F), _ovr_decision_function(F < 0, -F, 4))


@given(np_arrays(float, st.tuples(st.integers(0, 6), st.just(6)), elements=few_values))
def test_votes_equal_a_naive_count(F):
    """LibSVM's rule: a value above zero is a vote for the first class of the pair; the first of equals wins."""
    expected = []
    for f in F:
        votes = [0] * 4
        for value, (i, j) in zip(f, class_pairs(4), strict=True):
            votes[i if value > 0 else j] += 1
        expected.append(NAMES[votes.index(max(votes))])
    assert PairVote(NAMES).labels(F).tolist() == expected


@given(st.integers(2, 6), st.data())
def test_dag_equals_a_naive_elimination(K, data):
    M = K * (K - 1) // 2
    F = data.draw(np_arrays(float, st.tuples(st.integers(0, 4), st.just(M)), elements=few_values))
    machine = {(i, j): p for p, (i, j) in enumerate(class_pairs(K).tolist())}
    expected = []
    for f in F:
        left = list(range(K))
        while len(left) > 1:
            left.remove(left[-1] if f[machine[left[0], left[-1]]] > 0 else left[0])
        expected.append(left[0] * 10)
    dag = PairDAG(np.arange(K) * 10)
    assert dag.labels(F).tolist() == expected
    assert dag.scores(F) is F


def test_dag_agrees_with_votes_when_one_class_beats_all_others(rng):
    F = rng.normal(size=(200, 6))
    beats = np.stack(
        [(F * np.where(class_pairs(4)[:, 0] == c, 1, -1) > 0)[:, (class_pairs(4) == c).any(1)] for c in range(4)]
    )
    clear = beats.all(axis=2).any(axis=0)
    assert clear.sum() > 20
    np.testing.assert_array_equal(PairDAG(NAMES).labels(F)[clear], PairVote(NAMES).labels(F)[clear])


def test_positive_means_the_later_class_for_two_classes_as_in_svc():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    svc = SVC(kernel="linear").fit(X, ["left", "left", "right", "right"])
    sign = Sign(svc.classes_)
    F = svc.decision_function(X)[:, None]
    np.testing.assert_array_equal(sign.labels(F), svc.predict(X))
    np.testing.assert_array_equal(sign.scores(F), svc.decision_function(X))


def test_an_exact_zero_means_the_class_that_the_source_means():
    zero = np.zeros((1, 1))
    assert Sign(NAMES[:2]).labels(zero) == ["birch"]
    assert Sign(NAMES[:2], zero_class=0).labels(zero) == ["ash"]
    assert Sign(NAMES[:2], zero_class=0).labels(-zero) == ["ash"]


def test_argmax_takes_the_largest_and_the_first_of_equals():
    F = np.array([[0.0, 2.0, 1.0, 2.0], [-1.0, -2.0, -1.0, -3.0]])
    assert Argmax(NAMES).labels(F).tolist() == ["birch", "ash"]
    assert Argmax(NAMES).scores(F) is F


def test_identity_is_flat_for_one_output():
    F = np.array([[1.0], [2.0]])
    assert Identity().labels(F).tolist() == Identity().scores(F).tolist() == [1.0, 2.0]
    assert Identity().labels(np.ones((2, 3))).shape == (2, 3)
    assert Identity().classes is None


@pytest.mark.parametrize(
    ("decoder", "outputs"),
    [(Identity(), None), (Sign(NAMES[:2]), 1), (Argmax(NAMES), 4), (PairVote(NAMES), 6), (PairDAG(NAMES), 6)],
)
def test_the_number_of_outputs_follows_from_the_classes(decoder, outputs):
    assert decoder.n_outputs == outputs


@pytest.mark.parametrize("kind", [Sign, Argmax, PairVote, PairDAG])
def test_classes_must_be_two_or_more_and_distinct(kind):
    with pytest.raises(InputError, match="at least two classes, not 1"):
        kind(np.array([1]))
    with pytest.raises(InputError, match="distinct"):
        kind(np.array(["a", "a"]))


def test_a_sign_separates_two_classes_only():
    with pytest.raises(InputError, match="two classes, not 4"):
        Sign(NAMES)


def test_pair_mask_lets_a_vector_serve_the_pairs_of_its_class_only():
    mask = pair_mask(np.array([2, 0]), 3)
    assert class_pairs(3).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert mask.tolist() == [[False, True, True], [True, True, False]]
