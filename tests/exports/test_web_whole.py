"""Web models in whole numbers, run by node: they answer as the emulator does, bit for bit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import svmpress
from browsers import needs_node, run_node
from c_models import MODELS, binary, classifier, digit_rows, digits
from svmpress.decoders import PairVote
from svmpress.errors import FormatError
from svmpress.exports import export_web, web_module
from svmpress.kernels import Linear, Polynomial
from svmpress.model import KernelExpansion, KernelModel

ROWS = 10_000
ENGINES = ["wasm", "javascript"]
KINDS = [("int4", "int8"), ("int8", "int16"), ("int16", "int16")]
HERE = Path(__file__).parent


def assert_same_answers(q, X, folder, engine):
    """Compare labels, values and scores with the emulator's."""
    export_web(q, folder / "model.mjs")
    np.ascontiguousarray(X, dtype="<f8").tofile(folder / "rows")
    found = json.loads(run_node(HERE / "answers.mjs", folder / "model.mjs", folder / "rows", engine))
    assert found["engine"] == engine
    assert found["probabilities"] is None
    np.testing.assert_array_equal(np.array(found["labels"]), q.predict(X))
    np.testing.assert_array_equal(np.array(found["values"]), q.decision_values(X))
    np.testing.assert_allclose(np.array(found["scores"]), q.decision_function(X), rtol=1e-15, atol=1e-15)


def rows_around(X, rng, n=ROWS):
    """Return rows within the range of X, and some far outside, which are cut."""
    low, high = X.min(axis=0), X.max(axis=0)
    rows = rng.uniform(low - (high - low) / 4, high + (high - low) / 4, size=(n, X.shape[1]))
    rows[::50] *= rng.choice([-1e3, 30, 1e30], size=(len(rows[::50]), 1))
    rows[:: n - 1, 0] = [-1e300, 1e300]
    return rows


@needs_node
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", MODELS)
def test_every_model(name, engine, tmp_path, rng):
    model, X = MODELS[name]()
    weights, coef = KINDS[list(MODELS).index(name) % len(KINDS)]
    q = svmpress.quantize(model, X, weights=weights, coef=coef)
    assert_same_answers(q, rows_around(X, rng), tmp_path, engine)


@needs_node
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("weights", "coef"), KINDS)
def test_every_kind_of_numbers(weights, coef, engine, tmp_path, rng):
    model, X = MODELS["ties"]()
    q = svmpress.quantize(model, X, weights=weights, coef=coef)
    assert_same_answers(q, rows_around(X, rng), tmp_path, engine)


@needs_node
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "choices",
    [
        {"weights": "int8"},
        {"weights": "int4", "coef": "int8"},
        {"weights": "int4", "image": (8, 8), "pool": 2},
        {"weights": "int16", "image": (8, 8), "pool": 4},
    ],
    ids=str,
)
def test_bytes_and_images(choices, engine, tmp_path, rng):
    X, _ = digit_rows()
    q = svmpress.quantize(digits(13), X[:300], input="uint8", **choices)
    rows = np.vstack([X, rng.integers(0, 256, size=(1000, 64))])
    assert_same_answers(q, rows, tmp_path, engine)


@needs_node
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("m", "d", "M"), [(1, 1, 1), (4, 3, 3), (7, 8, 10), (9, 784, 6)])
def test_every_shape(m, d, M, engine, tmp_path, rng):
    """Vectors, features and outputs that fill their panels, and that do not; few rows and many."""
    f = KernelExpansion(svmpress.RBF(0.3 / d), rng.normal(size=(m, d)), rng.normal(size=(m, M)), rng.normal(size=M))
    model = KernelModel(f, svmpress.Identity(), "regression")
    for n in (1, 71):
        q = svmpress.quantize(model, rng.normal(size=(50, d)))
        assert_same_answers(q, rng.normal(size=(n, d)), tmp_path, engine)


@needs_node
@pytest.mark.parametrize("engine", ENGINES)
def test_sums_of_more_than_32_bits(engine, tmp_path, rng):
    f = KernelExpansion(svmpress.RBF(0.1), rng.normal(size=(300, 6)), rng.uniform(0.9, 1, size=(300, 2)), np.zeros(2))
    q = svmpress.quantize(KernelModel(f, svmpress.Identity(), "regression"))
    assert q.sum_bits == 64
    X = rng.normal(size=(500, 6)) / 4
    assert np.abs(q.integer_values(X)).max() > 2**31
    assert_same_answers(q, X, tmp_path, engine)


@needs_node
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(0.5, 2.0, 3)])
def test_projections_beyond_all_that_were_seen(kernel, engine, tmp_path, rng):
    f = KernelExpansion(kernel, rng.uniform(0.5, 1, size=(9, 6)), rng.uniform(0, 0.1, size=(9, 1)), np.zeros(1))
    X = rng.uniform(0, 1, size=(200, 6)) * np.eye(6)[rng.integers(0, 6, 200)]
    q = svmpress.quantize(KernelModel(f, svmpress.Identity(), "regression"), X)
    far = np.vstack([rng.uniform(-3, 3, size=(2000, 6)), np.full((1, 6), 1e9)])
    assert np.abs(q.kernel_values(far)).max() > 32760  # cut
    assert_same_answers(q, far, tmp_path, engine)


@needs_node
def test_what_is_refused(tmp_path):
    X, _ = digit_rows()
    export_web(svmpress.quantize(digits(), X[:300], input="uint8"), tmp_path / "bytes.mjs")
    export_web(svmpress.quantize(binary(), X=MODELS["binary"]()[1]), tmp_path / "floats.mjs")
    script = tmp_path / "calls.mjs"
    script.write_text("""
        import * as bytes from "./bytes.mjs";
        import * as floats from "./floats.mjs";
        const image = new Array(64).fill(0);
        const calls = [() => bytes.predict(image.with(3, 0.5)), () => bytes.predict(image.with(63, 256)),
          () => bytes.predict(image.with(0, "7")), () => floats.predict([[1, 2, 3, NaN]]), () => floats.predict([1])];
        console.log(JSON.stringify(calls.map((call) => { try { return call(); } catch (e) { return e.message; } })));
    """)
    messages = json.loads(run_node(script))
    assert "row 0, feature 3 is 0.5; features are whole numbers from 0 to 255" in messages[0]
    assert "feature 63 is 256" in messages[1]
    assert 'feature 0 is "7"' in messages[2]
    assert "row 0, feature 3 is NaN; features are finite numbers" in messages[3]
    assert "no whole number of rows" in messages[4]


def test_how_much_smaller_it_is():
    """Of 100 vectors of 64 features and 45 outputs in float32: 8 bits a fourth of the bytes, 4 bits an eighth."""
    X, _ = digit_rows()
    whole = {
        w: svmpress.quantize(digits(100), X[:300], weights=w, coef="int8", input="uint8") for w in ("int8", "int4")
    }
    sizes = {"float": len(web_module(digits(100))), **{w: len(web_module(q)) for w, q in whole.items()}}
    overhead = len(web_module(whole["int8"])) - 4 / 3 * whole["int8"].number_bytes
    assert overhead < 22_000
    assert sizes["int8"] < 0.52 * sizes["float"]
    assert sizes["int4"] < 0.45 * sizes["float"]


def test_labels_that_javascript_has_not(tmp_path):
    model = classifier(lambda c: PairVote(np.array([1, "b", 2], dtype=object)))
    q = svmpress.quantize(model, MODELS["votes"]()[1])
    with pytest.raises(FormatError, match="labels are of mixed types, number and string"):
        export_web(q, tmp_path / "m.js")
    assert list(tmp_path.iterdir()) == []
