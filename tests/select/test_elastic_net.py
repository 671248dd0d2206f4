"""The elastic net against scikit-learn's, against LARS, under its optimality conditions, and on every array library."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import ElasticNet as SklearnElasticNet
from sklearn.linear_model import Lasso
from sklearn.linear_model import lars_path as sklearn_lars

from svmpress.errors import InputError
from svmpress.kernels import RBF
from svmpress.numerics import Backend
from svmpress.select import SelectionStatus, elastic_net_rows
from svmpress.select.bounded import ElasticNetStatus
from svmpress.select.columns import DenseColumns, DesignColumns, GramColumns
from svmpress.select.elastic_net import ElasticNet
from svmpress.select.lars import lars_path
from svmpress.select.reduction import Hull, Signed

SHAPES = [(60, 12), (200, 40), (30, 80)]


def regression(seed: int, n: int = 60, p: int = 12, n_outputs: int = 1):
    """A well-posed problem: Ω (n, p) and targets (n, M), a few regressors stronger than the rest."""
    rng = np.random.default_rng(seed)
    omega = rng.standard_normal((n, p))
    return omega, omega[:, :3] @ rng.standard_normal((3, n_outputs)) + rng.standard_normal((n, n_outputs))


def solve(omega, targets, bound: float, l2: float = 0.0, **settings):
    design = DesignColumns(omega, targets)
    return ElasticNet(l2, **settings).fit(design, design.correlations, bound, total=design.total)


def full(fit, p: int):
    """The coefficients as a row for each of p candidates, (p, M)."""
    out = np.zeros((p, fit.coef.shape[1]))
    out[fit.indices] = fit.coef
    return out


def sklearn_coef(omega, target, multiplier: float, l2: float):
    """scikit-learn's coefficients, (p,), for our multiplier and l2."""
    n = len(omega)
    precise = {"fit_intercept": False, "tol": 1e-15, "max_iter": 10**6}
    if l2 == 0:
        return Lasso(multiplier / n, **precise).fit(omega, target).coef_
    total = multiplier + l2
    return SklearnElasticNet(total / n, l1_ratio=multiplier / total, **precise).fit(omega, target).coef_


def check_conditions(omega, targets, fit, l2: float, tol: float = 1e-8):
    """The optimality conditions, written as in the docstring of `svmpress.select.bounded`."""
    B = full(fit, omega.shape[1])
    R = omega.T @ (targets - omega @ B) - l2 * B
    slack = tol * np.abs(omega.T @ targets).max()
    used = B != 0
    np.testing.assert_allclose(R[used], fit.multiplier * np.sign(B[used]), atol=slack)
    assert np.abs(R).max() <= fit.multiplier + slack
    if fit.status is ElasticNetStatus.OPTIMAL:
        assert np.abs(B).sum() == pytest.approx(fit.bound, rel=1e-10)
    else:
        assert fit.status is ElasticNetStatus.SLACK
        assert np.abs(B).sum() <= fit.bound
        assert fit.multiplier == 0
    assert fit.error == pytest.approx(np.sum((targets - omega @ B) ** 2) + l2 * np.sum(B * B), rel=1e-9)


