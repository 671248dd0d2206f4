"""Kernels whose machines are matrices: the source's own values from as few vectors as the rank."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

from svmpress import Status, compress
from svmpress.formats import from_estimator, load, save, save_cost
from svmpress.methods import Auto, Exact, exact_expansion
from svmpress.methods.exact import closest_copy


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@pytest.fixture(scope="module")
def two_sided():
    """Two overlapping classes of ten features."""
    return make_classification(400, 10, n_informative=6, class_sep=0.5, random_state=0)


QUADRATIC = {"kernel": "poly", "degree": 2, "coef0": 0.0}


def assert_same_values(result, X):
    ours, theirs = (m.decision_values(X) for m in (result.model, result.source))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())


@pytest.mark.parametrize("budget", [{"vectors": 1}, {"vectors": 30}, {"ratio": 0.1}, {"ratio": 1.0}, {"max_drop": 0.0}])
def test_a_linear_machine_is_one_vector_whatever_the_budget(two_sided, budget):
    X, y = two_sided
    svc = SVC(kernel="linear").fit(X, y)
    result = compress(svc, X, y, **budget)
    assert result.model.n_vectors == 1
    assert_same_values(result, X)
    np.testing.assert_array_equal(result.model.predict(X), svc.predict(X))
    assert result.warnings == ()


@pytest.mark.parametrize(
    "inner", [SVR(kernel="linear"), OneClassSVM(kernel="linear", nu=0.2)], ids=["svr", "one_class"]
)
def test_a_regressor_and_a_one_class_machine(two_sided, inner):
    X, _ = two_sided
    fitted = inner.fit(X, X[:, 0] - X[:, 3] ** 2)
    result = compress(fitted, X)
    assert result.model.n_vectors == 1
    np.testing.assert_allclose(result.model.predict(X), fitted.predict(X), atol=1e-9)


def test_many_classes_have_the_rank_of_their_machines(digits):
    X, y = digits
    svc = SVC(kernel="linear").fit(X, y)
    result = compress(svc, X, y, vectors=100)
    assert (result.status, result.model.n_vectors) == (Status.FEWER, 45)  # of 45 machines; there are 64 features
    assert_same_values(result, X)
    np.testing.assert_array_equal(result.model.predict(X), svc.predict(X))
    few = compress(SVC(kernel="linear").fit(X[:, 18:30], y), X[:, 18:30], y, vectors=100)
    assert few.model.n_vectors == 12  # of 12 features
    assert_same_values(few, X[:, 18:30])


def test_one_vs_rest_scaled_and_sparse(digits):
    X, y = digits
    rest = compress(OneVsRestClassifier(SVC(kernel="linear")).fit(X, y), X, y)
    assert rest.model.n_vectors == 10
    assert_same_values(rest, X)
    scaled = make_pipeline(StandardScaler(), SVC(kernel="linear")).fit(X, y)
    result = compress(scaled, X, y, vectors=45)
    np.testing.assert_array_equal(result.model.predict(X), scaled.predict(X))
    rows = sparse.csr_array(X)
    thin = compress(SVC(kernel="linear").fit(rows, y > 4), rows, y > 4)
    assert thin.model.n_vectors == 1
    assert_same_values(thin, rows)


def test_in_the_layout_of_libsvm_a_vector_belongs_to_a_class(digits, tmp_path):
    X, y = digits
    svc = SVC(kernel="linear").fit(X, y)
    result = compress(svc, X, y, vectors=60, layout="libsvm")
    assert result.model.n_vectors == save_cost(result.model, "libsvm") == 45
    save(result.model, tmp_path / "small.model")
    np.testing.assert_array_equal(load(tmp_path / "small.model").predict(X), svc.predict(X))


def test_a_quadratic_machine_has_the_rank_of_its_form(two_sided):
    X, y = two_sided
    svc = SVC(gamma=0.3, **QUADRATIC).fit(X, y)
    result = compress(svc, X, y, vectors=10)
    assert result.model.n_vectors <= 10 < result.source.n_vectors
    assert_same_values(result, X)
    np.testing.assert_array_equal(result.model.predict(X), svc.predict(X))


def test_quadratic_machines_of_several_classes_have_their_own_vectors():
    X, y = load_iris(return_X_y=True)
    svc = SVC(gamma=0.05, C=0.1, **QUADRATIC).fit(X, y)
    for layout in ("shared", "libsvm"):
        result = compress(svc, X, y, vectors=12, layout=layout)
        assert result.model.n_vectors == 12  # three machines, four features
        assert_same_values(result, X)


@pytest.mark.parametrize(
    "svm",
    [SVC(kernel="poly", degree=2, coef0=1.0), SVC(kernel="poly", degree=3), SVC(kernel="rbf"), SVC(kernel="sigmoid")],
    ids=["inhomogeneous", "cubic", "rbf", "sigmoid"],
)
def test_other_kernels_have_no_such_vectors(svm, two_sided):
    assert exact_expansion(from_estimator(svm.fit(*two_sided))) is None


def test_what_has_its_rank_already_is_left_alone(two_sided):
    X, y = two_sided
    small = compress(SVC(kernel="linear").fit(X, y)).model
    assert exact_expansion(small) is None
    assert compress(small, vectors=5).status is Status.UNCHANGED


def test_no_linear_copy_of_so_few_vectors_is_closer(digits, rng):
    """Below the rank: any other vectors, with their best coefficients, miss the source's values by more."""
    X, y = digits
    svc = SVC(kernel="linear").fit(X, y)
    problems = []

    class Spy:
        def run(self, problem, m, smaller=None):
            problems.append(problem)
            return Auto(work=1e7).run(problem, m, smaller)

    compress(svc, X, vectors=8, method=Exact(Spy()))
    copy = closest_copy(problems[0], 8)
    rows, values = problems[0].rows, problems[0].values(problems[0].rows)

    def error(expansion):
        return np.sum((expansion.decision_values(rows) - values) ** 2)

    usual = Auto(work=3e8, copies_only=True).run(problems[0], 8)
    assert error(copy) <= error(usual.expansion) * (1 + 1e-9)
    design = np.hstack([rows @ rng.normal(size=(64, 8)), np.ones((len(rows), 1))])
    best = np.linalg.lstsq(design, values, rcond=None)[1].sum()
    assert error(copy) < best


def test_the_same_to_the_last_bit_again(digits):
    X, y = digits
    svc = SVC(kernel="linear").fit(X, y)
    a, b = (compress(svc, X, y, vectors=45).model.expansion for _ in range(2))
    np.testing.assert_array_equal(a.vectors, b.vectors)
    np.testing.assert_array_equal(a.coef, b.coef)
