"""How fast a web model is: in WebAssembly and in plain JavaScript, beside onnxruntime-web, in node.

    python benchmarks/exports_web.py --data DIR      measure, append a record, put the table into docs/exports.md
    python benchmarks/exports_web.py --table         the same with the last record, without measuring

The model has 100 vectors of mnist. Its teacher is an RBF SVM of 4,000 of the 60,000 training rows: times do not depend
on what the numbers are, and accuracy is not the subject here. Each contender runs in a process of its own, one thread,
all in turn, ``--runs`` times; the best counts. ``batch`` is the time per row in calls with 1,000 rows, ``single`` that
of a call with one row, ``start`` the time to load the model and answer for one row. Web models answer with labels;
onnxruntime-web computes the 45 decision values in float32, by plain operators and with vectors centred as ours are, and
leaves counting the votes to others. Labels of all 10,000 test rows are compared with those of the same model in the
library. In 8 and 4 bits the model is quantised with the rows of training, without fine-tuning, and its labels are
compared with the emulator's.

onnxruntime-web comes from npm into ``.cache/``, and its model is made with ``onnx``; without either it is named and
left out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

import journal
import svmpress
from predict import environment
from sets import estimator
from svmpress.study import sets
from svmpress.study.worker import revision

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "benchmarks" / "results" / "exports_web.jsonl"
CACHE = ROOT / ".cache" / "exports_web"
PAGE = ROOT / "docs" / "exports.md"
BEGIN, END = "<!-- benchmarks/exports_web.py -->\n", "\n<!-- end -->"
TIMER = Path(__file__).with_suffix(".mjs")
TRAINED_ON, VECTORS = 4000, 100


def small_model(folder: Path, split: sets.Split) -> svmpress.KernelModel:
    """Return the model of 100 vectors, from the cache if it is there."""
    path = CACHE / "mnist-100.svmpress"
    if not path.exists():
        print("training and compressing ...", flush=True)
        some = split.some(TRAINED_ON)
        svc = estimator("mnist").fit(some.X, some.y)
        path.parent.mkdir(parents=True, exist_ok=True)
        svmpress.save(svmpress.compress(svc, some.X, some.y, vectors=VECTORS).model, path)
    return svmpress.load(path)


def onnx_file(model: svmpress.KernelModel) -> Path | None:
    """Return a file with the decision values of an RBF model in plain operators; None without ``onnx``."""
    try:
        from onnx import TensorProto, checker, helper, numpy_helper
    except ImportError:
        return None
    e, gamma = model.expansion, model.kernel.params["gamma"]
    centre = e.vectors.mean(axis=0)
    V = e.vectors - centre
    numbers = {
        "centre": centre,
        "V": (2 * gamma * V).T,
        "offset": -gamma * (V * V).sum(axis=1),
        "gamma": np.array(gamma),
        "A": e.coef,
        "b": e.intercept,
    }
    tensors = [numpy_helper.from_array(np.asarray(a, dtype=np.float32), name) for name, a in numbers.items()]
    nodes = [
        helper.make_node("Sub", ["rows", "centre"], ["x"]),
        helper.make_node("Gemm", ["x", "V", "offset"], ["t"]),
        helper.make_node("ReduceSumSquare", ["x"], ["norm"], axes=[1], keepdims=1),
        helper.make_node("Mul", ["norm", "gamma"], ["far"]),
        helper.make_node("Sub", ["t", "far"], ["s"]),
        helper.make_node("Exp", ["s"], ["k"]),
        helper.make_node("Gemm", ["k", "A", "b"], ["values"]),
    ]
    rows = helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, model.n_features])
    values = helper.make_tensor_value_info("values", TensorProto.FLOAT, [None, model.n_outputs])
    graph = helper.make_graph(nodes, "svm", [rows], [values], tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    checker.check_model(made, full_check=True)
    (CACHE / "mnist.onnx").write_bytes(made.SerializeToString())
    return CACHE / "mnist.onnx"


def onnxruntime_web() -> Path | None:
    """Return the folder of the package, installed now if it is not there; None where npm cannot."""
    folder = CACHE / "node_modules" / "onnxruntime-web"
    if not folder.is_dir() and shutil.which("npm"):
        CACHE.mkdir(parents=True, exist_ok=True)
        (CACHE / "package.json").write_text('{"private": true}')
        subprocess.run(["npm", "install", "--silent", "onnxruntime-web"], cwd=CACHE, check=False)
    return folder if folder.is_dir() else None


def zipped(*files: Path) -> int:
    return sum(len(gzip.compress(file.read_bytes(), 9)) for file in files)


def timed(kind: str, model: Path, rows: Path, d: int, rounds: int) -> dict[str, Any]:
    """Return what the timer in node says of one contender."""
    command = ["node", TIMER, kind, model, rows, str(d), str(rounds)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(run.stderr)
    return json.loads(run.stdout)


def contenders(model: svmpress.KernelModel, rows: NDArray[Any]) -> dict[str, dict[str, Any]]:
    """Return by name how each is started, what it should answer, and what a browser has to load for it."""
    found: dict[str, dict[str, Any]] = {}
    for weights in ("", "int8", "int4"):
        same: Any = model
        if weights:
            same = svmpress.quantize(model, rows, weights=weights, coef="int8")
        module = CACHE / f"mnist{weights}.mjs"
        svmpress.export_web(same, module)
        files = {"bytes": module.stat().st_size, "zipped": zipped(module)}
        for kind, name in (("wasm", "WebAssembly"), ("javascript", "plain JavaScript")):
            who = f"{name}, {weights}" if weights else name
            found[who] = {"kind": kind, "model": module, "same": same, **files}
    package, graph = onnxruntime_web(), onnx_file(model)
    if package is None or graph is None:
        print("onnxruntime-web or onnx is not installed: left out")
        return found
    parts = [package / "dist" / "ort.wasm.bundle.min.mjs", package / "dist" / "ort-wasm-simd-threaded.wasm", graph]
    version = json.loads((package / "package.json").read_text())["version"]
    found[f"onnxruntime-web {version}"] = {
        "kind": (package / "dist" / "ort.node.min.mjs").as_uri(),
        "model": graph,
        "same": model,
        "bytes": sum(part.stat().st_size for part in parts),
        "zipped": zipped(*parts),
    }
    return found


def answers_of(found: dict[str, Any], model: svmpress.KernelModel) -> NDArray[Any]:
    """Return the labels: those that came, or the library's for the decision values that came."""
    answers = np.array(found["answers"])
    if len(answers) % model.n_outputs or found["kind"] in ("wasm", "javascript"):
        return answers
    return model.decoder.labels(answers.reshape(-1, model.n_outputs))


