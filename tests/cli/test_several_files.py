"""Several files, folders and patterns are one set of rows for every command that reads data."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file, load_iris

from svmpress import data
from svmpress.cli import main
from svmpress.errors import InputError
from svmpress.formats import load
from svmpress.training import train

X, Y = load_iris(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(150)
X, Y = X[ORDER], Y[ORDER]
NAMES = ["sl", "sw", "pl", "pw"]
PARTS = [slice(0, 50), slice(50, 100), slice(100, 150)]
FAST = ["-C", "10", "--gamma", "0.1"]


def frame(rows, columns=NAMES):
    table = pd.DataFrame(X[rows], columns=NAMES)[list(columns)]
    return table.assign(species=np.array(["a", "b", "c"])[Y[rows]])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three files of one table, whose columns are in three orders, and one of all rows."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "days").mkdir()
    frame(PARTS[0]).to_csv("days/0.csv", index=False)
    frame(PARTS[1], ["pw", "sl", "pl", "sw"]).to_parquet("days/1.parquet", index=False)
    frame(PARTS[2])[["species", "pl", "sw", "pw", "sl"]].to_csv("days/2.csv", index=False)
    frame(slice(None)).to_csv("all.csv", index=False)
    return tmp_path


def run(capsys, line):
    """Run a command and return what it says in JSON."""
    capsys.readouterr()
    code = main([*line.split(), "--json", "-q"])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return json.loads(captured.out)


WAYS = ["days/0.csv days/1.parquet days/2.csv", "days", "days/*"]


@pytest.mark.parametrize("named", WAYS, ids=["files", "folder", "pattern"])
def test_every_command_takes_several_files(folder, capsys, named):
    """The same model, the same small one and the same scores as of one file with all rows."""
    svm = " ".join(FAST)
    assert run(capsys, f"train {named} -o m.svmpress --label species {svm}")["rows"] == 150
    run(capsys, f"train all.csv -o one.svmpress {svm}")
    model = load("m.svmpress")
    np.testing.assert_array_equal(model.expansion.vectors, load("one.svmpress").expansion.vectors)
    assert model.feature_names == tuple(NAMES)
    run(capsys, f"compress m.svmpress -o s.svmpress --vectors 6 --data {named} --test {named} --report r.html")
    run(capsys, "compress one.svmpress -o t.svmpress --vectors 6 --data all.csv")
    np.testing.assert_array_equal(load("s.svmpress").expansion.vectors, load("t.svmpress").expansion.vectors)
    several, one = (run(capsys, f"evaluate s.svmpress {d} --reference m.svmpress") for d in (named, "all.csv"))
    assert several["rows"] == 150
    for fact in ("rows", "accuracy", "agreement"):
        assert several[fact] == one[fact]
    assert run(capsys, f"predict s.svmpress {named} -o o.csv")["files"] == 3
    assert run(capsys, f"report s.svmpress --source m.svmpress --data {named} -o page.html")["sizes"] == [6]


def test_an_option_that_is_given_twice_means_all(folder, capsys):
    run(capsys, f"train days -o m.svmpress {' '.join(FAST)}")
    run(capsys, "compress m.svmpress -o s.svmpress --vectors 6 --data days/0.csv days/1.parquet --data days/2.csv")
    run(capsys, "compress m.svmpress -o t.svmpress --vectors 6 --data days")
    np.testing.assert_array_equal(load("s.svmpress").expansion.vectors, load("t.svmpress").expansion.vectors)


def test_search_takes_several_files(folder, capsys):
    line = "search days -o s.svmpress --max-vectors 6 --trials 2 --finalists 1 --sampler random"
    run(capsys, line)
    assert load("s.svmpress").feature_names == tuple(NAMES)


def test_a_model_knows_the_names_that_it_was_trained_with(folder, capsys):
    """Columns in another order were answered wrongly, and nobody was told: 98 % became 32 %."""
    run(capsys, f"train days/0.csv -o m.svmpress {' '.join(FAST)}")
    frame(slice(50, 150), NAMES[::-1]).to_csv("other.csv", index=False)
    frame(slice(50, 150)).to_csv("same.csv", index=False)
    other, same = (run(capsys, f"evaluate m.svmpress {name}.csv")["accuracy"] for name in ("other", "same"))
    assert other == same > 0.9
    named = "sl,pw"
    run(capsys, f"train days/0.csv -o n.svmpress --columns {named} --label species {' '.join(FAST)}")
    assert load("n.svmpress").feature_names == ("sl", "pw")


def test_the_library_keeps_names_of_a_table_too():
    table = frame(slice(None))
    model = train(table[NAMES], table.species, C=10, gamma=0.1).model
    assert model.feature_names == tuple(NAMES)
    np.testing.assert_array_equal(model.predict(table[NAMES[::-1]]), model.predict(X))


def test_a_table_that_was_cut_into_pieces(folder):
    """Only the first of them has the line of names."""
    lines = (folder / "all.csv").read_text().splitlines(keepends=True)
    for k in range(3):
        (folder / f"piece.{k}").write_text("".join(lines[51 * k : 51 * k + 51]))
    rows = data.read("piece.*")
    np.testing.assert_array_equal(rows.X, X)
    assert rows.feature_names == tuple(NAMES)
    assert "".join(rows.y) == "".join(np.array(["a", "b", "c"])[Y])


def test_blocks_of_several_files_are_counted_on(folder):
    blocks = list(data.stream("days", block_bytes=400))
    assert len(blocks) > 6
    assert [b.first_row for b in blocks] == np.cumsum([0, *(b.X.shape[0] for b in blocks[:-1])]).tolist()
    shares = [b.fraction for b in blocks]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert [b.file for b in blocks if b.first_row in (0, 50, 100)] == [
        f"days/{n}" for n in ("0.csv", "1.parquet", "2.csv")
    ]
    np.testing.assert_array_equal(np.concatenate([b.X for b in blocks]), X)


def test_sparse_and_dense_files_are_one_set_of_rows(folder):
    """The text of svmlight may lack the last features; others say how many there are."""
    rows = np.where(X > 3, X, 0.0)
    rows[:50, 3] = 0.0
    dump_svmlight_file(rows[:50], Y[:50], "a.svm", zero_based=False)
    np.savez("b.npz", X=rows[50:], y=Y[50:])
    for names in (["a.svm", "b.npz"], ["b.npz", "a.svm"]):
        found = data.read(names)
        assert not found.elastic
        order = slice(None) if names[0] == "a.svm" else np.r_[50:150, 0:50]
        np.testing.assert_array_equal(found.X, rows[order])
        np.testing.assert_array_equal(found.y, Y[order])


def test_a_model_is_wide_for_the_files_that_are(folder, capsys):
    """A file of LibSVM names features that the model has not; the next file has as many as the model."""
    np.savez("a.npz", X=X[:, :2], y=Y)
    run(capsys, f"train a.npz -o m.model --scale none {' '.join(FAST)}")
    dump_svmlight_file(X, Y, "wide.svm", zero_based=False)
    expected = load("m.model").predict(X[:, :2])
    for names in ("wide.svm a.npz", "a.npz wide.svm"):
        run(capsys, f"predict m.model {names} -o o.txt")
        got = np.loadtxt("o.txt")
        np.testing.assert_array_equal(got[:150] if names[0] == "a" else got[150:], expected)


WRONG = {
    "a column is missing": (
        lambda: frame(PARTS[1], ["sl", "pl", "pw"]),
        "all.csv has the column 'sw', and b.csv has not",
    ),
    "a column more": (lambda: frame(PARTS[1]).assign(x=1.0), "b.csv has the column 'x', and all.csv has not"),
    "no label": (
        lambda: frame(PARTS[1]).drop(columns="species"),
        "all.csv has the column 'species', and b.csv has not",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_tables_with_other_columns_are_refused(folder, capsys, case):
    make, words = WRONG[case]
    make().to_csv("b.csv", index=False)
    assert main(["train", "all.csv", "b.csv", "-o", "m.svmpress", "--label", "species"]) == 2
    assert words in capsys.readouterr().err
    assert not (folder / "m.svmpress").exists()


def test_files_that_do_not_fit_are_named(folder):
    np.savez("a.npz", X=X, y=Y)
    np.savez("b.npz", X=X[:, :3], y=Y)
    np.savez("c.npz", X=X)
    dump_svmlight_file(np.column_stack([X, X]), Y, "wide.svm", zero_based=False)
    with pytest.raises(InputError, match=r"a.npz has 4 features, but b.npz has 3"):
        data.read(["a.npz", "b.npz"])
    with pytest.raises(InputError, match=r"wide.svm has 8 features, but a.npz has 4"):
        data.read(["a.npz", "wide.svm"])
    with pytest.raises(InputError, match=r"a.npz has labels, and c.npz has none"):
        data.read(["c.npz", "a.npz"], labels=None)
    with pytest.raises(InputError, match="no data file is named"):
        data.read([])


def test_labels_may_be_in_some_files_where_nobody_needs_them(folder, capsys):
    run(capsys, f"train all.csv -o m.svmpress {' '.join(FAST)}")
    frame(PARTS[0]).drop(columns="species").to_csv("none.csv", index=False)
    run(capsys, "predict m.svmpress all.csv none.csv -o o.txt")
    assert len((folder / "o.txt").read_text().split()) == 200


def test_a_file_that_a_pattern_matches_is_not_overwritten(folder, capsys):
    run(capsys, f"train all.csv -o m.svmpress {' '.join(FAST)}")
    for line in (
        "predict m.svmpress days -o days/0.csv",
        "compress m.svmpress -o days/0.csv --format native --data days",
    ):
        assert main(line.split()) == 2
        assert "is an input of this command" in capsys.readouterr().err
