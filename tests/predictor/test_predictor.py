"""The compiled predictor against ``kernel.gram(X, V) @ A + b`` in double precision, and what happens without it.

Errors are compared with a bound that follows from rounding alone: how far each kernel carries a relative error of
its sums, times the unit of the precision (see ``bound``).
"""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from svmpress import predictor
from svmpress.decoders import Argmax, Identity, PairVote, Sign, pair_mask
from svmpress.errors import InputError
from svmpress.kernels import RBF, ChiSquared, Kernel, Laplacian, Linear, Polynomial, Sigmoid
from svmpress.model import KernelExpansion, KernelModel, Scaling
from svmpress.predictor import Predictor

ISAS = list(predictor.instruction_sets())
compiled = pytest.mark.skipif(not ISAS, reason="this installation was built without a C compiler")
every_isa = pytest.mark.parametrize("isa", ISAS or [pytest.param("", marks=compiled)])

KERNELS = [RBF(0.3), RBF(0.0), Laplacian(0.2), Sigmoid(0.1, -0.3), Linear()]
KERNELS += [Polynomial(0.2, 0.5, degree) for degree in (0, 1, 2, 3, 7)] + [Polynomial(0.2, 50.0, 2.5)]
LAYOUTS = ["C", "F", "every second row", "every second column", "backwards", "read-only", "unaligned", "CSR"]


def make(seed, n, m, d, M, dtype, centre=0.0, density=1.0):
    """Return rows, vectors, coefficients and intercepts, some way from the origin."""
    rng = np.random.default_rng(seed)
    X, V = centre + rng.standard_normal((n, d)), centre + rng.standard_normal((m, d))
    A = rng.standard_normal((m, M)) * (rng.uniform(size=(m, M)) < density)
    return tuple(a.astype(dtype) for a in (X, V, A, rng.standard_normal(M)))


def laid_out(X, layout):
    """Return the same rows in another layout of memory."""
    n, d = X.shape
    if layout == "F":
        return np.asfortranarray(X)
    if layout == "every second row":
        return np.repeat(X, 2, axis=0)[::2]
    if layout == "every second column":
        return np.repeat(X, 2, axis=1)[:, ::2]
    if layout == "backwards":
        return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    if layout == "read-only":
        X = X.copy()
        X.flags.writeable = False
    if layout == "unaligned":
        memory = np.zeros(X.nbytes + 1, dtype=np.uint8)
        other = memory[1:].view(X.dtype).reshape(n, d)
        other[...] = X
        return other
    return sparse.csr_array(X) if layout == "CSR" else X


def naive(kernel, X, V, A, b):
    X, V, A, b = (np.asarray(a, dtype=np.float64) for a in (X, V, A, b))
    return kernel.gram(X, V) @ A + b if len(X) and len(V) else np.zeros((len(X), 1)) + b


def bound(kernel: Kernel, X, V, A, b, dtype):
    """Return how far rounding can carry the decision values, (n, M)."""
    X, V, A, b = (np.asarray(a, dtype=np.float64) for a in (X, V, A, b))
    m, d = V.shape
    if not len(X) or not m:
        return np.zeros((len(X), 1)) + np.abs(b) * np.finfo(dtype).eps
    K = np.abs(kernel.gram(X, V))
    if isinstance(kernel, RBF):
        c = V.mean(axis=0)
        # of rows that are not centred (CSR), what counts is their distance from the origin
        size = (X**2).sum(1)[:, None] + ((X - c) ** 2).sum(1)[:, None] + ((V - c) ** 2).sum(1) + 2 * (c**2).sum()
        carried = K * kernel.gamma * size
    elif isinstance(kernel, Laplacian):
        carried = K * kernel.gamma * (np.abs(X).sum(1)[:, None] + 2 * np.abs(V).sum(1))
    elif isinstance(kernel, Linear):
        carried = np.abs(X) @ np.abs(V).T
    else:
        size = kernel.gamma * np.abs(X) @ np.abs(V).T + abs(kernel.coef0)
        carried = kernel.degree * size**kernel.degree if isinstance(kernel, Polynomial) else size
    steps = 4 + np.sqrt(d) + np.sqrt(m)  # errors of a sum grow with the root of its length, if not worse
    return 2 * steps * np.finfo(dtype).eps * ((K + carried) @ np.abs(A) + np.abs(b))


