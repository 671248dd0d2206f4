"""A model as JavaScript: one self-contained ES module that predicts in browsers and in node.

The module holds everything: the model's numbers and a small WebAssembly program (``values.wasm``, built from
``values.c``) as base64, and the rest of the arithmetic as plain text (``runtime.js`` and ``floats.js``). It fetches
nothing, so it works from a server, from a bundle, and inside a page that is opened from a disk. Where WebAssembly with
SIMD is not to be had, the same file computes in plain JavaScript. A model in whole numbers has ``whole.wasm`` and
``whole.js`` in their places.

    numbers.py    which numbers a model needs there, in which precision; what cannot be held
    whole.py      the same of a model in whole numbers
    text.py       the files made of them
    try_page.py   a page to try models in
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from svmpress.errors import FormatError, InputError
from svmpress.exports.quantized import QuantizedModel
from svmpress.exports.web import text
from svmpress.exports.web.numbers import Precision, obstacles, pack
from svmpress.exports.web.try_page import try_page
from svmpress.exports.web.whole import pack_whole, whole_number_obstacles
from svmpress.formats import as_model
from svmpress.storage import PathLike, replacing, replacing_folder

__all__ = ["export_page", "export_web", "obstacles", "web_module", "web_script"]

_TYPES = {".js": ".d.ts", ".mjs": ".d.mts"}
"""Suffixes of modules, and those of the files that declare their types."""


def export_web(model: Any, path: PathLike, *, dtype: Precision = "float32") -> tuple[Path, ...]:
    """Write a model as JavaScript, for browsers and node; nothing is written halfway.

    Parameters
    ----------
    model : QuantizedModel, KernelModel, or what :func:`svmpress.formats.as_model` makes one of
        A QuantizedModel, from :func:`svmpress.quantize`, keeps its whole numbers: a smaller file, and the emulator's
        answers bit for bit.
    path : path
        A folder, which gets ``model.js`` (an ES module), ``model.d.ts`` (its types), ``index.html`` (a page that
        tries the model, also when opened from a disk) and ``package.json``; it may stand there already if it holds
        nothing else. Or a file whose name ends in ``.js`` or ``.mjs``: that module, and its types beside it.
    dtype : "float32" or "float64"
        Precision of the numbers of a KernelModel. In float32 WebAssembly computes; in float64, plain JavaScript,
        which takes some ten times as long.

    Returns
    -------
    tuple of Path
        The files, the module first.

    Raises
    ------
    FormatError
        When JavaScript cannot hold the model; see :func:`svmpress.exports.obstacles`.
    InputError
        When the files cannot be written; what was there before is untouched.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.svm import SVC
    >>> folder = Path(tempfile.mkdtemp()) / "web"
    >>> files = export_web(SVC().fit([[0.0], [1.0], [2.0]], ["a", "b", "b"]), folder)
    >>> [file.name for file in files]
    ['model.js', 'model.d.ts', 'index.html', 'package.json']
    """
    header, numbers = _packed(model, dtype)
    where = Path(path)
    if where.suffix.lower() in _TYPES and not where.is_dir():
        types = where.with_suffix(_TYPES[where.suffix.lower()])
        with replacing(where, types) as (module_file, types_file):
            module_file.write(text.module(header, numbers).encode())
            types_file.write(text.declarations(header).encode())
        return where, types
    contents: Mapping[str, str] = {
        "model.js": text.module(header, numbers),
        "model.d.ts": text.declarations(header),
        "index.html": text.page(header, numbers),
        "package.json": text.package(),
    }
    with replacing_folder(where, contents) as folder:
        for name, content in contents.items():
            (folder / name).write_bytes(content.encode())
    return tuple(where / name for name in contents)


def export_page(
    models: Any,
    path: PathLike,
    *,
    image: tuple[int, int] | None = None,
    span: tuple[float, float] | None = None,
    title: str = "Try the model",
    dtype: Precision = "float32",
) -> Path:
    """Write a page to try a model in: one file of HTML that fetches nothing, with the model inside.

    Parameters
    ----------
    models : model, or mapping of name to model
        What :func:`svmpress.formats.as_model` takes; of several, which share features and classes, one is chosen in
        the page.
    path : path
    image : (height, width), optional
        Where the features are the pixels of a picture, row by row: the page has a canvas to draw on, else a slider
        for each feature.
    span : (low, high), optional
        The least and the largest value of features, those of black and white; by default told by the vectors of the
        largest model, which are rows of training if that is not compressed.
    title : str
    dtype : "float32" or "float64"

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.svm import SVC
    >>> file = Path(tempfile.mkdtemp()) / "try.html"
    >>> export_page(SVC().fit([[0.0], [1.0], [2.0]], ["a", "b", "b"]), file).name
    'try.html'
    """
    named = {str(k): as_model(m) for k, m in models.items()} if isinstance(models, Mapping) else {"": as_model(models)}
    if not named:
        raise InputError("there is no model to try")
    scripts = {f"model{i}": web_script(model, f"model{i}", dtype=dtype) for i, model in enumerate(named.values())}
    content = try_page(scripts, named, image, span, title)
    with replacing(path) as (file,):
        file.write(content.encode())
    return Path(path)


def web_module(model: Any, *, dtype: Precision = "float32") -> str:
    """Return the text of a model's ES module, for those who put it elsewhere than into a file.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> module = web_module(SVC().fit([[0.0], [1.0], [2.0]], [0, 1, 1]))
    >>> module.splitlines()[-2:]
    ['export default model;', 'export const { predict, decisionFunction, decisionValues, classes } = model;']
    """
    return text.module(*_packed(model, dtype))


def web_script(model: Any, name: str = "model", *, dtype: Precision = "float32") -> str:
    """Return the text of a script that declares the model as a constant, to be put into a page's ``<script>``.

    The text holds no ``</script>`` and nothing but ASCII.

    Parameters
    ----------
    model : QuantizedModel, KernelModel, or what :func:`svmpress.formats.as_model` makes one of
    name : str
        Of the constant.
    dtype : "float32" or "float64"

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> script = web_script(SVC().fit([[0.0], [1.0], [2.0]], [0, 1, 1]), "digits")
    >>> "const digits = (() => {" in script, "</" in script
    (True, False)
    """
    return text.script(*_packed(model, dtype), name)


def _packed(model: Any, dtype: Precision) -> tuple[dict[str, Any], bytes]:
    if isinstance(model, QuantizedModel):
        found = whole_number_obstacles(model)
    else:
        model = as_model(model)
        found = obstacles(model, dtype)
    if found:
        raise FormatError(f"cannot write the model as JavaScript: {'; '.join(found)}")
    return pack_whole(model) if isinstance(model, QuantizedModel) else pack(model, dtype)
