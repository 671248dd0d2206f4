"""Files that are not what they should be: truncated, damaged, hostile, or something else altogether.

Whatever the bytes, the answer is a model or a FormatError that names the file; never another exception, and never
memory that only a claim in the file asked for.
"""

from __future__ import annotations

import io
import json
import pickle
import resource
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVC

from svmpress.decoders import PairVote, Sign
from svmpress.errors import FormatError, InputError
from svmpress.formats import load, save
from svmpress.kernels import RBF
from svmpress.model import KernelExpansion, KernelModel, Scaling
from svmpress.storage import limits

SVM = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 3
total_sv 3
rho 0.25 -1 2
label 1 5 -3
probA -1 -2 -3
probB 0.5 0.25 0
nr_sv 1 1 1
SV
0.5 1 1:1.25 3:-2
-0.25 1.5 2:0.125
-0.75 -2
"""


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def refuse(path: Path, words: str = "", format: str | None = None) -> str:
    """The file is refused with a sentence that names it and says ``words``."""
    with pytest.raises(FormatError) as caught:
        load(path, format)
    message = str(caught.value)
    assert words in message
    assert str(path) in message
    assert "\n" not in message
    return message


# ---------------------------------------------------------------------------------------------------------
# LibSVM
# ---------------------------------------------------------------------------------------------------------


def test_a_truncated_model_is_refused_at_every_byte(tmp_path):
    path = tmp_path / "a.model"
    assert load(write(path, SVM)).n_vectors == 3
    for end in range(len(SVM)):
        refuse(write(path, SVM[:end]))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("svm_type c_svc", "svm_type d_svc", "line 11: unknown svm_type 'd_svc'; LibSVM has c_svc, nu_svc"),
        ("svm_type c_svc\n", "", "line 10: there is no svm_type before SV"),
        ("kernel_type rbf", "kernel_type precomputed", "a precomputed kernel cannot be used"),
        ("kernel_type rbf", "kernel_type cosine", "unknown kernel_type 'cosine'"),
        ("kernel_type rbf", "kernel_type", "kernel_type should have 1 value(s), not 0"),
        ("gamma 0.5\n", "", "there is no gamma before SV"),
        ("gamma 0.5", "gamma nan", "line 3: gamma holds a NaN or an infinity"),
        ("gamma 0.5", "gamma 1e999", "line 3: gamma holds a NaN or an infinity"),
        ("gamma 0.5", "gamma 0,5", "line 3: gamma holds what is no number"),
        ("gamma 0.5", "gamma 1_0", "line 3: gamma holds what is no number"),
        ("gamma 0.5", "gamma -1", "gamma of the rbf kernel must not be negative"),
        ("gamma 0.5", "gamma 0.5\ngamma 0.5", "line 4: gamma is there twice"),
        ("gamma 0.5", "gemma 0.5", "line 3: 'gemma' is no key of a LibSVM model"),
        ("rbf\n", "polynomial\n", "there is no coef0 before SV"),
        ("nr_class 3", "nr_class 1", "a c_svc model cannot have nr_class 1"),
        ("nr_class 3", "nr_class 4", "rho should have 6 value(s), not 3"),
        ("nr_class 3", "nr_class 1000000000", "rho should have 499999999500000000 value(s), not 3"),
        ("nr_class 3", "nr_class 2.5", "line 4: nr_class holds what is no integer"),
        ("c_svc", "epsilon_svr", "a epsilon_svr model cannot have nr_class 3"),
        ("total_sv 3", "total_sv 2", "nr_sv does not add up to total_sv"),
        ("total_sv 3", "total_sv 999999999999", "nr_sv does not add up to total_sv"),
        ("total_sv 3", f"total_sv {'9' * 5000}", "total_sv holds what is no integer"),
        ("nr_sv 1 1 1", "nr_sv 3 1 -1", "nr_sv does not add up"),
        ("nr_sv 1 1 1", "nr_sv 3", "nr_sv should have 3 value(s), not 1"),
        ("label 1 5 -3", "label 1 5", "label should have 3 value(s), not 2"),
        ("label 1 5 -3", "label 1 5 1", "classes of a model must be distinct"),
        ("label 1 5 -3", "label 1 5 yes", "line 7: label holds what is no integer"),
        ("label 1 5 -3", "label 1 5 4294967296", "a label is no 32-bit integer"),
        ("probA -1 -2 -3", "probA -1", "probA should have 3 value(s), not 1"),
        ("probA", "prob_density_marks", "prob_density_marks should have 10 value(s), not 3"),
        ("SV\n0.5", "SW\n0.5", "'SW' is no key"),
        ("0.5 1 1:1.25", "0.5 1:1.25", "line 12: expected 2 coefficient(s), then index:value pairs"),
        ("1:1.25", "1:1.25:3", "line 12: expected 2 coefficient(s)"),
        ("1:1.25", "1", "line 12: expected 2 coefficient(s)"),
        ("1:1.25", "1.5:1.25", "line 12: expected 2 coefficient(s)"),
        ("1:1.25", ":1.25", "line 12: expected 2 coefficient(s)"),
        ("1:1.25", "1:", "line 12: expected 2 coefficient(s)"),
        ("1:1.25", "1:0x1p3", "line 12: expected 2 coefficient(s)"),
        ("1:1.25", "-1:1.25", "line 12: a feature index is outside 1..2147483647"),
        ("2:0.125", "2147483648:0.125", "line 13: a feature index is outside 1..2147483647"),
        ("2:0.125", "99999999999999999999:0.125", "line 13: expected 2 coefficient(s)"),
        ("2:0.125", "2:nan", "line 13: a feature is NaN or infinite"),
        ("2:0.125", "2:-inf", "line 13: a feature is NaN or infinite"),
        ("-0.75 -2", "-0.75 nan", "line 14: a coefficient is NaN or infinite"),
        ("3:-2", "1:-2", "line 12: a feature is there twice"),
        ("-0.75 -2\n", "-0.75 -2\n1 2 3:4\n", "line 15: there are more vectors than total_sv 3"),
        ("-0.75 -2\n", "", "line 13: 2 of 3 vectors are there, the file looks truncated"),
        ("-0.25 1.5", "\n-0.25 1.5", "line 13: expected 2 coefficient(s)"),
    ],
)
def test_what_is_wrong_and_where(tmp_path, old, new, words):
    assert old in SVM
    refuse(write(tmp_path / "a.model", SVM.replace(old, new, 1)), words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("+1 1:0.5 3:2\n-1 2:1\n", "is a data file (lines 'label index:value ...'), not a model"),
        ("0\n1\n", "is a data file"),
        ("\n\n3.5 1:0.5\n", "is a data file"),
        ("a,b,label\n1,2,0\n", "'a,b,label' is no key of a LibSVM model, which starts with svm_type"),
        ("1.5,2,0\n", "is no key of a LibSVM model"),
        ("solver_type L2R_LR\nnr_class 2\n", "'solver_type' is no key"),
        (b"\x89PNG\r\n\x1a\n\0\0", "is a binary file"),
        (b"svm_type \xff\xfe\n", "looks truncated"),
        ("SV\n", "there is no svm_type before SV"),
        ("# a comment\n", "'#' is no key"),
    ],
)
def test_other_files_are_recognised(tmp_path, text, words):
    refuse(write(tmp_path / "a.model", text), words)
    refuse(write(tmp_path / "unknown.suffix", text), words)


def test_a_missing_end_of_the_last_line_is_half_a_number(tmp_path):
    refuse(write(tmp_path / "a.model", SVM.rstrip("\n")), "line 14: the file ends in the middle of this line")


@given(st.binary(max_size=60), st.integers(0, len(SVM)), st.integers(0, 40))
def test_no_damage_gives_anything_but_a_model_or_our_error(tmp_path_factory, noise, start, length):
    path = tmp_path_factory.getbasetemp() / "damaged.model"
    raw = SVM.encode()
    write(path, raw[:start] + noise + raw[start + length :])
    message = str(path)
    try:
        load(path)
    except FormatError as e:
        message = str(e)
    assert str(path) in message


def peak(call) -> int:
    tracemalloc.start()
    try:
        call()
    finally:
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return most


def test_claims_are_not_allocated(tmp_path):
    many = "svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv 999999999999\nrho 0\nSV\n1 1:1\n"
    path = write(tmp_path / "a.model", many)
    assert peak(lambda: refuse(path, "1 of 999999999999 vectors are there")) < 2**22
    wide = many.replace("999999999999", "1").replace("1:1", f"{2**31 - 1}:1")
    model = None

    def read():
        nonlocal model
        with limits(features=2**31):
            model = load(write(path, wide))

    assert peak(lambda: refuse(write(path, wide), "asks for 2,147,483,647 features")) < 2**22
    assert peak(read) < 2**22
    assert sparse.issparse(model.expansion.vectors)
    assert model.n_features == 2**31 - 1


def test_many_classes_do_not_multiply_memory(tmp_path):
    """The coefficients of a file grow by K/2 in memory: a file of 2 MB must not become 2 GB."""
    K, m = 1200, 600
    counts = [m] + [0] * (K - 1)
    text = f"svm_type c_svc\nkernel_type linear\nnr_class {K}\ntotal_sv {m}\nrho {'0 ' * (K * (K - 1) // 2)}\n"
    text += f"label {' '.join(map(str, range(K)))}\nnr_sv {' '.join(map(str, counts))}\nSV\n"
    text += ("0 " * (K - 1) + "1:1\n") * m
    path = write(tmp_path / "a.model", text)
    assert peak(lambda: refuse(path, "unfolds to")) < 2**28


# ---------------------------------------------------------------------------------------------------------
# Native
# ---------------------------------------------------------------------------------------------------------


def model(**changes):
    rng = np.random.default_rng(0)
    V = sparse.csr_array(np.where(rng.random((4, 6)) < 0.3, 1.5, 0.0))
    f = KernelExpansion(RBF(0.5), V, rng.normal(size=(4, 3)), rng.normal(size=3))
    options = {"scaling": Scaling(None, np.ones(6)), "probability": {"probA": np.ones(3)}, **changes}
    return KernelModel(f, PairVote(np.array(["a", "b", "c"])), **options)


def native(tmp_path: Path) -> Path:
    save(model(), tmp_path / "a.svmpress")
    return tmp_path / "a.svmpress"


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as z:
        return {name: z.read(name) for name in z.namelist()}


def rezip(path: Path, contents: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as z:
        for name, data in contents.items():
            z.writestr(name, data)
    return path


def npy(a, allow_pickle: bool = False) -> bytes:
    stream = io.BytesIO()
    np.save(stream, a, allow_pickle=allow_pickle)
    return stream.getvalue()


def test_a_truncated_native_file_is_refused(tmp_path):
    path = native(tmp_path)
    whole = path.read_bytes()
    for end in [*range(0, len(whole), 13), *range(len(whole) - 60, len(whole))]:
        refuse(write(path, whole[:end]), format="native")


def test_a_flipped_bit_is_noticed_or_harmless(tmp_path):
    path = native(tmp_path)
    whole = bytearray(path.read_bytes())
    X = np.random.default_rng(1).normal(size=(5, 6))
    answer = load(path).decision_values(X)
    for i in range(0, len(whole), 7):
        damaged = whole.copy()
        damaged[i] ^= 1 << (i % 8)
        try:
            again = load(write(path, bytes(damaged)), "native")
        except FormatError:
            continue
        np.testing.assert_array_equal(again.decision_values(X), answer)


def change_schema(contents: dict[str, bytes], **changes) -> dict[str, bytes]:
    schema = json.loads(contents["schema.json"])
    for key, value in changes.items():
        schema[key] = value
    return {**contents, "schema.json": json.dumps(schema).encode()}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"protocol": 2}, "has protocol 2 of the svmpress format, and this version of svmpress reads protocol 1"),
        ({"protocol": None}, "has protocol None"),
        ({"format": "skops"}, "is a zip file, but not of svmpress"),
        ({"task": "clustering"}, "unknown task 'clustering'"),
        ({"task": "regression"}, "a regression model cannot have the decoder PairVote"),
        ({"kernel": {"name": "cosine", "params": {}}}, "unknown kernel 'cosine'"),
        ({"kernel": {"name": "rbf", "params": {"gamma": "1"}}}, "gamma of the rbf kernel must be a finite number"),
        ({"kernel": {"name": "rbf", "params": {"gamma": float("nan")}}}, "must be a finite number"),
        ({"kernel": None}, "is damaged"),
        ({"decoder": {"name": "oracle"}}, "is damaged"),
        ({"decoder": {"name": "sign", "zero_class": 5}}, "zero_class of the decoder is '5'"),
        ({"decoder": {"name": "pair_vote", "shape": "x", "break_ties": False}}, "shape of the decoder is 'x'"),
        ({"decoder": {"name": "argmax"}, "vectors": {}}, "is damaged"),
        ({"vectors": {"layout": "csr", "shape": [4, 2]}}, "is damaged"),
        ({"vectors": {"layout": "csr", "shape": [10**12, 6]}}, "is damaged"),
        ({"vectors": {"layout": "csr", "shape": [4]}}, "is damaged"),
        ({"vectors": {"layout": "dense", "shape": [4, 6]}}, "is damaged"),
        ({"probability": ["../../etc"]}, "is damaged"),
        ({"probability": 3}, "is damaged"),
        ({"provenance": 3}, "is damaged"),
    ],
)
def test_a_schema_that_says_something_else_is_refused(tmp_path, changes, words):
    path = native(tmp_path)
    refuse(rezip(path, change_schema(members(path), **changes)), words)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("coef.npy", npy(np.ones((4, 2))), "needs one per column"),
        ("coef.npy", npy(np.ones((4, 3), dtype=int)), "must be finite floating point numbers"),
        ("coef.npy", npy(np.full((4, 3), np.nan)), "must be finite floating point numbers"),
        ("coef.npy", npy(np.ones((4, 3), dtype=complex)), "holds neither numbers nor text"),
        ("coef.npy", npy(np.array([[{}]], dtype=object), allow_pickle=True), "holds neither numbers nor text"),
        ("coef.npy", npy(np.ones((4, 3)))[:-1], "coef.npy is not as long as it says"),
        ("coef.npy", npy(np.ones((4, 3))) + b"\0", "coef.npy is not as long as it says"),
        ("coef.npy", b"", "is damaged"),
        ("coef.npy", b"\x93NUMPY\x03\x00" + npy(np.ones(3))[8:], "another version of the .npy format"),
        ("coef.npy", npy(np.ones((4, 3))).replace(b"(4, 3)", b"(4,-3)"), "not as long as it says"),
        ("coef.npy", npy(np.zeros((0, 3))).replace(b"(0, 3)", b"(0,9e9)"), "is damaged"),
        ("vectors_indices.npy", npy(np.full(6, 10**6, np.int32)), "is damaged"),
        ("vectors_indptr.npy", npy(np.array([0, 10**6, 0, 0, 6], np.int32)), "is damaged"),
        ("vectors_indptr.npy", npy(np.zeros(5)), "sparse vectors are not numbers with integer positions"),
        ("classes.npy", npy(np.array(["a", "b"])), "reads 1 outputs, the model has 3"),
        ("factor.npy", npy(np.ones(2)), "the scaling has 2 features, the model 6"),
        ("schema.json", b"{", "is damaged"),
        ("schema.json", b"[" * 100000, "svmpress"),
        ("schema.json", b"[1]", "but not of svmpress"),
        ("schema.json", b"\xff\xfe", "is damaged"),
    ],
)
def test_an_array_that_is_something_else_is_refused(tmp_path, name, data, words):
    path = native(tmp_path)
    assert name in members(path)
    refuse(rezip(path, {**members(path), name: data}), words)


@pytest.mark.parametrize("name", ["schema.json", "coef.npy", "intercept.npy", "vectors_data.npy", "classes.npy"])
def test_a_missing_member_is_noticed(tmp_path, name):
    path = native(tmp_path)
    contents = members(path)
    del contents[name]
    refuse(rezip(path, contents))


def test_a_zip_bomb_does_not_go_off(tmp_path):
    path = native(tmp_path)
    bomb = npy(np.zeros((2**20, 3)))
    rezip(path, {**members(path), "coef.npy": bomb}, zipfile.ZIP_DEFLATED)
    assert peak(lambda: refuse(path, "is compressed, which members of svmpress files never are")) < 2**22


def test_a_claim_of_a_terabyte_is_not_believed(tmp_path):
    path = native(tmp_path)
    raw = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as z:
        size = z.getinfo("coef.npy").file_size.to_bytes(4, "little")
    huge = (0xFFFFFFF0).to_bytes(4, "little")
    raw = bytes(raw).replace(size + size, huge + huge)
    assert raw.count(huge) >= 2
    write(path, raw)
    assert peak(lambda: refuse(path)) < 2**22


@pytest.mark.parametrize("archive", ["model.zip", "model.svmpress", "model.skops.zip"])
def test_other_zip_files_are_recognised(tmp_path, archive):
    words = "is a zip file, but not of svmpress"
    refuse(rezip(tmp_path / archive, {"word/document.xml": b"<xml/>"}), words)
    refuse(rezip(tmp_path / archive, {"schema.json": b'{"__class__": "SVC"}'}), words)


# ---------------------------------------------------------------------------------------------------------
# Pickles, folders, and what cannot be opened
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.pkl", "a.joblib", "a.pickle", "a.model", "a.svmpress", "a.bin"])
@pytest.mark.parametrize("protocol", [0, 2, pickle.HIGHEST_PROTOCOL])
def test_pickles_are_refused_and_never_opened(tmp_path, name, protocol):
    svc = SVC().fit(np.eye(4), [0, 0, 1, 1])
    path = write(tmp_path / name, pickle.dumps(svc, protocol=protocol))
    with pytest.raises(FormatError) as caught:
        load(path)
    if protocol >= 2 or path.suffix in (".pkl", ".joblib", ".pickle"):
        assert "svmpress does not read pickles: load it yourself and pass the estimator" in str(caught.value)


def test_joblib_files_are_refused(tmp_path):
    joblib.dump(SVC().fit(np.eye(4), [0, 0, 1, 1]), tmp_path / "a.bin")
    refuse(tmp_path / "a.bin", "does not read pickles")


def test_what_cannot_be_opened_is_said(tmp_path):
    with pytest.raises(InputError, match="No such file or directory"):
        load(tmp_path / "none.model")
    (tmp_path / "folder.model").mkdir()
    with pytest.raises(InputError, match="Is a directory"):
        load(tmp_path / "folder.model")


def test_a_failed_save_keeps_the_old_file_on_a_disk_that_is_really_too_small(tmp_path):
    """The operating system refuses files of more than 8 kB: the old model stays, and nothing is left behind."""
    path = tmp_path / "a.model"
    save(KernelModel(model().expansion, PairVote(np.arange(3))), path)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    code = """
