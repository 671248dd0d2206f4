"""Losses that know sides: their values by a plain loop, their gradients by numerical derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from svmpress.decoders import Argmax, PairVote, Sign
from svmpress.kernels import RBF
from svmpress.losses import MarginLoss, RivalLoss, sides_of
from svmpress.objective import ExpansionObjective, Parameters
from test_objective import numerical_gradient

ALL = slice(None)


@pytest.fixture
def sides(rng):
    return rng.choice([-1.0, 0.0, 1.0], size=(20, 4))


@pytest.fixture
def T(rng):
    return 1.5 * rng.standard_normal((20, 4))


@pytest.fixture
def F(rng):
    return 1.5 * rng.standard_normal((20, 4))


def naive(F, sides, T, trust: bool, anchor: float) -> float:
    total = 0.0
    for f, s, t in zip(F.ravel(), sides.ravel(), T.ravel(), strict=True):
        if s == 0:
            total += anchor * (f - t) ** 2
        else:
            margin = min(1.0, max(0.0, s * t)) if trust else 1.0
            total += max(0.0, margin - s * f) ** 2
    return total / np.count_nonzero(sides)


@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.parametrize("anchor", [0.01, 0.5])
def test_values_and_gradients(backend, F, sides, T, trust, anchor, assert_close):
    loss = MarginLoss(backend.asarray(sides), backend.asarray(T), trust=trust, anchor=anchor)
    assert loss.n_outputs == 4
    value, gradient = loss.value_and_grad(backend.asarray(F), ALL)
    assert float(value) == pytest.approx(naive(F, sides, T, trust, anchor), rel=1e-12)
    expected = numerical_gradient(lambda f: naive(f, sides, T, trust, anchor), F, 1e-4)
    np.testing.assert_allclose(np.asarray(gradient), expected, atol=1e-8)


@pytest.mark.parametrize("trust", [False, True])
def test_blocks_of_rows_add_up(F, sides, T, trust):
    loss = MarginLoss(sides, T, trust=trust)
    value, gradient = loss.value_and_grad(F, ALL)
    parts = [loss.value_and_grad(F[rows], rows) for rows in (slice(0, 7), slice(7, 8), slice(8, 20))]
    assert sum(p[0] for p in parts) == pytest.approx(value, rel=1e-12)
    np.testing.assert_array_equal(np.concatenate([p[1] for p in parts]), gradient)


def test_a_met_margin_costs_nothing(sides, T):
    loss = MarginLoss(sides, T, trust=False)
    far = np.where(sides == 0, T, 1.5 * sides)
    value, gradient = loss.value_and_grad(far, ALL)
    assert value == 0
    assert not gradient.any()


def test_trust_asks_for_no_more_than_the_source_gives(sides, T):
    value, gradient = MarginLoss(sides, T, trust=True).value_and_grad(T, ALL)
    wrong = sides * T < 0  # there it asks for the right side at least
    assert value == pytest.approx(np.sum(T[wrong] ** 2) / np.count_nonzero(sides))
    assert not gradient[~wrong].any()


# ---------------------------------------------------------------------------------------------------------
# One output a class
# ---------------------------------------------------------------------------------------------------------


def naive_rivals(F, classes) -> float:
    terms = [max(0.0, 1 - (F[i, c] - F[i, j])) ** 2 for i, c in enumerate(classes) for j in range(F.shape[1]) if j != c]
    return sum(terms) / len(terms)


def test_rivals_by_a_loop_and_by_numerical_derivatives(backend, rng, F):
    classes = rng.integers(0, 4, 20)
    loss = RivalLoss(backend.asarray(np.eye(4)[classes]))
    assert loss.n_outputs == 4
    value, gradient = loss.value_and_grad(backend.asarray(F), ALL)
    assert float(value) == pytest.approx(naive_rivals(F, classes), rel=1e-12)
    expected = numerical_gradient(lambda f: naive_rivals(f, classes), F, 1e-4)
    np.testing.assert_allclose(np.asarray(gradient), expected, atol=1e-8)


def test_rivals_in_blocks_and_beyond_the_margin(rng, F):
    classes = rng.integers(0, 4, 20)
    loss = RivalLoss(np.eye(4)[classes])
    parts = [loss.value_and_grad(F[rows], rows) for rows in (slice(0, 7), slice(7, 20))]
    assert parts[0][0] + parts[1][0] == pytest.approx(loss.value_and_grad(F, ALL)[0], rel=1e-12)
    value, gradient = loss.value_and_grad(F + 10 * np.eye(4)[classes], ALL)
    assert value == 0
    assert not gradient.any()


def test_the_gradient_by_the_parameters_of_an_expansion(rng):
    X, V = rng.standard_normal((30, 2)), rng.standard_normal((3, 2))
    A, b, T = rng.standard_normal((3, 3)), rng.standard_normal(3), rng.standard_normal((30, 3))
    sides = sides_of(rng.integers(0, 3, 30), 3, pairwise=True)
    objective = ExpansionObjective(X, MarginLoss(sides, T, trust=False))
    got = objective.value_and_grad(Parameters(RBF(0.5), V, A, b), width=True)

    def value(V=V, A=A, b=b, gamma=0.5):
        return objective.value_and_grad(Parameters(RBF(gamma), V, A, b)).value

    np.testing.assert_allclose(got.vectors, numerical_gradient(lambda x: value(V=x), V, 1e-5), atol=1e-7)
    np.testing.assert_allclose(got.coef, numerical_gradient(lambda x: value(A=x), A, 1e-5), atol=1e-7)
    np.testing.assert_allclose(got.intercept, numerical_gradient(lambda x: value(b=x), b, 1e-5), atol=1e-7)
    width = numerical_gradient(lambda g: value(gamma=float(g[0])), np.array([0.5]), 1e-5)
    np.testing.assert_allclose(got.gamma, width[0], atol=1e-7)


@pytest.mark.parametrize(
    ("decoder", "n_classes", "pairwise"),
    [
        (Sign(np.arange(2)), 2, False),
        (Argmax(np.arange(4)), 4, False),
        (PairVote(np.arange(4)), 4, True),
        (PairVote(np.arange(2)), 2, True),
    ],
)
def test_values_on_the_right_sides_are_decoded_to_the_right_class(decoder, n_classes, pairwise):
    classes = np.arange(n_classes)
    sides = sides_of(classes, n_classes, pairwise)
    assert sides.shape == (n_classes, decoder.n_outputs)
    np.testing.assert_array_equal(decoder.labels(sides), classes)
    if pairwise:
        assert (np.count_nonzero(sides, axis=1) == n_classes - 1).all()
