"""Every method of the study, on bundled data: sizes, costs, seeds, and what each says of itself."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import svmpress
from svmpress.decoders import Sign
from svmpress.errors import MissingExtraError
from svmpress.kernels import RBF
from svmpress.methods import Auto, LarsSVM, Paper, RkhsDistance
from svmpress.model import KernelExpansion, KernelModel
from svmpress.select.hinge import fit_squared_hinge
from svmpress.study import METHODS, on_device
from svmpress.study.costs import built, file_bytes, merged, row_width
from svmpress.study.learners import NystroemSVC
from svmpress.study.methods import Compressed, LarsPath, ReducedSVM
from svmpress.study.peers import Refit, SubsampleSVC
from svmpress.study.task import NotApplicable, StudyMethod, Task

GAMMA, C = 0.02, 5.0
SIZES = (4, 9)


def task_of(X, y, X_test, y_test) -> Task:
    svc = SVC(C=C, gamma=GAMMA).fit(X, y)
    return Task("digits", X, y, X_test, y_test, svmpress.from_estimator(svc), C, GAMMA, 0.5)


def digits(n_class):
    X, y = load_digits(n_class=n_class, return_X_y=True)
    X = X[:, 16:48] / 4  # the middle rows of each image: neither easy nor slow
    return X[:150], y[:150], X[150:350], y[150:350]


@pytest.fixture(scope="module")
def binary() -> Task:
    X, y, X_test, y_test = digits(4)
    return task_of(X, np.array(["odd", "even"])[(y % 2 == 0).astype(int)], X_test, np.where(y_test % 2, "odd", "even"))


@pytest.fixture(scope="module")
def three() -> Task:
    return task_of(*digits(3))


@pytest.fixture(scope="module")
def sparse_three() -> Task:
    X, y, X_test, y_test = digits(3)
    return task_of(sparse.csr_array(X), y, sparse.csr_array(X_test), y_test)


LEARNERS = {"fourier", "mlp", "boosting", "boosting-bytes"}
"""In test_study_learners.py."""
PER_MACHINE = {"lars-svm-per-machine", "cvm-per-machine"}
# the same methods with less work, where they would take seconds
QUICK: dict[str, StudyMethod] = {
    **{name: method for name, method in METHODS.items() if not name.startswith("dlib") and name not in LEARNERS},
    "auto": Compressed("auto", "svmpress", Auto(work=2e8)),
    "auto-libsvm": Compressed("auto-libsvm", "svmpress", Auto(work=2e8), layout="libsvm"),
    "cvm": Compressed("cvm", "CVM", Paper(max_iter=5), seeded=False),
    "cvm-per-machine": Compressed(
        "cvm-per-machine", "CVM, per machine", Paper(max_iter=5, share="per-machine"), seeded=False
    ),
}


def answers(method, task, sizes=SIZES, seed=0):
    return list(method.build(task, sizes, seed))


def accuracy(model, task):
    return np.mean(model.predict(task.X_test) == task.y_test)


CASES = [
    (name, kind)
    for name in QUICK
    for kind in ("binary", "three", "sparse_three")
    if kind == "three" or not name.startswith("auto")  # tests of its own, and seconds here
    if kind != "binary" or name not in {"reduced-svm-shared", *PER_MACHINE}  # not applicable, see below
]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_method_keeps_its_word(name, kind, request):
    task, method = request.getfixturevalue(kind), QUICK[name]
    sizes = (task.teacher.n_vectors,) if name == "full" else SIZES[:1] if name.startswith("auto") else SIZES
    found = answers(method, task, sizes)
    assert [b.size for b in found] == list(sizes)
    d = row_width(task.X_test)
    for b in found:
        assert 1 <= b.vectors <= (b.machine_vectors if name in PER_MACHINE else b.size)
        assert b.machine_vectors is None or b.machine_vectors == b.multiply_adds - round(b.vectors * d)
        assert b.vectors * d <= b.multiply_adds
        assert b.file_bytes >= 8 * b.vectors
        assert b.seconds >= 0
        labels = b.predict(task.X_test)
        assert labels.shape == task.y_test.shape
        assert set(labels.tolist()) <= set(task.y.tolist())


def test_methods_know_something(three):
    """With twenty vectors of three classes, everything but LARS alone is far better than a constant."""
    found = {name: answers(method, three, (20,))[0] for name, method in QUICK.items() if name != "full"}
    scores = {name: accuracy(b, three) for name, b in found.items()}
    constant = max(np.mean(three.y_test == c) for c in np.unique(three.y))
    assert constant < 0.4
    assert all(score > 0.8 for name, score in scores.items() if not name.startswith("lars-svm")), scores
    assert scores["cvm"] >= scores["lars-svm"]


@pytest.mark.parametrize("name", ["lars-svm", "reduced-svm", "reduced-svm-shared", "random", "subsample-svc"])
def test_vectors_that_are_rows_stay_sparse(name, three, sparse_three):
    thin, dense = (answers(METHODS[name], task)[1] for task in (sparse_three, three))
    assert sparse.issparse(thin.predict.__self__.expansion.vectors)
    np.testing.assert_array_equal(thin.predict(sparse_three.X_test), dense.predict(three.X_test))


def test_methods_are_named_as_the_records_name_them():
    assert list(METHODS) == [method.name for method in METHODS.values()]
    assert {"full", "lars-svm", "cvm", "auto", "auto-libsvm", "reduced-svm", "reduced-set", "random", "k-means"} < set(
        METHODS
    )
    assert {"subsample-svc", "nystroem", "dlib", "dlib-pair"} | LEARNERS | PER_MACHINE < set(METHODS)
    assert len({method.label for method in METHODS.values()}) == len(METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_methods_travel_to_other_processes(name):
    assert pickle.loads(pickle.dumps(METHODS[name])) == METHODS[name]


@pytest.mark.parametrize("name", [name for name, method in QUICK.items() if method.seeded])
def test_the_seed_decides(name, three):
    def values(seed):
        b = answers(QUICK[name], three, SIZES[:1], seed=seed)[0]
        model = getattr(b.predict, "__self__", None)
        known = (
            model.decision_function(three.X_test) if hasattr(model, "decision_function") else b.predict(three.X_test)
        )
        return np.asarray(known).tolist()

    assert values(0) == values(0) != values(1)


@pytest.mark.parametrize("name", ["reduced-svm", "reduced-svm-shared", "lars-svm", "random"])
def test_a_path_gives_what_a_single_size_gives(name, three):
    together = answers(METHODS[name], three)[1].predict(three.X_test)
    alone = answers(METHODS[name], three, SIZES[1:])[0].predict(three.X_test)
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("auto-libsvm", "layouts are the same"),
        ("reduced-svm-shared", "nothing to share"),
        ("cvm-per-machine", "share of all together; see cvm"),
        ("lars-svm-per-machine", "share of all together; see lars-svm"),
    ],
)
def test_one_machine_has_one_layout(name, reason, binary):
    with pytest.raises(NotApplicable, match=reason):
        answers(METHODS[name], binary)


def test_full_is_the_teacher(three):
    (full,) = answers(METHODS["full"], three, [three.teacher.n_vectors])
    assert full.vectors == three.teacher.n_vectors
    assert full.seconds == three.train_seconds
    assert accuracy(full, three) == accuracy(three.teacher, three)


@pytest.mark.parametrize("kind", ["binary", "three", "sparse_three"])
def test_lars_is_that_of_the_paper(kind, request):
    task = request.getfixturevalue(kind)
    for small in answers(LarsPath(), task, (2, 5, 14)):
        whole = svmpress.compress(task.teacher, vectors=small.size, method=LarsSVM()).model
        np.testing.assert_array_equal(small.predict(task.X_test), whole.predict(task.X_test))


@pytest.mark.parametrize(
    ("name", "way"),
    [("lars-svm", LarsSVM("labels", share="per-machine")), ("cvm", Paper(share="per-machine", max_iter=5))],
)
@pytest.mark.parametrize("kind", ["three", "sparse_three"])
def test_a_share_of_each_machine_is_that_of_the_paper(name, way, kind, request):
    task = request.getfixturevalue(kind)
    n = task.teacher.n_vectors
    for small in answers(QUICK[f"{name}-per-machine"], task, (4, 14)):
        whole = svmpress.compress(task.teacher, ratio=small.size / n, method=way).model
        np.testing.assert_array_equal(small.predict(task.X_test), whole.predict(task.X_test))
        support = (task.teacher.expansion.coef != 0).sum(axis=0)
        assert small.machine_vectors == sum(max(1, round(k * small.size / n)) for k in support.tolist())
        assert small.vectors == small.machine_vectors or name == "lars-svm"


def test_reduced_svm_is_a_squared_hinge_svm_for_each_pair(three):
    """At its basis each machine is at its optimum, and the more vectors the lower the sum of objectives."""
    method, totals = ReducedSVM(), []
    for size in (6, 12, 24):
        (b,) = answers(method, three, [size])
        e = b.predict.__self__.expansion
        total = 0.0
        for p, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
            rows = np.flatnonzero(np.isin(three.y, (i, j)))
            own = np.flatnonzero(e.coef[:, p])
            y = np.where(three.y[rows] == i, 1.0, -1.0)
            best = fit_squared_hinge(RBF(GAMMA), three.X[rows], y, e.vectors[own], C)
            np.testing.assert_allclose(e.coef[own, p], best.coef[:, 0], rtol=1e-3, atol=1e-4 * np.abs(best.coef).max())
            total += float(best.objective[0])
            assert all((v == three.X).all(axis=1).any() for v in e.vectors[own])
        totals.append(total)
    assert totals[0] > totals[1] > totals[2]


def test_reduced_svm_of_two_classes_answers_the_right_way_round(binary):
    (b,) = answers(METHODS["reduced-svm"], binary, [30])
    assert accuracy(b, binary) > 0.9


def test_a_shared_basis_is_at_the_optimum_of_every_pair(three):
    totals = []
    for b in answers(METHODS["reduced-svm-shared"], three, (3, 6, 15)):
        e = b.predict.__self__.expansion
        total = 0.0
        for p, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
            rows = np.flatnonzero(np.isin(three.y, (i, j)))
            y = np.where(three.y[rows] == i, 1.0, -1.0)
            best = fit_squared_hinge(RBF(GAMMA), three.X[rows], y, e.vectors, C)
            np.testing.assert_allclose(e.coef[:, p], best.coef[:, 0], rtol=1e-3, atol=1e-3 * np.abs(best.coef).max())
            total += float(best.objective[0])
        totals.append(total)
    assert totals[0] > totals[1] > totals[2]
    assert accuracy(b, three) > 0.9


def test_the_reduced_set_comes_nearer_with_every_size(three):
    distance = RkhsDistance(three.teacher.expansion)
    found = answers(METHODS["reduced-set"], three, (2, 5, 11))
    values = [distance.value_and_grad(np.array(b.predict.__self__.expansion.vectors)).value for b in found]
    assert values[0] > values[1] > values[2]
    assert found[2].notes == f"distance {values[2]:.3g}"


def test_a_refit_is_regularised_least_squares(three):
    refit = Refit(three)
    V = three.X[:7]
    e = refit.model(V).expansion
    K = np.c_[RBF(GAMMA).gram(three.X, V), np.ones(len(three.X))]
    best, *_ = np.linalg.lstsq(K, three.teacher.decision_values(three.X), rcond=None)
    np.testing.assert_allclose(K @ np.vstack([e.coef, e.intercept]), K @ best, atol=1e-3)


def test_random_vectors_are_support_vectors_and_nested(three):
    small, large = (b.predict.__self__.expansion.vectors for b in answers(METHODS["random"], three))
    np.testing.assert_array_equal(large[:4], small)
    support = three.teacher.expansion.vectors
    assert all((support == v).all(axis=1).any() for v in large)


@pytest.mark.parametrize("size", [2, 10, 30])
def test_an_svc_on_a_subsample_has_nearly_as_many_vectors(size, three):
    (b,) = answers(SubsampleSVC(), three, [size])
    assert 0.8 * size <= b.vectors <= size
    rows = int(b.notes.split()[2])
    assert b.vectors <= rows < len(three.y)


def test_a_subsample_svc_may_be_the_whole_teacher(three):
    (b,) = answers(SubsampleSVC(), three, [three.teacher.n_vectors + 5])
    assert b.vectors == three.teacher.n_vectors


def test_nystroem_counts_its_map(three):
    for b in answers(NystroemSVC(), three):
        assert b.multiply_adds == b.size * 32 + b.size**2 + b.size * 3
    assert accuracy(b, three) > 0.8


# ---------------------------------------------------------------------------------------------------------
# Costs
# ---------------------------------------------------------------------------------------------------------


def test_copies_count_once(three):
    V = three.X[:3]
    e = KernelExpansion(RBF(GAMMA), V[[0, 1, 0, 2]], np.diag([1.0, 2.0, 3.0, 4.0])[:, :3] + 0.0, np.zeros(3))
    model = KernelModel(e, three.teacher.decoder)
    once = merged(model)
    assert once.n_vectors == 3
    np.testing.assert_allclose(once.decision_values(three.X_test), model.decision_values(three.X_test), atol=1e-12)
    found = built(three, 4, once, 0.0)
    assert (found.vectors, found.multiply_adds) == (3, 3 * 32 + 3)
    assert merged(once) is once


def test_a_shared_model_costs_m_times_d_plus_outputs(three):
    (b,) = answers(METHODS["k-means"], three, [6])
    assert b.multiply_adds == 6 * (32 + 3)
    assert b.file_bytes == file_bytes(b.predict.__self__)


def test_sparse_rows_cost_their_non_zeros(sparse_three):
    (b,) = answers(METHODS["k-means"], sparse_three, [6])
    assert b.multiply_adds == round(6 * sparse_three.X_test.nnz / 200) + 6 * 3


# ---------------------------------------------------------------------------------------------------------
# dlib
# ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def flat() -> Task:
    """Two classes of few features, where dlib's first guess of its parameters is a good one."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((260, 2)) * [1.0, 10.0] + [3.0, -20.0]
    y = np.where(np.sum(((X - [3.0, -20.0]) / [1.0, 10.0]) ** 2, axis=1) > 1.4, "out", "in")
    return task_of(X[:160], y[:160], X[160:], y[160:])


