"""What ``compress()`` returns: the small model, how it was made, and what to expect of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from html import escape
from typing import Any

from svmpress.compression.budget import Budget
from svmpress.compression.expectation import Expectation
from svmpress.compression.probabilities import ProbabilityCheck
from svmpress.compression.sizing import SizePoint
from svmpress.errors import InputError
from svmpress.methods import Check, Decision
from svmpress.model import KernelModel, expansion_bytes
from svmpress.numerics import TracePoint, lazy_property
from svmpress.select import SelectionPath
from svmpress.storage import PathLike
from svmpress.wrapping import fitted_estimator


class Status(Enum):
    """How a compression ended; the value is the message for people."""

    COMPRESSED = "compressed to the budget"
    DOUBTFUL = "compressed to the budget, but the small model does not answer as its source does"
    UNCHANGED = "the budget allows as many vectors as the source has, so the source is returned unchanged"
    STOPPED = "the time limit was reached, and this is the best so far"
    FEWER = "fewer vectors than the budget allows were enough or available"
    DROP_EXCEEDED = "no smaller model stays within max_drop on held-out rows, so the source is returned unchanged"

    @property
    def message(self) -> str:
        """What happened, as a sentence."""
        return self.value


@dataclass(frozen=True, eq=False)
class Compression:
    """What :func:`compress` returns.

    Parameters
    ----------
    model : KernelModel
        The small model, in the precision of the source.
    source : KernelModel
        What it was made from.
    budget : Budget
    status : Status
    detail : str
        More about the status; may be empty.
    expected : Expectation, optional
        How the small model answers, measured beside its source; None if that is returned unchanged.
    probabilities : ProbabilityCheck, optional
        How good the probabilities of classes are, where the source has them.
    warnings : tuple of str
        What a person must know before using the model.
    path : mapping of str to SelectionPath
        Selections, by stage.
    trace : mapping of str to tuple of TracePoint
        Refinements, by stage.
    curve : tuple of SizePoint
        With ``max_drop``: every size that was tried and what it lost on held-out rows.
    decisions : tuple of Decision
        What was tried, and adopted or not.
    check : Check or None
        How the choices did on held-out rows; None where there were no choices, or no y to judge them by.
    notes : tuple of str
        What else a person should know.
    timings : mapping of str to float
        Seconds, by stage.
    rebuilt : estimator, optional
        What :attr:`estimator` is, where the source was an estimator around an SVM.
    """

    model: KernelModel
    source: KernelModel
    budget: Budget
    status: Status
    detail: str = ""
    expected: Expectation | None = None
    probabilities: ProbabilityCheck | None = None
    warnings: tuple[str, ...] = ()
    path: Mapping[str, SelectionPath] = field(default_factory=dict)
    trace: Mapping[str, tuple[TracePoint, ...]] = field(default_factory=dict)
    curve: tuple[SizePoint, ...] = ()
    decisions: tuple[Decision, ...] = ()
    check: Check | None = None
    notes: tuple[str, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    rebuilt: Any = None

    @property
    def message(self) -> str:
        """The status as a sentence, with its detail."""
        return f"{self.status.message} ({self.detail})" if self.detail else self.status.message

    def __repr__(self) -> str:
        """Return the sizes before and after; :meth:`summary` says more."""
        return f"<Compression: {self.source.n_vectors} -> {self.model.n_vectors} vectors, {self.status.message}>"

    @lazy_property
    def estimator(self) -> Any:
        """The small model as a fitted estimator of scikit-learn, in the same pipeline or wrapper as the source was.

        It predicts with svmpress's own predictor. :func:`svmpress.to_estimator` makes one of scikit-learn's own SVMs.
        """
        return fitted_estimator(self.model) if self.rebuilt is None else self.rebuilt

    def _repr_html_(self) -> str:
        """Return a small table for notebooks, in the colours of the page around it."""
        before, after = self.source.expansion, self.model.expansion
        rows = {
            "vectors": f"{before.n_vectors:,} → {after.n_vectors:,}",
            "bytes": f"{expansion_bytes(before):,} → {expansion_bytes(after):,}",
            "multiply-adds": f"{before.multiply_adds:,} → {after.multiply_adds:,}",
        }
        if self.expected is not None:
            rows["agreement"] = str(self.expected.agreement)
            if self.expected.accuracy is not None:
                rows[f"{self.expected.measure}, held out"] = str(self.expected.accuracy)
        cells = "".join(f'<tr><th scope="row">{escape(k)}</th><td>{escape(v)}</td></tr>' for k, v in rows.items())
        told = "".join(f"<p>Warning: {escape(warning)}.</p>" for warning in self.warnings)
        return f"<p>{escape(self.message)}.</p>{told}<table>{cells}</table>"

    def report(
        self,
        path: PathLike,
        X: Any = None,
        y: Any = None,
        *,
        image: str | tuple[int, int] | None = None,
        title: str = "",
        command: str = "",
    ) -> None:
        """Write a page to look at: one file of HTML that fetches nothing, at most 3 MB.

        Parameters
        ----------
        path : path
        X : (n, d), optional
            Rows that the source has not seen, as the source gets them: on these the two are compared. Without them
            the page shows the vectors, what the search measured, and what was decided.
        y : (n,), optional
            Their labels or values.
        image : "HEIGHTxWIDTH" or (height, width), optional
            Where the features are the pixels of a picture, row by row: vectors are shown as pictures.
        title, command : str
            The heading, and the command that made the page.
        """
        from svmpress.compression.report import subjects_of, write_page

        write_page(path, self.source, subjects_of([self]), X, y, image=image, title=title, command=command)

    def summary(self) -> str:
        """Return what was done and why, for a person to read."""
        before, after = self.source.expansion, self.model.expansion
        share = after.n_vectors / max(1, before.n_vectors)
        lines = [
            f"{self.message}.",
            *(f"warning: {warning}" for warning in self.warnings),
            *([] if self.expected is None else self.expected.lines()),
            *([] if self.probabilities is None else self.probabilities.lines()),
            f"vectors          {before.n_vectors:>12,} -> {after.n_vectors:,} ({share:.2%})",
            f"outputs          {before.n_outputs:>12,} -> {after.n_outputs:,}",
            f"bytes            {expansion_bytes(before):>12,} -> {expansion_bytes(after):,}",
            f"multiply-adds    {before.multiply_adds:>12,} -> {after.multiply_adds:,} per prediction",
            f"seconds          {self.timings.get('total', 0.0):>12.1f}",
        ]
        lines += [f"- {line}" for line in (*self.decisions, *self.notes)]
        lines += [f"- {point}" for point in self.curve]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class ManyCompressions(Compression):
    """What :func:`compress` returns for an estimator around several SVMs that were compressed one by one.

    It has no ``model`` and no ``source``; each of ``members`` has, and :attr:`estimator` puts them together.

    Parameters
    ----------
    members : tuple of Compression
    names : tuple of str
        What the members are called.
    """

    model: KernelModel = field(init=False, repr=False)
    source: KernelModel = field(init=False, repr=False)
    members: tuple[Compression, ...] = ()
    names: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name in ("model", "source"):
            raise AttributeError(
                f"{len(self.members)} SVMs were compressed one by one, so there is no one {name}: each of members has "
                "its own, and estimator puts them together"
            )
        raise AttributeError(name)

    def _repr_html_(self) -> str:
        """Return the table of each member."""
        named = zip(self.names, self.members, strict=True)
        return "".join(f"<p><b>{escape(name)}</b></p>{member._repr_html_()}" for name, member in named)

    def report(self, path: PathLike, X: Any = None, y: Any = None, **options: Any) -> None:
        """Refuse: a report is about one SVM, so each of ``members`` has its own."""
        raise InputError(f"a report is about one SVM, and there are {len(self.members)}: call members[0].report(...)")

    def summary(self) -> str:
        """Return what was done to each member, for a person to read."""
        lines = [f"{self.message}.", *(f"warning: {warning}" for warning in self.warnings)]
        for name, member in zip(self.names, self.members, strict=True):
            lines += [f"{name}:", *(f"  {line}" for line in member.summary().splitlines())]
        return "\n".join([*lines, *(f"- {note}" for note in self.notes)])
