"""What a web model consists of, what it refuses, and that its WebAssembly is what its C source compiles to."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import svmpress
from browsers import needs_node, run_node
from svmpress.decoders import Argmax, Identity, Sign
from svmpress.errors import FormatError, InputError
from svmpress.exports import export_web, obstacles, web_module, web_script
from svmpress.kernels import RBF, ChiSquared
from svmpress.model import KernelExpansion, KernelModel

ROOT = Path(__file__).parents[2]
FILES = ["model.js", "model.d.ts", "index.html", "package.json"]
PROGRAMS = ("values.wasm", "whole.wasm")
CLANG = "14.0.6"
"""Of the compiler that built the module that is committed."""


def model_of(classes=(0, 1), *, kernel=None, vectors=None, coef=1.0, probability=None):
    V = np.array([[0.0, 1.0], [1.0, 0.0]]) if vectors is None else vectors
    f = KernelExpansion(kernel or RBF(1.0), V, np.full((V.shape[0], 1), coef), np.array([-0.5]))
    labels = np.array(classes, dtype=object if len({type(c) for c in classes}) > 1 else None)
    return KernelModel(f, Sign(labels), probability=probability or {})


# ---------------------------------------------------------------------------------------------------------
# The program in WebAssembly
# ---------------------------------------------------------------------------------------------------------


def has_clang() -> bool:
    tools = [shutil.which(name) for name in ("clang", "wasm-ld", "make")]
    if not all(tools):
        return False
    versions = [subprocess.run([tool, "--version"], capture_output=True, text=True, check=True) for tool in tools[:2]]
    return all(re.search(rf"\b{re.escape(CLANG)}\b", version.stdout) for version in versions)


@pytest.mark.skipif(not has_clang(), reason=f"clang, wasm-ld {CLANG} and make are not installed here")
def test_the_modules_are_what_their_sources_compile_to(tmp_path):
    subprocess.run(["make", "-s", "wasm", f"WASM={tmp_path}"], cwd=ROOT, check=True)
    source = ROOT / "src" / "svmpress" / "exports" / "web"
    for name in PROGRAMS:
        assert (tmp_path / name).read_bytes() == (source / name).read_bytes()


def test_the_modules_are_small_and_installed():
    modules = [(resources.files("svmpress.exports.web") / name).read_bytes() for name in PROGRAMS]
    for module in modules:
        assert module[:8] == b"\0asm\1\0\0\0"
        assert len(module) <= 4096  # so that all browsers compile it at once
    assert sum(map(len, modules)) <= 6000


# ---------------------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------------------


def test_a_folder(tmp_path):
    files = export_web(model_of(), tmp_path / "web")
    assert [f.name for f in files] == FILES
    assert sorted(p.name for p in (tmp_path / "web").iterdir()) == sorted(FILES)
    before = {f: f.read_bytes() for f in files}
    export_web(model_of(), tmp_path / "web")
    assert before == {f: f.read_bytes() for f in files}, "the same model is the same files"
    assert before[files[0]].decode() == web_module(model_of())
    assert json.loads(before[files[3]])["type"] == "module"
    assert all(content.isascii() for content in before.values())


@pytest.mark.parametrize(("name", "types"), [("digits.js", "digits.d.ts"), ("a.mjs", "a.d.mts")])
def test_a_file(tmp_path, name, types):
    assert export_web(model_of(), tmp_path / name) == (tmp_path / name, tmp_path / types)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([name, types])


def test_what_stands_in_a_folder_is_left_alone(tmp_path):
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds other things, such as 'thesis\.txt'"):
        export_web(model_of(), tmp_path / "web")
    assert [p.name for p in tmp_path.rglob("*")] == ["web", "thesis.txt"]


def test_types_name_the_labels(tmp_path):
    def types(model):
        export_web(model, tmp_path / "m.js")
        return (tmp_path / "m.d.ts").read_text()

    text = types(model_of(["no", 'a "quoted" </script>']))
    assert r'export type Label = "no" | "a \"quoted\" \u003c/script\u003e";' in text
    assert "decisionFunction(rows: Rows): Float64Array;" in text
    assert "predictProba" not in text
    calibrated = types(model_of(probability={"probA": np.array([-2.0]), "probB": np.array([0.1])}))
    assert "export type Label = 0 | 1;" in calibrated
    assert 'export const predictProba: Model["predictProba"];' in calibrated
    f = model_of().expansion
    assert "predict(rows: Rows): Float64Array;" in types(KernelModel(f, Identity(), "regression"))


def test_names_of_constants():
    assert "\nconst $a_1 = (() => {" in web_script(model_of(), "$a_1")
    for name in ("1a", "a-b", "", "a b", "x;alert(1)", "ü"):
        with pytest.raises(InputError, match="is no name for a constant"):
            web_script(model_of(), name)


def test_the_public_name_and_estimators(tmp_path):
    from sklearn.svm import SVC

    svmpress.export_web(SVC().fit([[0.0], [1.0], [2.0]], ["a", "b", "b"]), tmp_path / "web")
    assert '"classes": ["a", "b"]' in (tmp_path / "web" / "model.js").read_text()


# ---------------------------------------------------------------------------------------------------------
# What cannot be held
# ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cauchy(ChiSquared):
    name = "cauchy"


class Strange(Argmax):
    """A decoder that JavaScript has never heard of."""


OBSTACLES = {
    "kernel": (model_of(kernel=Cauchy(1.0)), "the browser has no cauchy kernel"),
    "mixed labels": (model_of([1, "b"]), "mixed types, number and string"),
    "mixed with booleans": (model_of([True, 2]), "mixed types, boolean and number"),
    "bytes": (model_of([b"a", b"b"]), "of type bytes"),
    "no label": (model_of(["a", None]), "of type NoneType"),
    "large integers": (model_of([1, 2**60]), "beyond 2\\^53"),
    "infinite labels": (model_of([1.0, np.inf]), "beyond 2\\^53"),
    "size": (model_of(vectors=sparse.csr_array((3, 20_000_000))), "its numbers are 229 MiB.*at most 128"),
    "range": (model_of(coef=1e300), "numbers of its coef are beyond float32"),
}


@pytest.mark.parametrize("what", OBSTACLES)
def test_obstacles_are_said_before_anything_is_written(what, tmp_path):
    model, sentence = OBSTACLES[what]
    assert len(obstacles(model, "web")) == 1
    for path in (tmp_path / "web", tmp_path / "m.js"):
        with pytest.raises(FormatError, match=sentence):
            export_web(model, path)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_decoder():
    f = KernelExpansion(RBF(1.0), np.zeros((1, 2)), np.ones((1, 2)), np.zeros(2))
    (sentence,) = obstacles(KernelModel(f, Strange(np.array([0, 1]))), "web")
    assert sentence.startswith("the browser has no decoder Strange; it has Identity, Sign,")


def test_no_obstacles():
    assert obstacles(model_of(["a", "b"]), "web") == []
    assert "float64" in web_module(model_of(coef=1e300), dtype="float64")


def test_unknown_targets_and_precisions():
    with pytest.raises(InputError, match="unknown target 'fortran'; svmpress exports to web, c"):
        obstacles(model_of(), "fortran")
    with pytest.raises(InputError, match="float32 or float64, not 'float16'"):
        web_module(model_of(), dtype="float16")


# ---------------------------------------------------------------------------------------------------------
# What the module refuses, and which rows it takes
# ---------------------------------------------------------------------------------------------------------

BAD_ROWS = {
    "null": "this is null",
    "undefined": "this is undefined",
    "'1,2'": "this is string",
    "({0: 1, length: 2})": "this is object",
    "[1, 2, 3]": "3 numbers are no whole number of rows of 2",
    "[[1, 2], [1]]": "row 1 has 1 numbers; the model needs 2",
    "[[1, 2], [1, 2, 3]]": "row 1 has 3 numbers; the model needs 2",
    "[[1, 2], 5]": "row 1 is no array",
    "[[1, 2], [1, NaN]]": "row 1, feature 1 is NaN",
    "[1, 2, Infinity, 0]": "row 1, feature 0 is Infinity",
    "[[1, null]]": "row 0, feature 1 is null",
    "[[, 1]]": "row 0, feature 0 is undefined",
    "[['1', 2]]": 'row 0, feature 0 is "1"',
    "new BigInt64Array(2)": "row 0, feature 0 is 0",
    "[[1e300, 2]]": "row 0, feature 0 is 1e+300; features are finite numbers that",
    "new DataView(new ArrayBuffer(16))": "this is object",
}


@needs_node
def test_bad_rows(tmp_path):
    export_web(model_of(), tmp_path / "web")
    lines = [f"() => model.predict({rows})" for rows in BAD_ROWS]
    found = caught(tmp_path / "web" / "model.js", lines, tmp_path)
    for rows, message in zip(BAD_ROWS, found, strict=True):
        assert BAD_ROWS[rows] in message, rows


def caught(module: Path, calls: list[str], folder: Path) -> list[str]:
    """Return the messages of the errors of some calls."""
    script = folder / "calls.mjs"
    tried = ",\n".join(calls)
    script.write_text(
        f'import model from "{module.as_uri()}";\nconst tried = [{tried}];\n'
        "console.log(JSON.stringify(tried.map((call) => {"
        "try { return String(call()); } catch (e) { return `${e instanceof Error} ${e.message}`; }})));"
    )
    found = json.loads(run_node(script))
    assert all(message.startswith("true ") for message in found), found
    return found


@needs_node
def test_negative_features_of_the_chi_squared_kernel_and_overflow(tmp_path):
    export_web(model_of(kernel=ChiSquared(1.0)), tmp_path / "chi.mjs")
    (found,) = caught(tmp_path / "chi.mjs", ["() => model.predict([[1, 0], [1, -1]])"], tmp_path)
    assert "row 1 has a negative feature" in found
    export_web(model_of(kernel=svmpress.Polynomial(1.0, 0.0, 9)), tmp_path / "poly.mjs")
    (found,) = caught(tmp_path / "poly.mjs", ["() => model.predict([[1e30, 1]])"], tmp_path)
    assert "row 0: the decision values overflow" in found


@needs_node
def test_rows_come_in_many_shapes(tmp_path):
    f = KernelExpansion(RBF(1.0), np.eye(2), np.eye(2), np.zeros(2))
    export_web(KernelModel(f, Argmax(np.array(["x", "y"]))), tmp_path / "m.mjs")
    export_web(model_of(), tmp_path / "sign.mjs")
    script = tmp_path / "shapes.mjs"
    script.write_text("""
        import { predict, decisionFunction, classes } from "./m.mjs";
        import * as sign from "./sign.mjs";
        const shapes = [[[1, 0], [0, 1]], [1, 0, 0, 1], Float32Array.of(1, 0, 0, 1), Int8Array.of(1, 0, 0, 1),
          [Float32Array.of(1, 0), [0, 1]], [Uint8Array.of(1, 0), Float64Array.of(0, 1)]];
        console.log(JSON.stringify([shapes.map(predict), predict([]), predict(new Float32Array(0)), predict([0, 1]),
          classes, Object.isFrozen(classes), decisionFunction([[1, 0]])[0] instanceof Float64Array,
          sign.decisionFunction([1, 0, 0, 1]) instanceof Float64Array, sign.predictProba === undefined,
          typeof sign.default.predictProba, sign.default.nVectors, sign.default.nFeatures, sign.default.task]));
    """)
    both = ["x", "y"]
    assert json.loads(run_node(script)) == [
        *([both] * 6, [], [], ["y"], both, True, True, True, True, "undefined", 2, 2, "classification")
    ]
