"""What a compression method is given, and what it gives back.

A method sees rows that are already scaled, targets that are the source's decision values, and the source's expansion;
it never sees files, estimators or budgets. :mod:`svmpress.compression` builds the problem and wraps the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Decoder, class_pairs
from svmpress.methods.score import Check
from svmpress.model import KernelExpansion, KernelModel
from svmpress.numerics import Backend, Floats, Rows, Shards, TracePoint, arrays
from svmpress.select import SelectionPath

Layout = Literal["shared", "libsvm"]
Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total); a total of 0 is one that is not known."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A source to compress.

    Parameters
    ----------
    source : KernelModel
    rows : (n, d) or None
        Rows to match the source on, scaled as its vectors are; None where no data was given.
    y : (n,) or (n, M), or None
        What the rows should be answered with: positions in ``source.classes_``, or values of a regression.
    layout : "shared" or "libsvm"
    backend : Backend
        Where to compute.
    seed : int
    max_bytes : int
        Working memory.
    progress : callable
        Called with (stage, done, total).
    deadline : float
        On the clock of ``time.perf_counter``: no further step begins after it, and the best so far is the outcome.
    every : Shards, optional
        All rows, scaled, with a column ``y`` of answers, where ``rows`` are a sample of them that is large enough for
        all choices. A method may take its last steps on these.
    """

    source: KernelModel
    rows: Rows | None
    y: NDArray[Any] | None
    layout: Layout
    backend: Backend
    seed: int
    max_bytes: int
    progress: Progress
    deadline: float = inf
    every: Shards | None = None

    def stage(self, name: str) -> Callable[[int, int], None]:
        """Return a progress callback for one stage."""
        return lambda done, total: self.progress(name, done, total)

    def placed(self, X: Rows) -> Rows:
        """Return rows on the device to compute on; see :meth:`Backend.rows` for sparse ones."""
        return self.backend.rows(X, self.max_bytes)

    def values(self, X: Rows) -> Floats:
        """Return the source's decision values at rows of the host, (n, M), computed where the rows are placed."""
        X = X if self.backend.is_numpy else self.placed(X)
        values = self.source.expansion.decision_values(X, self.max_bytes)
        return arrays.to_numpy(values).astype(np.float64, copy=False)


@dataclass(frozen=True)
class Decision:
    """One decision of a method: a change that was tried, and what came of it.

    Parameters
    ----------
    candidate : str
        What proposed the change.
    change : str
        The recipe with the change, in words.
    before, after : float
        Scores on held-out rows without and with it, for the same work.
    standard_error : float
        Of their difference.
    steps : int
        Steps of descent that it was given.
    seconds : float
    adopted : bool
    """

    candidate: str
    change: str
    before: float
    after: float
    standard_error: float
    steps: int
    seconds: float
    adopted: bool

    def __str__(self) -> str:
        verdict = "adopted" if self.adopted else "not adopted"
        gain = self.after - self.before
        return (
            f"{self.candidate}: {self.change} {verdict} ({self.before:.4f} -> {self.after:.4f}, "
            f"{gain:+.4f} ± {self.standard_error:.4f}, {self.steps} steps)"
        )


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method found.

    Parameters
    ----------
    expansion : KernelExpansion
    decoder : Decoder or None
        None: the source's.
    copies : bool
        Whether decision values are like the source's, so that what was calibrated on those still holds.
    status : str
        Empty, or why there are fewer vectors than asked for.
    stopped : bool
        Whether the deadline came before the work was done.
    path, trace : mappings
        Selections and traces of refinement, by stage.
    decisions : tuple of Decision
        What was tried, and adopted or not.
    check : Check or None
        How the choices did on held-out rows.
    notes : tuple of str
        What else a person should know.
    resized : callable, optional
        From a number of vectors to an outcome of that size, by what this one knows: its choices are where those of
        the other size begin, and its experiment is theirs. None where nothing is known that would help.
    """

    expansion: KernelExpansion
    decoder: Decoder | None = None
    copies: bool = True
    status: str = ""
    stopped: bool = False
    path: Mapping[str, SelectionPath] = field(default_factory=dict)
    trace: Mapping[str, tuple[TracePoint, ...]] = field(default_factory=dict)
    decisions: tuple[Decision, ...] = ()
    check: Check | None = None
    notes: tuple[str, ...] = ()
    resized: Callable[[int], Outcome] | None = None


class Method(Protocol):
    """A way to compress."""

    def run(self, problem: Problem, m: int, smaller: Outcome | None = None) -> Outcome:
        """Return an expansion of at most ``m`` vectors; ``smaller`` is one of fewer, to start from if it helps."""


def vector_classes(source: KernelExpansion, n_classes: int) -> NDArray[np.intp]:
    """Return the class that each vector of an expansion for pairs of classes belongs to, (m,)."""
    used = np.zeros((source.n_vectors, n_classes))
    for p, (i, j) in enumerate(class_pairs(n_classes)):  # coefficients > 0 belong to the first class of a pair
        used[:, i] += np.maximum(source.coef[:, p], 0)
        used[:, j] += np.maximum(-source.coef[:, p], 0)
    return used.argmax(axis=1)


def share(m: int, sizes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Divide ``m`` vectors over parts in proportion to their sizes, by largest remainder, none above its size.

    Examples
    --------
    >>> share(4, np.array([50, 30, 0, 20])).tolist()
    [2, 1, 0, 1]
    """
    sizes = np.asarray(sizes, dtype=np.intp)
    m = min(m, int(sizes.sum()))
    exact = m * sizes / max(1, sizes.sum())
    out = np.floor(exact).astype(np.intp)
    by_remainder = np.argsort(-(exact - out), kind="stable")
    out[by_remainder[: m - int(out.sum())]] += 1
    return out


def share_each(m: int, sizes: NDArray[np.intp], total: int) -> NDArray[np.intp]:
    """Return the share m / total of each part by itself, rounded, and at least one vector of a part that has any.

    Where parts have vectors in common, ``sizes`` add up to more than ``total``, and these shares to more than m.

    Examples
    --------
    >>> share_each(10, np.array([50, 66, 3, 0]), 100).tolist()
    [5, 7, 1, 0]
    """
    sizes = np.asarray(sizes, dtype=np.intp)
    rounded = np.floor(sizes * (m / total) + 0.5).astype(np.intp)
    return np.minimum(np.maximum(rounded, 1), sizes)
