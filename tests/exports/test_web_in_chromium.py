"""Web models in a browser: from a server and from a disk, with labels that try to break out of the page."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

from browsers import needs_chromium, open_page, serving, text_of
from svmpress.decoders import PairVote, Sign
from svmpress.exports import export_web, web_script
from svmpress.kernels import RBF
from svmpress.model import KernelExpansion, KernelModel

ROWS = 10_000
NASTY = np.array(['it\'s "q" <b>&amp;</b></script><!--<script>', "ünï\u2028cödé 漢字 \\n", "</SCRIPT >`${0}`"])
pytestmark = needs_chromium

ASK = """
const text = {rows};
const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const rows = new Float64Array(bytes.buffer);
const values = model.decisionValues(rows).map((row) => [...row]);
document.querySelector("pre").textContent = JSON.stringify([model.engine, model.predict(rows), values]);
"""


@pytest.fixture
def model(rng):
    f = KernelExpansion(RBF(0.4), rng.normal(size=(30, 6)), rng.normal(size=(30, 3)), rng.normal(size=3) / 5)
    return KernelModel(f, PairVote(NASTY))


@pytest.fixture
def X(rng):
    return rng.normal(size=(ROWS, 6))


def question(X):
    return ASK.replace("{rows}", json.dumps(base64.b64encode(X.astype("<f8").tobytes()).decode()))


def assert_answered(document, model, X, engine, assert_close):
    found, labels, values = json.loads(text_of(document, "pre"))
    assert found == engine
    assert_close(np.array(values), model.decision_values(X), dtype="float32")
    np.testing.assert_array_equal(labels, model.predict(X))


def test_a_module_from_a_server(model, X, tmp_path, assert_close):
    export_web(model, tmp_path / "web")
    script = f'import model from "./web/model.js";{question(X)}'
    (tmp_path / "page.html").write_text(f'<!doctype html><pre></pre><script type="module">{script}</script>')
    with serving(tmp_path) as address:
        assert_answered(open_page(f"{address}/page.html"), model, X, "wasm", assert_close)


@pytest.mark.parametrize("engine", ["wasm", "javascript"])
def test_a_script_from_a_disk(engine, model, X, tmp_path, assert_close):
    """A policy against compiling, as many sites have it, leaves plain JavaScript."""
    policy = "default-src 'unsafe-inline'"
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">' if engine == "javascript" else ""
    page = f'<!doctype html><meta charset="latin-1">{head}<pre></pre><script>{web_script(model)}{question(X)}</script>'
    (tmp_path / "page.html").write_text(page, encoding="ascii")
    document = open_page((tmp_path / "page.html").as_uri())
    assert_answered(document, model, X, engine, assert_close)


def test_the_page_that_tries_the_model_from_a_disk(model, tmp_path):
    export_web(model, tmp_path / "web")
    text = (tmp_path / "web" / "index.html").read_text()
    assert text.lower().count("</script") == 1
    output = text_of(open_page((tmp_path / "web" / "index.html").as_uri()), "output")
    (label,) = model.predict(np.zeros((1, 6)))
    assert output.startswith(f"{label}\n\n")
    assert output.endswith("computed by wasm")


def test_a_page_with_two_models(model, tmp_path, rng):
    other = KernelModel(
        KernelExpansion(RBF(1.0), rng.normal(size=(3, 2)), np.ones((3, 1)), np.zeros(1)), Sign(np.array([4, 5]))
    )
    ask = (
        "document.querySelector('pre').textContent = first.predict(new Array(6).fill(0))[0] + second.predict([0, 0])[0]"
    )
    page = f"<pre></pre><script>{web_script(model, 'first')}{web_script(other, 'second')}{ask}</script>"
    (tmp_path / "page.html").write_text(page)
    text = text_of(open_page((tmp_path / "page.html").as_uri()), "pre")
    assert text == f"{model.predict(np.zeros((1, 6)))[0]}{other.predict(np.zeros((1, 2)))[0]}"
