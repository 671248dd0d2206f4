"""Compress a trained kernel SVM to a few percent of its support vectors.

>>> from sklearn.datasets import load_digits
>>> from sklearn.svm import SVC
>>> import svmpress
>>> X, y = load_digits(return_X_y=True)
>>> result = svmpress.compress(SVC(gamma=0.001).fit(X, y), X, y, ratio=0.05)
>>> result.model.n_vectors
41
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for those who check types and complete names
    from svmpress.compression import Budget, Compression, CompressionPath, Status, compress, compress_path
    from svmpress.decoders import Argmax, Identity, PairDAG, PairVote, Sign
    from svmpress.errors import FormatError, InputError, MissingExtraError, SvmpressError, SvmpressWarning
    from svmpress.estimators import CompressedClassifier, CompressedOutlierDetector, CompressedRegressor
    from svmpress.exports import QuantizedModel, export_c, export_page, export_web, quantize, to_torch
    from svmpress.formats import from_estimator, load, save, to_estimator
    from svmpress.kernels import RBF, ChiSquared, Laplacian, Linear, Polynomial, Sigmoid
    from svmpress.model import KernelExpansion, KernelModel, Scaling
    from svmpress.storage import Limits, limits
    from svmpress.tuning import SearchResult, SearchStatus, draw_front, search

__version__ = "0.2.0"

_HOMES = {
    "compression": ["Budget", "Compression", "CompressionPath", "Status", "compress", "compress_path"],
    "decoders": ["Argmax", "Identity", "PairDAG", "PairVote", "Sign"],
    "errors": ["FormatError", "InputError", "MissingExtraError", "SvmpressError", "SvmpressWarning"],
    "estimators": ["CompressedClassifier", "CompressedOutlierDetector", "CompressedRegressor"],
    "exports": ["QuantizedModel", "export_c", "export_page", "export_web", "quantize", "to_torch"],
    "formats": ["from_estimator", "load", "save", "to_estimator"],
    "kernels": ["RBF", "ChiSquared", "Laplacian", "Linear", "Polynomial", "Sigmoid"],
    "model": ["KernelExpansion", "KernelModel", "Scaling"],
    "storage": ["Limits", "limits"],
    "tuning": ["SearchResult", "SearchStatus", "draw_front", "search"],
}
"""Where public names live; a package is loaded when a name of it is first asked for."""

_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "RBF",
    "Argmax",
    "Budget",
    "ChiSquared",
    "CompressedClassifier",
    "CompressedOutlierDetector",
    "CompressedRegressor",
    "Compression",
    "CompressionPath",
    "FormatError",
    "Identity",
    "InputError",
    "KernelExpansion",
    "KernelModel",
    "Laplacian",
    "Limits",
    "Linear",
    "MissingExtraError",
    "PairDAG",
    "PairVote",
    "Polynomial",
    "QuantizedModel",
    "Scaling",
    "SearchResult",
    "SearchStatus",
    "Sigmoid",
    "Sign",
    "Status",
    "SvmpressError",
    "SvmpressWarning",
    "compress",
    "compress_path",
    "draw_front",
    "export_c",
    "export_page",
    "export_web",
    "from_estimator",
    "limits",
    "load",
    "quantize",
    "save",
    "search",
    "to_estimator",
    "to_torch",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'svmpress' has no attribute {name!r}")
    value = getattr(import_module(f"svmpress.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