@pytest.fixture(scope="module")
def dlib():
    return pytest.importorskip("dlib", reason="dlib-bin is not installed: nothing to compare with")


def test_dlibs_svm_is_read_out_exactly(dlib, flat):
    from svmpress.study import dlib_pair

    df = dlib_pair.train(flat)
    model = dlib_pair.read(df, flat)
    np.testing.assert_allclose(model.decision_values(flat.X_test)[:, 0], df.batch_predict(flat.X_test), atol=1e-10)
    assert isinstance(model.decoder, Sign)
    assert accuracy(model, flat) > 0.9


def test_dlib_trains_the_same_svm_each_time(dlib, flat):
    from svmpress.study import dlib_pair

    a, b = (dlib_pair.read(dlib_pair.train(flat), flat).expansion for _ in range(2))
    np.testing.assert_array_equal(a.vectors, b.vectors)
    np.testing.assert_array_equal(a.coef, b.coef)


def test_the_pair_has_the_same_source(dlib, flat, monkeypatch):
    from svmpress.study import dlib_pair

    reduced, compressed, small = [], [], []

    class Watched:
        auto_train_rbf_classifier = staticmethod(dlib.auto_train_rbf_classifier)

        @staticmethod
        def reduce(df, *rest):
            reduced.append(dlib_pair.read(df, flat))
            small.append(dlib.reduce(df, *rest))
            return small[-1]

    def watched_compress(source, *rest, **options):
        compressed.append(source)
        return svmpress.compress(source, *rest, method=Auto(work=1e8), **options)

    monkeypatch.setattr(dlib_pair, "_dlib", lambda: Watched)
    monkeypatch.setattr(dlib_pair, "compress", watched_compress)
    (theirs,) = answers(METHODS["dlib"], flat, [8])
    (ours,) = answers(METHODS["dlib-pair"], flat, [8])
    for part in ("vectors", "coef", "intercept"):
        np.testing.assert_array_equal(getattr(reduced[0].expansion, part), getattr(compressed[0].expansion, part))
    assert theirs.notes == ours.notes
    assert (ours.vectors, ours.multiply_adds) == (8, 8 * 3)
    assert 1 <= theirs.vectors <= 8  # dlib lets go of vectors that depend on the others
    as_dlib_says = np.where(small[0].batch_predict(flat.X_test) > 0, "out", "in")
    np.testing.assert_array_equal(theirs.predict(flat.X_test), as_dlib_says)


