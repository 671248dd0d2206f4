"""The passes in C: what NumPy computes, on any shapes; and arguments that lie are refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from test_projected import numerical_gradient

from svmpress import native
from svmpress.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid
from svmpress.objectives import MarginObjective, Parameters, ProjectedError, sides_of
from svmpress.objectives.fused import FusedPasses
from svmpress.objectives.row_groups import groups_of

COMPILED, REASON = native.load()
pytestmark = pytest.mark.skipif(COMPILED is None, reason=f"the extension is not used: {REASON}")
SETS = [name for name, _ in COMPILED.instruction_sets()] if COMPILED else []
KERNELS = {
    "rbf": RBF(0.4),
    "laplacian": Laplacian(0.3),
    "sigmoid": Sigmoid(0.2, 0.1),
    "poly": Polynomial(0.5, 3, 1.0),
    "poly 2.5": Polynomial(0.01, 2.5, 2.0),
    "linear": Linear(),
}
NAMES = st.sampled_from(sorted(KERNELS))
FORMS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_array,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "some columns": lambda X: np.hstack([X, X])[:, : X.shape[1]],
}


@contextmanager
def using(**environment: str) -> Iterator[None]:
    """Choose the arithmetic as a user does."""
    with mock.patch.dict(os.environ, {f"SVMPRESS_{name.upper()}": value for name, value in environment.items()}):
        yield


def numpy_alone():
    return using(runtime="numpy")


@st.composite
def problems(draw):
    """Rows in groups, vectors, targets: shapes around the sizes of registers, tiles and blocks."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_groups = draw(st.sampled_from([1, 1, 2, 3]))
    sizes = np.array([draw(st.sampled_from([0, 1, 5, 63, 64, 65, 130])) for _ in range(n_groups)])
    sizes[-1] = max(sizes[-1], 2)
    d, m, M = (
        draw(st.sampled_from(values)) for values in ([1, 2, 7, 8, 9, 17], [1, 3, 7, 8, 9, 24, 33], [1, 2, 3, 8, 9])
    )
    X = np.round(rng.uniform(0, 1.5, (sizes.sum(), d)) * (rng.uniform(size=(sizes.sum(), d)) < 0.7), 3).astype(
        np.float32
    )
    V = rng.uniform(0, 1.5, (m, d))
    T = rng.standard_normal((len(X), M))
    return rng, sizes, X.astype(np.float64), V, T


def weighted(rng, n_groups: int, M: int) -> np.ndarray:
    """Some weights are 0, but each group and each output has one that is not."""
    W = rng.choice([0.0, 0.25, 1.0, 3.0], (n_groups, M))
    W[-1] = np.maximum(W[-1], 0.5)
    W[:, 0] = np.maximum(W[:, 0], 0.5)
    return W


def assert_same(got, expected, tol: float) -> None:
    for name in ("value", "vectors", "gamma", "coef", "intercept"):
        one, two = getattr(got, name), getattr(expected, name)
        if two is None:
            assert one is None
        else:
            scale = max(1e-3, float(np.abs(np.asarray(two)).max(initial=0.0)))
            np.testing.assert_allclose(one, two, rtol=tol, atol=tol * scale, err_msg=name)


@given(
    problem=problems(),
    name=NAMES,
    form=st.sampled_from(sorted(FORMS)),
    groups=st.sampled_from(["one", "weights", "own rows and a background"]),
    masked=st.booleans(),
    fixed=st.booleans(),
    norm=st.sampled_from([0.0, 0.1]),
    room=st.sampled_from([2**13, 2**26]),
)
def test_the_projected_error_is_that_of_numpy(problem, name, form, groups, masked, fixed, norm, room):
    rng, sizes, X, V, T = problem
    kernel, (m, M) = KERNELS[name], (len(V), T.shape[1])
    options: dict = {"ridge": 1e-2, "norm": norm if kernel.definite else 0.0, "max_bytes": room}
    if groups != "one":
        options |= {"sizes": sizes, "weights": weighted(rng, len(sizes), M)}
        options["weights"] = np.maximum(options["weights"], 0.1) if groups == "weights" else options["weights"]
    if groups == "own rows and a background":
        options |= {"background": 0.05, "thin": 3}
    if masked:
        options["mask"] = rng.uniform(size=(m, M)) < 0.6
    if fixed:
        options["intercept"] = rng.standard_normal(M)
    rows, width = FORMS[form](X), kernel.has_width
    if form == "csr" and not rows.nnz:
        return
    got = ProjectedError(kernel, rows, T, V, **options).value_and_grad(V, width=width)
    with numpy_alone():
        expected = ProjectedError(kernel, rows, T, V, **options).value_and_grad(V, width=width)
    assert_same(got, expected, 1e-7)


