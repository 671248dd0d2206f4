"""Which files are meant: files as they are named, the data files of a folder, and those that a pattern matches."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from svmpress.data.source import has_data_suffix
from svmpress.errors import InputError

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A name of files, or several."""


def data_files(names: Paths) -> list[str]:
    """Return the data files that one name stands for, or several, in order; ``-`` is standard input.

    A folder stands for the data files right in it, known by their suffixes, in the order of their names; a name with
    ``*``, ``?`` or ``[`` that is no file for those that match, ``**`` going through folders.

    Raises
    ------
    InputError
        When a folder has no data file, or nothing matches.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("b.csv", "a.csv", "notes.txt"):
    ...     _ = (folder / name).write_text("1,2")
    >>> [Path(name).name for name in data_files(folder)]
    ['a.csv', 'b.csv']
    """
    found: list[str] = []
    for name in map(str, [names] if isinstance(names, str | os.PathLike) else names):
        if name != "-" and os.path.isdir(name):
            files = (p for p in Path(name).iterdir() if p.is_file() and has_data_suffix(p) and p.name[0] != ".")
            inside = sorted(map(str, files))
            if not inside:
                raise InputError(
                    f"the folder {name} has no data file: none has a suffix such as .csv, .parquet or .svm"
                )
            found += inside
        elif not os.path.exists(name) and any(c in name for c in "*?["):
            matching = sorted(p for p in glob.glob(name, recursive=True) if Path(p).is_file())
            if not matching:
                raise InputError(f"no file matches {name}")
            found += matching
        else:
            found.append(name)
    if not found:
        raise InputError("no data file is named")
    return found


def sizes_of(files: Sequence[str]) -> list[int | None]:
    """Return how many bytes each file has; None for what is no file, such as a pipe."""
    return [os.path.getsize(name) if name != "-" and os.path.isfile(name) else None for name in files]
