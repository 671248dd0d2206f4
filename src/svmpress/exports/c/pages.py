"""The pages around the code: what the model is, an Arduino sketch, and a README that says what it takes."""

from __future__ import annotations

from svmpress import __version__
from svmpress.exports.c import whole
from svmpress.exports.c.layout import template
from svmpress.exports.quantized import QuantizedModel
from svmpress.model import KernelModel

Exported = QuantizedModel | KernelModel
_PRODUCT = {"int4": 11.3, "int8": 10.8, "int16": 60.0}
_COEF = {"int8": 39.0, "int16": 75.0}
_VECTOR, _FLOAT_READ, _BYTE_READ = 620.0, 500.0, 90.0
"""Cycles of an ATmega328P, as measured on the simulator."""


def avr_cycles(q: QuantizedModel) -> int:
    """Return about how many cycles a prediction takes of an ATmega328P."""
    each = whole.padded(q) * _PRODUCT[q.weight_type] + q.n_outputs * _COEF[q.coef_type] + _VECTOR
    read = q.grid.n_levels * (_BYTE_READ if q.grid.shift is None else _FLOAT_READ)
    return round(q.n_vectors * each + read)


def about(e: Exported, types: tuple[str, str]) -> str:
    """Return what the model is, in a line."""
    kind = {"classification": "a classifier", "regression": "a regressor", "outlier": "an outlier detector"}[e.task]
    classes = "" if e.classes_ is None or e.task == "outlier" else f" of {len(e.classes_)} classes"
    numbers = "floats" if types[0] == "float" else f"{types[0]} with {types[1]} coefficients"
    return f"{kind}{classes}: {e.n_vectors} vectors in {numbers}, {e.n_features} inputs".capitalize()


def filled(name: str, **values: str) -> str:
    """Return a template with its places filled."""
    text = template(name)
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


def sketch(e: Exported, bytes_in: bool) -> str:
    """Return an Arduino sketch that answers rows from the serial port."""
    receive = f"    row[have++] = {'(svm_input)Serial.read()' if bytes_in else 'Serial.parseFloat()'};"
    send = "Serial.println(svm_predict(row));"
    if e.classes_ is not None:
        send = "static const char *const labels[] = SVM_LABELS;\n        Serial.println(labels[svm_predict(row)]);"
    how = ", a byte each" if bytes_in else " as text"
    return filled("Arduino.ino", HOW=how, RECEIVE=receive, SEND=send)


def readme(e: Exported, line: str, name: str, size: int, types: tuple[str, str], n_rows: int) -> str:
    """Return a README: what is in the folder, how it is used, and what it takes."""
    whole_numbers = isinstance(e, QuantizedModel)
    takes = [f"- flash: {size:,} bytes of vectors, coefficients and intercepts, and the code, 1 to 3 KiB"]
    buffer = 0
    if isinstance(e, QuantizedModel):
        in_place = whole.reads_in_place(e)
        buffer = 0 if in_place else whole.padded(e) * (2 if e.weight_type == "int16" else 1)
        value = e.sum_bits // 8
    else:
        buffer, value = 4 * e.n_features, 4
    takes.append(
        f"- RAM: {buffer + value * e.n_outputs:,} bytes on the stack for levels and decision values, and some 60 more; "
        "none of it static"
    )
    if isinstance(e, QuantizedModel):
        cycles = avr_cycles(e)
        takes.append(
            f"- time: about {cycles:,} cycles of an ATmega328P, {cycles / 16000:.1f} ms at 16 MHz; "
            f"`svmpress.exports.measure(folder)` counts them on a simulator, with flash and RAM"
        )
    else:
        takes.append(f"- time: {e.n_vectors:,} kernel values of {e.n_features:,} products each, in floats")
    answer = "the position of a class, an `enum svm_class`" if e.classes_ is not None else "a value"
    use = (
        f"`svm_predict(row)` takes `SVM_INPUTS` numbers of the type `svm_input` and returns {answer}. "
        "`svm_values(row, values)` gives the decision values behind it"
    )
    use += ", whole numbers in units of `SVM_UNIT`." if whole_numbers else "."
    libraries = " `stdint.h`" if whole_numbers else " `stdint.h` and `math.h`"
    return filled(
        "README.md",
        ABOUT=line,
        VERSION=__version__,
        LIBRARIES=libraries,
        ROWS=str(n_rows),
        LINK="" if whole_numbers else " -lm",
        SKETCH=name,
        USE=use,
        TAKES="\n".join(takes),
    )
