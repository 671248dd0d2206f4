"""The study's data sets: the layouts of NPZ files, their preparation, teachers and their cache, and the network."""

from __future__ import annotations

import json
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from study_fakes import two_moons
from svmpress.errors import FormatError, InputError
from svmpress.study import openml, sets
from svmpress.study.task import Task


def counts(rng, n=60, d=30):
    return sparse.csr_matrix(rng.poisson(0.2, (n, d)))


def save_csr(path, rng, labels=3):
    parts = {}
    for part in ("train", "test"):
        X = counts(rng)
        parts |= {f"X_{part}_{k}": getattr(X, k) for k in ("data", "indices", "indptr", "shape")}
        parts[f"y_{part}"] = np.arange(60) % labels
    np.savez_compressed(path, **parts)
    return sparse.csr_matrix((parts["X_train_data"], parts["X_train_indices"], parts["X_train_indptr"]), shape=(60, 30))


def test_dense_rows_are_standardised_on_the_training_rows(tmp_path):
    split = sets.load(two_moons(tmp_path), "moons")
    with np.load(tmp_path / "moons.npz") as z:
        scaler = StandardScaler().fit(z["X_train"])
        np.testing.assert_allclose(split.X_test, scaler.transform(z["X_test"]))
        np.testing.assert_array_equal(split.y, z["y_train"])


def test_counts_become_tf_idf(tmp_path, rng):
    raw = save_csr(tmp_path / "ohsumed.npz", rng)
    split = sets.load(tmp_path, "ohsumed")
    expected = TfidfTransformer(sublinear_tf=True).fit_transform(raw)
    np.testing.assert_allclose(split.X.toarray(), expected.toarray())


def test_newsgroups_are_reduced_and_normalised(tmp_path, rng):
    save_csr(tmp_path / "20news.npz", rng)
    split = sets.load(tmp_path, "20news")
    assert split.X.shape == (60, 29)  # 200 dimensions where there are more
    lengths = np.linalg.norm(split.X, axis=1)
    np.testing.assert_allclose(lengths[lengths > 0], 1)


def test_mnist_is_divided_by_255(tmp_path):
    X = np.array([[0, 255], [51, 102]], dtype=np.uint8)
    np.savez(tmp_path / "mnist.npz", X_train=X, y_train=[0, 1], X_test=X, y_test=[0, 1])
    np.testing.assert_allclose(sets.load(tmp_path, "mnist").X, [[0, 1], [0.2, 0.4]])


def test_some_rows_are_the_same_each_time(tmp_path):
    two_moons(tmp_path)
    a, b = (sets.read(tmp_path, "moons").some(40) for _ in range(2))
    assert (a.X.shape, a.X_test.shape) == ((40, 2), (20, 2))
    np.testing.assert_array_equal(a.X, b.X)
    whole = sets.read(tmp_path, "moons")
    assert {tuple(x) for x in a.X} <= {tuple(x) for x in whole.X}
    assert whole.some(None) is whole
    assert whole.some(10**6).X.shape == whole.X.shape


def test_the_teacher_is_an_svc_with_the_known_parameters(tmp_path):
    two_moons(tmp_path, "magic")
    split = sets.load(tmp_path, "magic")
    found = sets.teacher(tmp_path / "cache", "magic", split)
    svc = SVC(C=30, gamma=0.1).fit(split.X, split.y)
    assert (found.C, found.gamma) == (30, 0.1)
    assert found.model.n_vectors == len(svc.support_)
    assert found.score == svc.score(split.X_test, split.y_test)


def test_the_parameters_of_another_set_are_chosen_and_kept(tmp_path):
    two_moons(tmp_path)
    first = sets.task(tmp_path, tmp_path / "cache", "moons")
    assert isinstance(first, Task)
    facts = json.loads((tmp_path / "cache" / "moons.json").read_text())
    assert (first.C, first.gamma) == (facts["C"], facts["gamma"])
    assert first.teacher.expansion.kernel.gamma == pytest.approx(first.gamma)
    again = sets.task(tmp_path, tmp_path / "cache", "moons")
    assert (again.C, again.gamma, again.train_seconds) == (first.C, first.gamma, first.train_seconds)


