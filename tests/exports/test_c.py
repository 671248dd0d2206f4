"""Exported C code: it compiles without a warning as C99 and C++, and its answers are the emulator's, bit for bit."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import svmpress
from c_models import COMPILERS, MODELS, SANITISED, binary, classifier, compile_and_run, digit_rows, digits
from svmpress.errors import InputError
from svmpress.exports import obstacles
from svmpress.exports.c.layout import renamed
from svmpress.kernels import RBF, ChiSquared, Laplacian, Linear, Polynomial, Sigmoid
from svmpress.model import KernelExpansion

needs = {
    name: pytest.mark.skipif(shutil.which(name) is None, reason=f"the compiler {name} is not installed")
    for name in COMPILERS
}
compilers = pytest.mark.parametrize("compiler", [pytest.param(c, marks=needs[c]) for c in COMPILERS])


def check(folder, compiler, *more):
    done = compile_and_run(folder, compiler, *more)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.fullmatch(r"(\d+) of \1 rows are answered as expected\n", done.stdout)


@needs["gcc"]
@pytest.mark.parametrize("weights", ["int4", "int8", "int16", "float"])
@pytest.mark.parametrize("name", list(MODELS))
def test_every_model_in_every_kind_of_numbers(name, weights, tmp_path):
    model, X = MODELS[name]()
    coef = "int8" if weights == "int4" else "int16"
    done = svmpress.export_c(model, tmp_path / "c", X[::9], weights=weights, coef=coef)
    check(done.folder, "gcc", *SANITISED)


@compilers
@pytest.mark.parametrize("weights", ["int4", "int8", "float"])
def test_every_compiler(compiler, weights, tmp_path):
    svmpress.export_c(classifier(), tmp_path / "c", load_iris().data[::9], weights=weights)
    check(tmp_path / "c", compiler, *SANITISED)


@compilers
@pytest.mark.parametrize("name", ["linear", "poly"])
def test_other_kernels_in_floats_please_every_compiler(name, compiler, tmp_path):
    """Clang warns of an assignment of a variable to itself, which the linear kernel was."""
    model, X = MODELS[name]()
    svmpress.export_c(model, tmp_path / "c", X[::9], weights="float")
    check(tmp_path / "c", compiler, *SANITISED)


@needs["gcc"]
@pytest.mark.parametrize(
    "choices",
    [
        {"weights": "int8"},
        {"weights": "int4", "coef": "int8"},
        {"weights": "int16"},
        {"weights": "float"},
        {"weights": "int4", "image": (8, 8), "pool": 2},
        {"weights": "int8", "image": (8, 8), "pool": 4},
        {"weights": "int16", "image": (8, 8), "pool": 2},
    ],
    ids=str,
)
def test_bytes_and_images(choices, tmp_path):
    X, _ = digit_rows()
    done = svmpress.export_c(digits(), tmp_path / "c", X[:300], input="uint8", **choices)
    check(done.folder, "gcc", *SANITISED)
    assert "typedef uint8_t svm_input" in (tmp_path / "c" / "svm.h").read_text()


@needs["gcc"]
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(0.5, 2.0, 3), Polynomial(0.5, -2.0, 3)])
def test_projections_far_beyond_all_that_were_seen(kernel, tmp_path, rng):
    """Products of 32 bits are cut before they overflow, as the emulator cuts them in 64."""
    f = KernelExpansion(kernel, rng.uniform(0.5, 1, size=(9, 16)), rng.uniform(0, 0.1, size=(9, 1)), np.zeros(1))
    seen = rng.uniform(0, 1, size=(200, 16)) * np.eye(16)[rng.integers(0, 16, 200)]
    q = svmpress.quantize(svmpress.KernelModel(f, svmpress.Identity(), "regression"), seen)
    least, most = q.stage.ends
    assert (least * q.stage.factor + q.stage.add) >> q.stage.shift <= -32767
    assert (most * q.stage.factor + q.stage.add) >> q.stage.shift >= 32767
    svmpress.export_c(q, tmp_path / "c", np.vstack([np.ones((4, 16)), -np.ones((4, 16))]))
    check(tmp_path / "c", "gcc", *SANITISED)


@needs["gcc"]
def test_an_answer_that_is_not_expected_is_found(tmp_path):
    svmpress.export_c(classifier(), tmp_path / "c", load_iris().data)
    path = tmp_path / "c" / "selftest.c"
    text = path.read_text()
    start = text.index("answers[ROWS]")
    number = re.search(r"\{\s*(-?\d+)", text[start:])
    at = start + number.start(1)
    path.write_text(text[:at] + str(int(number[1]) + 1) + text[at + len(number[1]) :])
    done = compile_and_run(tmp_path / "c", "gcc")
    assert (done.returncode, done.stdout) == (1, "7 of 8 rows are answered as expected\n")


@needs["gcc"]
@pytest.mark.parametrize("kernel", [Laplacian(0.3), ChiSquared(0.3), Sigmoid(0.1, 0.2)], ids=str)
def test_floats_hold_kernels_that_whole_numbers_do_not(kernel, tmp_path):
    X, y = load_iris(return_X_y=True)
    e = svmpress.from_estimator(SVC(gamma=0.1).fit(X, y))
    model = replace(e, expansion=replace(e.expansion, kernel=kernel))
    assert "use weights=" in obstacles(model, "c")[0]
    with pytest.raises(InputError, match=f"not {kernel.name}: use weights=.float"):
        svmpress.export_c(model, tmp_path / "c", X)
    assert not (tmp_path / "c").exists()
    svmpress.export_c(model, tmp_path / "c", X, weights="float")
    check(tmp_path / "c", "gcc", *SANITISED)


@needs["gcc"]
def test_two_models_live_in_one_program(tmp_path):
    X, _ = load_iris(return_X_y=True)
    for prefix in ("near", "far2"):
        done = svmpress.export_c(classifier(), tmp_path / prefix, X, prefix=prefix)
        assert set(done.files) == {"README.md", f"{prefix}.c", f"{prefix}.h", f"{prefix}.ino", "selftest.c"}
        assert "svm_" not in (tmp_path / prefix / f"{prefix}.c").read_text()
    for name in ("far2.c", "far2.h"):
        shutil.copy(tmp_path / "far2" / name, tmp_path / "near")
    check(tmp_path / "near", "gcc")


def test_names_of_classes_become_constants_and_strings(tmp_path):
    svmpress.export_c(binary(), tmp_path / "c")
    header = (tmp_path / "c" / "svm.h").read_text()
    assert '#define SVM_LABELS {"v\\"9\\\\\\303\\251", "versi color"}' in header
    assert re.search(r"SVM_IS_V_9 = 0,\s+SVM_IS_VERSI_COLOR = 1", header)


def test_bad_input(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = classifier()
    for wrong, match in [
        ({"weights": "int3"}, "unknown weights"),
        ({"coef": "int4"}, "unknown coef"),
        ({"prefix": "2svm"}, "the prefix must be"),
        ({"prefix": "int"}, "the prefix must be"),
        ({"max_flash": 20}, "compress"),
        ({"pool": 2}, "pool needs image"),
        ({"image": (3, 4)}, "neither"),
        ({"image": (2, 2), "pool": 3}, "no whole number"),
        ({"image": (2, 2), "pool": 2}, "pooling is for images of bytes"),
        ({"input": "uint8", "X": X}, "whole numbers from 0 to 255"),
        ({"y": y}, "y was given without X"),
        ({"X": X, "y": y[:-1]}, "y must be 150 labels"),
        ({"X": X, "y": y + 1}, "does not know"),
        ({"X": X[:, :2]}, "features"),
        ({"augment": -1}, "augment must be"),
        ({"augment": 1}, "augment needs image"),
        ({"image": 28}, "image must be"),
    ]:
        with pytest.raises(InputError, match=match):
            svmpress.export_c(model, tmp_path / "c", **wrong)
    assert list(tmp_path.iterdir()) == []
    empty = KernelExpansion(RBF(1.0), np.zeros((0, 4)), np.zeros((0, 3)), np.zeros(3))
    assert obstacles(replace(model, expansion=empty), "c") == ["the model has no vectors"]


def test_a_folder_that_holds_other_things_is_left_alone(tmp_path):
    target = tmp_path / "c"
    svmpress.export_c(classifier(), target)
    svmpress.export_c(classifier(), target)
    (target / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds other things, such as 'notes.txt'"):
        svmpress.export_c(classifier(), target)
    assert (target / "notes.txt").read_text() == "mine"


def test_prefixes_reach_every_name():
    assert renamed('#include "svm.h" SVM_X svm_y @svm', "a1") == '#include "a1.h" A1_X a1_y @svm'
