"""ONNX files beside the library and beside other people's: the same labels, and the time of one row.

    python benchmarks/exports_onnx.py --data DIR               everything; appends records, writes into docs/exports.md
    python benchmarks/exports_onnx.py --data DIR --part labels --sets magic
    python benchmarks/exports_onnx.py --table                  the tables of the last run of each part once more

``DIR`` holds ``NAME.npz`` with ``X_train``, ``y_train``, ``X_test`` and ``y_test``. The teachers are those of the other
benchmarks, trained on all rows; they and their compressions to 100 vectors are kept in ``.cache/exports``.

*Labels*: 10,000 rows a set, test rows first, then training rows, then points halfway between two rows. A row is clear
if no change of less than 1e-4 in a decision value can change its label. The library answers in double precision, the
graph in its own; the reference evaluator of the package ``onnx`` and onnxruntime-web (in node, WebAssembly on one
thread; from ``.cache/npm``, where ``npm install --prefix .cache/npm onnxruntime-web`` puts it) answer for the
compressed model.

*One row*: the first test row of mnist alone, answered again and again by each contender in turn, with one thread and
with one for each core; the best time counts. skl2onnx makes one operator ``SVMClassifier`` of an SVM, which onnxruntime
runs.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator
from scipy import sparse

import journal
import svmpress
from predict import Contender, best_of_rounds, environment
from sets import SETS, load, teacher
from svmpress import Argmax, KernelModel, PairVote, Sign
from svmpress.study.worker import revision

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "benchmarks" / "results" / "exports_onnx.jsonl"
PAGE = ROOT / "docs" / "exports.md"
CACHE = ROOT / ".cache" / "exports"
MODULES = ROOT / ".cache" / "npm" / "node_modules"

VECTORS = 100
ROWS = 10_000
CLEAR = 1e-4
BLOCK = 1000
"""Rows that a graph is given at once."""
GOAL_SECONDS, GOAL_TIMES = 40e-6, 30

Answers = dict[str, np.ndarray]


def compressed(folder: Path, name: str) -> tuple[KernelModel, KernelModel]:
    """Return the teacher of a set and its compression, from the cache if they are there."""
    full, path = teacher(folder, CACHE, name).model, CACHE / f"{name}-{VECTORS}.svmpress"
    if not path.exists():
        split = load(folder, name)
        svmpress.save(svmpress.compress(full, split.X, split.y, vectors=VECTORS), path)
    return full, svmpress.load(path)


def rows_of(folder: Path, name: str) -> Any:
    """Return 10,000 rows, dense or CSR."""
    split = load(folder, name)
    stack = sparse.vstack if sparse.issparse(split.X) else np.vstack
    rows = stack([split.X_test, split.X])[:ROWS]
    i, j = np.random.default_rng(0).integers(0, rows.shape[0], (2, ROWS - rows.shape[0]))
    return stack([rows, (rows[i] + rows[j]) / 2]) if len(i) else rows


def dense(rows: Any, dtype: str) -> np.ndarray:
    return np.ascontiguousarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=dtype)


def clear_rows(model: KernelModel, F: np.ndarray) -> np.ndarray:
    """Return which rows no change of less than 1e-4 in a decision value can give another label, (n,) bool."""
    if isinstance(model.decoder, Argmax):
        top = np.sort(F, axis=1)
        return top[:, -1] - top[:, -2] > CLEAR
    assert isinstance(model.decoder, Sign | PairVote)
    return (np.abs(F) > CLEAR).all(axis=1)


# ---------------------------------------------------------------------------------------------------------
# Who runs a graph
# ---------------------------------------------------------------------------------------------------------


def session(graph: Path | bytes, threads: int = 1) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def in_blocks(run: Callable[..., list[np.ndarray]], names: list[str], rows: Any, dtype: str) -> Answers:
    parts = [run(names, {"rows": dense(rows[i : i + BLOCK], dtype)}) for i in range(0, rows.shape[0], BLOCK)]
    return {name: np.concatenate(p) for name, p in zip(names, zip(*parts, strict=True), strict=True)}


def wanted(model: KernelModel) -> list[str]:
    return ["decision_values"] if model.classes_ is None else ["decision_values", "label"]


def by_onnxruntime(path: Path, model: KernelModel, rows: Any, dtype: str) -> Answers:
    return in_blocks(session(path).run, wanted(model), rows, dtype)


def by_reference(path: Path, model: KernelModel, rows: Any, dtype: str) -> Answers:
    return in_blocks(ReferenceEvaluator(onnx.load(path)).run, wanted(model), rows, dtype)


def in_node(path: Path, rows: Any, dtype: str) -> dict[str, Any]:
    """Return the outputs of onnxruntime-web and its time of one row."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "rows.bin").write_bytes(dense(rows, dtype).tobytes())
        job = {"model": str(path), "rows": str(place / "rows.bin"), "dtype": dtype, "answers": str(place / "a.json")}
        job |= {"n": rows.shape[0], "d": rows.shape[1]}
        (place / "jobs.json").write_text(json.dumps([job]))
        subprocess.run(["node", ROOT / "benchmarks" / "onnx_web.cjs", MODULES, place / "jobs.json"], check=True)
        return json.loads((place / "a.json").read_text())


