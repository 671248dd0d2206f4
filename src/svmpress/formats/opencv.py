"""OpenCV's ``ml::SVM``, as ``SVM::save`` writes it: XML or YAML, all five types, every kernel but intersection.

    kernel                      here
    LINEAR, POLY, SIGMOID, RBF  as in LibSVM; the degree may be a fraction
    CHI2                        ``exp(-γ Σ (x - v)² / (x + v))``, our chi-squared
    INTER                       refused: the histogram intersection has no gradient to move vectors by

OpenCV's values are ``Σ α k - rho`` and a positive one is a vote for the first class of a pair, the first class wins
between equal votes, and one-class models answer 1 and 0, which here are 1 and -1. Its vectors, rows and kernel values
are single precision, sums are double: our answers, in double precision, agree to about 1e-6 of the sum of ``|α k|``.

What is written rounds the vectors to single precision, since OpenCV would. A pair lists the vectors that it uses, so
every layout fits without copies. What only training would look at (C, nu, p) is not kept. Files of versions 2 to 4 are
read; before 2018 the sigmoid kernel had the other sign, which a file does not tell, and it is read as today's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Decoder, Floats, Identity, PairDAG, PairVote, Sign
from svmpress.errors import FormatError, InputError, shown
from svmpress.formats.layout import check_size, pairwise
from svmpress.formats.opencv_text import Matrix, Tree, Written, read_tree, xml_lines, yaml_lines
from svmpress.kernels import RBF, ChiSquared, Kernel, Linear, Polynomial, Sigmoid
from svmpress.model import KernelExpansion, KernelModel, Task
from svmpress.numerics import dense
from svmpress.storage import replacing

_KERNELS: dict[str, type[Kernel]] = {
    "LINEAR": Linear,
    "POLY": Polynomial,
    "RBF": RBF,
    "SIGMOID": Sigmoid,
    "CHI2": ChiSquared,
}
_TYPES = {"C_SVC": "c_svc", "NU_SVC": "nu_svc", "ONE_CLASS": "one_class", "EPS_SVR": "epsilon_svr", "NU_SVR": "nu_svr"}
_TASKS: dict[str, Task] = {"ONE_CLASS": "outlier", "EPS_SVR": "regression", "NU_SVR": "regression"}
_TRAINING = {"C_SVC": {"C": "1."}, "NU_SVC": {"nu": "0.5"}, "ONE_CLASS": {"nu": "0.5"}}
_TRAINING |= {"EPS_SVR": {"C": "1.", "p": "0.1"}, "NU_SVR": {"C": "1.", "nu": "0.5"}}
_NAME = "opencv_ml_svm"
_YAML = (".yml", ".yaml")


def recognises(head: bytes) -> bool:
    """Return whether a file starts like one of OpenCV's."""
    return b"<opencv_storage" in head or head.lstrip(b"\xef\xbb\xbf \r\n").startswith(b"%YAML")


# ---------------------------------------------------------------------------------------------------------
# Reading
# ---------------------------------------------------------------------------------------------------------


def read(path: Path) -> KernelModel:
    """Return the model of a file of OpenCV.

    Raises
    ------
    FormatError
        When it is not XML or YAML of OpenCV (which line), or holds no SVM that can be read (what, and why).
    """
    for name, tree in read_tree(path).items():
        if isinstance(tree, Mapping) and {"svmType", "svm_type"} & set(tree):
            return _Reader(path, tree).model()
        raise FormatError(f"{path} holds {shown(str(name))!r}, which is not an SVM of OpenCV: it has no svmType")
    raise FormatError(f"{path} holds nothing")


