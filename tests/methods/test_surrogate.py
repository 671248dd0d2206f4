"""A surrogate is the source without the held-out rows; scores on them are then those of new rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

import svmpress
from problems import problem_of
from svmpress.decoders import PairDAG, PairVote
from svmpress.errors import InputError
from svmpress.kernels import Laplacian
from svmpress.methods import Auto, Experiment, Holdout, Score, split_rows
from svmpress.methods.surrogate import follows_labels, surrogate_of, training_rows


@pytest.fixture(scope="module")
def moons():
    return make_moons(300, noise=0.3, random_state=0)


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(300, 3, centers=4, cluster_std=4.0, random_state=0)
    return X / 5, np.array(["d", "a", "c", "b"])[y]


SOME = np.arange(0, 300, 2)


@pytest.mark.parametrize(
    "kernel",
    [
        {"kernel": "rbf", "gamma": 0.7},
        {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0},
        {"kernel": "sigmoid", "gamma": 0.1, "coef0": 0.2},
        {"kernel": "linear"},
    ],
    ids=lambda k: k["kernel"],
)
def test_it_is_the_svm_that_the_other_rows_would_have_given(moons, blobs, kernel):
    for X, y in (moons, blobs):
        svc = SVC(C=2.0, decision_function_shape="ovo", **kernel).fit(X, y)
        got = surrogate_of(problem_of(svc, X, y), SOME)
        again = SVC(C=2.0, decision_function_shape="ovo", **kernel).fit(X[SOME], y[SOME])
        np.testing.assert_array_equal(got.rows, X[SOME])
        np.testing.assert_array_equal(got.source.classes_[got.y], y[SOME])
        np.testing.assert_allclose(got.source.decision_function(X), again.decision_function(X), rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(got.source.predict(X), again.predict(X))


def test_an_unknown_c_is_one_that_would_have_made_the_source():
    X, y = make_circles(200, factor=0.4, noise=0.05, random_state=0)
    hard = SVC(C=1e8, gamma=1.0, tol=1e-6).fit(X, y)  # no coefficient comes near it
    C = np.abs(hard.dual_coef_).max()
    assert C < 1e4
    same = SVC(C=C, gamma=1.0, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(same.decision_function(X), hard.decision_function(X), atol=1e-3)
    got = surrogate_of(problem_of(hard, X, y), np.arange(0, 200, 2))
    assert np.mean(got.source.predict(X) == y) == 1.0


def test_a_nu_svm_is_a_c_svm_with_the_c_of_its_coefficients(moons):
    X, y = moons
    nu = NuSVC(nu=0.4, gamma=1.0, tol=1e-6).fit(X, y)
    got = surrogate_of(problem_of(nu, X, y), np.arange(300))  # no row is left out, so it is the source itself
    np.testing.assert_allclose(got.source.decision_function(X), nu.decision_function(X), atol=0.02)


@pytest.fixture(scope="module")
def curve(moons):
    X = moons[0]
    return X, np.sin(2 * X[:, 0]) * X[:, 1] + 0.2 * np.random.default_rng(0).standard_normal(300)


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.2, 0.5])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_it_is_the_regression_that_the_other_rows_would_have_given(curve, C, epsilon):
    X, y = curve
    svr = SVR(C=C, epsilon=epsilon, gamma=1.0, tol=1e-6).fit(X, y)
    got = surrogate_of(problem_of(svr, X, y), np.arange(300))  # no row is left out, so it is the source itself
    np.testing.assert_allclose(got.source.decision_values(X)[:, 0], svr.predict(X), atol=0.02)
    got = surrogate_of(problem_of(svr, X, y), SOME)
    again = SVR(C=C, epsilon=epsilon, gamma=1.0).fit(X[SOME], y[SOME])
    np.testing.assert_array_equal(got.rows, X[SOME])
    np.testing.assert_array_equal(got.y[:, 0], y[SOME])
    assert r2_score(again.predict(X), got.source.predict(X)) > 0.98
    assert abs(got.source.n_vectors - again.support_.size) <= 10


@pytest.mark.parametrize("unit", [1e-3, 1e5])
def test_the_units_of_values_do_not_matter(unit):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 4))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.2 * rng.standard_normal(800)
    half = np.arange(0, 800, 2)
    plain, scaled = (
        surrogate_of(problem_of(SVR(C=10 * u, epsilon=0.1 * u, tol=1e-3 * u).fit(X, y * u), X, y * u), half)
        for u in (1.0, unit)
    )
    assert abs(scaled.source.n_vectors - plain.source.n_vectors) <= 5
    np.testing.assert_allclose(scaled.source.predict(X) / unit, plain.source.predict(X), atol=0.02)


def test_other_regressions_by_support_vectors(curve):
    X, y = curve
    nu = NuSVR(nu=0.4, C=2.0, gamma=1.0).fit(X, y)
    got = surrogate_of(problem_of(nu, X, y), np.arange(300))
    np.testing.assert_allclose(got.source.predict(X), nu.predict(X), atol=0.05)
    X = np.maximum(X, 0)
    svr = SVR(gamma=1.0).fit(X, y)
    dense, thin = (surrogate_of(problem_of(svr, rows, y), SOME) for rows in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(thin.source.predict(X), dense.source.predict(X), atol=1e-3)
    flat = surrogate_of(problem_of(SVR().fit(X, np.ones(300)), X, np.ones(300)), SOME)
    assert flat.source.n_vectors == 0
    np.testing.assert_array_equal(flat.source.predict(X), 1.0)


def test_a_regression_without_a_norm_has_none(curve):
    X, y = curve
    assert surrogate_of(problem_of(SVR(kernel="sigmoid", gamma=0.1).fit(X, y), X, y), SOME) is None


def test_labels_count_where_the_source_follows_them(curve, blobs):
    X, y = curve
    svr = SVR(gamma=1.0).fit(X, y)
    for wanted, follows in ((y, True), (np.exp(2 * y), False)):
        problem = problem_of(svr, X, wanted)
        assert follows_labels(problem, surrogate_of(problem, SOME)) == follows
        experiment = Experiment.of(problem, 0)
        assert experiment.uses_labels == (experiment.problem.y is not None) == follows
        assert bool(experiment.notes) == (not follows)
        assert (experiment.problem.source is problem.source) == (not follows)
    X, y = blobs
    weighted = problem_of(SVC(gamma=0.3, class_weight={"a": 100}).fit(X, y), X, y)
    assert not Experiment.of(weighted, 0).uses_labels
    X, y = make_moons(300, noise=0.15, random_state=0)
    plain = Experiment.of(problem_of(SVC(C=100, gamma=20.0).fit(X, y), X, y), 0)
    assert plain.uses_labels
    assert plain.reference.mean < plain.holdout.source.mean  # the source has seen the held-out rows


def test_an_experiment_without_labels_has_the_source_for_a_teacher(moons):
    X, y = moons
    problem = problem_of(SVC(gamma=1.0).fit(X, y), X)
    experiment = Experiment.of(problem, 0)
    assert experiment.problem.source is problem.source
    assert not experiment.uses_labels
    assert experiment.problem.rows.shape[0] + experiment.holdout.n == len(X)
    assert experiment.reference.mean == 1.0


def test_many_rows_are_sampled_with_the_seed():
    every = np.arange(4600)
    got, again, other = (training_rows(every, seed) for seed in (0, 0, 1))
    assert len(np.unique(got)) == 2300  # half of them
    np.testing.assert_array_equal(got, again)
    assert not np.array_equal(got, other)
    assert len(training_rows(every[:1500], 0)) == 1500
    assert len(training_rows(np.arange(10**5), 0)) == 15_000


@pytest.mark.parametrize("n_classes", [2, 5])
def test_of_every_class_the_same_share_is_held_out(rng, n_classes):
    classes = rng.choice(n_classes, 1000, p=np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum())
    for seed in range(3):
        _, held = split_rows(1000, seed, classes)
        counts = np.bincount(classes)
        np.testing.assert_allclose(np.bincount(classes[held]), counts * len(held) / 1000, atol=1)


def test_the_only_row_of_a_class_is_not_held_out():
    classes = np.array([0] * 60 + [1] * 30 + [2])
    for seed in range(5):
        fit, held = split_rows(91, seed, classes)
        assert 90 in fit
        assert len(held) == 36


def test_a_dag_has_a_surrogate_of_its_kind(blobs):
    X, y = blobs
    source = svmpress.from_estimator(SVC(gamma=0.3).fit(X, y))
    got = surrogate_of(problem_of(source.with_decoder(PairDAG(source.classes_)), X, y), np.arange(300))
    assert isinstance(got.source.decoder, PairDAG)
    np.testing.assert_allclose(got.source.decision_values(X), source.decision_values(X), rtol=1e-9)


def test_one_vs_one_of_two_classes_keeps_its_sides(moons):
    X, y = moons
    pair = OneVsOneClassifier(SVC(gamma=1.0)).fit(X, y)
    source = svmpress.from_estimator(pair)
    assert isinstance(source.decoder, PairVote)
    got = surrogate_of(problem_of(source, X, y), SOME)
    assert np.mean(got.source.predict(X) == pair.predict(X)) > 0.9
    assert np.corrcoef(got.source.decision_values(X)[:, 0], source.decision_values(X)[:, 0])[0, 1] > 0.9


def test_classes_in_any_order_keep_their_places(moons, tmp_path):
    X, y = moons
    model = svmpress.from_estimator(SVC(gamma=1.0).fit(X, y))
    f = model.expansion  # as a LibSVM file has it whose first row is of the class 1
    flipped = replace(
        model,
        expansion=replace(f, coef=-f.coef, intercept=-f.intercept),
        decoder=svmpress.Sign(np.array([1, 0])),
    )
    got = surrogate_of(problem_of(flipped, X, y), SOME)
    assert got.source.classes_.tolist() == [1, 0]
    assert np.mean(got.source.predict(X) == model.predict(X)) > 0.9


def test_sparse_rows(moons):
    X, y = np.maximum(moons[0], 0), moons[1]
    svc = SVC(gamma=1.0).fit(X, y)
    dense, thin = (surrogate_of(problem_of(svc, rows, y), SOME) for rows in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(thin.source.decision_function(X), dense.source.decision_function(X), atol=1e-5)


def test_a_degree_written_as_a_fraction_is_whole(moons):
    X, y = moons
    source = svmpress.from_estimator(SVC(kernel="poly", degree=2, gamma=1.0).fit(X, y))
    as_float = replace(source, expansion=replace(source.expansion, kernel=replace(source.kernel, degree=2.0)))
    assert surrogate_of(problem_of(as_float, X, y), SOME) is not None
    broken = replace(source, expansion=replace(source.expansion, kernel=replace(source.kernel, degree=2.5)))
    assert surrogate_of(problem_of(broken, X, y), SOME) is None


def test_where_it_cannot_be(moons):
    X, y = moons
    svc = SVC(gamma=1.0).fit(X, y)
    ok = problem_of(svc, X, y)
    assert surrogate_of(ok, SOME) is not None
    assert surrogate_of(replace(ok, y=None), SOME) is None
    assert surrogate_of(replace(ok, rows=None), SOME) is None
    assert surrogate_of(ok, np.flatnonzero(y == 0)) is None  # a class is missing
    laplacian = replace(ok.source, expansion=replace(ok.source.expansion, kernel=Laplacian(1.0)))
    assert surrogate_of(replace(ok, source=laplacian), SOME) is None
    assert surrogate_of(problem_of(OneVsRestClassifier(SVC()).fit(X, y + 2 * (X[:, 0] > 1)), X, y), SOME) is None
    assert surrogate_of(problem_of(KernelRidge(kernel="rbf").fit(X, y), X, y), SOME) is None
    assert surrogate_of(problem_of(svmpress.compress(SVR().fit(X, y), X, vectors=9).model, X, y), SOME) is None
    assert surrogate_of(problem_of(OneClassSVM().fit(X), X, 2 * y - 1), SOME) is None


# ---------------------------------------------------------------------------------------------------------
# Held-out rows
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_rows_that_the_source_has_seen_flatter_it_and_a_surrogate_does_not():
    rng = np.random.default_rng(0)
    X, y = make_moons(3600, noise=0.2, random_state=1)
    y = np.where(rng.uniform(size=len(y)) < 0.2, 1 - y, y)  # a fifth of the labels is wrong
    X, y, X_test, y_test = X[:600], y[:600], X[600:], y[600:]
    svc = SVC(C=100, gamma=30.0).fit(X, y)  # learns them by heart
    problem = problem_of(svc, X, y)
    fit, held = split_rows(600, 0)
    holdout = Holdout(problem, held)
    trained = surrogate_of(problem, fit)
    true = svc.score(X_test, y_test)
    assert holdout.source.mean > true + 0.15
    assert holdout.score(trained.source.expansion).mean == pytest.approx(true, abs=0.05)

    # what it is for: the small model is judged as strictly as new rows would
    short = Auto(candidates=(), work=1e9)
    small = svmpress.compress(trained.source, trained.rows, vectors=20, method=short)
    honest = holdout.score(small.model.expansion, small.model.decoder).mean
    on_new_rows = np.mean(small.model.predict(X_test) == y_test)
    assert honest == pytest.approx(on_new_rows, abs=0.05)
    copy = svmpress.compress(svc, X, vectors=200, method=short).model
    assert holdout.score(copy.expansion).mean > np.mean(copy.predict(X_test) == y_test) + 0.1


def test_scores_are_accuracy_r2_or_agreement(moons, blobs, rng):
    X, y = blobs
    svc = SVC(gamma=0.5).fit(X, y)
    small = svmpress.compress(svc, X, y, vectors=5).model
    with_y, without = Holdout(problem_of(svc, X, y), SOME), Holdout(problem_of(svc, X), SOME)
    assert with_y.source.mean == pytest.approx(svc.score(X[SOME], y[SOME]))
    assert without.source.mean == 1.0
    assert with_y.score(small.expansion, small.decoder).mean == pytest.approx(
        np.mean(small.predict(X[SOME]) == y[SOME])
    )
    agreement = np.mean(small.predict(X[SOME]) == svc.predict(X[SOME]))
    assert without.score(small.expansion, small.decoder).mean == pytest.approx(agreement)

    X = moons[0]
    y = X[:, 0] ** 2 + 0.1 * rng.standard_normal(300)
    svr = SVR().fit(X, y)
    assert Holdout(problem_of(svr, X, y), SOME).source.mean == pytest.approx(svr.score(X[SOME], y[SOME]))
    assert Holdout(problem_of(svr, X), SOME).source.mean == 1.0

    detector = OneClassSVM(nu=0.2).fit(X)
    known = np.where(moons[1] == 1, 1, -1)
    assert Holdout(problem_of(detector, X, known), SOME).source.mean == pytest.approx(
        np.mean(detector.predict(X[SOME]) == known[SOME])
    )


@pytest.mark.parametrize(
    ("n", "held"), [(2, 1), (50, 20), (1000, 400), (10_000, 2500), (30_000, 6000), (10**5, 10_000)]
)
def test_the_rows_are_split_into_two(n, held):
    fit, held_out = split_rows(n, seed=3)
    assert len(held_out) == held
    assert len(fit) + len(held_out) == n
    assert len(np.union1d(fit, held_out)) == n
    np.testing.assert_array_equal(held_out, split_rows(n, seed=3)[1])
    assert n == 2 or not np.array_equal(held_out, split_rows(n, seed=4)[1])


def test_one_row_cannot_be_split():
    with pytest.raises(InputError, match="at least two rows are needed to hold some out"):
        split_rows(1, 0)


def test_a_gain_counts_beyond_its_standard_error(rng):
    base = (rng.uniform(size=400) < 0.8).astype(float)
    better, luckier = base.copy(), base.copy()
    better[np.flatnonzero(base == 0)[:20]] = 1
    luckier[np.flatnonzero(base == 0)[:21]] = 1
    luckier[np.flatnonzero(base == 1)[:20]] = 0  # one more right than wrong of 41 that changed
    assert Score(better).gain_over(Score(base)) > 2
    assert 0 < Score(luckier).gain_over(Score(base)) < 2
    assert Score(base).gain_over(Score(base)) == 0
    assert Score(base).gain_over(Score(better)) < -2
    assert Score(better).mean == better.mean()