def by_web(path: Path, model: KernelModel, rows: Any, dtype: str) -> Answers:
    parts = [in_node(path, rows[i : i + BLOCK], dtype)["outputs"] for i in range(0, rows.shape[0], BLOCK)]
    found = {name: np.concatenate([np.array(p[name]) for p in parts]) for name in wanted(model)}
    return found | {"decision_values": found["decision_values"].reshape(rows.shape[0], -1)}


def has_node() -> bool:
    return shutil.which("node") is not None and (MODULES / "onnxruntime-web").is_dir()


# ---------------------------------------------------------------------------------------------------------
# Labels
# ---------------------------------------------------------------------------------------------------------


def labels(folder: Path, names: list[str]) -> Iterator[dict[str, Any]]:
    """Compare every answer with the library's."""
    for name in names:
        rows = rows_of(folder, name)
        for which, model in zip(("full", "compressed"), compressed(folder, name), strict=True):
            F, expected = model.decision_values(rows), model.predict(rows)
            runners = [("onnxruntime", by_onnxruntime, "float32"), ("onnxruntime", by_onnxruntime, "float64")]
            if which == "compressed":
                runners += [("reference evaluator", by_reference, "float32")]
                runners += [("onnxruntime-web", by_web, "float32")] if has_node() else []
            for who, run, dtype in runners:
                with tempfile.TemporaryDirectory() as place:
                    path = Path(place) / "m.onnx"
                    svmpress.save(model, path, dtype=dtype)
                    onnx.checker.check_model(path, full_check=True)
                    size, found = path.stat().st_size, run(path, model, rows, dtype)
                record = {"part": "labels", "set": name, "model": which, "who": who, "precision": dtype}
                record |= {"vectors": model.n_vectors, "features": model.n_features, "outputs": model.n_outputs}
                record |= {"decoder": type(model.decoder).__name__, "file_bytes": size, "rows": rows.shape[0]}
                record |= {"error": float(np.abs(found["decision_values"] - F).max())}
                record |= {"largest_value": float(np.abs(F).max())}
                if model.classes_ is not None:
                    clear, differ = clear_rows(model, F), found["label"] != expected
                    record |= {"clear": int(clear.sum()), "differ": int(differ.sum())}
                    record |= {"differ_clear": int((differ & clear).sum())}
                yield record


# ---------------------------------------------------------------------------------------------------------
# One row
# ---------------------------------------------------------------------------------------------------------