class _Reader:
    """One SVM of a file, with the messages that say where it is wrong."""

    def __init__(self, path: Path, tree: Mapping[str, Tree]) -> None:
        self.path, self.tree = path, tree

    def fail(self, message: str) -> NoReturn:
        raise FormatError(f"{self.path}: {shown(message)}")

    def model(self) -> KernelModel:
        svm_type = str(self.tree.get("svmType", self.tree.get("svm_type")))
        if svm_type not in _TYPES:
            self.fail(f"the type {svm_type!r} is none of {', '.join(_TYPES)}")
        kernel = self._kernel()
        vectors = self._vectors()
        task = _TASKS.get(svm_type, "classification")
        decoder: Decoder
        if task == "classification":
            decoder, coef, intercept, mask = self._pairs(len(vectors))
        else:
            decoder = Identity() if task == "regression" else Sign(np.array([-1, 1]), zero_class=0)
            coef, intercept, mask = *self._single(len(vectors)), None
        try:
            expansion = KernelExpansion(kernel, vectors, coef, intercept, mask)
            return KernelModel(expansion, decoder, task, provenance={"format": "opencv", "svm_type": _TYPES[svm_type]})
        except InputError as e:
            raise FormatError(f"{self.path}: {e}") from e

    def _entry(self, tree: Mapping[str, Tree], key: str) -> Tree:
        if key not in tree:
            self.fail(f"there is no {key}")
        return tree[key]

    def _mapping(self, tree: Tree, what: str) -> Mapping[str, Tree]:
        if not isinstance(tree, Mapping):
            self.fail(f"{what} has no entries")
        return tree

    def _list(self, key: str) -> Sequence[Tree]:
        tree = self._entry(self.tree, key)
        if isinstance(tree, (str, Mapping)) or not tree:
            self.fail(f"{key} is not a list")
        return tree

    def _numbers(self, tree: Tree, what: str) -> Floats:
        try:
            if not isinstance(tree, str) or "_" in tree:
                raise ValueError
            numbers = np.array(tree.split(), dtype=np.float64)
        except ValueError:
            self.fail(f"{what} is not a list of numbers")
        if not np.isfinite(numbers).all():
            self.fail(f"{what} has a number that is NaN or infinite")
        return numbers

    def _whole(self, tree: Tree, what: str) -> NDArray[np.int64]:
        numbers = self._numbers(tree, what)
        if not ((numbers == np.rint(numbers)) & (np.abs(numbers) < 2**31)).all():
            self.fail(f"{what} has a number that is not a 32-bit integer")
        return numbers.astype(np.int64)

    def _number(self, tree: Mapping[str, Tree], key: str, what: str) -> float:
        numbers = self._numbers(self._entry(tree, key), f"{key} of {what}")
        if numbers.size != 1:
            self.fail(f"{key} of {what} is not one number")
        return float(numbers[0])

    def _kernel(self) -> Kernel:
        tree = self._mapping(self._entry(self.tree, "kernel"), "the kernel")
        name = str(tree.get("type"))
        if name == "INTER":
            self.fail("the histogram intersection kernel (INTER) has no gradient, so its vectors cannot be moved")
        if name not in _KERNELS:
            self.fail(f"the kernel {name!r} is none of {', '.join(_KERNELS)}")
        kind = _KERNELS[name]
        try:
            return kind(**{key: self._number(tree, key, "the kernel") for key in [f.name for f in fields(kind)]})
        except InputError as e:
            raise FormatError(f"{self.path}: {e}") from e

    def _vectors(self) -> Floats:
        rows = self._list("support_vectors")
        d = int(self._number(self.tree, "var_count", "the model"))
        vectors = []
        for i, row in enumerate(rows):
            numbers = self._numbers(row, f"support vector {i}")
            if numbers.size != d or d < 1:
                self.fail(f"support vector {i} has {numbers.size} features, and var_count is {d}")
            with np.errstate(over="ignore"):
                vectors.append(numbers.astype(np.float32))
        if len(rows) != self._number(self.tree, "sv_total", "the model"):
            self.fail(f"{len(rows)} support vectors are there, and sv_total is {self.tree['sv_total']}")
        return np.array(vectors).astype(np.float64)

    def _functions(self, count: int, n_vectors: int) -> list[tuple[Floats, NDArray[np.int64], float]]:
        """Return coefficients, the vectors that they belong to, and rho of each decision function."""
        functions = self._list("decision_functions")
        if len(functions) != count:
            self.fail(f"there are {len(functions)} decision functions where there must be {count}")
        found = []
        for i, tree in enumerate(functions):
            what = f"decision function {i}"
            entries = self._mapping(tree, what)
            alpha = self._numbers(self._entry(entries, "alpha"), f"alpha of {what}")
            used = np.arange(n_vectors)
            if "index" in entries:
                used = self._whole(entries["index"], f"index of {what}")
            if alpha.size != used.size or np.unique(used).size != used.size:
                self.fail(f"{what} has {alpha.size} coefficients and names {np.unique(used).size} vectors")
            if used.size and not 0 <= used.min() <= used.max() < n_vectors:
                self.fail(f"{what} names a vector that is not there: there are {n_vectors}")
            found.append((alpha, used, self._number(entries, "rho", what)))
        return found

    def _single(self, n_vectors: int) -> tuple[Floats, Floats]:
        ((alpha, used, rho),) = self._functions(1, n_vectors)
        coef = np.zeros((n_vectors, 1))
        coef[used, 0] = alpha
        return coef, np.array([-rho])

    def _pairs(self, n_vectors: int) -> tuple[Decoder, Floats, Floats, NDArray[np.bool_] | None]:
        labels = self._labels()
        n_pairs = labels.size * (labels.size - 1) // 2
        check_size(self.path, n_vectors, n_pairs, self.path.stat().st_size)
        functions = self._functions(n_pairs, n_vectors)
        coef, mask = np.zeros((n_vectors, n_pairs)), np.zeros((n_vectors, n_pairs), dtype=bool)
        for i, (alpha, used, _) in enumerate(functions):
            coef[used, i] = alpha
            mask[used, i] = True
        rho = np.array([function[2] for function in functions])
        if labels.size == 2:
            return Sign(labels), -coef, rho, None
        return PairVote(labels, shape="ovo"), coef, -rho, None if mask.all() else mask

    def _labels(self) -> NDArray[np.int64]:
        tree = self._entry(self.tree, "class_labels")
        data = self._entry(tree, "data") if isinstance(tree, Mapping) else tree
        labels = self._whole(data, "class_labels")
        if labels.size < 2 or np.unique(labels).size != labels.size:
            self.fail("class_labels must be two or more different numbers")
        return labels


