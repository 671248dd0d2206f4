"""What models take of microcontrollers, and how well they answer there: on simulated devices, whole firmware counted.

    python benchmarks/devices.py --data DIR                      all cells that have no record yet
    python benchmarks/devices.py --data DIR --cells segment --again
    python benchmarks/devices.py --table                         print the tables and write the page

A cell is a data set with limits on flash, RAM and time. Its SVM is trained, compressed to a number of vectors that the
flash can hold, fine-tuned in whole numbers, and exported; the firmware (``product_avr.c``: rows in over the serial
port, answers out) is compiled for an ATmega328P, and its self-test runs on simavr, which counts cycles at 16 MHz.
Accuracy is that of the emulator on all test rows, which is the same, bit for bit. Beside it stand the same model in
floats and in 8 bits, and what other converters make of the full SVM, of the compressed one, and of a random forest.

What takes minutes (training, compression) is kept in ``--cache``. Records go to ``benchmarks/results/devices.jsonl``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import devices_peers
import journal
import svmpress
from devices_report import page, table
from svmpress.exports import measure, table_bytes
from svmpress.model import KernelModel, Scaling
from svmpress.study.worker import revision

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "benchmarks" / "results" / "devices.jsonl"
PAGE = ROOT / "docs" / "devices.md"


@dataclass(frozen=True)
class Cell:
    """A data set on a device: the SVM, how it is exported, and the limits to keep."""

    set: str
    C: float
    gamma: float
    vectors: int
    flash: int
    ram: int
    milliseconds: float
    goal: float | None
    """Accuracy to reach; None: within 1.5 points of the full SVM."""
    weights: str = "int4"
    pool: int = 1
    augment: int = 0
    epochs: int | None = None


CELLS = {
    "mnist-16k": Cell("mnist", 10, 0.08, 152, 16384, 1100, 25, 0.975, pool=2, augment=1, epochs=150),
    "mnist-30k": Cell("mnist", 10, 0.08, 244, 30720, 1100, 40, 0.982, pool=2, augment=1, epochs=150),
    "mnist-16k-no-pooling": Cell("mnist", 10, 0.02, 44, 16384, 1100, 60, 0.965, augment=1, epochs=100),
    "segment": Cell("segment", 100, 1 / 19, 58, 4096, 200, 8, None, weights="int8"),
    "penbased": Cell("penbased", 10, 4 / 16, 62, 4096, 200, 8, None, weights="int8"),
    "letters": Cell("letters", 30, 0.15, 565, 28672, 500, 60, 0.955, weights="int8", epochs=100),
}
"""The numbers of vectors are those that the flash holds beside the code, or of pooled mnist the time."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as the device gets them: bytes of images, floats otherwise."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @property
    def are_bytes(self) -> bool:
        """Whether features are bytes."""
        return self.X.dtype == np.uint8


def rows_of(folder: Path, name: str) -> Rows:
    path = folder / f"{name}.npz"
    z = np.load(path if path.exists() else folder / "small" / f"{name}.npz")
    kind = np.uint8 if z["X_train"].dtype == np.uint8 else np.float64
    return Rows(z["X_train"].astype(kind), z["y_train"], z["X_test"].astype(kind), z["y_test"])


def teacher(cell: Cell, rows: Rows, cache: Path) -> KernelModel:
    """Return the full SVM, for pooled images where there is pooling, trained now if it is not in the cache."""
    path = cache / f"{cell.set}-{cell.pool}.svmpress"
    if path.exists():
        return svmpress.load(path)
    X = seen(cell, rows.X)
    scaler = StandardScaler().fit(X)
    scaling = Scaling(scaler.mean_, 1 / np.where(scaler.scale_ == 0, 1, scaler.scale_))
    if cell.set == "mnist":
        scaling = Scaling(None, np.full(X.shape[1], 1 / 255))
    svc = SVC(C=cell.C, gamma=cell.gamma, cache_size=1500).fit(scaling(X), rows.y)
    model = replace(svmpress.from_estimator(svc), scaling=scaling)
    cache.mkdir(parents=True, exist_ok=True)
    svmpress.save(model, path)
    return model


def seen(cell: Cell, X: np.ndarray) -> np.ndarray:
    """Return rows as the SVM sees them."""
    if cell.pool == 1:
        return X.astype(float)
    from svmpress.exports.quantized import Pooling

    return Pooling(28, 28, cell.pool).means(X.astype(np.int64)).astype(float)


def compressed(cell: Cell, source: KernelModel, rows: Rows, cache: Path) -> KernelModel:
    """Return the SVM with as many vectors as the cell has room for."""
    path = cache / f"{cell.set}-{cell.pool}-{cell.vectors}.svmpress"
    if path.exists():
        return svmpress.load(path)
    bytes_of_all = table_bytes(cell.vectors, source.n_features, len(np.unique(rows.y)), cell.weights, "int8")
    model = svmpress.compress(
        source, seen(cell, rows.X), rows.y, max_flash=bytes_of_all, weights=cell.weights, coef="int8", effort="fast"
    ).model
    svmpress.save(model, path)
    return model


