"""The command line: the examples of its help, what it says about bad input, and what it leaves behind."""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from sklearn.datasets import dump_svmlight_file, load_diabetes, load_iris
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.svm import OneClassSVM

import svmpress
from svmpress import data, formats
from svmpress.cli import main
from svmpress.cli.app import COMMANDS, build_parser
from svmpress.cli.common import format_bytes, format_seconds, number_of_bytes, seconds
from svmpress.data import streaming

MANUAL = Path(__file__).parents[2] / "docs" / "cli.md"
NAMES = [c.__name__.rsplit(".", 1)[1] for c in COMMANDS]

needs_libsvm = pytest.mark.skipif(
    shutil.which("svm-predict") is None, reason="LibSVM's programs (libsvm-tools) are not installed"
)


def svmlight(path: Path, X, y) -> str:
    dump_svmlight_file(X, y, str(path), zero_based=False)
    return str(path)


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    """A folder with iris in several formats, and models trained on it by the command itself."""
    folder = tmp_path_factory.mktemp("iris")
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    train, test = order[:100], order[100:]
    svmlight(folder / "train.svm", X[train], y[train])
    svmlight(folder / "test.svm", X[test], y[test])
    np.savez(folder / "both.npz", X_train=X[train], y_train=y[train], X_test=X[test], y_test=y[test])
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    header = "a,b,c,d,species\n"
    for part, rows in (("train", train), ("test", test)):
        lines = [f"{','.join(map(repr, X[i].tolist()))},{names[i]}\n" for i in rows]
        (folder / f"{part}.csv").write_text(header + "".join(lines))
    assert main(["train", str(folder / "train.svm"), "-o", str(folder / "big.model"), "-C", "1", "--gamma", "0.3"]) == 0
    csv = ["train", str(folder / "train.csv"), "--label", "species", "-o", str(folder / "text.svmpress")]
    assert main([*csv, "-C", "1", "--gamma", "0.3"]) == 0
    return folder


@pytest.fixture(scope="module")
def diabetes(tmp_path_factory):
    """A folder with a regression problem and a model without scaling."""
    folder = tmp_path_factory.mktemp("diabetes")
    X, y = load_diabetes(return_X_y=True)
    svmlight(folder / "train.svm", X[:300], y[:300])
    svmlight(folder / "test.svm", X[300:], y[300:])
    argv = ["train", f"{folder}/train.svm", "-o", f"{folder}/big.model", "--task", "regression", "--scale", "none"]
    assert main([*argv, "-C", "100", "--gamma", "5"]) == 0
    return folder


def run(capsys, *argv: object) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main([str(a) for a in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def facts(capsys, *argv: object) -> dict:
    code, out, err = run(capsys, *argv, "--json")
    assert code == 0, err
    return json.loads(out)


def program(*argv: object, **settings) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "svmpress", *map(str, argv)]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, **settings)


# ---------------------------------------------------------------------------------------------------------
# Commands
# ---------------------------------------------------------------------------------------------------------


def test_a_first_session(iris, tmp_path, capsys):
    big, small = tmp_path / "big.model", tmp_path / "small.model"
    trained = facts(capsys, "train", iris / "train.svm", "-o", big)
    assert len(trained["trials"]) == 34
    assert trained["vectors"] == formats.load(big).n_vectors
    assert (tmp_path / "big.model.range").exists()

    pressed = facts(capsys, "compress", big, "-o", small, "--vectors", "6", "--data", iris / "train.svm")
    assert (pressed["status"], pressed["vectors"]) == ("compressed", 6)
    assert formats.load(small).expansion.coef_mask is not None  # a LibSVM file without copies
    assert formats.load(small).n_vectors == 6

    result = facts(capsys, "evaluate", small, iris / "test.svm", "--reference", big)
    assert result["rows"] == 50
    assert result["accuracy"] > 0.85
    assert result["agreement"] > 0.85
    assert result["speedup"] > 0

    code, out, _ = run(capsys, "predict", small, iris / "test.svm", "-o", tmp_path / "labels.txt")
    assert code == 0
    assert "50 rows" in out
    labels = np.loadtxt(tmp_path / "labels.txt")
    rows = data.read(iris / "test.svm")
    assert np.mean(labels == rows.y) == pytest.approx(result["accuracy"])
    np.testing.assert_array_equal(labels, formats.load(small).predict(rows.X))