def one_row(folder: Path, rounds: int) -> Iterator[dict[str, Any]]:
    """Time one row of mnist alone."""
    full, small = compressed(folder, "mnist")
    X = dense(load(folder, "mnist").X_test[:BLOCK], "float32")
    row, expected = X[:1], {"full": full.predict(X), "100 vectors": small.predict(X)}
    contenders: list[Contender] = []
    agreement, sizes = {}, {}

    def add(who: str, model: str, graph: bytes, rows: np.ndarray) -> None:
        sizes[who] = len(graph)
        for threads in (1, os.cpu_count() or 1):
            run = session(graph, threads)
            given = run.get_inputs()[0].name
            agreement[who] = float(np.mean(run.run(["label"], {given: rows})[0] == expected[model]))
            call = partial(run.run, ["label"])
            contenders.append((f"{who}; {threads}", lambda x, call=call, given=given: call({given: x}), rows[:1]))

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "m.onnx"
        for dtype in ("float64", "float32"):
            svmpress.save(small, path, dtype=dtype)
            add(f"ONNX of svmpress, {VECTORS} vectors, {dtype}", "100 vectors", path.read_bytes(), X.astype(dtype))
        graph32 = path.read_bytes()
        add("skl2onnx, full model", "full", by_skl2onnx(full), X)
        add(f"skl2onnx, {VECTORS} vectors", "100 vectors", by_skl2onnx(small), X)
        contenders.append((f"svmpress itself, {VECTORS} vectors; 1", small.predict, row.astype("float64")))
        times = best_of_rounds(contenders, rounds)
        path.write_bytes(graph32)
        web = in_node(path, X[:1], "float32")["seconds"] if has_node() else None
    for who in dict.fromkeys(name.split(";")[0] for name in times):
        seconds, threads = min((s, n.split("; ")[1]) for n, (s, _) in times.items() if n.split(";")[0] == who)
        yield {"part": "one row", "set": "mnist", "who": who, "seconds": seconds, "threads": int(threads)} | (
            {"agreement": agreement[who], "file_bytes": sizes[who]} if who in agreement else {}
        )
    if web is not None:
        who = f"onnxruntime-web, {VECTORS} vectors, float32"
        yield {"part": "one row", "set": "mnist", "who": who, "seconds": web, "threads": 1} | {
            "file_bytes": len(graph32)
        }


def by_skl2onnx(model: KernelModel) -> bytes:
    """Return the graph that skl2onnx makes of the same SVM."""
    from skl2onnx import to_onnx

    svc = svmpress.to_estimator(model)
    graph = to_onnx(svc, np.zeros((1, model.n_features), dtype=np.float32), options={"zipmap": False})
    content: bytes = graph.SerializeToString()
    return content


# ---------------------------------------------------------------------------------------------------------
# Records and tables
# ---------------------------------------------------------------------------------------------------------


def tables(records: list[dict[str, Any]]) -> str:
    """Return the tables of a run, in Markdown."""
    lines = _labels_table([r for r in records if r["part"] == "labels"])
    timed = sorted((r for r in records if r["part"] == "one row"), key=lambda r: r["seconds"])
    if timed:
        lines += [""] * bool(lines) + [
            "| one row of mnist | µs | threads | file | labels of the library |",
            "|---|---|---|---|---|",
        ]
    for r in timed:
        size = f"{r['file_bytes'] / 1024:,.0f} KiB" if "file_bytes" in r else ""
        same = f"{r['agreement']:.1%} of {BLOCK:,} rows" if "agreement" in r else ""
        lines += [f"| {r['who']} | {1e6 * r['seconds']:.4g} | {r['threads']} | {size} | {same} |"]
    return "\n".join([*lines, "", *_verdict(timed), *_circumstances(records)])


