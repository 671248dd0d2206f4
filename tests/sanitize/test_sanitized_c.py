"""Exported C code and rows that no sensor measures, under AddressSanitizer and UBSan: ``make test-sanitize`` has all.

NaN, infinities, what overflows, every bit pattern of a float, bytes of 0 and 255. Whole numbers must not come from a
float that has no such value, and nothing may be read or written beside a row, beside the values, or beside a table.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import svmpress
from c_models import MODELS, STRICT, digit_rows, digits

HERE = Path(__file__).parent
ALL = "SVMPRESS_SANITIZE" in os.environ
ROWS = 20_000 if ALL else 500
CHECKS = ["-g", "-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all"]
WEIGHTS = ["int4", "int8", "int16", "float"]
FEW = ["int8", "float"]
IMAGES = {
    "int8": {},
    "int4": {"image": (8, 8), "pool": 2},
    "int16": {"image": (8, 8), "pool": 4},
    "float": {},
}
COMPILERS = [
    pytest.param(c, marks=pytest.mark.skipif(shutil.which(c) is None, reason=f"the compiler {c} is not installed"))
    for c in ("gcc", "clang")
]


def run(folder, compiler, main):
    """Compile the exported files with a program that calls them, and run it."""
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}  # these programs bring a sanitizer along
    command = [compiler, "-std=c99", *STRICT, *CHECKS, "-I.", "svm.c", main, "-lm", "-o", "a.out"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    assert made.returncode == 0, made.stderr
    command = ["./a.out", str(ROWS)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)


def check(folder, compiler):
    """Run the self-test and the hostile rows."""
    for main in ("selftest.c", HERE / "hostile.c"):
        done = run(folder, compiler, main)
        assert done.returncode == 0, done.stdout + done.stderr
        assert not done.stderr
        assert "rows" in done.stdout


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        ("svm_read(x, u)", "svm_read(x + 1, u)", "heap-buffer-overflow"),
        ("*w = svm_vectors;", "*w = svm_vectors + 64;", "global-buffer-overflow"),
    ],
    ids=["row", "table"],
)
def test_a_step_beside_is_found(good, bad, words, compiler, tmp_path):
    model, X = MODELS["votes"]()
    code = svmpress.export_c(model, tmp_path / "c", X[::9], weights="int8").folder / "svm.c"
    text = code.read_text()
    assert good in text
    code.write_text(text.replace(good, bad))
    done = run(code.parent, compiler, HERE / "hostile.c")
    assert done.returncode != 0
    assert words in done.stderr


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("weights", WEIGHTS if ALL else FEW)
@pytest.mark.parametrize("name", list(MODELS) if ALL else ["votes"])
def test_features_that_are_floats(name, weights, compiler, tmp_path):
    model, X = MODELS[name]()
    coef = "int8" if weights == "int4" else "int16"
    check(svmpress.export_c(model, tmp_path / "c", X[::9], weights=weights, coef=coef).folder, compiler)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("weights", WEIGHTS if ALL else ["int4"])
def test_features_that_are_bytes(weights, compiler, tmp_path):
    X, _ = digit_rows()
    more = IMAGES[weights]
    done = svmpress.export_c(digits(), tmp_path / "c", X[:300], weights=weights, input="uint8", **more)
    check(done.folder, compiler)
