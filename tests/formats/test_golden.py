"""Files that earlier versions wrote are read for ever, with every number in them: docs/promises.md.

``golden/protocol-N`` has what the version wrote that brought protocol N of the native format. These of protocol 1 are,
byte for byte, what the first version of all wrote, too (but for ``names``, of which it knew nothing).
"""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

from svmpress.formats import load, native, save

GOLDEN = Path(__file__).parent / "golden"
WRITER = runpy.run_path(str(GOLDEN / "write.py"))
FOLDERS = sorted(GOLDEN.glob("protocol-*"))
FILES = [path for folder in FOLDERS for path in sorted(folder.glob("*.svmpress"))]
COMPUTED = ("decision_values", "answers")


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_old_files_are_read_with_every_number(path, assert_close):
    kept = json.loads((path.parent / "models.json").read_text(encoding="utf-8"))[path.stem]
    model = load(path)
    found = WRITER["record"](model)
    assert {k: v for k, v in found.items() if k not in COMPUTED} == {k: v for k, v in kept.items() if k not in COMPUTED}
    assert_close(np.array(found["decision_values"]), kept["decision_values"], dtype=model.expansion.coef.dtype)
    if model.task == "regression":
        assert_close(np.array(found["answers"]), kept["answers"])
    else:
        assert found["answers"] == kept["answers"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_old_files_are_the_same_after_they_are_written_again(path, tmp_path):
    """A file of the present protocol byte for byte; one of an older protocol says the same."""
    save(load(path), tmp_path / "again.svmpress")
    if path.parent.name == f"protocol-{native.PROTOCOL}":
        assert (tmp_path / "again.svmpress").read_bytes() == path.read_bytes()
    assert WRITER["record"](load(tmp_path / "again.svmpress")) == WRITER["record"](load(path))


def test_every_protocol_has_its_files():
    """A protocol that is new needs files: ``python tests/formats/golden/write.py`` writes them, once."""
    assert [folder.name for folder in FOLDERS] == [f"protocol-{n}" for n in range(1, native.PROTOCOL + 1)]
    for folder in FOLDERS:
        names = set(json.loads((folder / "models.json").read_text(encoding="utf-8")))
        assert names == {path.stem for path in folder.glob("*.svmpress")}
    assert len(FILES) >= 9


def test_golden_files_are_not_written_over():
    with pytest.raises(FileExistsError):
        WRITER["write"](FOLDERS[0])
