"""PMML's derived fields, as far as they are linear functions of one data field: ``factor x + offset``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple, NoReturn

from svmpress.errors import FormatError
from svmpress.formats.markup import Element

_MAX_DEPTH = 32


class FieldError(FormatError):
    """A field that is no linear function of one data field, and the line that says so."""

    def __init__(self, element: Element, message: str) -> None:
        super().__init__(message)
        self.line = element.line


class Affine(NamedTuple):
    """A linear function of a field; without one, the constant ``offset``."""

    field: str
    factor: float
    offset: float


def affine_of(element: Element, derived: Mapping[str, Element], depth: int = 0) -> Affine:
    """Return the linear function that an expression is.

    Parameters
    ----------
    element : Element
        ``FieldRef``, ``Constant``, ``Apply`` or ``NormContinuous``.
    derived : mapping of name to Element
        Derived fields, which expressions may name.

    Raises
    ------
    FieldError
        When it is none.
    """
    if depth > _MAX_DEPTH:
        _refuse(element, "derived fields depend on one another in a circle, or too deep")
    if element.name == "FieldRef":
        return _field(element, derived, depth)
    if element.name == "Constant":
        return Affine("", 0.0, _number(element, element.text))
    if element.name == "NormContinuous":
        return _norm(element, derived, depth)
    if element.name == "Apply":
        return _apply(element, derived, depth)
    return _refuse(element, f"a field is a <{element.name}>, and svmpress reads linear functions of one field")


def _refuse(element: Element, message: str) -> NoReturn:
    raise FieldError(element, message)


def _number(element: Element, text: str) -> float:
    try:
        value = float(text)
        if not math.isfinite(value) or "_" in text:
            raise ValueError
    except ValueError:
        _refuse(element, f"{text.strip()[:40]!r} is no number")
    return value


def _field(element: Element, derived: Mapping[str, Element], depth: int) -> Affine:
    name = element.attributes.get("field", "")
    if name not in derived:
        return Affine(name, 1.0, 0.0)
    inside = [child for child in derived[name].children if child.name != "Extension"]
    if len(inside) != 1:
        _refuse(derived[name], f"the derived field {name[:40]!r} has {len(inside)} expressions")
    return affine_of(inside[0], derived, depth + 1)


def _norm(element: Element, derived: Mapping[str, Element], depth: int) -> Affine:
    if element.attributes.get("outliers", "asIs") != "asIs" or len(element.all("LinearNorm")) != 2:
        _refuse(element, "a field is normalised by more than one line, and svmpress reads linear functions")
    (x0, y0), (x1, y1) = (
        [_number(norm, norm.attributes.get(key, "")) for key in ("orig", "norm")] for norm in element.all("LinearNorm")
    )
    if x0 == x1 or y0 == y1:
        _refuse(element, "a field is normalised by a line that is no function of it")
    slope = (y1 - y0) / (x1 - x0)
    inner = _field(element, derived, depth)
    return _checked(element, Affine(inner.field, inner.factor * slope, inner.offset * slope + y0 - x0 * slope))


def _apply(element: Element, derived: Mapping[str, Element], depth: int) -> Affine:
    function = element.attributes.get("function", "")
    parts = [affine_of(c, derived, depth + 1) for c in element.children if c.name != "Extension"]
    if function not in ("+", "-", "*", "/") or len(parts) != 2:
        _refuse(element, f"a field is made by {function[:40]!r}, and svmpress reads + - * / of two")
    a, b = parts
    if a.field and b.field:
        _refuse(element, "a field is made of two, and svmpress reads linear functions of one")
    name = a.field or b.field
    if function in ("+", "-"):
        sign = 1.0 if function == "+" else -1.0
        return _checked(element, Affine(name, a.factor + sign * b.factor, a.offset + sign * b.offset))
    if function == "*":
        one, scale = (a, b.offset) if not b.field else (b, a.offset)
        return _checked(element, Affine(name, one.factor * scale, one.offset * scale))
    if b.field or b.offset == 0:
        _refuse(element, "a field is a quotient by another or by 0, and svmpress reads linear functions")
    return _checked(element, Affine(name, a.factor / b.offset, a.offset / b.offset))


def _checked(element: Element, found: Affine) -> Affine:
    if found.field and (found.factor == 0 or not math.isfinite(found.factor + found.offset)):
        _refuse(element, "a field is multiplied by 0, or overflows")
    return found
