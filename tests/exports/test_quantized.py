"""Models in whole numbers: what rounding costs, and what solving again and fine-tuning give back."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC, SVR

import svmpress
from c_models import MODELS, classifier, digit_rows, digits
from svmpress.decoders import PairVote
from svmpress.errors import InputError
from svmpress.exports.quantized import ONE, Halvings, Pooling, decide, table_bytes
from svmpress.exports.quantized.cases import pooled_model
from svmpress.kernels import RBF


@given(st.floats(1e-7, 1e-1), st.integers(0, 2**30))
def test_halvings_are_powers_of_two(a, P):
    stage = Halvings.of(a)
    assert 0 <= stage.factor < 2**16
    (value,) = stage.values(np.array([P]))
    assert value / ONE == pytest.approx(2.0 ** -(stage.a * P), abs=6e-4)
    assert stage.a == pytest.approx(a, rel=2e-3 if stage.shift < 15 else 4e-5)


def test_halvings_fall():
    values = Halvings.of(1e-3).values(np.arange(20_000))
    assert (np.diff(values) <= 0).all()
    assert (values[0], values[-1]) == (ONE, 0)


@pytest.mark.parametrize("name", list(MODELS))
def test_whole_numbers_are_close_to_floats(name):
    model, X = MODELS[name]()
    q = svmpress.quantize(model, weights="int16")
    u = q.grid.levels(X)
    X = X[((u > 0) & (u < q.grid.top)).all(axis=1)]  # beyond its vectors a model without rows knows nothing
    assert len(X) >= 50
    F = model.decision_values(X)
    scale = np.abs(F).max()
    assert np.abs(q.decision_values(X) - F).max() < 0.01 * scale
    if model.classes_ is not None:
        sure = np.abs(F).min(axis=1) > 0.002 * scale  # a vector on the margin of a one-class SVM has the value 0
        assert np.mean(q.predict(X[sure]) == model.predict(X[sure])) > 0.98


def test_it_predicts_as_a_model_does():
    model = classifier()
    q = svmpress.quantize(model)
    X = np.random.default_rng(0).uniform(0, 8, (50, 4))
    assert (q.n_vectors, q.n_features, q.n_outputs) == (model.n_vectors, 4, 3)
    assert q.decision_function(X).shape == model.decision_function(X).shape
    assert np.array_equal(q.predict(X), q.classes_[q.positions(X)])
    with pytest.raises(InputError, match="features"):
        q.predict(X[:, :3])


def accuracies(weights, vectors=20, **choices):
    X, X_test, y, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
    small = svmpress.compress(SVC(C=10, gamma=0.001).fit(X, y), X, y, vectors=vectors).model
    given = [(), (X,), (X, y)]
    return small.decoder, [
        float(np.mean(svmpress.quantize(small, *a, weights=weights, **choices).predict(X_test) == y_test))
        for a in given
    ] + [float(np.mean(small.predict(X_test) == y_test))]


def test_eight_bits_lose_nearly_nothing():
    _, (rounded, solved, _, full) = accuracies("int8")
    assert min(rounded, solved) >= full - 0.005


def test_coefficients_for_rounded_vectors_are_worth_solving_again():
    X, y = digit_rows()
    source = svmpress.from_estimator(SVC(C=10, gamma=5e-6).fit(X[:900], y[:900]))
    small = svmpress.compress(source, X[:900], y[:900], vectors=15).model
    F = small.decision_values(X[900:].astype(float))
    rounded = [svmpress.quantize(small, *a, weights="int4") for a in [(), (X[:900],)]]
    plain, solved = (float(np.mean((q.decision_values(X[900:]) - F) ** 2)) for q in rounded)
    assert solved < plain / 2


def test_labels_make_one_output_a_class():
    X, y = digit_rows()
    q = svmpress.quantize(digits(), X[:800], y[:800], weights="int4", coef="int8", epochs=20)
    before = svmpress.quantize(digits(), X[:800], weights="int4", coef="int8")
    assert (before.n_outputs, q.n_outputs) == (45, 10)
    right = [float(np.mean(m.predict(X[800:]) == y[800:])) for m in (before, q)]
    assert right[1] > right[0] + 0.02


def test_pooling_keeps_a_model_what_it_was():
    X, _ = digit_rows()
    model = digits()
    smooth = np.repeat(np.repeat(Pooling(8, 8, 2).means(X).reshape(-1, 4, 4), 2, axis=1), 2, axis=2).reshape(-1, 64)
    e = model.expansion
    flat = np.repeat(np.repeat(Pooling(8, 8, 2).sums(e.vectors).reshape(-1, 4, 4) / 4, 2, axis=1), 2, axis=2)
    model = replace(model, expansion=replace(e, vectors=flat.reshape(-1, 64)))
    pooled = pooled_model(model, Pooling(8, 8, 2))
    values = pooled.decision_values(Pooling(8, 8, 2).means(X).astype(float))
    np.testing.assert_allclose(values, model.decision_values(smooth.astype(float)), atol=1e-9)


def test_pixels_with_scales_of_their_own_are_not_pooled():
    scaling = svmpress.Scaling(None, np.linspace(0.1, 1.0, 64))
    with pytest.raises(InputError, match="scales each pixel for itself"):
        pooled_model(replace(digits(), scaling=scaling), Pooling(8, 8, 2))


def test_features_that_tell_nothing_are_left_out():
    X, _ = digit_rows()
    X = X.copy()
    X[:, 8:16] = 7
    whole, pruned = svmpress.quantize(digits()), svmpress.quantize(digits(), X, input="uint8")
    assert whole.grid.n_levels == 64
    assert pruned.grid.n_levels < 57
    assert not set(range(8, 16)) & set(pruned.grid.kept.tolist())
    assert pruned.number_bytes < whole.number_bytes


def test_no_vector_is_cut():
    for name in ("votes", "poly"):
        model, _ = MODELS[name]()
        for weights in ("int4", "int8", "int16"):
            q = svmpress.quantize(model, weights=weights)
            V = np.asarray(model.expansion.vectors)[:, q.grid.kept]
            step = q.grid.ratio * q.grid.step
            if q.n_vectors == model.n_vectors:
                off = np.abs(q.grid.real(q.grid.of_weights(q.weights)) - V)
                assert off.max() <= step * 0.5001


def test_sums_keep_within_their_bits():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), np.arange(400) % 2
    q = svmpress.quantize(SVC(C=1e4, gamma=2.0).fit(X, y))
    F = q.integer_values(X)
    assert np.abs(F).max() < 2 ** (q.sum_bits - 1)
    assert np.abs(q.coef).max() <= 32767


def test_ties_between_votes_are_broken_by_sums_of_whole_numbers():
    rng = np.random.default_rng(1)
    F = rng.integers(-3, 4, (500, 6)) * 10
    decoder = PairVote(np.arange(4), break_ties=True)
    apart = F + rng.uniform(-0.1, 0.1, F.shape)
    positions = decide(decoder, np.rint(apart * 1e6).astype(np.int64))
    assert np.array_equal(positions, decoder.positions(apart))


def test_bytes_of_numbers():
    q = svmpress.quantize(digits(), weights="int4", coef="int8")
    assert q.number_bytes == table_bytes(12, 64, 45, "int4", "int8") == 12 * (32 + 45 + 2) + 180


@pytest.mark.parametrize("gamma", [1e-30, 1e6])
def test_kernels_that_do_not_fit(gamma):
    model = classifier()
    model = replace(model, expansion=replace(model.expansion, kernel=RBF(gamma)))
    with pytest.raises(InputError, match="the kernel is too"):
        svmpress.quantize(model)


def test_narrow_kernels_have_a_value_of_one_half_where_they_should():
    stage = Halvings.of(0.5)
    assert math.isclose(stage.a, 0.5, rel_tol=1e-3)


def test_few_rows_are_solved_for_and_none_is_held_out():
    X, y = digit_rows()
    q = svmpress.quantize(digits(), X[:30], y[:30])
    assert q.n_outputs == 10
    assert np.isfinite(q.decision_values(X)).all()
    with pytest.raises(InputError, match="epochs must be"):
        svmpress.quantize(digits(), X, y, epochs=0)


def test_regressions_are_fine_tuned():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (800, 2))
    values = np.sin(2 * X[:, 0]) * X[:, 1]
    small = svmpress.compress(SVR(gamma=1.0, C=10).fit(X, values), X, values, vectors=15).model
    errors = [
        float(np.mean((svmpress.quantize(small, *rows, weights="int4").predict(X) - values) ** 2))
        for rows in [(), (X,), (X, values)]
    ]
    assert errors[1] < errors[0] / 2
    assert errors[2] < errors[1]


def test_two_classes_are_fine_tuned():
    X, y = make_moons(800, noise=0.2, random_state=0)
    small = svmpress.compress(SVC(gamma=2.0, C=10).fit(X[:500], y[:500]), X[:500], y[:500], vectors=8).model
    full = np.mean(small.predict(X[500:]) == y[500:])
    q = svmpress.quantize(small, X[:500], y[:500], weights="int4", coef="int8")
    assert q.n_outputs == 1
    assert np.mean(q.predict(X[500:]) == y[500:]) > full - 0.02
