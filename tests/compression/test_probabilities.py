"""Probabilities of a small model: kept where they still hold, else fitted again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from libsvm import svmutil
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.svm import SVC, SVR

import svmpress
from svmpress.methods import Auto
from svmpress.model import Calibration, fit_probability

QUICK = Auto(work=1e8)


def calibrated(svc, X, y):
    """Return a source with parameters that are fitted to rows it has not seen."""
    source = svmpress.from_estimator(svc)
    targets = np.eye(len(source.classes_))[np.searchsorted(source.classes_, y)]
    return replace(source, probability=fit_probability("pairs", source.decoder, source.decision_values(X), targets))


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(4000, noise=0.3, random_state=0)
    return X[:2500], y[:2500], X[2500:], y[2500:], calibrated(SVC(C=10).fit(X[:2500], y[:2500]), X[2500:], y[2500:])


class Louder:
    """A method whose small model answers as the source, with five times its values."""

    def run(self, problem, m, smaller=None):
        outcome = Auto(work=1e7, copies_only=True).run(problem, m)
        f = outcome.expansion
        return replace(outcome, copies=False, expansion=replace(f, coef=5 * f.coef, intercept=5 * f.intercept))


def test_a_close_copy_keeps_the_parameters(moons):
    X, y, X_test, _, source = moons
    result = svmpress.compress(source, X, y, vectors=60, method=QUICK)
    check = result.probabilities
    assert np.abs(result.model.predict_proba(X_test) - source.predict_proba(X_test)).mean() < 0.01
    assert check.difference < 0.01
    assert (check.rows, check.on) == (1000, "of the rows given")
    assert check.calibration.brier == pytest.approx(check.source_calibration.brier, abs=0.01)
    if check.kept:
        np.testing.assert_array_equal(result.model.probability["probA"], source.probability["probA"])


def test_values_of_its_own_are_calibrated_again(moons):
    X, y, X_test, y_test, source = moons
    result = svmpress.compress(source, X, y, vectors=60, method=Louder())
    assert not result.probabilities.kept
    assert result.model.probability["probA"] == pytest.approx(source.probability["probA"] / 5, rel=0.2)
    before, after = (Calibration.of(m.predict_proba(X_test), y_test) for m in (source, result.model))
    assert after.brier == pytest.approx(before.brier, abs=0.005)
    assert after.error < before.error + 0.02


def test_a_bad_copy_is_calibrated_again(moons):
    """Few vectors of the paper's method have smaller values: with the source's parameters they would all be unsure."""
    X, y, X_test, y_test, source = moons
    result = svmpress.compress(source, X, y, vectors=4, method="lars")
    assert not result.probabilities.kept
    old = replace(result.model, probability=source.probability)
    fitted, kept = (Calibration.of(m.predict_proba(X_test), y_test).brier for m in (result.model, old))
    assert fitted < kept


@pytest.mark.parametrize("layout", ["shared", "libsvm"])
def test_libsvm_gives_the_probabilities_of_the_small_model(layout, tmp_path):
    X, y = load_digits(return_X_y=True)
    source = calibrated(SVC(C=10, gamma=0.001).fit(X, y), X, y)
    small = svmpress.compress(source, X, y, vectors=60, layout=layout, method=QUICK).model
    path = str(tmp_path / "small.model")
    svmpress.save(small, path)
    theirs = svmutil.svm_load_model(path)
    _, _, expected = svmutil.svm_predict([], X[:200].tolist(), theirs, "-q -b 1")
    np.testing.assert_allclose(small.predict_proba(X[:200]), expected, atol=1e-9)
    svc = svmpress.to_estimator(small)
    np.testing.assert_allclose(svc.predict_proba(X[:200]), small.predict_proba(X[:200]), atol=1e-9)


def test_without_labels_and_without_rows(moons):
    X, _, X_test, _, source = moons
    for rows, on in ((X, "of the rows given"), (None, "support vectors, as no rows are known")):
        result = svmpress.compress(source, rows, vectors=40, method=QUICK)
        assert (result.probabilities.on, result.probabilities.calibration) == (on, None)
        assert np.abs(result.model.predict_proba(X_test) - source.predict_proba(X_test)).mean() < 0.05


def test_the_summary_has_brier_score_and_calibration_error(moons):
    X, y, *_, source = moons
    result = svmpress.compress(source, X, y, vectors=20, method=QUICK)
    (line,) = [line for line in result.summary().splitlines() if line.startswith("Brier score")]
    assert f"{result.probabilities.calibration.brier:.4f}" in line
    assert f"{result.probabilities.source_calibration.brier:.4f}" in line


def test_too_few_rows_to_calibrate_by_is_said():
    X, y = make_blobs(25, centers=[[0, 0], [2, 0]], cluster_std=1.0, random_state=0)
    source = calibrated(SVC().fit(X, y), X, y)

    with pytest.warns(svmpress.SvmpressWarning, match="too few rows to calibrate"):
        result = svmpress.compress(source, X, y, vectors=5, method=Louder())
    assert not result.model.has_probability


def test_what_is_no_probability_of_classes_stays_with_copied_values(rng):
    X = rng.normal(size=(200, 2))
    source = replace(svmpress.from_estimator(SVR().fit(X, X[:, 0])), probability={"probA": np.array([0.5])})
    result = svmpress.compress(source, X, vectors=10, method=QUICK)
    assert result.model.probability["probA"].tolist() == [0.5]
    assert result.probabilities is None


def test_sources_without_probabilities_have_none(moons):
    X, y, *_ = moons
    result = svmpress.compress(SVC().fit(X, y), X, y, vectors=10, method=QUICK)
    assert result.probabilities is None
    assert not result.model.has_probability
