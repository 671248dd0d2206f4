"""Files and folders that appear whole or not at all, what names them, and what those of somebody else may cost."""

from svmpress.storage.files import PathLike, flush_folder, replacing
from svmpress.storage.folders import replacing_folder
from svmpress.storage.limits import Limits, current_limits, limits
from svmpress.storage.locks import locked_folder
from svmpress.storage.reading import reading

__all__ = [
    "Limits",
    "PathLike",
    "current_limits",
    "flush_folder",
    "limits",
    "locked_folder",
    "reading",
    "replacing",
    "replacing_folder",
]
