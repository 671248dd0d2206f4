"""Other converters on the same device: micromlgen and m2cgen for SVMs, emlearn for a random forest of equal flash.

Each is given what it takes: an SVC of scikit-learn on rows that are scaled already (their code holds no scaler), or a
forest for features in whole numbers. Their code is wrapped in the interface of exported code, so that the same firmware
measures it. What does not convert, compile or fit is recorded as the sentence that says so.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import svmpress
from svmpress.exports import measure

_MOST_NUMBERS = 500_000
"""Converters write numbers as text: more than these is not tried, as no microcontroller here could hold them."""
_TREES = (1, 2, 3, 5, 8, 12, 18, 27)
_LEAVES = (8, 16, 32, 64, 128, 256, 512)

_HEADER = """
#ifndef SVM_H
#define SVM_H
#include <stdint.h>
#define SVM_INPUTS {inputs}
#define SVM_OUTPUTS 1
#define SVM_CLASSES {classes}
typedef {kind} svm_input;
typedef int32_t svm_value;
typedef uint8_t svm_position;
svm_position svm_predict(const svm_input *x);
#endif
"""
_TEST = """
#include "svm.h"
#include <avr/pgmspace.h>
#include <string.h>
#define ROM PROGMEM
#define COPY(to, from, size) memcpy_P(to, from, size)
#define ROWS {rows}
static const svm_input rows[ROWS][SVM_INPUTS] ROM = {{{inputs}}};
static const uint8_t answers[ROWS] ROM = {{{answers}}};
int svm_selftest(void);
int svm_selftest(void)
{{
    static svm_input x[SVM_INPUTS];
    int wrong = 0, i;
    for (i = 0; i < ROWS; i++) {{
        COPY(x, rows[i], sizeof x);
        wrong += svm_predict(x) != pgm_read_byte(&answers[i]);
    }}
    return wrong;
}}
"""


def all_of(source: Any, model: Any, rows: Any, flash: int, pool: int) -> dict[str, Any]:
    """Return what each converter makes of the full SVM, of the compressed one, and of a forest."""
    found: dict[str, Any] = {}
    for name, convert in (("m2cgen", by_m2cgen), ("micromlgen", by_micromlgen)):
        if not installed(name):
            continue
        for which, one in (("full", source), ("compressed", model)):
            numbers = one.n_vectors * (one.n_features + one.n_outputs)
            if numbers > _MOST_NUMBERS:
                made: Any = f"not tried: {numbers:,} numbers, {4 * numbers:,} bytes as floats"
            else:
                made = attempt(convert, one, rows)
            found[f"{name}, {which} SVM"] = {"version": importlib.metadata.version(name), "found": made}
    if installed("emlearn"):
        found["emlearn, random forest"] = {
            "version": importlib.metadata.version("emlearn"),
            "found": attempt(forest, rows, flash),
        }
    return found


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def attempt(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception as e:  # whatever a converter raises is what is to be reported
        return " ".join(f"{type(e).__name__}: {e}".split())[:200]


def _estimator(model: Any) -> Any:
    """Return the SVC of a model, and its labels for rows that are scaled."""
    from dataclasses import replace

    return svmpress.to_estimator(replace(model, scaling=None))


def _scaled(model: Any, X: np.ndarray) -> np.ndarray:
    return np.asarray(X if model.scaling is None else model.scaling(X), dtype=np.float32)


def by_m2cgen(model: Any, rows: Any) -> Any:
    import m2cgen

    estimator = _estimator(model)
    code = m2cgen.export_to_c(estimator)
    K = len(model.classes_)
    wrapper = (
        f"{code}\nsvm_position svm_predict(const svm_input *x)\n{{\n    double in[SVM_INPUTS], out[{K}];\n    int i;\n"
        "    svm_position best = 0;\n    for (i = 0; i < SVM_INPUTS; i++) {\n        in[i] = (double)x[i];\n    }\n"
        f"    score(in, out);\n    for (i = 1; i < {K}; i++) {{\n        if (out[i] > out[best]) {{\n"
        "            best = (svm_position)i;\n        }\n    }\n    return best;\n}\n"
    )
    answers = np.searchsorted(model.classes_, estimator.predict(_scaled(model, rows.X_test)))
    accuracy = float(np.mean(model.classes_[answers] == rows.y_test))
    found = on_uno(wrapper, _scaled(model, rows.X_test), answers, K, "float")
    return found | {"accuracy": accuracy}


def by_micromlgen(model: Any, rows: Any) -> Any:
    import micromlgen

    code = micromlgen.port(_estimator(model))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.cpp"
        path.write_text(f"#include <stdint.h>\n#include <math.h>\n{code}\nEloquent::ML::Port::SVM svm;\n")
        command = ["avr-g++", "-mmcu=atmega328p", "-Os", "-c", str(path), "-o", str(path.with_suffix(".o"))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return "does not compile: " + re.findall(r"error: (.*)", done.stderr)[0]
    return "compiles"


def forest(rows: Any, flash: int) -> Any:
    """Return the forest that is most accurate on a fifth of the training rows, of those that fit the flash."""
    import emlearn

    scale = 1.0 if rows.are_bytes else 30000 / np.abs(rows.X).max(axis=0).clip(1e-9)
    X, X_test = (np.clip(np.rint(a * scale), -32768, 32767).astype(np.int16) for a in (rows.X, rows.X_test))
    order = np.random.default_rng(0).permutation(len(X))[:15_000]
    held, fit = order[: len(order) // 5], order[len(order) // 5 :]
    best: tuple[float, Any, Any] = (0.0, None, None)
    classes = np.unique(rows.y)
    for trees in _TREES:
        for leaves in _LEAVES:
            rf = RandomForestClassifier(trees, max_leaf_nodes=leaves, random_state=0).fit(X[fit], rows.y[fit])
            nodes = sum(t.tree_.node_count for t in rf.estimators_)
            if nodes * 5 > flash:
                break
            accuracy = float(np.mean(votes(rf, X[held], classes) == rows.y[held]))
            if accuracy <= best[0]:
                continue
            with tempfile.TemporaryDirectory() as folder:
                header = Path(folder) / "rf.h"
                emlearn.convert(rf, method="inline", dtype="int16_t").save(
                    file=str(header), name="rf", include_proba=False
                )
                code = header.read_text()
            wrapper = f"{code}\nsvm_position svm_predict(const svm_input *x)\n{{\n"
            wrapper += "    return (svm_position)rf_predict(x, SVM_INPUTS);\n}\n"
            answers = np.searchsorted(classes, votes(rf, X_test, classes))
            found = attempt(on_uno, wrapper, X_test, answers, len(classes), "int16_t")
            if isinstance(found, dict) and found["flash"] <= flash:
                of_test = float(np.mean(classes[answers] == rows.y_test))
                best = (accuracy, found | {"accuracy": of_test, "trees": trees, "leaves": leaves}, rf)
    return best[1] or "no forest fits"


def votes(rf: Any, X: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the class of most trees, the first of equals, as the generated code does."""
    each = np.stack([t.predict(X).astype(int) for t in rf.estimators_], axis=1)
    return classes[np.argmax((each[:, :, None] == np.arange(len(classes))).sum(axis=1), axis=1)]


