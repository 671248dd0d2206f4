"""What a wrapper is: sources inside it, rows on their way in, answers on their way out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from svmpress.errors import InputError
from svmpress.model import KernelModel


class Small(Protocol):
    """What has become of a source: a small model, and a fitted estimator that holds it."""

    @property
    def model(self) -> KernelModel: ...  # noqa: D102

    @property
    def estimator(self) -> Any: ...  # noqa: D102


def same(X: Any) -> Any:
    """Return what is given: rows or answers that need no change."""
    return X


def encoded(classes: NDArray[Any], y: Any) -> Any:
    """Return labels as positions in the classes; some wrappers train their members on these."""
    if y is None:
        return None
    labels = np.asarray(y)
    place = np.minimum(np.searchsorted(classes, labels), classes.size - 1)
    unknown = labels[classes[place] != labels]
    if unknown.size:
        raise InputError(f"y holds the label {str(unknown[0])!r}, which the model does not know")
    return place


@dataclass(frozen=True, eq=False)
class Part:
    """A source inside a wrapper.

    Parameters
    ----------
    source : estimator or KernelModel
        May be a wrapper again.
    rows : callable
        From the wrapper's rows to those of the source.
    answers : callable
        From the wrapper's y to that of the source; None where y does not say what the source should answer.
    name : str
        What the source is called in reports.
    """

    source: Any
    rows: Callable[[Any], Any] = same
    answers: Callable[[Any], Any] = same
    name: str = ""

    @property
    def takes_rows_as_they_are(self) -> bool:
        """Whether the wrapper's rows are those of the source."""
        return self.rows is same

    @property
    def takes_answers_as_they_are(self) -> bool:
        """Whether the wrapper's y is that of the source."""
        return self.answers is same

    def behind(self, outer: Part) -> Part:
        """Return this part for rows and answers of the part that it is inside of."""

        def answers(y: Any) -> Any:
            own = outer.answers(y)
            return None if own is None else self.answers(own)

        return Part(
            self.source,
            self.rows if outer.takes_rows_as_they_are else lambda X: self.rows(outer.rows(X)),
            self.answers if outer.takes_answers_as_they_are else answers,
            self.name,
        )


@dataclass(frozen=True, eq=False)
class Wrapped:
    """A fitted estimator around others.

    Parameters
    ----------
    parts : tuple of Part
    rebuild : callable
        From what has become of the parts, in their order, to a fitted estimator like the wrapper.
    notes : tuple of str
        What a person should know.
    """

    parts: tuple[Part, ...]
    rebuild: Callable[[Sequence[Small]], Any]
    notes: tuple[str, ...] = ()

    def around(self, inner: Wrapped) -> Wrapped:
        """Return two layers as one: this wrapper has one part, and ``inner`` is what is inside that."""
        (outer,) = self.parts
        parts = tuple(part.behind(outer) for part in inner.parts)

        def rebuild(small: Sequence[Small]) -> Any:
            return self.rebuild([_Rebuilt(small[0].model, inner.rebuild(small))])

        return Wrapped(parts, rebuild, (*self.notes, *inner.notes))


@dataclass(frozen=True, eq=False)
class _Rebuilt:
    """A small model and the estimator that holds it."""

    model: KernelModel
    estimator: Any
