"""Files that appear whole or not at all, and journals that survive a kill."""

from svmpress.storage.files import PathLike, replacing

__all__ = [
    "PathLike",
    "replacing",
]