def run(cell: Cell, name: str, data: Path, cache: Path) -> dict[str, Any]:
    """Measure a cell, and return its record."""
    rows = rows_of(data, cell.set)
    begun = time.perf_counter()
    source = teacher(cell, rows, cache)
    model = compressed(cell, source, rows, cache)
    prepared = time.perf_counter() - begun
    choices: dict[str, Any] = {"input": "uint8" if rows.are_bytes else "float"}
    if cell.set == "mnist":
        choices |= {"image": (28, 28), "pool": cell.pool, "augment": cell.augment}
    begun = time.perf_counter()
    q = svmpress.quantize(
        model, rows.X, rows.y, weights=cell.weights, coef="int8", epochs=cell.epochs,
        progress=say(name), **choices,
    )  # fmt: skip
    seconds = time.perf_counter() - begun
    record = {
        "cell": name,
        "set": cell.set,
        "weights": cell.weights,
        "vectors": q.n_vectors,
        "levels": q.grid.n_levels,
        "outputs": q.n_outputs,
        "pool": cell.pool,
        "augment": cell.augment,
        "epochs": cell.epochs,
        "limits": {"flash": cell.flash, "ram": cell.ram, "milliseconds": cell.milliseconds, "goal": cell.goal},
        "accuracy": score(q, rows.X_test, rows.y_test),
        "accuracy_full": score(source, seen(cell, rows.X_test), rows.y_test),
        "accuracy_compressed": score(model, seen(cell, rows.X_test), rows.y_test),
        "vectors_full": source.n_vectors,
        "number_bytes": q.number_bytes,
        "devices": measured(q, rows.X_test, ["uno", "microbit", "m4"]),
        "variants": variants(cell, model, rows, choices),
        "peers": devices_peers.all_of(source, model, rows, cell.flash, cell.pool) if cell.pool == 1 else {},
        "seconds": {"training and compression": round(prepared, 1), "fine-tuning": round(seconds, 1)},
        "version": svmpress.__version__,
        "code": revision() or "unknown",
    }
    (cache / "c").mkdir(parents=True, exist_ok=True)
    svmpress.export_c(q, cache / "c" / name, rows.X_test)
    return record


def measured(model: Any, X: Any, devices: list[str], **choices: Any) -> dict[str, Any]:
    """Export a model and run it on simulated devices; what does not fit is a sentence."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        svmpress.export_c(model, Path(folder) / "c", X, **choices)
        for device in devices:
            try:
                m = measure(Path(folder) / "c", device)
                found[device] = {
                    "flash": m.flash, "ram": m.ram, "cycles": m.cycles, "milliseconds": m.milliseconds,
                    "rows": m.rows, "wrong": m.wrong,
                }  # fmt: skip
            except svmpress.SvmpressError as e:
                found[device] = str(e)
    return found


def variants(cell: Cell, model: KernelModel, rows: Rows, choices: dict[str, Any]) -> dict[str, Any]:
    """Return the compressed model in floats and in 8 bits, neither of them fine-tuned, for accuracy and for speed."""
    if cell.pool > 1 or cell.set == "mnist":
        return {}
    q = svmpress.quantize(model, rows.X, weights="int8", coef="int8", **choices)
    floats = measured(model, rows.X_test, ["uno"], weights="float", input=choices["input"])
    whole = measured(q, rows.X_test, ["uno"])
    return {
        "float": {"accuracy": score(model, rows.X_test, rows.y_test), "uno": floats["uno"]},
        "int8": {"accuracy": score(q, rows.X_test, rows.y_test), "uno": whole["uno"]},
    }


def score(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(model.predict(X) == y))


def say(name: str) -> Any:
    def tell(stage: str, done: int, total: int) -> None:
        if done % 10 == 0:
            print(f"{name}: {stage} {done}/{total}", file=sys.stderr, flush=True)

    return tell


def records(path: Path) -> dict[str, dict[str, Any]]:
    """Return the last record of each cell."""
    return {r["cell"]: r for r in journal.read(path)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the NPZ files")
    parser.add_argument("--cache", type=Path, default=Path("devices-cache"), help="folder for models in between")
    parser.add_argument("--cells", nargs="+", choices=CELLS, default=list(CELLS))
    parser.add_argument("--again", action="store_true", help="run cells that have a record, too")
    parser.add_argument("--table", action="store_true", help="print the tables and write the page")
    args = parser.parse_args()
    if not args.table:
        if args.data is None:
            raise SystemExit("--data names the folder with the NPZ files")
        for name in args.cells:
            if args.again or name not in records(RECORDS):
                journal.append(RECORDS, run(CELLS[name], name, args.data, args.cache))
                print(table(list(records(RECORDS).values())), file=sys.stderr, flush=True)
    found = records(RECORDS)
    ordered = [found[name] for name in CELLS if name in found]
    print(table(ordered))
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), ordered), encoding="utf-8")


if __name__ == "__main__":
    main()