def test_text_for_people(iris, tmp_path, capsys):
    out = run(capsys, "train", iris / "train.csv", "--label", "species", "-o", tmp_path / "m.svmpress")[1]
    assert re.search(r"^validation accuracy +[01]\.\d{4}$", out, re.M)
    out = run(capsys, "compress", iris / "big.model", "-o", tmp_path / "s.svmpress", "--ratio", "0.2")[1]
    assert "compressed to the budget" in out
    out = run(capsys, "evaluate", iris / "text.svmpress", iris / "test.csv", "--label", "species")[1]
    assert re.search(r"^accuracy +\d+\.\d+% \(\d+ of 50\)$", out, re.M)
    out = run(capsys, "inspect", iris / "big.model")[1]
    assert re.search(r"^kernel +rbf \(gamma=0\.3\)$", out, re.M)
    assert re.search(r"^classes +3: 0, 1, 2$", out, re.M)


def test_text_labels(iris, tmp_path, capsys):
    model = formats.load(iris / "text.svmpress")
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    code, out, err = run(capsys, "predict", iris / "text.svmpress", iris / "test.csv", "--label", "species")
    assert code == 0
    assert "50 rows" in err
    assert out.split() == model.predict(data.read(iris / "test.csv").X).tolist()
    pressed = facts(capsys, "compress", iris / "text.svmpress", "-o", tmp_path / "s.svmpress", "--vectors", "5",
                    "--data", iris / "train.csv", "--label", "species")  # fmt: skip
    assert pressed["vectors"] == 5


def test_npz_parts_by_command(iris, tmp_path, capsys):
    trained = facts(capsys, "train", iris / "both.npz", "-o", tmp_path / "m.svmpress", "-C", "1", "--gamma", "1")
    assert trained["rows"] == 100
    assert facts(capsys, "evaluate", tmp_path / "m.svmpress", iris / "both.npz")["rows"] == 50
    assert facts(capsys, "evaluate", tmp_path / "m.svmpress", iris / "both.npz", "--split", "train")["rows"] == 100


def test_inspect(iris, capsys):
    shown = facts(capsys, "inspect", iris / "big.model")
    model = formats.load(iris / "big.model")
    assert shown["vectors"] == model.n_vectors
    assert shown["kernel"] == {"name": "rbf", "gamma": 0.3}
    assert shown["classes"] == [0, 1, 2]
    assert shown["file_bytes"] == (iris / "big.model").stat().st_size
    assert shown["multiply_adds"] == model.expansion.multiply_adds
    assert shown["scaling"] == "shift and factor per feature"
    assert shown["predictor"] == svmpress.predictor.describe()


def test_export_there_and_back(iris, tmp_path, capsys):
    there = facts(capsys, "export", iris / "big.model", "-o", tmp_path / "m.svmpress")
    assert there["vectors_stored"] == there["vectors"]
    assert run(capsys, "export", tmp_path / "m.svmpress", "-o", tmp_path / "again.model")[0] == 0
    assert (tmp_path / "again.model").read_bytes() == (iris / "big.model").read_bytes()


def test_export_says_what_copies_cost(iris, tmp_path, capsys):
    shared = tmp_path / "shared.svmpress"
    assert run(capsys, "compress", iris / "big.model", "-o", shared, "--vectors", "5")[0] == 0
    code, _, err = run(capsys, "export", shared, "-o", tmp_path / "m.model")
    assert code == 0
    assert "needs 10 vectors for the 5 of the model" in err
    assert formats.load(tmp_path / "m.model").n_vectors == 10
    quiet = facts(capsys, "export", shared, "-o", tmp_path / "m.model", "--quiet")
    assert quiet["vectors_stored"] == 10


def test_export_of_a_graph(iris, tmp_path, capsys):
    """The suffix says it; the precision and the version of the operators are options."""
    graph = tmp_path / "m.onnx"
    said = facts(capsys, "export", iris / "big.model", "-o", graph)
    assert (said["format"], said["file_bytes"]) == ("onnx", graph.stat().st_size)
    with_options = facts(capsys, "export", iris / "big.model", "-o", graph, "--opset", "17", "--float64")
    assert with_options["file_bytes"] > said["file_bytes"]
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    assert session.get_inputs()[0].type == "tensor(double)"
    X = load_iris().data
    np.testing.assert_array_equal(session.run(["label"], {"rows": X})[0], formats.load(iris / "big.model").predict(X))


