"""compress(): what it takes, what it refuses and how, and what its result says."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

import svmpress
from svmpress.compression import METHODS, Compression, Status
from svmpress.errors import InputError
from svmpress.formats import save_cost
from svmpress.methods import Auto, LarsSVM, Outcome, Paper, Problem, ReducedSet
from svmpress.model import KernelExpansion
from svmpress.numerics import Backend

SIZED = sorted(name for name, make in METHODS.items() if not getattr(make(), "needs_ratio", False))
"""Methods that keep a number of vectors; the others are in tests/methods."""


@pytest.fixture(scope="module")
def rows():
    X, y = make_moons(600, noise=0.25, random_state=0)
    return X[:300], y[:300], X[300:], y[300:]


@pytest.fixture(scope="module")
def svc(rows):
    return SVC(gamma=1.0).fit(*rows[:2])


# ---------------------------------------------------------------------------------------------------------
# Bad input
# ---------------------------------------------------------------------------------------------------------


def spoiled(X, value):
    bad = X.copy()
    bad[3, 1] = value
    return bad


def refused(words: str, *args, **options) -> None:
    with pytest.raises(InputError, match=words):
        svmpress.compress(*args, **options)


def test_what_is_no_method_no_memory_and_no_work(svc, rows):
    refused("method must be a name or an object with a run method", svc, *rows[:2], method=Auto)
    for memory in ("1G", None, 5):
        refused("max_memory must be a whole number", svc, *rows[:2], max_memory=memory)
    for work in (-1, 0, np.nan, np.inf, "a lot"):
        with pytest.raises(InputError, match="work must be a number of multiply-adds, more than 0"):
            Auto(work=work)
    assert Auto(work=np.float64(1e7)).work == 1e7


def test_values_that_are_no_values(rows):
    svr = SVR().fit(*rows[:2])
    y = rows[1].astype(float)
    y[5] = np.nan
    refused("^y holds NaN or an infinite value at row 5$", svr, rows[0], y)
    refused("y is not a list of labels or values", svr, rows[0], [[1, 2], [3]])


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.ndarray.tolist])
@pytest.mark.parametrize(("value", "words"), [(np.nan, "NaN"), (-np.inf, "an infinite value")])
def test_a_value_that_is_not_finite_is_named(svc, rows, form, value, words):
    refused(f"^X holds {words} at row 3, column 1$", svc, form(spoiled(rows[0], value)), rows[1])


def test_rows_that_do_not_fit_the_model_are_refused(svc, rows):
    X, y, *_ = rows
    refused("X has 3 features, but the model has 2", svc, np.hstack([X, X[:, :1]]), y)
    refused("X has no rows", svc, X[:0])
    refused("two-dimensional", svc, X[0])
    refused("two-dimensional", svc, [])
    refused("not a table of numbers", svc, [["a", "b"]])


def test_labels_that_do_not_fit_are_refused(svc, rows):
    X, y, *_ = rows
    refused("y was given without X", svc, None, y)
    refused("y was given without X", svc, y=y)
    refused(r"y must be 300 labels for 300 rows, not an array of shape \(299,\)", svc, X, y[:-1])
    refused(r"y must be 300 labels for 300 rows, not an array of shape \(300, 1\)", svc, X, y[:, None])
    refused("y holds the label '2', which the model does not know; it knows 0, 1", svc, X, y + 1)
    refused("y holds the label 'nan'", svc, X, np.where(y == 0, np.nan, 1.0))
    refused("y holds the label 'one'", svc, X, np.array(["zero", "one"])[y])


def test_values_that_do_not_fit_a_regressor_are_refused(rows):
    X = rows[0]
    svr = SVR().fit(X, X[:, 0])
    refused("y must be numbers, as the model is a regressor", svr, X, np.full(300, "a"))
    refused("y must be 300 values for 300 rows", svr, X, np.zeros(299))
    refused(r"y must be 300 values for 300 rows, not an array of shape \(300, 2\)", svr, X, X)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"vectors": 0}, "vectors must be a positive number, not 0"),
        ({"ratio": -0.1}, "ratio must be a positive number, not -0.1"),
        ({"vectors": 3, "max_drop": 0.1}, "give exactly one budget"),
        ({"max_bytes": 3}, "too small: one vector alone needs 32 bytes"),
        ({"method": "magic"}, "unknown method 'magic'; choose one of auto, paper, paper-per-machine, lars"),
        ({"method": 3}, "method must be a name or an object with a run method, not 3"),
        ({"layout": "thunder"}, "unknown layout 'thunder'; choose one of shared, libsvm"),
        ({"random_state": -1}, "random_state must be a whole number from 0 to 4294967295, a .* not -1"),
        ({"random_state": 0.5}, "random_state must be a whole number"),
        ({"random_state": "7"}, "random_state must be a whole number"),
        ({"random_state": True}, "random_state must be a whole number"),
        ({"max_memory": 1000}, "max_memory must be a whole number of at least 16777216 bytes, not 1000"),
    ],
)
def test_options_that_make_no_sense_are_refused(svc, rows, options, words):
    refused(words, svc, *rows[:2], **options)


def test_generators_of_numpy_are_seeds(svc, rows):
    def small(random_state):
        return svmpress.compress(svc, *rows[:2], vectors=5, random_state=random_state).model.expansion.vectors

    np.testing.assert_array_equal(small(np.random.default_rng(3)), small(np.random.default_rng(3)))
    np.testing.assert_array_equal(small(np.random.RandomState(3)), small(np.random.RandomState(3)))
    generator = np.random.default_rng(3)
    assert not np.array_equal(small(generator), small(generator))
    before = np.random.get_state()  # noqa: NPY002
    try:
        np.random.seed(4)  # noqa: NPY002
        first = small(None)
        assert not np.array_equal(first, small(None))
        np.random.seed(4)  # noqa: NPY002
        np.testing.assert_array_equal(first, small(None))
    finally:
        np.random.set_state(before)  # noqa: NPY002


SAME = """
import hashlib
from sklearn.datasets import load_digits
from sklearn.svm import SVC
import svmpress
from svmpress.methods import Auto
X, y = load_digits(return_X_y=True)
for kernel in ("rbf", "linear"):
    svc = SVC(kernel=kernel, gamma=0.001).fit(X, y)
    f = svmpress.compress(svc, X, y, vectors=50, method=Auto(work=1e8) if kernel == "rbf" else "auto").model.expansion
    print(hashlib.sha256(f.vectors.tobytes() + f.coef.tobytes()).hexdigest())
