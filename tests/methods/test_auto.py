"""The default method: accuracy on rows that nothing was chosen by, on every kind of model and data."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_blobs, make_classification
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, SVR, OneClassSVM

import svmpress
from problems import problem_of
from svmpress.compression import Status
from svmpress.decoders import Argmax, PairDAG, PairVote, pair_mask
from svmpress.formats import save_cost
from svmpress.methods import Auto, Finish, Judge, LarsSVM, Scene, Setting
from svmpress.methods import surrogate as rehearsal
from svmpress.methods.auto import effort
from svmpress.methods.auto import method as auto
from svmpress.methods.auto.choices import Search
from svmpress.methods.auto.method import _compress
from svmpress.methods.auto.scene import Guard
from svmpress.methods.auto.stages import Choice, Stages
from svmpress.methods.auto.trials import CLEAR, HELPS, Trials, Tried


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order] / 16, y[order]
    return X[:900], y[:900], X[900:], y[900:]


@pytest.fixture(scope="module")
def digits_svc(digits):
    svc = SVC(C=10, gamma=0.5).fit(*digits[:2])
    assert svc.score(*digits[2:]) > 0.98
    return svc


def rings(n: int, seed: int):
    """Three classes, one around the other."""
    rng = np.random.default_rng(seed)
    y, angle = rng.integers(0, 3, n), rng.uniform(0, 2 * np.pi, n)
    radius = 1 + y + 0.15 * rng.standard_normal(n)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), y


def noisy(n: int, seed: int, flip: float):
    """Two classes beside a wave, some labels wrong."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    y = (np.sin(2 * X[:, 0]) > 0.8 * X[:, 1]) ^ (rng.uniform(size=n) < flip)
    return X, np.where(y, "in", "out")


