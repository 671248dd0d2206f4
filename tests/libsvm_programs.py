"""LibSVM's programs where they are not installed: ``svm-train``, ``svm-predict`` and ``svm-scale`` from its wheel.

The wheel ``libsvm-official`` brings the code of the first two as a library, which is called here. It has nothing of
``svm-scale``: what that does to a feature is written out, with its formats of numbers. Set ``SVMPRESS_LIBSVM=wheel`` to
have these in place of installed ones.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

NAMES = ("svm-train", "svm-predict", "svm-scale")


def offer() -> None:
    """Put the programs on the path, for this process and those that it starts, unless they are there."""
    wanted = os.environ.get("SVMPRESS_LIBSVM") == "wheel"
    if os.name != "posix" or (not wanted and all(shutil.which(name) for name in NAMES)):
        return
    folder = Path(tempfile.gettempdir()) / f"svmpress-libsvm-{os.getuid()}-{os.getpid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    for name in NAMES:
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {sys.executable!r} {__file__!r} {name} "$@"\n')
        script.chmod(0o700)
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"


def train(arguments: list[str]) -> None:
    """``svm-train [options] rows model``."""
    from libsvm import svmutil

    *options, rows, model = arguments
    y, X = svmutil.svm_read_problem(rows)
    svmutil.svm_save_model(model, svmutil.svm_train(y, X, " ".join(options)))


def predict(arguments: list[str]) -> None:
    """``svm-predict [-q] rows model output``."""
    from libsvm import svmutil

    rows, name, output = (a for a in arguments if a != "-q")
    model = svmutil.svm_load_model(name)
    if model is None:
        sys.exit(f"can't open model file {name}")
    y, X = svmutil.svm_read_problem(rows)
    found = [svmutil.libsvm.svm_predict(model, svmutil.gen_svm_nodearray(x)[0]) for x in X]
    Path(output).write_text("".join(f"{value:.17g}\n" for value in found))
    right = sum(a == b for a, b in zip(y, found, strict=True))
    print(f"Accuracy = {100 * right / max(1, len(y)):g}% ({right}/{len(y)}) (classification)")


def scale(arguments: list[str]) -> None:
    """``svm-scale [-l lower] [-u upper] [-s range | -r range] rows``: scaled rows on stdout."""
    from libsvm import svmutil

    parser = argparse.ArgumentParser(prog="svm-scale")
    for name, default in (("-l", -1.0), ("-u", 1.0)):
        parser.add_argument(name, type=float, default=default)
    for name in ("-s", "-r", "rows"):
        parser.add_argument(name)
    given = parser.parse_args(arguments)
    y, X = svmutil.svm_read_problem(given.rows)
    lower, upper, last = given.l, given.u, max((max(x, default=0) for x in X), default=0)
    limits = {j: (min(x.get(j, 0.0) for x in X), max(x.get(j, 0.0) for x in X)) for j in range(1, last + 1)}
    if given.r:
        lines = Path(given.r).read_text().split("\n")
        lower, upper = map(float, lines[1].split())
        limits = {int(j): (float(a), float(b)) for j, a, b in (line.split() for line in lines[2:] if line.strip())}
    limits = {j: (a, b) for j, (a, b) in limits.items() if a != b}
    if given.s:
        kept = "".join(f"{j} {a:.17g} {b:.17g}\n" for j, (a, b) in limits.items())
        Path(given.s).write_text(f"x\n{lower:.17g} {upper:.17g}\n{kept}")
    for target, x in zip(y, X, strict=True):
        values = ((j, _scaled(x.get(j, 0.0), *ends, lower, upper)) for j, ends in limits.items())
        print(f"{target:.17g} " + "".join(f"{j}:{value:g} " for j, value in values if value != 0))


def _scaled(value: float, least: float, most: float, lower: float, upper: float) -> float:
    if value in (least, most):
        return lower if value == least else upper
    return lower + (upper - lower) * (value - least) / (most - least)


if __name__ == "__main__":
    {"svm-train": train, "svm-predict": predict, "svm-scale": scale}[sys.argv[1]](sys.argv[2:])
