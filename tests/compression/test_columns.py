"""Rows of millions of columns, most of which nobody uses."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

import svmpress
from svmpress.compression import Status
from svmpress.formats import load


def spread(X, columns, d):
    """The same rows, with their columns among d."""
    rows = sparse.csr_array(X)
    return sparse.csr_array((rows.data, np.asarray(columns)[rows.indices], rows.indptr), shape=(X.shape[0], d))


@pytest.mark.parametrize("with_rows", [True, False])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_columns_that_are_zero_everywhere_cost_nothing(with_rows, kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4)) * (rng.random((80, 4)) < 0.8)
    y = (X[:, 0] > X[:, 1]).astype(int)
    columns, d = [3, 70_000, 5_000_000, 9_999_999], 10**7
    narrow = svmpress.from_estimator(SVC(kernel=kernel, gamma=0.5).fit(sparse.csr_array(X), y))
    f = narrow.expansion
    wide = svmpress.KernelModel(
        svmpress.KernelExpansion(f.kernel, spread(f.vectors.toarray(), columns, d), f.coef, f.intercept),
        narrow.decoder,
    )
    given = [(sparse.csr_array(X), y), (spread(X, columns, d), y)] if with_rows else [(None, None)] * 2
    small = svmpress.compress(narrow, *given[0], vectors=6).model
    tracemalloc.start()
    result = svmpress.compress(wide, *given[1], vectors=6)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * 2**20  # one dense vector would be 80 MB, and there are dozens
    assert result.source is wide
    assert result.model.n_features == d
    path = svmpress.compress_path(wide, *given[1], sizes=[3, 6])
    assert [(r.source, r.model.n_features) for r in path] == [(wide, d)] * 2
    np.testing.assert_allclose(
        result.model.decision_values(spread(X, columns, d)), small.decision_values(sparse.csr_array(X)), atol=1e-6
    )


def test_a_source_that_is_small_enough_is_returned_as_it_is(tmp_path):
    (tmp_path / "wide.model").write_text(
        "svm_type c_svc\nkernel_type rbf\ngamma 1\nnr_class 2\ntotal_sv 1\nrho 0.5\nlabel 1 -1\nnr_sv 1 0\nSV\n"
        "1 16777216:1\n"
    )
    wide = load(tmp_path / "wide.model")
    result = svmpress.compress(wide)
    assert result.status is Status.UNCHANGED
    assert result.model is wide