"""


def test_the_same_model_on_every_run_and_any_number_of_threads():
    """To the last bit, in fresh processes."""

    def found(threads):
        environment = os.environ | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        run = subprocess.run([sys.executable, "-c", SAME], env=environment, capture_output=True, text=True, check=True)
        return run.stdout.split()

    one = found("1")
    assert len(one) == 2
    assert found("2") == one


@pytest.mark.torch
def test_an_unknown_device_is_refused(svc, rows):
    refused("device 'abacus' cannot be used", svc, *rows[:2], device="abacus")


def test_sources_that_are_no_models_are_refused(rows, tmp_path):
    X, y, *_ = rows
    refused("the SVC is not fitted", SVC(), X)
    refused("int cannot be converted; svmpress takes SVC", 5, X)
    refused("cannot read .*missing.model", tmp_path / "missing.model", X)
    refused("kernel='precomputed', which svmpress cannot evaluate", SVC(kernel="precomputed").fit(X @ X.T, y), X)
    refused("a kernel that is a function", SVC(kernel=lambda a, b: a @ b.T).fit(X, y), X)


def test_rows_outside_the_domain_of_the_kernel_are_refused(rows):
    X = np.abs(rows[0])
    ridge = KernelRidge(kernel="chi2", gamma=0.5).fit(X, X[:, 0])
    refused("chi-squared kernel needs features >= 0, and the rows hold negative ones", ridge, -X)


@pytest.mark.parametrize("method", SIZED)
@pytest.mark.parametrize("n", [1, 2, 7, 49])
def test_very_few_rows_are_enough(svc, rows, method, n):
    X, y, X_test, _ = rows
    small = svmpress.compress(svc, X[:n], y[:n], vectors=6, method=method).model
    assert small.n_vectors <= 6
    assert np.isfinite(small.decision_values(X_test)).all()


def test_rows_of_one_class_are_enough(svc, rows):
    X, y, X_test, _ = rows
    small = svmpress.compress(svc, X[y == 0], y[y == 0], vectors=6).model
    assert np.isfinite(small.decision_values(X_test)).all()


# ---------------------------------------------------------------------------------------------------------
# Sources of every kind
# ---------------------------------------------------------------------------------------------------------


def test_an_estimator_a_model_a_file_and_a_result_are_the_same_source(svc, rows, tmp_path):
    X, y, X_test, _ = rows
    model = svmpress.from_estimator(svc)
    svmpress.save(model, tmp_path / "big.svmpress")
    unchanged = svmpress.compress(model, vectors=10**6)
    sources = [svc, model, tmp_path / "big.svmpress", str(tmp_path / "big.svmpress"), unchanged]
    values = [svmpress.compress(s, X, y, vectors=5).model.decision_values(X_test) for s in sources]
    for other in values[1:]:
        np.testing.assert_array_equal(other, values[0])


def test_a_pipeline_takes_rows_as_its_users_do(rows):
    X, y, X_test, y_test = rows
    X, X_test = X * [100, 0.01] + 50, X_test * [100, 0.01] + 50
    pipeline = make_pipeline(StandardScaler(), SVC(gamma=1.0)).fit(X, y)
    result = svmpress.compress(pipeline, X, y, vectors=10)
    assert result.model.scaling is not None
    assert np.mean(result.model.predict(X_test) == y_test) > pipeline.score(X_test, y_test) - 0.02


def test_lists_and_single_precision_do(svc, rows):
    X, y, X_test, _ = rows
    expected = svmpress.compress(svc, X, y, vectors=6).model.decision_values(X_test)
    lists = svmpress.compress(svc, X.tolist(), y.tolist(), vectors=6).model
    np.testing.assert_array_equal(lists.decision_values(X_test), expected)
    single = svmpress.compress(svc, X.astype(np.float32), y, vectors=6).model
    assert single.expansion.vectors.dtype == np.float64
    assert np.mean(np.sign(single.decision_values(X_test)) == np.sign(expected)) > 0.97


def test_two_classes_of_one_vs_one_keep_their_sides(rows):
    """The machine of a pair is positive for its first class, a binary SVM's for the later one."""
    X, y, X_test, y_test = rows
    source = OneVsOneClassifier(SVC(gamma=1.0)).fit(X, y)
    small = svmpress.compress(source, X, y, vectors=10).model
    assert np.mean(small.predict(X_test) == y_test) > source.score(X_test, y_test) - 0.02