# ---------------------------------------------------------------------------------------------------------
# Oracles
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["dual", "primal", "auto"])
@pytest.mark.parametrize("l2", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("part", [0.02, 0.2, 0.7])
def test_coefficients_are_scikit_learns(shape, l2, form, part):
    omega, targets = regression(1, *shape)
    multiplier = part * np.abs(omega.T @ targets).max()
    expected = sklearn_coef(omega, targets[:, 0], multiplier, l2)
    fit = solve(omega, targets, np.abs(expected).sum(), l2, form=form)
    np.testing.assert_allclose(full(fit, shape[1])[:, 0], expected, atol=1e-6 * np.abs(expected).max())
    assert fit.multiplier == pytest.approx(multiplier, rel=1e-6)
    assert fit.status is ElasticNetStatus.OPTIMAL
    assert set(fit.indices) == set(np.flatnonzero(expected))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_the_lasso_path_at_equal_norm(seed, shape):
    omega, targets = regression(seed, *shape)
    _, _, coefs = sklearn_lars(omega, targets[:, 0], method="lasso")
    for expected in coefs.T[1:-1]:
        fit = solve(omega, targets, np.abs(expected).sum())
        np.testing.assert_allclose(full(fit, shape[1])[:, 0], expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(4))
def test_it_is_our_lars_at_equal_norm_until_a_coefficient_changes_its_sign(seed):
    omega, targets = regression(seed)
    gram = DenseColumns(omega.T @ omega)
    lars = lars_path(gram, omega.T @ targets, 12)
    compared = 0
    for k in range(1, 13):
        own = lars.at(k)
        if (own.coef[:, 0] * lars.correlations[:k, 0] <= 0).any():
            break
        fit = ElasticNet().fit(gram, omega.T @ targets, np.abs(own.coef).sum())
        expected = np.zeros(12)
        expected[own.indices] = own.coef[:, 0]
        np.testing.assert_allclose(full(fit, 12)[:, 0], expected, atol=1e-6 * np.abs(expected).max())
        compared += 1
    assert compared >= 4


@pytest.mark.parametrize("l2", [0.0, 2.0])
def test_every_output_is_the_elastic_net_with_the_common_multiplier(l2):
    omega, targets = regression(5, n_outputs=4)
    fit = solve(omega, targets, 2.5, l2)
    check_conditions(omega, targets, fit, l2)
    for o in range(4):
        expected = sklearn_coef(omega, targets[:, o], fit.multiplier, l2)
        np.testing.assert_allclose(full(fit, 12)[:, o], expected, atol=1e-6)


def test_inner_products_are_those_of_the_samples(rng):
    """The hull's products against the 2p points of the reduction, built as the paper builds them."""
    omega, target = rng.standard_normal((9, 4)), rng.standard_normal((9, 1))
    bound, ridge = 0.8, 0.3
    design = DesignColumns(omega, target)
    hull = Hull(omega.T @ omega, design.correlations, bound, ridge, Backend.of("cpu"))
    labels = np.repeat([1.0, -1.0], 4)
    samples = np.vstack([omega.T - target.T / bound, omega.T + target.T / bound])  # X̂ of the paper, labels apart
    K = (labels[:, None] * samples) @ (labels[:, None] * samples).T
    ours = np.hstack([hull.times(np.eye(8)[:, [i]]) for i in range(8)]) - ridge / 2 * np.eye(8)
    shift = ours - K
    np.testing.assert_allclose(shift, shift[0, 0], atol=1e-12)  # equal but for the constant κ, which is free
    which = np.array([0, 2, 5])
    inner = ours[np.ix_(which, which)] + ridge * np.eye(3)
    np.testing.assert_allclose(hull.solve_active(which, ridge / 2), np.linalg.solve(inner, np.ones(3)), rtol=1e-9)
    assert np.linalg.eigvalsh(ours + ridge / 2 * np.eye(8)).min() > 0


# ---------------------------------------------------------------------------------------------------------
# Properties
# ---------------------------------------------------------------------------------------------------------

PROBLEMS = {
    "seed": st.integers(0, 10**6),
    "p": st.integers(1, 15),
    "n_outputs": st.sampled_from([1, 3]),
    "l2": st.sampled_from([0.0, 0.1, 10.0]),
}


@given(**PROBLEMS, part=st.floats(0.01, 1.5), correlated=st.booleans())
def test_the_optimality_conditions_hold(seed, p, n_outputs, l2, part, correlated):
    omega, targets = regression(seed, 40, max(p, 3), n_outputs)
    if correlated:
        omega = omega + 2 * omega[:, :1]
    free = np.linalg.solve(omega.T @ omega + l2 * np.eye(omega.shape[1]), omega.T @ targets)
    bound = part * np.abs(free).sum()
    fit = solve(omega, targets, bound, l2)
    check_conditions(omega, targets, fit, l2)
    assert (fit.status is ElasticNetStatus.SLACK) == (part > 1) or part == pytest.approx(1)


@given(**PROBLEMS, part=st.floats(0.05, 0.9), exponent=st.integers(-60, 60), gram_exponent=st.integers(-40, 40))
def test_scaling_targets_or_regressors_scales_the_coefficients(seed, p, n_outputs, l2, part, exponent, gram_exponent):
    omega, targets = regression(seed, 40, max(p, 3), n_outputs)
    G, C = omega.T @ omega, omega.T @ targets
    bound = part * np.abs(np.linalg.lstsq(omega, targets)[0]).sum()
    g, c = 10.0**gram_exponent, 10.0**exponent
    plain = ElasticNet(l2).fit(DenseColumns(G), C, bound)
    scaled = ElasticNet(l2 * g).fit(DenseColumns(G * g), C * c, bound * c / g)
    np.testing.assert_array_equal(plain.indices, scaled.indices)
    np.testing.assert_allclose(scaled.coef, plain.coef * (c / g), rtol=1e-6, atol=1e-9 * bound * c / g)
    assert scaled.multiplier == pytest.approx(plain.multiplier * c, rel=1e-6, abs=1e-9 * c)


@given(**PROBLEMS, part=st.floats(0.05, 0.9))
def test_permuting_candidates_permutes_the_coefficients(seed, p, n_outputs, l2, part):
    p = max(p, 3)
    omega, targets = regression(seed, 40, p, n_outputs)
    turn = np.random.default_rng(seed).permutation(p)
    bound = part * np.abs(np.linalg.lstsq(omega, targets)[0]).sum()
    plain, turned = solve(omega, targets, bound, l2), solve(omega[:, turn], targets, bound, l2)
    np.testing.assert_allclose(full(turned, p), full(plain, p)[turn], atol=1e-9 * bound)


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), l2=st.sampled_from([0.0, 1.0]), n_outputs=st.sampled_from([1, 2]))
def test_a_larger_bound_has_a_smaller_error_and_multiplier(seed, l2, n_outputs):
    omega, targets = regression(seed, n_outputs=n_outputs)
    whole = np.abs(np.linalg.lstsq(omega, targets)[0]).sum()
    fits = [solve(omega, targets, part * whole, l2) for part in (0.1, 0.3, 0.5, 0.8, 1.2)]
    for less, more in pairwise(fits):
        assert more.error < less.error or less.status is ElasticNetStatus.SLACK
        assert more.multiplier <= less.multiplier
        assert np.abs(more.coef).sum() >= np.abs(less.coef).sum() - 1e-12


