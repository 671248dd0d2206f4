"""The demonstration: train, compress, compare, and draw Figure 2 of the paper, in about a minute and without a network.

Two classifiers are compressed. *digits* are the 1,797 handwritten digits that come with scikit-learn: ten classes, 64
features, one machine for each pair of classes. *clusters* is synthetic: two classes of several overlapping clusters in
12 dimensions with some wrong labels, which gives an SVM many support vectors. The digits become C code for a
microcontroller, too. Accuracy is on rows that neither training nor compression has seen.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import train_test_split

from svmpress import exports, formats, plots
from svmpress.cli.demo_device import Firmware, make_firmware
from svmpress.compression import compress
from svmpress.errors import InputError, MissingExtraError
from svmpress.model import KernelModel
from svmpress.training import train

Progress = Callable[[str, int, int], None]
_TIMING_SECONDS = 0.5


@dataclass(frozen=True)
class Measured:
    """A model on held-out rows: vectors, bytes of its LibSVM file, accuracy, and seconds per row in batches."""

    vectors: int
    file_bytes: int
    accuracy: float
    seconds_per_row: float


@dataclass(frozen=True)
class Comparison:
    """A model before and after, and where the small one was written."""

    name: str
    about: str
    before: Measured
    after: Measured
    file: str

    def text(self) -> str:
        """Return a table for people."""
        a, b = self.before, self.after
        lines = [f"{self.name}: {self.about}", f"{'':12}{'vectors':>9}{'file':>12}{'accuracy':>11}{'time per row':>15}"]
        for title, m in (("before", a), ("after", b)):
            time_text = f"{m.seconds_per_row * 1e6:.2f} µs"
            size = f"{m.file_bytes / 1024:,.1f} KiB"
            lines.append(f"  {title:<10}{m.vectors:>9,}{size:>12}{m.accuracy:>11.2%}{time_text:>15}")
        change = f"{100 * (b.accuracy - a.accuracy):+.2f} pts"
        share = f"{b.vectors / a.vectors:.1%}"
        size = f"{b.file_bytes / a.file_bytes:.1%}"
        speed = f"{a.seconds_per_row / b.seconds_per_row:.1f}x faster"
        lines.append(f"  {'':<10}{share:>9}{size:>12}{change:>11}{speed:>15}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Export:
    """A compressed model as a program: what it is, the file to open, and the bytes of it alone."""

    about: str
    file: str
    file_bytes: int

    def text(self) -> str:
        """Return a line for people."""
        return f"{self.file}  {self.about}, {self.file_bytes / 1024:,.1f} KiB"


@dataclass(frozen=True)
class Demo:
    """What :func:`demo` did."""

    comparisons: tuple[Comparison, ...]
    exports: tuple[Export, ...]
    firmware: Firmware
    figures: tuple[str, ...]
    notes: tuple[str, ...]
    """What was left out, and why."""
    seconds: float

    def facts(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)

    def text(self) -> str:
        """Return everything for people."""
        files = [c.file for c in self.comparisons] + [e.text() for e in self.exports]
        files += [self.firmware.folder, *self.figures]
        parts = [*(c.text() for c in self.comparisons), self.firmware.text()]
        parts.append("\n".join(["written:", *(f"  {f}" for f in files), *self.notes]))
        return "\n\n".join([*parts, f"{self.seconds:.0f} s in all"])


def demo(out: str | os.PathLike[str], *, figure: bool = True, progress: Progress | None = None) -> Demo:
    """Run the demonstration and write its files into a folder.

    Parameters
    ----------
    out : path
        The folder; it is made if need be.
    figure : bool
        Whether to draw Figure 2; without matplotlib it is left out, and the result says so.
    progress : callable, optional
        Called with (stage, done, total).
    """
    start = time.perf_counter()
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise InputError(f"cannot make the folder {folder}: {(e.strerror or str(e)).lower()}") from e
    digits = load_digits(return_X_y=True)
    clusters = make_classification(
        8000, 12, n_informative=8, n_redundant=2, n_clusters_per_class=4, flip_y=0.08, random_state=0
    )
    comparisons = (
        _compare("digits", "handwritten digits, 10 classes", digits, 0.1, folder, progress),
        _compare("clusters", "overlapping clusters, 2 classes", clusters, 0.01, folder, progress),
    )
    exported, no_graph = _export(comparisons[0].file, folder)
    firmware = make_firmware(folder / "digits-big.model", digits, folder / "digits-c", progress)
    figures, no_figure = _draw(folder, progress) if figure else ((), "")
    notes = tuple(note for note in (no_graph, no_figure) if note)
    return Demo(comparisons, exported, firmware, figures, notes, time.perf_counter() - start)


def _compare(
    name: str,
    about: str,
    rows: tuple[NDArray[Any], NDArray[Any]],
    ratio: float,
    folder: Path,
    progress: Progress | None,
) -> Comparison:
    def report(stage: str, done: int, total: int) -> None:
        if progress is not None:
            progress(f"{name}: {stage}", done, total)

    X, X_test, y, y_test = train_test_split(*rows, test_size=0.3, random_state=0, stratify=rows[1])
    big = train(X, y, progress=report).model
    small = compress(big, X, y, ratio=ratio, layout="libsvm", progress=report).model
    file = folder / f"{name}-small.model"
    return Comparison(
        name,
        f"{about}; {len(y):,} rows to train, {len(y_test):,} held out",
        _measure(big, folder / f"{name}-big.model", X_test, y_test),
        _measure(small, file, X_test, y_test),
        str(file),
    )


def _measure(model: KernelModel, path: Path, X: NDArray[Any], y: NDArray[Any]) -> Measured:
    """Write a model as a LibSVM file and score it: the time is the best of many runs."""
    formats.save(model, path, "libsvm")
    accuracy = float(np.mean(model.predict(X) == y))
    best, until = math.inf, time.perf_counter() + _TIMING_SECONDS
    while time.perf_counter() < until:
        start = time.perf_counter()
        model.predict(X)
        best = min(best, time.perf_counter() - start)
    return Measured(model.n_vectors, path.stat().st_size, accuracy, best / len(y))


def _export(file: str, folder: Path) -> tuple[tuple[Export, ...], str]:
    """Write the compressed digits as programs; return them, and what was left out and why."""
    module, _, page, _ = exports.export_web(file, folder / "digits-web")
    both = {"compressed": file, "full SVM": folder / "digits-big.model"}
    drawn = exports.export_page(both, folder / "digits.html", image=(8, 8), title="Draw a digit")
    written = (
        Export("a page to draw a digit on", str(drawn), drawn.stat().st_size),
        Export("the digits in JavaScript", str(module), module.stat().st_size),
        Export("a page that tries it", str(page), page.stat().st_size),
    )
    graph = folder / "digits.onnx"
    try:
        formats.save(file, graph)
    except MissingExtraError as e:
        return written, f"{graph.name} is left out: {e}"
    return (*written, Export("the digits for onnxruntime", str(graph), graph.stat().st_size)), ""


def _draw(folder: Path, progress: Progress | None) -> tuple[tuple[str, ...], str]:
    paths = tuple(str(folder / name) for name in ("figure2.png", "figure2.svg"))
    if progress is not None:
        progress("Figure 2", 0, 1)
    try:
        plots.draw_figure2(plots.figure2_record(), *paths)
    except MissingExtraError as e:
        return (), f"Figure 2 is left out: {e}"
    if progress is not None:
        progress("Figure 2", 1, 1)
    return paths, ""