def test_a_compressed_model_is_compressed_again(svc, rows):
    X, y, X_test, y_test = rows
    half = svmpress.compress(svc, X, y, ratio=0.5)
    again = svmpress.compress(half, X, y, vectors=8).model
    assert again.n_vectors == 8
    assert np.mean(again.predict(X_test) == y_test) > svc.score(X_test, y_test) - 0.02


def test_the_source_is_left_as_it_was(svc, rows):
    X, y, X_test, _ = rows
    source = svmpress.from_estimator(svc)
    kept, before = (X.copy(), y.copy()), source.decision_function(X_test)
    svmpress.compress(source, X, y, vectors=6)
    np.testing.assert_array_equal(source.decision_function(X_test), before)
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(y, kept[1])


# ---------------------------------------------------------------------------------------------------------
# Methods
# ---------------------------------------------------------------------------------------------------------


def test_a_method_by_name_or_instance(svc, rows):
    for name, way in (("paper", Paper()), ("lars", LarsSVM())):
        by_name, by_instance = (svmpress.compress(svc, method=m, vectors=6).model for m in (name, way))
        np.testing.assert_array_equal(by_name.expansion.vectors, by_instance.expansion.vectors)
    decision = svmpress.compress(svc, method=LarsSVM(target="decision"), vectors=6).model
    assert not np.array_equal(decision.expansion.coef, by_name.expansion.coef)


def test_a_method_of_ones_own_sees_the_problem_and_its_outcome_is_told(svc, rows):
    X, y, *_ = rows

    class First:
        """Support vectors with large coefficients: all but one of those that are asked for."""

        def run(self, problem: Problem, m: int, smaller: Outcome | None = None) -> Outcome:
            f = problem.source.expansion
            kept = np.argsort(-np.abs(f.coef[:, 0]), kind="stable")[: m - 1]
            self.problem = problem
            return Outcome(
                KernelExpansion(f.kernel, f.vectors[kept], f.coef[kept], f.intercept),
                status="mine",
                notes=("a note",),
            )

    way = First()
    result = svmpress.compress(
        svc, X, np.where(y == 1, 1.0, 0.0), method=way, vectors=svc.support_.size - 1, random_state=5
    )
    np.testing.assert_array_equal(way.problem.rows, X)
    np.testing.assert_array_equal(way.problem.y, y)
    assert way.problem.seed == 5
    assert result.status is Status.FEWER
    assert result.message == f"{Status.FEWER.message} (mine)"
    assert result.notes == ("a note",)
    assert "- a note" in result.summary()


@pytest.mark.parametrize("method", SIZED)
def test_progress_is_called_with_stages(svc, rows, method):
    seen = []
    svmpress.compress(svc, *rows[:2], vectors=5, method=method, progress=lambda *args: seen.append(args))
    assert seen
    for stage, done, total in seen:
        assert isinstance(stage, str)
        assert stage
        assert 0 < done <= total or (done, total) == (0, 0), "a total of 0 is one that is not known"


# ---------------------------------------------------------------------------------------------------------
# The result
# ---------------------------------------------------------------------------------------------------------


