"""LibSVM's layout: packing and unpacking are inverse, and copies are as few as possible."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svmpress.decoders import Argmax, Decoder, Identity, PairVote, Sign, class_pairs, pair_mask
from svmpress.errors import InputError
from svmpress.formats.layout import pack, smallest_cover, unpack
from svmpress.kernels import RBF
from svmpress.model import KernelExpansion, KernelModel


def model(coef, decoder: Decoder, mask=None, intercept=None):
    coef = np.asarray(coef, dtype=float)
    intercept = np.arange(coef.shape[1], dtype=float) if intercept is None else intercept
    vectors = np.arange(coef.shape[0], dtype=float)[:, None]
    return KernelModel(KernelExpansion(RBF(0.1), vectors, coef, intercept, mask), decoder)


def naive_values(packed, kernel_row):
    """LibSVM's decision values, as its documentation describes them: a loop over pairs and classes."""
    K = packed.counts.size
    start = np.concatenate([[0], np.cumsum(packed.counts)])
    values = []
    for p, (i, j) in enumerate(class_pairs(K)):
        total = packed.intercept[p]
        for row in range(start[i], start[i + 1]):
            total += packed.coef[j - 1, row] * kernel_row[packed.source[row]]
        for row in range(start[j], start[j + 1]):
            total += packed.coef[i, row] * kernel_row[packed.source[row]]
        values.append(total)
    return np.array(values)


def brute_cover_size(edges) -> int:
    vertices = sorted({int(v) for e in edges for v in e})
    for size in range(len(vertices) + 1):
        for chosen in itertools.combinations(vertices, size):
            if all(i in chosen or j in chosen for i, j in edges):
                return size
    raise AssertionError


@st.composite
def patterns(draw, max_classes=6):
    K = draw(st.integers(3, max_classes))
    M = K * (K - 1) // 2
    m = draw(st.integers(0, 5))
    nonzero = draw(st.lists(st.lists(st.booleans(), min_size=M, max_size=M), min_size=m, max_size=m))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    return K, np.where(np.array(nonzero, dtype=bool).reshape(m, M), rng.normal(size=(m, M)), 0.0)


@given(patterns())
def test_every_model_keeps_its_values_with_the_fewest_copies(case):
    K, coef = case
    packed = pack(model(coef, PairVote(np.arange(K))))
    kernel_row = np.random.default_rng(0).random(coef.shape[0])
    np.testing.assert_allclose(naive_values(packed, kernel_row), kernel_row @ coef + np.arange(coef.shape[1]))
    pairs = class_pairs(K)
    assert packed.source.size == sum(brute_cover_size(pairs[row != 0]) for row in coef)
    assert packed.source.size == packed.counts.sum()
    assert (packed.coef != 0).any(axis=0).all(), "no copy is without use"


@given(st.lists(st.integers(0, 4), min_size=0, max_size=12), st.integers(0, 99), st.booleans())
def test_a_model_in_the_layout_needs_no_copies_and_comes_back_bit_by_bit(owners, seed, says_so):
    K = 5
    owner = np.sort(np.array(owners, dtype=np.intp))
    mask = pair_mask(owner, K)
    coef = np.where(mask, np.random.default_rng(seed).normal(size=mask.shape), 0.0)
    packed = pack(model(coef, PairVote(np.arange(K)), mask if says_so else None))
    np.testing.assert_array_equal(packed.source, np.arange(owner.size))
    np.testing.assert_array_equal(packed.counts, np.bincount(owner, minlength=K))
    back, back_mask = unpack(packed.coef, packed.counts)
    np.testing.assert_array_equal(back, coef)
    np.testing.assert_array_equal(back_mask, mask)