def test_a_cached_teacher_is_not_trained_again(tmp_path, monkeypatch):
    two_moons(tmp_path, "magic")
    split = sets.load(tmp_path, "magic")
    before = sets.teacher(tmp_path / "cache", "magic", split)
    facts = tmp_path / "cache" / "magic.json"
    facts.write_text(json.dumps({"score": 0.25, "train_seconds": 1.5}))  # a cache without C and gamma is taken, too
    monkeypatch.setattr(sets, "SVC", None)
    after = sets.teacher(tmp_path / "cache", "magic", split)
    assert (after.C, after.gamma, after.score, after.train_seconds) == (30, 0.1, 0.25, 1.5)
    np.testing.assert_array_equal(after.model.expansion.coef, before.model.expansion.coef)
    facts.write_text("[]")
    with pytest.raises(FormatError, match="facts of a teacher"):
        sets.teacher(tmp_path / "cache", "magic", split)


def test_the_teacher_of_other_data_is_refused(tmp_path, rng):
    two_moons(tmp_path, "magic")
    sets.teacher(tmp_path / "cache", "magic", sets.load(tmp_path, "magic"))
    X = rng.standard_normal((30, 5))
    y = np.arange(30) % 2
    with pytest.raises(InputError, match="has 2 features and the set magic has 5"):
        sets.teacher(tmp_path / "cache", "magic", sets.Split(X, y, X, y))


@pytest.mark.parametrize("part", ["X_train", "y_train", "X_test", "y_test"])
def test_the_teacher_of_other_rows_or_labels_is_refused(tmp_path, part):
    two_moons(tmp_path, "magic")
    sets.task(tmp_path, tmp_path / "cache", "magic")
    with np.load(tmp_path / "magic.npz") as z:
        parts = dict(z)
    changed = {**parts, part: parts[part][::-1]}
    np.savez(tmp_path / "magic.npz", **changed)
    with pytest.raises(InputError, match=r"magic.svmpress was trained on other rows or labels.*magic.json"):
        sets.task(tmp_path, tmp_path / "cache", "magic")
    facts = tmp_path / "cache" / "magic.json"
    facts.write_text(json.dumps({k: v for k, v in json.loads(facts.read_text()).items() if k != "digest"}))
    assert sets.task(tmp_path, tmp_path / "cache", "magic").name == "magic"  # an old cache has no digest


def test_a_digest_is_of_values_not_of_types(rng):
    X, y = counts(rng), np.arange(60) % 3
    first = sets.digest_of(sets.Split(X, y, X, y))
    other = X.astype(np.float32)
    other.indices, other.indptr = other.indices.astype(np.int64), other.indptr.astype(np.int64)
    assert sets.digest_of(sets.Split(other, y, other, y.astype(np.int8))) == first
    other.data[0] += 1
    assert sets.digest_of(sets.Split(other, y, X, y)) != first
    dense = X.toarray()
    assert sets.digest_of(sets.Split(dense, y, dense, y)) == sets.digest_of(sets.Split(dense.T.copy().T, y, dense, y))


def test_one_class_is_refused(tmp_path):
    X = np.arange(8.0)[:, None]
    np.savez(tmp_path / "one.npz", X_train=X, y_train=np.ones(8), X_test=X, y_test=np.arange(8) % 2)
    with pytest.raises(InputError, match="the set one has one class only in its training rows"):
        sets.load(tmp_path, "one")
    np.savez(tmp_path / "rare.npz", X_train=X, y_train=np.arange(8) == 0, X_test=X, y_test=np.arange(8) % 2)
    with pytest.raises(InputError, match="one class only in its 2 training rows that were drawn"):
        sets.load(tmp_path, "rare", rows=2)