# ---------------------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------------------


def obstacles(model: KernelModel) -> list[str]:
    """Return what OpenCV cannot hold of this model; empty when it can be written."""
    found = []
    kernel = model.kernel
    if kernel.name not in [k.name for k in _KERNELS.values()]:
        found.append(f"OpenCV has no {kernel.name} kernel")
    for key, least in (("gamma", "more than 0"), ("degree", "more than 0"), ("coef0", "0 or more")):
        value = kernel.params.get(key, 1.0)
        if value < 0 or (value == 0 and key != "coef0"):
            found.append(f"{key} of OpenCV's kernels is {least}, not {value}")
    if model.n_vectors == 0:
        found.append("OpenCV reads no model without vectors")
    if model.scaling is not None:
        found.append("OpenCV's files have no place for an input scaling")
    if model.probability:
        found.append("OpenCV's files have no place for probability parameters")
    if model.task == "regression" and model.n_outputs != 1:
        found.append(f"a regression model of OpenCV has one output, not {model.n_outputs}")
    if model.task == "outlier" and not (isinstance(model.decoder, Sign) and _is_outlier(model.classes_)):
        found.append("OpenCV's one-class models answer 1 and 0, which are 1 and -1 here")
    if model.task == "classification":
        found += _class_obstacles(model)
    with np.errstate(over="ignore"):
        if not np.isfinite(dense(model.expansion.vectors).astype(np.float32)).all():
            found.append("a feature of a vector is too large for single precision")
    return found


def _is_outlier(classes: Any) -> bool:
    return np.array_equal(np.asarray(classes), [-1, 1])