def _labels_table(records: list[dict[str, Any]]) -> list[str]:
    """Return a line for each model: the clear rows to which each runner gives another label, and the largest error."""
    if not records:
        return []
    runners = list(dict.fromkeys((r["who"], r["precision"]) for r in records))
    titles = ["set", "model", "clear rows", *(f"{who}, {precision}" for who, precision in runners)]
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for name, model in dict.fromkeys((r["set"], r["model"]) for r in records):
        of_model = {(r["who"], r["precision"]): r for r in records if (r["set"], r["model"]) == (name, model)}
        first = next(iter(of_model.values()))
        clear = f"{first['clear']:,} of {first['rows']:,}" if "clear" in first else f"{first['rows']:,} values"
        cells = [name, f"{model}, {first['vectors']:,} × {first['features']:,}", clear]
        for runner in runners:
            r = of_model.get(runner)
            counted = f"{r['differ_clear']}; " if r and "differ_clear" in r else ""
            cells.append(f"{counted}{r['error']:.0e}" if r else "")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _verdict(timed: list[dict[str, Any]]) -> list[str]:
    of = {r["who"]: r["seconds"] for r in timed}
    mine, theirs = of.get(f"ONNX of svmpress, {VECTORS} vectors, float32"), of.get("skl2onnx, full model")
    if mine is None or theirs is None:
        return []
    reached = "reached" if mine <= GOAL_SECONDS and theirs / mine >= GOAL_TIMES else "missed"
    goal = f"at most {1e6 * GOAL_SECONDS:g} µs, and {GOAL_TIMES} times faster than `SVMClassifier` with the full model"
    return [f"Goal: {goal}. It is {1e6 * mine:.3g} µs and {theirs / mine:.3g} times: {reached}.", ""]


def _circumstances(records: list[dict[str, Any]]) -> list[str]:
    """Say when, where and with what; once if all parts are of one run."""
    said = []
    for part, name in (("labels", "Labels"), ("one row", "One row")):
        first = next((r for r in records if r["part"] == part), None)
        if first is not None:
            versions = ", ".join(f"{name} {version}" for name, version in first["versions"].items())
            said += [f"{name}: run {first['run']}, revision {first['code']}, on {first['machine']};"]
            said += [f"Python {first['python']}, {versions}.", ""]
    return said[:-1]


def update_page(records: list[dict[str, Any]]) -> None:
    """Put the tables between their marks in docs/exports.md."""
    text = PAGE.read_text(encoding="utf-8")
    marks = r"(<!-- records of exports_onnx -->\n).*?(<!-- end of records -->)"
    PAGE.write_text(re.sub(marks, lambda m: f"{m[1]}{tables(records)}\n{m[2]}", text, flags=re.S), encoding="utf-8")


def last_runs() -> list[dict[str, Any]]:
    """Return the records of the last run of each part."""
    records = journal.read(RECORDS)
    if not records:
        raise SystemExit(f"no records in {RECORDS}: run with --data first")
    last = {r["part"]: r["run"] for r in records}
    return [r for r in records if r["run"] == last[r["part"]]]


def circumstances() -> dict[str, Any]:
    """Return what all records of a run share."""
    shared = environment(1)
    shared.pop("predictor")
    versions = {name: importlib.metadata.version(name) for name in ("onnx", "onnxruntime", "skl2onnx", "numpy")}
    if has_node():
        versions["onnxruntime-web"] = json.loads((MODULES / "onnxruntime-web" / "package.json").read_text())["version"]
    return shared | {"versions": versions, "code": revision()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="directory of the data sets; measures")
    parser.add_argument("--part", choices=("labels", "one row"), help="only this part")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="labels of these sets only")
    parser.add_argument("--rounds", type=int, default=20, help="rounds of which the best counts (default: 20)")
    parser.add_argument("--table", action="store_true", help="the tables of the last run, and measure nothing")
    arguments = parser.parse_args()
    if arguments.table == (arguments.data is not None):
        parser.error("say either --data DIR or --table")
    if arguments.data is not None:
        shared = circumstances()
        parts = {
            "one row": one_row(arguments.data, arguments.rounds),
            "labels": labels(arguments.data, arguments.sets),
        }
        for part in [arguments.part] if arguments.part else parts:
            for record in parts[part]:
                journal.append(RECORDS, shared | record)
                print(json.dumps(record), flush=True)
    update_page(last_runs())
    print(tables(last_runs()))


if __name__ == "__main__":
    main()