@pytest.mark.parametrize(
    ("budget", "vectors"), [(("--ratio", "0.5"), None), (("--max-bytes", "0.3k"), 5), (("--max-latency", "1s"), None)]
)
def test_budgets(iris, tmp_path, capsys, budget, vectors):
    n = formats.load(iris / "big.model").n_vectors
    result = facts(capsys, "compress", iris / "big.model", "-o", tmp_path / "s.svmpress", *budget)
    expected = {"--ratio": round(n / 2), "--max-bytes": vectors, "--max-latency": n}[budget[0]]
    assert abs(result["vectors"] - expected) <= 1
    assert result["status"] == ("unchanged" if budget[0] == "--max-latency" else "compressed")


@pytest.mark.slow
def test_max_drop(iris, tmp_path, capsys):
    argv = ["compress", iris / "big.model", "-o", tmp_path / "s.svmpress", "--max-drop", "0.1"]
    result = facts(capsys, *argv, "--data", iris / "train.svm")
    assert result["vectors"] < result["vectors_before"]
    assert result["curve"]


def test_more_vectors_than_there_are_returns_the_source(iris, tmp_path, capsys):
    result = facts(capsys, "compress", iris / "big.model", "-o", tmp_path / "s.model", "--vectors", "100000")
    assert result["status"] == "unchanged"
    assert (tmp_path / "s.model").read_bytes() == (iris / "big.model").read_bytes()


def test_dag(iris, tmp_path, capsys):
    argv = ["compress", iris / "big.model", "--vectors", "9", "--dag", "-o"]
    assert run(capsys, *argv, tmp_path / "s.svmpress")[0] == 0
    assert type(formats.load(tmp_path / "s.svmpress").decoder).__name__ == "PairDAG"
    code, _, err = run(capsys, *argv, tmp_path / "s.model")
    assert code == 2
    assert "DAG" in err


@pytest.mark.parametrize("method", ["paper", "lars"])
def test_methods(iris, tmp_path, capsys, method):
    argv = ["compress", iris / "big.model", "-o", tmp_path / "s.model", "--ratio", "0.5", "--method", method]
    assert facts(capsys, *argv)["vectors"] > 3


def test_regression(diabetes, tmp_path, capsys):
    result = facts(capsys, "evaluate", diabetes / "big.model", diabetes / "test.svm")
    rows = data.read(diabetes / "test.svm")
    answers = formats.load(diabetes / "big.model").predict(rows.X)
    assert result["r2"] == pytest.approx(r2_score(rows.y, answers))
    assert result["mse"] == pytest.approx(mean_squared_error(rows.y, answers))
    assert result["squared_correlation"] == pytest.approx(np.corrcoef(rows.y, answers)[0, 1] ** 2)
    small = tmp_path / "s.model"
    assert run(capsys, "compress", diabetes / "big.model", "-o", small, "--vectors", "15")[0] == 0
    compared = facts(capsys, "evaluate", small, diabetes / "test.svm", "--reference", diabetes / "big.model")
    said = formats.load(small).predict(rows.X)
    assert compared["agreement"] == pytest.approx(r2_score(answers, said))
    assert compared["reference"]["r2"] == pytest.approx(result["r2"])


def test_outliers(iris, tmp_path, capsys):
    argv = ["train", iris / "train.svm", "--task", "outlier", "-o", tmp_path / "m.model", "--nu", "0.2"]
    assert facts(capsys, *argv)["classes"] == [-1, 1]
    rows = data.read(iris / "test.svm")
    inside = tmp_path / "inside.svm"
    svmlight(inside, rows.X, np.ones(50))
    said = formats.load(tmp_path / "m.model").predict(rows.X)
    assert facts(capsys, "evaluate", tmp_path / "m.model", inside)["accuracy"] == pytest.approx(np.mean(said == 1))
    argv = ["compress", tmp_path / "m.model", "-o", tmp_path / "s.model", "--vectors", "5", "--data", inside]
    assert facts(capsys, *argv)["vectors"] == 5


def test_evaluation_without_labels_needs_a_reference(iris, capsys):
    argv = ["evaluate", iris / "big.model", iris / "both.npz", "--no-labels"]
    assert run(capsys, *argv)[0] == 2
    assert facts(capsys, *argv, "--reference", iris / "big.model")["agreement"] == 1.0


