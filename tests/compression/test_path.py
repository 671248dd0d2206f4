"""Several sizes from one search: each is a full result, all of them share one experiment."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, SVR

import svmpress.methods.auto.method
from svmpress.compression import Compression, Status, compress_path
from svmpress.errors import InputError, SvmpressWarning
from svmpress.methods import Experiment


@pytest.fixture(scope="module")
def digits():
    return train_test_split(*load_digits(return_X_y=True, n_class=5), random_state=0)


@pytest.fixture(scope="module")
def svc(digits):
    X, _, y, _ = digits
    return SVC(C=10, gamma=0.001).fit(X, y)


def test_every_size_is_a_result_and_is_measured(digits, svc):
    X, T, y, t = digits
    path = compress_path(svc, X, y, sizes=[20, 5, 5, 10], X_test=T, y_test=t, effort="fast")
    assert path.sizes == (5, 10, 20)
    assert all(isinstance(r, Compression) and r.status is Status.COMPRESSED and r.decisions for r in path)
    for result, measured in zip(path, path.measured, strict=True):
        right = float(np.mean(result.model.predict(T) == t))
        assert measured.accuracy.value == pytest.approx(right)
        assert measured.accuracy.low <= right <= measured.accuracy.high
        assert measured.agreement.value == pytest.approx(np.mean(result.model.predict(T) == svc.predict(T)))
        assert measured.rows == len(t)
        assert result.expected.accuracy is not None  # from the search, for each size
    assert path.measured[0].accuracy.value > 0.9
    assert path.source_measured.accuracy.value == pytest.approx(svc.score(T, t))
    assert f"measured on {len(t)} rows" in path.summary()


def test_there_is_one_experiment_whose_work_the_sizes_share(digits, svc, monkeypatch):
    X, _, y, _ = digits
    made, works = [], []
    monkeypatch.setattr(Experiment, "of", classmethod(counted(Experiment.of, made)))
    choose = svmpress.methods.auto.method.Auto._choose
    monkeypatch.setattr(
        svmpress.methods.auto.method.Auto,
        "_choose",
        lambda self, whole, *rest: (works.append(whole.work), choose(self, whole, *rest))[1],
    )
    compress_path(svc, X, y, sizes=[5, 10, 20, 50, 100], effort="fast")
    assert len(made) == 1
    largest, *others = works
    assert sum(work.total for work in others) <= largest.total  # so that all of them cost at most twice the largest


@pytest.mark.slow
@pytest.mark.parametrize("data", [load_digits, load_breast_cancer, load_iris])
def test_five_sizes_cost_at_most_twice_the_largest_alone(data, monkeypatch):
    """In multiply-adds that were spent, which no machine and no load change."""
    X, y = data(return_X_y=True)
    svc = SVC(C=10).fit(StandardScaler().fit_transform(X), y)
    works = []
    choose = svmpress.methods.auto.method.Auto._choose
    monkeypatch.setattr(
        svmpress.methods.auto.method.Auto,
        "_choose",
        lambda self, whole, *rest: (works.append(whole.work), choose(self, whole, *rest))[1],
    )
    largest = min(100, len(svc.support_) - 1)
    spent = []
    for sizes in ([largest], sorted({largest, *(max(3, largest // k) for k in (2, 5, 10, 20))})):
        works.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SvmpressWarning)  # of very small models
            compress_path(svc, StandardScaler().fit_transform(X), y, sizes=sizes)
        assert len(works) == len(sizes)
        spent.append(sum(work.spent for work in works))
    assert spent[0] < spent[1] <= 2 * spent[0]


def counted(function, calls):
    def call(cls, *arguments):
        calls.append(arguments)
        return function(*arguments)

    return call


def test_automatic_sizes_and_those_that_are_no_fewer(digits, svc):
    X, _, y, _ = digits
    n = len(svc.support_)
    path = compress_path(svc, X, y, effort="fast")
    assert path.sizes[-1] == round(0.2 * n)
    assert path.sizes[0] >= 5
    assert compress_path(svc, X, y, sizes=[n])[0].status is Status.UNCHANGED


def test_other_methods_grow_each_from_the_last(digits, svc):
    X, _, y, _ = digits
    assert compress_path(svc, X, y, sizes=[5, 10], method="lars").sizes == (5, 10)


def test_a_regressor_and_a_wrapper(digits):
    X, y = load_iris(return_X_y=True)
    path = compress_path(SVR().fit(X, y), X, y, sizes=[5], X_test=X, y_test=y)
    assert path.measured[0].accuracy.value > 0.8
    wrapped = make_pipeline(PolynomialFeatures(2), SVC()).fit(X, y)
    path = compress_path(wrapped, X, y, sizes=[6], X_test=X, y_test=y)
    right = np.mean(path[0].estimator.predict(X) == y)
    assert path.measured[0].accuracy.value == pytest.approx(right)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [([], "empty"), ([0], "at least 1"), ([2.5], "whole"), ("many", "not 'many'"), (5, "list"), ([True], "whole")],
)
def test_sizes_that_are_none(digits, svc, sizes, message):
    with pytest.raises(InputError, match=message):
        compress_path(svc, sizes=sizes)


def test_test_rows_that_do_not_fit(digits, svc):
    _, T, _, t = digits
    with pytest.raises(InputError, match="answers"):
        compress_path(svc, sizes=[5], X_test=T, y_test=t[:3])
    with pytest.raises(InputError, match="without the rows"):
        compress_path(svc, sizes=[5], y_test=t)


def test_a_table_for_notebooks(digits, svc):
    X, T, y, t = digits
    measured = compress_path(svc, X, y, sizes=[5, 10], X_test=T, y_test=t)._repr_html_()
    assert measured.count("<tr>") == 4  # the head, two sizes and the source
    assert [measured.count(f"<td>{m}</td>") for m in (5, 10, len(svc.support_))] == [1, 1, 1]
    bare = compress_path(svc, sizes=[5])._repr_html_()
    assert "accuracy" not in bare
    assert "style" not in measured + bare  # colours are the page's, dark or not
