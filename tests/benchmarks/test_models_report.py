"""The page of ``benchmarks/models.py`` is what its records say, and the rows that it makes are plausible."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from svmpress import from_estimator
from svmpress.model import KernelModel, Scaling

ROOT = Path(__file__).parents[2]


@pytest.fixture
def models(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    for name in ("models", "models_report", "journal"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    loaded = importlib.import_module("models")
    yield loaded
    for name in ("models", "models_report", "journal"):
        sys.modules.pop(name, None)


def test_the_page_is_the_one_that_the_records_make(models):
    assert models.PAGE.read_text(encoding="utf-8") == models.page(models.journal.read(models.RECORDS))


def test_the_page_says_that_it_flatters_and_holds_every_record(models):
    page = models.page(models.journal.read(models.RECORDS))
    assert "**they flatter**" in page
    for record in models.journal.read(models.RECORDS):
        assert f"| {record['vectors']:,} ({record['ratio']:.0%}) |" in page


def test_rows_lie_between_vectors_of_one_answer(models):
    X, y = load_iris(return_X_y=True)
    model = from_estimator(SVC(gamma=0.3).fit(X, y))
    V = model.expansion.vectors
    rows = models.plausible_rows(model, 500, 0)
    assert rows.shape == (500, 4)
    assert (rows >= V.min(axis=0) - 1e-9).all()
    assert (rows <= V.max(axis=0) + 1e-9).all()
    np.testing.assert_array_equal(rows, models.plausible_rows(model, 500, 0))
    assert not np.array_equal(rows, models.plausible_rows(model, 500, 1))


def test_rows_are_unscaled_and_answers_compared(models):
    X = load_iris().data
    scaler = StandardScaler().fit(X)
    inner = from_estimator(SVR().fit(scaler.transform(X), X[:, 0]))
    model = KernelModel(inner.expansion, inner.decoder, "regression", scaling=Scaling(scaler.mean_, 1 / scaler.scale_))
    rows = models.plausible_rows(model, 200, 0)
    assert (np.abs(rows.mean(axis=0) - X.mean(axis=0)) < X.std(axis=0)).all()
    assert models.agreement(model, model, rows) == 1
    assert models.largest_difference(model, model, rows) == 0
