"""Attributes that are computed when they are first read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class lazy_property(Generic[Value]):  # noqa: N801  used as a decorator, like property
    """An attribute that a method computes when it is first read, and that is kept from then on.

    Unlike ``functools.cached_property`` of Python 3.11 it takes no lock: there, all objects of a class share one, and a
    process that is forked while another thread holds it waits for ever. Two threads that read the attribute first may
    both compute it; both get the value of the one that was done first.
    """

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy_property[Value]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> lazy_property[Value] | Value:
        if instance is None:
            return self
        value: Value = instance.__dict__.setdefault(self.name, self.compute(instance))
        return value
