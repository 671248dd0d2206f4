"""Reports: the numbers in the page are the library's, it holds no foreign code, and strange input is said."""

from __future__ import annotations

import html.parser
import re

import numpy as np
import pytest
from sklearn.svm import SVC, SVR, OneClassSVM

from svmpress.compression import Subject, compress, write_page
from svmpress.compression.report import evidence
from svmpress.decoders import Argmax
from svmpress.errors import InputError
from svmpress.formats import as_model
from svmpress.kernels import RBF
from svmpress.model import KernelExpansion, KernelModel

NASTY = np.array(["<script>alert(1)</script>", "b & 'c' \"d\"", "</svg><style>"])


class Page(html.parser.HTMLParser):
    """The tags, their attributes and the text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    def count(self, tag):
        return sum(t == tag for t, _ in self.tags)

    @property
    def text(self):
        return " ".join(self.words)


def read(path):
    page = Page(path.read_text())
    for _, attributes in page.tags:
        for name in ("src", "href"):
            assert attributes.get(name, "data:").startswith("data:")
    assert path.stat().st_size < 3_000_000
    assert page.count("script") == page.count("style") == 1
    return page


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    return rng.normal(size=(300, 2)) + 2.5 * np.array([[0, 0], [1, 0], [0, 1]])[y], NASTY[y]


@pytest.fixture(scope="module")
def result(blobs):
    X, y = blobs
    return compress(SVC().fit(X[:200], y[:200]), X[:200], y[:200], vectors=8, effort="fast")


def test_the_numbers_are_those_of_the_library(blobs, result, tmp_path):
    X, y = (a[200:] for a in blobs)
    result.report(tmp_path / "r.html", X, y, title="<i>Blobs</i>", command="svmpress report <x>")
    page = read(tmp_path / "r.html")
    assert "<i>Blobs</i>" in page.text
    assert "svmpress report <x>" in page.text
    answers = result.model.predict(X)
    assert f"{100 * np.mean(answers == y):.1f} % (" in page.text
    assert f"{np.sum(answers != result.source.predict(X))} of 100 rows get another answer" in page.text
    assert all(str(decision) in page.text for decision in result.decisions)
    counts = [int(t) for t in re.findall(r'class="cell"[^>]*>(\d+)<', (tmp_path / "r.html").read_text())]
    assert sum(counts) == 100


def test_without_rows_what_the_search_measured_is_shown(result, tmp_path):
    result.report(tmp_path / "r.html")
    page = read(tmp_path / "r.html")
    assert "No rows were given" in page.text
    assert "held-out rows of the search" in page.text


def test_a_model_alone(result, tmp_path):
    write_page(tmp_path / "r.html", None, [Subject(result.model)])
    assert "without its source" in read(tmp_path / "r.html").text


def test_regressors_and_outliers(tmp_path, rng):
    X = rng.normal(size=(200, 5))
    svr = SVR().fit(X, X[:, 0])
    compress(svr, X, X[:, 0], vectors=10, effort="fast").report(tmp_path / "r.html", X, X[:, 0])
    assert "Predicted less true value" in read(tmp_path / "r.html").text
    compress(OneClassSVM(nu=0.2).fit(X), X, vectors=10, effort="fast").report(tmp_path / "o.html", X)
    assert "get another answer" in read(tmp_path / "o.html").text


def test_many_classes_are_listed_and_many_features_projected(tmp_path, rng):
    K, d = 300, 2_000
    f = KernelExpansion(RBF(1e-4), rng.normal(size=(20, d)), rng.normal(size=(20, K)), np.zeros(K))
    model = KernelModel(f, Argmax(np.arange(K)))
    X = rng.normal(size=(40, d))
    write_page(tmp_path / "r.html", model, [Subject(model)], X, model.predict(X)[::-1])
    page = read(tmp_path / "r.html")
    assert "too many for a matrix" in page.text
    assert "the first 12 of 2,000 features" in page.text


def test_of_many_rows_some_are_drawn_and_that_is_said(blobs, result, tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "MOST_ROWS", 50)
    result.report(tmp_path / "r.html", *blobs)
    assert "Measured on 50 rows, drawn at random from 300" in read(tmp_path / "r.html").text


def test_images(tmp_path, rng):
    X = rng.uniform(size=(60, 12))
    y = (X[:, 0] > 0.5).astype(int)
    result = compress(SVC(gamma=1.0).fit(X, y), X, y, vectors=5, effort="fast")
    result.report(tmp_path / "r.html", image="3x4")
    assert read(tmp_path / "r.html").count("image") == 5
    for wrong in ("3x5", "3", "axb", (0, 12)):
        with pytest.raises(InputError, match="an image"):
            result.report(tmp_path / "n.html", image=wrong)
    assert not (tmp_path / "n.html").exists()


def test_models_that_do_not_belong_together(result, tmp_path):
    other = as_model(SVR().fit([[0.0], [1.0]], [0.0, 1.0]))
    with pytest.raises(InputError, match="same features"):
        write_page(tmp_path / "r.html", result.source, [Subject(other)])
    with pytest.raises(InputError, match="the source"):
        write_page(tmp_path / "r.html", None, [Subject(other)], [[0.0]])


def test_notebooks_show_a_small_table(result):
    assert "<table>" in result._repr_html_()
    assert "8" in result.model._repr_html_()
