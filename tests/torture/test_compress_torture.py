"""Compression of odd SVMs: at least as good as a refit of random vectors, or a sentence that says why not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.svm import SVC, SVR, OneClassSVM

import svmpress
from svmpress import Status
from svmpress.errors import InputError
from svmpress.methods import Auto

QUICK = Auto(effort="fast", work=3e8)


def moons(n=240, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0).astype(int)


def refit_error(source, X, m, seed):
    """The squared error of random vectors of the source whose coefficients are fitted to its values at the rows."""
    f = source.expansion
    rows = X if source.scaling is None else source.scaling(X)
    some = np.random.default_rng(seed).permutation(f.n_vectors)[:m]
    K = np.column_stack([source.kernel.gram(rows, np.asarray(f.vectors)[some]), np.ones(len(rows))])
    wanted = source.decision_values(X)
    return float(np.mean((K @ np.linalg.lstsq(K, wanted, rcond=None)[0] - wanted) ** 2))


def check(svm, X, y, ratio=0.2):
    """Compress; the result is as good as random vectors, or says that something is odd, or is fitted to labels."""
    source, why = svmpress.from_estimator(svm), ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = svmpress.compress(svm, X, y, ratio=ratio, method=QUICK)
    except InputError as e:
        why = str(e)
    if why:
        assert "nan" not in why  # made by us, and of no use to anybody
        return None
    found = result.model.decision_values(X)
    assert np.isfinite(found).all()
    if result.status in (Status.DOUBTFUL, Status.UNCHANGED) or result.warnings:
        return result
    fits_labels = any(d.candidate == "labels" and d.adopted for d in result.decisions)
    if fits_labels and result.expected.is_no_worse:
        return result  # held-out rows say that labels are better targets, and then values are not the source's
    wanted = source.decision_values(X)
    errors = [refit_error(source, X, result.model.n_vectors, seed) for seed in range(3)]
    own = float(np.mean((found - wanted) ** 2))
    same = np.mean(result.model.predict(X) == source.predict(X)) if source.classes_ is not None else 0.0
    assert own <= max(np.median(errors), 1e-12 * np.mean(wanted**2)) or same >= 0.95, (own, errors, same)
    return result


def blobs(n_classes, each=12):
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(n_classes, 4)) * 3
    y = np.repeat(np.arange(n_classes), each)
    return centres[y] + rng.normal(size=(y.size, 4)), y


ODD = {
    "duplicates": lambda: (np.repeat(moons(40)[0], 6, axis=0), np.repeat(moons(40)[1], 6), SVC()),
    "constant feature": lambda: (np.column_stack([moons()[0], np.full(240, 7.0)]), moons()[1], SVC()),
    "huge feature": lambda: (moons()[0] * [1e9, 1, 1], moons()[1], SVC()),
    "weights of a million": lambda: (*moons(), SVC(class_weight={0: 1e6, 1: 1.0})),
    "one row in a class": lambda: (moons()[0], (np.arange(240) == 5).astype(int), SVC(C=100)),
    "single precision": lambda: (moons()[0].astype(np.float32), moons()[1], SVC()),
    "subnormal rows": lambda: (moons()[0] * 1e-310, moons()[1], SVC(kernel="linear")),
    "targets that are times": lambda: (moons(600)[0], 1.7e9 + 1e5 * moons(600)[0][:, 0], SVR()),
    "thirty classes": lambda: (*blobs(30), SVC()),
    "gamma 1e-6": lambda: (*moons(), SVC(gamma=1e-6, C=1e6)),
    "gamma 100": lambda: (*moons(), SVC(gamma=100)),
    "gamma 1e4": lambda: (*moons(), SVC(gamma=1e4)),
    "gamma 1e-12": lambda: (*moons(), SVC(gamma=1e-12)),
    "gamma 1e-10": lambda: (*moons(), SVC(gamma=1e-10)),
    "gamma 1e300": lambda: (*moons(), SVC(gamma=1e300)),
    "C 1e-9": lambda: (*moons(), SVC(C=1e-9)),
    "linear": lambda: (*moons(), SVC(kernel="linear")),
    "polynomial": lambda: (*moons(), SVC(kernel="poly", degree=5, coef0=1)),
    "sigmoid": lambda: (*moons(), SVC(kernel="sigmoid")),
    "one class": lambda: (moons()[0], None, OneClassSVM(nu=0.2)),
    "one class of two vectors": lambda: (moons()[0], None, OneClassSVM(nu=0.004, gamma=0.01)),
    "targets of 1e9": lambda: (moons()[0], moons()[0][:, 0] * 1e3 + 1.6e9, SVR(C=1e4)),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_data(name):
    X, y, svm = ODD[name]()
    check(svm.fit(X, y), X, y)


@pytest.mark.parametrize("factor", [1e200, 1e-200, 0.0])
def test_rows_that_have_nothing_to_do_with_the_model(factor):
    X, y = moons()
    svm = SVC().fit(X, y)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = svmpress.compress(svm, X * factor, y, ratio=0.2, method=QUICK)
    except InputError:  # which says why
        return
    assert result.status is Status.DOUBTFUL
    assert "rows are not used" in result.warnings[0]
