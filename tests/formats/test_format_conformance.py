"""The conformance kit of file formats: whatever is listed in ``FORMATS`` runs it, on random models of every kind.

A format is the function that reads back what it wrote. What it cannot hold it must say beforehand; the rest must
answer alike to the last bit of every vector, coefficient and intercept, and writing it again must give the same file.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

from svmpress.decoders import Argmax, Identity, PairDAG, PairVote, Sign, pair_mask
from svmpress.errors import FormatError, InputError
from svmpress.formats import FORMATS, load, obstacles, save, save_cost
from svmpress.formats.layout import pack
from svmpress.kernels import KERNELS, RBF, kernel_by_name
from svmpress.model import KernelExpansion, KernelModel, Scaling

finite = st.floats(allow_nan=False, allow_infinity=False)
some_floats = st.sampled_from([0.0, -0.0, 1.0, -2.5, 1 / 3, 0.1, 1e-300, 5e-324, -1e300, 123456789.123456789]) | finite


def table(draw, shape, elements=some_floats, dtype=np.float64):
    values = draw(st.lists(elements, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    with np.errstate(over="ignore"):
        a = np.array(values, dtype=np.float64).reshape(shape).astype(dtype)
    return np.where(np.isfinite(a), a, dtype(1.5))


@st.composite
def kernels(draw):
    name = draw(st.sampled_from(sorted(KERNELS)))
    gamma, coef0 = draw(st.floats(0, 1e6)), draw(st.floats(-1e6, 1e6))
    return kernel_by_name(name, gamma=gamma, coef0=coef0, degree=draw(st.sampled_from([0, 1, 2, 3, 2.5])))


@st.composite
def labels(draw, K):
    kind = draw(st.sampled_from(["int", "int32", "float", "text", "object", "bool"]))
    if kind == "bool" and K == 2:
        return np.array([False, True])
    if kind in ("text", "object"):
        words = draw(st.lists(st.text("aé日 \n", min_size=1, max_size=4), min_size=K, max_size=K, unique=True))
        return np.array(words, dtype=object if kind == "object" else None)
    numbers = draw(st.lists(st.integers(-(2**31) + 1, 2**31 - 1), min_size=K, max_size=K, unique=True))
    return np.array(numbers, dtype={"int32": np.int32, "float": np.float64}.get(kind, np.int64))


@st.composite
def scalings(draw, d):
    if draw(st.booleans()):
        return None
    factor = table(draw, (d,), st.floats(1e-12, 1e12) | st.sampled_from([0.0, 1.0, 1 / 3, 0.1, -2.0]))
    shift = table(draw, (d,), st.floats(-1e9, 1e9)) if draw(st.booleans()) else None
    assume(shift is None or shift.any())  # nothing to subtract is the same scaling as a shift of zero
    return Scaling(shift, factor)


@st.composite
def models(draw):
    """Any model: kernels, tasks, decoders, layouts, dense and sparse, float32 and float64, scaled, calibrated."""
    dtype = draw(st.sampled_from([np.float64, np.float64, np.float32]))
    m, d, K = draw(st.integers(0, 4)), draw(st.integers(1, 5)), draw(st.integers(2, 4))
    M = K * (K - 1) // 2
    task, decoder, M = draw(
        st.sampled_from(
            [
                ("classification", "sign", 1),
                ("classification", "argmax", K),
                ("classification", "vote", M),
                ("classification", "dag", M),
                ("regression", "identity", draw(st.integers(1, 3))),
                ("outlier", "sign", 1),
            ]
        )
    )
    if decoder == "identity":
        decode = Identity()
    elif task == "outlier":
        decode = Sign(np.array([-1, 1]), zero_class=0)
    elif decoder == "sign":
        decode = Sign(draw(labels(2)))
    elif decoder == "vote":
        ties = draw(st.booleans())
        decode = PairVote(draw(labels(K)), "ovr" if ties else draw(st.sampled_from(["ovr", "ovo"])), ties)
    else:
        decode = {"argmax": Argmax, "dag": PairDAG}[decoder](draw(labels(K)))
    coef, mask = table(draw, (m, M), dtype=dtype), None
    if decoder in ("vote", "dag") and draw(st.booleans()):
        mask = pair_mask(np.array(draw(st.lists(st.integers(0, K - 1), min_size=m, max_size=m)), np.intp), K)
        coef = np.where(mask, coef, dtype(0))
    vectors = table(draw, (m, d), dtype=dtype)
    if draw(st.booleans()):
        vectors = sparse.csr_array(vectors)
    expansion = KernelExpansion(draw(kernels()), vectors, coef, table(draw, (M,), dtype=dtype), mask)
    probability = {}
    if draw(st.booleans()):
        probability = {
            "classification": {"probA": M, "probB": M} if decoder != "argmax" else {},
            "regression": {"probA": 1},
            "outlier": {"prob_density_marks": 10},
        }[task]
        probability = {name: np.sort(table(draw, (size,))) for name, size in probability.items()}
    provenance = draw(st.dictionaries(st.text(max_size=5), st.text(max_size=5) | st.integers() | finite, max_size=2))
    return KernelModel(expansion, decode, task, draw(scalings(d)), probability, provenance)


def full(rows):
    return rows.toarray() if sparse.issparse(rows) else rows


def bits(a):
    a = np.ascontiguousarray(a)
    return a.dtype, a.shape, a.tolist() if a.dtype == object else a.tobytes()


def assert_bit_equal(a: KernelModel, b: KernelModel) -> None:
    """Everything of both models is the same, zeros with their sign, types and all."""
    assert a.kernel == b.kernel
    assert (type(a.decoder), a.task) == (type(b.decoder), b.task)
    for option in ("zero_class", "shape", "break_ties"):
        assert getattr(a.decoder, option, None) == getattr(b.decoder, option, None)
    assert dict(a.provenance) == dict(b.provenance)
    assert list(a.probability) == list(b.probability)
    assert sparse.issparse(a.expansion.vectors) == sparse.issparse(b.expansion.vectors)
    pairs = [(full(a.expansion.vectors), full(b.expansion.vectors))]
    pairs += [(getattr(a.expansion, k), getattr(b.expansion, k)) for k in ("coef", "intercept", "coef_mask")]
    pairs += [(a.classes_, b.classes_), *((a.probability[k], b.probability[k]) for k in a.probability)]
    assert (a.scaling is None) == (b.scaling is None)
    if a.scaling is not None and b.scaling is not None:
        pairs += [(a.scaling.factor, b.scaling.factor), (a.scaling.shift, b.scaling.shift)]
    for x, y in pairs:
        assert (x is None) == (y is None)
        if x is not None:
            assert bits(x) == bits(y)


def files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir()}


BIT_BY_BIT = [name for name in FORMATS if name not in ("onnx", "skops")]
"""What becomes of a model in an ONNX file, a graph of operators, or in an estimator of scikit-learn, is the subject of
test_onnx.py, test_skops.py and test_sklearn_models.py.
"""


@pytest.mark.parametrize("name", BIT_BY_BIT)
@given(model=models())
def test_what_was_written_is_read_back_and_writing_it_again_changes_nothing(name, model):
    suffix = FORMATS[name].suffixes[0]
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"a{suffix}"
        found = obstacles(model, name)
        if found:
            with pytest.raises(FormatError, match="cannot save the model as"):
                save(model, path)
            assert files(Path(folder)) == {}
            return
        save(model, path)
        first = files(Path(folder))
        back = load(path)
        assert back.n_vectors == save_cost(model, name)
        assert obstacles(back, name) == []
        save(back, path)
        assert files(Path(folder)) == first
        assert_bit_equal(load(path), back)


@given(model=models())
def test_the_native_format_keeps_every_bit(model):
    assert obstacles(model, "native") == []
    with TemporaryDirectory() as folder:
        save(model, Path(folder) / "a.svmpress")
        assert_bit_equal(load(Path(folder) / "a.svmpress"), model)


@given(model=models())
def test_libsvm_keeps_every_number(model):
    """The machines that were written are those that were packed; what is no number is documented to be lost."""
    assume(not obstacles(model, "libsvm"))
    with TemporaryDirectory() as folder:
        save(model, Path(folder) / "a.model")
        back = load(Path(folder) / "a.model")
    a, b = model.expansion, back.expansion
    assert (back.task, a.kernel) == (model.task, b.kernel)
    if b.n_vectors == 0:  # a file without vectors does not know how many features they would have
        a = replace(a, vectors=np.zeros((a.n_vectors, back.n_features)))
        model = replace(model, expansion=a, scaling=back.scaling)
    assert back.n_features == model.n_features
    if model.task == "classification":
        packed, again = pack(model), pack(back)
        np.testing.assert_array_equal(again.coef, packed.coef)
        np.testing.assert_array_equal(again.counts, packed.counts)
        np.testing.assert_array_equal(again.intercept, packed.intercept)
        np.testing.assert_array_equal(full(b.vectors), full(a.vectors)[packed.source])
        np.testing.assert_array_equal(back.classes_, np.asarray(model.classes_).astype(np.int64))
    else:
        np.testing.assert_array_equal(b.coef, a.coef)
        np.testing.assert_array_equal(b.intercept, a.intercept)
        np.testing.assert_array_equal(full(b.vectors), full(a.vectors))
    assert {k: v.tolist() for k, v in back.probability.items()} == {k: v.tolist() for k, v in model.probability.items()}
    if model.scaling is not None and back.scaling is not None:
        assert bits(back.scaling.factor) == bits(model.scaling.factor)
        np.testing.assert_array_equal(
            back.scaling.shift if back.scaling.shift is not None else 0.0,
            model.scaling.shift if model.scaling.shift is not None else 0.0,
        )
    assert (model.scaling is None) == (back.scaling is None)


# ---------------------------------------------------------------------------------------------------------
# Which format
# ---------------------------------------------------------------------------------------------------------


def small(K: int = 2) -> KernelModel:
    rng = np.random.default_rng(0)
    M = K * (K - 1) // 2
    f = KernelExpansion(RBF(0.5), rng.normal(size=(4, 3)), rng.normal(size=(4, M)), rng.normal(size=M))
    return KernelModel(f, Sign(np.array([0, 1])) if K == 2 else PairVote(np.arange(K), "ovo"))


@pytest.mark.parametrize(
    ("suffix", "head"),
    [(".svmpress", b"PK"), (".model", b"svm_type"), (".libsvm", b"svm_type"), (".MODEL", b"svm_type")],
)
def test_the_suffix_decides(tmp_path, suffix, head):
    save(small(), tmp_path / f"a{suffix}")
    assert (tmp_path / f"a{suffix}").read_bytes().startswith(head)
    assert load(tmp_path / f"a{suffix}").n_vectors == 4


HOLD_SMALL = [name for name in BIT_BY_BIT if not obstacles(small(), name)]
"""Formats that can hold a plain classifier; the others have cases in their own files."""


@pytest.mark.parametrize("name", HOLD_SMALL)
def test_other_suffixes_need_the_name_to_write_and_are_recognised_to_read(tmp_path, name):
    path = tmp_path / "model.txt"
    with pytest.raises(FormatError, match=r"names no format: use one of \.svmpress, \.model, \.libsvm"):
        save(small(), path)
    save(small(), path, format=name)
    assert load(path).n_vectors == 4
    assert load(str(path), format=name).n_vectors == 4


@pytest.mark.parametrize("suffix", [".c", ".h"])
def test_code_is_no_model_file(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    with pytest.raises(FormatError, match=r"C code is a folder of files.*--target c"):
        save(small(), path)
    path.write_bytes(b"anything")
    with pytest.raises(FormatError, match=r"C code is a folder of files.*--target c"):
        load(path)


def test_an_unknown_format_is_named(tmp_path):
    for call in (
        lambda: save(small(), tmp_path / "a", format="tar"),
        lambda: obstacles(small(), "tar"),
        lambda: save_cost(small(), "tar"),
    ):
        with pytest.raises(FormatError, match="unknown format 'tar'; svmpress has native, libsvm"):
            call()


@pytest.mark.parametrize("name", [*HOLD_SMALL, "onnx"])
def test_a_failed_save_leaves_the_file_that_was_there(tmp_path, name, monkeypatch):
    path = tmp_path / f"a{FORMATS[name].suffixes[0]}"
    save(small(), path)
    before = files(tmp_path)
    broken = small(3)
    monkeypatch.setattr(type(broken.expansion.kernel), "params", property(lambda _: 1 / 0))
    with pytest.raises(ZeroDivisionError):
        FORMATS[name].write(broken, path)
    assert files(tmp_path) == before


@pytest.mark.parametrize("name", FORMATS)
def test_a_folder_that_is_not_there(tmp_path, name):
    if not obstacles(small(), name):
        with pytest.raises(InputError, match=r"cannot write .*No such file or directory"):
            save(small(), tmp_path / "none" / f"a{FORMATS[name].suffixes[0]}")
    with pytest.raises(InputError, match=r"cannot read .*No such file or directory"):
        load(tmp_path / "none" / f"a{FORMATS[name].suffixes[0]}")


def test_a_native_file_is_a_zip_that_other_tools_read(tmp_path):
    save(small(3), tmp_path / "a.svmpress")
    with zipfile.ZipFile(tmp_path / "a.svmpress") as z:
        assert z.testzip() is None
        schema = json.loads(z.read("schema.json"))
        with z.open("coef.npy") as f:
            np.testing.assert_array_equal(np.load(f, allow_pickle=False), small(3).expansion.coef)
    assert schema["kernel"] == {"name": "rbf", "params": {"gamma": 0.5}}
    assert schema["protocol"] == 1
    assert schema["decoder"] == {"name": "pair_vote", "shape": "ovo", "break_ties": False}


def test_what_the_native_format_cannot_keep_is_said():
    f = KernelExpansion(RBF(0.5), np.zeros((1, 1)), np.ones((1, 1), np.float16), np.zeros(1))
    assert obstacles(KernelModel(f, Sign(np.array([0, 1]))), "native") == [
        "coef of type float16: only float32 and float64 are kept"
    ]
    dates = np.array(["2020", "2021"], dtype="datetime64[Y]")
    (words,) = obstacles(KernelModel(small().expansion, Sign(dates)), "native")
    assert words.startswith("class labels of type datetime64")
