"""PMML in: a ``SupportVectorMachineModel``, as R, KNIME and exporters of scikit-learn write it.

    f(x) = Σ α k(x, v) + absoluteValue

A machine votes for its ``targetCategory`` where f is larger than the threshold if ``maxWins`` is true, and where it is
smaller if not (the default); one against all takes the largest f, or the smallest. Columns are the fields of the
``VectorFields``, in that order. A field that is a linear function of one data field (``NormContinuous`` with two
points, ``+ - * /`` with constants) becomes the model's scaling; other transformations are refused by their names, as
are categorical fields, rescaled targets, and linear models of weights alone, which have nothing to compress.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Argmax, Decoder, Floats, Identity, PairVote, Sign, class_pairs
from svmpress.errors import FormatError, InputError, shown
from svmpress.formats.layout import check_size
from svmpress.formats.markup import Element, read_xml
from svmpress.formats.pmml_fields import Affine, FieldError, affine_of
from svmpress.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid
from svmpress.model import KernelExpansion, KernelModel, Scaling, Task

_MODEL = "SupportVectorMachineModel"
_TARGETS = ("target", "predicted")
_CHANGES = ("rescaleConstant", "rescaleFactor", "castInteger", "min", "max")


def recognises(head: bytes) -> bool:
    """Return whether a file starts like PMML."""
    return b"<PMML" in head


def read(path: Path) -> KernelModel:
    """Return the model of a PMML file.

    Raises
    ------
    FormatError
        When it is not well-formed XML (which line), or holds no SVM that can be read (what, and why).
    """
    root = read_xml(path)
    found = root.first(_MODEL) if root.name == "PMML" else None
    if found is None:
        held = ", ".join(child.name for child in root.children if child.name.endswith("Model")) or f"<{root.name}>"
        raise FormatError(f"{path} holds {shown(held, 80)}, and svmpress reads a {_MODEL} of PMML")
    try:
        return _Reader(path, root, found).model()
    except FieldError as e:
        raise FormatError(f"{path}, line {e.line}: {e}") from e
    except InputError as e:
        raise e if isinstance(e, FormatError) else FormatError(f"{path}: {e}") from e


class _Reader:
    """One model of a file."""

    def __init__(self, path: Path, root: Element, model: Element) -> None:
        self.path, self.root, self.element = path, root, model

    def fail(self, element: Element, message: str) -> NoReturn:
        raise FormatError(f"{self.path}, line {element.line}: {shown(message)}")

    def child(self, element: Element, name: str) -> Element:
        found = element.first(name)
        return self.fail(element, f"<{element.name}> has no <{name}>") if found is None else found

    def number(self, element: Element, name: str, default: float) -> float:
        """Return an attribute that is a number."""
        text = element.attributes.get(name, repr(default))
        numbers = self.numbers(element, text)
        return float(numbers[0]) if numbers.size == 1 else self.fail(element, f"{name} is {text[:40]!r}, not a number")

    def numbers(self, element: Element, text: str) -> Floats:
        """Return the numbers of a text, with blanks between them."""
        try:
            if "_" in text:
                raise ValueError
            found = np.array(text.split(), dtype=np.float64)
        except ValueError:
            self.fail(element, f"<{element.name}> holds what is no number")
        return found if np.isfinite(found).all() else self.fail(element, f"<{element.name}> holds a NaN or an infinity")

    def model(self) -> KernelModel:
        if self.element.attributes.get("svmRepresentation", "SupportVectors") != "SupportVectors":
            self.fail(self.element, "a linear model of weights alone has nothing to compress")
        for target in (t for targets in self.element.all("Targets") for t in targets.all("Target")):
            if set(target.attributes) & set(_CHANGES):
                self.fail(target, "the answer is rescaled afterwards, which svmpress cannot do")
        names, scaling = self._fields()
        rows, V = self._vectors(len(names))
        machines = self.element.all("SupportVectorMachine")
        if not machines:
            self.fail(self.element, f"<{_MODEL}> has no <SupportVectorMachine>")
        check_size(self.path, len(V), len(machines), self.path.stat().st_size)
        coef: Floats = np.zeros((len(V), len(machines)))
        intercept: Floats = np.zeros(len(machines))
        for i, machine in enumerate(machines):
            coef[:, i], intercept[i] = self._machine(machine, rows)
        task: Task = "regression" if self.element.attributes.get("functionName") == "regression" else "classification"
        decoder: Decoder = Identity()
        if task == "classification":
            decoder, coef, intercept = self._decoded(machines, coef, intercept)
        elif len(machines) != 1:
            self.fail(self.element, f"a regression has one machine, and this has {len(machines)}")
        f = KernelExpansion(self._kernel(), V, coef, intercept)
        return KernelModel(f, decoder, task, scaling, provenance={"format": "pmml"}, feature_names=tuple(names))

    # -----------------------------------------------------------------------------------------------------
    # Numbers
    # -----------------------------------------------------------------------------------------------------

    def _kernel(self) -> Kernel:
        element = next((child for child in self.element.children if child.name.endswith("KernelType")), None)
        if element is None:
            self.fail(self.element, f"<{_MODEL}> has no kernel")
        gamma = self.number(element, "gamma", 1.0)
        coef0, degree = self.number(element, "coef0", 1.0), self.number(element, "degree", 1.0)
        if element.name == "LinearKernelType":
            return Linear()
        if element.name == "PolynomialKernelType":
            return Polynomial(gamma, coef0, degree)
        if element.name == "RadialBasisKernelType":
            return RBF(gamma)
        if element.name == "SigmoidKernelType":
            return Sigmoid(gamma, coef0)
        return self.fail(element, f"the kernel {element.name} is not one that svmpress knows")

    def _fields(self) -> tuple[list[str], Scaling | None]:
        """Return the data fields behind the vector fields, and what is done to them."""
        fields = self.child(self.child(self.element, "VectorDictionary"), "VectorFields")
        derived = {}
        for parent in (self.root.first("TransformationDictionary"), self.element.first("LocalTransformations")):
            for field in [] if parent is None else parent.all("DerivedField"):
                derived[field.attributes.get("name", "")] = field
        found: list[Affine] = []
        for child in fields.children:
            if child.name == "Extension":
                continue
            if child.name != "FieldRef":
                self.fail(child, f"a vector has a <{child.name}>, and svmpress reads fields that are numbers")
            found.append(affine_of(child, derived))
        names = [affine.field for affine in found]
        if not names or len(set(names)) != len(names):
            self.fail(fields, "the vector fields must be functions of one data field each, and of different ones")
        factor, offset = np.array([f.factor for f in found]), np.array([f.offset for f in found])
        if (factor == 1).all() and (offset == 0).all():
            return names, None
        with np.errstate(all="ignore"):
            shift = -offset / factor
        return names, Scaling(shift if shift.any() else None, factor)

    def _vectors(self, d: int) -> tuple[dict[str, int], Floats]:
        """Return the row of each vector by its name, and the vectors."""
        dictionary = self.child(self.element, "VectorDictionary")
        rows: dict[str, int] = {}
        vectors = []
        instances = dictionary.all("VectorInstance")
        check_size(self.path, len(instances), d, self.path.stat().st_size)
        for instance in instances:
            name = instance.attributes.get("id", "")
            if name in rows:
                self.fail(instance, f"the vector {name[:40]!r} is there twice")
            rows[name] = len(rows)
            vectors.append(self._vector(instance, d))
        if not vectors:
            self.fail(dictionary, "there are no vectors")
        return rows, np.array(vectors)

    def _vector(self, instance: Element, d: int) -> Floats:
        for name in ("Array", "REAL-Array"):
            array = instance.first(name)
            if array is not None:
                values = self.numbers(array, array.text)
                return values if values.size == d else self.fail(array, f"{values.size} numbers for {d} vector fields")
        array = self.child(instance, "REAL-SparseArray")
        indices, entries = array.first("Indices"), array.first("REAL-Entries")
        columns = np.zeros(0) if indices is None else self.numbers(indices, indices.text)
        values = np.zeros(0) if entries is None else self.numbers(entries, entries.text)
        if columns.size != values.size or not np.isin(columns, np.arange(1, d + 1)).all():
            self.fail(array, f"indices from 1 to {d} and as many entries are wanted")
        vector = np.full(d, self.number(array, "defaultValue", 0.0))
        vector[columns.astype(np.intp) - 1] = values
        return vector

    def _machine(self, machine: Element, rows: dict[str, int]) -> tuple[Floats, float]:
        """Return the coefficient of every vector (m,) and the constant of a machine."""
        coefficients = self.child(machine, "Coefficients")
        used = [v.attributes.get("vectorId", "") for v in self.child(machine, "SupportVectors").all("SupportVector")]
        values = [self.number(c, "value", 0.0) for c in coefficients.all("Coefficient")]
        if len(used) != len(values):
            self.fail(machine, f"{len(values)} coefficients for {len(used)} support vectors")
        coef = np.zeros(len(rows))
        for name, value in zip(used, values, strict=True):
            if name not in rows:
                self.fail(machine, f"the vector {name[:40]!r} is not in the dictionary")
            coef[rows[name]] += value
        return coef, self.number(coefficients, "absoluteValue", 0.0)

    # -----------------------------------------------------------------------------------------------------
    # Classes
    # -----------------------------------------------------------------------------------------------------

    def _decoded(self, machines: list[Element], coef: Floats, b: Floats) -> tuple[Decoder, Floats, Floats]:
        """Return a decoder, with coefficients and constants in its signs."""
        wins = self.element.attributes.get("maxWins", "false").strip().lower() in ("true", "1")
        sign = 1.0 if wins else -1.0
        whole = self.number(self.element, "threshold", 0.0)
        b = b - [self.number(m, "threshold", whole) for m in machines]
        targets = [m.attributes.get("targetCategory", "") for m in machines]
        others = [m.attributes.get("alternateTargetCategory") for m in machines]
        classes = self._classes([*targets, *(other for other in others if other is not None)])
        if len(machines) == 1 and others[0] is not None:
            return Sign(self._labels([others[0], targets[0]]), zero_class=0), sign * coef, sign * b
        if self.element.attributes.get("classificationMethod", "OneAgainstAll") == "OneAgainstAll":
            if sorted(targets) != sorted(classes) or len(classes) < 2:
                self.fail(self.element, f"one against all needs a machine for each of {len(classes)} classes")
            order = [targets.index(c) for c in classes]
            return Argmax(self._labels(classes)), sign * coef[:, order], sign * b[order]
        found = {frozenset((t, o)): i for i, (t, o) in enumerate(zip(targets, others, strict=True))}
        pairs = [(classes[i], classes[j]) for i, j in class_pairs(len(classes)).tolist()]
        if len(found) != len(machines) or set(found) != {frozenset(pair) for pair in pairs}:
            self.fail(self.element, f"one against one needs a machine for each pair of {len(classes)} classes")
        order = [found[frozenset(pair)] for pair in pairs]
        signs = np.array([sign if targets[i] == first else -sign for i, (first, _) in zip(order, pairs, strict=True)])
        return PairVote(self._labels(classes)), coef[:, order] * signs, b[order] * signs

    def _target(self) -> Element | None:
        """Return the data field of the answer."""
        schema = self.element.first("MiningSchema")
        fields = [] if schema is None else schema.all("MiningField")
        names = [f.attributes.get("name") for f in fields if f.attributes.get("usageType") in _TARGETS]
        dictionary = self.root.first("DataDictionary")
        known = [] if dictionary is None else dictionary.all("DataField")
        return next((field for field in known if field.attributes.get("name") in names), None)

    def _classes(self, named: list[str]) -> list[str]:
        """Return the classes that machines name, in the order of the data dictionary if it lists them."""
        target = self._target()
        listed = [] if target is None else [v.attributes.get("value", "") for v in target.all("Value")]
        return list(dict.fromkeys(c for c in [*listed, *named] if c in named))

    def _labels(self, classes: list[str]) -> NDArray[Any]:
        target = self._target()
        kind = "string" if target is None else target.attributes.get("dataType", "string")
        if target is None or kind not in ("integer", "double", "float"):
            return np.array(classes)
        numbers = np.concatenate([self.numbers(target, c) for c in classes])
        if numbers.size != len(classes):
            self.fail(target, "a class is no number")
        whole = kind == "integer" and (np.abs(numbers) < 2**53).all() and (numbers == np.rint(numbers)).all()
        return numbers.astype(np.int64) if whole else numbers