def test_a_slack_bound_gives_the_ridge_solution():
    omega, targets = regression(2)
    for l2 in (0.0, 5.0):
        ridge = np.linalg.solve(omega.T @ omega + l2 * np.eye(12), omega.T @ targets)
        norm = np.abs(ridge).sum()
        for more, status in ((1.001, ElasticNetStatus.SLACK), (100.0, ElasticNetStatus.SLACK)):
            fit = solve(omega, targets, more * norm, l2)
            assert fit.status is status
            np.testing.assert_allclose(full(fit, 12), ridge, atol=1e-10)
        assert solve(omega, targets, 0.999 * norm, l2).status is ElasticNetStatus.OPTIMAL


def test_duplicates_share_a_coefficient_with_a_ridge_and_change_nothing_without():
    omega, targets = regression(3)
    first = int(np.abs(omega.T @ targets).argmax())
    doubled = np.hstack([omega, omega[:, [first]]])
    both = full(solve(doubled, targets, 1.0, l2=1.0), 13)
    assert both[first, 0] == pytest.approx(both[12, 0], rel=1e-6)
    assert both[first, 0] != 0
    alone, pair = solve(omega, targets, 1.0), solve(doubled, targets, 1.0)
    assert pair.error == pytest.approx(alone.error, rel=1e-9)


def test_targets_of_zero_have_coefficients_of_zero():
    fit = ElasticNet().fit(DenseColumns(np.eye(4)), np.zeros((4, 2)), 1.0, total=0.0)
    assert fit.coef.shape == (0, 2)
    assert fit.status is ElasticNetStatus.SLACK
    path = ElasticNet().path(DenseColumns(np.eye(4)), np.zeros((4, 2)), 2)
    assert path.status is SelectionStatus.EXACT
    assert len(path) == 0
    assert path.at(0).coef.shape == path.refit(0).coef.shape == (0, 2)