def on_uno(code: str, X: np.ndarray, answers: np.ndarray, classes: int, kind: str) -> dict[str, Any]:
    """Compile code in the interface of exported code for the Uno, and measure it."""
    if shutil.which("avr-gcc") is None:
        raise svmpress.InputError("avr-gcc is not installed")
    some = np.linspace(0, len(X) - 1, 4).astype(int)
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "svm.h").write_text(_HEADER.format(inputs=X.shape[1], classes=classes, kind=kind))
        quiet = '#include "svm.h"\n#pragma GCC diagnostic ignored "-Wall"\n#pragma GCC diagnostic ignored "-Wextra"\n'
        for name in ("unused-parameter", "unused-function", "missing-prototypes", "unused-variable", "sign-compare"):
            quiet += f'#pragma GCC diagnostic ignored "-W{name}"\n'
        (here / "svm.c").write_text(quiet + code)
        inputs = ",\n".join("{" + ", ".join(f"{v:.9g}" for v in row) + "}" for row in X[some])
        listed = ", ".join(str(int(a)) for a in answers[some])
        (here / "selftest.c").write_text(_TEST.format(rows=len(some), inputs=inputs, answers=listed))
        m = measure(here, "uno")
    return {"flash": m.flash, "ram": m.ram, "cycles": m.cycles, "milliseconds": m.milliseconds, "wrong": m.wrong}
