"""LibSVM's text format: C-SVC, nu-SVC, one-class, epsilon-SVR and nu-SVR, with the kernels that LibSVM has.

The grammar is in :mod:`~svmpress.formats.libsvm_text`, the layout of the coefficients in
:mod:`~svmpress.formats.layout`; here the two meet our model. LibSVM's values are ``sum - rho``, and with two classes a
positive one means the first label, so our coefficients are the negated ones.

What a file keeps of a model, and how:

- Numbers have as many digits, up to 17, as it takes to read the same number back. LibSVM itself writes 8 digits of
  its vectors, too few for optimised ones.
- When the last feature is zero in every vector, the first vector says so (``d:0``): the number of features survives.
- Answers are those of ``svm-predict``: votes, the first class of equal votes. One-vs-rest becomes pairwise
  differences. Vectors that serve several classes are copied; :func:`cost` says beforehand how many there will be.
- An input scaling has no place in the format. It goes to a range file of ``svm-scale`` beside the model
  (``big.model.range``), the two are replaced together and belong together: see :mod:`~svmpress.formats.pair`. At
  reading that file is applied, or the one that LibSVM's own ``easy.py`` leaves (``big.range``), or the scales of R's
  ``write.svm``: see :mod:`~svmpress.formats.scales`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Decoder, Floats, Identity, PairDAG, PairVote, Sign
from svmpress.errors import FormatError, InputError
from svmpress.formats.layout import Packed, check_size, pack, unpack
from svmpress.formats.libsvm_text import KERNELS, PROBABILITY, TASKS, Parsed, parse
from svmpress.formats.pair import read_pair, write_pair
from svmpress.formats.ranges import beside, is_expressible, range_lines, read_range
from svmpress.formats.scales import Ranges, companions, in_units_of_target, scaling_of
from svmpress.model import KernelExpansion, KernelModel, Scaling
from svmpress.numerics import Rows, is_csr, take

_SPARSE_BELOW = 0.3
"""Share of non-zero features below which the vectors stay sparse."""


# ---------------------------------------------------------------------------------------------------------
# Reading
# ---------------------------------------------------------------------------------------------------------


def read(path: Path, ranges: Ranges = None) -> KernelModel:
    """Return the model of a LibSVM or ThunderSVM file, scaled by the range file beside it if there is one.

    ``ranges`` names the range file instead, or says that none shall be applied ("none").

    The order of the classes is the file's ``label``, machines vote as in LibSVM, and ``decision_function`` returns
    the machines' values. Vectors are CSR when less than 30 % of their features differ from zero.

    Raises
    ------
    FormatError
        Which line is wrong, and why.
    """
    parsed, scaling = _parsed(path, ranges)
    check_size(path, parsed.vectors.shape[0], len(parsed.header["rho"]), path.stat().st_size)
    try:
        return in_units_of_target(path, ranges, model_of(parsed, scaling))
    except InputError as e:
        raise FormatError(f"{path}: {e}") from e


def _parsed(path: Path, ranges: Ranges) -> tuple[Parsed, Scaling | None]:
    """Return what a model file says, and the scaling that is named, or that belongs to it."""
    if ranges is not None:
        with path.open("rb") as file:
            parsed = parse(path, file)
    else:
        parsed, own = read_pair(path)
        if own is not None:
            return parsed, read_range(beside(path), own, parsed.vectors.shape[1], parsed.first_index)
        others = [file for file in companions(path) if file != beside(path)]
        ranges = others[0] if others else "none"
    return parsed, scaling_of(path, ranges, parsed.vectors.shape[1], parsed.first_index)


def model_of(parsed: Parsed, scaling: Scaling | None) -> KernelModel:
    """Return the model that a file's text describes, with a scaling of its input."""
    header = parsed.header
    svm_type, kind = header["svm_type"][0], KERNELS[header["kernel_type"][0]]
    decoder, coef, intercept, mask = _machines(parsed)
    vectors = _vectors(parsed.vectors, parsed.vectors.shape[1] if scaling is None else scaling.factor.size)
    provenance: dict[str, str | float | int] = {"format": "libsvm", "svm_type": svm_type}
    if parsed.first_index == 0:
        provenance["first_index"] = 0
    kernel = kind(**{field.name: header[field.name][0] for field in fields(kind)})
    return KernelModel(
        KernelExpansion(kernel, vectors, coef, intercept, mask),
        decoder,
        TASKS[svm_type],
        scaling,
        {k: np.array(header[k]) for k in PROBABILITY if k in header},
        provenance,
    )


