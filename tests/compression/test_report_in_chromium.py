"""The pages in a real browser: the slider, the canvas, the answers, what a checker of accessibility finds.

playwright-core and axe-core come from npm and are looked for in ``.cache/npm``, where ``.ci/run`` puts them.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from browsers import CHROMIUM, NODE
from svmpress.compression import compress_path
from svmpress.exports import export_page
from svmpress.formats import as_model

ROOT = Path(__file__).parents[2]
MODULES = ROOT / ".cache" / "npm" / "node_modules"
HERE = (
    NODE is not None and CHROMIUM is not None and all((MODULES / m).is_dir() for m in ("playwright-core", "axe-core"))
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not HERE, reason="needs Chromium, node, and npm install --prefix .cache/npm playwright-core axe-core"
    ),
]


def use(page: Path, kind: str, rows: Path | str = "") -> dict:
    """Use a page as a person does, and return what was found; nothing may go wrong on the way."""
    command = [NODE, ROOT / "tests" / "pages.cjs", MODULES, page, kind, rows, CHROMIUM]
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=240, check=False)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["problems"] == []
    assert found["elsewhere"] == []
    assert found["widths"] == [0, 0, 0]
    assert found["serious"] == []
    return found


@pytest.fixture(scope="module")
def digits():
    X, T, y, t = train_test_split(*load_digits(return_X_y=True), random_state=0)
    svc = SVC(C=10, gamma=0.001).fit(X, y)
    return compress_path(svc, X, y, sizes=[10, 20, 30], X_test=T, y_test=t, effort="fast"), T, t


def test_the_slider_shows_one_size_at_a_time(digits, tmp_path):
    path, T, t = digits
    path.report(tmp_path / "report.html", T, t, image="8x8")
    seen = use(tmp_path / "report.html", "report")["seen"]
    assert [name for name, _, _ in seen] == ["30 vectors", "20 vectors", "10 vectors", "30 vectors"]
    for (_, visible, text), measured in zip(seen, [*reversed(path.measured), path.measured[-1]], strict=True):
        assert visible == 1
        assert f"{100 * measured.accuracy.value:.1f} % (" in text
        assert f"{measured.multiply_adds:,}" in text


def test_a_digit_is_drawn_and_the_labels_are_those_of_the_library(digits, tmp_path):
    path, T, _ = digits
    models = {"compressed": path[2].model, "full SVM": path.source}
    export_page(models, tmp_path / "digits.html", image=(8, 8), title="Draw a digit")
    (tmp_path / "rows.json").write_text(json.dumps(T.tolist()))
    found = use(tmp_path / "digits.html", "try", tmp_path / "rows.json")
    for labels, model in zip(found["labels"], models.values(), strict=True):
        np.testing.assert_array_equal(np.array(labels, dtype=int), model.predict(T))
    assert found["drawn"][0] == "0"  # by the compressed model; the full one, and the compressed one again, follow
    assert found["drawn"][:3] == ["0", "0", "0"]
    assert found["drawn"][3] == "1"
    assert "30 vectors" in found["facts"]


def test_sliders_move_the_answer(tmp_path):
    names = np.array(["</script><b>low</b>", "high"])
    X = np.linspace(-1, 1, 40)[:, None] * [1.0, 0.01]
    model = as_model(SVC(gamma=1.0).fit(X, names[(X[:, 0] > 0).astype(int)]))
    export_page(model, tmp_path / "try.html", title="<i>Low & high</i>")
    (tmp_path / "rows.json").write_text(json.dumps(X.tolist()))
    found = use(tmp_path / "try.html", "try", tmp_path / "rows.json")
    assert found["drawn"] == ["</script><b>low</b>", "high"]
    assert found["labels"][0] == model.predict(X).tolist()