def measure(folder: Path, runs: int, rounds: int) -> dict[str, Any]:
    """Measure all, and return the record."""
    split = sets.load(folder, "mnist")
    model = small_model(folder, split)
    T = np.ascontiguousarray(split.X_test, dtype="<f4")
    T.tofile(CACHE / "rows")
    entries = contenders(model, split.some(TRAINED_ON).X)
    best: dict[str, dict[str, Any]] = {}
    for _ in tqdm(range(runs), unit="run"):
        for who, entry in entries.items():
            found = timed(entry["kind"], entry["model"], CACHE / "rows", T.shape[1], rounds)
            mine = best.setdefault(who, {"kind": entry["kind"], **found})
            mine |= {key: min(mine[key], found[key]) for key in ("start", "batch", "single")}
    T = T.astype(float)
    labels = {who: entry["same"].predict(T) for who, entry in entries.items()}
    rows = []
    for who, mine in best.items():
        entry = entries[who]
        times = {key: round(mine[key] * 1e-3, 9) for key in ("batch", "single", "start")}
        differing = int(np.sum(answers_of(mine, model) != labels[who]))
        accuracy = float(np.mean(labels[who] == split.y_test))
        sizes = {"bytes": entry["bytes"], "zipped": entry["zipped"]}
        rows.append({"who": who, **times, **sizes, "differing": differing, "accuracy": accuracy})
    shared = environment(1)
    return {
        **{key: shared[key] for key in ("run", "machine", "python")},
        "node": next(iter(best.values()))["node"],
        "code": revision(),
        "set": "mnist",
        "trained_on": TRAINED_ON,
        "vectors": model.n_vectors,
        "features": model.n_features,
        "outputs": model.n_outputs,
        "test_rows": len(T),
        "accuracy": float(np.mean(labels["WebAssembly"] == split.y_test)),
        "load": round(os.getloadavg()[0], 2),
        "runs": runs,
        "rounds": rounds,
        "contenders": rows,
    }


def table(record: dict[str, Any]) -> str:
    """Return the table of ``docs/exports.md``."""
    columns = [
        "in node",
        "µs a row, 1,000 a call",
        "one a call",
        "ms to start",
        "bytes to load",
        "gzipped",
        "labels differ",
        "accuracy",
    ]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for row in record["contenders"]:
        times = [f"{row['batch'] * 1e6:.1f}", f"{row['single'] * 1e6:.1f}", f"{row['start'] * 1e3:.0f}"]
        sizes = [f"{row['bytes']:,}", f"{row['zipped']:,}", f"{row['differing']} of {record['test_rows']:,}"]
        lines += [f"| {' | '.join([row['who'], *times, *sizes, format(row['accuracy'], '.2%')])} |"]
    return "\n".join(lines)


def write_page(record: dict[str, Any]) -> None:
    """Put the table of a record into the page."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{table(record)}{END}{rest.split(END, 1)[1]}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of mnist.npz; measures")
    parser.add_argument("--runs", type=int, default=5, help="processes for each contender (default: 5)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds in each process (default: 5)")
    parser.add_argument("--table", action="store_true", help="write the table of the last record and measure nothing")
    args = parser.parse_args()
    if args.table == (args.data is not None):
        parser.error("say either --data DIR or --table")
    if args.data is not None:
        begun = time.perf_counter()
        journal.append(RECORDS, measure(args.data, args.runs, args.rounds))
        print(f"{time.perf_counter() - begun:.0f} s")
    record = journal.read(RECORDS)[-1]
    write_page(record)
    print(table(record))


if __name__ == "__main__":
    main()
