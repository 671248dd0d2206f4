"""The methods of the study: the paper's, svmpress's, and others (:mod:`.peers`, :mod:`.learners`, :mod:`.dlib_pair`).

Each makes models of a task's teacher, or of its training rows, and counts its costs by :mod:`.costs`:

    full                the teacher itself
    lars-svm            LARS-SVM of the paper: support vectors of each machine, selected and not moved (equation 9)
    cvm                 the paper's Compressed Vector Machine: LARS-SVM, then gradient support vectors (equation 10)
    ...-per-machine     these two with a share of the support vectors of each machine, not of all machines together
    auto                svmpress as it comes: vectors shared by all machines
    auto-libsvm         the same, each vector in one class as in a LibSVM file
    reduced-svm         Reduced-SVM: a squared-hinge SVM on a basis grown from training rows
    reduced-svm-shared  the same with one basis for all machines
    reduced-set         the reduced-set method: the nearest expansion in the kernel's space

The machines of a one-vs-one model are treated by the paper one by one, each with its share of the m vectors in
proportion to its support vectors, and so are they here for LARS-SVM, CVM and Reduced-SVM. A machine whose share is none
answers with a constant. With many classes and few vectors that is most of them, and such a model answers badly,
however its vectors are selected. Where several machines take the same row it counts once. In the methods "per machine"
each machine keeps the share of its own support vectors that m is of the teacher's, and the model has more than m.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.compression import compress
from svmpress.decoders import PairDAG, PairVote, class_pairs
from svmpress.methods import Auto, Layout, Method, Paper, Problem, ReducedSet, RkhsDistance, Share, share, share_each
from svmpress.model import KernelExpansion, KernelModel
from svmpress.numerics import Backend, Floats, Rows, arrays
from svmpress.objectives import sides_of
from svmpress.select import lars_svm, reduced_svm
from svmpress.study.costs import built, merged
from svmpress.study.dlib_pair import DlibPair, DlibReduce
from svmpress.study.learners import Boosting, FourierFeatures, NystroemSVC, Perceptron
from svmpress.study.peers import Refitted, SubsampleSVC, centres, random_vectors
from svmpress.study.task import Built, NotApplicable, StudyMethod, Task

MAX_BYTES = 2**30
"""Working memory of a method."""
QUICK_WORK, QUICK_ITERATIONS = 5e10, 20
"""Of ``--quick``: operations of ``auto`` for a model, about a thirtieth of the least that it takes by default, and
iterations of ``cvm`` for a machine, a twentieth."""


@dataclass(frozen=True)
class Full:
    """The teacher itself, whatever the sizes."""

    name: str = "full"
    label: str = "full SVM"
    grows: bool = False
    seeded: bool = False

    def build(self, task: Task, sizes: Sequence[int], seed: int) -> Iterator[Built]:
        """Yield the teacher."""
        for size in sizes:
            yield built(task, size, task.teacher, task.train_seconds)


@dataclass(frozen=True)
class Compressed:
    """A method of :func:`svmpress.compress`, one compression a size.

    Parameters
    ----------
    name, label : str
    method : str or Method
    layout : "shared" or "libsvm"
    seeded : bool
    device : str
        Where to compute.
    """

    name: str
    label: str
    method: str | Method
    layout: Layout = "shared"
    seeded: bool = True
    grows: bool = False
    device: str = "cpu"

    def build(self, task: Task, sizes: Sequence[int], seed: int) -> Iterator[Built]:
        """Yield the compressed teacher at each size."""
        if self.layout == "libsvm" and not isinstance(task.teacher.decoder, PairVote | PairDAG):
            raise NotApplicable("with a single machine the two layouts are the same; see auto")
        each = isinstance(self.method, Paper) and self.method.needs_ratio
        if each:
            _refuse_one_machine(task, "cvm")
        n = task.teacher.n_vectors
        for size in sizes:
            start = time.perf_counter()
            found = compress(
                task.teacher,
                task.X,
                task.y,
                **({"ratio": size / n} if each else {"vectors": size}),
                method=self.method,
                layout=self.layout,
                device=self.device,
                random_state=seed,
                max_memory=MAX_BYTES,
            )
            seconds = time.perf_counter() - start
            yield replace(built(task, size, merged(found.model), seconds, found.detail), device=self.device)


def _refuse_one_machine(task: Task, other: str) -> None:
    if task.teacher.n_outputs == 1:
        raise NotApplicable(f"a share of the only machine is a share of all together; see {other}")


# ---------------------------------------------------------------------------------------------------------
# Machine by machine
# ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Part:
    """One machine at one size: rows of a table, their coefficients, the intercept, and the seconds it took."""

    rows: NDArray[np.intp]
    coef: Floats
    intercept: float
    seconds: float


class _Machines:
    """How m vectors are shared out among the machines of a teacher, and how its parts become a model again."""

    def __init__(self, teacher: KernelModel, of: Share = "together") -> None:
        self.teacher, self.of = teacher, of
        self.members = [np.flatnonzero(column) for column in teacher.expansion.coef.T]
        self._support = np.array([len(rows) for rows in self.members])

    def sizes(self, sizes: Sequence[int]) -> list[list[int]]:
        """Return for each machine the sizes at which its path will be read, ascending; 0 is a constant."""
        shares = np.stack([self._share(m) for m in sizes])
        return [sorted({int(k) for k in column}) for column in shares.T]

    def _share(self, m: int) -> NDArray[np.intp]:
        each = self.of == "per-machine"
        return share_each(m, self._support, self.teacher.n_vectors) if each else share(m, self._support)

    def model(self, table: Rows, m: int, parts: Sequence[dict[int, _Part]]) -> tuple[KernelModel, float]:
        """Return the model of m vectors and the seconds that its machines took.

        Parameters
        ----------
        table : (n, d)
            What the parts' rows point into.
        m : int
        parts : sequence of dict
            For each machine, its part by size; size 0 is the constant.
        """
        chosen = [of[int(k)] for of, k in zip(parts, self._share(m), strict=True)]
        rows = np.unique(np.concatenate([part.rows for part in chosen]))
        coef = np.zeros((len(rows), len(chosen)))
        for p, part in enumerate(chosen):
            coef[np.searchsorted(rows, part.rows), p] = part.coef
        intercept = np.array([part.intercept for part in chosen])
        expansion = KernelExpansion(self.teacher.kernel, arrays.take(table, rows), coef, intercept)
        return replace(self.teacher, expansion=expansion), sum(part.seconds for part in chosen)


@dataclass(frozen=True)
class LarsPath:
    """LARS-SVM as :class:`svmpress.methods.LarsSVM` makes it, with all sizes read off one path for each machine."""

    share: Share = "together"
    name: str = "lars-svm"
    label: str = "LARS-SVM"
    grows: bool = True
    seeded: bool = False

    def build(self, task: Task, sizes: Sequence[int], seed: int) -> Iterator[Built]:
        """Yield the selected support vectors at each size."""
        if self.share == "per-machine":
            _refuse_one_machine(task, "lars-svm")
        machines = _Machines(task.teacher, self.share)
        source = task.teacher.expansion
        parts = [self._parts(source, machines.members[p], p, ks) for p, ks in enumerate(machines.sizes(sizes))]
        for size in sizes:
            model, seconds = machines.model(source.vectors, size, parts)
            yield built(task, size, model, seconds)

    def _parts(self, source: KernelExpansion, members: NDArray[np.intp], p: int, ks: list[int]) -> dict[int, _Part]:
        b = float(source.intercept[p])
        vectors = arrays.take(source.vectors, members)
        parts = {}
        if ks[0] == 0:
            one = slice(p, p + 1)
            alone = replace(source, coef=source.coef[:, one], intercept=source.intercept[one], coef_mask=None)
            constant = float(np.mean(alone.decision_values(vectors, MAX_BYTES))) if len(members) else b
            parts[0] = _Part(members[:0], np.zeros(0), constant, 0.0)
            ks = ks[1:]
        if not ks:
            return parts
        start = time.perf_counter()
        seconds = {}

        def clock(done: int, total: int) -> None:
            seconds[done] = time.perf_counter() - start

        path = lars_svm(source.kernel, vectors, source.coef[members, p], b, ks[-1], max_bytes=MAX_BYTES, progress=clock)
        whole = time.perf_counter() - start
        for k in ks:
            selected = path.at(min(k, len(path)))  # fewer where the rest are copies
            parts[k] = _Part(members[selected.indices], selected.coef[:, 0], b, seconds.get(k, whole))
        return parts


@dataclass(frozen=True)
class ReducedSVM:
    """Reduced-SVM with a basis for each machine, grown on the training rows of its classes.

    C is the teacher's; the paper takes both parameters from the full SVM. All sizes are read off one path a machine.
    """

    name: str = "reduced-svm"
    label: str = "Reduced-SVM"
    grows: bool = True
    seeded: bool = True

    def build(self, task: Task, sizes: Sequence[int], seed: int) -> Iterator[Built]:
        """Yield the machines on their first vectors at each size."""
        machines = _Machines(task.teacher)
        classes = task.teacher.classes_
        if classes is None:
            raise NotApplicable("Reduced-SVM is a classifier")
        pairs = class_pairs(classes.size)
        # a positive value means the later of two classes, and the first of a pair
        sides = pairs if len(pairs) > 1 else pairs[:, ::-1]
        parts = []
        for (positive, negative), ks in zip(sides, machines.sizes(sizes), strict=True):
            y = np.where(task.y == classes[positive], 1.0, 0.0) - (task.y == classes[negative])
            parts.append(self._parts(task, np.flatnonzero(y), y, ks, seed))
        for size in sizes:
            model, seconds = machines.model(task.X, size, parts)
            yield built(task, size, model, seconds)

    def _parts(self, task: Task, rows: NDArray[np.intp], y: Floats, ks: list[int], seed: int) -> dict[int, _Part]:
        parts = {0: _Part(rows[:0], np.zeros(0), float(np.mean(y[rows])) if rows.size else 0.0, 0.0)}
        ks = [k for k in ks if k]
        if not ks:
            return parts
        start = time.perf_counter()
        X = arrays.take(task.X, rows)
        path = reduced_svm(task.teacher.kernel, X, y[rows], ks, task.C, seed=seed, max_bytes=MAX_BYTES)
        for k, fit in zip(ks, path, strict=True):
            seconds = time.perf_counter() - start
            parts[k] = _Part(rows[fit.indices], fit.coef[:, 0], float(fit.intercept[0]), seconds)
        return parts


@dataclass(frozen=True)
class SharedReducedSVM:
    """Reduced-SVM with one basis for all pairs, chosen by the sum of their objectives.

    Stronger than a basis for each pair where there are many, and more work. All coefficients are re-optimised when the
    basis has grown by a third, not a tenth, and at every size.
    """

    name: str = "reduced-svm-shared"
    label: str = "Reduced-SVM, shared"
    grows: bool = True
    seeded: bool = True

    def build(self, task: Task, sizes: Sequence[int], seed: int) -> Iterator[Built]:
        """Yield all machines on their first vectors at each size."""
        decoder = task.teacher.decoder
        if not isinstance(decoder, PairVote | PairDAG):
            raise NotApplicable("a single machine has nothing to share; see reduced-svm")
        start = time.perf_counter()
        positions = np.argmax(np.equal.outer(task.y, decoder.classes), axis=1)
        Y = sides_of(positions, decoder.n_classes, pairwise=True)
        path = reduced_svm(
            task.teacher.kernel, task.X, Y, list(sizes), task.C, growth=4 / 3, seed=seed, max_bytes=2 * MAX_BYTES
        )
        for size, fit in zip(sizes, path, strict=True):
            seconds = time.perf_counter() - start
            expansion = KernelExpansion(task.teacher.kernel, arrays.take(task.X, fit.indices), fit.coef, fit.intercept)
            yield built(task, size, replace(task.teacher, expansion=expansion), seconds)


@dataclass(frozen=True)
class ReducedSetPath:
    """The reduced-set method, with the vectors that all sizes start from taken one at a time once.

    Parameters
    ----------
    method : ReducedSet
    """

    method: ReducedSet = field(default_factory=ReducedSet)
    name: str = "reduced-set"
    label: str = "reduced set"
    grows: bool = True
    seeded: bool = True

    def build(self, task: Task, sizes: Sequence[int], seed: int) -> Iterator[Built]:
        """Yield the nearest expansion at each size."""
        problem = Problem(
            source=task.teacher,
            rows=None,
            y=None,
            layout="shared",
            backend=Backend.of("cpu"),
            seed=seed,
            max_bytes=MAX_BYTES,
            progress=_silent,
        )
        begun = time.perf_counter()
        distance = RkhsDistance(task.teacher.expansion, max_bytes=MAX_BYTES)
        first = time.perf_counter() - begun
        start = self.method.start(problem, max(sizes))
        for size in sizes:
            begun = time.perf_counter()
            k = min(size, start.vectors.shape[0])
            found = self.method.descend(problem, start.vectors[:k], distance)
            seconds = first + float(start.seconds[k - 1]) + time.perf_counter() - begun
            expansion = KernelExpansion(task.teacher.kernel, found.vectors, found.coef, found.intercept)
            notes = f"distance {found.value:.3g}"
            yield built(task, size, replace(task.teacher, expansion=expansion), seconds, notes)


def _silent(stage: str, done: int, total: int) -> None:
    """Report nothing: the runner counts models, not steps."""


_PER_MACHINE = Paper(share="per-machine")
_ALL: tuple[Any, ...] = (
    Full(),
    LarsPath(),
    Compressed("cvm", "CVM", Paper(), seeded=False),
    LarsPath("per-machine", "lars-svm-per-machine", "LARS-SVM, per machine"),
    Compressed("cvm-per-machine", "CVM, per machine", _PER_MACHINE, seeded=False),
    Compressed("auto", "svmpress", "auto"),
    Compressed("auto-libsvm", "svmpress, LibSVM layout", "auto", layout="libsvm"),
    ReducedSVM(),
    SharedReducedSVM(),
    ReducedSetPath(),
    Refitted("random", "random + refit", random_vectors),
    Refitted("k-means", "k-means + refit", centres),
    SubsampleSVC(),
    NystroemSVC(),
    FourierFeatures(),
    Perceptron(),
    Boosting(),
    Boosting("bytes", "boosting-bytes", "gradient boosting, by bytes"),
    DlibReduce(),
    DlibPair(),
)

METHODS: dict[str, StudyMethod] = {method.name: method for method in _ALL}
"""Methods by name."""
QUICK_METHODS: dict[str, StudyMethod] = METHODS | {
    "cvm": Compressed("cvm", "CVM", Paper(max_iter=QUICK_ITERATIONS), seeded=False),
    "cvm-per-machine": Compressed(
        "cvm-per-machine", "CVM, per machine", replace(_PER_MACHINE, max_iter=QUICK_ITERATIONS), seeded=False
    ),
    "auto": Compressed("auto", "svmpress", Auto(work=QUICK_WORK)),
    "auto-libsvm": Compressed("auto-libsvm", "svmpress, LibSVM layout", Auto(work=QUICK_WORK), layout="libsvm"),
}
"""The same with less work for those that take minutes: what ``--quick`` runs."""


def on_device(methods: Mapping[str, StudyMethod], device: str) -> dict[str, StudyMethod]:
    """Return the methods with those of svmpress on a device of torch; what others compute stays where it is."""
    return {
        name: replace(method, device=device) if isinstance(method, Compressed) else method
        for name, method in methods.items()
    }
