"""Pickles: refused unless they are trusted, in Python and on the command line, and what is said then."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from svmpress.cli import main
from svmpress.errors import FormatError
from svmpress.formats import from_estimator, load

X, Y = load_iris(return_X_y=True)
PIPELINE = make_pipeline(StandardScaler(), SVC()).fit(X, Y)


class Bomb:
    """What runs when it is unpickled, as anything can."""

    def __reduce__(self):
        return np.save, ("ran.npy", np.zeros(1))


@pytest.fixture(params=["pickle", "joblib", "compressed"])
def path(tmp_path, request):
    if request.param == "pickle":
        (tmp_path / "m.pkl").write_bytes(pickle.dumps(PIPELINE))
        return tmp_path / "m.pkl"
    joblib.dump(PIPELINE, tmp_path / "m.joblib", compress=3 if request.param == "compressed" else 0)
    return tmp_path / "m.joblib"


def test_trusted_pickles_are_read(path, tmp_path, capsys):
    with pytest.raises(FormatError, match="is a pickle, and svmpress does not read pickles"):
        load(path)
    np.testing.assert_array_equal(load(path, trust_pickle=True).predict(X), PIPELINE.predict(X))
    assert main(["export", str(path), "-o", str(tmp_path / "o.svmpress")]) == 2
    assert "(--trust-pickle, trust_pickle=True): reading one runs the code in it" in capsys.readouterr().err
    assert main(["export", str(path), "-o", str(tmp_path / "o.svmpress"), "--trust-pickle"]) == 0
    np.testing.assert_array_equal(load(tmp_path / "o.svmpress").predict(X), PIPELINE.predict(X))


def test_nothing_runs_without_trust(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.pkl", "a.joblib", "a.model", "a.svmpress"):
        (tmp_path / name).write_bytes(pickle.dumps(Bomb()))
        with pytest.raises(FormatError, match="is a pickle"):
            load(tmp_path / name)
    assert not (tmp_path / "ran.npy").exists()


def test_a_pickle_of_something_else(tmp_path):
    for what, words in (
        ([1], "list cannot be converted"),
        (b"", "could not be unpickled"),
        ("other.model", "str cannot"),
    ):
        content = what if what == b"" else pickle.dumps(what)
        (tmp_path / "a.pkl").write_bytes(content)
        with pytest.raises(ValueError, match=words):
            load(tmp_path / "a.pkl", trust_pickle=True)


def test_a_pickled_model_of_ours(tmp_path):
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(from_estimator(PIPELINE)))
    np.testing.assert_array_equal(load(tmp_path / "a.pkl", trust_pickle=True).predict(X), PIPELINE.predict(X))
