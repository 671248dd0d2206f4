"""Numbers as C: tables, and the names of classes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WIDTH = 110


def numbers(values: Iterable[Any], *, form: str = "d") -> str:
    """Return numbers between commas, in lines.

    Examples
    --------
    >>> numbers([1, -2, 3])
    '    1, -2, 3,'
    """
    lines, line = [], "   "
    for value in values:
        text = c_float(float(value)) if form == "f" else str(int(value))
        if len(line) + len(text) + 2 > _WIDTH:
            lines.append(line)
            line = "   "
        line += f" {text},"
    return "\n".join([*lines, line])


def rows(values: NDArray[Any], *, form: str = "d") -> str:
    """Return the rows of a matrix, each in braces."""
    return "".join("    {\n" + numbers(row, form=form).replace("    ", "        ", 1) + "\n    },\n" for row in values)


def table(kind: str, name: str, values: NDArray[Any], *, form: str = "d") -> str:
    """Return a constant table."""
    shape = "".join(f"[{n}]" for n in values.shape)
    if values.ndim == 2:
        body = "".join("    {" + ", ".join(str(int(v)) for v in row) + "},\n" for row in values)
    else:
        body = numbers(values, form=form) + "\n"
    return f"static const {kind} {name}{shape} SVM_ROM = {{\n{body}}};\n"


def c_float(value: float) -> str:
    """Return a float32 as C, with 9 digits, which read back as the same bits.

    Examples
    --------
    >>> c_float(0.1), c_float(-3.0), c_float(4e-7)
    ('0.100000001f', '-3.0f', '4.00000005e-07f')
    """
    text = f"{np.float32(value):.9g}"
    return f"{text}f" if re.search(r"[.e]", text) else f"{text}.0f"


def c_string(text: str) -> str:
    r"""Return a string literal; what is no printable ASCII becomes octal numbers of its UTF-8.

    Examples
    --------
    >>> print(c_string('a"b\\é'))
    "a\"b\\\303\251"
    """
    out = []
    for byte in text.encode("utf-8", errors="replace"):
        char = chr(byte)
        plain = 32 <= byte < 127 and char not in '"\\?'
        out.append(char if plain else f"\\{char}" if char in '"\\' else f"\\{byte:03o}")
    return f'"{"".join(out)}"'


def class_names(labels: Sequence[Any], prefix: str) -> list[str]:
    """Return the constants of an enumeration for the labels of classes; by position where names would clash.

    Examples
    --------
    >>> class_names(["cat", "sea horse"], "SVM"), class_names([-1, 1], "SVM")
    (['SVM_IS_CAT', 'SVM_IS_SEA_HORSE'], ['SVM_IS_MINUS_1', 'SVM_IS_1'])
    >>> class_names(["+", "-"], "SVM")
    ['SVM_IS_CLASS_0', 'SVM_IS_CLASS_1']
    """
    words = []
    for label in labels:
        text = re.sub(r"^-(?=\d)", "minus_", label_text(label))
        words.append(re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_").upper())
    if len(set(words)) < len(words) or not all(words):
        words = [f"CLASS_{i}" for i in range(len(words))]
    return [f"{prefix}_IS_{word}" for word in words]


def label_text(label: Any) -> str:
    """Return a label as people write it: 3 for the number 3.0.

    Examples
    --------
    >>> label_text(3.0), label_text("a"), label_text(np.int64(2))
    ('3', 'a', '2')
    """
    if isinstance(label, float | np.floating) and float(label).is_integer():
        return str(int(label))
    return str(label)
