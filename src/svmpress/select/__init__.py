"""Which vectors to start from."""

from svmpress.select.columns import DenseColumns, GramColumns
from svmpress.select.lars import lars_path
from svmpress.select.lars_svm import lars_svm
from svmpress.select.path import LarsPath, Selected, SelectionPath, SelectionStatus

__all__ = [
    "DenseColumns",
    "GramColumns",
    "LarsPath",
    "Selected",
    "SelectionPath",
    "SelectionStatus",
    "lars_path",
    "lars_svm",
]