def test_dlibs_reduce_starts_elsewhere_with_another_seed(dlib, flat):
    runs = [answers(METHODS["dlib"], flat, [4], seed)[0].predict.__self__.expansion.vectors for seed in (0, 0, 1)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


def test_dlib_says_what_it_cannot_do(dlib, three, flat, sparse_three):
    for name in ("dlib", "dlib-pair"):
        with pytest.raises(NotApplicable, match="two classes only"):
            answers(METHODS[name], three)
    csr = Task("s", sparse.csr_array(flat.X), flat.y, flat.X_test, flat.y_test, flat.teacher, C, GAMMA, 0.0)
    with pytest.raises(NotApplicable, match="dense rows"):
        answers(METHODS["dlib"], csr)
    few = Task("f", flat.X[:12], np.r_[["in"] * 3, ["out"] * 9], flat.X_test, flat.y_test, flat.teacher, C, GAMMA, 0.0)
    with pytest.raises(NotApplicable, match="at least 6 rows"):
        answers(METHODS["dlib"], few)


def test_without_dlib_the_extra_is_named(flat, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "dlib", None)
    with pytest.raises(MissingExtraError, match=r"dlib-bin.*svmpress\[study\]"):
        answers(METHODS["dlib"], flat)


def test_a_device_is_for_what_svmpress_compresses():
    moved = on_device(METHODS, "cuda:1")
    assert {name for name in METHODS if moved[name] != METHODS[name]} == {
        "cvm",
        "cvm-per-machine",
        "auto",
        "auto-libsvm",
    }
    assert moved["auto"].device == "cuda:1"
    assert on_device(METHODS, "cpu") == METHODS
