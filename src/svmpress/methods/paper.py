"""The method of the paper: LARS-SVM, then gradient support vectors, one machine at a time.

Each machine of the source (the only one of a binary SVM, each pair of one-vs-one, each class of one-vs-rest) is
compressed by itself on its own support vectors:

1. LARS-SVM picks m of them (equations 5 to 9, :mod:`svmpress.select.lars_svm`);
2. conjugate gradient moves them and their coefficients so that they reproduce the machine's decision values on all of
   its support vectors (equation 10), the intercept staying as it is.

Every vector serves one machine, so a one-vs-one model made this way fits a LibSVM file without copies. A regressor and
a one-class SVM have no labels to regress; their decision values stand in.

How many vectors each machine gets, the paper does not say. Its "10 % of the support vectors" can be read in two ways,
and ``share`` chooses:

- ``"together"``: m distinct vectors in all, shared out in proportion to the machines' support vectors. A prediction
  takes m kernel values.
- ``"per-machine"``: of each machine the share m / n of its own support vectors, n being those of the whole model. A
  support vector of one-vs-one serves up to K - 1 of the K (K - 1) / 2 machines, and moves away in another direction in
  each, so that a prediction takes up to K - 1 times as many kernel values: more than the source itself, maybe.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from svmpress.decoders import Identity, PairDAG, PairVote, class_pairs, pair_mask
from svmpress.errors import InputError
from svmpress.methods.base import Outcome, Problem, share, share_each
from svmpress.model import KernelExpansion
from svmpress.numerics import Floats, TracePoint, arrays
from svmpress.objectives import ExpansionObjective, Parameters, SquaredError, joint_descent
from svmpress.select import SelectionPath, SelectionStatus, Target, lars_svm

Share = Literal["together", "per-machine"]


@dataclass(frozen=True)
class LarsSVM:
    """LARS-SVM alone: support vectors are selected, not moved.

    Parameters
    ----------
    target : "labels" or "decision"
        What LARS regresses: labels, as in the paper, or the machine's decision values.
    refit : bool
        Whether the coefficients of the selected vectors are solved for again; LARS leaves them shrunken.
    share : "together" or "per-machine"
        What a ratio is a share of: the vectors of all machines together, or those of each machine by itself, see the
        module's docstring. No other budget than a ratio can be given with the latter.
    """

    target: Target = "labels"
    refit: bool = False
    share: Share = "together"

    def __post_init__(self) -> None:
        if self.share not in get_args(Share):
            raise InputError(f"unknown share {self.share!r}; choose one of {', '.join(get_args(Share))}")

    @property
    def needs_ratio(self) -> bool:
        """Whether the size is a share of each machine, so that it says nothing about the size of the whole."""
        return self.share == "per-machine"

    def run(self, problem: Problem, m: int, smaller: Outcome | None = None) -> Outcome:
        """Return an expansion of ``m`` support vectors; a smaller one is no help to LARS."""
        return _Machines(problem, m, self).outcome()


@dataclass(frozen=True)
class Paper(LarsSVM):
    """The Compressed Vector Machine of the paper: LARS-SVM, then gradient support vectors.

    Parameters
    ----------
    target, refit, share
        As in :class:`LarsSVM`; the first two are about the start.
    max_iter : int
        Conjugate-gradient iterations for each machine; 0 leaves the vectors where LARS found them.
    """

    max_iter: int = 400


class _Machines:
    """Compresses the machines of a problem one after the other and puts them together again."""

    def __init__(self, problem: Problem, m: int, method: LarsSVM) -> None:
        self.problem, self.m, self.method = problem, m, method
        self.source = problem.source.expansion
        self.members = [np.flatnonzero(column) for column in self.source.coef.T]
        sizes = np.array([len(rows) for rows in self.members])
        self.shares = share_each(m, sizes, self.source.n_vectors) if method.needs_ratio else share(m, sizes)
        self.path: dict[str, SelectionPath] = {}
        self.trace: dict[str, tuple[TracePoint, ...]] = {}

    def outcome(self) -> Outcome:
        vectors, coef, owner = [], [], []
        short = ""
        for p in np.flatnonzero(self.shares).tolist():
            name = self._name(p)
            path = self._select(p, int(self.shares[p]), name)
            k = len(path)
            if path.status is not SelectionStatus.COMPLETE:
                short = f"{name}: {path.status.message}"
            V, a = self._refine(p, k, path, name)
            vectors.append(V)
            column = np.zeros((k, self.source.n_outputs))
            column[:, p] = a
            coef.append(column)
            owner.append(self._owner(p, self.members[p][path.order]))
            self.problem.progress("machines", p + 1, len(self.shares))
        A = np.concatenate(coef)
        expansion = KernelExpansion(
            self.source.kernel, np.concatenate(vectors), A, self._intercepts(), self._mask(np.concatenate(owner))
        )
        idle = int(np.sum(self.shares == 0))
        notes = (f"{idle} of {len(self.shares)} machines got no vector and answer with a constant",) if idle else ()
        if self.method.needs_ratio and len(self.shares) > 1:
            kept = f"each machine keeps a share of its own vectors, {len(A):,} in all"
            notes = (*notes, f"{kept}; the same share of all together is {self.m:,}")
        return Outcome(expansion, status=short, path=self.path, trace=self.trace, notes=notes)

    def _name(self, p: int) -> str:
        if isinstance(self.problem.source.decoder, PairVote | PairDAG):
            i, j = class_pairs(self.problem.source.decoder.n_classes)[p]
            classes = self.problem.source.decoder.classes
            return f"machine {classes[i]} against {classes[j]}"
        return f"machine {p}" if len(self.members) > 1 else "machine"

    def _select(self, p: int, k: int, name: str) -> SelectionPath:
        labelled = not isinstance(self.problem.source.decoder, Identity) and self.problem.source.task != "outlier"
        path = lars_svm(
            self.source.kernel,
            arrays.take(self.source.vectors, self.members[p]),
            self.source.coef[self.members[p], p],
            float(self.source.intercept[p]),
            k,
            target=self.method.target if labelled else "decision",
            max_bytes=self.problem.max_bytes,
            backend=self.problem.backend,
            progress=self.problem.stage(f"LARS, {name}"),
        )
        self.path[name] = path
        return path

    def _refine(self, p: int, k: int, path: SelectionPath, name: str) -> tuple[Floats, Floats]:
        """Return the vectors and coefficients of machine p."""
        selected = path.refit(k) if self.method.refit else path.at(k)
        all_vectors = arrays.take(self.source.vectors, self.members[p])
        V = arrays.dense(arrays.take(all_vectors, selected.indices))
        if not isinstance(self.method, Paper) or self.method.max_iter == 0:
            return V, selected.coef[:, 0]
        backend = self.problem.backend
        alone = replace(
            self.source,
            vectors=all_vectors,
            coef=self.source.coef[self.members[p], p : p + 1],
            intercept=np.zeros(1),
            coef_mask=None,
        )
        rows = self.problem.placed(all_vectors)
        targets = backend.asarray(alone.decision_values(rows, self.problem.max_bytes))
        objective = ExpansionObjective(rows, SquaredError(targets), self.problem.max_bytes)
        start = Parameters(
            self.source.kernel, backend.asarray(V), backend.asarray(selected.coef), backend.asarray(np.zeros(1))
        )
        refined = joint_descent(
            objective, start, max_iter=self.method.max_iter, progress=self.problem.stage(f"gradient, {name}")
        )
        self.trace[name] = refined.trace
        return refined.vectors, refined.coef[:, 0]

    def _intercepts(self) -> Floats:
        """Return the source's intercepts; a machine without vectors answers with its majority instead."""
        b = np.array(self.source.intercept, dtype=np.float64)
        for p in np.flatnonzero(self.shares == 0):
            if len(self.members[p]):
                V = arrays.take(self.source.vectors, self.members[p])
                b[p] = float(np.mean(self.source.decision_values(V, self.problem.max_bytes)[:, p]))
        return b

    def _owner(self, p: int, members: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the class that each selected vector belongs to in a LibSVM file, by the sign of its coefficient."""
        if not isinstance(self.problem.source.decoder, PairVote | PairDAG):
            return np.zeros(len(members), dtype=np.intp)
        i, j = class_pairs(self.problem.source.decoder.n_classes)[p]
        return np.where(self.source.coef[members, p] > 0, i, j)

    def _mask(self, owner: NDArray[np.intp]) -> NDArray[np.bool_] | None:
        decoder = self.problem.source.decoder
        if isinstance(decoder, PairVote | PairDAG):
            return pair_mask(owner, decoder.n_classes)
        return None
