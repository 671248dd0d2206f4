"""The files of a web model: the module, its types, a page that tries it, and a package for node."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

from svmpress import __version__
from svmpress.errors import InputError

Header = Mapping[str, Any]
"""What ``pack`` of ``numbers.py``, or ``pack_whole`` of ``whole.py``, says of a model."""


def script(header: Header, numbers: bytes, name: str = "model") -> str:
    """Return a script that declares the model as a constant; safe inside a page."""
    if not re.fullmatch(r"[A-Za-z_$][A-Za-z0-9_$]*", name):
        raise InputError(f"{name!r} is no name for a constant of JavaScript: use letters, digits, _ and $")
    arithmetic, program = ("floats.js", "values.wasm") if "kernel" in header else ("whole.js", "whole.wasm")
    arguments = [_json(header), _base64(numbers), _base64(_read(program))]
    lines = [
        f"// {_summary(header)}. Made by svmpress {__version__}.",
        f"const {name} = (() => {{",
        _read("runtime.js").decode(),
        _read(arithmetic).decode(),
        "return create(",
        *(f"{argument}," for argument in arguments),
        ");",
        "})();",
    ]
    return "\n".join(lines) + "\n"


def module(header: Header, numbers: bytes) -> str:
    """Return the ES module."""
    names = ["predict", "decisionFunction", "decisionValues", *_calibrated(header), "classes"]
    return f"{script(header, numbers)}\nexport default model;\nexport const {{ {', '.join(names)} }} = model;\n"


def declarations(header: Header) -> str:
    """Return the types of the module, in TypeScript."""
    labels = header["decoder"].get("classes")
    scores = "Float64Array" if _has_one_score(header) else "Float64Array[]"
    label = "number" if labels is None else " | ".join(map(_json, labels))
    functions = {
        "predict": ("The answer for each row.", scores if labels is None else "Label[]"),
        "decisionFunction": ("The scores of each row, as scikit-learn defines them.", scores),
        "decisionValues": ("The value of each machine, for each row.", "Float64Array[]"),
    }
    for name in _calibrated(header):
        functions[name] = ("The probability of each class, in the order of `classes`, for each row.", "Float64Array[]")
    members = [f"  /** {about} */\n  {name}(rows: Rows): {result};" for name, (about, result) in functions.items()]
    return f"""\
// {_summary(header)}. Made by svmpress {__version__}.

/** Rows of {header["features"]} numbers each, or one flat array of all their numbers, row after row. */
export type Rows = ArrayLike<ArrayLike<number>> | ArrayLike<number>;

/** What the model answers with. */
export type Label = {label};

export interface Model {{
{chr(10).join(members)}
  /** The labels of the classes; null for a regressor. */
  readonly classes: {"null" if labels is None else "readonly Label[]"};
  readonly task: "classification" | "regression" | "outlier";
  readonly nFeatures: number;
  readonly nVectors: number;
  /** What computes: WebAssembly, or plain JavaScript where that is not to be had. */
  readonly engine: "wasm" | "javascript";
}}

declare const model: Model;
export default model;
{chr(10).join(f'export const {name}: Model["{name}"];' for name in [*functions, "classes"])}
"""


def page(header: Header, numbers: bytes) -> str:
    """Return a page that tries the model, with the model inside."""
    example = ", ".join(["0"] * header["features"])
    values = {"summary": _summary(header), "features": str(header["features"]), "example": example}
    html = _read("page.html").decode()
    for name, value in {**values, "script": script(header, numbers)}.items():
        html = html.replace(f"{{{{{name}}}}}", value)
    return html


def package() -> str:
    """Return the ``package.json`` that lets node and npm take the folder as it is."""
    content = {"name": "model", "version": "1.0.0", "private": True, "type": "module", "sideEffects": False}
    return json.dumps({**content, "main": "model.js", "types": "model.d.ts"}, indent=2) + "\n"


def _summary(header: Header) -> str:
    kinds = {"classification": "classifier", "regression": "regressor", "outlier": "outlier detector"}
    vectors = f"{header['count']:,} vector{'' if header['count'] == 1 else 's'}"
    return f"An SVM {kinds[header['task']]} of {vectors} and {header['features']:,} features"


def _calibrated(header: Header) -> list[str]:
    return ["predictProba"] if "probA" in header["numbers"] else []


def _has_one_score(header: Header) -> bool:
    decoder = header["decoder"]
    return header["outputs"] == 1 and (decoder["name"] in ("Sign", "Identity") or decoder.get("shape") == "ovr")


def _json(value: Any) -> str:
    """Return JSON that is also JavaScript, in ASCII, and ends no script of a page."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c").replace(">", "\\u003e")


def _base64(data: bytes) -> str:
    return f'"{base64.b64encode(data).decode()}"'


def _read(name: str) -> bytes:
    return (resources.files(__package__) / name).read_bytes()