@given(
    problem=problems(), name=NAMES, form=st.sampled_from(sorted(FORMS)), trust=st.booleans(), background=st.booleans()
)
def test_margins_are_those_of_numpy(problem, name, form, trust, background):
    rng, sizes, X, V, T = problem
    kernel, M = KERNELS[name], T.shape[1]
    sides = rng.choice([-1.0, 0.0, 1.0], (len(sizes), M)) if background else rng.choice([-1.0, 1.0], (len(sizes), M))
    at = Parameters(kernel, V, rng.standard_normal((len(V), M)), rng.standard_normal(M))
    rows, width = FORMS[form](X), kernel.has_width
    groups = groups_of(T, sizes, np.abs(sides), 0.01 if background and not sides.all() else 0.0, 3)
    taken = [np.zeros(M)] * (len(groups) - len(sides)) + list(sides)
    taken = [s if g.outputs is None else s[g.outputs] for s, g in zip(taken, groups, strict=True)]
    passes = FusedPasses.for_rows(kernel, rows, groups, M, len(V), 2**26, taken)
    if form == "csr" and not rows.nnz:
        assert passes is None
        return
    with numpy_alone():
        objective = MarginObjective(rows, T, sizes, sides, trust=trust, thin=3)
        expected = objective.value_and_grad(at, width=width)
    scale = float(sizes @ np.abs(sides).sum(axis=1)) or 1.0
    error, dV, dA, db, slope = passes.margins(kernel, V, at.coef, at.intercept, 2 / scale, trust, width)
    for one, two in (
        (error / scale, expected.value),
        (dV, expected.vectors),
        (dA, expected.coef),
        (db, expected.intercept),
        (slope, expected.gamma or 0.0),
    ):
        largest = max(1e-3, float(np.abs(np.asarray(two)).max(initial=0.0)))
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9 * largest)


@pytest.mark.parametrize("form", ["float64", "csr"])
@pytest.mark.parametrize("name", sorted(KERNELS))
def test_derivatives_are_the_numerical_ones(name, form, rng):
    kernel = KERNELS[name]
    X = rng.integers(0, 20, (40, 3)) / 10 * (rng.uniform(size=(40, 3)) < 0.8)
    V = rng.integers(0, 20, (9, 3)) / 10 + rng.uniform(0.03, 0.07, (9, 3))  # on no kink of a kernel
    objective = ProjectedError(kernel, FORMS[form](X), rng.standard_normal((40, 2)), V, ridge=1e-2)
    got = objective.value_and_grad(V, width=kernel.has_width)
    expected = numerical_gradient(lambda v: objective.value_and_grad(v).value, V, 1e-3)
    np.testing.assert_allclose(got.vectors, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())
    if kernel.has_width:

        def of_width(g):
            return objective.value_and_grad(V, kernel.with_gamma(float(g[0]))).value

        (slope,) = numerical_gradient(of_width, np.array([kernel.params["gamma"]]), 1e-4)
        assert got.gamma == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("form", ["float64", "float32", "csr"])
@pytest.mark.parametrize("name", sorted(KERNELS))
def test_every_instruction_set_agrees(name, form, rng):
    kernel, X, V = KERNELS[name], rng.uniform(0, 1, (200, 11)), rng.uniform(0, 1, (13, 11))
    T, rows = rng.standard_normal((200, 5)), FORMS[form](np.where(X < 0.4, 0, X))
    sizes = np.array([90, 110])
    found = []
    for isa in SETS:
        with using(isa=isa):
            objective = ProjectedError(kernel, rows, T, V, sizes=sizes, weights=np.ones((2, 5)), ridge=1e-3)
            found.append(objective.value_and_grad(V, width=kernel.has_width))
    for other in found[1:]:
        assert_same(other, found[0], 1e-8)


