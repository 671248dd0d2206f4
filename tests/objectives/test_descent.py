"""Refinement: never worse than its start, whatever the objective does, and honest about how it ended."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from svmpress.kernels import KERNELS, RBF, ChiSquared
from svmpress.numerics import memory_for, to_numpy
from svmpress.numerics.optimisers import RefineStatus
from svmpress.objectives import (
    ExpansionObjective,
    Gradient,
    MarginObjective,
    Parameters,
    ProjectedError,
    SquaredError,
    joint_descent,
    polish,
    sides_of,
    variable_projection,
)
from test_kernels import conformance_kernel

ROUTINES = ["joint_descent", "variable_projection", "polish"]


class Scene:
    """A teacher of 25 vectors on 80 rows, and a student of 5 to refine by any of the routines."""

    def __init__(self, kernel=None, n_outputs: int = 2, backend=None, mask=None, nonnegative: bool = False) -> None:
        rng = np.random.default_rng(7)
        self.kernel = kernel or RBF(0.6)
        draw = (lambda *shape: rng.uniform(0.05, 2.0, shape)) if nonnegative else (lambda *s: rng.standard_normal(s))
        self.X, big = draw(80, 2), draw(25, 2)
        self.T = self.kernel.gram(self.X, big) @ rng.standard_normal((25, n_outputs)) + 0.3
        self.V, self.A = draw(5, 2), rng.standard_normal((5, n_outputs))
        self.A = self.A if mask is None else self.A * mask
        self.b = self.T.mean(axis=0)
        self.mask = mask
        self.here = backend.asarray if backend else np.asarray
        self.wrap = lambda objective: objective

    def objective(self, routine: str):
        X, T = self.here(self.X), self.here(self.T)
        if routine == "variable_projection":
            return self.wrap(ProjectedError(self.kernel, X, T, self.here(self.V), mask=self.mask, ridge=1e-6))
        return self.wrap(ExpansionObjective(X, SquaredError(T)))

    def refine(self, routine: str, **options):
        objective = self.objective(routine)
        if routine == "variable_projection":
            return variable_projection(objective, self.V, **options)
        start = Parameters(self.kernel, *(self.here(a) for a in (self.V, self.A, self.b)))
        how = joint_descent if routine == "joint_descent" else polish
        return how(objective, start, mask=self.mask, **options)

    def value(self, routine: str, kernel, V, A, b) -> float:
        objective = self.objective(routine)
        if routine == "variable_projection":
            return objective.value_and_grad(self.here(V), kernel).value
        return objective.value_and_grad(Parameters(kernel, *(self.here(a) for a in (V, A, b)))).value

    def start_value(self, routine: str) -> float:
        return self.value(routine, self.kernel, self.V, self.A, self.b)

    def value_of(self, routine: str, refined) -> float:
        return self.value(routine, refined.kernel, refined.vectors, refined.coef, refined.intercept)


@pytest.fixture(params=ROUTINES)
def routine(request):
    return request.param


# ---------------------------------------------------------------------------------------------------------
# What it returns
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_the_objective_falls_and_the_result_is_its_value(routine, name):
    scene = Scene(conformance_kernel(name), nonnegative=True)
    refined = scene.refine(routine, max_iter=30)
    assert refined.value < 0.9 * scene.start_value(routine)
    assert refined.value == pytest.approx(scene.value_of(routine, refined), rel=1e-9)
    assert refined.vectors.shape == (5, 2)
    assert refined.coef.shape == (5, 2)


def test_the_trace_starts_at_the_start_and_only_falls(routine):
    scene = Scene()
    refined = scene.refine(routine, max_iter=25)
    values = [point.value for point in refined.trace]
    assert values[0] == pytest.approx(scene.start_value(routine), rel=1e-9)
    assert all(a >= b for a, b in pairwise(values))
    assert values[-1] == pytest.approx(refined.value, rel=1e-9)
    assert [point.iteration for point in refined.trace] == list(range(refined.n_iter + 1))
    assert all(a.seconds <= b.seconds for a, b in pairwise(refined.trace))


def test_every_library_takes_the_same_steps(backend, routine):
    expected = Scene().refine(routine, max_iter=5)
    got = Scene(backend=backend).refine(routine, max_iter=5)
    for name in ("vectors", "coef", "intercept"):
        assert isinstance(getattr(got, name), np.ndarray)
        np.testing.assert_allclose(getattr(got, name), getattr(expected, name), rtol=1e-6, atol=1e-6)
    assert got.value == pytest.approx(expected.value, rel=1e-7)


def test_joint_descent_leaves_the_intercepts():
    scene = Scene()
    np.testing.assert_array_equal(scene.refine("joint_descent", max_iter=10).intercept, scene.b)


def test_projected_coefficients_belong_to_the_vectors():
    scene = Scene()
    refined = scene.refine("variable_projection", max_iter=10)
    at = scene.objective("variable_projection").value_and_grad(refined.vectors)
    np.testing.assert_array_equal(refined.coef, at.coef)
    np.testing.assert_array_equal(refined.intercept, at.intercept)


def test_a_source_of_few_vectors_is_found_again():
    rng = np.random.default_rng(2)
    kernel, X = RBF(0.5), rng.standard_normal((200, 2))
    V = np.array([[-1.0, 0.0], [1.0, 0.5], [0.0, 1.5]])
    T = kernel.gram(X, V) @ np.array([[2.0], [-3.0], [1.0]])
    start = V + 0.3 * rng.standard_normal(V.shape)
    refined = variable_projection(ProjectedError(kernel, X, T, start, ridge=1e-12), start, max_iter=300, tol=1e-13)
    np.testing.assert_allclose(refined.vectors, V, atol=1e-3)
    assert refined.value < 1e-8
    assert refined.status is RefineStatus.CONVERGED


def test_variable_projection_beats_joint_descent_in_as_many_steps():
    scene = Scene()
    projected, joint = (scene.refine(how, max_iter=30) for how in ("variable_projection", "joint_descent"))
    error = [scene.value_of("joint_descent", r) for r in (projected, joint)]
    assert error[0] < error[1]


# ---------------------------------------------------------------------------------------------------------
# Never worse than the start
# ---------------------------------------------------------------------------------------------------------


class Hostile:
    """An objective that misbehaves: ``spoil`` gets each answer and whether it is the first point's."""

    def __init__(self, objective, spoil) -> None:
        self._objective, self._spoil = objective, spoil
        self._first = None

    def __getattr__(self, name):
        return getattr(self._objective, name)

    def value_and_grad(self, at, *args, **options):
        answer = self._objective.value_and_grad(at, *args, **options)
        V = to_numpy(at.vectors if isinstance(at, Parameters) else at)
        self._first = V.copy() if self._first is None else self._first
        return self._spoil(answer, np.allclose(V, self._first, rtol=0, atol=1e-14))


