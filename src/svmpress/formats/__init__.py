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
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

from svmpress.decoders import PairVote
from svmpress.errors import FormatError, InputError, MissingExtraError
from svmpress.formats import libsvm, native, onnx_read, onnx_write, opencv, pmml, skops_files, svmlight, vmaf
from svmpress.formats.one_way import read_only
from svmpress.formats.ranges import beside
from svmpress.formats.scales import companions
from svmpress.model import KernelExpansion, KernelModel
from svmpress.storage import PathLike, reading

__all__ = [
    "FORMATS",
    "Format",
    "as_model",
    "beside",
    "can_convert",
    "companions",
    "format_of",
    "from_estimator",
    "libsvm",
    "load",
    "merged",
    "obstacles",
    "save",
    "save_cost",
    "to_estimator",
]


class Format(NamedTuple):
    """A file format: its functions, and the suffixes of its files.

    ``write`` and ``obstacles`` take the ``options`` that the format has, by name; to write, it may need the package
    that an ``extra`` of the same name brings. ``recognises`` tells whether the first bytes of a file are those of this
    format, where more than the suffix tells; ``read`` may take ``ranges``, a file of ``svm-scale``.
    """

    read: Callable[..., KernelModel]
    write: Callable[..., None]
    obstacles: Callable[..., list[str]]
    suffixes: tuple[str, ...]
    options: tuple[str, ...] = ()
    extra: str | None = None
    recognises: Callable[[bytes], bool] | None = None
    takes_ranges: bool = False


FORMATS: dict[str, Format] = {
    "native": Format(native.read, native.write, native.obstacles, (".svmpress",)),
    "libsvm": Format(libsvm.read, libsvm.write, libsvm.obstacles, (".model", ".libsvm"), takes_ranges=True),
    "opencv": Format(
        opencv.read, opencv.write, opencv.obstacles, (".xml", ".yml", ".yaml"), recognises=opencv.recognises
    ),
    "vmaf": Format(vmaf.read, vmaf.write, vmaf.obstacles, (".json",), recognises=vmaf.recognises),
    "svmlight": Format(
        svmlight.read,
        svmlight.write,
        svmlight.obstacles,
        (".svmlight",),
        recognises=svmlight.recognises,
        takes_ranges=True,
    ),
    "skops": Format(skops_files.read, skops_files.write, skops_files.obstacles, (".skops",)),
    "onnx": Format(
        onnx_read.read,
        onnx_write.write,
        onnx_write.obstacles,
        (".onnx",),
        options=("opset", "dtype", "probabilities"),
        extra="onnx",
    ),
    "pmml": Format(pmml.read, *read_only("PMML"), (".pmml",), recognises=pmml.recognises),
}
"""Every file format by name."""

_CODE = (".c", ".h")
_HEAD = 4096
_PICKLE_SUFFIXES = (".pkl", ".pickle", ".joblib")
_PICKLE_HEADS = tuple(b"\x80" + bytes([protocol]) for protocol in range(2, 6))


def load(
    path: PathLike, format: str | None = None, *, ranges: PathLike | None = None, trust_pickle: bool = False
) -> KernelModel:
    """Read a model file.

    Parameters
    ----------
    path : path
    format : str, optional
        One of :data:`FORMATS`. By default what the first bytes say, where they do, else the suffix.
    ranges : path, optional
        The range file of ``svm-scale`` that belongs to a LibSVM model; "none": apply none. By default the one beside
        the model is found by its name: ``x.model.range``, then ``x.range`` for ``x.model``.
    trust_pickle : bool
        Whether to read a pickle or joblib file of a fitted estimator. Reading one runs whatever code is in it, with
        your rights: only for files that you or people you trust have written.

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
            head = file.read(_HEAD)
        if path.suffix.lower() in _PICKLE_SUFFIXES or head.startswith(_PICKLE_HEADS):
            if trust_pickle:
                return _unpickled(path)
            raise FormatError(
                f"{path} is a pickle, and svmpress does not read pickles: load it yourself and pass the estimator, "
                "or say that you trust it (--trust-pickle, trust_pickle=True): reading one runs the code in it"
            )
        name = format or _by_signature(head) or _by_suffix(path) or _by_contents(path, head)
        form = _format(name)
        if ranges is not None and not form.takes_ranges:
            raise InputError(f"{path} is of {name}: a range file of svm-scale is for models of LibSVM and SVM-light")
        chosen = () if ranges is None else ("none" if os.fspath(ranges) == "none" else Path(ranges),)
        return form.read(path, *chosen)


def _unpickled(path: Path) -> KernelModel:
    """Return the model of a pickled estimator, after whatever code the file holds has run."""
    import joblib  # comes with scikit-learn, and reads plain pickles too

    try:
        estimator = joblib.load(path)
    except OSError:
        raise
    except Exception as e:  # a pickle can raise anything
        raise FormatError(f"{path} could not be unpickled: {type(e).__name__}: {e}") from e
    return as_model(estimator) if not isinstance(estimator, (str, os.PathLike)) else from_estimator(estimator)


def save(model: Any, path: PathLike, format: str | None = None, **options: Any) -> None:
    """Write a model to a file, whole or not at all.

    Parameters
    ----------
    model : KernelModel, or what :func:`as_model` makes one of
    path : path
    format : str, optional
        One of :data:`FORMATS`. By default the suffix says it: ``.svmpress`` keeps everything of a model; ``.model``
        and ``.libsvm`` are read by LibSVM's programs, ``.xml`` and ``.yml`` by OpenCV, ``.svmlight`` by SVM-light's,
        ``.skops`` by skops, ``.json`` is VMAF's, and ``.onnx`` is a graph for onnxruntime and the like, which is not
        read back (those of converters of scikit-learn are). See :func:`obstacles` for what a format cannot hold and
        :func:`save_cost` for what it costs.
    **options
        Of an ONNX file: ``opset``, 13 to 17 (default: 13), ``dtype``, "float32" (default) or "float64", and
        ``probabilities``, whether they are in it where the model has them (default: True).

    Raises
    ------
    FormatError
        When the format cannot hold the model, or none has that suffix.
    InputError
        When the file cannot be written; what was there before is untouched. When the format has no such option.
    MissingExtraError
        When the format needs a package that is not installed.
    """
    name = format_of(path, format)
    path, model = Path(path), as_model(model)
    found = obstacles(model, name, **options)
    if found:
        raise FormatError(f"cannot save the model as {name}: {'; '.join(found)}")
    _format(name).write(model, path, **options)


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
    MissingExtraError
        When writing it needs a package that is not installed.
    """
    name = format or _by_suffix(Path(path))
    if name is None:
        raise FormatError(f"the suffix of {path} names no format: use one of {_known_suffixes()}, or name the format")
    extra = _format(name).extra
    if extra is not None and find_spec(extra) is None:
        raise MissingExtraError(f"writing {name} files", extra, extra)
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