def _class_obstacles(model: KernelModel) -> list[str]:
    labels = np.asarray(model.classes_)
    found = []
    if labels.dtype.kind not in "iufb":
        found.append("OpenCV's class labels are integers, not text: encode them as numbers before training")
    elif not ((labels == np.floor(labels)) & (np.abs(labels.astype(np.float64)) < 2**31)).all():
        found.append("OpenCV's class labels are 32-bit integers")
    if labels.size > 2:
        if isinstance(model.decoder, PairDAG):
            found.append("OpenCV decides by votes, not by a DAG: use model.with_decoder(PairVote(...))")
        if isinstance(model.decoder, PairVote) and model.decoder.break_ties:
            found.append("OpenCV does not break ties between equal votes: use a PairVote with break_ties=False")
    return found


def write(model: KernelModel, path: Path) -> None:
    """Write a model without :func:`obstacles`: YAML if the suffix is ``.yml`` or ``.yaml``, else XML."""
    as_lines = yaml_lines if path.suffix.lower() in _YAML else xml_lines
    with replacing(path) as (file,):
        for line in as_lines(_NAME, _tree(model)):
            file.write(line.encode("ascii") + b"\n")


def _tree(model: KernelModel) -> Mapping[str, Written]:
    svm_type = _svm_type(model)
    name = next(name for name, kind in _KERNELS.items() if kind.name == model.kernel.name)
    kernel = {"type": name} | {key: _text(value) for key, value in model.kernel.params.items()}
    tree: dict[str, Written] = {"format": "3", "svmType": svm_type, "kernel": kernel, **_TRAINING[svm_type]}
    tree |= {"term_criteria": {"iterations": "1000"}, "var_count": str(model.n_features)}
    if model.task == "classification":
        labels = [str(int(label)) for label in np.asarray(model.classes_)]
        tree |= {"class_count": str(len(labels)), "class_labels": Matrix(" ".join(labels))}
    elif model.task == "outlier":
        tree["class_count"] = "1"
    with np.errstate(over="ignore", under="ignore"):
        vectors = dense(model.expansion.vectors).astype(np.float32)
    tree |= {"sv_total": str(model.n_vectors), "support_vectors": [" ".join(map(_text32, row)) for row in vectors]}
    tree["decision_functions"] = _decision_functions(model)
    return tree


def _svm_type(model: KernelModel) -> str:
    """Return the type that the model had, if it still fits, or the common one."""
    had = next((name for name, ours in _TYPES.items() if ours == model.provenance.get("svm_type")), None)
    usual = {"classification": "C_SVC", "regression": "EPS_SVR", "outlier": "ONE_CLASS"}
    return had if had and _TASKS.get(had, "classification") == model.task else usual[model.task]


def _decision_functions(model: KernelModel) -> list[Written]:
    f, everything = model.expansion, np.arange(model.n_vectors)
    if model.task != "classification":
        alpha = " ".join(_text(a) for a in f.coef[:, 0])
        return [{"sv_count": str(f.n_vectors), "rho": _text(-f.intercept[0]), "alpha": alpha}]
    coef, intercept, mask = pairwise(model)
    mask = None if coef.shape[1] == 1 else mask
    functions: list[Written] = []
    for i in range(coef.shape[1]):
        used = everything if mask is None or not mask[:, i].any() else np.flatnonzero(mask[:, i])
        functions.append(
            {
                "sv_count": str(used.size),
                "rho": _text(-intercept[i]),
                "alpha": " ".join(_text(a) for a in coef[used, i]),
                "index": " ".join(map(str, used.tolist())),
            }
        )
    return functions


def _text(value: Any) -> str:
    """Return a number with as many digits as it takes to read it back; OpenCV knows a real one by its point."""
    return repr(float(value)).removesuffix("0") if float(value).is_integer() else repr(float(value))


def _text32(value: np.float32) -> str:
    text = str(value)
    return text.removesuffix("0") if text.endswith(".0") else text