def test_the_result_holds_what_was_done(svc, rows):
    X, y, X_test, y_test = rows
    result = svmpress.compress(svc, X, y, vectors=8)
    assert isinstance(result, Compression)
    assert result.status is Status.COMPRESSED
    assert result.message == "compressed to the budget"
    assert result.source.n_vectors == svc.support_.size
    assert result.model.provenance["compressed_from"] == svc.support_.size
    assert result.model.classes_.tolist() == [0, 1]
    assert result.timings["total"] > 0
    assert result.trace
    assert all(points[0].iteration == 0 for points in result.trace.values())
    assert result.curve == ()
    assert isinstance(result.model.expansion.vectors, np.ndarray)
    assert np.mean(result.model.predict(X_test) == y_test) > svc.score(X_test, y_test) - 0.02


def test_the_summary_is_for_people(svc, rows):
    result = svmpress.compress(svc, *rows[:2], vectors=8)
    text = result.summary()
    n = svc.support_.size
    assert text.startswith("compressed to the budget.")
    assert f"{n} -> 8 ({8 / n:.2%})" in text
    assert f"{8 * (n * 3 + 1):,} -> {8 * (8 * 3 + 1):,}" in text
    assert f"{n * 3:,} -> {8 * 3:,} per prediction" in text
    for note in result.notes:
        assert f"- {note}" in text


def test_sparse_rows_and_a_sparse_source(rows):
    X, y, X_test, _ = rows
    X = np.hstack([np.maximum(X, 0), np.maximum(-X, 0)])
    X_test = np.hstack([np.maximum(X_test, 0), np.maximum(-X_test, 0)])
    source = SVC(gamma=1.0).fit(sparse.csr_array(X), y)
    from_sparse = svmpress.compress(source, sparse.csr_array(X), y, vectors=8).model
    from_dense = svmpress.compress(SVC(gamma=1.0).fit(X, y), X, y, vectors=8).model
    assert isinstance(from_sparse.expansion.vectors, np.ndarray)
    assert np.mean(from_sparse.predict(X_test) == from_dense.predict(X_test)) > 0.97


@pytest.mark.parametrize("method", SIZED)
def test_a_small_memory_is_enough(svc, rows, method):
    X, y, X_test, _ = rows
    small = svmpress.compress(svc, X, y, vectors=20, method=method, max_memory=2**24).model
    plain = svmpress.compress(svc, X, y, vectors=20, method=method).model
    assert np.mean(small.predict(X_test) == plain.predict(X_test)) > 0.97


@pytest.mark.torch
@pytest.mark.parametrize("method", SIZED)
def test_torch_gives_numpy_and_as_good_a_model(svc, rows, method):
    X, y, X_test, _ = rows
    here, there = (svmpress.compress(svc, X, y, vectors=12, method=method, device=d).model for d in ("cpu", "torch"))
    assert isinstance(there.expansion.vectors, np.ndarray)
    assert np.mean(here.predict(X_test) == there.predict(X_test)) > 0.97


def test_labels_do_not_teach_a_one_class_model_that_there_are_no_outliers(rows):
    X, _, X_test, _ = rows
    source = OneClassSVM(nu=0.2, gamma=1.0).fit(X)
    labelled = svmpress.compress(source, X, np.ones(len(X)), vectors=12).model
    plain = svmpress.compress(source, X, vectors=12).model
    np.testing.assert_array_equal(labelled.predict(X_test), plain.predict(X_test))
    assert (labelled.predict(X_test) == -1).any()


@pytest.mark.parametrize(
    "method", ["auto", "lars", Paper(max_iter=5), ReducedSet()], ids=["auto", "lars", "paper", "reduced set"]
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_every_array_library_goes_the_same_way(rows, method, form, backend, monkeypatch):
    X, y, X_test, _ = rows
    X = form(X)
    svc = SVC(gamma=1.0).fit(X, y)
    here = svmpress.compress(svc, X, y, vectors=12, method=method).model
    monkeypatch.setattr(Backend, "of", lambda device: backend)
    there = svmpress.compress(svc, X, y, vectors=12, method=method, device="elsewhere").model
    assert isinstance(there.expansion.vectors, np.ndarray)
    assert np.mean(here.predict(X_test) == there.predict(X_test)) > 0.97


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_every_array_library_finds_the_same_pairs_of_classes(form, backend, monkeypatch):
    X, y = load_iris(return_X_y=True)
    rows = form(X)
    source = SVC().fit(rows, y)
    here = svmpress.compress(source, rows, y, vectors=6, layout="libsvm").model
    monkeypatch.setattr(Backend, "of", lambda device: backend)
    there = svmpress.compress(source, rows, y, vectors=6, layout="libsvm", device="elsewhere").model
    assert np.mean(here.predict(rows) == there.predict(rows)) > 0.97


@pytest.mark.parametrize("method", SIZED)
def test_three_classes_have_as_many_pairs_and_still_need_no_copies(method):
    X, y = load_iris(return_X_y=True)
    small = svmpress.compress(SVC().fit(X, y), X, y, vectors=9, method=method, layout="libsvm").model
    assert save_cost(small, "libsvm") == small.n_vectors == 9
