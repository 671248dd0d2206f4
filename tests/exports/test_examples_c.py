"""The Arduino sketch and the Zephyr application compile with what an export writes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import svmpress
from c_models import MODELS, classifier, digit_rows, digits, iris, regressor
from svmpress.exports import DEVICES

HERE = Path(__file__).parent
ZEPHYR = Path(__file__).parents[2] / "examples" / "devices" / "zephyr"
avr = pytest.mark.skipif(shutil.which("avr-g++") is None, reason="avr-g++ is not installed")
arm = pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="arm-none-eabi-gcc is not installed")
cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")


def run(*command, cwd=None):
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@avr
@pytest.mark.parametrize(
    "export",
    [
        lambda to: svmpress.export_c(digits(), to, digit_rows()[0], weights="int4"),
        lambda to: svmpress.export_c(classifier(), to, iris()[0], weights="float"),
        lambda to: svmpress.export_c(regressor(), to, MODELS["regressor"]()[1]),
    ],
    ids=["bytes", "floats", "a regressor"],
)
def test_the_sketch_compiles_as_the_arduino_builder_compiles_it(export, tmp_path):
    """All sources of the folder are compiled, with ``ARDUINO`` defined and ``Arduino.h`` in front of the sketch."""
    folder = export(tmp_path / "digits").folder
    flags = ["-mmcu=atmega328p", "-Os", "-DARDUINO=10819", "-DF_CPU=16000000L", "-Wall", "-Wextra", "-Werror", "-I."]
    sketch = [f"-I{HERE / 'arduino'}", "-x", "c++", "-include", "Arduino.h", "-c", "digits.ino", "-o", "sketch.o"]
    run("avr-g++", *flags, *sketch, cwd=folder)
    for name in ("svm", "selftest"):
        run("avr-gcc", "-std=gnu11", *flags, "-c", f"{name}.c", "-o", f"{name}.o", cwd=folder)
    defined = run("avr-nm", "sketch.o", "svm.o", "selftest.o", cwd=folder)
    assert " T setup" in defined
    assert " T main" not in defined  # which is the core's


@cmake
def test_the_zephyr_application_is_built_by_plain_cmake(tmp_path):
    svmpress.export_c(digits(), tmp_path / "firmware", digit_rows()[0], weights="int4")
    run("cmake", "-S", ZEPHYR, "-B", tmp_path / "build", f"-DMODEL={tmp_path / 'firmware'}")
    run("cmake", "--build", tmp_path / "build")
    assert run(tmp_path / "build" / "app").startswith("class ")


@arm
@cmake
@pytest.mark.parametrize("device", ["microbit", "m4"])
def test_the_zephyr_application_is_built_for_cortex_m(device, tmp_path):
    svmpress.export_c(digits(), tmp_path / "firmware", digit_rows()[0], weights="int4")
    flags = " ".join([*DEVICES[device].flags, "--specs=nosys.specs", "-Wl,--no-warn-rwx-segments"])
    run(
        "cmake", "-S", ZEPHYR, "-B", tmp_path / "build", f"-DMODEL={tmp_path / 'firmware'}",
        "-DCMAKE_SYSTEM_NAME=Generic", "-DCMAKE_SYSTEM_PROCESSOR=arm", "-DCMAKE_C_COMPILER=arm-none-eabi-gcc",
        "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY", f"-DCMAKE_C_FLAGS={flags}",
    )  # fmt: skip
    run("cmake", "--build", tmp_path / "build")
    elf = (tmp_path / "build" / "app").read_bytes()
    assert (elf[:5], elf[18]) == (b"\x7fELF\x01", 40)  # of 32 bits, for ARM
