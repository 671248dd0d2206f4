"""Models as layers of torch: the same answers, derivatives, a state, and what torch.export makes of them."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest

import svmpress
from svmpress.decoders import Argmax, Decoder, Identity, PairDAG, PairVote, Sign
from svmpress.errors import InputError
from svmpress.exports import layer as layers
from svmpress.kernels import KERNELS, kernel_by_name
from svmpress.model import KernelExpansion, KernelModel, Scaling
from svmpress.numerics import to_numpy

pytestmark = pytest.mark.torch

CLASSES = np.array(["d", "a", "c", "b"])
DECODERS: list[tuple[Decoder, int]] = [
    (Identity(), 1),
    (Identity(), 2),
    (Sign(CLASSES[:2]), 1),
    (Argmax(CLASSES), 4),
    (PairVote(CLASSES), 6),
    (PairVote(CLASSES, break_ties=True), 6),
    (PairVote(CLASSES, shape="ovo"), 6),
    (PairDAG(CLASSES), 6),
]


def a_model(rng, kernel="rbf", decoder=DECODERS[4], dtype="float64", scaling=None, mask=None) -> KernelModel:
    reader, M = decoder
    parts = (rng.uniform(0.1, 1, size=(7, 3)), rng.normal(size=(7, M)), rng.normal(scale=0.1, size=M))
    V, A, b = (a.astype(dtype) for a in parts)
    A = A if mask is None else np.where(mask, A, 0)
    f = KernelExpansion(kernel_by_name(kernel, gamma=0.7, coef0=0.3, degree=3), V, A, b, mask)
    return KernelModel(f, reader, "regression" if reader.classes is None else "classification", scaling)


def test_every_kernel_has_a_formula():
    assert set(layers.FORMULAS) == set(KERNELS)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_values_are_those_of_the_model(kernel, dtype, rng, assert_close):
    import torch

    model = a_model(rng, kernel, dtype=dtype)
    X = rng.uniform(0, 2, size=(20, 3)).astype(dtype)
    got = svmpress.to_torch(model, "values")(torch.tensor(X))
    assert got.dtype == getattr(torch, dtype)
    assert_close(got, model.decision_values(X))


@pytest.mark.parametrize("decoder", DECODERS, ids=lambda d: f"{type(d[0]).__name__}{d[1]}")
def test_scores_and_labels_are_those_of_the_model(decoder, rng, assert_close):
    import torch

    scaling = Scaling(np.array([0.1, 0.2, 0.0]), np.array([2.0, 1.0, 0.5]))
    model = a_model(rng, decoder=decoder, scaling=scaling)
    X = rng.uniform(0, 2, size=(50, 3))
    assert_close(svmpress.to_torch(model)(torch.tensor(X)), model.decision_function(X))
    layer = svmpress.to_torch(model, "labels")
    got = layer(torch.tensor(X))
    if model.classes_ is None:
        assert_close(got, model.predict(X))
    else:
        assert got.dtype == torch.int64
        np.testing.assert_array_equal(layer.classes_[to_numpy(got)], model.predict(X))


@pytest.mark.parametrize("kernel", KERNELS)
def test_derivatives_are_those_of_finite_differences(kernel, rng):
    import torch

    layer = svmpress.to_torch(a_model(rng, kernel), "values")
    x = torch.tensor(rng.uniform(0.2, 2, size=(4, 3)), requires_grad=True)
    names, values = zip(*layer.named_parameters(), strict=True)

    def at(x, *values):
        return torch.func.functional_call(layer, dict(zip(names, values, strict=True)), (x,))

    assert torch.autograd.gradcheck(at, (x, *values))
    assert ("gamma" in names) == (kernel != "linear")


@pytest.mark.parametrize("kernel", KERNELS)
def test_what_torch_exports_answers_alike_for_any_number_of_rows(kernel, rng, assert_close):
    import torch

    model = a_model(rng, kernel, scaling=Scaling(None, np.array([2.0, 1.0, 0.5])))
    X = rng.uniform(0, 2, size=(31, 3))
    assert_close(through_export(svmpress.to_torch(model), X[:8])(torch.tensor(X)), model.decision_function(X))


@pytest.mark.parametrize("decoder", DECODERS, ids=lambda d: f"{type(d[0]).__name__}{d[1]}")
def test_decoders_are_exported_too(decoder, rng):
    import torch

    model = a_model(rng, decoder=decoder)
    X = rng.uniform(0, 2, size=(31, 3))
    got = to_numpy(through_export(svmpress.to_torch(model, "labels"), X[:8])(torch.tensor(X)))
    if model.classes_ is None:
        np.testing.assert_allclose(got, model.predict(X))
    else:
        np.testing.assert_array_equal(model.classes_[got], model.predict(X))


def through_export(layer, X):
    """Export a layer, write what comes out to a file, and read it back."""
    import torch

    program = torch.export.export(layer, (torch.tensor(X),), dynamic_shapes=({0: torch.export.Dim("rows")},))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    return torch.export.load(file).module()


def test_the_state_goes_to_another_layer_and_back_to_a_model(rng, assert_close):
    import torch

    scaling = Scaling(np.array([0.1, 0.2, 0.0]), np.array([2.0, 1.0, 0.5]))
    one, other = a_model(rng, scaling=scaling), a_model(rng, scaling=Scaling(scaling.shift, scaling.factor + 1))
    layer = svmpress.to_torch(other)
    state = svmpress.to_torch(one).state_dict()
    assert set(state) == {"vectors", "coef", "intercept", "gamma", "shift", "factor"}
    layer.load_state_dict(state)
    X = rng.normal(size=(9, 3))
    assert_close(layer(torch.tensor(X)), one.decision_function(X))
    assert_close(replace(layer.to_model(), scaling=scaling).decision_values(X), one.decision_values(X))


def test_a_layer_that_is_tuned_becomes_a_better_model(rng):
    import torch

    model = a_model(rng, decoder=(Sign(np.array([0, 1])), 1))
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] > 0).astype(np.float64)
    layer = svmpress.to_torch(model)
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.05)
    for _ in range(100):
        optimiser.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(layer(torch.tensor(X)), torch.tensor(y)).backward()
        optimiser.step()
    tuned = layer.to_model()
    assert np.mean(tuned.predict(X) == y) > 0.95 > np.mean(model.predict(X) == y)
    np.testing.assert_allclose(tuned.decision_function(X), to_numpy(layer(torch.tensor(X))), rtol=1e-9, atol=1e-9)


def test_coefficients_outside_the_mask_stay_zero(rng):
    import torch

    mask = rng.uniform(size=(7, 6)) < 0.5
    layer = svmpress.to_torch(a_model(rng, mask=mask), "values")
    with torch.no_grad():
        layer.coef += 1.0
    model = layer.to_model()
    assert not model.expansion.coef[~mask].any()
    X = rng.normal(size=(5, 3))
    np.testing.assert_allclose(model.decision_values(X), to_numpy(layer(torch.tensor(X))))


def test_a_whole_layer_is_saved_and_read_back(rng):
    import torch

    layer, file = svmpress.to_torch(a_model(rng)), io.BytesIO()
    torch.save(layer, file)
    file.seek(0)
    again = torch.load(file, weights_only=False)
    x = torch.tensor(rng.normal(size=(5, 3)))
    assert torch.equal(again(x), layer(x))


def test_other_answers_and_other_kernels_are_refused(rng, monkeypatch):
    model = a_model(rng)
    with pytest.raises(InputError, match="scores, labels or values"):
        svmpress.to_torch(model, "probabilities")
    monkeypatch.delitem(layers.FORMULAS, "rbf")
    with pytest.raises(InputError, match="no formula in torch for the rbf kernel"):
        svmpress.to_torch(model)