# ---------------------------------------------------------------------------------------------------------
# The same results
# ---------------------------------------------------------------------------------------------------------


@compiled
@given(
    kernel=st.sampled_from(KERNELS),
    isa=st.sampled_from(ISAS or [""]),
    dtype=st.sampled_from(["float32", "float64"]),
    row_dtype=st.sampled_from(["float32", "float64"]),
    layout=st.sampled_from(LAYOUTS),
    n=st.integers(0, 40),
    m=st.integers(0, 90),
    d=st.integers(1, 40),
    M=st.integers(1, 50),
    centre=st.sampled_from([0.0, 3.0]),
    density=st.sampled_from([1.0, 0.05]),
    seed=st.integers(0, 2**16),
)
def test_equals_numpy_to_rounding(kernel, isa, dtype, row_dtype, layout, n, m, d, M, centre, density, seed):
    X, V, A, b = make(seed, n, m, d, M, dtype, centre, density)
    if kernel == Polynomial(0.2, 50.0, 2.5):
        X, V = np.abs(X), np.abs(V)  # a fraction of a negative number is NaN
    X = X.astype(row_dtype).astype(dtype).astype(row_dtype)
    predictor = Predictor(kernel, V, A, b, isa)
    F = predictor(laid_out(X, layout))
    assert F is not None
    assert F.dtype == dtype
    assert F.shape == (n, M)
    error = np.abs(F - naive(kernel, X, V, A, b))
    assert np.all(error <= bound(kernel, X, V, A, b, dtype)), error.max()


@compiled
@every_isa
@pytest.mark.parametrize("kernel", [RBF(0.001), Laplacian(0.001), Sigmoid(0.001), Polynomial(0.001, 1.0, 3), Linear()])
@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (19, 40, 1100, 1), (9, 40, 1100, 23), (700, 3, 2, 2), (9, 1500, 3, 5)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sizes_beyond_every_block(kernel, isa, shape, dtype):
    """More features than one sweep, more vectors than one block, more rows than one chunk."""
    X, V, A, b = make(3, *shape, dtype)
    for layout in ("C", "CSR"):
        error = np.abs(Predictor(kernel, V, A, b, isa)(laid_out(X, layout)) - naive(kernel, X, V, A, b))
        assert np.all(error <= bound(kernel, X, V, A, b, dtype))


@compiled
@every_isa
def test_float64_is_not_float32_in_disguise(isa):
    X, V, A, b = make(0, 50, 60, 10, 1, "float64")
    error = np.abs(Predictor(RBF(0.1), V, A, b, isa)(X) - naive(RBF(0.1), X, V, A, b))
    assert error.max() < 1e-13


@compiled
@every_isa
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("M", [1, 4, 45])
def test_a_row_has_one_answer(isa, dtype, M, rng):
    """However rows are cut into tiles, chunks and threads, each has the same bits."""
    X, V, A, b = make(5, 1003, 200, 11, M, dtype)
    predictor = Predictor(RBF(0.1), V, A, b, isa)
    F = predictor(X, n_threads=1)
    order = rng.permutation(len(X))
    for threads in (1, 2, 3, 7, 64):
        assert np.array_equal(predictor(X[order], n_threads=threads), F[order])
    assert np.array_equal(np.vstack([predictor(X[i : i + 1]) for i in range(20)]), F[:20])
    assert np.array_equal(predictor(np.asfortranarray(X)), F)