def uphill(answer, first):
    lies = {"vectors": -answer.vectors}
    if isinstance(answer, Gradient):
        lies |= {"coef": -answer.coef, "intercept": -answer.intercept}
    return replace(answer, **lies)


def steep(answer, first):
    return replace(answer, vectors=1e30 * answer.vectors)


def only_the_start_is_finite(answer, first):
    return answer if first else replace(answer, value=float("nan"))


def better_only_at_the_start(answer, first):
    return answer if first else replace(answer, value=answer.value + 10)


def nowhere_finite(answer, first):
    return replace(answer, value=float("nan"))


@pytest.mark.parametrize("spoil", [uphill, steep, only_the_start_is_finite, better_only_at_the_start, nowhere_finite])
def test_a_hostile_objective_gives_back_the_start_or_better(routine, spoil):
    plain, scene = Scene(), Scene()
    scene.wrap = lambda objective: Hostile(objective, spoil)
    refined = scene.refine(routine, max_iter=20)
    assert np.isfinite(refined.vectors).all()
    assert np.isfinite(refined.coef).all()
    assert plain.value_of(routine, refined) <= plain.start_value(routine) * (1 + 1e-12)
    if spoil in (only_the_start_is_finite, better_only_at_the_start, nowhere_finite):
        np.testing.assert_allclose(refined.vectors, plain.V, rtol=1e-12)


def test_an_optimum_is_left_where_it_is(routine):
    scene = Scene()
    first = scene.refine(routine, max_iter=3000, tol=1e-12)
    scene.V, scene.A, scene.b = first.vectors, first.coef, first.intercept
    again = scene.refine(routine, max_iter=50, tol=1e-9)
    assert again.status is RefineStatus.CONVERGED
    assert again.value <= scene.start_value(routine)
    assert again.value == pytest.approx(first.value, rel=1e-3)


# ---------------------------------------------------------------------------------------------------------
# Constraints
# ---------------------------------------------------------------------------------------------------------


def test_a_mask_is_respected(routine):
    mask = np.array([[1, 0], [1, 1], [0, 1], [1, 0], [0, 1]], dtype=bool)
    scene = Scene(mask=mask)
    refined = scene.refine(routine, max_iter=20)
    assert not refined.coef[~mask].any()
    assert np.all(refined.coef[mask] != 0)
    assert refined.value < 0.9 * scene.start_value(routine)


