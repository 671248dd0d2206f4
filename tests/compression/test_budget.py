"""Budgets: exactly one limit, refused with a sentence when it makes no sense, and kept by what it buys."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_moons
from sklearn.svm import SVC, SVR

import svmpress
from svmpress.compression import Budget, Status
from svmpress.compression.budget import DEFAULT_RATIO
from svmpress.decoders import Argmax, Identity
from svmpress.errors import InputError
from svmpress.kernels import RBF
from svmpress.model import KernelExpansion, KernelModel, expansion_bytes
from svmpress.model.cost import kernel_entry_cost

KINDS = ["vectors", "ratio", "max_bytes", "max_latency", "max_flash", "max_drop"]


def model(m: int = 200, d: int = 5, n_outputs: int = 3, dtype=np.float64) -> KernelModel:
    rng = np.random.default_rng(0)
    expansion = KernelExpansion(
        RBF(0.5),
        rng.standard_normal((m, d)).astype(dtype),
        rng.standard_normal((m, n_outputs)).astype(dtype),
        np.zeros(n_outputs, dtype),
    )
    return KernelModel(expansion, Identity(), "regression")


def test_no_budget_means_a_tenth():
    assert Budget.of() == Budget(ratio=DEFAULT_RATIO) == Budget(ratio=0.1)
    assert Budget.of().size(model(200)) == 20


@pytest.mark.parametrize("kind", KINDS)
def test_it_shows_what_was_given(kind):
    assert repr(Budget.of(**{kind: 1})) == f"Budget({kind}=1)"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (-1, "must be a positive number, not -1"),
        (float("nan"), "must be a positive number, not nan"),
        (float("inf"), "must be a positive number, not inf"),
        (True, "must be a number, not True"),
        ("3", "must be a number, not '3'"),
        ([3], r"must be a number, not \[3\]"),
    ],
)
def test_what_is_no_budget_is_refused(kind, value, words):
    if kind == "max_drop":
        words = words.replace("a positive number", "a number of at least 0")
    with pytest.raises(InputError, match=f"^{kind} {words}$"):
        Budget.of(**{kind: value})


@pytest.mark.parametrize("kind", KINDS[:-1])
@pytest.mark.parametrize("zero", [0, 0.0, np.int64(0)])
def test_a_budget_of_zero_is_refused(kind, zero):
    with pytest.raises(InputError, match=f"{kind} must be a positive number"):
        Budget.of(**{kind: zero})


def test_no_loss_at_all_may_be_asked_for():
    assert Budget.of(max_drop=0.0).max_drop == 0


def test_two_budgets_are_one_too_many():
    with pytest.raises(InputError, match="give exactly one budget, not vectors and ratio"):
        Budget.of(vectors=3, ratio=0.1)
    with pytest.raises(InputError, match="exactly one budget, not ratio and max_bytes and max_drop"):
        Budget.of(ratio=0.1, max_bytes=100, max_drop=0.1)


def test_vectors_come_whole():
    assert Budget.of(vectors=7.0).size(model()) == 7
    assert Budget.of(vectors=np.int32(7)).size(model()) == 7
    with pytest.raises(InputError, match=r"vectors must be a whole number, not 7\.5"):
        Budget.of(vectors=7.5)


@pytest.mark.parametrize(("ratio", "size"), [(0.05, 10), (0.0124, 2), (0.0001, 1), (1.0, 200)])
def test_a_ratio_is_rounded_and_at_least_one(ratio, size):
    assert Budget.of(ratio=ratio).size(model(200)) == size


def test_a_percentage_is_no_ratio():
    with pytest.raises(InputError, match=r"ratio is a share, at most 1, not 5: 5 % is 0\.05"):
        Budget.of(ratio=5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("limit", [150, 1000, 1001, 4096])
def test_bytes_buy_as_many_vectors_as_fit(dtype, limit):
    m = Budget.of(max_bytes=limit).size(model(dtype=dtype))
    assert expansion_bytes(model(m, dtype=dtype).expansion) <= limit
    assert expansion_bytes(model(m + 1, dtype=dtype).expansion) > limit


def test_bytes_are_those_of_the_arrays():
    f = model(17).expansion
    assert expansion_bytes(f) == f.vectors.nbytes + f.coef.nbytes + f.intercept.nbytes


def test_bytes_that_hold_no_vector_are_refused():
    need = expansion_bytes(model(1).expansion)
    with pytest.raises(InputError, match=f"max_bytes={need - 1} is too small: one vector alone needs {need} bytes"):
        Budget.of(max_bytes=need - 1).size(model())
    assert Budget.of(max_bytes=need).size(model()) == 1


def test_latency_buys_vectors_at_their_measured_cost():
    entry, fixed = kernel_entry_cost(model())
    assert 1e-12 <= entry < 1e-4
    assert 0 <= fixed < 1e-2
    assert 10 <= Budget.of(max_latency=1e6 * entry + fixed).size(model()) <= 10**8  # 10⁶, but a machine may be busy


def test_latency_counts_the_way_from_values_to_a_label():
    class Slow(Identity):
        def labels(self, F):
            time.sleep(0.02)
            return super().labels(F)

    _, fixed = kernel_entry_cost(replace(model(), decoder=Slow()), rows=1000, repeats=3)
    assert fixed > 0.01 / 1000


def test_a_latency_that_no_prediction_meets_is_refused():
    with pytest.raises(InputError, match=r"max_latency=1e-15 s is too short: a prediction takes .* for each vector"):
        Budget.of(max_latency=1e-15).size(model())


def test_a_loss_fixes_no_size():
    with pytest.raises(InputError, match=r"Budget\(max_drop=0.1\) does not fix a size"):
        Budget.of(max_drop=0.1).size(model())


# ---------------------------------------------------------------------------------------------------------
# Through compress()
# ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def svc():
    X, y = make_moons(300, noise=0.3, random_state=0)
    return SVC(gamma=2.0).fit(X, y), X


@pytest.mark.parametrize("method", ["auto", "paper", "lars"])
@pytest.mark.parametrize(
    ("budget", "size"), [({"vectors": 9}, 9), ({"ratio": 0.05}, None), ({"max_bytes": 500}, 20), ({}, None)]
)
def test_the_result_keeps_its_budget(svc, method, budget, size):
    svc, X = svc
    result = svmpress.compress(svc, X, method=method, **budget)
    n = svc.support_.size
    expected = size or int(budget.get("ratio", 0.1) * n + 0.5)
    assert result.model.n_vectors == expected
    assert result.status is (Status.DOUBTFUL if result.warnings else Status.COMPRESSED)
    assert result.budget == Budget.of(**budget)
    if "max_bytes" in budget:
        f = result.model.expansion
        assert f.vectors.nbytes + f.coef.nbytes + f.intercept.nbytes <= 500


def test_bytes_are_kept_in_the_precision_of_the_source(svc):
    svc, X = svc
    source = svmpress.from_estimator(svc).astype("float32")
    result = svmpress.compress(source, X, max_bytes=500)
    f = result.model.expansion
    assert f.vectors.nbytes + f.coef.nbytes + f.intercept.nbytes <= 500
    assert result.model.n_vectors == 41


def test_a_generous_latency_returns_the_source(svc):
    svc, X = svc
    result = svmpress.compress(svc, X, max_latency=10.0)
    assert result.status is Status.UNCHANGED
    assert result.model is result.source


@pytest.mark.parametrize("method", ["auto", "paper", "lars"])
@pytest.mark.parametrize("extra", [0, 1, 1000])
def test_as_many_vectors_as_the_source_has_or_more_return_it_unchanged(svc, method, extra):
    svc, X = svc
    source = svmpress.from_estimator(svc)
    result = svmpress.compress(source, X, vectors=source.n_vectors + extra, method=method)
    assert result.model is source
    assert result.status is Status.UNCHANGED
    assert f"{source.n_vectors + extra} of {source.n_vectors}" in result.message
    assert "unchanged" in result.summary()


def test_a_regressor_has_the_same_budgets():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (200, 1))
    svr = SVR(C=10, gamma=1.0, epsilon=0.05).fit(X, np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(200))
    result = svmpress.compress(svr, X, max_bytes=170)
    assert result.model.n_vectors == 10
    assert expansion_bytes(result.model.expansion) <= 170


@pytest.mark.parametrize(
    ("weights", "coef", "each"),
    [
        ("int4", "int8", 3 + 3 + 2),
        ("int8", "int16", 5 + 6 + 2),
        ("int16", "int8", 10 + 3 + 2),
        ("float", "int8", 20 + 12),
    ],
)
def test_flash_counts_whole_numbers(weights, coef, each):
    budget = Budget.of(max_flash=1000, weights=weights, coef=coef)
    assert budget.size(model()) == (1000 - 12) // each
    with pytest.raises(InputError, match=f"one vector alone needs {12 + each} bytes"):
        Budget.of(max_flash=11 + each, weights=weights, coef=coef).size(model())


def test_kinds_of_numbers_that_are_none():
    with pytest.raises(InputError, match="unknown weights 'int3'"):
        Budget.of(max_flash=1000, weights="int3")
    with pytest.raises(InputError, match="unknown coef 'float'"):
        Budget.of(max_flash=1000, coef="float")


def test_flash_is_kept_and_classes_get_one_output_each():
    X, y = load_digits(return_X_y=True, n_class=5)
    source = SVC(gamma=0.001).fit(X, y)
    result = svmpress.compress(source, X, y, max_flash=1200, weights="int8", coef="int8")
    assert result.model.n_outputs == 5
    assert isinstance(result.model.decoder, Argmax)
    q = svmpress.quantize(result.model, weights="int8", coef="int8")
    assert 1100 < q.number_bytes <= 1200
    assert np.mean(q.predict(X) == y) > 0.95


@pytest.mark.parametrize("given", ["nothing", "rows", "labels"])
def test_one_output_a_class_is_nearly_as_good(given):
    X, y = load_digits(return_X_y=True, n_class=6)
    source = SVC(gamma=0.001).fit(X[::2], y[::2])
    rows = {"nothing": (), "rows": (X[::2],), "labels": (X[::2], y[::2])}[given]
    result = svmpress.compress(source, *rows, max_flash=3000)
    assert (result.source.n_outputs, result.model.n_outputs) == (15, 6)
    assert any("one output a class" in note for note in result.notes)
    assert np.mean(result.model.predict(X[1::2]) == y[1::2]) > 0.96


def test_two_classes_have_one_output_as_before():
    X, y = load_digits(return_X_y=True, n_class=2)
    assert svmpress.compress(SVC(gamma=0.001).fit(X, y), X, y, max_flash=800).model.n_outputs == 1
