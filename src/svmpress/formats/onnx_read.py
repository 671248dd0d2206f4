"""ONNX-ML in: a graph with one ``SVMClassifier`` or ``SVMRegressor``, as converters of scikit-learn write it.

    SVMClassifier   votes over pairs in LibSVM's layout; probabilities where the node has ``prob_a`` and ``prob_b``
    SVMRegressor    a regression, or a one-class model if ``one_class`` is set or the graph takes the sign of its value

On the way from the input to the node a graph may cast, scale (``Scaler``) and add or multiply constants: that becomes
the model's scaling. What else there is before the node, or changes its answer after it, is refused by its name rather
than left out; so are the graphs of plain operators that svmpress writes. All numbers of such a node are single
precision, and so are the kernel values of those who run it.

Needs ``onnx``, the extra ``onnx``, to parse the file. Nothing outside the file is read, whatever it refers to.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Decoder, Floats, Identity, PairVote, Sign
from svmpress.errors import FormatError, InputError, MissingExtraError, shown
from svmpress.formats.layout import check_size, unpack
from svmpress.formats.onnx_graph import PRODUCER
from svmpress.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid
from svmpress.model import KernelExpansion, KernelModel, Scaling

_NODES = ("SVMClassifier", "SVMRegressor")
_SAME = ("Cast", "Identity", "Reshape", "Flatten", "Squeeze", "ZipMap")
"""Operators that leave an answer what it is."""


def read(path: Path) -> KernelModel:
    """Return the model of an ONNX file.

    Raises
    ------
    FormatError
        When it is no ONNX file, or its graph is not that of one SVM: what it holds instead.
    MissingExtraError
        Without the package onnx.
    """
    try:
        import onnx
        from google.protobuf.message import DecodeError  # which onnx itself needs
    except ImportError as e:
        raise MissingExtraError("reading ONNX", "onnx", "onnx") from e
    content = path.read_bytes()
    try:
        proto = onnx.ModelProto.FromString(content)
    except DecodeError as e:
        raise FormatError(f"{path} is not an ONNX file, or is damaged: {e}") from e
    if proto.producer_name == PRODUCER:
        raise FormatError(
            f"{path}: svmpress writes ONNX files and does not read them: keep the model as a .svmpress file"
        )
    try:
        return _Graph(path, proto.graph).model()
    except InputError as e:
        raise e if isinstance(e, FormatError) else FormatError(f"{path}: {e}") from e


class _Graph:
    """A graph with one SVM node."""

    def __init__(self, path: Path, graph: Any) -> None:
        self.path, self.graph = path, graph
        found = [node for node in graph.node if node.op_type in _NODES]
        if len(found) != 1:
            held = ", ".join(sorted({node.op_type for node in graph.node})[:8]) or "nothing"
            self.fail(f"svmpress reads graphs with one {' or '.join(_NODES)}, and this has {len(found)} among {held}")
        self.node = found[0]
        self.attributes = {a.name: a for a in self.node.attribute}

    def fail(self, message: str) -> NoReturn:
        raise FormatError(f"{self.path}: {shown(message, 400)}")

    def floats(self, name: str, size: int | None = None) -> Floats:
        """Return a list of numbers of the node, of a size if one is given."""
        values = np.array(self.attributes[name].floats if name in self.attributes else [], dtype=np.float64)
        if size is not None and values.size != size:
            self.fail(f"{name} has {values.size} numbers, and must have {size}")
        return values

    def integer(self, name: str) -> int:
        return int(self.attributes[name].i) if name in self.attributes else 0

    def word(self, name: str, default: str) -> str:
        return str(self.attributes[name].s.decode("ascii", "replace")) if name in self.attributes else default

    def model(self) -> KernelModel:
        if self.word("post_transform", "NONE") != "NONE":
            self.fail(f"the node's post_transform is {self.word('post_transform', 'NONE')}, and svmpress reads NONE")
        scaling, own = self._scaling(), {"format": "onnx"}
        if self.node.op_type == "SVMClassifier":
            self._follow(self.node.output[0], ())
            f, decoder, probability = self._classifier()
            return KernelModel(f, decoder, "classification", self._fit(scaling, f), probability, own)
        f = self._regressor()
        if self._follow(self.node.output[0], ("Sign",)) or self.integer("one_class"):
            decoder = Sign(np.array([-1, 1]), zero_class=0)
            return KernelModel(f, decoder, "outlier", self._fit(scaling, f), provenance=own)
        return KernelModel(f, Identity(), "regression", self._fit(scaling, f), provenance=own)

    # -----------------------------------------------------------------------------------------------------
    # The node
    # -----------------------------------------------------------------------------------------------------

    def _kernel(self) -> Kernel:
        name = self.word("kernel_type", "LINEAR")
        gamma, coef0, degree = self.floats("kernel_params", 3).tolist() if name != "LINEAR" else (1.0, 0.0, 3.0)
        kernels: dict[str, Any] = {
            "LINEAR": Linear,
            "POLY": lambda: Polynomial(gamma, coef0, degree),
            "RBF": lambda: RBF(gamma),
            "SIGMOID": lambda: Sigmoid(gamma, coef0),
        }
        if name not in kernels:
            self.fail(f"the kernel {name!r} is none of {', '.join(kernels)}")
        kernel: Kernel = kernels[name]()
        return kernel

    def _vectors(self, count: int) -> Floats:
        values = self.floats("support_vectors")
        if count < 1 or values.size == 0 or values.size % count:
            self.fail(
                f"{values.size} numbers are not {count} support vectors"
                if values.size
                else "the node has no support vectors: a linear model of weights alone has nothing to compress"
            )
        return values.reshape(count, -1)

    def _classifier(self) -> tuple[KernelExpansion, Decoder, dict[str, Floats]]:
        labels = self._labels()
        counts = np.array(self.attributes["vectors_per_class"].ints if "vectors_per_class" in self.attributes else [])
        if counts.size and (counts.size != labels.size or (counts < 0).any()):
            self.fail(f"vectors_per_class has {counts.size} counts for {labels.size} classes")
        total = sum(counts.tolist())
        V = self._vectors(total)
        if len(V) != total or labels.size < 2:
            self.fail(f"{len(V)} support vectors of {labels.size} classes make no classifier")
        pairs = labels.size * (labels.size - 1) // 2
        check_size(self.path, total, pairs, self.path.stat().st_size)
        table = self.floats("coefficients", (labels.size - 1) * total).reshape(-1, total)
        rho = self.floats("rho", pairs)
        probability = {}
        if "prob_a" in self.attributes and self.attributes["prob_a"].floats:
            probability = {"probA": self.floats("prob_a", pairs), "probB": self.floats("prob_b", pairs)}
        kernel = self._kernel()
        if labels.size == 2:
            return KernelExpansion(kernel, V, -table.T, -rho), Sign(labels), probability
        coef, mask = unpack(table, counts)
        return KernelExpansion(kernel, V, coef, rho, mask), PairVote(labels), probability

    def _labels(self) -> NDArray[Any]:
        empty: Any = type("Attribute", (), {"ints": (), "strings": ()})
        numbers = self.attributes.get("classlabels_ints", empty).ints
        words = self.attributes.get("classlabels_strings", empty).strings
        if not numbers and not words:
            self.fail("the node names no classes")
        try:
            return np.array([w.decode() for w in words]) if words else np.array(numbers, dtype=np.int64)
        except UnicodeDecodeError:
            return self.fail("a class label is not UTF-8 text")

    def _regressor(self) -> KernelExpansion:
        n = self.integer("n_supports")
        if n < 1 or "coefficients" not in self.attributes or n != len(self.attributes["coefficients"].floats):
            self.fail("n_supports and the coefficients do not fit; a linear model of weights alone is not compressed")
        coef = self.floats("coefficients", n).reshape(-1, 1)
        return KernelExpansion(self._kernel(), self._vectors(n), coef, self.floats("rho", 1))

    # -----------------------------------------------------------------------------------------------------
    # Around it
    # -----------------------------------------------------------------------------------------------------

    def _scaling(self) -> tuple[Floats, Floats]:
        """Return a and b of ``a x + b``, what happens to the input on its way to the node; one number, or one each."""
        producers = {output: node for node in self.graph.node for output in node.output}
        inputs = {value.name for value in self.graph.input}
        a, b = np.ones(1), np.zeros(1)
        name, seen = self.node.input[0] if self.node.input else "", 0
        while name in producers and name not in inputs:
            node, seen = producers[name], seen + 1
            if seen > len(self.graph.node):
                self.fail("its graph goes round in a circle")
            name, p, q = self._step(node)
            with np.errstate(all="ignore"):
                try:
                    a, b = a * p, a * q + b
                except ValueError:
                    self.fail(f"the constants of {node.op_type} do not fit those after it")
        if name not in inputs:
            self.fail("the SVM's rows do not come from the input of the graph")
        return a, b

    def _step(self, node: Any) -> tuple[str, Floats, Floats]:
        """Return what a node before the SVM reads, and p and q of the ``p x + q`` that it computes."""
        one, nothing = np.ones(1), np.zeros(1)
        if node.op_type in ("Cast", "Identity"):
            return node.input[0], one, nothing
        if node.op_type == "Scaler":
            values = {a.name: np.array(a.floats, dtype=np.float64) for a in node.attribute}
            scale = values.get("scale", one)
            return node.input[0], scale, -values.get("offset", nothing) * scale
        at, c = self._operand(node)
        if c is None:
            self.fail(
                f"there is a {node.op_type} before the SVM, which svmpress cannot apply: it scales and shifts only"
            )
        with np.errstate(all="ignore"):
            steps = {"Add": (one, c), "Sub": (one, -c), "Mul": (c, nothing), "Div": (1 / c, nothing)}
        return node.input[at], *steps[node.op_type]

    def _operand(self, node: Any) -> tuple[int, Floats | None]:
        """Return which input of a node is not constant, and the constant; None where the node is no affine step."""
        constants = [self._constant(name) for name in node.input]
        if node.op_type in ("Add", "Mul", "Sub", "Div") and len(constants) == 2:
            if constants[0] is None:
                return 0, constants[1]
            if constants[1] is None and node.op_type in ("Add", "Mul"):
                return 1, constants[0]
        return 0, None

    def _constant(self, name: str) -> Floats | None:
        from onnx import numpy_helper

        for tensor in self.graph.initializer:
            if tensor.name == name:
                try:
                    return np.asarray(numpy_helper.to_array(tensor), dtype=np.float64).reshape(-1)
                except (ValueError, TypeError, OSError) as e:
                    raise FormatError(
                        f"{self.path}: the constant {shown(name)!r} cannot be read: {shown(str(e))}"
                    ) from e
        return None

    def _fit(self, affine: tuple[Floats, Floats], f: KernelExpansion) -> Scaling | None:
        a, b = affine
        if (a == 1).all() and (b == 0).all():
            return None
        if not {a.size, b.size} <= {1, f.n_features}:
            self.fail(f"{max(a.size, b.size)} features are scaled, and the SVM has {f.n_features}")
        a, b = np.broadcast_to(a, f.n_features), np.broadcast_to(b, f.n_features)
        if ((a == 0) & (b != 0)).any():
            self.fail("a feature is multiplied by 0 and shifted then, which svmpress cannot apply")
        with np.errstate(all="ignore"):
            shift = np.where(a == 0, 0.0, -b / np.where(a == 0, 1.0, a))
        return Scaling(shift if shift.any() else None, a)

    def _follow(self, name: str, allowed: tuple[str, ...]) -> bool:
        """Refuse a graph that changes an answer of the node; return whether one of ``allowed`` is applied to it."""
        names, found = [name], False
        for node in self.graph.node:  # a graph lists nodes after those that they read
            if node is not self.node and any(given in names for given in node.input):
                if node.op_type not in (*_SAME, *allowed):
                    self.fail(
                        f"there is a {node.op_type} after the SVM that changes its answer, which svmpress cannot do"
                    )
                found = found or node.op_type in allowed
                names += list(node.output)
        return found
