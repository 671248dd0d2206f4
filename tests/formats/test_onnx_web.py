"""ONNX files in onnxruntime-web, which is what browsers run: the labels are the library's there, too.

Node runs its WebAssembly; a headless Chromium runs it on WebGPU, with an adapter in software. The package comes from
npm and is looked for in ``.cache/npm``, where ``.ci/run`` puts it.
"""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from browsers import CHROMIUM, NODE, needs_chromium
from svmpress.formats import from_estimator, save
from svmpress.kernels import KERNELS, RBF, kernel_by_name
from svmpress.model import KernelModel
from test_onnx import (
    DECODERS,
    DTYPES,
    FIVE,
    TASKS,
    PairVote,
    agree,
    calibrated,
    many_rows,
    random_model,
    real_models,
    rows_for,
)

ROOT = Path(__file__).parents[2]
MODULES = ROOT / ".cache" / "npm" / "node_modules"
HERE = NODE is not None and (MODULES / "onnxruntime-web").is_dir()

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not HERE, reason="needs node, and npm install --prefix .cache/npm onnxruntime-web"),
]


def compare(folder: Path, cases, dtype: str) -> None:
    """Let node answer the rows of each model, and compare all outputs with the library's."""
    jobs = []
    for i, (model, rows) in enumerate(cases):
        names = {key: str(folder / f"{i}.{suffix}") for key, suffix in (("model", "onnx"), ("rows", "bin"))}
        save(model, names["model"], dtype=dtype)
        Path(names["rows"]).write_bytes(np.ascontiguousarray(rows, dtype=dtype).tobytes())
        n, d = rows.shape
        jobs.append({**names, "dtype": dtype, "n": n, "d": d, "answers": str(folder / f"{i}.json")})
    (folder / "jobs.json").write_text(json.dumps(jobs))
    command = [str(NODE), str(ROOT / "benchmarks" / "onnx_web.cjs"), str(MODULES), str(folder / "jobs.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for (model, rows), job in zip(cases, jobs, strict=True):
        agree(model, shaped(json.loads(Path(job["answers"]).read_text())["outputs"], model, rows), rows, dtype)


def shaped(outputs: dict[str, list[Any]], model: KernelModel, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Return the outputs of JavaScript, which are flat, as arrays."""
    found = {name: np.array(values) for name, values in outputs.items()}
    for name in {"scores", "decision_values", "probabilities"} & set(found):
        found[name] = found[name].reshape(len(rows), -1)
    if model.decision_function(rows[:1]).ndim == 1:
        found["scores"] = found["scores"][:, 0]
    return found


def every_kind() -> list[KernelModel]:
    kernels = [kernel_by_name(name, gamma=0.3, coef0=0.5, degree=3) for name in KERNELS]
    many = [random_model(kernel, PairVote(FIVE), scaled=True) for kernel in kernels]
    many += [random_model(RBF(0.3), d, TASKS.get(name, "classification")) for name, d in DECODERS.items()]
    return [*many, calibrated(2), calibrated(5), calibrated(5, "sigmoid"), calibrated(5, "temperature")]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_kernel_and_decoder(tmp_path, dtype):
    compare(tmp_path, [(model, rows_for(model, 1000)) for model in every_kind()], dtype)


def test_no_label_differs_on_ten_thousand_rows(tmp_path):
    compare(tmp_path, [(from_estimator(estimator), many_rows(X)) for _, estimator, X in real_models()], "float32")


# ---------------------------------------------------------------------------------------------------------
# WebGPU
# ---------------------------------------------------------------------------------------------------------

FLAGS = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--enable-unsafe-webgpu"]
FLAGS += ["--use-webgpu-adapter=swiftshader", "--enable-unsafe-swiftshader"]


class Pages(http.server.SimpleHTTPRequestHandler):
    """Serve a folder, and keep what a page posts."""

    posted: dict[str, Any]
    arrived: threading.Event
    extensions_map: ClassVar = {
        ".html": "text/html",
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        "": "application/wasm",
    }

    def do_POST(self) -> None:
        self.posted.update(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()
        self.arrived.set()

    def log_message(self, *_: Any) -> None:
        pass


def posted_by_chromium(folder: Path) -> dict[str, Any]:
    """Open index.html of a folder in Chromium and return what it posts."""
    handler = type("Here", (Pages,), {"posted": {}, "arrived": threading.Event()})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={folder / 'profile'}"]
        page = f"http://127.0.0.1:{server.server_port}/index.html"
        browser = subprocess.Popen([*command, page], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            assert handler.arrived.wait(250), "the page did not answer"
        finally:
            browser.terminate()
            browser.wait()
            server.shutdown()
    return handler.posted


@needs_chromium
def test_webgpu_takes_every_kernel_and_decoder(tmp_path):
    (tmp_path / "dist").symlink_to(MODULES / "onnxruntime-web" / "dist")
    shutil.copy(Path(__file__).parent / "onnx_webgpu.html", tmp_path / "index.html")
    cases, jobs = [(model, rows_for(model, 100)) for model in every_kind()], []
    for i, (model, rows) in enumerate(cases):
        save(model, tmp_path / f"{i}.onnx")
        n, d = rows.shape
        jobs.append({"model": f"{i}.onnx", "rows": np.float32(rows).ravel().tolist(), "n": n, "d": d})
    (tmp_path / "jobs.json").write_text(json.dumps(jobs))
    posted = posted_by_chromium(tmp_path)
    assert "error" not in posted, posted["error"]
    if not posted["adapter"]:
        pytest.skip("this chromium has no WebGPU adapter")
    for (model, rows), outputs in zip(cases, posted["answers"], strict=True):
        agree(model, shaped(outputs, model, rows), rows, "float32")
