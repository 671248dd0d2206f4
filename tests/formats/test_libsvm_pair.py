"""A LibSVM model and its range file are one model: what belongs together is used together, and nothing else is."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from saves import model
from svmpress.errors import FormatError
from svmpress.formats import load, save
from svmpress.formats.pair import _Range, digest
from svmpress.formats.ranges import beside
from svmpress.model import Scaling

ROWS = np.array([[0.3, -0.2], [1.5, 2.0]])


def values(name: str, *, scaled: bool = True):
    return model(name, scaled=scaled).decision_values(ROWS)


def saved(path: Path, name: str, *, scaled: bool = True) -> Path:
    save(model(name, scaled=scaled), path)
    return path


def test_each_file_says_which_the_other_is(tmp_path):
    path = saved(tmp_path / "m.model", "old")
    content, scales = path.read_bytes(), _Range.of(beside(path).read_bytes())
    assert scales.owner == digest(content.splitlines(keepends=True))
    assert content.splitlines()[-1] == b"# svmpress: scaled by " + digest(scales.lines).encode()
    assert b"#" not in saved(tmp_path / "plain.model", "old", scaled=False).read_bytes()


@pytest.mark.parametrize("change", ["other range", "no range", "other model", "edited model", "edited range"])
def test_what_does_not_belong_together_is_refused(tmp_path, change):
    path, other = saved(tmp_path / "a.model", "old"), saved(tmp_path / "b.model", "new")
    if change == "other range":
        shutil.copy(beside(other), beside(path))
    elif change == "no range":
        beside(path).unlink()
    elif change == "other model":
        shutil.copy(other, path)
    elif change == "edited model":
        path.write_text(path.read_text().replace("gamma 0.5", "gamma 0.25"))
    else:
        beside(path).write_text(beside(path).read_text().replace("0 1\n", "0 2\n", 1))
    with pytest.raises(FormatError, match=r"a\.model.*write the model again, or, if you know"):
        load(path)


def test_a_model_without_its_trailer_is_one_of_libsvm(tmp_path):
    """Who removes the lines says that the files belong together: a range file of svm-scale is simply applied."""
    path = saved(tmp_path / "m.model", "old")
    for file in (path, beside(path)):
        file.write_text("".join(line for line in file.read_text().splitlines(keepends=True) if line[0] != "#"))
    np.testing.assert_array_equal(load(path).decision_values(ROWS), values("old"))


def test_copies_renamed_and_with_other_line_ends_still_belong_together(tmp_path):
    path = saved(tmp_path / "m.model", "old")
    for file, name in ((path, "copy.model"), (beside(path), "copy.model.range")):
        (tmp_path / name).write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    np.testing.assert_array_equal(load(tmp_path / "copy.model").decision_values(ROWS), values("old"))


@pytest.mark.parametrize("old_scaled", [True, False])
@pytest.mark.parametrize("moment", ["range replaced", "both replaced"])
def test_every_moment_of_a_save_is_one_model_or_the_other(tmp_path, old_scaled, moment):
    path, new = saved(tmp_path / "m.model", "old", scaled=old_scaled), saved(tmp_path / "n.model", "new")
    kept = tmp_path / "m.model.range~"
    lines = beside(path).read_bytes().splitlines(keepends=True)[:-1] if old_scaled else []
    owner = digest(path.read_bytes().splitlines(keepends=True))
    kept.write_bytes(b"".join(lines) + f"# svmpress: scales {owner}\n".encode())
    shutil.copy(beside(new), beside(path))
    if moment == "both replaced":
        shutil.copy(new, path)
    expected = values("new") if moment == "both replaced" else values("old", scaled=old_scaled)
    np.testing.assert_array_equal(load(path).decision_values(ROWS), expected)
    saved(path, "new")
    np.testing.assert_array_equal(load(path).decision_values(ROWS), values("new"))
    assert not kept.exists()


def test_libsvms_programs_read_both_files(tmp_path):
    programs = [shutil.which(name) for name in ("svm-predict", "svm-scale")]
    if None in programs:
        pytest.skip("needs LibSVM's programs")
    path = saved(tmp_path / "m.model", "old")
    rows = tmp_path / "rows.svm"
    X = np.random.default_rng(0).normal(size=(200, 2))
    rows.write_text("".join(f"0 1:{a!r} 2:{b!r}\n" for a, b in X.tolist()))
    scaled = subprocess.run([programs[1], "-r", beside(path), rows], capture_output=True, text=True, check=True)
    (tmp_path / "scaled.svm").write_text(scaled.stdout)
    command = [programs[0], tmp_path / "scaled.svm", path, tmp_path / "labels.txt"]
    subprocess.run(command, capture_output=True, check=True)
    said = np.loadtxt(tmp_path / "labels.txt")
    assert set(said) == {-1.0, 1.0}
    np.testing.assert_array_equal(load(path).predict(X), said)


def test_a_range_file_of_many_features_is_quick(tmp_path):
    """A hundred thousand features took three seconds each way: rational numbers were reduced for each."""
    rng = np.random.default_rng(0)
    d = 100_000
    wide = model("old", scaled=False).widened(d)
    from dataclasses import replace

    scaled = replace(wide, scaling=Scaling(rng.normal(size=d), rng.lognormal(size=d)))
    start = time.process_time()
    save(scaled, tmp_path / "m.model")
    again = load(tmp_path / "m.model")
    assert time.process_time() - start < 3.5  # of the processor, of which a busy machine takes no more
    np.testing.assert_array_equal(again.scaling.factor, scaled.scaling.factor)
    np.testing.assert_array_equal(again.scaling.shift, scaled.scaling.shift)
