"""Exported C code on simulated devices: the same bits as the emulator, within the memory that is said."""

from __future__ import annotations

import numpy as np
import pytest

import svmpress
from c_models import MODELS, classifier, digit_rows, digits, iris
from svmpress.errors import InputError
from svmpress.exports import DEVICES, measure, missing
from svmpress.exports.c.pages import avr_cycles

devices = pytest.mark.parametrize(
    "device",
    [
        pytest.param(d, marks=pytest.mark.skipif(bool(missing(d)), reason=f"{', '.join(missing(d))} not installed"))
        for d in DEVICES
    ],
)
uno = pytest.mark.skipif(bool(missing("uno")), reason=f"{', '.join(missing('uno'))} not installed")


@devices
@pytest.mark.parametrize("weights", ["int4", "int8", "float"])
def test_every_device_answers_as_the_emulator(device, weights, tmp_path):
    svmpress.export_c(classifier(), tmp_path / "c", iris()[0][::9], weights=weights)
    found = measure(tmp_path / "c", device)
    assert (found.wrong, found.rows) == (0, 8)
    assert found.cycles > 0
    assert found.flash > 1000


@uno
@pytest.mark.parametrize("name", list(MODELS))
def test_every_model_on_processors_whose_int_has_16_bits(name, tmp_path):
    model, X = MODELS[name]()
    for weights in ("int8", "int16"):
        svmpress.export_c(model, tmp_path / "c", X[::9], weights=weights, coef="int8")
        assert measure(tmp_path / "c", "uno").wrong == 0


@uno
@pytest.mark.parametrize("weights", ["int4", "int8"])
@pytest.mark.parametrize("pool", [1, 2])
def test_images_on_the_uno(weights, pool, tmp_path):
    X, _ = digit_rows()
    svmpress.export_c(digits(), tmp_path / "c", X, weights=weights, image=(8, 8), pool=pool, input="uint8")
    found = measure(tmp_path / "c", "uno")
    assert found.wrong == 0
    assert found.ram < 64 + 64 // pool**2 + 45 * 4 + 150


@uno
def test_whole_numbers_are_eight_times_faster_than_floats(tmp_path):
    X, _ = digit_rows()
    cycles = {}
    for weights in ("float", "int8"):
        svmpress.export_c(digits(), tmp_path / "c", X, weights=weights, coef="int8", input="uint8")
        cycles[weights] = measure(tmp_path / "c", "uno").cycles
    assert cycles["float"] > 8 * cycles["int8"]


@uno
@pytest.mark.parametrize("weights", ["int4", "int8", "int16"])
@pytest.mark.parametrize("coef", ["int8", "int16"])
def test_the_readme_says_about_how_long_it_takes(weights, coef, tmp_path):
    for model, X in ((digits(30), digit_rows()[0]), (classifier(), iris()[0])):
        done = svmpress.export_c(model, tmp_path / "c", X, weights=weights, coef=coef)
        said = avr_cycles(done.model)
        assert f"about {said:,} cycles" in (tmp_path / "c" / "README.md").read_text()
        assert said == pytest.approx(measure(tmp_path / "c", "uno").cycles, rel=0.35)


@uno
def test_a_prefix_on_a_device(tmp_path):
    svmpress.export_c(classifier(), tmp_path / "c", iris()[0], prefix="iris")
    assert measure(tmp_path / "c", "uno", prefix="iris").wrong == 0


@uno
def test_an_answer_that_is_wrong_is_counted(tmp_path):
    svmpress.export_c(classifier(), tmp_path / "c", iris()[0])
    path = tmp_path / "c" / "selftest.c"
    text = path.read_text()
    path.write_text(text.replace("bad |= values[p]", "bad |= 1 + values[p]"))
    assert measure(tmp_path / "c", "uno").wrong == 8


@uno
def test_what_does_not_fit_is_said(tmp_path):
    X = np.random.default_rng(0).uniform(size=(600, 30))
    from sklearn.svm import SVC

    big = SVC(gamma=3.0).fit(X, np.arange(600) % 3)
    svmpress.export_c(big, tmp_path / "c", weights="float")
    with pytest.raises(InputError, match="does not fit the flash or the RAM of Arduino Uno"):
        measure(tmp_path / "c", "uno")


def test_unknown_devices():
    with pytest.raises(InputError, match="unknown device 'pdp11'; choose one of uno, microbit"):
        missing("pdp11")