def test_where_the_passes_apply(rng):
    X, T, V = rng.uniform(0, 1, (20, 3)), rng.standard_normal((20, 1)), rng.uniform(0, 1, (4, 3))
    groups = groups_of(T, np.array([20]), np.ones((1, 1)))

    def applies(kernel=RBF(1.0), rows=X, room=2**20):  # noqa: B008 - frozen
        return FusedPasses.for_rows(kernel, rows, groups, 1, len(V), room) is not None

    assert all(applies(kernel) for kernel in KERNELS.values())
    assert all(applies(rows=form(X)) for form in FORMS.values())
    assert applies(room=1)  # nothing is kept then
    assert not applies(rows=sparse.csr_array(X), room=1)  # of these it must be
    assert not applies(rows=X.astype(">f8"))
    assert not applies(rows=np.asfortranarray(X))
    assert not applies(rows=X.astype(np.longdouble))
    with numpy_alone():
        assert not applies()
    with using(isa="abacus"), pytest.raises(ValueError, match="abacus"):
        applies()


# ---------------------------------------------------------------------------------------------------------
# The extension itself
# ---------------------------------------------------------------------------------------------------------


class Call:
    """Arguments of the extension for 300 rows, dense or CSR, two groups and 10 vectors, to be changed by name."""

    def __init__(self, sparse_rows: bool = False) -> None:
        rng = np.random.default_rng(0)
        X = np.where(rng.uniform(size=(300, 4)) < 0.5, 0, rng.uniform(0, 1, (300, 4)))
        csr = sparse.csr_array(X)
        parts = (csr.data, csr.indices.astype(np.int32), csr.indptr.astype(np.int64))
        self.new = {
            "isa": SETS[0],
            "rows": parts if sparse_rows else X,
            "n_features": 4,
            "n_outputs": 2,
            "groups": np.array([[0, 1, 200, 2], [200, 1, 100, 1]], dtype=np.int64),
            "targets": rng.standard_normal(500),
            "outputs": np.array([0, 1, 1], dtype=np.int64),
            "weights": np.ones(3),
            "sides": None,
        }
        kernel = {"kernel": 0, "gamma": 0.5, "coef0": 0.0, "degree": 0.0, "V": rng.uniform(0, 1, (10, 4))}
        kept = np.empty((300, 16))
        self.equations = {
            **kernel,
            "shift": None,
            "grams": np.zeros((2, 11, 11)),
            "moments": np.empty((11, 2)),
            "kept": kept,
            "pieces": None,
            "threads": 1,
        }
        self.slopes = {
            **kernel,
            "coef": rng.standard_normal((10, 2)),
            "intercept": rng.standard_normal(2),
            "factor": 1.0,
            "trust": False,
            "width": True,
            "kept": kept,
            "known": False,
            "dV": np.empty((10, 4)),
            "dA": np.empty((11, 2)),
            "threads": 1,
        }

    def run(self, what: str = "both", **changes):
        """Return the numbers of an evaluation with these arguments changed."""
        objective = COMPILED.Objective(**{k: changes.get(k, v) for k, v in self.new.items()})
        found = []
        if what in ("equations", "both"):
            arguments = {k: changes.get(k, v) for k, v in self.equations.items()}
            objective.equations(*arguments.values())
            found += [arguments["grams"].copy(), arguments["moments"].copy()]
        if what in ("slopes", "both"):
            arguments = {k: changes.get(k, v) for k, v in self.slopes.items()}
            found += [objective.slopes(*arguments.values()), arguments["dV"].copy(), arguments["dA"].copy()]
        return found


@pytest.mark.parametrize("isa", SETS)
@pytest.mark.parametrize("sparse_rows", [False, True])
def test_the_number_of_threads_changes_no_bit(isa, sparse_rows):
    call = Call(sparse_rows)
    X = np.random.default_rng(1).uniform(0, 1, (20_000, 4))
    csr = sparse.csr_array(np.where(X < 0.5, 0, X))
    big = {
        "isa": isa,
        "rows": (csr.data, csr.indices.astype(np.int32), csr.indptr.astype(np.int64)) if sparse_rows else X,
        "groups": np.array([[0, 3, 6000, 2], [0, 1, 12_000, 2], [12_000, 1, 8000, 1]], dtype=np.int64),
        "targets": np.random.default_rng(2).standard_normal(44_000),
        "outputs": np.array([0, 1, 0, 1, 1], dtype=np.int64),
        "weights": np.ones(5),
        "grams": np.zeros((3, 11, 11)),
        "kept": np.empty((26_000, 16)),
    }
    one = call.run(**big, threads=1)
    for threads in (2, 7):
        for got, expected in zip(call.run(**big, threads=threads), one, strict=True):
            np.testing.assert_array_equal(got, expected)


