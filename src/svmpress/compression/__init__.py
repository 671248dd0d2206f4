"""``compress()`` and ``compress_path()``: budgets, sizes, what comes out, and reports of it."""

from svmpress.compression.budget import DEFAULT_RATIO, Budget
from svmpress.compression.compressor import DEFAULT_MEMORY, METHODS, compress, refuse_ratio_only
from svmpress.compression.files import rows_of_file
from svmpress.compression.measuring import Measured
from svmpress.compression.path import CompressionPath, compress_path
from svmpress.compression.probabilities import ProbabilityCheck
from svmpress.compression.report import Subject, write_page
from svmpress.compression.result import Compression, ManyCompressions, Status
from svmpress.compression.sizing import SizePoint

__all__ = [
    "DEFAULT_MEMORY",
    "DEFAULT_RATIO",
    "METHODS",
    "Budget",
    "Compression",
    "CompressionPath",
    "ManyCompressions",
    "Measured",
    "ProbabilityCheck",
    "SizePoint",
    "Status",
    "Subject",
    "compress",
    "compress_path",
    "refuse_ratio_only",
    "rows_of_file",
    "write_page",
]