def _machines(parsed: Parsed) -> tuple[Decoder, Floats, Floats, NDArray[np.bool_] | None]:
    """Return the decoder, ``coef`` (l, M), ``intercept`` (M,) and ``coef_mask`` in our signs and layout."""
    header, coef, rho = parsed.header, parsed.coef.T, np.array(parsed.header["rho"])
    task = TASKS[header["svm_type"][0]]
    if task == "regression":
        return Identity(), coef, -rho, None
    if task == "outlier":
        return Sign(np.array([-1, 1]), zero_class=0), coef, -rho, None
    labels = np.array(header["label"])
    if labels.size == 2:
        return Sign(labels), -coef, rho, None
    by_machine, mask = unpack(parsed.coef, np.array(header["nr_sv"]))
    return PairVote(labels, shape="ovo"), by_machine, -rho, mask


def _vectors(vectors: Any, n_features: int) -> Rows:
    """Return the vectors with columns of zeros up to ``n_features``, sparse or dense as they deserve."""
    wide = vectors.copy()
    wide.resize(vectors.shape[0], n_features)
    return wide if wide.nnz < _SPARSE_BELOW * vectors.shape[0] * n_features else wide.toarray()


# ---------------------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------------------


def obstacles(model: KernelModel) -> list[str]:
    """Return what a LibSVM file cannot hold of this model; empty when it can be written."""
    found = []
    kernel = model.kernel
    if kernel.name not in [k.name for k in KERNELS.values()]:
        found.append(f"LibSVM has no {kernel.name} kernel")
    degree = kernel.params.get("degree", 0)
    if degree != int(degree):
        found.append(f"the degree of LibSVM's polynomial kernel is an integer, not {degree}")
    if model.task == "regression" and model.n_outputs != 1:
        found.append(f"a LibSVM regression model has one output, not {model.n_outputs}")
    if model.task == "outlier" and not (isinstance(model.decoder, Sign) and _same(model.classes_, [-1, 1])):
        found.append("LibSVM's one-class models answer -1 and 1")
    if model.scaling is not None and not is_expressible(model.scaling):
        found.append("the input scaling is too extreme for a range file of svm-scale")
    if model.task == "classification":
        found += _class_obstacles(model)
    return found + _probability_obstacles(model)


def label_obstacles(labels: NDArray[Any]) -> list[str]:
    """Return why a LibSVM file cannot hold these labels of classes; empty when it can."""
    if labels.dtype.kind not in "iufb":
        return ["LibSVM's class labels are integers, not text: encode them as numbers before training"]
    if not ((labels == np.floor(labels)) & (np.abs(labels.astype(np.float64)) < 2**31)).all():
        return ["LibSVM's class labels are 32-bit integers"]
    return []


def _class_obstacles(model: KernelModel) -> list[str]:
    labels = np.asarray(model.classes_)
    found = label_obstacles(labels)
    if labels.size > 2:
        if isinstance(model.decoder, PairDAG):
            found.append("LibSVM decides by votes, not by a DAG: use model.with_decoder(PairVote(...))")
        if isinstance(model.decoder, PairVote) and model.decoder.break_ties:
            found.append("LibSVM does not break ties between equal votes: use a PairVote with break_ties=False")
    return found


def _probability_obstacles(model: KernelModel) -> list[str]:
    n_classes = 2 if model.classes_ is None else model.classes_.size
    n_machines = n_classes * (n_classes - 1) // 2
    wanted = {
        "classification": {"probA": n_machines, "probB": n_machines},
        "regression": {"probA": 1},
        "outlier": {"prob_density_marks": 10},
    }[model.task]
    sizes = {k: np.size(v) for k, v in model.probability.items()}
    if sizes and (sizes != wanted or not all(np.isfinite(v).all() for v in model.probability.values())):
        return [f"LibSVM's probability parameters would be {wanted} finite numbers here, not {sizes}"]
    if (np.diff(model.probability.get("prob_density_marks", [])) < 0).any():
        return ["LibSVM's marks of a one-class model's density are in ascending order"]
    return []