@compiled
@every_isa
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_vs_one_coefficients(isa, dtype):
    """Vectors sorted by class serve the pairs of their class only: the groups of the packed model."""
    rng = np.random.default_rng(1)
    owner = np.sort(rng.integers(0, 12, size=500))
    X, V, A, b = make(2, 60, 500, 6, 66, dtype)
    A = np.where(pair_mask(owner, 12), A, 0).astype(dtype)
    for coef in (A, A[rng.permutation(500)], np.zeros_like(A)):
        error = np.abs(Predictor(RBF(0.1), V, coef, b, isa)(X) - naive(RBF(0.1), X, V, coef, b))
        assert np.all(error <= bound(RBF(0.1), X, V, coef, b, dtype))


@compiled
def test_scaling_is_applied_before_the_kernel(assert_close):
    X, V, A, b = make(7, 30, 20, 5, 2, "float64")
    scaling = Scaling(np.linspace(-1, 1, 5), np.linspace(0.5, 2, 5))
    predictor = Predictor(RBF(0.2), V, A, b)
    for rows in (X, np.asfortranarray(X), X.astype(np.float32)):
        assert_close(predictor(rows, scaling), naive(RBF(0.2), scaling(rows.astype(float)), V, A, b))
    factor_only = Scaling(None, scaling.factor)
    assert_close(predictor(sparse.csr_array(X), factor_only), naive(RBF(0.2), X * scaling.factor, V, A, b))
    assert predictor(sparse.csr_array(X), scaling) is None  # a shift would make the rows dense


@compiled
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_sparse_rows_are_converted_in_blocks(index, dtype, assert_close):
    X, V, A, b = make(7, 3000, 20, 30, 2, "float64")
    rows = sparse.csr_array(X.astype(dtype))
    rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
    scaling = Scaling(None, np.linspace(0.5, 2, 30))
    predictor = Predictor(RBF(0.02), V, A, b)
    assert_close(predictor(rows), naive(RBF(0.02), X.astype(dtype), V, A, b))
    assert_close(predictor(rows, scaling), naive(RBF(0.02), X.astype(dtype) * scaling.factor, V, A, b))


@compiled
def test_rows_in_a_file(tmp_path):
    X, V, A, b = make(7, 30, 20, 5, 2, "float64")
    np.save(tmp_path / "rows.npy", X)
    predictor = Predictor(RBF(0.2), V, A, b)
    assert np.array_equal(predictor(np.load(tmp_path / "rows.npy", mmap_mode="r")), predictor(X))


@compiled
def test_sparse_vectors(assert_close, rng):
    X, V, A, b = make(8, 30, 40, 25, 3, "float64")
    V *= rng.uniform(size=V.shape) < 0.3
    few = sparse.csr_array(V * (rng.uniform(size=V.shape) < 0.02))
    predictor = Predictor(RBF(0.1), sparse.csr_array(V), A, b)
    assert_close(predictor(sparse.csr_array(X)), naive(RBF(0.1), X, V, A, b))
    assert not Predictor(RBF(0.1), few, A, b).usable  # SciPy's product of two sparse matrices is faster
    assert_close(Predictor(Linear(), few, A, b)(X), naive(Linear(), X, few.toarray(), A, b))


# ---------------------------------------------------------------------------------------------------------
# Elementary functions
# ---------------------------------------------------------------------------------------------------------


def units(actual, exact):
    """Return the error in units in the last place of the exact value, whatever its size."""
    return np.abs((actual.astype(exact.dtype) - exact) / np.spacing(np.abs(exact).astype(actual.dtype)))


@every_isa
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exp2_to_the_last_bits(isa, dtype):
    from svmpress.predictor import _compiled

    lowest = -152.0 if dtype == "float32" else -1078.0
    rng = np.random.default_rng(0)
    x = np.concatenate([np.linspace(lowest, 0, 400_001), -(10 ** rng.uniform(-12, 1, 100_000)), [-0.0, -0.5, -1.5]])
    x = x.astype(dtype)
    y = x.copy()
    _compiled.apply(isa, 0, y)
    exact = np.exp2(x.astype(np.float64 if dtype == "float32" else np.longdouble))
    assert units(y, exact).max() <= 1.2  # subnormal results included
    assert y.min() == 0.0
    special = np.array([-np.inf, np.nan, 0.0, -1e30, lowest * 1000], dtype=dtype)
    _compiled.apply(isa, 0, special)
    np.testing.assert_array_equal(special, [0, np.nan, 1, 0, 0])


