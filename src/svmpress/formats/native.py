"""The native format: a zip of ``schema.json`` and ``.npy`` arrays that keeps everything of a model, bit by bit.

``schema.json`` names the kernel and its parameters, the decoder, the task, the provenance, and the features where they
have names; the arrays are the members ``vectors.npy`` (or its three CSR parts), ``coef.npy``, ``intercept.npy``, and,
where the model has them, ``coef_mask.npy``, ``classes.npy``, ``shift.npy``, ``factor.npy`` and
``probability/<name>.npy``. Any zip tool and ``numpy.load`` can look inside. The schema carries an integer ``protocol``;
readers of old ones are kept.

There is no pickle anywhere, and a file is untrusted: members are stored without compression, so that no array can be
larger than the file, and the shape and type that an array claims are checked against its bytes before it is made.
The same model gives the same bytes.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from svmpress.decoders import Argmax, Decoder, Identity, PairDAG, PairVote, Sign
from svmpress.errors import FormatError, InputError, shown
from svmpress.kernels import kernel_by_name
from svmpress.model import KernelExpansion, KernelModel, Scaling
from svmpress.numerics import is_csr, refuse_bad_pointers
from svmpress.storage import current_limits, replacing

PROTOCOL = 1
"""The protocol that :func:`write` writes, and the newest that :func:`read` reads."""

_DECODERS: dict[str, type[Decoder]] = {
    "identity": Identity,
    "sign": Sign,
    "argmax": Argmax,
    "pair_vote": PairVote,
    "pair_dag": PairDAG,
}
_OPTIONS: dict[str, tuple[Any, ...]] = {
    "zero_class": (0, 1),
    "shape": ("ovr", "ovo"),
    "break_ties": (False, True),
}
_MAX_SCHEMA = 16 * 2**20
_LABEL_KINDS = "iufbUS"


# ---------------------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------------------


def obstacles(model: KernelModel) -> list[str]:
    """Return what the native format cannot hold of this model; empty but for exotic types."""
    found = []
    f = model.expansion
    for name, a in (("vectors", f.vectors), ("coef", f.coef), ("intercept", f.intercept)):
        if a.dtype not in (np.float32, np.float64):
            found.append(f"{name} of type {a.dtype}: only float32 and float64 are kept")
    labels = model.classes_
    if labels is not None and labels.dtype.kind not in _LABEL_KINDS and not _plain(labels.tolist()):
        found.append(f"class labels of type {labels.dtype}: only numbers and text are kept")
    return found


def _plain(values: list[Any]) -> bool:
    return all(isinstance(v, (str, int, float)) for v in values)


def write(model: KernelModel, path: Path) -> None:
    """Write a model without :func:`obstacles`."""
    schema, arrays = _take_apart(model)
    with replacing(path) as (file,), zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        text = json.dumps(schema, indent=1, ensure_ascii=False, default=lambda scalar: scalar.item()) + "\n"
        archive.writestr(zipfile.ZipInfo("schema.json"), text.encode("utf-8", "surrogatepass"))
        for name, a in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=a.nbytes > 2**31) as member:
                np.lib.format.write_array(member, a, version=(1, 0), allow_pickle=False)


def _take_apart(model: KernelModel) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    f, decoder = model.expansion, model.decoder
    schema: dict[str, Any] = {
        "format": "svmpress",
        "protocol": PROTOCOL,
        "task": model.task,
        "kernel": {"name": f.kernel.name, "params": f.kernel.params},
        "decoder": {"name": next(name for name, kind in _DECODERS.items() if type(decoder) is kind)},
        "vectors": {"layout": "csr" if is_csr(f.vectors) else "dense", "shape": list(f.vectors.shape)},
        "probability": list(model.probability),
        "provenance": dict(model.provenance),
    }
    if model.feature_names is not None:
        schema["feature_names"] = list(model.feature_names)
    schema["decoder"] |= {k: getattr(decoder, k) for k in _OPTIONS if hasattr(decoder, k)}
    arrays: dict[str, NDArray[Any]] = {"coef": f.coef, "intercept": f.intercept}
    if is_csr(f.vectors):
        arrays |= {f"vectors_{part}": getattr(f.vectors, part) for part in ("data", "indices", "indptr")}
    else:
        arrays["vectors"] = f.vectors
    if f.coef_mask is not None:
        arrays["coef_mask"] = f.coef_mask
    if decoder.classes is not None and decoder.classes.dtype.kind in _LABEL_KINDS:
        arrays["classes"] = decoder.classes
    elif decoder.classes is not None:
        schema["decoder"]["classes"] = decoder.classes.tolist()
    if model.scaling is not None:
        arrays["factor"] = model.scaling.factor
        if model.scaling.shift is not None:
            arrays["shift"] = model.scaling.shift
    arrays |= {f"probability/{name}": np.asarray(a) for name, a in model.probability.items()}
    return schema, arrays


# ---------------------------------------------------------------------------------------------------------
# Reading
# ---------------------------------------------------------------------------------------------------------


def read(path: Path) -> KernelModel:
    """Return the model of a native file.

    Raises
    ------
    FormatError
        When the file is truncated, damaged, of a newer protocol, or no such file at all.
    """
    with path.open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                members = _Members(archive, path.stat().st_size)
                return _put_together(_schema(path, members), members)
        except FormatError:
            raise
        except zipfile.BadZipFile as e:
            raise FormatError(f"{path} is not a complete svmpress file: {shown(str(e))}") from e
        except InputError as e:
            raise FormatError(f"{path}: {e}") from e


class _Members(Mapping[str, NDArray[Any]]):
    """The arrays of a file by name, each checked and made when asked for."""

    def __init__(self, archive: zipfile.ZipFile, size: int) -> None:
        self.archive, self.size = archive, size
        self.names = {n.removesuffix(".npy") for n in archive.namelist() if n.endswith(".npy")}

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def bytes(self, name: str) -> bytes:
        """Return a member, which must be stored as it is and fit into the file before memory is taken for it."""
        info = self.archive.getinfo(name)
        if info.compress_type != zipfile.ZIP_STORED:
            raise InputError(f"{name} is compressed, which members of svmpress files never are")
        if info.file_size != info.compress_size or info.file_size > self.size:
            raise InputError(f"{name} is not as long as it says")
        return self.archive.read(info)

    def __getitem__(self, name: str) -> NDArray[Any]:
        data = self.bytes(f"{name}.npy")
        stream = io.BytesIO(data)
        if np.lib.format.read_magic(stream) != (1, 0):
            raise InputError(f"{name}.npy has another version of the .npy format")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        if dtype.kind not in _LABEL_KINDS:
            raise InputError(f"{name}.npy holds neither numbers nor text")
        count, start = math.prod(shape), stream.tell()
        if any(n < 0 for n in shape) or count * dtype.itemsize != len(data) - start:
            raise InputError(f"{name}.npy is not as long as it says")
        flat = np.frombuffer(data, dtype, count, start)
        return flat.reshape(shape, order="F" if fortran else "C")


def _schema(path: Path, members: _Members) -> dict[str, Any]:
    if "schema.json" not in members.archive.namelist():
        raise FormatError(f"{path} is a zip file, but not of svmpress: it has no schema.json")
    text = members.bytes("schema.json")
    schema = json.loads(text) if len(text) <= _MAX_SCHEMA else None
    if not isinstance(schema, dict) or schema.get("format") != "svmpress":
        raise FormatError(f"{path} is a zip file, but not of svmpress: see its schema.json")
    protocol = schema.get("protocol")
    if protocol != PROTOCOL:
        raise FormatError(
            f"{path} has protocol {str(protocol)[:20]} of the svmpress format, and this version of svmpress reads "
            f"protocol {PROTOCOL}: upgrade svmpress"
        )
    return schema


def _put_together(schema: dict[str, Any], arrays: _Members) -> KernelModel:
    kernel = schema["kernel"]
    expansion = KernelExpansion(
        kernel_by_name(kernel["name"], **kernel["params"]),
        _vectors(schema["vectors"], arrays),
        arrays["coef"],
        arrays["intercept"],
        arrays.get("coef_mask"),
    )
    scaling = Scaling(arrays.get("shift"), arrays["factor"]) if "factor" in arrays else None
    if schema["task"] not in ("classification", "regression", "outlier"):
        raise InputError(f"unknown task {str(schema['task'])[:40]!r}")
    probability = {str(name): arrays[f"probability/{name}"] for name in schema["probability"]}
    decoder = _decoder(schema["decoder"], arrays)
    told = (probability, schema["provenance"], _feature_names(schema.get("feature_names")))
    return KernelModel(expansion, decoder, schema["task"], scaling, *told)


def _feature_names(names: Any) -> tuple[str, ...] | None:
    """Return the names of the features; files of older versions have none."""
    if names is None:
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError("the names of its features are not text")
    return tuple(names)


def _vectors(schema: dict[str, Any], arrays: _Members) -> Any:
    if schema["layout"] == "dense":
        return arrays["vectors"]
    m, d = schema["shape"]
    current_limits().check("features", d, "the file")
    parts = [arrays[f"vectors_{part}"] for part in ("data", "indices", "indptr")]
    if any(part.dtype.kind != kind for part, kind in zip(parts, "fii", strict=True)):
        raise InputError("the sparse vectors are not numbers with integer positions")
    if any(part.ndim != 1 for part in parts):
        raise InputError("the sparse vectors are not rows of numbers with positions")
    refuse_bad_pointers(parts[2], "the CSR matrix of the vectors")
    vectors = sparse.csr_array(tuple(parts), shape=(m, d))
    vectors.check_format(full_check=True)  # positions outside the matrix would be read from foreign memory
    return vectors


def _decoder(schema: dict[str, Any], arrays: _Members) -> Decoder:
    kind = _DECODERS[schema["name"]]
    options = {k: schema[k] for k in _OPTIONS if k in kind.__dataclass_fields__}
    for key, allowed in _OPTIONS.items():
        if key in options and options[key] not in allowed:
            raise InputError(f"{key} of the decoder is {str(options[key])[:40]!r}, not one of {allowed}")
    if kind is Identity:
        return Identity()
    labels = arrays["classes"] if "classes" in arrays else np.array(schema["classes"], dtype=object)
    return kind(labels, **options)  # type: ignore[call-arg]