# ---------------------------------------------------------------------------------------------------------
# A wanted number of vectors
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("l2", [0.0, 3.0])
@pytest.mark.parametrize("m", [1, 2, 7, 20, 39, 40])
def test_exactly_m_are_active(m, l2, n_outputs):
    omega, targets = regression(7, 200, 40, n_outputs)
    design = DesignColumns(omega, targets)
    path = ElasticNet(l2).path(design, design.correlations, m, total=design.total)
    assert path.status is SelectionStatus.COMPLETE
    assert len(path) == m
    last = path.fits[-1]
    assert sorted(path.order) == last.indices.tolist()
    check_conditions(omega, targets, last, l2)
    for fit in path.fits:
        check_conditions(omega, targets, fit, l2)
    assert all(a.bound < b.bound for a, b in pairwise(path.fits))
    own = path.at(m)
    np.testing.assert_array_equal(own.indices, path.order)
    np.testing.assert_allclose(full(last, 40)[own.indices], own.coef)
    assert own.error == last.error


def test_vectors_enter_in_the_order_of_lars_where_none_is_dropped():
    G, C = np.eye(8), np.array([[5.0], [-8.0], [1.0], [3.0], [-2.0], [7.0], [4.0], [6.0]])
    path = ElasticNet().path(DenseColumns(G), C, 6)
    np.testing.assert_array_equal(path.order, lars_path(DenseColumns(G), C, 6).order)
    assert (np.diff(path.bounds) >= 0).all()


@pytest.mark.parametrize("l2", [0.0, 3.0])
def test_the_path_can_be_read_at_any_size(l2):
    omega, targets = regression(4, 100, 30, 2)
    design = DesignColumns(omega, targets)
    path = ElasticNet(l2).path(design, design.correlations, 20, total=design.total)
    before = design.total
    for k in range(1, 21):
        some = omega[:, path.order[:k]]
        refit = path.refit(k)
        best = np.linalg.solve(some.T @ some + l2 * np.eye(k), some.T @ targets)
        np.testing.assert_allclose(refit.coef, best, atol=1e-10)
        own = path.at(k)
        np.testing.assert_array_equal(own.indices, path.order[:k])
        assert np.abs(own.coef).sum() <= path.bounds[k - 1] * (1 + 1e-9)
        value = np.sum((targets - some @ own.coef) ** 2) + l2 * np.sum(own.coef**2)
        assert own.error == pytest.approx(value, rel=1e-9)
        assert refit.error <= own.error * (1 + 1e-12)
        assert own.error <= before * (1 + 1e-12)
        before = own.error


def test_targets_that_few_candidates_reproduce_are_a_status(rng):
    omega = np.linalg.qr(rng.standard_normal((30, 10)))[0]
    design = DesignColumns(omega, omega[:, [2, 5, 7]] @ np.array([3.0, 2.0, 1.0]))
    path = ElasticNet().path(design, design.correlations, 8, total=design.total)
    assert path.status is SelectionStatus.EXACT
    assert sorted(path.order) == [2, 5, 7]
    np.testing.assert_allclose(path.refit(3).coef[np.argsort(path.order), 0], [3, 2, 1], rtol=1e-9)


def test_more_than_there_are_takes_all():
    omega, targets = regression(1)
    design = DesignColumns(omega, targets)
    path = ElasticNet().path(design, design.correlations, 13, total=design.total)
    assert path.status is SelectionStatus.ALL
    assert sorted(path.order) == list(range(12))


def test_several_that_enter_at_once_are_taken_one_after_the_other():
    path = ElasticNet().path(DenseColumns(np.eye(4)), np.array([[2.0], [-2.0], [2.0], [1.0]]), 2)
    assert path.status is SelectionStatus.COMPLETE
    assert len(path) == 2
    assert 3 not in path.order
    own = path.at(2)
    np.testing.assert_allclose(own.coef, path.correlations * (np.abs(own.coef).max() / 2))


def kernel_problem(rng, n: int = 400, p: int = 200, n_outputs: int = 1):
    """Rows, candidates, a kernel with nearly dependent columns and smooth targets."""
    X = rng.uniform(-2, 2, (n, 2))
    targets = np.stack([np.sin((o + 1) * X[:, 0]) * X[:, 1] for o in range(n_outputs)], axis=1)
    return RBF(0.5), X, X[:p], targets


