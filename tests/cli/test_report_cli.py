"""``svmpress report``, ``compress --sizes`` and pages of ``export``, with input that cannot be used."""

from __future__ import annotations

import json

import pytest
from sklearn.datasets import dump_svmlight_file, load_iris
from sklearn.svm import SVC

from svmpress.cli import main
from svmpress.formats import from_estimator, load, save


@pytest.fixture
def files(tmp_path, monkeypatch):
    X, y = load_iris(return_X_y=True)
    monkeypatch.chdir(tmp_path)
    save(from_estimator(SVC().fit(X, y)), "big.model")
    dump_svmlight_file(X, y, "rows.svm", zero_based=False)
    return tmp_path


def test_sizes_have_a_file_each_and_a_page(files, capsys):
    command = "compress big.model -o s.svmpress --sizes 4,8 --data rows.svm --test rows.svm --report r.html -q --json"
    assert main(command.split()) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["outputs"] == {"4": "s-4.svmpress", "8": "s-8.svmpress"}
    assert [load(name).n_vectors for name in facts["outputs"].values()] == [4, 8]
    assert [size["vectors"] for size in facts["sizes"]] == [4, 8]
    assert 'id="size-1"' in (files / "r.html").read_text()
    command = "report s-4.svmpress s-8.svmpress --source big.model --data rows.svm -o p.html --json"
    assert main(command.split()) == 0
    assert json.loads(capsys.readouterr().out)["sizes"] == [4, 8]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("report big.model --data rows.svm -o r.html", "--source"),
        ("report big.model -o big.model", "is an input"),
        ("report big.model -o r.html --image 2x3", "6 features, and the model has 4"),
        ("compress big.model -o s.model --sizes 4,x", "no list of numbers"),
        ("compress big.model -o s.model --sizes 4 --ratio 0.1", "not allowed with"),
        ("compress big.model -o s.model --image 2x2", "--report"),
        ("compress big.model -o s.model --report s.model", "two outputs"),
        ("export big.model -o t.html --image 3x3", "other features"),
        ("export big.model -o t.html --span 2 1", "the smaller first"),
        ("export big.model -o t.js --image 2x2", ".html"),
        ("export big.model -o t.svmpress --span 0 1", ".html"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(files, capsys, command, message):
    assert main(command.split()) == 2
    error = capsys.readouterr().err
    assert message in error
    assert not {"r.html", "t.html", "s.model"} & {p.name for p in files.iterdir()}
