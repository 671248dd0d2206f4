"""Probabilities of classes: those of LibSVM and scikit-learn, and what is fitted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from libsvm import svmutil
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, make_moons
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import brier_score_loss
from sklearn.svm import SVC

from svmpress.decoders import Argmax, PairVote, Sign, class_pairs
from svmpress.errors import InputError
from svmpress.formats import from_estimator, load, save
from svmpress.model import Calibration, class_probabilities, fit_probability
from svmpress.model.probability import coupled, fit_sigmoid


@pytest.fixture(scope="module")
def moons():
    return make_moons(300, noise=0.3, random_state=0)


# ---------------------------------------------------------------------------------------------------------
# The same as elsewhere
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The `probability` parameter was deprecated:FutureWarning")
@pytest.mark.filterwarnings("ignore:Attribute `prob._` was deprecated:FutureWarning")
@pytest.mark.parametrize("read", [load_iris, load_digits])
def test_coupling_is_that_of_svc(read):
    X, y = read(return_X_y=True)
    svc = SVC(gamma=0.001, probability=True, random_state=0).fit(X, y)
    np.testing.assert_allclose(from_estimator(svc).predict_proba(X), svc.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_same_as_libsvm(n_classes, tmp_path):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], 7 - y[y < n_classes]
    X = X + np.random.default_rng(0).normal(size=X.shape)  # so that classes overlap
    path = str(tmp_path / "a.model")
    svmutil.svm_save_model(path, svmutil.svm_train(y.tolist(), X.tolist(), "-q -b 1"))
    theirs = svmutil.svm_load_model(path)  # it writes eight digits of its vectors
    _, _, expected = svmutil.svm_predict([], X.tolist(), theirs, "-q -b 1")
    source = load(path)
    assert source.classes_.tolist() == theirs.get_labels()
    np.testing.assert_allclose(source.predict_proba(X), expected, atol=1e-9)


@given(st.integers(3, 6), st.integers(0, 10**6))
def test_coupled_probabilities_nearly_solve_their_equations(K, seed):
    rng = np.random.default_rng(seed)
    r = rng.uniform(1e-7, 1 - 1e-7, size=(4, K * (K - 1) // 2))
    p = coupled(r, K)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    for row, found in zip(r, p, strict=True):
        Q = np.zeros((K, K))
        for (i, j), part in zip(class_pairs(K), row, strict=True):
            Q[i, i] += (1 - part) ** 2
            Q[j, j] += part**2
            Q[i, j] = Q[j, i] = -part * (1 - part)
        bordered = np.block([[Q, np.ones((K, 1))], [np.ones((1, K)), np.zeros((1, 1))]])
        best = np.linalg.lstsq(bordered, np.eye(K + 1)[K])[0][:K]
        assert found @ Q @ found <= best @ Q @ best + 0.01


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_calibrators_are_fitted_as_scikit_learn_does(method, n_classes, rng):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes] + rng.normal(size=(50 * n_classes, 4)), y[y < n_classes]
    svc = SVC(gamma=0.2).fit(X, y)
    theirs = CalibratedClassifierCV(FrozenEstimator(svc), method=method, ensemble=False).fit(X, y)
    source = from_estimator(svc)
    kind = "pairs" if (method, n_classes) == ("sigmoid", 2) else method
    parameters = fit_probability(kind, source.decoder, source.decision_values(X), np.eye(n_classes)[y])
    ours = replace(source, probability=parameters)
    tolerance = 1e-3 if method == "temperature" else 1e-5  # both stop at some tolerance of their own
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=tolerance)


def test_a_sigmoid_is_the_most_likely_one(rng):
    f = rng.normal(size=4000) * 100
    t = (rng.uniform(size=4000) < 1 / (1 + np.exp(-0.03 * f + 0.5))).astype(float)
    a, b = fit_sigmoid(f, t, np.ones(4000))
    assert a == pytest.approx(-0.03, rel=0.1)
    assert b == pytest.approx(0.5, abs=0.1)
    doubled = fit_sigmoid(np.repeat(f, 2), np.repeat(t, 2), np.full(8000, 0.5))
    assert doubled == pytest.approx((a, b), rel=1e-4)


def test_pairs_of_a_model_of_one_value_a_class(rng):
    """A LibSVM file holds such a model as differences, and the parameters belong to these."""
    decoder, y = Argmax(np.array([3, 5, 9])), rng.integers(0, 3, 600)
    F = rng.normal(size=(600, 3)) + 2 * np.eye(3)[y]
    parameters = fit_probability("pairs", decoder, F, np.eye(3)[y])
    pairs = class_pairs(3)
    differences = F[:, pairs[:, 0]] - F[:, pairs[:, 1]]
    one = class_probabilities(parameters, decoder, F)
    two = class_probabilities(parameters, PairVote(decoder.classes), differences)
    np.testing.assert_allclose(one, two)
    assert np.mean(one.argmax(axis=1) == y) > 0.75


# ---------------------------------------------------------------------------------------------------------
# How good they are
# ---------------------------------------------------------------------------------------------------------


def test_brier_scores_are_scikit_learns(rng):
    for K in (2, 4):
        P, y = rng.dirichlet(np.ones(K), 200), rng.integers(0, K, 200)
        theirs = brier_score_loss(y, P[:, 1] if K == 2 else P, labels=np.arange(K))
        assert Calibration.of(P, y).brier == pytest.approx(theirs)


def test_the_calibration_error_of_known_cases():
    sure = np.tile([0.1, 0.9], (10, 1))
    assert Calibration.of(sure, np.array([1] * 9 + [0])).error == pytest.approx(0.0)
    assert Calibration.of(sure, np.array([1] * 5 + [0] * 5)).error == pytest.approx(0.4)


# ---------------------------------------------------------------------------------------------------------
# In files, and what cannot be
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pairs", "sigmoid", "isotonic", "temperature"])
def test_native_files_keep_every_kind(kind, moons, tmp_path):
    X, y = moons
    source = from_estimator(SVC().fit(X, y))
    F = source.decision_values(X)
    model = replace(source, probability=fit_probability(kind, source.decoder, F, np.eye(2)[y]))
    save(model, tmp_path / "a.svmpress")
    np.testing.assert_array_equal(load(tmp_path / "a.svmpress").predict_proba(X), model.predict_proba(X))


def test_a_model_without_probabilities_says_what_to_do(moons):
    model = from_estimator(SVC().fit(*moons))
    assert not model.has_probability
    with pytest.raises(InputError, match="compress a CalibratedClassifierCV"):
        model.predict_proba(moons[0])


@pytest.mark.parametrize(
    "parameters",
    [
        {"probA": np.ones(2), "probB": np.ones(1)},
        {"probA": np.ones(1)},
        {"probA": np.array([np.nan]), "probB": np.ones(1)},
        {"sigmoid_slope": np.ones(2), "sigmoid_offset": np.ones(2)},
        {"isotonic_x": np.ones(3), "isotonic_y": np.ones(3), "isotonic_points": np.array([-3.0])},
        {"isotonic_x": np.ones(3), "isotonic_y": np.ones(3), "isotonic_points": np.array([1e300])},
        {"isotonic_x": np.ones(3), "isotonic_y": np.ones(2), "isotonic_points": np.array([3.0])},
        {"inverse_temperature": np.ones((1, 1))},
    ],
)
def test_parameters_that_are_none_are_refused(parameters, moons):
    model = from_estimator(SVC().fit(*moons))
    with pytest.raises(InputError, match="of the model's probabilities must be"):
        replace(model, probability=parameters).predict_proba(moons[0])


def test_the_sign_of_two_classes():
    parameters = {"probA": np.array([-2.0]), "probB": np.array([0.3])}
    F = np.array([[1.0], [-1.0], [0.0]])
    P = class_probabilities(parameters, Sign(np.array([0, 1])), F)
    np.testing.assert_allclose(P[:, 0], 1 / (1 + np.exp(2.0 * F[:, 0] + 0.3)))