def test_scores(iris, capsys):
    out = run(capsys, "predict", iris / "big.model", iris / "test.svm", "--scores")[1]
    rows = data.read(iris / "test.svm")
    wanted = formats.load(iris / "big.model").decision_function(rows.X)
    np.testing.assert_array_equal(np.array([line.split() for line in out.splitlines()], dtype=float), wanted)


def test_blocks_do_not_change_answers(iris):
    model = formats.load(iris / "big.model")
    whole = data.read(iris / "both.npz", split="test")
    for path in ("both.npz", "test.svm"):
        options = streaming.read_options(model, block_bytes=64)
        parts = list(streaming.predict_file(model, str(iris / path), options))
        assert len(parts) > 10
        np.testing.assert_array_equal(np.concatenate([p.values for p in parts]), model.predict(whole.X))


def test_an_evaluation_measures_its_first_block_several_times(iris, monkeypatch):
    """A file of few rows is one block, and one measurement of it is an accident; a prediction does no work twice."""
    model, asked = formats.load(iris / "big.model"), []
    answers = streaming.answers
    monkeypatch.setattr(streaming, "answers", lambda m, X, *q: (asked.append(X.shape[0]), answers(m, X, *q))[1])
    options = streaming.read_options(model)
    for measure in (False, True):
        asked.clear()
        (part,) = streaming.predict_file(model, str(iris / "test.svm"), options, measure=measure)
        assert asked == [1] + [len(part.values)] * (5 if measure else 1)


# ---------------------------------------------------------------------------------------------------------
# Against LibSVM
# ---------------------------------------------------------------------------------------------------------


@needs_libsvm
def test_labels_are_written_as_svm_predict_writes_them(iris, diabetes, tmp_path, capsys):
    plain = tmp_path / "plain.model"
    argv = ["train", iris / "train.svm", "-o", plain, "-C", "1", "--gamma", "0.3", "--scale", "none"]
    assert run(capsys, *argv)[0] == 0
    for model, rows in ((plain, iris / "test.svm"), (diabetes / "big.model", diabetes / "test.svm")):
        ours, theirs = tmp_path / "ours", tmp_path / "theirs"
        subprocess.run(["svm-predict", rows, model, theirs], check=True, capture_output=True)
        assert run(capsys, "predict", model, rows, "-o", ours)[0] == 0
        if model == plain:
            assert ours.read_bytes() == theirs.read_bytes()
        else:  # sums in another order: equal to rounding, with the same number of digits
            a, b = ours.read_text().split(), theirs.read_text().split()
            np.testing.assert_allclose(np.array(a, float), np.array(b, float), rtol=1e-12)
            assert max(map(len, a)) == max(map(len, b))


@needs_libsvm
def test_models_of_svm_train_take_wider_and_narrower_rows(tmp_path, capsys):
    (tmp_path / "train.svm").write_text("".join(f"{i % 2} 1:{i} 3:{i % 2}\n" for i in range(10)))
    subprocess.run(["svm-train", "-q", tmp_path / "train.svm", tmp_path / "m.model"], check=True)
    rows = tmp_path / "rows.svm"
    rows.write_text("0 1:2\n1 1:3 3:1\n0 2:5 3:0.2 9:0.1\n1 1:7 9:3\n0\n")
    subprocess.run(["svm-predict", rows, tmp_path / "m.model", tmp_path / "theirs"], check=True, capture_output=True)
    assert run(capsys, "predict", tmp_path / "m.model", rows, "-o", tmp_path / "ours")[0] == 0
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    argv = ["compress", tmp_path / "m.model", "-o", tmp_path / "s.model", "--vectors", "2", "--data", rows]
    assert facts(capsys, *argv)["vectors"] == 2