def can_convert(estimator: Any) -> bool:
    """Return whether :func:`from_estimator` takes this kind of estimator, with every step of it."""
    from svmpress.formats import from_sklearn

    return from_sklearn.can_convert(estimator)


def merged(machines: Sequence[KernelExpansion]) -> KernelExpansion:
    """Return machines of one kernel and one output each as one expansion; equal vectors are stored once."""
    from svmpress.formats import from_sklearn

    return from_sklearn.merged(machines)


def to_estimator(model: Any, *, sparse: bool | None = None, multiclass: Literal["ovo", "ovr"] | None = None) -> Any:
    """Return a model as a fitted estimator of scikit-learn.

    Parameters
    ----------
    model : KernelModel, or what :func:`as_model` makes one of
    sparse : bool, optional
        Whether the estimator accepts sparse rows; by default when the vectors of the model are sparse.
    multiclass : "ovo" or "ovr", optional
        What becomes of a model with one value a class: an SVC, or a OneVsRestClassifier of SVCs, which has the same
        ``decision_function`` as the model but which the usual converter to ONNX gets wrong. By default an SVC, unless
        the model comes from a OneVsRestClassifier, or that is much smaller.

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

    return to_sklearn.converted(as_model(model), sparse, multiclass)


def obstacles(model: KernelModel, format: str, **options: Any) -> list[str]:
    """Return what ``format`` cannot hold of a model, asked with the options that it would be saved with.

    Formats are those of :func:`save`, and "sklearn" for :func:`to_estimator`.
    """
    if format != "sklearn":
        known = _format(format).options
        for name in options:
            if name not in known:
                raise InputError(f"the {format} format has no option {name!r}; it has {', '.join(known) or 'none'}")
        return _format(format).obstacles(model, **options)
    from svmpress.formats import to_sklearn

    return to_sklearn.obstacles(model)


def save_cost(model: KernelModel, format: str) -> int:
    """Return how many vectors a model has once saved: more than now where a format needs copies.

    A vector of a LibSVM file serves only the pairs of one class. A one-vs-one model whose machines share their
    vectors, and a one-vs-rest model, need several copies of each. So does a one-vs-one model in a skops file, which
    holds an SVC.
    """
    _format(format)
    by_class = format == "libsvm" or (format == "skops" and isinstance(model.decoder, PairVote))
    return libsvm.cost(model) if by_class else model.n_vectors


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
    if suffix in _CODE:
        raise FormatError(f"{path}: C code is a folder of files: svmpress export MODEL -o FOLDER --target c")
    return next((name for name, f in FORMATS.items() if suffix in f.suffixes), None)


def _by_signature(head: bytes) -> str | None:
    return next((name for name, f in FORMATS.items() if f.recognises is not None and f.recognises(head)), None)


def _by_contents(path: Path, head: bytes) -> str:
    if head.startswith(b"PK"):
        return "native"
    if b"\0" in head:
        raise FormatError(f"{path} is a binary file of no kind that svmpress reads; it reads {_known_suffixes()}")
    return "libsvm"