def test_vectors_of_a_kernel_on_non_negative_features_stay_there(routine):
    scene = Scene(ChiSquared(0.8), nonnegative=True)
    scene.V[:, 0] = [0.0, 1e-4, 1e-3, 0.01, 0.1]  # at the border
    refined = scene.refine(routine, max_iter=40)
    assert (refined.vectors >= 0).all()
    assert refined.value < 0.9 * scene.start_value(routine)
    assert not np.allclose(refined.vectors[:, 0], scene.V[:, 0])


@pytest.mark.parametrize("how", ["variable_projection", "polish"])
def test_a_learned_width_moves_to_the_better_one(how):
    scene = Scene()
    scene.kernel = RBF(0.1)  # the teacher's is 0.6
    fixed = scene.refine(how, max_iter=40)
    learned = scene.refine(how, max_iter=40, learn_width=True)
    assert fixed.kernel == RBF(0.1)
    assert 0.2 < learned.kernel.params["gamma"] < 1.5
    assert learned.value < fixed.value
    assert learned.value == pytest.approx(scene.value_of(how, learned), rel=1e-9)


def test_variable_projection_starts_from_another_width_if_told():
    scene = Scene()
    refined = scene.refine("variable_projection", kernel=RBF(0.3), max_iter=0)
    assert refined.kernel == RBF(0.3)
    np.testing.assert_allclose(refined.vectors, scene.V, rtol=1e-15)


# ---------------------------------------------------------------------------------------------------------
# How it ended
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0, 1, 4])
def test_the_limit_of_iterations_is_kept_and_told(routine, limit):
    refined = Scene().refine(routine, max_iter=limit)
    assert refined.status is RefineStatus.MAX_ITERATIONS
    assert refined.n_iter == limit
    assert "iterations" in refined.status.message


def test_the_clock_is_watched(routine):
    refined = Scene().refine(routine, max_iter=1000, max_seconds=0.0)
    assert refined.status is RefineStatus.OUT_OF_TIME
    assert refined.n_iter == 1


def test_progress_is_reported(routine):
    seen: list[tuple[int, int]] = []
    Scene().refine(routine, max_iter=3, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_a_snapshot_is_shown_before_the_first_iteration_and_after_each():
    scene, seen = Scene(), []
    refined = scene.refine("joint_descent", max_iter=4, snapshot=lambda i, V, A: seen.append((i, V, A)))
    assert [i for i, _, _ in seen] == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(seen[0][1], scene.V)
    np.testing.assert_array_equal(seen[0][2], scene.A)
    errors = [scene.value("joint_descent", scene.kernel, V, A, scene.b) for _, V, A in seen]
    assert errors[-1] < errors[0]
    assert errors[-1] == pytest.approx(refined.value, rel=1e-12)


def test_polish_follows_the_loss_that_it_is_given():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 2))
    X = X[np.argsort(np.hypot(*X.T) < 1.1)]  # sorted by class
    classes = (np.hypot(*X.T) < 1.1).astype(int)
    sides = sides_of(classes, 2, pairwise=False)
    both = sides_of(np.arange(2), 2, pairwise=False)
    objective = MarginObjective(X, np.zeros((300, 1)), np.bincount(classes), both, trust=False)
    start = Parameters(RBF(0.5), X[:4], np.zeros((4, 1)), np.zeros(1))
    refined = polish(objective, start, max_iter=100, learn_width=True)
    F = refined.kernel.gram(X, refined.vectors) @ refined.coef + refined.intercept
    assert objective.value_and_grad(start).value == pytest.approx(1.0)
    assert refined.value == pytest.approx(np.mean(np.maximum(0, 1 - sides * F) ** 2), rel=1e-9)
    assert np.mean((F[:, 0] > 0) == classes) > 0.97


@pytest.mark.parametrize(("values", "steps"), [(0, 10), (30, 15), (400, 30)])
def test_fewer_steps_are_remembered_where_columns_hold_few_values(rng, values, steps):
    X = np.zeros((500, 8))
    X[:values] = rng.standard_normal((values, 8))
    assert memory_for(sparse.csr_array(X)) == steps
    assert memory_for(X) == 30


@pytest.mark.parametrize("name", ["variable_projection", "polish"])
def test_a_short_memory_takes_more_steps_to_the_same_place(name):
    long, short = (Scene().refine(name, max_iter=400, tol=1e-12, memory=memory) for memory in (30, 2))
    assert short.n_iter > long.n_iter
    assert short.value == pytest.approx(long.value, rel=0.05)
