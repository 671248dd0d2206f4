"""Which vectors to start from."""

from svmpress.select.bounded import ElasticNetStatus
from svmpress.select.columns import DenseColumns, DesignColumns, GramColumns
from svmpress.select.elastic_net import ElasticNet, ElasticNetFit, ElasticNetPath
from svmpress.select.lars import lars_path
from svmpress.select.lars_svm import lars_svm
from svmpress.select.path import LarsPath, Selected, SelectionPath, SelectionStatus
from svmpress.select.reduced_svm import ReducedFit, reduced_svm

__all__ = [
    "DenseColumns",
    "DesignColumns",
    "ElasticNet",
    "ElasticNetFit",
    "ElasticNetPath",
    "ElasticNetStatus",
    "GramColumns",
    "LarsPath",
    "ReducedFit",
    "Selected",
    "SelectionPath",
    "SelectionStatus",
    "lars_path",
    "lars_svm",
    "reduced_svm",
]