def surface(n: int, seed: int):
    """A regression with noise of standard deviation 0.1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    return X, np.sin(X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(n)


def lost(source, small, X, y) -> float:
    """The accuracy (or R²) that compression costs on these rows."""
    if y.dtype.kind == "f":
        return r2_score(y, source.predict(X)) - r2_score(y, small.predict(X))
    return float(np.mean(source.predict(X) == y) - np.mean(small.predict(X) == y))


# ---------------------------------------------------------------------------------------------------------
# Accuracy
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ratio", "points"), [(0.05, 0.02), (0.1, 0.015)])
def test_digits_keep_their_accuracy(digits, digits_svc, ratio, points):
    X, y, X_test, y_test = digits
    losses = []
    for state in (0, 1):
        result = svmpress.compress(digits_svc, X, y, ratio=ratio, random_state=state)
        assert result.model.n_vectors == int(ratio * digits_svc.support_.size + 0.5)
        losses.append(lost(digits_svc, result.model, X_test, y_test))
    assert np.mean(losses) <= points


def test_it_is_far_better_than_selecting_support_vectors(digits, digits_svc):
    X, y, X_test, y_test = digits
    moved = svmpress.compress(digits_svc, X, y, ratio=0.05).model
    selected = svmpress.compress(digits_svc, ratio=0.05, method=LarsSVM("decision", refit=True)).model
    assert lost(digits_svc, selected, X_test, y_test) > lost(digits_svc, moved, X_test, y_test) + 0.1


@pytest.mark.parametrize(("vectors", "points"), [(7, 0.01), (15, 0.005)])
def test_rings_are_kept_apart(vectors, points):
    X, y = rings(600, 0)
    X_test, y_test = rings(2000, 1)
    svc = SVC(C=10, gamma=1.0).fit(X, y)
    assert svc.score(X_test, y_test) > 0.99
    small = svmpress.compress(svc, X, y, vectors=vectors).model
    assert lost(svc, small, X_test, y_test) <= points


@pytest.mark.parametrize(("ratio", "points"), [(0.02, 0.03), (0.05, 0.015)])
def test_wrong_labels_do_not_mislead(ratio, points):
    X, y = noisy(1000, 0, flip=0.15)
    X_test, y_test = noisy(4000, 1, flip=0.0)
    svc = SVC(C=10, gamma=1.0).fit(X, y)
    small = svmpress.compress(svc, X, y, ratio=ratio).model
    assert set(small.predict(X_test)) == {"in", "out"}
    assert lost(svc, small, X_test, y_test) <= points


@pytest.mark.parametrize(("ratio", "points"), [(0.01, 0.03), (0.05, 0.005), (0.1, 0.002)])
@pytest.mark.parametrize("with_y", [True, False])
def test_a_regressor_keeps_its_r2(ratio, points, with_y):
    X, y = surface(600, 0)
    X_test, y_test = surface(1000, 1)
    svr = SVR(C=10, gamma=0.3, epsilon=0.05).fit(X, y)
    small = svmpress.compress(svr, X, y if with_y else None, ratio=ratio).model
    assert small.task == "regression"
    assert lost(svr, small, X_test, y_test) <= points
    assert r2_score(svr.predict(X_test), small.predict(X_test)) > 1 - 2 * points


def test_y_wins_where_a_regressor_learned_the_noise_by_heart():
    X, y = surface(800, 0)
    y = y + 0.7 * np.random.default_rng(2).standard_normal(800)
    svr = SVR(C=100, gamma=3.0, epsilon=0.01).fit(X, y)
    result = svmpress.compress(svr, X, y, vectors=30)
    assert any(note.startswith("values halfway to y are fitted, not the source's values") for note in result.notes)
    assert lost(svr, result.model, *surface(2000, 1)) < -0.1
    copy = svmpress.compress(svr, X, vectors=30)
    assert not any("halfway to y" in note for note in copy.notes)


def test_a_copy_competes_with_y_as_it_will_be_under_guard(monkeypatch):
    X, y = surface(300, 0)
    problem = problem_of(SVR(gamma=0.3).fit(X, y), X, y)
    guards, judged = [], []

    def over(self, scene, V):
        guards.append((self, scene.copies))
        return guarded(self, scene, V)

    def best_descent(self, scene, *args):
        top, choice = descended(self, scene, *args)
        judged.append((scene.copies, top))
        return top, choice

    guarded, descended = Guard.over, Stages._best_descent
    monkeypatch.setattr(Guard, "over", over)
    monkeypatch.setattr(Stages, "_best_descent", best_descent)
    Search(problem, 8, None, None).choice()
    assert sorted(copies for copies, _ in judged) == [False, True]
    (guard,) = {guard for guard, _ in guards if guard.is_needed}
    top = next(top for copies, top in judged if copies)
    assert any(np.array_equal(top.fit.vectors, places) for places in guard.places)  # its own vectors, too
    assert not any(guard.is_needed for guard, copies in guards if not copies)
    guards.clear()
    Search(replace(problem, y=None), 8, None, None).choice()
    assert not any(guard.is_needed for guard, _ in guards)


def test_settings_of_a_regressor_s_copy_are_judged_by_likeness(monkeypatch):
    X, y = surface(300, 0)
    run = Search(problem_of(SVR(gamma=0.3).fit(X, y), X, y), 8, None, None)
    judges = {}

    def best_setting(self, scene, judge, *args):
        judges[scene.copies] = judge
        return chosen(self, scene, judge, *args)

    chosen = Stages.best_setting
    monkeypatch.setattr(Stages, "best_setting", best_setting)
    run.choice()
    assert judges[True] is run.likeness
    assert run.likeness.reference.score == 1.0
    assert judges[False].reference.score < 1.0


def test_a_regressor_that_cannot_be_rehearsed_is_copied_and_that_is_said():
    X, y = surface(300, 0)
    result = svmpress.compress(KernelRidge(kernel="rbf", gamma=0.3, alpha=0.1).fit(X, y), X, y, vectors=20)
    assert "y is not used: no regression like the source could be trained on some of the rows" in result.notes
    without = svmpress.compress(KernelRidge(kernel="rbf", gamma=0.3, alpha=0.1).fit(X, y), X, vectors=20)
    np.testing.assert_array_equal(result.model.expansion.coef, without.model.expansion.coef)


def test_a_regressor_of_other_values_than_y_is_copied():
    X, y = surface(600, 0)
    svr = SVR(C=10, gamma=0.3).fit(X, y)
    result = svmpress.compress(svr, X, np.exp(y), ratio=0.1)
    assert (
        "the source does not answer as y suggests (weights, other values?): what it answers counts, not y"
        in result.notes
    )
    assert r2_score(svr.predict(X), result.model.predict(X)) > 0.99


def test_a_one_class_svm_agrees_at_a_tenth(rng):
    X = rng.standard_normal((500, 3)) * [1, 0.5, 0.2]
    detector = OneClassSVM(nu=0.2, gamma=0.5).fit(X)
    X_test = 1.2 * rng.standard_normal((2000, 3)) * [1, 0.5, 0.2]
    small = svmpress.compress(detector, X, ratio=0.1).model
    assert small.task == "outlier"
    assert np.mean(small.predict(X_test) == detector.predict(X_test)) > 0.98
    without_rows = svmpress.compress(detector, ratio=0.1).model
    assert np.mean(without_rows.predict(X_test) == detector.predict(X_test)) > 0.93


@pytest.mark.parametrize(
    "source",
    [
        KernelRidge(kernel="laplacian", gamma=0.3, alpha=0.1),
        KernelRidge(kernel="chi2", gamma=0.3, alpha=0.1),
        KernelRidge(kernel="poly", gamma=0.3, degree=5, coef0=1.0, alpha=0.1),
        SVR(kernel="poly", gamma=0.3, degree=5, coef0=1.0),
        SVR(kernel="sigmoid", gamma=0.1),
        SVR(kernel="linear"),
    ],
    ids=lambda source: f"{type(source).__name__}-{source.kernel}",
)
def test_other_kernels_keep_their_r2(source):
    X, y = surface(300, 0)
    X_test, y_test = surface(600, 1)
    if source.kernel == "chi2":
        X, X_test = X + 3.01, X_test + 3.01  # features >= 0
    source.fit(X, y)
    small = svmpress.compress(source, X, y, ratio=0.1).model
    assert small.n_vectors < 0.11 * len(X)
    assert small.kernel.name == source.kernel
    assert lost(source, small, X_test, y_test) <= 0.01
    assert r2_score(source.predict(X_test), small.predict(X_test)) > 0.99
    if small.kernel.nonnegative:
        assert (small.expansion.vectors >= 0).all()


def test_several_targets_at_once(rng):
    X, y = surface(400, 0)
    Y = np.stack([y, X[:, 0] ** 2, np.cos(X[:, 1])], axis=1)
    ridge = KernelRidge(kernel="rbf", gamma=0.3, alpha=0.1).fit(X, Y)
    X_test = surface(500, 1)[0]
    for labels in (Y, None):
        small = svmpress.compress(ridge, X, labels, ratio=0.1).model
        assert small.n_outputs == 3
        assert r2_score(ridge.predict(X_test), small.predict(X_test)) > 0.99


def test_one_vs_rest_stays_one_vs_rest():
    X, y = rings(600, 0)
    X_test, y_test = rings(2000, 1)
    rest = OneVsRestClassifier(SVC(C=10, gamma=1.0)).fit(X, y)
    result = svmpress.compress(rest, X, y, vectors=15)
    assert isinstance(result.model.decoder, Argmax)
    assert lost(rest, result.model, X_test, y_test) <= 0.01


# ---------------------------------------------------------------------------------------------------------
# With less to go by
# ---------------------------------------------------------------------------------------------------------


def test_without_labels_and_without_rows(digits, digits_svc):
    X, _, X_test, y_test = digits
    no_labels = svmpress.compress(digits_svc, X, ratio=0.1).model
    assert lost(digits_svc, no_labels, X_test, y_test) <= 0.02
    no_rows = svmpress.compress(digits_svc, ratio=0.1).model
    assert lost(digits_svc, no_rows, X_test, y_test) <= 0.03


@pytest.mark.parametrize("form", [sparse.csr_array, lambda X: X.astype(np.float32)], ids=["csr", "float32"])
def test_sparse_and_single_precision_rows_are_as_good(form):
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(40, 0.1), size=4)  # words of four topics
    y = rng.integers(0, 4, 900)
    X = np.stack([rng.multinomial(30, topics[c]) for c in y]) / 30
    svc = SVC(C=10, gamma=2.0).fit(form(X[:500]), y[:500])
    small = svmpress.compress(svc, form(X[:500]), y[:500], vectors=12).model
    assert isinstance(small.expansion.vectors, np.ndarray)
    assert np.mean(small.predict(form(X[500:])) == y[500:]) > svc.score(form(X[500:]), y[500:]) - 0.02


def test_the_order_of_the_rows_does_not_matter(rng):
    X, y = rings(600, 0)
    X_test, y_test = rings(2000, 1)
    svc = SVC(C=10, gamma=1.0).fit(X, y)
    for order in (np.argsort(y, kind="stable"), rng.permutation(600), np.argsort(X[:, 0])):
        small = svmpress.compress(svc, X[order], y[order], vectors=10).model
        assert lost(svc, small, X_test, y_test) <= 0.015


def test_fewer_rows_than_vectors_are_told():
    X, y = rings(600, 0)
    svc = SVC(C=10, gamma=5.0).fit(X, y)
    result = svmpress.compress(svc, X[:10], y[:10], vectors=20)
    assert result.status is Status.FEWER
    assert result.model.n_vectors == 10
    assert "fewer distinct rows" in result.message


def test_repeated_rows_do_no_harm():
    X, y = rings(300, 0)
    X_test, y_test = rings(2000, 1)
    svc = SVC(C=10, gamma=1.0).fit(X, y)
    small = svmpress.compress(svc, np.repeat(X, 4, axis=0), np.repeat(y, 4), vectors=10).model
    assert lost(svc, small, X_test, y_test) <= 0.015


# ---------------------------------------------------------------------------------------------------------
# Layouts
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [3, 4, 10])
def test_the_libsvm_layout_needs_no_copies(digits, n_classes, tmp_path):
    X, y, X_test, y_test = (part[digits[i // 2 * 2 + 1] < n_classes] for i, part in enumerate(digits))
    svc = SVC(C=10, gamma=0.5).fit(X, y)
    result = svmpress.compress(svc, X, y, ratio=0.1, layout="libsvm")
    small = result.model
    assert isinstance(small.decoder, PairVote)
    mask = small.expansion.coef_mask
    assert mask is not None
    classes = {tuple(row) for row in pair_mask(np.arange(n_classes), n_classes).tolist()}
    assert {tuple(row) for row in mask.tolist()} <= classes
    assert save_cost(small, "libsvm") == small.n_vectors == round(0.1 * svc.support_.size)
    assert lost(svc, small, X_test, y_test) <= 0.02

    svmpress.save(small, tmp_path / "small.model")
    again = svmpress.load(tmp_path / "small.model")
    assert again.n_vectors == small.n_vectors
    np.testing.assert_array_equal(again.predict(X_test), small.predict(X_test))


def test_the_shared_layout_costs_copies_and_no_mask(digits, digits_svc):
    X, y, *_ = digits
    small = svmpress.compress(digits_svc, X, y, ratio=0.03).model
    assert small.expansion.coef_mask is None
    assert save_cost(small, "libsvm") > small.n_vectors


def test_two_classes_need_no_mask_and_no_copies():
    X, y = noisy(300, 0, flip=0.1)
    small = svmpress.compress(SVC(gamma=1.0).fit(X, y), X, y, ratio=0.1, layout="libsvm").model
    assert small.expansion.coef_mask is None
    assert save_cost(small, "libsvm") == small.n_vectors


def test_a_class_without_vectors_is_no_trouble(digits):
    X, y, X_test, _ = digits
    X, y = X[:200], y[:200]
    small = svmpress.compress(SVC(C=10, gamma=0.5).fit(X, y), X, y, vectors=6, layout="libsvm").model
    assert small.n_vectors == 6
    assert np.isfinite(small.decision_values(X_test)).all()


def test_easy_classes_get_one_output_each_where_that_is_no_worse():
    X, y = make_blobs(600, 4, centers=6, cluster_std=0.5, random_state=2)
    svc = SVC(gamma=0.1).fit(X, y)
    result = svmpress.compress(svc, X, y, vectors=12)
    assert isinstance(result.model.decoder, Argmax)
    assert result.model.n_outputs == 6
    assert result.model.expansion.multiply_adds == 12 * (4 + 6)
    assert np.mean(result.model.predict(X) == y) > 0.99
    assert any(n.startswith("classes are fitted") and n.endswith("; 6 outputs do for 15") for n in result.notes)
    dag = svmpress.from_estimator(svc).with_decoder(PairDAG(svc.classes_))
    assert np.mean(svmpress.compress(dag, X, y, vectors=12).model.predict(X) == y) > 0.99


def test_classes_win_where_the_source_learned_the_noise_by_heart():
    def blobs(n, seed):
        X, y = make_blobs(n, centers=[[0, 0], [2, 0], [1, 2], [3, 2]], cluster_std=1.0, random_state=seed)
        return X, y

    X, y = blobs(800, 0)
    svc = SVC(C=1000, gamma=10).fit(X, y)
    result = svmpress.compress(svc, X, y, vectors=20)
    assert result.model.n_outputs == 4
    assert any(n.startswith("classes are fitted") for n in result.notes)
    assert lost(svc, result.model, *blobs(4000, 1)) < -0.05


def test_pairs_are_fitted_to_labels_where_that_is_better(digits):
    X, y, X_test, y_test = digits
    wrong = np.random.default_rng(0)
    y = np.where(wrong.random(len(y)) < 0.15, wrong.integers(0, 10, len(y)), y)
    source = SVC(C=10, gamma=1.0).fit(X, y)
    result = svmpress.compress(source, X, y, ratio=0.1, layout="libsvm")
    assert any("classes are fitted, not the source's values" in note for note in result.notes)
    assert save_cost(result.model, "libsvm") == result.model.n_vectors
    assert isinstance(result.model.decoder, PairVote)
    assert lost(source, result.model, X_test, y_test) < -0.02


def test_labels_of_pairs_take_more_rows_than_a_copy(monkeypatch):
    monkeypatch.setattr(effort, "_EVALUATION", 1e6)
    X, y = make_blobs(2600, centers=3, cluster_std=2.0, random_state=0)
    problem = replace(problem_of(SVC(C=0.1).fit(X, y), X, y), layout="libsvm")
    run = Search(problem, 240, None, None)
    scene = Scene.of(problem, run.effort.sample(2600, 3, Setting(), 0))
    labels = run._by_labels_of(problem, scene)
    assert (scene.n, labels.n) == (2000, 2400)
    np.testing.assert_array_equal(labels.classes, np.sort(labels.labels))
    np.testing.assert_array_equal(labels.targets[-1], [0, -1, -1])
    assert run._by_labels_of(problem, replace(scene, labels=None)) is None  # answers of the source are copied


def test_labels_of_which_one_is_missing_are_not_fitted_and_that_is_said():
    X, y = make_blobs(300, centers=3, random_state=0)
    problem = problem_of(SVC().fit(X, y), X, y)
    run = Search(problem, 5, None, None)
    assert run._by_labels_of(problem, Scene.of(problem, np.flatnonzero(y != 1))) is None
    assert run.notes == [f"classes as targets: not used (1 of them not among {np.sum(y != 1)} rows)"]


def test_a_copy_in_pairs_takes_a_norm_where_it_would_follow_every_row():
    """Many features and few rows of each class: machines that have vectors of their own could hold every value."""
    X, y = make_classification(900, 30, n_informative=12, n_classes=6, n_clusters_per_class=2, random_state=1)
    svc = SVC(C=10, gamma=0.05).fit(X[:600], y[:600])
    result = svmpress.compress(svc, X[:600], ratio=0.15, layout="libsvm")
    assert any(note.startswith("adopted: a norm of weight 0.01") for note in result.notes)
    assert np.mean(result.model.predict(X[600:]) == svc.predict(X[600:])) > 0.6  # 0.53 without


@pytest.mark.parametrize(
    ("layout", "calibrated", "given", "begins", "other"),
    [
        ("libsvm", False, True, 1.5, [(inf,)]),
        ("libsvm", False, False, inf, [(1.5,)]),  # the source's own answers are asked for
        ("libsvm", True, True, inf, []),
        ("shared", False, True, inf, []),
    ],
)
def test_values_of_masked_pairs_are_cut_off_unless_probabilities_need_them(layout, calibrated, given, begins, other):
    X, y = make_blobs(400, centers=4, cluster_std=1.0, random_state=1)
    problem = problem_of(SVC(C=10, gamma=0.5).fit(X, y), X, y if given else None)
    source = replace(problem.source, probability={"probA": np.ones(6)} if calibrated else {})
    run = Search(replace(problem, source=source, layout=layout), 12, None, None)
    scene, setting = run._opening(run._rehearsed()[0])
    assert setting.reach == begins
    assert [ladder.values for ladder in run.stages._ladders(scene, setting) if ladder.knob == "reach"] == other


def test_probabilities_are_left_out_after_a_finish_on_labels(monkeypatch):
    X, y = noisy(600, 0, flip=0.1)
    source = replace(svmpress.from_estimator(SVC(C=10, gamma=1.0).fit(X, y)), probability={"probA": np.ones(1)})
    chosen = Search.choice
    monkeypatch.setattr(Search, "choice", lambda self: replace(chosen(self), copies=True, finish=how, finish_steps=5))
    for how in Finish:
        small = svmpress.compress(source, X, y, vectors=5).model
        assert bool(small.probability) == (how is Finish.SOURCE)


def test_settings_must_be_clearly_better_under_a_mask_and_relevance_everywhere():
    X, y = make_blobs(400, centers=4, cluster_std=1.0, random_state=1)
    problem = problem_of(SVC(C=10, gamma=0.5).fit(X, y), X, y)
    for layout, usual in (("shared", HELPS), ("libsvm", CLEAR)):
        run = Search(replace(problem, layout=layout), 12, None, None)
        needed = {ladder.knob: ladder.needed for ladder in run.stages._ladders(Scene.of(run.problem), Setting())}
        assert needed["relevance"] == CLEAR
        assert needed["width"] == needed["ridge"] == usual
    norms = [
        (rung.values, rung.needed)
        for rung in run.stages._ladders(Scene.of(run.problem), Setting())
        if rung.knob == "norm"
    ]
    assert norms == [((0.01, 0.1, 1.0), HELPS), ((0.001,), CLEAR)]


@pytest.mark.parametrize(
    ("layout", "enough", "again"), [("libsvm", 20, True), ("libsvm", 10**6, False), ("shared", 0, False)]
)
def test_a_masked_copy_starts_again_if_there_are_steps_enough(monkeypatch, layout, enough, again):
    monkeypatch.setattr(auto, "_ENOUGH_STEPS", enough)
    X, y = make_blobs(400, centers=4, cluster_std=2.0, random_state=1)
    search = Search(replace(problem_of(SVC(C=10, gamma=0.5).fit(X, y), X, y), layout=layout), 12, None, None)
    choice = replace(search.choice(), steps=20)
    choice = choice if choice.again is None else replace(choice, again=replace(choice.again, vectors=X[:12]))
    began = []
    project = Scene.project
    monkeypatch.setattr(Scene, "project", lambda self, V, *rest: began.append(V) or project(self, V, *rest))
    _compress(search, choice)
    assert np.array_equal(began[0], X[:12]) == again


@pytest.mark.parametrize(("vectors", "far"), [(3, True), (40, False)])
def test_a_finish_on_labels_goes_far_where_these_are_many(monkeypatch, vectors, far):
    monkeypatch.setattr(effort, "_BRIEF", 0.0)
    X, y = noisy(1000, 0, flip=0.15)
    run = Search(problem_of(SVC(C=10, gamma=1.0).fit(X, y), X, y), vectors, 5e10, None)
    tried = []

    def finish(self, scene, how, at, setting, steps):
        tried.append((how, steps))
        return finished(self, scene, how, at, setting, steps)

    finished = Trials.finish
    monkeypatch.setattr(Trials, "finish", finish)
    run.choice()
    longest = {how: max(steps for h, steps in tried if h is how) for how in Finish}
    assert (longest[Finish.LABELS] > 100) == far
    assert longest[Finish.SOURCE] <= 50


@pytest.mark.parametrize(
    ("ahead", "worse", "calibrated", "adopted"),
    [
        (2.5, 0.0, False, True),
        (2.5, 0.5, False, True),
        (2.5, 1.5, False, False),  # standard errors of answers
        (1.5, 0.0, False, False),
        (2.5, 0.0, True, False),  # the probabilities would be lost
    ],
)
def test_margins_of_many_labels_decide_where_answers_hardly_differ(monkeypatch, ahead, worse, calibrated, adopted):
    monkeypatch.setattr(effort, "_BRIEF", 0.0)
    X, y = noisy(1000, 0, flip=0.3)
    problem = problem_of(SVC(C=10, gamma=1.0).fit(X, y), X, y)
    source = replace(problem.source, probability={"probA": np.ones(1)} if calibrated else {})
    run = Search(replace(problem, source=source), 6, 5e10, None)
    scene, judge = Scene.of(problem, np.arange(600)), Judge(problem, np.arange(600, 1000))
    setting = Setting()
    fit = run.trials.project(scene, X[:6], problem.source.kernel, setting, 20, "")
    best = run.trials.judged(judge, scene, fit)
    monkeypatch.setattr(Tried, "gain_over", lambda self, other: 0.0 if self is other else -worse)
    monkeypatch.setattr(Stages, "_ahead", lambda *_: ahead)
    choice = Choice(fit.vectors, fit.kernel, setting)
    _, chosen = run.stages._best_finish(scene, judge, best, choice, trusted=True)
    assert (chosen.finish is Finish.LABELS) == adopted


def test_margins_are_compared_at_the_scale_that_suits_them():
    X, y = noisy(1000, 0, flip=0.1)
    problem = problem_of(SVC(C=10, gamma=1.0).fit(X, y), X, y)
    run = Search(problem, 6, None, None)
    scene, judge = Scene.of(problem, np.arange(600)), Judge(problem, np.arange(600, 1000))
    fit = run.trials.project(scene, X[:6], problem.source.kernel, Setting(), 20, "")
    finished = run.trials.finish(scene, Finish.LABELS, fit, Setting(), 30)
    small = replace(fit, coef=0.2 * fit.coef, intercept=0.2 * fit.intercept - 1)
    after = run.trials.judged(judge, scene, finished)
    of_fit, of_small = (
        run.stages._ahead(judge, scene, run.trials.judged(judge, scene, before), after) for before in (fit, small)
    )
    assert of_fit == pytest.approx(of_small, abs=0.01)
    finished, small = (judge.margins(run.trials.expansion(refined)) for refined in (finished, small))
    assert finished.gain_over(small) > of_small + 1  # as they are, much of the gain is scale


@pytest.mark.parametrize("norm", [0.0, 0.01])
def test_a_masked_copy_goes_far_on_the_source_s_margins_unless_it_needs_a_norm(monkeypatch, norm):
    X, y = make_blobs(400, centers=4, cluster_std=1.5, random_state=1)
    problem = replace(problem_of(SVC(C=10, gamma=0.5).fit(X, y), X, y), layout="libsvm")
    run = Search(problem, 12, None, None)
    scene, judge = Scene.of(problem, np.arange(300)), Judge(problem, np.arange(300, 400))
    choice = Choice(X[:12], problem.source.kernel, Setting(relevance=0.01, norm=norm))
    start = run.trials.project(scene, choice.vectors, choice.kernel, choice.setting, 3, "")
    taken = dict.fromkeys(Finish, 0)

    def finish(self, scene, how, at, setting, steps):
        taken[how] += steps
        return at

    monkeypatch.setattr(Trials, "finish", finish)
    run.stages._best_finish(scene, judge, run.trials.judged(judge, scene, start), choice, trusted=True)
    assert (taken[Finish.SOURCE] > 100) == (norm == 0)
    assert taken[Finish.LABELS] <= 100


def test_classes_are_no_targets_where_functions_have_no_norm():
    X, y = make_blobs(400, centers=4, cluster_std=1.5, random_state=0)
    svc = SVC(kernel="sigmoid", gamma=0.01).fit(X / 3, y)
    result = svmpress.compress(svc, X / 3, y, vectors=10)
    assert result.model.n_outputs == 6
    assert not any("classes" in note for note in result.notes)


def test_a_rehearsal_on_few_of_the_rows_does_not_speak_for_classes(monkeypatch):
    X, y = make_blobs(600, centers=4, cluster_std=1.2, random_state=0)
    problem = problem_of(SVC(gamma=0.1).fit(X, y), X, y)
    trusted = Search(problem, 10, None, None)
    trusted.choice()
    assert any("classes as targets" in note for note in trusted.notes)
    monkeypatch.setattr(rehearsal, "_MANY_ROWS", 100)
    monkeypatch.setattr(rehearsal, "_PART", 10)
    weak = Search(problem, 10, None, None)
    assert weak.choice().copies
    assert any("trained on 100 rows" in note for note in weak.notes)
    assert not any("classes as targets" in note for note in weak.notes)


@pytest.mark.parametrize("work", [2e10, 6e10])
def test_the_elastic_net_is_no_start_where_all_takes_a_second(work):
    X, y = rings(300, 0)
    search = Search(problem_of(SVC(C=10, gamma=1.0).fit(X, y), X, y), 6, work, None)
    search.choice()
    assert "LARS" in search.path
    assert ("elastic net" in search.path) == (work > 5e10)


# ---------------------------------------------------------------------------------------------------------
# The same again, and what it says
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["shared", "libsvm"])
def test_two_runs_are_bit_equal(layout):
    X, y = rings(400, 0)
    svc = SVC(C=10, gamma=1.0).fit(X, y)
    one, two = (svmpress.compress(svc, X, y, vectors=8, layout=layout, random_state=4) for _ in range(2))
    for name in ("vectors", "coef", "intercept"):
        np.testing.assert_array_equal(getattr(one.model.expansion, name), getattr(two.model.expansion, name))
    assert one.model.kernel == two.model.kernel
    assert one.notes == two.notes
    other = svmpress.compress(svc, X, y, vectors=8, layout=layout, random_state=5)
    assert not np.array_equal(one.model.expansion.vectors, other.model.expansion.vectors)


def test_the_global_random_state_plays_no_part():
    X, y = rings(300, 0)
    svc = SVC(C=10, gamma=1.0).fit(X, y)
    results = []
    for seed in (0, 1):
        np.random.seed(seed)  # noqa: NPY002 - what a user of the old interface does
        results.append(svmpress.compress(svc, X, y, vectors=6).model.expansion.vectors)
    np.testing.assert_array_equal(*results)


def test_what_was_decided_is_told():
    X, y = rings(600, 0)
    svc = SVC(C=10, gamma=1.0).fit(X, y)
    result = svmpress.compress(svc, X, y, vectors=8)
    text = result.summary()
    for words in (
        "choices were rehearsed on an SVM like the source, trained on 360 rows",
        "240 held-out rows",
        "started from",
        "k-means centres",
        "LARS",
        "learning the kernel width",
        "weight 0.1 for rows of neither class of a pair",
        "a stronger ridge",
        "a finish on margins of the source",
        "a finish on margins of the labels",
    ):
        assert words in text, words
    assert "LARS" in result.path
    assert "descent" in result.trace
    values = [point.value for point in result.trace["descent"]]
    assert values[-1] <= values[0]


def test_labels_that_the_source_does_not_follow_are_not_fitted():
    X, y = make_blobs(500, centers=4, center_box=(-4, 4), cluster_std=1.3, random_state=1)
    weighted = SVC(gamma=0.3, class_weight={0: 40}).fit(X, y)
    run = Search(problem_of(weighted, X, y), 12, None, None)
    choice = replace(run.choice(), copies=False)
    _, scene = _compress(run, choice)
    np.testing.assert_array_equal(scene.targets.argmax(axis=1), scene.classes)


def test_without_labels_nothing_is_rehearsed():
    X, y = rings(600, 0)
    text = svmpress.compress(SVC(C=10, gamma=1.0).fit(X, y), X, vectors=8).summary()
    assert "rehearsed" not in text
    assert "margins of the labels" not in text
    assert "margins of the source" in text


def test_a_chosen_width_is_that_of_the_model():
    X, _ = rings(600, 0)
    y = np.sin(X[:, 0])
    svr = SVR(C=10, gamma=3.0, epsilon=0.01).fit(X, y)  # far too narrow for so smooth a function
    result = svmpress.compress(svr, X, y, vectors=6)
    assert any(note.startswith("adopted: learning the kernel width") for note in result.notes)
    assert result.model.kernel.params["gamma"] < 2.0


def test_work_can_be_limited():
    X, y = rings(600, 0)
    svc = SVC(C=10, gamma=1.0).fit(X, y)

    def iterations(work):
        result = svmpress.compress(svc, X, y, vectors=8, method=Auto(work=work))
        return sum(points[-1].iteration for points in result.trace.values()), result

    few, small = iterations(1e6)
    many, _ = iterations(1e11)
    assert few < many
    X_test, y_test = rings(2000, 1)
    assert lost(svc, small.model, X_test, y_test) <= 0.1


def test_a_smaller_result_is_one_of_the_starts():
    X, y = rings(600, 0)
    problem = problem_of(SVC(C=10, gamma=1.0).fit(X, y), X, y)
    smaller = Auto().run(problem, 6)
    grown = Auto().run(problem, 9, smaller)
    assert grown.expansion.n_vectors == 9
    assert any("the smaller model and more centres" in note for note in grown.notes)
    assert not any("the smaller model" in note for note in smaller.notes)
