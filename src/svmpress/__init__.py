"""Compress a trained kernel SVM to a few percent of its support vectors.

>>> from sklearn.datasets import load_digits
>>> from sklearn.svm import SVC
>>> import svmpress
>>> X, y = load_digits(return_X_y=True)
>>> result = svmpress.compress(SVC(gamma=0.001).fit(X, y), X, y, ratio=0.05)
>>> result.model.n_vectors
41
"""

from svmpress.budget import Budget
from svmpress.compression import Compression, Status, compress
from svmpress.decoders import Argmax, Identity, PairDAG, PairVote, Sign
from svmpress.errors import FormatError, InputError, MissingExtraError, SvmpressError
from svmpress.estimators import CompressedClassifier, CompressedOutlierDetector, CompressedRegressor
from svmpress.formats import from_estimator, load, save, to_estimator
from svmpress.kernels import RBF, ChiSquared, Laplacian, Linear, Polynomial, Sigmoid
from svmpress.model import KernelExpansion, KernelModel, Scaling
from svmpress.tuning import SearchResult, SearchStatus, draw_front, search

__version__ = "0.1.0"

__all__ = [
    "RBF",
    "Argmax",
    "Budget",
    "ChiSquared",
    "CompressedClassifier",
    "CompressedOutlierDetector",
    "CompressedRegressor",
    "Compression",
    "FormatError",
    "Identity",
    "InputError",
    "KernelExpansion",
    "KernelModel",
    "Laplacian",
    "Linear",
    "MissingExtraError",
    "PairDAG",
    "PairVote",
    "Polynomial",
    "Scaling",
    "SearchResult",
    "SearchStatus",
    "Sigmoid",
    "Sign",
    "Status",
    "SvmpressError",
    "compress",
    "draw_front",
    "from_estimator",
    "load",
    "save",
    "search",
    "to_estimator",
]