def test_files_that_cannot_be_used(tmp_path):
    with pytest.raises(InputError, match=r"magic.npz is missing \(sets there: none\)"):
        sets.read(tmp_path, "magic")
    X, y = np.zeros((4, 2)), [0, 1, 0, 1]
    np.savez(tmp_path / "odd.npz", X_train=X, y_train=y, X_test=X[:, :1], y_test=y)
    with pytest.raises(FormatError, match="same features"):
        sets.read(tmp_path, "odd")
    np.savez(tmp_path / "half.npz", X_train=X, y_train=y)
    with pytest.raises(InputError, match="test"):
        sets.read(tmp_path, "half")


# ---------------------------------------------------------------------------------------------------------
# The network, played by functions
# ---------------------------------------------------------------------------------------------------------


def serve(monkeypatch, X, y):
    asked = []

    def fetch(name, **settings):
        asked.append((name, settings["version"]))
        return X, y

    monkeypatch.setattr(openml, "fetch_openml", fetch)
    return asked


def test_page_blocks_are_text_against_the_rest(monkeypatch):
    asked = serve(monkeypatch, np.arange(40.0).reshape(20, 2), np.array(list("12345" * 4)))
    X, y, X_test, y_test = openml.fetch("pageblocks")
    assert asked == [("page-blocks", 1)]
    assert (X.shape, X_test.shape) == ((16, 2), (4, 2))
    assert sorted([*y, *y_test]) == [-1] * 16 + [1] * 4


def test_official_splits_are_kept(monkeypatch):
    X = np.arange(70_000.0)[:, None]
    serve(monkeypatch, X, np.array(["7"] * 70_000))
    *train, X_test, y_test = openml.fetch("mnist")
    assert len(train[0]) == 60_000
    assert X_test[0, 0] == 60_000
    assert y_test.dtype == np.int64


def test_any_set_of_openml_by_name(monkeypatch):
    asked = serve(monkeypatch, sparse.csr_matrix(np.eye(10)), np.array(["a", "b"] * 5))
    X, y, _, y_test = openml.fetch("anneal")
    assert asked == [("anneal", 1)]
    assert sparse.issparse(X)
    assert set(y) == set(y_test) == {"a", "b"}
    serve(monkeypatch, np.array([["red"], ["blue"]], dtype=object), np.array(["a", "b"]))
    with pytest.raises(InputError, match="features that are no numbers"):
        openml.fetch("colours")
    serve(monkeypatch, np.array([[np.nan], [1.0]]), np.array(["a", "b"]))
    with pytest.raises(InputError, match="missing values"):
        openml.fetch("holes")


def test_newsgroups_come_from_scikit_learn(monkeypatch):
    def fetch(subset, normalize):
        assert not normalize
        return SimpleNamespace(data=sparse.csr_matrix(np.eye(4)), target=np.arange(4) + 10 * (subset == "test"))

    monkeypatch.setattr(openml, "fetch_20newsgroups_vectorized", fetch)
    X, y, _, y_test = openml.fetch("20news")
    assert X.shape == (4, 4)
    assert (y.tolist(), y_test.tolist()) == ([0, 1, 2, 3], [10, 11, 12, 13])


def test_without_a_network_there_is_one_sentence(monkeypatch):
    def fetch(*_, **__):
        raise URLError("no route")

    monkeypatch.setattr(openml, "fetch_openml", fetch)
    with pytest.raises(InputError, match=r"cannot fetch the set magic from the network \(no route\): give --data"):
        sets.load(None, "magic")
    with pytest.raises(InputError, match="ohsumed is on no server"):
        sets.load(None, "ohsumed")

    def unknown(*_, **__):
        raise ValueError("No active dataset nothing found.")

    monkeypatch.setattr(openml, "fetch_openml", unknown)
    with pytest.raises(InputError, match="OpenML has no set nothing"):
        sets.load(None, "nothing")
