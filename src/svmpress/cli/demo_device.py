"""The part of the demonstration that is about microcontrollers: the digits as C code, and what they take of an Uno."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from svmpress import exports
from svmpress.compression import compress
from svmpress.formats import load

Progress = Callable[[str, int, int], None]
_UNO = "uno"
_FLASH = 2500
"""Bytes of numbers."""


@dataclass(frozen=True)
class Firmware:
    """C code of the digits: what it answers, and what it takes; ``measured`` is None without the simulator."""

    folder: str
    vectors: int
    outputs: int
    number_bytes: int
    accuracy: float
    measured: exports.Measured | None

    def text(self) -> str:
        """Return everything for people."""
        lines = [
            f"digits on a microcontroller: {self.vectors} vectors of 4 bits, {self.outputs} outputs",
            f"  {self.number_bytes:,} bytes of numbers; accuracy {self.accuracy:.2%} on the rows held out",
        ]
        m = self.measured
        if m is None:
            lines.append(f"  flash, RAM and time: install {', '.join(exports.missing(_UNO))} to measure them")
        else:
            time = math.nan if m.milliseconds is None else m.milliseconds
            lines.append(
                f"  on a simulated Arduino Uno, the whole firmware: {m.flash:,} bytes of flash, {m.ram:,} of RAM, "
                f"{time:.1f} ms a row; {m.rows - m.wrong} of {m.rows} answers bit for bit as in Python"
            )
        return "\n".join(lines)


def make_firmware(
    model: Path, rows: tuple[NDArray[Any], NDArray[Any]], folder: Path, progress: Progress | None
) -> Firmware:
    """Compress a model file for a device, write its C code into a folder, and measure it where that is possible."""

    def report(stage: str, done: int, total: int) -> None:
        if progress is not None:
            progress(f"microcontroller: {stage}", done, total)

    X, X_test, y, y_test = train_test_split(*rows, test_size=0.3, random_state=0, stratify=rows[1])
    small = compress(load(model), X, y, max_flash=_FLASH, weights="int4", coef="int8", progress=report).model
    done = exports.export_c(small, folder, X, y, weights="int4", coef="int8", input="uint8", progress=report)
    measured = None
    if not exports.missing(_UNO):
        report("on a simulated Uno", 0, 1)
        measured = exports.measure(folder, _UNO)
        report("on a simulated Uno", 1, 1)
    accuracy = float(np.mean(done.model.predict(X_test) == y_test))
    e = done.model
    return Firmware(str(folder), e.n_vectors, e.n_outputs, done.number_bytes, accuracy, measured)