@pytest.mark.slow
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_nearly_dependent_kernel_columns_are_solved_exactly(rng, n_outputs):
    kernel, X, S, T = kernel_problem(rng, n_outputs=n_outputs)
    gram = GramColumns(kernel, X, S, ridge=1e-6)
    assert np.linalg.cond(gram.columns(np.arange(200))) > 1e8
    C, total = gram.correlations(T), float(np.sum(T * T))
    path = ElasticNet().path(gram, C, 20, total=total)
    assert len(path) == 20
    assert all(fit.status is ElasticNetStatus.OPTIMAL for fit in path.fits)
    lars = lars_path(gram, C, 20, total=total).at(20)
    same_norm = ElasticNet().fit(gram, C, float(np.abs(lars.coef).sum()), total=total)
    assert same_norm.error < lars.error  # nothing of that norm has a smaller error


def test_every_array_library_finds_the_same(backend, rng):
    kernel, X, S, T = kernel_problem(rng, 150, 60, 2)
    numpy = GramColumns(kernel, X, S, ridge=1e-6)
    gram = GramColumns(kernel, X, S, ridge=1e-6, backend=backend)
    C = numpy.correlations(T)
    expected = ElasticNet().path(numpy, C, 10)
    path = ElasticNet(backend=backend).path(gram, gram.correlations(T), 10)
    np.testing.assert_array_equal(path.order, expected.order)
    np.testing.assert_allclose(path.at(10).coef, expected.at(10).coef, rtol=1e-5)
    omega, targets = regression(1, 20, 60)
    primal, dual = (
        ElasticNet(1.0, form=form, backend=backend).fit(DesignColumns(omega, targets, backend), omega.T @ targets, 2.0)
        for form in ("primal", "dual")
    )
    np.testing.assert_allclose(full(primal, 60), full(dual, 60), atol=1e-9)


# ---------------------------------------------------------------------------------------------------------
# Memory, progress, refusals
# ---------------------------------------------------------------------------------------------------------


class Counted(DenseColumns):
    """Counts the columns that are asked for, and how often some are."""

    fetched = passes = 0

    def columns(self, which):
        assert len(np.unique(which)) == len(which)
        self.fetched += len(which)
        self.passes += 1
        return super().columns(which)


def test_few_columns_are_fetched_for_few_vectors():
    omega, targets = regression(0, 1000, 500)
    gram = Counted(omega.T @ omega)
    path = ElasticNet().path(gram, omega.T @ targets, 10)
    assert len(path) == 10
    assert gram.fetched < 150


@pytest.mark.slow
def test_likely_columns_come_along_where_a_pass_is_expensive(rng):
    kernel, X, S, T = kernel_problem(rng)
    G, C = GramColumns(kernel, X, S, ridge=1e-6).columns(np.arange(200)), kernel.gram(X, S).T @ T
    cheap, expensive = Counted(G), Counted(G)
    expensive.is_cached = False
    same = ElasticNet().path(cheap, C, 12), ElasticNet().path(expensive, C, 12)
    np.testing.assert_array_equal(same[0].order, same[1].order)
    assert expensive.passes < cheap.passes
    assert expensive.fetched > cheap.fetched
    everything = Counted(G)
    everything.is_cached = False
    assert len(ElasticNet(1.0).path(everything, C, 200)) == 200  # no more are left to come along


@pytest.mark.slow
def test_columns_are_forgotten_where_memory_is_short(rng):
    kernel, X, S, T = kernel_problem(rng)
    gram = GramColumns(kernel, X, S, ridge=1e-6).columns(np.arange(200))
    C = kernel.gram(X, S).T @ T
    tight, ample = Counted(gram), Counted(gram)
    little = ElasticNet(max_bytes=8 * 200 * 45).path(tight, C, 20)
    plenty = ElasticNet().path(ample, C, 20)
    assert tight.fetched > ample.fetched  # some had to be fetched again
    np.testing.assert_array_equal(little.order, plenty.order)
    np.testing.assert_allclose(little.at(20).coef, plenty.at(20).coef, rtol=1e-5)