LIES = {
    "no such instruction set": {"isa": "abacus"},
    "no outputs": {"n_outputs": 0},
    "outputs beyond memory": {"n_outputs": 2**61, "outputs": np.array([0, 1, 2**60], dtype=np.int64), "dA": None},
    "as many outputs as there can be": {"n_outputs": 2**63 - 1, "dA": None},
    "rows of one dimension": {"rows": np.zeros(300)},
    "rows without columns": {"rows": np.zeros((300, 0))},
    "rows of integers": {"rows": np.zeros((300, 4), dtype=np.int64)},
    "rows in columns": {"rows": np.asfortranarray(np.zeros((300, 4)))},
    "rows of the other byte order": {"rows": np.zeros((300, 4), dtype=">f8")},
    "fewer rows than groups say": {"rows": np.zeros((299, 4))},
    "a group that starts before the rows": {"groups": np.array([[-1, 1, 200, 2], [200, 1, 100, 1]])},
    "a group of a negative step": {"groups": np.array([[299, -1, 200, 2], [200, 1, 100, 1]])},
    "a group of no step": {"groups": np.array([[0, 0, 200, 2], [200, 1, 100, 1]])},
    "a group of a great step": {"groups": np.array([[1, 2**62, 3, 2], [200, 1, 100, 1]])},
    "a group that ends beyond the rows": {"groups": np.array([[0, 2, 200, 2], [200, 1, 100, 1]])},
    "a group of very many rows": {"groups": np.array([[0, 1, 2**62, 2], [200, 1, 100, 1]])},
    "a group of a negative count": {"groups": np.array([[0, 1, -5, 2], [200, 1, 100, 1]])},
    "a group of too many outputs": {"groups": np.array([[0, 1, 200, 3], [200, 1, 100, 1]])},
    "a group of no outputs": {"groups": np.array([[0, 1, 200, 0], [200, 1, 100, 1]])},
    "groups of small integers": {"groups": np.zeros((2, 4), dtype=np.int32)},
    "no groups": {"groups": np.zeros((0, 4), dtype=np.int64)},
    "too few targets": {"targets": np.zeros(499)},
    "targets in single precision": {"targets": np.zeros(500, dtype=np.float32)},
    "targets in steps": {"targets": np.zeros(1000)[::2]},
    "an output that is not there": {"outputs": np.array([0, 1, 2], dtype=np.int64)},
    "an output before the first": {"outputs": np.array([0, -1, 1], dtype=np.int64)},
    "too few outputs": {"outputs": np.zeros(2, dtype=np.int64)},
    "too few weights": {"weights": np.ones(2)},
    "too few sides": {"sides": np.ones(2)},
    "a kernel that is not known": {"kernel": 5},
    "a negative kernel": {"kernel": -1},
    "vectors of other features": {"V": np.zeros((10, 3))},
    "no vectors": {"V": np.zeros((0, 4))},
    "vectors in single precision": {"V": np.zeros((10, 4), dtype=np.float32)},
    "vectors in columns": {"V": np.zeros((4, 10)).T},
    "a small Gram matrix": {"what": "equations", "grams": np.zeros((2, 11, 10))},
    "a Gram matrix that must not be written to": {"what": "equations", "grams": np.broadcast_to(0.0, (2, 11, 11))},
    "small moments": {"what": "equations", "moments": np.zeros((11, 1))},
    "a short shift": {"what": "equations", "shift": np.zeros(2)},
    "little memory for kernel values": {"kept": np.empty((300, 8))},
    "a piece of a group that is not there": {"what": "equations", "pieces": np.array([[2, 0, 5, 0, 5]])},
    "a piece before the first group": {"what": "equations", "pieces": np.array([[-1, 0, 5, 0, 5]])},
    "a piece beyond the equations": {"what": "equations", "pieces": np.array([[0, 0, 12, 0, 5]])},
    "a piece of negative rows": {"what": "equations", "pieces": np.array([[0, -8, 5, 0, 5]])},
    "few coefficients": {"what": "slopes", "coef": np.zeros((9, 2))},
    "few intercepts": {"what": "slopes", "intercept": np.zeros(1)},
    "little room for slopes of vectors": {"what": "slopes", "dV": np.zeros((9, 4))},
    "little room for slopes of coefficients": {"what": "slopes", "dA": np.zeros((10, 2))},
    "values that are known and were not kept": {"what": "slopes", "kept": None, "known": True},
}


