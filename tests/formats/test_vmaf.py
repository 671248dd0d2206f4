"""VMAF's JSON: the real model against LibSVM on the model inside it, with libvmaf's formulas around that."""

from __future__ import annotations

import json

import numpy as np
import pytest
from libsvm import svmutil

import svmpress
from real_models import real_model
from svmpress.decoders import Identity
from svmpress.errors import FormatError
from svmpress.formats import load, obstacles, save
from svmpress.kernels import RBF
from svmpress.model import KernelExpansion, KernelModel, Scaling

TEXT = """svm_type nu_svr
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 3
rho -0.25
SV
-4 1:0.5 2:0.25
1.7 1:0.125 2:1
2.3 2:0.75
"""
NAMES = ["VMAF_feature_adm2_score", "VMAF_feature_motion2_score", "VMAF_feature_vif_scale0_score"]


def content() -> dict:
    """Return a small file with everything that a real one has; the last feature is 0 in every vector."""
    return {
        "param_dict": {"C": 4.0, "nu": 0.9, "gamma": 0.5, "score_clip": [0.0, 100.0]},
        "model_dict": {
            "model": TEXT,
            "model_type": "LIBSVMNUSVR",
            "norm_type": "linear_rescale",
            "score_clip": [0.0, 100.0],
            "score_transform": {"p0": 1.7, "p1": 1.7, "p2": -0.007, "out_gte_in": "true"},
            "feature_names": NAMES,
            "feature_opts_dicts": [{}, {"motion_force_zero": True}, {}],
            "slopes": [0.012, 2.8, 0.06, 1.2],
            "intercepts": [-0.3, -1.8, -0.003, -0.17],
        },
    }


def oracle(tmp_path, entries: dict, X):
    """Return libvmaf's scores without transform and clip, by LibSVM's own code."""
    path = tmp_path / "inner.model"
    path.write_text(entries["model"])
    inner = svmutil.svm_load_model(str(path))
    slope, intercept = (np.array(entries[key]) for key in ("slopes", "intercepts"))
    _, _, values = svmutil.svm_predict([], (X * slope[1:] + intercept[1:]).tolist(), inner, "-q")
    return (np.array(values)[:, 0] - intercept[0]) / slope[0]


def features(n: int, d: int):
    X = np.random.default_rng(0).uniform(0.2, 1, (n, d))
    X[:, 1] *= 20  # motion
    return X


def written(tmp_path, entries: dict, name: str = "a.json"):
    (tmp_path / name).write_text(json.dumps(entries))
    return tmp_path / name


def test_answers_are_vmaf_scores(tmp_path):
    X = features(50, 3)
    model = load(written(tmp_path, content()))
    np.testing.assert_allclose(model.predict(X), oracle(tmp_path, content()["model_dict"], X), rtol=1e-11)
    assert "before the clip to score_clip and the score_transform" in model.provenance["note"]
    assert model.feature_names == tuple(NAMES)


def test_the_real_model(tmp_path):
    path = real_model("vmaf_v0.6.1.json")
    X = features(200, 6)
    model, there = load(path), json.loads(path.read_text())
    scores = oracle(tmp_path, there["model_dict"], X)
    np.testing.assert_allclose(model.predict(X), scores, rtol=0, atol=1e-9)
    save(model, tmp_path / "again.json")
    back = json.loads((tmp_path / "again.json").read_text())
    assert back["model_dict"].pop("model").split() == there["model_dict"].pop("model").split()
    assert back == there


