"""``compress()``: budgets, sizes, and what comes out."""

from svmpress.compression.budget import DEFAULT_RATIO, Budget
from svmpress.compression.compressor import DEFAULT_MEMORY, METHODS, compress
from svmpress.compression.probabilities import ProbabilityCheck
from svmpress.compression.result import Compression, ManyCompressions, Status
from svmpress.compression.sizing import SizePoint

__all__ = [
    "DEFAULT_MEMORY",
    "DEFAULT_RATIO",
    "METHODS",
    "Budget",
    "Compression",
    "ManyCompressions",
    "ProbabilityCheck",
    "SizePoint",
    "Status",
    "compress",
]