# ---------------------------------------------------------------------------------------------------------
# Bad input
# ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def bad(iris, tmp_path):
    """Files that cannot be used, next to good ones."""
    for name in ("big.model", "big.model.range", "text.svmpress", "train.svm", "test.svm", "test.csv"):
        shutil.copy(iris / name, tmp_path)
    text = (iris / "big.model").read_bytes()
    (tmp_path / "cut.model").write_bytes(text[: len(text) // 2])
    (tmp_path / "binary.model").write_bytes(bytes(range(256)))
    (tmp_path / "empty.model").write_bytes(b"")
    (tmp_path / "empty.svm").write_bytes(b"")
    (tmp_path / "nan.svm").write_text("0 1:1 2:2 3:3 4:4\n1 1:1 2:nan 3:3 4:4\n")
    (tmp_path / "wide.csv").write_text("a,b,c,d,e,label\n1,2,3,4,5,0\n")
    (tmp_path / "one.svm").write_text("1 1:1\n1 1:2\n1 1:3\n")
    (tmp_path / "text.svm").write_text("cat 1:1 2:2 3:3 4:4\n")
    (tmp_path / "folder").mkdir()
    for name in ("oc.svmpress", "model.onnx"):
        svmpress.save(OneClassSVM(gamma=0.1).fit(load_iris().data), tmp_path / name)
    return tmp_path


BAD = {
    "nothing": ("", "required: COMMAND"),
    "unknown command": ("squeeze", "invalid choice: 'squeeze'"),
    "no output": ("compress big.model", "required: -o/--output"),
    "two budgets": ("compress big.model -o out.model --ratio 0.1 --vectors 3", "not allowed with"),
    "ratio is text": ("compress big.model -o out.model --ratio tenth", "invalid float value: 'tenth'"),
    "size is text": ("compress big.model -o out.model --max-bytes tiny", "is not a size such as"),
    "time is text": ("compress big.model -o out.model --max-latency soon", "is not a time such as"),
    "ratio zero": ("compress big.model -o out.model --ratio 0", "ratio must be a positive number"),
    "vectors negative": ("compress big.model -o out.model --vectors -3", "vectors must be a positive number"),
    "bytes too few": ("compress big.model -o out.model --max-bytes 10", "too small"),
    "unknown method": ("compress big.model -o out.model --method magic", "unknown method 'magic'"),
    "unknown device": ("compress big.model -o out.model --device abacus", "abacus"),
    "unknown device of a study": ("study --data folder --out out --device abacus", "abacus"),
    "no model": ("compress none.model -o out.model", "cannot read none.model"),
    "truncated": ("compress cut.model -o out.model", "truncated"),
    "binary": ("inspect binary.model", "binary"),
    "empty model": ("inspect empty.model", "empty"),
    "data as model": ("predict test.svm big.model -o out", "test.svm is a data file"),
    "model as data": ("predict big.model big.model -o out", "big.model is a model, not data"),
    "native model as data": ("predict big.model text.svmpress -o out", "is a model, not data"),
    "NaN": ("predict big.model nan.svm -o out", "nan.svm, line 2: feature 2 is NaN"),
    "empty data": ("train empty.svm -o out.model", "empty.svm is empty"),
    "one class": ("train one.svm -o out.model", "all rows have the label 1"),
    "too wide": ("predict big.model wide.csv -o out", "has 5 features, but the model has 4"),
    "text labels": ("evaluate big.model test.csv --label species", "classes of the model are numbers"),
    "bad svmlight label": ("evaluate big.model text.svm", "line 1: the label 'cat' is not a number"),
    "no such column": ("evaluate text.svmpress test.csv --label kind", "no column 'kind'"),
    "no such kernel": ("train train.svm -o out.model --kernel cosine", "invalid choice: 'cosine'"),
    "bad C": ("train train.svm -o out.model -C 0", "C must be a positive number"),
    "unknown suffix": ("export big.model -o out.xyz", "names no format"),
    "unknown format": ("export big.model -o out.model --format tar", "unknown format 'tar'"),
    "text in LibSVM": ("export text.svmpress -o out.model", "labels"),
    "C code": ("export big.model -o out.c", "C code is a folder of files: svmpress export MODEL -o FOLDER --target c"),
    "opset": ("export big.model -o out.onnx --opset 18", "a number from 13 to 17, not 18"),
    "opset in a browser": (
        "export big.model -o out.js --opset 13",
        "--opset, --float64 and --no-probabilities are for",
    ),
    "flash of a file": ("export big.model -o out.model --max-flash 14k", "--max-flash is for C code: say --target c"),
    "opset of another format": ("export big.model -o out.svmpress --opset 13", "has no option 'opset'"),
    "ONNX as model": ("inspect model.onnx", "does not read them: keep the model as a .svmpress file"),
    "size without end": ("compress big.model -o out.model --max-bytes 1e400", "is not a size such as"),
    "model is a folder": ("train train.svm -o folder --format libsvm", "cannot write folder: it is a folder"),
    "text labels in LibSVM": ("train test.csv -o out.model --label species", "class labels are integers, not text"),
    "another task": (
        "evaluate oc.svmpress test.svm --reference big.model",
        "outlier cannot be compared with one for c",
    ),
    "labels of no one-class model": ("evaluate oc.svmpress test.svm", "labels of a one-class model are 1"),
    "no such folder": ("export big.model -o none/out.svmpress", "there is no folder none"),
    "output is a folder": ("predict big.model test.svm -o folder", "cannot write folder"),
    "output is input": ("export big.model -o big.model", "is an input of this command"),
    "output is data": ("predict big.model test.svm -o test.svm", "is an input of this command"),
    "unlabelled": ("evaluate big.model test.svm --no-labels", "line 1: '2' is not index:value"),
    "JSON and labels": ("predict big.model test.svm --json", "the labels need a file"),
    "no data": ("train none.csv -o out.model", "cannot read none.csv: no such file"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence_and_code_2(bad, capsys, monkeypatch, case):
    argv, message = BAD[case]
    monkeypatch.chdir(bad)
    before = {p: p.read_bytes() for p in bad.iterdir() if p.is_file()}
    code, out, err = run(capsys, *argv.split())
    assert code == 2
    assert out == ""
    assert re.fullmatch(rf"svmpress: error: .*(?:{message}).*\n", err), err
    assert {p: p.read_bytes() for p in bad.iterdir() if p.is_file()} == before


def test_no_traceback_from_the_program(bad):
    done = program("predict", "big.model", "nan.svm", "-o", "out", cwd=bad)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "svmpress: error: nan.svm, line 2: feature 2 is NaN\n"
    assert not (bad / "out").exists()


# ---------------------------------------------------------------------------------------------------------
# The process
# ---------------------------------------------------------------------------------------------------------


def test_version():
    done = program("--version")
    assert (done.returncode, done.stdout) == (0, f"svmpress {svmpress.__version__}\n")


@pytest.mark.parametrize("command", ["inspect big.model", "predict big.model test.svm"])
def test_standard_output_that_is_full(command, iris):
    if not Path("/dev/full").exists():
        pytest.skip("only Linux has a device that is always full")
    with open("/dev/full", "w") as full:
        argv = [sys.executable, "-m", "svmpress", *command.split()]
        done = subprocess.run(argv, cwd=iris, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("svmpress: error: cannot write to standard output: No space left on device\n")
    assert "Traceback" not in done.stderr


def test_labels_that_the_model_does_not_know_are_counted(iris, tmp_path, capsys):
    odd = tmp_path / "odd.svm"
    odd.write_text((iris / "test.svm").read_text().replace("\n0 ", "\n7 "))
    n = odd.read_text().count("\n7 ")
    code, _, err = run(capsys, "evaluate", iris / "big.model", odd)
    assert code == 0
    assert f"note: {n} rows have labels that the model does not know; they count as wrong" in err
    assert facts(capsys, "evaluate", iris / "big.model", odd)["unknown_labels"] == n


def test_standard_input_and_output(iris):
    text = (iris / "test.svm").read_text()
    done = program("predict", iris / "big.model", "-", input=text)
    assert done.returncode == 0
    assert len(done.stdout.split()) == 50
    assert re.search(r"50 rows in .* rows/s", done.stderr)


def test_a_pipe_is_recognised_by_its_content(iris):
    names, *lines = (iris / "train.csv").read_text().splitlines(keepends=True)
    for text in ("".join(lines[:9]), names + "".join(lines[:9])):
        done = program("predict", iris / "big.model", "-", input=text)
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.split()) == 9


def test_a_closed_pipe_is_quiet(iris, tmp_path):
    rows = tmp_path / "many.svm"
    rows.write_text((iris / "test.svm").read_text() * 2000)
    command = f"{sys.executable} -m svmpress predict {iris / 'big.model'} {rows} -q | head -1"
    done = subprocess.run(["bash", "-c", command], check=False, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() in {"0", "1", "2"}
    assert done.stderr == ""


def _has_begun(process: int, folder: Path) -> bool:
    """Whether a process has a file open in a folder, maybe one without a name; elsewhere than on Linux, after 5 s."""
    opened = Path(f"/proc/{process}/fd")
    if not opened.exists():
        time.sleep(5)
        return True
    return any(os.readlink(f).startswith(str(folder)) for f in opened.iterdir() if f.is_symlink())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_runs_leave_no_file(iris, tmp_path, number, code):
    output = tmp_path / "labels.txt"
    process = subprocess.Popen(
        [sys.executable, "-m", "svmpress", "predict", iris / "big.model", "-", "-o", output],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdin.write(b"0 1:1\n")  # and then no more: it waits
    process.stdin.flush()
    until = time.monotonic() + 60
    while not _has_begun(process.pid, tmp_path) and time.monotonic() < until:
        time.sleep(0.05)
    assert not output.exists()
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert list(tmp_path.iterdir()) == []
    assert err.decode() == ("svmpress: interrupted\n" if number == signal.SIGINT else "")


def test_bars_are_drawn_on_request_only(iris, tmp_path, capsys):
    argv = ["predict", iris / "big.model", iris / "test.svm", "-o", tmp_path / "labels.txt"]
    assert run(capsys, *argv)[2] == ""
    assert "predicting" in run(capsys, *argv, "--progress")[2]
    assert run(capsys, *argv, "--progress", "--quiet")[2] == ""


def test_warnings_are_one_line(iris, capsys, monkeypatch):
    described = svmpress.cli.inspect.run

    def noisy(args):
        warnings.warn("take care", UserWarning, stacklevel=2)
        return described(args)

    monkeypatch.setattr(svmpress.cli.inspect, "run", noisy)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        code, _, err = run(capsys, "inspect", iris / "big.model")
    assert (code, err) == (0, "svmpress: warning: take care\n")


# ---------------------------------------------------------------------------------------------------------
# Help and manual
# ---------------------------------------------------------------------------------------------------------


def help_of(name: str | None) -> str:
    parser = build_parser()
    if name is None:
        return parser.format_help()
    return next(iter(parser._subparsers._group_actions)).choices[name].format_help()


@pytest.mark.parametrize("name", NAMES)
def test_help_is_printed(capsys, name):
    code, out, _ = run(capsys, name, "--help")
    assert code == 0
    assert out == help_of(name)
    assert "examples:" in out


@pytest.mark.parametrize("name", NAMES)
def test_examples_of_the_help_parse(name):
    lines = help_of(name).split("examples:\n")[1].splitlines()
    assert lines
    for line in lines:
        argv = line[line.index("svmpress ") :].split(">")[0].split()[1:]
        assert build_parser().parse_args(argv).command == name


def test_manual_holds_the_help_of_every_command():
    """Run with SVMPRESS_WRITE_DOCS=1 to bring the manual up to date."""
    text = MANUAL.read_text()

    def block(match: re.Match) -> str:
        return f"```text\n$ svmpress{match[1] or ''} --help\n{help_of((match[1] or '').strip() or None)}```"

    wanted, n = re.subn(r"```text\n\$ svmpress( \w+)? --help\n.*?```", block, text, flags=re.S)
    assert n == len(NAMES) + 1
    assert [h for h in re.findall(r"^## (\w+)$", text, re.M) if h in NAMES] == NAMES
    if os.environ.get("SVMPRESS_WRITE_DOCS"):
        MANUAL.write_text(wanted)
        text = wanted
    changes = "\n".join(difflib.unified_diff(text.splitlines(), wanted.splitlines(), "docs/cli.md", "--help"))
    assert not changes, f"{changes}\nSVMPRESS_WRITE_DOCS=1 pytest {__file__} writes it"


def test_units():
    assert [number_of_bytes(t) for t in ("100", "64k", "1M", "1.5 KiB", "2e3")] == [100, 65536, 2**20, 1536, 2000]
    assert [seconds(t) for t in ("0.5", "20us", "20µs", "1ms", "5ns")] == pytest.approx([0.5, 2e-5, 2e-5, 1e-3, 5e-9])
    assert [format_bytes(n) for n in (12, 1536, 3 * 2**20)] == ["12 B", "1.5 KiB", "3.0 MiB"]
    assert [format_seconds(s) for s in (90, 2e-3, 2.5e-5, 4e-9)] == ["90 s", "2 ms", "25 µs", "4 ns"]