import resource, signal, sys
import numpy as np
from svmpress.errors import InputError
from svmpress.formats import save
from svmpress.kernels import RBF
from svmpress.decoders import Sign
from svmpress.model import KernelExpansion, KernelModel
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
f = KernelExpansion(RBF(1.0), np.random.default_rng(0).normal(size=(200, 50)), np.ones((200, 1)), np.zeros(1))
for name in sys.argv[1:]:
    try:
        save(KernelModel(f, Sign(np.array([0, 1]))), name)
    except InputError as e:
        print(e)
"""
    names = [str(path), str(tmp_path / "b.svmpress")]
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=True)
    assert [f"cannot write {name}: File too large" for name in names] == done.stdout.splitlines()
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_memory_stays_bounded_under_a_limit_of_the_operating_system(tmp_path):
    """The hostile files once more, in a process that may not take more than 2 GB beyond what it starts with."""
    hostile = SVM.replace("nr_class 3", "nr_class 2000000000")
    write(tmp_path / "a.model", hostile)
    write(tmp_path / "b.model", SVM.replace("2:0.125", "16777216:0.125"))
    code = """
import resource, sys
from svmpress.errors import FormatError
from svmpress.formats import load
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**31, used + 2**31))
try:
    load(sys.argv[1])
except FormatError:
    print("refused")
print(load(sys.argv[2]).n_features)
"""
    command = [sys.executable, "-c", code, str(tmp_path / "a.model"), str(tmp_path / "b.model")]
    if not Path("/proc/self/statm").exists() or not hasattr(resource, "RLIMIT_AS"):
        pytest.skip("needs the process information of Linux")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["refused", "16777216"]


def test_signs_of_other_decoders(tmp_path):
    """A two-class model keeps its decoder's meaning of an exact zero in the native format."""
    f = KernelExpansion(RBF(1.0), np.zeros((1, 1)), np.zeros((1, 1)), np.zeros(1))
    for zero_class in (0, 1):
        save(KernelModel(f, Sign(np.array([3, 4]), zero_class)), tmp_path / "a.svmpress")
        assert load(tmp_path / "a.svmpress").predict([[1.0]]).tolist() == [3 + zero_class]