def test_there_and_back_keeps_every_bit_and_every_entry(tmp_path):
    rng = np.random.default_rng(1)
    entries = content()
    lines = [f"{rng.normal()!r} 1:{rng.normal()!r} 2:{rng.normal()!r}" for _ in range(200)]
    head = TEXT.split("SV\n", maxsplit=1)[0].replace("total_sv 3", "total_sv 200").replace("-0.25", repr(rng.normal()))
    entries["model_dict"]["model"] = head + "SV\n" + "".join(f"{line} \n" for line in lines)
    model = load(written(tmp_path, entries))
    save(model, tmp_path / "b.json")
    again = load(tmp_path / "b.json")
    for a, b in ((model.expansion.coef, again.expansion.coef), (model.expansion.intercept, again.expansion.intercept)):
        np.testing.assert_array_equal(a, b)
    save(again, tmp_path / "c.json")
    assert (tmp_path / "c.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    here, there = json.loads((tmp_path / "b.json").read_text()), entries
    here["model_dict"].pop("model"), there["model_dict"].pop("model")
    assert here == there


def test_a_compressed_model_is_a_whole_file_again(tmp_path):
    X = features(100, 3)
    small = svmpress.compress(written(tmp_path, content()), X, vectors=2).model
    save(small, tmp_path / "small.json")
    back = json.loads((tmp_path / "small.json").read_text())["model_dict"]
    assert back["feature_names"] == NAMES
    np.testing.assert_allclose(small.predict(X), oracle(tmp_path, back, X), rtol=1e-9)
    first = (tmp_path / "small.json").read_bytes()
    save(load(tmp_path / "small.json"), tmp_path / "small.json")
    assert (tmp_path / "small.json").read_bytes() == first


def test_a_native_file_on_the_way_loses_nothing(tmp_path):
    model = load(written(tmp_path, content()))
    save(model, tmp_path / "a.svmpress")
    save(load(tmp_path / "a.svmpress"), tmp_path / "b.json")
    save(model, tmp_path / "c.json")
    assert (tmp_path / "b.json").read_bytes() == (tmp_path / "c.json").read_bytes()


def test_without_rescaling(tmp_path):
    entries = content()
    entries["model_dict"]["norm_type"] = "none"
    entries["model_dict"] |= {"slopes": [1.0] * 4, "intercepts": [0.0] * 4}
    X = features(20, 3)
    np.testing.assert_allclose(
        load(written(tmp_path, entries)).predict(X), oracle(tmp_path, entries["model_dict"], X), rtol=1e-12
    )


def test_what_cannot_be_written(tmp_path):
    f = KernelExpansion(RBF(0.5), np.zeros((1, 3)), np.ones((1, 1)), np.zeros(1))
    assert obstacles(KernelModel(f, Identity(), "regression"), "vmaf") == [
        "only a model that came from a VMAF file knows VMAF's features, and can become one"
    ]
    model = load(written(tmp_path, content()))
    told = dict(model.provenance)
    other = Scaling(None, np.ones(3))
    (words,) = obstacles(KernelModel(f, Identity(), "regression", other, provenance=told), "vmaf")
    assert words == "the model's scaling is no longer that of the VMAF file it came from"
    for damage in ("", "{}", "[1]", '{"model_dict": {"feature_names": [1]}}', "[" * 100_000):
        (words,) = obstacles(KernelModel(f, Identity(), "regression", other, provenance={"vmaf": damage}), "vmaf")
        assert words.startswith("the VMAF entries that came with the model are damaged: ")


def entry(**changes):
    return lambda entries: entries["model_dict"].update(changes)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda entries: entries.pop("model_dict"), "there is no 'model_dict'"),
        (lambda entries: entries["model_dict"].pop("model"), "there is no 'model'"),
        (lambda entries: entries["model_dict"].pop("slopes"), "there is no 'slopes'"),
        (entry(model={"0": {}}), "a collection of models must be split first"),
        (entry(model="svm_type nu_svr\n"), r"a\.json, its model, line 1"),
        (entry(model=TEXT.replace("nu_svr", "nu_svc")), "its model, line"),
        (entry(model=TEXT.replace("2:1", "7:1")), "a regression of at most 3 features"),
        (entry(model_type="RANDOMFOREST"), "its model_type is 'RANDOMFOREST'"),
        (entry(norm_type="clip_0to1"), "its norm_type is 'clip_0to1'"),
        (entry(slopes=[1, 2]), "3 features need 4 slopes and intercepts"),
        (entry(slopes=[[1], 2, 3, 4]), "is not a model of VMAF"),
        (entry(slopes=[1, 0, 1, 1]), "no slope 0"),
        (entry(slopes=[1, 1, 1, float("nan")]), "must be finite"),
        (entry(slopes=[1, 1, 1, 1e-320], intercepts=[0, 0, 0, 1e300]), "finite number per feature"),
        (entry(intercepts=[1, 1, 1, 10**400]), "is not a model of VMAF"),
        (entry(feature_names="abc"), "must be a list of names"),
        (entry(feature_names=[]), "must be a list of names"),
    ],
)
def test_wrong_files(tmp_path, change, words):
    entries = content()
    change(entries)
    with pytest.raises(FormatError, match=words) as caught:
        load(written(tmp_path, entries))
    assert str(caught.value).count("a.json") == 1


@pytest.mark.parametrize("text", ["", "{", "[]", "nul", "\x00\x01", "[" * 100_000, '{"model_dict": 1}'])
def test_files_that_are_something_else(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(FormatError, match=r"a\.json"):
        load(tmp_path / "a.json")