def test_vectors_are_grouped_by_class_and_keep_their_order():
    owner = np.array([2, 0, 1, 0, 2])
    mask = pair_mask(owner, 3)
    packed = pack(model(np.where(mask, 1.0, 0.0), PairVote(np.arange(3)), mask))
    assert packed.source.tolist() == [1, 3, 2, 0, 4]
    assert packed.counts.tolist() == [2, 1, 2]


def test_a_vector_of_one_pair_goes_to_the_class_of_its_sign():
    packed = pack(model([[0, 2.0, 0], [0, -2.0, 0]], PairVote(np.arange(3))))
    assert packed.counts.tolist() == [1, 0, 1]
    assert packed.source.tolist() == [0, 1]


def test_a_zero_vector_is_kept_where_the_mask_places_it_and_dropped_otherwise():
    owner = np.array([0, 1, 2])
    coef = np.where(pair_mask(owner, 3), [[1.0], [0.0], [2.0]], 0.0)
    assert pack(model(coef, PairVote(np.arange(3)), pair_mask(owner, 3))).source.tolist() == [0, 1, 2]
    assert pack(model(coef, PairVote(np.arange(3)))).source.tolist() == [0, 2]


def test_a_mask_of_another_layout_is_read_by_its_zeros():
    mask = np.ones((2, 3), dtype=bool)
    packed = pack(model([[1.0, 1, 0], [0, 1, 1]], PairVote(np.arange(3)), mask))
    assert packed.source.tolist() == [0, 1]
    assert packed.counts.tolist() == [1, 0, 1]


@pytest.mark.parametrize("K", [2, 3, 5])
def test_one_vs_rest_becomes_differences_whose_votes_the_largest_wins(K):
    rng = np.random.default_rng(K)
    source = model(rng.normal(size=(7, K)), Argmax(np.arange(K)), intercept=rng.normal(size=K))
    packed = pack(source)
    assert packed.source.size == 7 * (K - 1)
    for _ in range(20):
        row = rng.random(7)
        f = row @ source.expansion.coef + source.expansion.intercept
        values = naive_values(packed, row)
        np.testing.assert_allclose(values, [f[i] - f[j] for i, j in class_pairs(K)], atol=1e-12)
        votes = np.bincount([i if v > 0 else j for (i, j), v in zip(class_pairs(K), values, strict=True)])
        assert np.argmax(votes) == np.argmax(f)


def test_one_vs_rest_vectors_of_one_machine_need_no_copies():
    assert pack(model(np.diag([1.0, 2, 3, 4]), Argmax(np.arange(4)))).source.size == 4


def test_two_classes_are_grouped_by_sign_and_positive_means_the_first():
    packed = pack(model([[1.0], [-2.0], [3.0], [0.0]], Sign(np.array([0, 1])), intercept=np.array([0.5])))
    assert packed.source.tolist() == [1, 0, 2, 3]
    np.testing.assert_array_equal(packed.coef, [[2.0, -1.0, -3.0, 0.0]])
    assert packed.intercept.tolist() == [-0.5]
    assert packed.counts.tolist() == [1, 3]


def test_only_classifiers_have_this_layout():
    f = KernelExpansion(RBF(1.0), np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1))
    with pytest.raises(InputError, match="only a classifier"):
        pack(KernelModel(f, Identity(), "regression"))


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda e: e[0] < e[1])))
def test_the_smallest_cover_is_smallest(edges):
    edges = np.array(sorted(edges), dtype=np.intp).reshape(-1, 2)
    cover = smallest_cover(edges)
    assert all(i in cover or j in cover for i, j in edges)
    assert len(cover) == brute_cover_size(edges)
    assert cover == sorted(set(cover))


def test_a_large_graph_gets_a_cover_in_bounded_time():
    rng = np.random.default_rng(0)
    edges = class_pairs(120)[rng.random(7140) < 0.05]
    cover = set(smallest_cover(edges))
    assert all(int(i) in cover or int(j) in cover for i, j in edges)
    assert len(cover) < 120
    assert len(smallest_cover(class_pairs(60))) == 59