def test_the_memory_cap_holds(rng):
    n, cap = 3000, 2**23
    kernel, X, S, T = kernel_problem(rng, n, n)
    assert 8 * n * n > 4 * cap  # all of the Gram matrix would not fit
    gram = GramColumns(kernel, X, S, ridge=1e-6, max_bytes=cap)
    C = gram.correlations(T)
    tracemalloc.start()
    try:
        path = ElasticNet(1.0, max_bytes=cap).path(gram, C, 8)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(path) == 8
    assert peak < 3 * cap  # columns under the cap, and K's blocks and copies beside it


def test_progress_counts_the_active():
    omega, targets = regression(0)
    seen: list[tuple[int, int]] = []
    ElasticNet().path(
        DenseColumns(omega.T @ omega), omega.T @ targets, 4, progress=lambda done, total: seen.append((done, total))
    )
    assert seen[-1] == (4, 4)
    assert all(done <= total == 4 for done, total in seen)


def test_bad_calls_are_refused():
    gram = DenseColumns(np.eye(3))
    with pytest.raises(InputError, match="bound must be a positive number, not 0"):
        ElasticNet().fit(gram, np.ones((3, 1)), 0)
    with pytest.raises(InputError, match="must be positive, not 0"):
        ElasticNet().path(gram, np.ones((3, 1)), 0)
    with pytest.raises(InputError, match="4 correlations for 3 candidates"):
        ElasticNet().fit(gram, np.ones((4, 1)), 1.0)
    with pytest.raises(InputError, match="must be finite"):
        ElasticNet().fit(gram, np.array([[1.0], [np.nan], [2.0]]), 1.0)
    with pytest.raises(InputError, match=r"l2 must be zero or a positive number, not -1\.0"):
        ElasticNet(-1.0)
    with pytest.raises(InputError, match="'auto', 'primal' or 'dual'"):
        ElasticNet(form="best")
    with pytest.raises(InputError, match="primal form needs DesignColumns with one target"):
        ElasticNet(form="primal").fit(gram, np.array([[3.0], [2.0], [1.0]]), 1.0)
    with pytest.raises(InputError, match="2 rows of regressors for 3 targets"):
        DesignColumns(np.ones((2, 2)), np.ones(3))
    with pytest.raises(InputError, match="raise max_bytes"):
        ElasticNet(max_bytes=30).path(gram, np.array([[3.0], [2.0], [1.0]]), 3)
    with pytest.raises(InputError, match="the path has 2 vectors, not 3"):
        ElasticNet().path(gram, np.array([[3.0], [2.0], [1.0]]), 2).at(3)


def test_signed_coefficients_know_samples_and_twofold_ones():
    signed = Signed.of_samples(np.array([0, 5, 7, 11]), 3, 2)  # an array (2, 3, 2)
    assert signed.rows.tolist() == [0, 2, 0, 2]
    assert signed.outputs.tolist() == [0, 1, 1, 1]
    assert signed.signs.tolist() == [1, 1, -1, -1]
    assert signed.is_twofold  # samples 5 and 11 are one coefficient
    assert not Signed.of_coef(np.array([[0.0, -2.0], [3.0, 0.0]])).is_twofold


# ---------------------------------------------------------------------------------------------------------
# As a start
# ---------------------------------------------------------------------------------------------------------


def test_rows_are_picked_from_a_sample(rng):
    kernel, X, _, T = kernel_problem(rng, n_outputs=3)
    V, path = elastic_net_rows(kernel, X, T, 12, seed=0)
    assert V.shape == (12, 2)
    assert len(path) == 12
    assert all((v == X).all(axis=1).any() for v in V)
    gram, centred = GramColumns(kernel, X, X, ridge=1e-6), T - T.mean(axis=0)
    same = ElasticNet().path(gram, gram.correlations(centred), 12, total=float(np.sum(centred**2)))
    np.testing.assert_array_equal(V, X[same.order])
    again, _ = elastic_net_rows(kernel, X, T, 12, seed=0)
    np.testing.assert_array_equal(V, again)
    sparse_V, _ = elastic_net_rows(kernel, sparse.csr_array(X), T, 12, seed=0)
    np.testing.assert_allclose(sparse_V, V)
