"""A graph of plain ONNX operators, put together as names and arrays; the package ``onnx`` is not needed for that.

A value in the graph is a name. :meth:`Graph.constant` gives a name to an array, :meth:`Graph.apply` to the result of an
operator. All floating point numbers of a graph have one precision.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ROWS = "rows"
"""The name of the input, (n, d)."""

PRODUCER = "svmpress"
"""Who made a file, as it says itself."""


class Node(NamedTuple):
    """One operator: its name in ONNX, the values that it reads, those that it makes, and its attributes."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]


class Output(NamedTuple):
    """A value that whoever runs the graph can ask for; a dimension that is a text may have any size."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int | str, ...]


class Body(NamedTuple):
    """What a loop repeats: operators, which may read values from around it, what goes in and what comes out."""

    nodes: list[Node]
    inputs: tuple[Output, ...]
    outputs: tuple[Output, ...]


class Graph:
    """Operators, constants and outputs, in the order in which they were added.

    Parameters
    ----------
    dtype : float32 or float64
        The precision of the input and of all floating point numbers.

    Examples
    --------
    >>> graph = Graph(np.float32)
    >>> graph.apply("Mul", ROWS, graph.constant("two", 2.0))
    'mul_1'
    >>> graph.nodes[0].inputs, graph.constants["two"].dtype
    (('rows', 'two'), dtype('float32'))
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.nodes: list[Node] = []
        self.constants: dict[str, NDArray[Any]] = {}
        self.outputs: list[Output] = []
        self._prefix = ""

    @property
    def n_bytes(self) -> int:
        """The bytes of all constants."""
        return sum(a.nbytes for a in self.constants.values())

    @property
    def overflows(self) -> bool:
        """Whether some constant is too large for the precision of the graph."""
        return not all(np.isfinite(a).all() for a in self.constants.values() if a.dtype.kind == "f")

    def rounded(self, values: Any) -> NDArray[np.float64]:
        """Return numbers as they will be in the graph, in double precision."""
        return np.asarray(values).astype(self.dtype).astype(np.float64)

    def constant(self, name: str, values: Any) -> str:
        """Name an array; floating point numbers are rounded to the precision of the graph."""
        a = np.asarray(values)
        self.constants[name] = a.astype(self.dtype) if a.dtype.kind == "f" else a
        return name

    def apply(self, operator: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Add an operator of one result and return its name; an input that is left out is an empty text."""
        (result,) = self.apply_many(operator, *inputs, names=(name or self._fresh(operator),), **attributes)
        return result

    def apply_many(self, operator: str, *inputs: str, names: tuple[str, ...], **attributes: Any) -> tuple[str, ...]:
        """Add an operator of several results, which are named."""
        self.nodes.append(Node(operator, inputs, names, attributes))
        return names

    def inner(self, prefix: str) -> Graph:
        """Return a graph for the body of a loop: with the same constants, and a prefix of its own for names."""
        graph = Graph(self.dtype)
        graph.constants, graph._prefix = self.constants, prefix
        return graph

    def output(self, name: str, dtype: Any, *shape: int) -> None:
        """Offer a value of shape (n, ...) to whoever runs the graph; n is the number of rows."""
        self.outputs.append(Output(name, np.dtype(dtype), ("n", *shape)))

    def _fresh(self, operator: str) -> str:
        return f"{self._prefix}{operator.lower()}_{len(self.nodes) + 1}"
