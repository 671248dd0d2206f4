"""Install the wheel in a fresh environment of every Python that is here, without a compiler, and use it.

    python tests/wheel/try_wheel.py dist

Looks for interpreters from 3.11 up on the path and among pyenv's. Each gets an environment of its own, into which pip
puts the wheel and what it depends on, wheels alone; then a model is trained, compressed, saved, read and asked, in
Python and by the program, with the compiled predictor.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

USE = """
import sys, numpy as np, svmpress, svmpress.predictor
from sklearn.datasets import load_digits
from sklearn.svm import SVC
X, y = load_digits(return_X_y=True)
result = svmpress.compress(SVC(C=10, gamma=0.001).fit(X[::2], y[::2]), X[::2], y[::2], ratio=0.05)
right = np.mean(result.model.predict(X[1::2]) == y[1::2])
assert right > 0.95, right
svmpress.save(result.model, "small.svmpress")
assert (svmpress.load("small.svmpress").predict(X) == result.model.predict(X)).all()
np.savez("rows.npz", X=X[1::2], y=y[1::2])
print(f"{result.source.n_vectors} -> {result.model.n_vectors} vectors, {right:.2%} right")
"""
COMMANDS = [
    "--version",
    "inspect small.svmpress",
    "evaluate small.svmpress rows.npz",
    "predict small.svmpress rows.npz",
]


def interpreters() -> dict[str, str]:
    """Return the interpreters that are here, by version."""
    folders = [*os.environ.get("PATH", "").split(os.pathsep)]
    folders += map(str, Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/*/bin"))
    found: dict[str, str] = {}
    for minor in range(11, 30):
        for folder in folders:
            candidate = shutil.which(f"python3.{minor}", path=folder)
            if (
                candidate
                and _said([candidate, "-c", "import ensurepip, sys; print(*sys.version_info[:2])"]) == f"3 {minor}"
            ):
                found.setdefault(f"3.{minor}", candidate)
    return found


def _said(command: list[str]) -> str | None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def try_wheel(wheel: Path, python: str, folder: Path) -> list[str]:
    """Return what the wheel said in an environment of its own."""
    subprocess.run([python, "-m", "venv", "env"], cwd=folder, check=True)
    programs = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    alone = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYENV", "PIP_TARGET", "VIRTUAL_ENV"))}
    alone |= {"PATH": str(programs), "CC": "no-compiler-here", "CXX": "no-compiler-here"}

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=folder, env=alone, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    own = str(programs / "python")
    run(own, "-m", "pip", "install", "--quiet", "--only-binary=:all:", str(wheel))
    said = run(own, "-c", USE).splitlines()
    for arguments in COMMANDS:
        printed = run(str(programs / "svmpress"), *arguments.split()).splitlines()
        said += [line for line in printed if line.startswith(("svmpress", "accuracy", "predictor"))]
    if not any(line.startswith("predictor   compiled") for line in said):
        sys.exit(f"the compiled predictor is not in use: {said}")
    return said


def main() -> None:
    """Try each wheel of a folder on each interpreter."""
    wheels, pythons = sorted(Path(sys.argv[1]).resolve().glob("*.whl")), interpreters()
    if not wheels or not pythons:
        sys.exit(f"there are {len(wheels)} wheels and {len(pythons)} interpreters from 3.11 up: nothing was tried")
    for wheel in wheels:
        print(f"{wheel.name}, {wheel.stat().st_size:,} bytes")
        for version, python in pythons.items():
            with tempfile.TemporaryDirectory() as folder:
                begun = time.perf_counter()
                said = try_wheel(wheel, python, Path(folder))
            print(f"  Python {version}, {time.perf_counter() - begun:.0f} s: {'; '.join(said)}")


if __name__ == "__main__":
    main()
