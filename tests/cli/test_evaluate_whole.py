"""``svmpress evaluate --weights``: the model as a device has it, by the emulator."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import svmpress
from svmpress.cli import main


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = load_digits(return_X_y=True)
    np.savez("rows.npz", X_train=X[:300], y_train=y[:300], X_test=X[300:700], y_test=y[300:700])
    model = svmpress.from_estimator(SVC(gamma=0.001, C=10).fit(X[:300], y[:300]))
    svmpress.save(model, "m.svmpress")
    return model, X, y


def evaluate(capsys, *argv):
    code = main(["evaluate", "m.svmpress", "rows.npz", "--json", *argv])
    out, err = capsys.readouterr()
    return json.loads(out) if code == 0 else (code, err)


def test_the_emulator_is_scored(here, capsys):
    model, X, y = here
    chosen = ["--weights", "int4", "--coef", "int8", "--input", "uint8"]
    more = ["--quantize-with", "rows.npz", "--image", "8x8", "--pool", "2", "--split", "test"]
    q = svmpress.quantize(model, X[:300], y[:300], weights="int4", coef="int8", input="uint8", image=(8, 8), pool=2)
    facts = evaluate(capsys, *chosen, *more, "--reference", "m.svmpress")
    assert (facts["weights"], facts["vectors"]) == ("int4", q.n_vectors)
    assert facts["accuracy"] == float(np.mean(q.predict(X[300:700]) == y[300:700]))
    assert facts["agreement"] == float(np.mean(q.predict(X[300:700]) == model.predict(X[300:700])))
    rounded = svmpress.quantize(model, weights="int8", input="float")
    assert evaluate(capsys, "--weights", "int8")["accuracy"] == np.mean(rounded.predict(X[300:700]) == y[300:700])
    assert evaluate(capsys)["weights"] == "float"


def test_options_of_whole_numbers_alone(here, capsys):
    code, err = evaluate(capsys, "--coef", "int8")
    assert code == 2
    assert "--coef is for whole numbers" in err
