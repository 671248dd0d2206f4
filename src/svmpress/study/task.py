"""What a method of the study is given, and what it gives back.

A :class:`Task` is a data set with a trained SVM, the *teacher*. A :class:`StudyMethod` makes small models of it at the
sizes asked for, smallest first, and yields each as it is finished: a :class:`Built`, with what a prediction costs.

Methods need not return a :class:`~svmpress.model.KernelModel` (Nystroem features followed by a linear SVM are none), so
a :class:`Built` carries a function that answers rows, and costs that are counted alike for all:

    vectors         kernel evaluations of one prediction
    multiply_adds   ``m (d + M)`` for m vectors of d features and M outputs; a mask counts only what it lets through
    file_bytes      of the saved model, arrays in double precision
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from svmpress.errors import InputError
from svmpress.model import KernelModel
from svmpress.numerics import Rows


class NotApplicable(InputError):  # noqa: N818  # not a failure: the runner records it as a cell that is skipped
    """A method that cannot do a set; the message is the reason."""


@dataclass(frozen=True, eq=False)
class Task:
    """A data set and its teacher.

    Parameters
    ----------
    name : str
    X, y : (n, d) rows and (n,) labels
        To train on, prepared as the teacher saw them.
    X_test, y_test
        To judge on.
    teacher : KernelModel
        The trained SVC.
    C, gamma : float
        What it was trained with.
    train_seconds : float
        How long that took.
    digest : str
        Of rows and labels before their preparation; empty if it is not known.
    """

    name: str
    X: Rows
    y: NDArray[Any]
    X_test: Rows
    y_test: NDArray[Any]
    teacher: KernelModel
    C: float
    gamma: float
    train_seconds: float
    digest: str = ""


@dataclass(frozen=True, eq=False)
class Built:
    """A small model.

    Parameters
    ----------
    size : int
        The number of vectors that was asked for.
    vectors : int
        Kernel evaluations of one prediction: distinct vectors, or components of Nystroem features; 0 where there is
        no kernel.
    multiply_adds : int
        Of one prediction.
    file_bytes : int
        Of the saved model.
    seconds : float
        To build it; of a method that grows one model, along the path up to this size.
    predict : callable
        Rows (n, d) in, labels (n,) out.
    notes : str
        What a reader should know about this model.
    device : str
        Where it was built.
    machine_vectors : int, optional
        The vectors that each machine uses, added up: kernel evaluations if no two machines shared a vector.
    """

    size: int
    vectors: int
    multiply_adds: int
    file_bytes: int
    seconds: float
    predict: Callable[[Rows], NDArray[Any]]
    notes: str = ""
    device: str = "cpu"
    machine_vectors: int | None = None


class StudyMethod(Protocol):
    """A way to get a small model.

    Attributes
    ----------
    name : str
        Key in records, for example ``"lars-svm"``.
    label : str
        In figures.
    grows : bool
        Whether the sizes are read off one path, so that they are best built together.
    seeded : bool
        Whether another seed may give another model.
    """

    @property
    def name(self) -> str:
        """Key in records."""

    @property
    def label(self) -> str:
        """In figures."""

    @property
    def grows(self) -> bool:
        """Whether all sizes are read off one path."""

    @property
    def seeded(self) -> bool:
        """Whether another seed may give another model."""

    def build(self, task: Task, sizes: Sequence[int], seed: int) -> Iterator[Built]:
        """Yield a model of each size, ascending, as soon as it is finished."""
