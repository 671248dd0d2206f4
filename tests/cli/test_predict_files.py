"""``svmpress predict`` over tables: several files, named columns, text that goes along, tables out, probabilities."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from libsvm import svmutil
from sklearn.datasets import dump_svmlight_file, load_diabetes, load_iris
from sklearn.svm import SVC, SVR

from svmpress.cli import main
from svmpress.formats import from_estimator, load, save

X, Y = load_iris(return_X_y=True)
SVC_IRIS = SVC(gamma=0.3).fit(X, Y)
NAMES = ["sl", "sw", "pl", "pw"]
SAMPLES = [f"flower {i}" for i in range(150)]


@pytest.fixture
def folder(tmp_path):
    save(SVC_IRIS, tmp_path / "m.svmpress")
    days = tmp_path / "days"
    days.mkdir()
    for k in range(3):
        some = slice(50 * k, 50 * k + 50)
        columns = {"sample": SAMPLES[some], "pw": X[some, 3], "sl": X[some, 0], "serial": range(50)}
        columns |= {"sw": X[some, 1], "pl": X[some, 2]}
        pq.write_table(pa.table(columns), days / f"{k}.parquet")
        with (days / f"{k}.csv").open("w") as f:
            writer = csv.writer(f)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
    (days / "notes.txt").write_text("no data\n")
    return tmp_path


def run(capsys, *argv):
    capsys.readouterr()
    code = main([str(a) for a in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def predicted(capsys, folder, *argv, output="o.parquet"):
    code, out, err = run(capsys, "predict", folder / "m.svmpress", *argv, "-o", folder / output, "--json")
    assert code == 0, err
    assert json.loads(out)["rows"] > 0
    return folder / output


BY_NAME = ["--columns", "sl,sw,pl,pw", "--id", "serial"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("output", ["o.parquet", "o.csv", "o.tsv"])
def test_a_table_of_tables(folder, capsys, kind, output):
    """Columns in another order, an id, text that goes along, three files: one table."""
    path = predicted(capsys, folder, folder / "days" / f"*.{kind}", *BY_NAME, output=output)
    if output == "o.parquet":
        table = pq.read_table(path).to_pydict()
        assert [str(v) for v in table["serial"]] == [str(i) for i in range(50)] * 3
        assert table["prediction"] == SVC_IRIS.predict(X).tolist()
    else:
        rows = list(csv.reader(path.read_text().splitlines(), delimiter="\t" if output == "o.tsv" else ","))
        table = dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))
        assert [int(v) for v in table["prediction"]] == SVC_IRIS.predict(X).tolist()
    assert list(table) == ["file", "serial", "sample", "prediction"]
    assert list(table["sample"]) == SAMPLES
    assert [str(v).rpartition("/")[2] for v in table["file"]] == [f"{k}.{kind}" for k in range(3) for _ in range(50)]


def test_one_file_needs_no_name_of_it(folder, capsys):
    table = pq.read_table(predicted(capsys, folder, folder / "days" / "1.parquet", *BY_NAME))
    assert table.column_names == ["serial", "sample", "prediction"]
    assert table.schema.field("serial").type == pa.int64()
    assert table.schema.field("prediction").type == pa.int64()


def test_a_folder_stands_for_its_data_files(folder, capsys):
    for k in range(3):
        (folder / "days" / f"{k}.csv").unlink()
    path = predicted(capsys, folder, folder / "days", *BY_NAME, output="o.txt")
    np.testing.assert_array_equal(np.loadtxt(path), SVC_IRIS.predict(X))


def test_files_of_several_formats_follow_one_another(folder, capsys):
    dump_svmlight_file(X[:50], Y[:50], str(folder / "a.svm"), zero_based=False)
    np.savez(folder / "b.npz", X=X[50:100], y=Y[50:100])
    np.savetxt(folder / "c.csv", X[100:], delimiter=",")
    path = predicted(capsys, folder, folder / "a.svm", folder / "b.npz", folder / "c.csv")
    assert pq.read_table(path)["prediction"].to_pylist() == SVC_IRIS.predict(X).tolist()


def test_text_goes_along_without_being_named(folder, capsys):
    lines = [",".join([*map(repr, row.tolist()), s]) for row, s in zip(X, SAMPLES, strict=True)]
    (folder / "a.csv").write_text("\n".join(["sl,sw,pl,pw,sample", *lines]) + "\n")
    table = pq.read_table(predicted(capsys, folder, folder / "a.csv")).to_pydict()
    assert list(table) == ["sample", "prediction"]
    assert table["sample"] == SAMPLES
    code, out, _ = run(capsys, "predict", folder / "m.svmpress", folder / "a.csv")
    assert (code, len(out.split())) == (0, 150)


def test_columns_without_names_have_numbers(folder, capsys):
    np.savetxt(folder / "a.csv", np.column_stack([np.arange(150), X]), delimiter=",")
    argv = ["--columns", "1,2,3,4", "--id", "0"]
    table = pq.read_table(predicted(capsys, folder, folder / "a.csv", *argv)).to_pydict()
    assert [float(v) for v in table["0"]] == list(range(150))
    assert table["prediction"] == SVC_IRIS.predict(X).tolist()


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_scores_have_columns(folder, capsys, shape):
    svc = SVC(gamma=0.3, decision_function_shape=shape).fit(X, Y)
    save(svc, folder / "m.svmpress")
    np.save(folder / "unused.npy", X)
    np.savez(folder / "a.npz", X=X)
    table = pq.read_table(predicted(capsys, folder, folder / "a.npz", "--scores"))
    assert table.column_names == (["score_0", "score_1", "score_2"])
    got = np.column_stack([table[name].to_numpy() for name in table.column_names])
    np.testing.assert_allclose(got, svc.decision_function(X), atol=1e-9)
    text = np.loadtxt(predicted(capsys, folder, folder / "a.npz", "--scores", output="o.txt"))
    np.testing.assert_array_equal(text, got)


def test_text_labels_and_regressions(folder, capsys):
    words = np.array(["setosa", "versicolor", "virginica"])[Y]
    np.savez(folder / "a.npz", X=X)
    save(SVC().fit(X, words), folder / "m.svmpress")
    table = pq.read_table(predicted(capsys, folder, folder / "a.npz"))
    assert table["prediction"].to_pylist() == SVC().fit(X, words).predict(X).tolist()
    D, t = load_diabetes(return_X_y=True)
    np.savez(folder / "d.npz", X=D)
    save(SVR().fit(D, t), folder / "m.svmpress")
    table = pq.read_table(predicted(capsys, folder, folder / "d.npz"))
    np.testing.assert_allclose(table["prediction"].to_numpy(), SVR().fit(D, t).predict(D))


def test_missing_values_and_dates_go_along(folder, capsys):
    days = pa.array([None, *(date(2020, 1, k) for k in range(1, 5))])
    notes = pa.array(["x", None, "y", None, "z"]).dictionary_encode()
    columns = {name: X[:5, j] for j, name in enumerate(NAMES)}
    pq.write_table(pa.table({"day": days, **columns, "note": notes}), folder / "a.parquet")
    table = pq.read_table(predicted(capsys, folder, folder / "a.parquet"))
    assert table["note"].to_pylist() == ["x", None, "y", None, "z"]
    assert table["day"].null_count == 1
    out = predicted(capsys, folder, folder / "a.parquet", output="o.csv").read_text().splitlines()
    assert out[0] == "day,note,prediction"
    assert out[2].endswith("2020-01-01,,0")


def test_probabilities(folder, capsys):
    from dataclasses import replace

    model = from_estimator(SVC_IRIS)
    model = replace(model, probability={"probA": np.full(3, -2.0), "probB": np.array([0.1, 0.0, -0.1])})
    save(model, folder / "m.svmpress")
    np.savez(folder / "a.npz", X=X)
    table = pq.read_table(predicted(capsys, folder, folder / "a.npz", "--proba"))
    assert table.column_names == ["prediction", "probability_0", "probability_1", "probability_2"]
    P = np.column_stack([table[f"probability_{k}"].to_numpy() for k in range(3)])
    np.testing.assert_allclose(P, load(folder / "m.svmpress").predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(table["prediction"].to_numpy(), P.argmax(axis=1))
    text = predicted(capsys, folder, folder / "a.npz", "--proba", output="o.txt").read_text().splitlines()
    assert text[0] == "labels 0 1 2"  # as svm-predict -b 1 writes it
    np.testing.assert_array_equal(np.array([line.split() for line in text[1:]], dtype=float)[:, 1:], P)


def test_svmlight_rows_without_a_label_column(folder, capsys):
    lines = [" ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row)) for row in X.tolist()]
    (folder / "rows.svm").write_text("\n".join(lines) + "\n")
    model, rows, small = folder / "m.svmpress", folder / "rows.svm", folder / "s.svmpress"
    for argv in ([], ["--no-labels"]):
        code, out, _ = run(capsys, "predict", model, rows, *argv)
        assert code == 0
        assert [int(v) for v in out.split()] == SVC_IRIS.predict(X).tolist()
        code, out, err = run(capsys, "compress", model, "-o", small, "--data", rows, "--vectors", 9, *argv)
        assert code == 0, err
        assert load(small).n_vectors == 9


@pytest.mark.skipif(shutil.which("svm-predict") is None, reason="LibSVM's programs are not installed here")
def test_probabilities_are_those_of_svm_predict(folder, capsys):
    model, rows = folder / "p.model", folder / "rows.svm"
    svmutil.svm_save_model(str(model), svmutil.svm_train(Y.tolist(), X.tolist(), "-q -b 1"))
    dump_svmlight_file(X, Y, str(rows), zero_based=False)
    subprocess.run(["svm-predict", "-b", "1", rows, model, folder / "theirs"], check=True, capture_output=True)
    assert run(capsys, "predict", model, rows, "--proba", "-o", folder / "ours")[0] == 0
    theirs, ours = ((folder / name).read_text().split("\n") for name in ("theirs", "ours"))
    assert ours[0] == theirs[0].strip()
    a, b = (np.array([line.split() for line in lines[1:] if line], dtype=float) for lines in (theirs, ours))
    np.testing.assert_array_equal(b[:, 0], a[:, 0])
    np.testing.assert_allclose(b, a, atol=1e-5)  # it prints six digits


def test_probabilities_of_inliers(folder, capsys):
    model, rows = folder / "one.model", folder / "rows.svm"
    theirs = svmutil.svm_train([1.0] * 140 + [-1.0] * 10, X, "-q -s 2 -n 0.2 -g 0.3 -b 1")
    svmutil.svm_save_model(str(model), theirs)
    dump_svmlight_file(X, np.ones(150), str(rows), zero_based=False)
    labels, _, both = svmutil.svm_predict([1.0] * 150, X, svmutil.svm_load_model(str(model)), "-q -b 1")
    assert run(capsys, "predict", model, rows, "--proba", "-o", folder / "o.txt")[0] == 0
    head, *lines = (folder / "o.txt").read_text().splitlines()
    assert head == "label normal outlier"  # as svm-predict -b 1 writes it
    np.testing.assert_array_equal(np.array([line.split() for line in lines], float), np.column_stack([labels, both]))
    assert run(capsys, "predict", model, rows, "--proba", "-o", folder / "o.csv")[0] == 0
    assert (folder / "o.csv").read_text().startswith("prediction,probability_1,probability_-1\n")


BAD = {
    "no such column": (["days/0.csv", "--columns", "sl,sw,pl,width"], "has no column 'width'; its columns are sample,"),
    "no such id": (["days/0.parquet", "--id", "key"], "has no column 'key'"),
    "twice": (["days/0.csv", "--columns", "sl,sw,pl,pl"], "one is named twice"),
    "id and feature": (["days/0.csv", "--columns", "sl,sw,pl,pw", "--id", "pw"], "one is named twice"),
    "text feature": (["days/0.csv", "--columns", "sl,sw,pl,sample"], "'flower 0' is not a number"),
    "text feature of Parquet": (["days/0.parquet", "--columns", "sl,sw,pl,sample"], "features must be numbers"),
    "too few columns": (["days/0.csv", "--columns", "sl,sw"], "the data has 2 features, but the model has 4"),
    "no match": (["days/*.pq"], "no file matches"),
    "empty folder": (["empty"], "has no data file"),
    "no probabilities": (["days/0.csv", *BY_NAME, "--proba"], "the model has no probabilities of classes"),
    "svmlight has no columns": (["a.svm", "--id", "x"], "a.svm is no table: columns can be named in CSV and Parquet"),
    "npz has no columns": (["a.npz", "--columns", "x"], "a.npz is no table"),
    "one column": (["days/0.csv", "--columns", "sl", "--id", ""], "is not a list of column names"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_done_is_said(folder, capsys, monkeypatch, case):
    argv, words = BAD[case]
    (folder / "empty").mkdir()
    dump_svmlight_file(X, Y, str(folder / "a.svm"), zero_based=False)
    np.savez(folder / "a.npz", X=X)
    monkeypatch.chdir(folder)
    code, _, err = run(capsys, "predict", "m.svmpress", *argv, "-o", "out.parquet")
    assert code == 2
    assert words in err
    assert not (folder / "out.parquet").exists()


def test_answers_need_names_of_their_own(folder, capsys):
    columns = {"prediction": SAMPLES, **{name: X[:, j] for j, name in enumerate(NAMES)}}
    pq.write_table(pa.table(columns), folder / "a.parquet")
    code, _, err = run(capsys, "predict", folder / "m.svmpress", folder / "a.parquet", "-o", folder / "o.csv")
    assert (code, "column 'prediction', the name of an answer: rename it" in err) == (2, True)


def test_the_other_commands_take_named_columns(folder, capsys):
    """Train, compress and evaluate on tables whose id is a number."""
    columns = {"serial": np.arange(150), **{n: X[:, j] for j, n in enumerate(NAMES)}, "kind": Y}
    pq.write_table(pa.table(columns), folder / "a.parquet")
    argv = ["--id", "serial", "--label", "kind"]
    model = folder / "t.svmpress"
    assert run(capsys, "train", folder / "a.parquet", "-o", model, "-C", 1, "--gamma", 0.3, *argv)[0] == 0
    assert load(model).n_features == 4
    small = folder / "s.svmpress"
    assert run(capsys, "compress", model, "-o", small, "--data", folder / "a.parquet", *argv)[0] == 0
    code, out, _ = run(capsys, "evaluate", small, folder / "a.parquet", *argv, "--json")
    assert code == 0
    assert json.loads(out)["accuracy"] > 0.9
