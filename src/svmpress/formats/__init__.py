"""Models in and out: what svmpress reads and writes, one module a format.

    load(path)            file -> KernelModel       save(model, path)       KernelModel -> file
    from_estimator(svc)   scikit-learn -> ours      to_estimator(model)     ours -> scikit-learn
    as_model(anything)    any of these, or a KernelModel itself

A file format is a module with ``read(path)``, ``write(model, path)`` and ``obstacles(model)``, what it cannot hold of a
model, asked before writing. To add one, write such a module, list it in :data:`FORMATS` with its suffixes, and the
conformance tests run on it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from svmpress.errors import FormatError
from svmpress.formats import libsvm, native
from svmpress.model import KernelModel
from svmpress.storage import PathLike, reading

__all__ = [
    "FORMATS",
    "Format",
    "as_model",
    "format_of",
    "from_estimator",
    "libsvm",
    "load",
    "obstacles",
    "save",
    "save_cost",
    "to_estimator",
]


class Format(NamedTuple):
    """A file format: its functions, and the suffixes of its files."""

    read: Callable[[Path], KernelModel]
    write: Callable[[KernelModel, Path], None]
    obstacles: Callable[[KernelModel], list[str]]
    suffixes: tuple[str, ...]


FORMATS: dict[str, Format] = {
    "native": Format(native.read, native.write, native.obstacles, (".svmpress",)),
    "libsvm": Format(libsvm.read, libsvm.write, libsvm.obstacles, (".model", ".libsvm")),
}
"""Every file format by name."""

_PLANNED = {".onnx": "ONNX", ".c": "C", ".h": "C", ".skops": "skops"}
_PICKLE_SUFFIXES = (".pkl", ".pickle", ".joblib")
_PICKLE_HEADS = tuple(b"\x80" + bytes([protocol]) for protocol in range(2, 6))


def load(path: PathLike, format: str | None = None) -> KernelModel:
    """Read a model file.

    Parameters
    ----------
    path : path
    format : "native" or "libsvm", optional
        By default the suffix says it (``.svmpress``; ``.model``, ``.libsvm``), and for other suffixes the contents.

    Raises
    ------
    FormatError
        When the file is not what it should be: which line, and why.
    InputError
        When the file cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.svm import SVC
    >>> path = Path(tempfile.mkdtemp()) / "small.model"
    >>> save(from_estimator(SVC().fit([[0.0], [1.0], [2.0]], [0, 1, 1])), path)
    >>> load(path).predict([[0.0], [2.0]]).tolist()
    [0, 1]
    """
    path = Path(path)
    with reading(path):
        with path.open("rb") as file:
            head = file.read(256)
        if path.suffix.lower() in _PICKLE_SUFFIXES or head.startswith(_PICKLE_HEADS):
            raise FormatError(
                f"{path} is a pickle, and svmpress does not read pickles: load it yourself and pass the estimator"
            )
        name = format or _by_suffix(path) or _by_contents(path, head)
        return _format(name).read(path)


def save(model: Any, path: PathLike, format: str | None = None) -> None:
    """Write a model to a file, whole or not at all.

    Parameters
    ----------
    model : KernelModel, or what :func:`as_model` makes one of
    path : path
    format : "native" or "libsvm", optional
        By default the suffix says it: ``.svmpress`` keeps everything of a model; ``.model`` and ``.libsvm`` are read
        by LibSVM's programs. See :func:`obstacles` for what a format cannot hold and :func:`save_cost` for what it
        costs.

    Raises
    ------
    FormatError
        When the format cannot hold the model, or none has that suffix.
    InputError
        When the file cannot be written; what was there before is untouched.
    """
    name = format_of(path, format)
    path, model = Path(path), as_model(model)
    found = obstacles(model, name)
    if found:
        raise FormatError(f"cannot save the model as {name}: {'; '.join(found)}")
    _format(name).write(model, path)


def format_of(path: PathLike, format: str | None = None) -> str:
    """Return the format that a model would be saved in: the one that is named, or that of the suffix.

    Examples
    --------
    >>> format_of("small.model"), format_of("small.txt", "native")
    ('libsvm', 'native')

    Raises
    ------
    FormatError
        When there is none of that name or suffix.
    """
    name = format or _by_suffix(Path(path))
    if name is None:
        raise FormatError(f"the suffix of {path} names no format: use one of {_known_suffixes()}, or name the format")
    _format(name)
    return name


def from_estimator(estimator: Any) -> KernelModel:
    """Return the model of a fitted estimator of scikit-learn.

    Parameters
    ----------
    estimator : estimator
        An SVM, kernel ridge regression, one-vs-rest or one-vs-one around these, or a Pipeline that ends in one.

    Raises
    ------
    InputError
        When it is not fitted, or cannot be expressed, with what to do about it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = from_estimator(SVC().fit(X, ["a", "a", "b", "b"]))
    >>> model.predict(X).tolist()
    ['a', 'a', 'b', 'b']
    """
    from svmpress.formats import from_sklearn  # scikit-learn takes a second to load

    return from_sklearn.converted(estimator)


def to_estimator(model: Any, *, sparse: bool | None = None) -> Any:
    """Return a model as a fitted estimator of scikit-learn.

    Parameters
    ----------
    model : KernelModel, or what :func:`as_model` makes one of
    sparse : bool, optional
        Whether the estimator accepts sparse rows; by default when the vectors of the model are sparse.

    Returns
    -------
    estimator : SVC, SVR, OneClassSVM, OneVsRestClassifier, KernelRidge, or a Pipeline that ends in one

    Raises
    ------
    FormatError
        When scikit-learn has no such estimator; see :func:`obstacles`.

    Examples
    --------
    >>> import numpy as np
    >>> from svmpress.decoders import Sign
    >>> from svmpress.kernels import RBF
    >>> from svmpress.model import KernelExpansion
    >>> f = KernelExpansion(RBF(1.0), np.zeros((1, 2)), np.ones((1, 1)), np.array([-0.5]))
    >>> svc = to_estimator(KernelModel(f, Sign(np.array(["far", "near"]))))
    >>> svc, svc.predict([[0.1, 0.0], [3.0, 0.0]]).tolist()
    (SVC(gamma=1.0), ['near', 'far'])
    """
    from svmpress.formats import to_sklearn

    return to_sklearn.converted(as_model(model), sparse)


def obstacles(model: KernelModel, format: str) -> list[str]:
    """Return what ``format`` ("native", "libsvm", or "sklearn" for :func:`to_estimator`) cannot hold of a model."""
    if format != "sklearn":
        return _format(format).obstacles(model)
    from svmpress.formats import to_sklearn

    return to_sklearn.obstacles(model)


def save_cost(model: KernelModel, format: str) -> int:
    """Return how many vectors a model has once saved: more than now where a format needs copies.

    A vector of a LibSVM file serves only the pairs of one class. A one-vs-one model whose machines share their
    vectors, and a one-vs-rest model, need several copies of each.
    """
    _format(format)
    return libsvm.cost(model) if format == "libsvm" else model.n_vectors


def as_model(source: Any) -> KernelModel:
    """Return a model from a KernelModel, a path, a fitted estimator of scikit-learn, or what holds a model.

    The result of ``compress()`` holds one as ``model``, our fitted meta-estimators as ``model_``.
    """
    for held in (source, getattr(source, "model", None), getattr(source, "model_", None)):
        if isinstance(held, KernelModel):
            return held
    if isinstance(source, (str, os.PathLike)):
        return load(source)
    return from_estimator(source)


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise FormatError(f"unknown format {name!r}; svmpress has {', '.join(FORMATS)}")
    return FORMATS[name]


def _known_suffixes() -> str:
    return ", ".join(suffix for f in FORMATS.values() for suffix in f.suffixes)


def _by_suffix(path: Path) -> str | None:
    suffix = path.suffix.lower()
    if suffix in _PLANNED:
        raise FormatError(f"{path}: {_PLANNED[suffix]} files are not supported yet; use {_known_suffixes()}")
    return next((name for name, f in FORMATS.items() if suffix in f.suffixes), None)


def _by_contents(path: Path, head: bytes) -> str:
    if head.startswith(b"PK"):
        return "native"
    if b"\0" in head:
        raise FormatError(f"{path} is a binary file of no kind that svmpress reads; it reads {_known_suffixes()}")
    return "libsvm"
