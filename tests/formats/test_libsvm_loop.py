"""The whole loop: LibSVM trains, svmpress compresses, LibSVM predicts with the small model, and the labels are ours."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_moons

import svmpress
from svmpress.formats import save_cost
from svmpress.methods import Paper
from test_format_libsvm import HAS_PROGRAMS, ORACLES, predictions, run, train, values, write_rows


@pytest.fixture(params=ORACLES)
def oracle(request):
    return request.param


def two_classes():
    X, y = make_moons(1000, noise=0.25, random_state=0)
    y = np.where(y == 1, 1.0, -1.0)
    return X[:400], y[:400], X[400:], y[400:], "-c 10 -g 1"


def ten_classes():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order] / 16, y[order].astype(float)
    return X[:400], y[:400], X[400:], y[400:], "-c 10 -g 0.5"


DATA = [pytest.param(two_classes, id="2 classes"), pytest.param(ten_classes, id="10 classes")]


@pytest.mark.parametrize("data", DATA)
def test_trained_there_compressed_here_predicted_there(data, oracle, tmp_path):
    X, y, X_test, y_test, options = data()
    big = train(tmp_path, X, y, options, oracle)
    small = svmpress.compress(big, X, y, ratio=0.1, layout="libsvm").model
    path = tmp_path / "small.model"
    svmpress.save(small, path)

    n_before = int(_header(big)["total_sv"])
    assert small.n_vectors == int(0.1 * n_before + 0.5)
    assert int(_header(path)["total_sv"]) == small.n_vectors  # no copies
    assert path.stat().st_size < 0.5 * big.stat().st_size

    theirs = predictions(tmp_path, path, X_test, oracle)
    np.testing.assert_array_equal(small.predict(X_test), theirs)
    np.testing.assert_array_equal(svmpress.load(path).predict(X_test), theirs)
    ours, values_there = small.decision_values(X_test), values(path, X_test)[1]
    ours = -ours if ours.shape[1] == 1 else ours  # of two classes LibSVM's value is positive for the first
    np.testing.assert_allclose(ours, values_there, rtol=0, atol=1e-9 * np.abs(values_there).max())

    before = np.mean(predictions(tmp_path, big, X_test, oracle) == y_test)
    assert np.mean(theirs == y_test) > before - 0.03


@pytest.mark.parametrize("data", DATA)
def test_the_model_file_alone_is_enough(data, tmp_path):
    X, y, X_test, y_test, options = data()
    big = train(tmp_path, X, y, options, "library")
    path = tmp_path / "small.model"
    svmpress.save(svmpress.compress(big, ratio=0.1, layout="libsvm"), path)
    before, after = (np.mean(predictions(tmp_path, model, X_test) == y_test) for model in (big, path))
    assert after > before - 0.04


@pytest.mark.parametrize("data", DATA)
def test_a_shared_model_is_saved_with_copies_and_predicts_the_same(data, oracle, tmp_path):
    X, y, X_test, _, options = data()
    big = train(tmp_path, X, y, options, oracle)
    small = svmpress.compress(big, X, y, vectors=15).model
    path = tmp_path / "small.model"
    svmpress.save(small, path)
    assert int(_header(path)["total_sv"]) == save_cost(small, "libsvm")
    np.testing.assert_array_equal(small.predict(X_test), predictions(tmp_path, path, X_test, oracle))


@pytest.mark.parametrize("data", DATA)
def test_the_paper_s_method_goes_round_too(data, oracle, tmp_path):
    X, y, X_test, _, options = data()
    big = train(tmp_path, X, y, options, oracle)
    small = svmpress.compress(big, method=Paper(max_iter=20), ratio=0.3).model
    path = tmp_path / "small.model"
    svmpress.save(small, path)
    assert int(_header(path)["total_sv"]) == small.n_vectors
    np.testing.assert_array_equal(small.predict(X_test), predictions(tmp_path, path, X_test, oracle))


@pytest.mark.parametrize("task", ["-s 3 -p 0.05 -c 10 -g 0.5", "-s 2 -n 0.2 -g 0.5"], ids=["regression", "one class"])
def test_models_without_classes_go_round(task, oracle, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (700, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(700)
    big = train(tmp_path, X[:400], y[:400], task, oracle)
    small = svmpress.compress(big, X[:400], ratio=0.1).model
    path = tmp_path / "small.model"
    svmpress.save(small, path)
    theirs = predictions(tmp_path, path, X[400:], oracle)
    if small.task == "outlier":
        np.testing.assert_array_equal(small.predict(X[400:]), theirs)
        assert np.mean(theirs == predictions(tmp_path, big, X[400:], oracle)) > 0.95
    else:
        np.testing.assert_allclose(small.predict(X[400:]), theirs, rtol=1e-5, atol=1e-5)
        assert np.corrcoef(theirs, y[400:])[0, 1] > 0.98


@pytest.mark.skipif(not HAS_PROGRAMS, reason="svm-scale is a program only, and not installed here")
def test_a_model_of_scaled_rows_keeps_its_scaling_beside_it(tmp_path):
    """svm-scale, svm-train, compress with the range file, svm-scale again, svm-predict."""
    X, y, X_test, _, options = two_classes()
    X, X_test = X * [1000, 0.01] + 7, X_test * [1000, 0.01] + 7
    write_rows(tmp_path / "rows", X, y)
    (tmp_path / "rows.scaled").write_text(run("svm-scale", "-s", tmp_path / "big.model.range", tmp_path / "rows"))
    run("svm-train", "-q", *options.split(), tmp_path / "rows.scaled", tmp_path / "big.model")
    small = svmpress.compress(tmp_path / "big.model", X, y, ratio=0.1).model
    assert small.scaling is not None
    svmpress.save(small, tmp_path / "small.model")
    write_rows(tmp_path / "test", X_test, np.zeros(len(X_test)))
    scaled = run("svm-scale", "-r", tmp_path / "small.model.range", tmp_path / "test")
    (tmp_path / "test.scaled").write_text(scaled)
    run("svm-predict", tmp_path / "test.scaled", tmp_path / "small.model", tmp_path / "out")
    agree = np.mean(small.predict(X_test) == np.loadtxt(tmp_path / "out"))
    assert agree > 0.995  # svm-scale prints six digits


def _header(path) -> dict[str, str]:
    lines = path.read_text().split("SV\n")[0].splitlines()
    return dict(line.split(maxsplit=1) for line in lines if " " in line)
