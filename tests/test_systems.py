"""Systems of the projected error, against one solve after the other."""

from __future__ import annotations

import numpy as np
import pytest

from svmpress.systems import MaskedSystems, solve_ridged

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
def test_every_output_is_solved_for_its_own_unknowns(monkeypatch, n_outputs, stack_bytes):
    monkeypatch.setattr("svmpress.systems.STACK_BYTES", stack_bytes)
    grams, R, weights, ridge, free = problem(n_outputs)
    free[:, n_outputs // 2] = False  # nothing to solve for
    free[:, 0] = True
    got = MaskedSystems(free, weights, ridge).solve(grams, R, one_by_one)
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
    systems = MaskedSystems(free, np.ones((1, 40)), np.ones((200, 40)))
    assert sum(stack.unknowns.size for stack in systems._stacks) < 3 * 40 + 200 * 6


def test_a_singular_system_is_solved():
    N = np.ones((4, 4))
    x = solve_ridged(N, np.ones((4, 1)), np.zeros(4))
    np.testing.assert_allclose(N @ x, np.ones((4, 1)), atol=1e-6)
