"""Losses that know sides: their values by a plain loop, their gradients by numerical derivatives."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from test_projected import numerical_gradient

from svmpress.decoders import Argmax, PairVote, Sign
from svmpress.kernels import RBF
from svmpress.numerics import to_numpy
from svmpress.objectives import MarginObjective, Parameters, scaled_to_margins, sides_of

N_CLASSES, OUTPUTS = 4, 6


class Margins:
    """Rows of four classes, sorted, an expansion with a machine a pair, and the loss by a plain loop."""

    def __init__(self, rng, sizes=(13, 0, 9, 21), n_vectors=3):
        self.sizes = np.array(sizes)
        self.classes = np.repeat(np.arange(N_CLASSES), self.sizes)
        self.sides = sides_of(np.arange(N_CLASSES), N_CLASSES, pairwise=True)
        self.X = rng.standard_normal((self.classes.size, 2))
        self.T = 1.5 * rng.standard_normal((self.classes.size, OUTPUTS))
        self.V = rng.standard_normal((n_vectors, 2))
        self.A, self.b = rng.standard_normal((n_vectors, OUTPUTS)), rng.standard_normal(OUTPUTS)

    def objective(self, backend=None, **options) -> MarginObjective:
        here = np.asarray if backend is None else backend.asarray
        return MarginObjective(here(self.X), here(self.T), self.sizes, self.sides, **options)

    def at(self, backend=None, gamma=0.5, **changes) -> Parameters:
        here = np.asarray if backend is None else backend.asarray
        V, A, b = (changes.get(name, getattr(self, name)) for name in "VAb")
        return Parameters(RBF(gamma), here(V), here(A), here(b))

    def naive(self, at: Parameters, trust: bool, anchor: float, thin: int) -> float:
        F = at.kernel.gram(self.X, at.vectors) @ at.coef + at.intercept
        total = 0.0
        for i, c in enumerate(self.classes):
            for f, s, t in zip(F[i], self.sides[c], self.T[i], strict=True):
                margin = min(1.0, max(0.0, s * t)) if trust else 1.0
                total += abs(s) * max(0.0, margin - s * f) ** 2
                total += 0 if i % thin else anchor * (f - t) ** 2 * len(F) / len(F[::thin])
        return total / (self.classes.size * (N_CLASSES - 1))


@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.parametrize("thin", [1, 3, 8])
@pytest.mark.parametrize("max_bytes", [None, 4000])
def test_margins_by_a_loop_and_by_numerical_derivatives(backend, rng, trust, thin, max_bytes):
    case = Margins(rng)
    objective = case.objective(backend, trust=trust, anchor=0.3, thin=thin, max_bytes=max_bytes)
    got = objective.value_and_grad(case.at(backend), width=True)

    def value(**changes) -> float:
        return case.naive(case.at(**changes), trust, 0.3, thin)

    assert got.value == pytest.approx(value(), rel=1e-12)
    for name, gradient in (("V", got.vectors), ("A", got.coef), ("b", got.intercept)):
        expected = numerical_gradient(lambda x, name=name: value(**{name: x}), getattr(case, name), 1e-5)
        np.testing.assert_allclose(np.asarray(gradient), expected, atol=1e-7)
    width = numerical_gradient(lambda g: value(gamma=float(g[0])), np.array([0.5]), 1e-5)
    np.testing.assert_allclose(got.gamma, width[0], atol=1e-7)


def test_classes_side_by_side_make_no_difference(rng, monkeypatch):
    case = Margins(rng)
    expected = case.objective(trust=True).value_and_grad(case.at())
    monkeypatch.setattr("svmpress.objectives.margins.WORTH_THREADS", 0)
    got = case.objective(trust=True).value_and_grad(case.at())
    assert got.value == expected.value
    np.testing.assert_array_equal(got.vectors, expected.vectors)
    np.testing.assert_array_equal(got.coef, expected.coef)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_groups_of_fewer_rows_than_features_are_computed_at_once(backend, rng, form):
    case = Margins(rng)
    case.X, case.V = rng.standard_normal((43, 30)), rng.standard_normal((3, 30))
    expected = case.objective(trust=True, thin=3, max_bytes=40 * 43 * 3 - 1).value_and_grad(case.at(), width=True)
    rows = sparse.csr_array(case.X) if form == "csr" else backend.asarray(case.X)
    objective = MarginObjective(rows, backend.asarray(case.T), case.sizes, case.sides, trust=True, thin=3)
    got = objective.value_and_grad(case.at(backend), width=True)
    assert got.value == pytest.approx(expected.value, rel=1e-12)
    assert got.gamma == pytest.approx(expected.gamma, rel=1e-9)
    for mine, theirs in ((got.vectors, expected.vectors), (got.coef, expected.coef)):
        np.testing.assert_allclose(to_numpy(mine), theirs, rtol=1e-9, atol=1e-12)


def test_memory_is_that_of_a_few_blocks(rng):
    n, d, m = 3000, 400, 200
    sizes, sides = np.full(6, n // 6), sides_of(np.arange(6), 6, pairwise=True)
    X, T, V = rng.standard_normal((n, d)), rng.standard_normal((n, 15)), rng.standard_normal((m, d))
    at = Parameters(RBF(0.001), V, rng.standard_normal((m, 15)), np.zeros(15))
    for max_bytes in (2**20, 40 * n * m):  # in blocks, and at once
        objective = MarginObjective(X, T, sizes, sides, trust=True, thin=4, max_bytes=max_bytes)
        tracemalloc.start()
        objective.value_and_grad(at)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1.1 * max_bytes + 20 * V.nbytes


def with_values(case: Margins, F) -> tuple[Margins, Parameters]:
    """Return the case and parameters that give these values: rows that are vectors of their own."""
    case.X = case.V = 100.0 * np.arange(2 * case.classes.size).reshape(-1, 2)
    return case, Parameters(RBF(1.0), case.V, F, np.zeros(OUTPUTS))


def test_a_met_margin_costs_nothing(rng):
    case = Margins(rng)
    sides = case.sides[case.classes]
    case, at = with_values(case, np.where(sides == 0, case.T, 1.5 * sides))
    got = case.objective(trust=False, anchor=0.0).value_and_grad(at)
    assert got.value == 0
    assert not got.coef.any()


def test_trust_asks_for_no_more_than_the_source_gives(rng):
    case, at = with_values(case := Margins(rng), case.T)
    got = case.objective(trust=True).value_and_grad(at)
    wrong = case.sides[case.classes] * case.T < 0  # there it asks for the right side at least
    assert got.value == pytest.approx(np.sum(case.T[wrong] ** 2) / (3 * case.classes.size))
    np.testing.assert_allclose(got.coef[~wrong], 0, atol=1e-9)  # the rounding of distances between far rows


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


def test_the_scale_that_suits_margins_is_the_best_of_all(rng):
    sides = np.sign(rng.standard_normal(200))
    F = 7 + 3 * (sides + rng.standard_normal(200))
    scale, shift = scaled_to_margins(F, sides)

    def loss(a, c):
        return np.sum(np.maximum(0, 1 - sides * (a * F + c)) ** 2)

    tried = [loss(scale * a, shift + c) for a in (0.99, 1.0, 1.01) for c in (-0.01, 0.0, 0.01)]
    assert min(tried) == loss(scale, shift) < loss(1.0, 0.0)
    assert scaled_to_margins(np.full(200, 4.0), sides)[1] != 0  # nothing to scale is no error