@every_isa
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tanh_to_the_last_bits(isa, dtype):
    from svmpress.predictor import _compiled

    wide = np.float64 if dtype == "float32" else np.longdouble
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [np.linspace(-60, 60, 200_001), rng.choice([-1, 1], 100_000) * 10 ** rng.uniform(-30, 2, 100_000)]
    )
    x = x.astype(dtype)
    y = x.copy()
    _compiled.apply(isa, 2, y)
    assert units(y, np.tanh(x.astype(wide) * (np.log(wide(2)) / 2))).max() <= 4.0
    special = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0], dtype=dtype)
    _compiled.apply(isa, 2, special)
    np.testing.assert_array_equal(special, [1, -1, np.nan, 0, 0])
    assert np.signbit(special[4])


# ---------------------------------------------------------------------------------------------------------
# What is out of the ordinary
# ---------------------------------------------------------------------------------------------------------


def model_of(kernel=RBF(0.3), m=12, d=4, dtype="float64", **more):  # noqa: B008
    _, V, A, b = make(11, 0, m, d, 1, dtype)
    return KernelModel(KernelExpansion(kernel, V, A, b), Sign(np.array(["no", "yes"])), **more)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [1, 30, 5000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_that_are_not_finite(value, n, dtype):
    X = np.zeros((n, 4), dtype=dtype)
    X[n // 2, 2] = value
    model = model_of()
    with pytest.raises(InputError, match=f"at row {n // 2}, column 2"):
        model.predict(X)
    with pytest.raises(InputError, match=f"at row {n // 2}, column 2"):
        model_of(scaling=Scaling(np.zeros(4), np.zeros(4))).predict(X)  # 0 * inf must not hide it
    with np.errstate(invalid="ignore"):
        F = model.expansion.decision_values(X)  # unchecked rows: NaN in, NaN out
    assert np.isfinite(F[: n // 2]).all()
    assert not np.isnan(value) or np.isnan(F[n // 2]).all()


@compiled
def test_sums_that_overflow_are_refused_unless_the_kernel_bounds_them():
    X = np.array([[1e30, 0, 0, 0], [0, 1, 0, 0]], dtype=np.float32)
    F = model_of(dtype="float32").decision_values(X)
    assert F[0, 0] == model_of(dtype="float32").expansion.intercept[0]  # exp(-inf) = 0
    assert np.isfinite(F).all()
    cubic = model_of(Polynomial(1.0, 0.0, 3), dtype="float32")
    for rows in (X, sparse.csr_array(X), X[::-1]):
        with pytest.raises(InputError, match=r"the values of row [01] are too large for the poly kernel .* float32"):
            cubic.decision_values(rows)
    assert np.isfinite(cubic.decision_values(X[1:])).all()


@pytest.mark.parametrize(
    "X",
    [
        [[1, 2, 3, 4], [0, 0, 0, 1]],
        np.array([[1, 2, 3, 4]], dtype=np.int8),
        np.array([[True, False, True, True]]),
        np.array([[1, 2, 3, 4]], dtype=np.float16),
        np.array([[1, 2, 3, 4]], dtype=">f8"),
        sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(1, 4)),
        np.zeros((0, 4)),
    ],
    ids=lambda X: f"{type(X).__name__} {getattr(X, 'dtype', '')}",
)
def test_any_rows_that_numpy_understands(X, assert_close):
    model = model_of()
    e = model.expansion
    full = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    assert_close(model.decision_values(X), naive(e.kernel, full, e.vectors, e.coef, e.intercept)[:, :1])


def test_rows_of_another_width():
    with pytest.raises(InputError, match="X has 3 features, but the model has 4"):
        model_of().predict(np.zeros((2, 3)))
    with pytest.raises(InputError, match="two-dimensional"):
        model_of().predict(np.zeros(4))


def test_kernels_and_precisions_that_it_does_not_know(assert_close):
    X, V, A, b = (np.abs(a) for a in make(4, 6, 5, 3, 2, "float64"))
    assert Predictor(ChiSquared(0.5), V, A, b)(X) is None
    assert Predictor(RBF(0.5), V, A.astype(np.longdouble), b)(X) is None
    assert_close(KernelExpansion(ChiSquared(0.5), V, A, b).decision_values(X), naive(ChiSquared(0.5), X, V, A, b))


def test_without_the_extension(monkeypatch, assert_close):
    """What an installation without a C compiler does."""
    X, V, A, b = make(4, 50, 30, 7, 3, "float64")
    monkeypatch.setattr(predictor, "_compiled", None)
    monkeypatch.setattr(predictor, "_WHY_NOT", "for a test")
    expansion = KernelExpansion(RBF(0.2), V, A, b)
    assert not expansion.predictor.usable
    assert_close(expansion.decision_values(X), naive(RBF(0.2), X, V, A, b))
    assert predictor.describe() == "NumPy (for a test)"
    assert predictor.instruction_sets() == {}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_model_decides_the_precision(dtype):
    X, V, A, b = make(9, 20, 30, 6, 10, "float64")
    model = KernelModel(KernelExpansion(RBF(0.1), V, A, b), Argmax(np.arange(10))).astype(dtype)
    assert model.expansion.vectors.dtype == model.expansion.coef.dtype == dtype
    for rows in (X, X.astype(np.float32), sparse.csr_array(X)):
        assert model.decision_values(rows).dtype == dtype
    exact = naive(RBF(0.1), X, V, A, b)
    assert np.abs(model.decision_values(X) - exact).max() < 100 * np.finfo(dtype).eps * np.abs(exact).max()
    with pytest.raises(InputError, match="float32 or float64, not int64"):
        model.astype("int64")


@pytest.mark.parametrize("duplicate", [copy.deepcopy, copy.copy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_model_that_has_predicted_can_be_copied(duplicate):
    X = make(1, 9, 1, 4, 1, "float64")[0]
    model = model_of()
    before = len(pickle.dumps(model))
    F = model.decision_values(X)
    assert len(pickle.dumps(model)) < before + 1000  # what was packed stays here
    assert np.array_equal(duplicate(model).decision_values(X), F)
    assert np.array_equal(duplicate(model.expansion).decision_values(X), F)


# ---------------------------------------------------------------------------------------------------------
# Threads and processes
# ---------------------------------------------------------------------------------------------------------


@compiled
def test_many_threads_share_a_model():
    X, V, A, b = make(6, 400, 300, 12, 7, "float64")
    shared = KernelModel(KernelExpansion(RBF(0.1), V, A, b), Identity(), "regression")
    F = copy.deepcopy(shared).predict(X, n_threads=1)
    start = threading.Barrier(8)

    def work(i):
        start.wait()  # so that several threads find the model not yet packed
        return [np.array_equal(shared.predict(X, n_threads=1 + i % 3), F) for _ in range(20)]

    with ThreadPoolExecutor(8) as pool:
        assert all(all(same) for same in pool.map(work, range(8)))


@compiled
def test_other_threads_run_meanwhile():
    X, V, A, b = make(6, 4000, 4000, 30, 1, "float64")
    predictor = Predictor(RBF(0.1), V, A, b)
    thread = threading.Thread(target=predictor, args=(X,), kwargs={"n_threads": 1})
    predictor(X[:1])
    thread.start()
    turns = 0
    while thread.is_alive():
        turns += 1
    assert turns > 1000  # a call that held the interpreter's lock would leave a handful


@compiled
def test_a_forked_child_predicts():
    code = """if True:
        import os, numpy as np
        from svmpress.kernels import RBF
        from svmpress.predictor import Predictor
        rng = np.random.default_rng(0)
        predictor = Predictor(RBF(0.1), rng.random((500, 20)), rng.random((500, 1)), np.zeros(1))
        X = rng.random((2000, 20))
        F = predictor(X, n_threads=4)
        child = os.fork()
        if child == 0:
            os._exit(0 if np.array_equal(predictor(X, n_threads=4), F) else 1)
        print(os.waitpid(child, 0)[1])
    """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == "0"


def describe_with(**variables):
    code = "from svmpress import predictor; print(predictor.describe())"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SVMPRESS_")} | variables
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


def test_the_environment_can_turn_it_off():
    assert describe_with(SVMPRESS_RUNTIME="numpy").stdout == "NumPy (SVMPRESS_RUNTIME=numpy)\n"


@compiled
def test_the_environment_sets_threads_and_instruction_set():
    assert ", 3 threads)" in describe_with(OMP_NUM_THREADS="3,2", SVMPRESS_ISA="baseline").stdout
    refused = describe_with(SVMPRESS_ISA="quantum").stderr
    assert f"SVMPRESS_ISA is 'quantum', but this machine and build know {', '.join(ISAS)}" in refused


@compiled
def test_what_inspect_shows():
    assert predictor.describe().startswith("compiled (")
    assert predictor.threads() >= 1


# ---------------------------------------------------------------------------------------------------------
# The extension trusts nobody with its memory
# ---------------------------------------------------------------------------------------------------------


@compiled
def test_the_extension_checks_what_it_is_given():
    X, V, A, b = make(1, 3, 10, 4, 1, "float64")
    predictor = Predictor(RBF(0.1), V, A, b)
    predictor(X)
    packed = predictor._packed
    F = np.empty((3, 1))
    for rows, out in ((X[:, :3], F), (X.astype(int), F), (X, F[:2]), (X, F.astype("f4")), (X[0], F)):
        with pytest.raises(ValueError, match=r"X must be|out has"):
            packed.predict_dense(rows, out, 1, None, None)
    with pytest.raises(ValueError, match="factor"):
        packed.predict_dense(X, F, 1, None, np.ones(3))
    values, indices = np.ones(2), np.array([0, 3], dtype=np.int32)
    for columns, pointers in (([0, 4], [0, 1, 2]), ([-1, 0], [0, 1, 2]), ([0, 1], [0, 1, 3]), ([0, 1], [2, 1, 2])):
        indices[:] = columns
        with pytest.raises(ValueError, match="not a CSR matrix"):
            packed.predict_csr(values, indices, np.array(pointers, dtype=np.int64), F[:2], 1)


@compiled
@pytest.mark.parametrize(
    "group", [(0, 9, 5, -1, 0), (0, 1, 5, -1, 10**6), (0, 1, 3, 0, 0), (1, 2, 5, -1, 0), (0, 1, 6, -1, 0)]
)
def test_the_extension_checks_its_groups(group):
    from svmpress.predictor import _compiled, packing

    _, V, A, b = make(1, 3, 1, 4, 5, "float64")
    isa, size = next(iter(predictor.instruction_sets().items()))
    parts = packing.pack(RBF(0.1), V, A, b, size // 8, np.dtype("float64"), _compiled.FEW_OUTPUTS)
    _compiled.Packed(isa=isa, itemsize=8, **parts)
    parts |= {"groups": np.array([group], dtype=np.int64), "columns": np.array([0, 1, 5], dtype=np.int64)}
    with pytest.raises(ValueError, match="groups"):
        _compiled.Packed(isa=isa, itemsize=8, **parts)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_labels_of_one_row_are_those_of_the_batch(n_classes):
    M = n_classes * (n_classes - 1) // 2
    X, V, A, b = make(13, 40, 25, 6, M, "float64")
    model = KernelModel(KernelExpansion(RBF(0.1), V, A, b), PairVote(np.arange(n_classes)))
    together = model.predict(X)
    assert len(set(together.tolist())) > 1
    assert [model.predict(x[None, :])[0] for x in X] == together.tolist()
