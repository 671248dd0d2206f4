"""Rows of other libraries than NumPy are answered where they are, with the answers that NumPy's rows get."""

from __future__ import annotations

from dataclasses import replace

import array_api_compat
import numpy as np
import pytest
from scipy import sparse

from svmpress.decoders import Argmax, Decoder, Identity, PairDAG, PairVote, Sign
from svmpress.errors import InputError
from svmpress.kernels import RBF
from svmpress.model import KernelExpansion, KernelModel, Scaling, elsewhere
from svmpress.numerics import Backend, arrays, to_numpy

CLASSES = np.array([3, 1, 2, 7])


class Somebodys(Argmax):
    """A decoder that svmpress does not know."""


DECODERS: dict[str, tuple[Decoder, int]] = {
    "value": (Identity(), 1),
    "values": (Identity(), 2),
    "sign": (Sign(CLASSES[:2]), 1),
    "sign, zero first": (Sign(CLASSES[:2], zero_class=0), 1),
    "argmax": (Argmax(CLASSES), 4),
    "votes": (PairVote(CLASSES), 6),
    "votes, ties broken": (PairVote(CLASSES, break_ties=True), 6),
    "votes, ovo": (PairVote(CLASSES, shape="ovo"), 6),
    "votes of two": (PairVote(CLASSES[:2]), 1),
    "dag": (PairDAG(CLASSES), 6),
    "somebody's": (Somebodys(CLASSES), 4),
}


@pytest.fixture(params=["array_api_strict", pytest.param("torch", marks=pytest.mark.torch)])
def backend(request):
    """The libraries but NumPy, with which they are compared."""
    if request.param == "torch":
        return Backend.of("torch")
    import array_api_strict

    return Backend(array_api_strict, array_api_compat.device(array_api_strict.zeros(1)))


@pytest.fixture(params=DECODERS)
def model(request, rng):
    decoder, n_outputs = DECODERS[request.param]
    f = KernelExpansion(
        RBF(0.5), rng.normal(size=(9, 3)), rng.normal(size=(9, n_outputs)), rng.normal(scale=0.1, size=n_outputs)
    )
    task = "regression" if decoder.classes is None else "classification"
    return KernelModel(f, decoder, task, Scaling(np.array([0.1, 0.0, -0.2]), np.array([1.0, 2.0, 0.5])))


def same_library(got, rows) -> bool:
    return array_api_compat.array_namespace(got) is array_api_compat.array_namespace(rows)


@pytest.mark.parametrize("max_bytes", [None, 2000])
def test_answers_are_those_of_numpy_in_the_library_of_the_rows(model, backend, max_bytes, rng, assert_close):
    X = rng.normal(size=(60, 3))
    rows = backend.asarray(X)
    scores, labels = model.decision_function(rows, max_bytes), model.predict(rows, max_bytes)
    assert same_library(scores, rows)
    assert same_library(labels, rows)
    assert_close(scores, model.decision_function(X))
    if model.classes_ is None:
        assert_close(labels, model.predict(X))
    else:
        np.testing.assert_array_equal(to_numpy(labels), model.predict(X))


def test_rows_do_not_come_to_the_host(model, backend, rng, monkeypatch):
    if isinstance(model.decoder, Somebodys):
        pytest.skip("its decoder is NumPy's")
    rows = backend.asarray(rng.normal(size=(20, 3)))

    def refuse(a):
        raise AssertionError("an array came to the host")

    monkeypatch.setattr(arrays, "to_numpy", refuse)
    model.predict(rows)
    model.decision_function(rows)


def test_an_exact_zero_belongs_to_the_class_that_it_belongs_to(backend):
    for name, (decoder, n_outputs) in DECODERS.items():
        F = np.zeros((3, n_outputs))
        F[1] = -1.0
        F[2, ::2] = 1.0
        moved = backend.asarray(F)
        np.testing.assert_array_equal(to_numpy(elsewhere.labels_of(decoder, moved)), decoder.labels(F), err_msg=name)
        np.testing.assert_array_equal(to_numpy(elsewhere.scores_of(decoder, moved)), decoder.scores(F), err_msg=name)


def test_labels_of_text_are_numpy(backend, rng):
    f = KernelExpansion(RBF(0.5), rng.normal(size=(5, 3)), rng.normal(size=(5, 1)), np.zeros(1))
    model = KernelModel(f, Sign(np.array(["far", "near"])))
    X = rng.normal(size=(30, 3))
    labels = model.predict(backend.asarray(X))
    assert isinstance(labels, np.ndarray)
    np.testing.assert_array_equal(labels, model.predict(X))


def test_probabilities_go_back_to_the_device(backend, rng, assert_close):
    f = KernelExpansion(RBF(0.5), rng.normal(size=(5, 3)), rng.normal(size=(5, 1)), np.zeros(1))
    pairs = {"probA": np.array([-1.0]), "probB": np.array([0.2])}
    model = KernelModel(f, PairVote(np.array([0, 1])), probability=pairs)
    X = rng.normal(size=(30, 3))
    P = model.predict_proba(backend.asarray(X))
    assert same_library(P, backend.asarray(X))
    assert_close(P, model.predict_proba(X))


def test_vectors_cross_over_once_if_there_is_room(model, backend, rng, monkeypatch):
    rows, crossed = backend.asarray(rng.normal(size=(20, 3))), []
    real = elsewhere.here

    def count(a, like, dtype=None):
        crossed.append(a.shape)
        return real(a, like, dtype)

    monkeypatch.setattr(elsewhere, "here", count)
    model.decision_values(rows)
    model.decision_values(rows)
    assert crossed.count((9, 3)) == 1
    other = replace(model, expansion=replace(model.expansion))
    crossed.clear()
    other.decision_values(rows, max_bytes=800)  # less than four times the 216 bytes of vectors
    assert crossed.count((9, 3)) == 0
    assert sum(shape[0] for shape in crossed if shape[1:] == (3,)) >= 9


def test_sparse_vectors_answer_dense_rows(backend, rng, assert_close):
    V = sparse.csr_array(rng.normal(size=(6, 3)) * (rng.uniform(size=(6, 3)) < 0.5))
    f = KernelExpansion(RBF(0.5), V, rng.normal(size=(6, 1)), np.zeros(1))
    X = rng.normal(size=(10, 3))
    for max_bytes in (None, 300):
        f_again = replace(f)
        assert_close(f_again.decision_values(backend.asarray(X), max_bytes), f.decision_values(X))


def test_no_rows_get_no_answers(model, backend):
    rows = backend.asarray(np.zeros((0, 3)))
    assert model.predict(rows).shape[0] == 0
    assert model.decision_function(rows).shape == model.decision_function(np.zeros((0, 3))).shape


def test_rows_that_overflow_are_named(backend):
    from svmpress.kernels import Polynomial

    f = KernelExpansion(Polynomial(degree=9), np.ones((1, 1)), np.ones((1, 1)), np.zeros(1))
    model = KernelModel(f, Identity(), "regression")
    with pytest.raises(InputError, match="row 1 are too large"):
        model.predict(backend.asarray(np.array([[1.0], [1e300]])))
