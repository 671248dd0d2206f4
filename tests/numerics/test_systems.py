"""Systems of the projected error, against one solve after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svmpress.decoders import class_pairs, pair_mask
from svmpress.numerics import MaskedSystems, pieces, solve_ridged, to_numpy

SIZE, GROUPS = 9, 3


def one_by_one(function, items):
    return [function(item) for item in items]


def problem(n_outputs: int, seed: int = 0):
    """Return Gram matrices (g, size, size), moments, weights of which most are alike, ridges and what is free."""
    rng = np.random.default_rng(seed)
    K = rng.normal(size=(GROUPS, 30, SIZE))
    grams = np.einsum("gni,gnj->gij", K, K)
    weights = np.where(rng.random((GROUPS, n_outputs)) < 0.7, 0.3, rng.random((GROUPS, n_outputs)))
    free = rng.random((SIZE, n_outputs)) < rng.random(n_outputs)
    return grams, rng.normal(size=(SIZE, n_outputs)), weights, rng.random((SIZE, n_outputs)), free


@pytest.mark.parametrize("n_outputs", [1, 2, 7, 40])
@pytest.mark.parametrize("stack_bytes", [8 * SIZE**2, 2**26])
def test_every_output_is_solved_for_its_own_unknowns(backend, monkeypatch, n_outputs, stack_bytes):
    monkeypatch.setattr("svmpress.numerics.systems.STACK_BYTES", stack_bytes)
    grams, R, weights, ridge, free = problem(n_outputs)
    free[:, n_outputs // 2] = False  # nothing to solve for
    free[:, 0] = True
    there = backend.asarray(grams), backend.asarray(R)
    got = to_numpy(MaskedSystems(free, weights, ridge, there[1]).solve(*there, one_by_one))
    wanted = np.zeros((SIZE, n_outputs))
    for p in range(n_outputs):
        own = np.flatnonzero(free[:, p])
        N = np.einsum("g,gij->ij", weights[:, p], grams)[np.ix_(own, own)] + np.diag(ridge[own, p])
        wanted[own, p] = np.linalg.solve(N, R[own, p])
    np.testing.assert_allclose(got, wanted, rtol=1e-8, atol=1e-10)
    assert not got[~free].any()


def test_systems_of_very_different_sizes_are_not_filled_up_to_the_largest():
    free = np.zeros((200, 40), dtype=bool)
    free[:3] = True
    free[:, 7] = True
    systems = MaskedSystems(free, np.ones((1, 40)), np.ones((200, 40)), np.ones(1))
    assert sum(stack.unknowns.size for stack in systems._stacks) < 3 * 40 + 200 * 6


def test_a_singular_system_is_solved():
    N = np.ones((4, 4))
    x = solve_ridged(N, np.ones((4, 1)), np.zeros(4))
    np.testing.assert_allclose(N @ x, np.ones((4, 1)), atol=1e-6)


def looked_at(found, m: int) -> np.ndarray:
    """Return how often pieces, without their mirrors, cover each element."""
    covered = np.zeros((m, m), dtype=int)
    for rows, columns in found:
        covered[rows, columns] += 1
    return covered


@given(st.integers(1, 6), st.integers(1, 60), st.integers(0, 2**31))
def test_pieces_hold_all_that_outputs_look_at(n_runs, length, seed):
    rng = np.random.default_rng(seed)
    free = np.repeat(rng.random((n_runs, 5)) < 0.4, rng.integers(1, length + 1, n_runs), axis=0)
    covered = looked_at(pieces(free), len(free))
    wanted = free.astype(int) @ free.T > 0
    assert ((covered + covered.T)[wanted] > 0).all()
    assert covered.max() <= 1  # and nothing twice


def test_the_machines_of_one_class_look_at_a_strip_and_a_diagonal():
    n_classes, each = 10, 40
    mask = pair_mask(np.repeat(np.arange(n_classes), each), n_classes)
    of_class = mask[:, (class_pairs(n_classes) == 3).any(axis=1)]
    found = pieces(of_class)
    assert len(found) == n_classes
    assert (slice(120, 160), slice(0, 400)) in found
    assert looked_at(found, 400).sum() == each * 400 + (n_classes - 1) * each * each
    assert pieces(mask) == ((slice(0, 400), slice(0, 400)),)  # those of all classes look at everything
