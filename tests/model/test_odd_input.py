"""What callers give and may not: dates, complex numbers, overflow, arrays that change afterwards."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import svmpress
from svmpress.decoders import Sign
from svmpress.errors import InputError
from svmpress.formats import load, save
from svmpress.kernels import RBF, Polynomial
from svmpress.model import KernelExpansion, KernelModel


def small(kernel=None, vectors=None, **changes) -> KernelModel:
    V = np.array([[1.0, 0.5], [0.25, -1.0]]) if vectors is None else vectors
    f = KernelExpansion(kernel or RBF(0.5), V, np.array([[1.0], [-1.0]]), np.array([0.1]))
    return KernelModel(f, Sign(np.array([-1, 1])), **changes)


@pytest.mark.parametrize("values", [[np.nan], [np.inf], [None], ["1"], [1j]])
def test_parameters_of_probabilities_are_finite_numbers(values):
    with pytest.raises(InputError, match="probA of the model's probabilities must be finite numbers"):
        small(probability={"probA": np.array(values)})


@pytest.mark.parametrize(
    "X",
    [
        np.array([["2020-01-01", "NaT"]], dtype="datetime64[D]"),
        np.array([[1, 2]], dtype="timedelta64[s]"),
        sparse.csr_array(np.array([[1 + 1j, 2]])),
        np.array([[1 + 1j, 2]]),
    ],
    ids=["dates", "durations", "sparse complex", "complex"],
)
def test_rows_that_are_no_numbers(X):
    with pytest.raises(InputError, match=r"X holds (dates or durations|complex numbers)"):
        small().predict(X)


@pytest.mark.parametrize("call", [svmpress.compress, None])
@pytest.mark.parametrize("y", [np.array([1 + 1j, 2]), np.array(["2020-01-01", "NaT"], dtype="datetime64[D]")])
def test_labels_that_are_no_labels(call, y):
    from svmpress.training import train

    X = np.array([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(InputError, match=r"y holds (dates or durations|complex numbers)"):
        train(X, y) if call is None else call(small(), X, y, vectors=1)


@pytest.mark.parametrize("rows", [np.array([[1e200, 1.0]]), sparse.csr_array(np.array([[0.0, 1e200]]))])
def test_an_answer_that_overflows_is_none(rows):
    cubic = small(Polynomial(1.0, 0.0, 3))
    with pytest.raises(InputError, match="the values of row 0 are too large for the poly kernel"):
        cubic.predict(rows)
    assert cubic.predict(np.ones((1, 2))).shape == (1,)


@pytest.mark.parametrize("n_threads", [2.5, 0, -1, "2"])
def test_numbers_of_threads(n_threads):
    with pytest.raises(InputError, match="n_threads must be a whole number of at least 1"):
        small().predict(np.zeros((1, 2)), n_threads=n_threads)


@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_a_model_does_not_change_with_the_arrays_that_it_was_made_of(layout):
    V, coef, intercept = layout(np.array([[1.0, 0.5], [0.25, -1.0]])), np.array([[1.0], [-1.0]]), np.array([0.1])
    model = KernelModel(KernelExpansion(RBF(0.5), V, coef, intercept), Sign(np.array([0, 1])))
    before = model.decision_values(np.zeros((1, 2)))
    (V.data if sparse.issparse(V) else V)[:] = 0
    coef[:], intercept[:] = 0, 0
    np.testing.assert_array_equal(model.astype(np.float64).decision_values(np.zeros((1, 2))), before)
    np.testing.assert_array_equal(KernelExpansion(
        RBF(0.5), model.expansion.vectors, model.expansion.coef, model.expansion.intercept
    ).decision_values(np.zeros((1, 2))), before)  # fmt: skip
    assert coef.flags.writeable


def test_what_nobody_can_write_to_is_not_copied():
    model = small()
    assert model.with_decoder(Sign(np.array([3, 4]))).expansion.vectors is model.expansion.vectors
    again = KernelExpansion(RBF(1.0), model.expansion.vectors, model.expansion.coef, model.expansion.intercept)
    assert again.vectors is model.expansion.vectors


def test_text_that_is_no_unicode_survives(tmp_path):
    model = small(provenance={"from": "a\ud800b"})
    save(model, tmp_path / "m.svmpress")
    assert load(tmp_path / "m.svmpress").provenance == {"from": "a\ud800b"}
