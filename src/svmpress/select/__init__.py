"""Which vectors to start from."""

from svmpress.select.bounded import ElasticNetStatus
from svmpress.select.columns import DenseColumns, DesignColumns, GramColumns
from svmpress.select.elastic_net import ElasticNet, ElasticNetFit, ElasticNetPath
from svmpress.select.hinge import fit_squared_hinge
from svmpress.select.lars import lars_path
from svmpress.select.lars_svm import Target, lars_svm
from svmpress.select.path import LarsPath, Selected, SelectionPath, SelectionStatus
from svmpress.select.reduced_svm import ReducedFit, reduced_svm
from svmpress.select.starts import elastic_net_rows, kmeans_centres, lars_rows

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
    "Target",
    "elastic_net_rows",
    "fit_squared_hinge",
    "kmeans_centres",
    "lars_path",
    "lars_rows",
    "lars_svm",
    "reduced_svm",
]