@pytest.mark.parametrize("changes", LIES.values(), ids=LIES)
def test_arguments_that_lie_are_refused(changes):
    with pytest.raises((ValueError, MemoryError, BufferError)):
        Call().run(**changes)


SPARSE_LIES = {
    "a column that is not there": (np.ones(300), np.full(300, 4, dtype=np.int32), np.arange(301)),
    "a negative column": (np.ones(300), np.full(300, -1, dtype=np.int32), np.arange(301)),
    "rows that end beyond the values": (np.ones(300), np.zeros(300, dtype=np.int32), np.arange(301) * 2),
    "rows that begin before the values": (np.ones(300), np.zeros(300, dtype=np.int32), np.arange(301) - 1),
    "rows that end before they begin": (np.ones(300), np.zeros(300, dtype=np.int32), np.r_[0, 300, np.arange(2, 301)]),
    "fewer columns than values": (np.ones(300), np.zeros(299, dtype=np.int32), np.arange(301)),
    "no rows at all": (np.ones(0), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)),
    "columns of another kind": (np.ones(300), np.zeros(300, dtype=np.int64), np.arange(301)),
}


@pytest.mark.parametrize("rows", SPARSE_LIES.values(), ids=SPARSE_LIES)
def test_sparse_rows_that_lie_are_refused(rows):
    with pytest.raises(ValueError, match=r"CSR|expected"):
        Call(sparse_rows=True).run(rows=rows)


@pytest.mark.parametrize("columns", [0, -4, 2**31, 2**62])
def test_sparse_rows_of_impossible_width_are_refused(columns):
    with pytest.raises(ValueError, match="CSR"):
        Call(sparse_rows=True).run(n_features=columns, V=np.zeros((0, 4)))


@pytest.mark.parametrize("threads", [-(2**31), -1, 0, 10**6, 2**40])
@pytest.mark.parametrize("sparse_rows", [False, True])
def test_any_number_of_threads_will_do(threads, sparse_rows):
    expected, got = (Call(sparse_rows).run(threads=t) for t in (1, threads))
    for one, two in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("sparse_rows", [False, True])
def test_no_rows_are_no_trouble(sparse_rows):
    empty = Call(sparse_rows).run(groups=np.array([[0, 1, 0, 2]]), grams=np.ones((1, 11, 11)))
    assert not empty[0].any()
    assert not empty[1].any()
    assert empty[2] == (0.0, 0.0)
    assert not empty[3].any()


@pytest.mark.parametrize("method", ["equations", "slopes"])
def test_the_number_of_arguments_is_checked(method):
    objective = COMPILED.Objective(**Call().new)
    for count in (0, 10, 16):
        with pytest.raises(TypeError, match=r"takes 1[15] arguments"):
            getattr(objective, method)(*[0] * count)


def test_pieces_are_what_the_whole_has_there(rng):
    whole = Call().run("equations")[0].copy()
    pieces = np.array([[0, 0, 4, 0, 4], [1, 2, 9, 0, 3]])
    some = Call().run("equations", pieces=pieces)[0]
    np.testing.assert_array_equal(some[0, :4, :4], whole[0, :4, :4])
    np.testing.assert_array_equal(some[1, 2:9, :3], whole[1, 2:9, :3])
    np.testing.assert_array_equal(some[:, -1], whole[:, -1])  # what concerns the intercept always


def test_the_sides_of_pairs_have_outputs_of_their_own(rng):
    """As the margins of an SVM of four classes use it: three of six outputs hear the rows of a class."""
    classes = np.sort(rng.integers(0, 4, 500))
    sizes, sides = np.bincount(classes), sides_of(np.arange(4), 4, pairwise=True)
    X, T, V = rng.standard_normal((500, 3)), rng.standard_normal((500, 6)), rng.standard_normal((12, 3))
    at = Parameters(RBF(0.3), V, rng.standard_normal((12, 6)), rng.standard_normal(6))
    got = MarginObjective(X, T, sizes, sides, trust=True, thin=4).value_and_grad(at, width=True)
    with numpy_alone():
        expected = MarginObjective(X, T, sizes, sides, trust=True, thin=4).value_and_grad(at, width=True)
    assert_same(got, expected, 1e-10)
