"""``export_c()``: a folder of C code for a microcontroller."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from svmpress import __version__
from svmpress.errors import InputError
from svmpress.exports.c import floats, whole
from svmpress.exports.c.layout import check_prefix, renamed
from svmpress.exports.c.pages import about, filled, readme, sketch
from svmpress.exports.c.tables import c_float, c_string, class_names, label_text, rows
from svmpress.exports.quantized import QuantizedModel, quantize, table_bytes, whole_obstacles
from svmpress.exports.quantized.grid import as_bytes
from svmpress.formats import as_model
from svmpress.model import KernelModel
from svmpress.numerics import arrays
from svmpress.storage import PathLike, replacing_folder

Weights = Literal["float", "int16", "int8", "int4"]
Exported = QuantizedModel | KernelModel
ROWS = 8
"""Rows of the self-test."""
_TOLERANCE = 2e-5
"""Of decision values in floats, relative to the sum of the sizes of what they are summed from."""


@dataclass(frozen=True, eq=False)
class CExport:
    """What :func:`export_c` wrote.

    Parameters
    ----------
    folder : Path
    files : tuple of str
    model : QuantizedModel or KernelModel
        What the C code computes: its emulator, or with ``weights="float"`` the model in float32.
    number_bytes : int
        Bytes of vectors, coefficients and intercepts: most of the flash.
    """

    folder: Path
    files: tuple[str, ...]
    model: Exported
    number_bytes: int


def c_obstacles(model: KernelModel) -> list[str]:
    """Return what C code cannot hold of a model in whole numbers; in floats it can hold all."""
    found = whole_obstacles(model)
    if model.n_vectors > 65535 or model.n_outputs > 65535 or model.n_features > 65535:
        found.append("more than 65,535 vectors, outputs or features")
    return found


def export_c(
    model: Any,
    folder: PathLike,
    X: Any = None,
    y: Any = None,
    *,
    weights: Weights = "int8",
    coef: Literal["int8", "int16"] = "int16",
    max_flash: int | None = None,
    input: Literal["float", "uint8"] | None = None,
    image: tuple[int, int] | None = None,
    pool: int = 1,
    augment: int = 0,
    prefix: str = "svm",
    random_state: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
) -> CExport:
    """Write a model as C code for a microcontroller: ``svm.h``, ``svm.c``, a self-test, a README, an Arduino sketch.

    Parameters
    ----------
    model : estimator, KernelModel, QuantizedModel or path
        Best a compressed one. A QuantizedModel is written in the numbers that it has.
    folder : path
        Written whole or not at all; one that stands there may hold nothing but an earlier export.
    X, y : optional
        Rows and answers to quantise with, see :func:`svmpress.quantize`; some of the rows make the self-test.
    weights : "float", "int16", "int8" or "int4"
        The numbers of the vectors. Floats hold every kernel, whole numbers RBF, linear and polynomial kernels.
    coef : "int8" or "int16"
        The coefficients; in floats, floats.
    max_flash : int, optional
        Bytes that the numbers may take. ``compress(max_flash=)`` makes a model that keeps within them.
    input, image, pool, augment, random_state
        See :func:`svmpress.quantize`.
    prefix : str
        Of all names, and of the files.
    progress : callable, optional
        Called with (stage, done, total).

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> done = export_c(SVC().fit(X, y), Path(tempfile.mkdtemp()) / "iris", X)
    >>> done.files
    ('README.md', 'iris.ino', 'selftest.c', 'svm.c', 'svm.h')
    """
    check_prefix(prefix)
    given = model if isinstance(model, QuantizedModel) else as_model(model)
    if isinstance(given, KernelModel):
        _refuse(given, weights, coef, max_flash, X, image, pool)
        if weights == "float":
            exported: Exported = _in_floats(given, input, image)
        else:
            exported = quantize(
                given, X, y, weights=weights, coef=coef, input=input, image=image, pool=pool, augment=augment,
                random_state=random_state, progress=progress,
            )  # fmt: skip
    else:
        exported = given
    bytes_in = exported.grid.bytes_in if isinstance(exported, QuantizedModel) else input == "uint8"
    return _write(exported, Path(folder), X, prefix, bytes_in, max_flash)


def _refuse(model: KernelModel, weights: str, coef: str, max_flash: int | None, X: Any, image: Any, pool: int) -> None:
    """Refuse what cannot be written, before any work."""
    if weights not in ("float", "int16", "int8", "int4"):
        raise InputError(f"unknown weights {weights!r}; choose one of float, int16, int8, int4")
    if coef not in ("int8", "int16"):
        raise InputError(f"unknown coef {coef!r}; choose one of int8, int16")
    found = c_obstacles(model)
    if weights == "float":
        found = [o for o in found if 'weights="float"' not in o]
    if found:
        raise InputError(f"cannot write the model as C: {'; '.join(found)}")
    if max_flash is not None and X is None:
        need = table_bytes(model.n_vectors, model.n_features // pool**2, model.n_outputs, weights, _coef(weights, coef))
        _refuse_large(need, max_flash, model.n_vectors)


def _coef(weights: str, coef: str) -> str:
    return "float" if weights == "float" else coef


def _refuse_large(need: int, max_flash: int, vectors: int) -> None:
    if need > max_flash:
        raise InputError(
            f"the numbers of {vectors:,} vectors take {need:,} bytes, more than max_flash={max_flash:,}: "
            "compress(model, X, y, max_flash=...) makes a model that keeps within it"
        )


def _in_floats(model: KernelModel, input: str | None, image: Any) -> KernelModel:
    if image is not None:
        raise InputError('pooling is for whole numbers: weights="int8", for example')
    return model.astype(np.float32)


def _write(e: Exported, folder: Path, X: Any, prefix: str, bytes_in: bool, max_flash: int | None) -> CExport:
    n_levels = e.grid.n_levels if isinstance(e, QuantizedModel) else e.n_features
    types = (e.weight_type, e.coef_type) if isinstance(e, QuantizedModel) else ("float", "float")
    size = table_bytes(e.n_vectors, n_levels, e.n_outputs, *types)
    if max_flash is not None:
        _refuse_large(size, max_flash, e.n_vectors)
    name_of_sketch = re.sub(r"[^A-Za-z0-9_.-]", "_", folder.resolve().name) or "sketch"
    code = whole.source(e) if isinstance(e, QuantizedModel) else floats.source(e)
    line = about(e, types)
    texts = {
        f"{prefix}.h": _header(e, line, bytes_in),
        f"{prefix}.c": f"/* {line} */\n{code}",
        "selftest.c": _selftest(e, _test_rows(e, X, bytes_in), bytes_in),
        f"{name_of_sketch}.ino": sketch(e, bytes_in),
        "README.md": readme(e, line, name_of_sketch, size, types, ROWS),
    }
    with replacing_folder(folder, set(texts)) as fresh:
        for name, text in texts.items():
            (fresh / name).write_text(renamed(text, prefix), encoding="utf-8")
    return CExport(folder, tuple(sorted(texts)), e, size)


def _header(e: Exported, line: str, bytes_in: bool) -> str:
    constants = {"INPUTS": e.n_features, "VECTORS": e.n_vectors, "OUTPUTS": e.n_outputs}
    units, value = "", "float"
    if isinstance(e, QuantizedModel):
        value = "int32_t" if e.sum_bits == 32 else "int64_t"
        units = ", in SVM_UNIT"
    lines = [f"#define SVM_{name} {number}" for name, number in constants.items()]
    if isinstance(e, QuantizedModel):
        lines.append(f"#define SVM_UNIT {c_float(e.unit)}")
    classes, functions = (
        "",
        "\n/* The value that the model gives to a row. */\nfloat svm_predict(const svm_input *x);\n",
    )
    if e.classes_ is not None:
        labels = e.classes_.tolist()
        names = class_names(labels, "SVM")
        lines.append(f"#define SVM_CLASSES {len(labels)}")
        lines.append("/* The labels in the order of classes: const char *const labels[] = SVM_LABELS; */")
        lines.append(f"#define SVM_LABELS {{{', '.join(c_string(label_text(v)) for v in labels)}}}")
        listed = ",\n".join(f"    {name} = {i}" for i, name in enumerate(names))
        kind = "uint8_t" if len(labels) <= 255 else "uint16_t"
        classes = f"typedef {kind} svm_position; /* the position of a class */\n\nenum svm_class {{\n{listed}\n}};\n"
        functions = (
            "\n/* The position of the class that decision values mean. */\n"
            "svm_position svm_decide(const svm_value *values);\n"
            "\n/* The position of the class of a row. */\nsvm_position svm_predict(const svm_input *x);\n"
        )
    return filled(
        "svm.h",
        ABOUT=line,
        VERSION=__version__,
        CONSTANTS="\n".join(lines),
        INPUT="uint8_t" if bytes_in else "float",
        VALUE=value,
        UNITS=units,
        CLASSES=classes,
        FUNCTIONS=functions,
    )


def _test_rows(e: Exported, X: Any, bytes_in: bool) -> NDArray[Any]:
    """Return a few rows: of X, or at random around the vectors."""
    if X is not None:
        X = arrays.to_numpy(arrays.dense(arrays.check_rows(X, n_features=e.n_features)))
        X = X[np.linspace(0, len(X) - 1, min(ROWS, len(X))).astype(int)]
    elif isinstance(e, QuantizedModel):
        X = _rows_like(e)
    else:
        V = np.asarray(arrays.dense(e.expansion.vectors))[:ROWS].astype(np.float64)
        X = V if e.scaling is None else V / np.where(e.scaling.factor == 0, 1, e.scaling.factor)
        if e.scaling is not None and e.scaling.shift is not None:
            X = X + e.scaling.shift
        X = np.clip(np.rint(X), 0, 255) if bytes_in else X
    return as_bytes(X) if bytes_in else np.asarray(X, dtype=np.float32)


def _rows_like(q: QuantizedModel) -> NDArray[Any]:
    g, rng = q.grid, np.random.default_rng(0)
    if g.shift is None or g.factor is None or g.pooling is not None:
        return rng.integers(0, 256, (ROWS, g.n_inputs))
    levels = g.of_weights(q.weights[:ROWS]) + rng.normal(0, 2, (min(ROWS, q.n_vectors), g.n_levels))
    X = np.zeros((len(levels), g.n_inputs))
    slope = np.where(g.factor == 0, 1, g.factor)
    X[:, g.kept] = levels / slope + g.shift
    return np.clip(np.rint(X), 0, 255) if g.bytes_in else X


def _selftest(e: Exported, X: NDArray[Any], bytes_in: bool) -> str:
    positions, decided = "", ""
    if isinstance(e, QuantizedModel):
        F: NDArray[Any] = e.integer_values(X)
        compare = "bad |= values[p] != expected[p];"
        if e.classes_ is not None:
            kind = "uint8_t" if len(e.classes_) <= 255 else "uint16_t"
            listed = ", ".join(str(int(p)) for p in e.positions(X))
            positions = f"static const {kind} classes[ROWS] ROM = {{{listed}}};\n"
            decided = "        {\n            svm_position c;\n            COPY(&c, &classes[i], sizeof c);\n"
            decided += "            bad |= svm_predict(x) != c;\n        }\n"
    else:
        F = e.decision_values(X.astype(np.float32))
        total = float(np.abs(e.expansion.coef).sum(axis=0).max() + np.abs(e.expansion.intercept).max())
        scale = max(float(np.abs(F).max()), total if e.kernel.bounded else 0.0)
        tolerance = c_float(_TOLERANCE * max(scale, 1e-30))
        within = f"off < {tolerance} && off > -{tolerance}"
        compare = f"float off = values[p] - expected[p];\n            bad |= !({within});"
    whole_numbers = isinstance(e, QuantizedModel)
    return filled(
        "selftest.c",
        LIBRARIES="" if whole_numbers else " -lm",
        ROWS=str(len(X)),
        INPUTS=rows(X, form="d" if bytes_in else "f"),
        ANSWERS=rows(F, form="d" if whole_numbers else "f"),
        POSITIONS=positions,
        COMPARE=compare,
        DECIDED=decided,
    )
