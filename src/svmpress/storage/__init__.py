"""Files and folders that appear whole or not at all, and what names them."""

from svmpress.storage.files import PathLike, replacing
from svmpress.storage.folders import replacing_folder

__all__ = ["PathLike", "replacing", "replacing_folder"]
