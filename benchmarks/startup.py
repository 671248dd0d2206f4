"""How long svmpress takes to start: importing it, its help, and a prediction.

    python benchmarks/startup.py [--runs 7]          prints a table and appends a record

Each command runs in a fresh process, one after the other in turns; the least of several runs is reported, and the
interpreter alone, and NumPy with SciPy's sparse arrays, stand beside it.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import dump_svmlight_file, load_iris
from sklearn.svm import SVC
from tqdm import tqdm

import journal
import svmpress
from svmpress.study.worker import revision

RECORDS = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "startup.jsonl"
MODULES = "import sys; before = set(sys.modules); import svmpress; print(len(set(sys.modules) - before))"


def commands(folder: Path) -> dict[str, list[str]]:
    """Return what is timed, by name; files that it needs are written into a folder."""
    X, y = load_iris(return_X_y=True)
    svmpress.save(svmpress.from_estimator(SVC().fit(X, y)), folder / "m.svmpress")
    dump_svmlight_file(X, y, str(folder / "rows.svm"), zero_based=False)
    program = [sys.executable, "-m", "svmpress"]
    return {
        "python": [sys.executable, "-c", "pass"],
        "import numpy, scipy.sparse": [sys.executable, "-c", "import numpy, scipy.sparse"],
        "import svmpress": [sys.executable, "-c", "import svmpress"],
        "svmpress --help": [*program, "--help"],
        "svmpress predict": [*program, "predict", f"{folder}/m.svmpress", f"{folder}/rows.svm", "-o", f"{folder}/out"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        timed = commands(Path(folder))
        seconds: dict[str, list[float]] = {name: [] for name in timed}
        for _ in tqdm(range(args.runs), unit="turn", file=sys.stderr):
            for name, command in timed.items():
                begun = time.perf_counter()
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                seconds[name].append(time.perf_counter() - begun)
    loaded = int(subprocess.run([sys.executable, "-c", MODULES], check=True, capture_output=True, text=True).stdout)
    least = {name: round(min(times), 3) for name, times in seconds.items()}
    for name, value in least.items():
        print(f"{name:28} {value:6.3f} s")
    print(f"{'modules that it loads':28} {loaded:6}")
    record = {
        "seconds": least,
        "runs": args.runs,
        "modules": loaded,
        "code": revision(),
        "version": svmpress.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "load": round(os.getloadavg()[0], 2),
        "cores": os.cpu_count(),
    }
    journal.append(RECORDS, record)


if __name__ == "__main__":
    main()