def _same(a: Any, b: Any) -> bool:
    return np.array_equal(np.asarray(a), np.asarray(b))


def cost(model: KernelModel) -> int:
    """Return how many vectors the file will hold, copies included: kernel values of one prediction there."""
    return int(_packed(model).source.size)


def write(model: KernelModel, path: Path) -> None:
    """Write a model without :func:`obstacles`, and its scaling as a range file beside it.

    Where there is no scaling, a range file that belongs to the model being replaced is removed. One that belongs to
    no model is somebody else's: it would be applied at the next reading, so nothing is written.
    """
    ranges = beside(path)
    foreign = [] if model.scaling is not None else companions(path)
    foreign = [file for file in foreign if file != ranges or not path.exists()]
    if foreign:
        raise FormatError(
            f"{foreign[0]} is there and would be applied to the model when it is read, but the model has no scaling: "
            "remove that file or choose another name"
        )
    scales = [] if model.scaling is None else range_lines(model.scaling, _first_index(model))
    write_pair(path, lines(model), scales)


def lines(model: KernelModel) -> Iterator[str]:
    """Yield the lines of the file of a model without :func:`obstacles`; its scaling is not among them."""
    packed = _packed(model)
    yield from _header_lines(model, packed)
    yield from _vector_lines(model, packed, _first_index(model))


def _first_index(model: KernelModel) -> int:
    return 0 if model.provenance.get("first_index") == 0 else 1


def _packed(model: KernelModel) -> Packed:
    if model.task == "classification":
        return pack(model)
    f = model.expansion
    return Packed(np.arange(f.n_vectors), np.array([f.n_vectors]), f.coef.T, f.intercept)


def _svm_type(model: KernelModel) -> str:
    """Return the type that the model had, if it still fits, or the common one."""
    had = str(model.provenance.get("svm_type"))
    usual = {"classification": "c_svc", "regression": "epsilon_svr", "outlier": "one_class"}
    return had if TASKS.get(had) == model.task else usual[model.task]


def _header_lines(model: KernelModel, packed: Packed) -> Iterator[str]:
    params, classifies = model.kernel.params, model.task == "classification"
    yield f"svm_type {_svm_type(model)}"
    yield f"kernel_type {next(name for name, kind in KERNELS.items() if kind.name == model.kernel.name)}"
    if "degree" in params:
        yield f"degree {int(params['degree'])}"
    for key in ("gamma", "coef0"):
        if key in params:
            yield f"{key} {_text(params[key])}"
    yield f"nr_class {len(packed.counts) if classifies else 2}"
    yield f"total_sv {packed.source.size}"
    yield f"rho {_texts(-packed.intercept)}"
    if classifies:
        yield f"label {' '.join(str(int(c)) for c in np.asarray(model.classes_))}"
    for key in PROBABILITY:
        if key in model.probability:
            yield f"{key} {_texts(model.probability[key])}"
    if classifies:
        yield f"nr_sv {' '.join(map(str, packed.counts.tolist()))}"
    yield "SV"


def _vector_lines(model: KernelModel, packed: Packed, first_index: int) -> Iterator[str]:
    vectors = model.expansion.vectors
    last = model.n_features - 1
    named = bool((take(vectors, packed.source)[:, [last]] != 0).sum())
    for i, coef in zip(packed.source.tolist(), packed.coef.T, strict=True):
        columns, values = _nonzero(vectors, i)
        features = [f"{c + first_index}:{_text(v)}" for c, v in zip(columns, values, strict=True)]
        if not named:
            features.append(f"{last + first_index}:0")
            named = True
        yield " ".join([_texts(coef), *features]) + " "


def _nonzero(vectors: Rows, i: int) -> tuple[list[int], list[float]]:
    if is_csr(vectors):
        some = slice(vectors.indptr[i], vectors.indptr[i + 1])
        keep = vectors.data[some] != 0
        return vectors.indices[some][keep].tolist(), vectors.data[some][keep].tolist()
    columns = np.flatnonzero(vectors[i])
    return columns.tolist(), vectors[i, columns].tolist()


def _text(value: float) -> str:
    """Return the shortest text that reads back as the same double, at most 17 digits."""
    return repr(float(value)).removesuffix(".0")


def _texts(values: NDArray[Any]) -> str:
    return " ".join(map(_text, values.tolist()))
