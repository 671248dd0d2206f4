"""skops files: a fitted estimator of scikit-learn as JSON and arrays in a zip, without pickle.

What is read is rebuilt by skops from a list of types that it trusts: those of scikit-learn, NumPy and SciPy, and plain
Python. A file with any other is refused with their names, and no code of the file's own is ever run. Before skops sees
a file, its arrays are held against its size: none may claim or unpack to more than is there.

What is written is the estimator of :func:`svmpress.formats.to_estimator`, under names that depend on nothing but the
model: skops itself numbers its nodes by where they happen to be in memory.

Needs ``skops``, the extra ``skops``.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from svmpress.errors import FormatError, InputError, MissingExtraError, shown
from svmpress.model import KernelModel
from svmpress.storage import current_limits, replacing

_SCHEMA = "schema.json"
_SPARSE = ("scipy.sparse._csr.csr_matrix", "scipy.sparse._csr.csr_array")
"""Types that skops leaves to its users to trust, and that hold nothing but arrays of numbers."""

_DATE = (1980, 1, 1, 0, 0, 0)


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as e:
        raise MissingExtraError("reading and writing skops files", "skops", "skops") from e
    return skops.io


# ---------------------------------------------------------------------------------------------------------
# Reading
# ---------------------------------------------------------------------------------------------------------


def read(path: Path) -> KernelModel:
    """Return the model of a skops file.

    Raises
    ------
    FormatError
        When it is none, is damaged, or holds types that skops does not trust or an estimator that is no SVM.
    MissingExtraError
        Without the package skops.
    """
    skops_io, content = _skops(), path.read_bytes()
    try:
        _check(path, content)
        named = skops_io.get_untrusted_types(data=content)
        unknown = [name for name in named if name not in _SPARSE]
        if unknown:
            raise FormatError(
                f"{path} holds {shown(', '.join(unknown))}, which skops does not trust: review that, load the file "
                "yourself (skops.io.load(file, trusted=...)) and pass the estimator"
            )
        estimator = skops_io.loads(content, trusted=named)
    except FormatError:
        raise
    except MemoryError as e:
        raise InputError(f"there is not enough memory to read {path}") from e
    except Exception as e:  # skops checks little of what it reads, and fails in as many ways as Python has
        raise FormatError(f"{path} is not a skops file, or is damaged: {type(e).__name__}: {shown(str(e), 120)}") from e
    return _converted(path, estimator)


def _converted(path: Path, estimator: Any) -> KernelModel:
    from svmpress.formats import from_sklearn

    try:
        return from_sklearn.converted(estimator)
    except InputError as e:
        raise FormatError(f"{path}: {e}") from e
    except Exception as e:  # attributes that no fit would have set
        what = f"{type(estimator).__name__}: {type(e).__name__}: {shown(str(e), 120)}"
        raise FormatError(f"{path} holds a damaged {what}") from e


def _check(path: Path, content: bytes) -> None:
    """Refuse a zip that would unpack to far more than it is, or whose arrays claim more than they hold."""
    unpacked = 0
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if _SCHEMA not in archive.namelist():
            raise FormatError(f"{path} is a zip file without {_SCHEMA}, and so not of skops")
        for info in archive.infolist():
            unpacked += info.file_size
            current_limits().check_memory(unpacked, len(content), path)
            if info.filename.endswith(".npy"):
                _check_array(path, archive.read(info))
            elif info.filename.endswith(".npz"):
                inner = archive.read(info)
                with zipfile.ZipFile(io.BytesIO(inner)) as parts:
                    unpacked += sum(part.file_size for part in parts.infolist())
                    current_limits().check_memory(unpacked, len(content), path)
                    for part in parts.infolist():
                        _check_array(path, parts.read(part))


def _check_array(path: Path, content: bytes) -> None:
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
    shape, _, dtype = header(stream)
    size = dtype.itemsize
    for length in shape:
        size *= length
    if dtype.hasobject or size != len(content) - stream.tell():
        raise FormatError(f"{path}: an array claims other bytes than it has")


# ---------------------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------------------


def obstacles(model: KernelModel) -> list[str]:
    """Return what no estimator of scikit-learn can do of this model; empty when it can be written."""
    from svmpress.formats import to_sklearn

    found = to_sklearn.obstacles(model)
    if model.classes_ is not None and np.asarray(model.classes_).dtype.hasobject:
        found.append("skops keeps no class labels that are Python objects: use text or numbers")
    return found


def write(model: KernelModel, path: Path) -> None:
    """Write a model without :func:`obstacles` as a fitted estimator."""
    from svmpress.formats import to_sklearn

    content = _renamed(_skops().dumps(to_sklearn.converted(model, None)))
    with replacing(path) as (file,):
        file.write(content)


def _renamed(content: bytes) -> bytes:
    """Return a skops file with nodes and arrays numbered in the order in which the schema names them."""
    names: dict[str, str] = {}
    count = 0

    def rename(node: Any) -> Any:
        nonlocal count
        if isinstance(node, list):
            return [rename(item) for item in node]
        if not isinstance(node, dict):
            return node
        changed: dict[str, Any] = {}
        for key, value in node.items():
            if key == "__id__":
                count += 1
                changed[key] = count
            elif key == "file":
                changed[key] = names.setdefault(value, f"{len(names) + 1}{Path(value).suffix}")
            else:
                changed[key] = rename(value)
        return changed

    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
        schema = rename(json.loads(old.read(_SCHEMA)))
        for before, after in names.items():
            new.writestr(zipfile.ZipInfo(after, _DATE), old.read(before))
        new.writestr(zipfile.ZipInfo(_SCHEMA, _DATE), json.dumps(schema, indent=2))
    return stream.getvalue()
