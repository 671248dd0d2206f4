"""Feed damaged and hostile files to every reader: ``make fuzz SECONDS=600``.

For each mutant the answer is our own error in one sentence, or a model that predicts, saves and loads back equal (or
rows that are finite); within a second of the processor and 20 times the file plus 64 MiB of memory, which the
operating system enforces. A process of its own does the reading: should it crash, the file that it was reading is
still there. What falls outside is kept in ``found``, and printed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
import zlib
from pathlib import Path
from typing import Any

MEMORY, TIMES = 64 * 2**20, 20
SECONDS, PER_BYTES = 1.0, 10_000
LONGEST_MESSAGE = 1_000


# ---------------------------------------------------------------------------------------------------------
# One file
# ---------------------------------------------------------------------------------------------------------


def read(path: Path) -> Any:
    """Read a file as what its name says."""
    from svmpress import data, study, tuning
    from svmpress.formats import FORMATS, load

    if path.name == "search.jsonl":
        return tuning.Records.load(path)
    if path.name == "study.jsonl":
        return study.Records.load(path)
    if any(path.suffix in form.suffixes for form in FORMATS.values()):
        return load(path)
    return data.read(path, labels=None)


def check(found: Any, folder: Path) -> str | None:
    """Return what is wrong with what was read, or None."""
    import numpy as np
    from scipy import sparse

    from svmpress.data import Dataset
    from svmpress.errors import InputError
    from svmpress.formats import load, save
    from svmpress.model import KernelModel

    if isinstance(found, Dataset):
        values = found.X.data if sparse.issparse(found.X) else found.X
        return None if np.isfinite(values).all() else "rows that are not finite"
    if not isinstance(found, KernelModel):
        return None
    wide = found.n_features > 1000
    rows: Any = sparse.csr_array(([0.5], [0], [0, 1]), shape=(1, found.n_features))
    rows = rows if wide else np.abs(np.random.default_rng(0).normal(size=(3, found.n_features)))
    try:
        values = found.decision_values(rows)
        found.predict(rows)
    except InputError:
        values = None
    saved = folder / "again.svmpress"
    try:
        save(found, saved)
    except InputError:
        return None
    again = load(saved)
    if values is not None and not np.array_equal(again.decision_values(rows), values):
        return "another model after saving and loading"
    return None


class OutOfTimeError(Exception):
    """Raised by the alarm."""


def _alarm(number: int, frame: Any) -> None:
    raise OutOfTimeError


def verdict(path: Path) -> str | None:
    """Return how a file falls outside of what is promised, or None."""
    from svmpress.errors import SvmpressError

    size = path.stat().st_size
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    start = time.process_time()
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY + TIMES * size, before[1]))
    signal.setitimer(signal.ITIMER_PROF, 20)
    try:
        wrong = check(read(path), path.parent)
    except SvmpressError as e:
        message = str(e).replace(str(path), "FILE")
        bad = "\n" in message or len(message) > LONGEST_MESSAGE or "not enough memory" in message
        wrong = f"the message {message[:300]!r}" if bad else None
    except OutOfTimeError:
        wrong = "20 s were not enough"
    except Exception as e:
        wrong = f"{type(e).__name__}: {str(e)[:200]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, before)
    took = time.process_time() - start
    if wrong is None and took > SECONDS * max(1.0, size / PER_BYTES):
        wrong = f"{took:.1f} s of the processor for {size} bytes"
    return wrong


# ---------------------------------------------------------------------------------------------------------
# The process that reads
# ---------------------------------------------------------------------------------------------------------


def work(folder: Path, seed: int, until: float, most: int) -> None:
    """Read mutants until the time is up; print a line for each that falls outside, and how many there were."""
    import seeds
    from mutants import mutant

    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, _alarm)
    files = seeds.files(folder)
    names = sorted(name for name in files if not name.endswith(".range"))
    for name in names:  # what is loaded once is loaded
        (folder / name).write_bytes(files[name])
        (folder / "scaled.model.range").write_bytes(files["scaled.model.range"])
        if wrong := verdict(folder / name):
            raise SystemExit(f"the file {name} is good, but: {wrong}")
    others = list(files.values())
    tried: dict[str, int] = dict.fromkeys(names, 0)
    number = 0
    while time.monotonic() < until and number < most:
        rng = random.Random(seed * 2**32 + number)
        name = rng.choice(names)
        path, ranges = folder / name, folder / "scaled.model.range"
        scaled = name == "scaled.model"
        of_range = scaled and rng.random() < 0.5
        content = {path: files[name]} | ({ranges: files[ranges.name]} if scaled else {})
        target = ranges if of_range else path
        content[target] = mutant(content[target], others, rng)
        for file, each in content.items():
            file.write_bytes(each)
        (folder / "now").write_text(f"{seed} {number} {target.name}")
        if wrong := verdict(path):
            print(json.dumps({"outside": wrong, "file": target.name, "seed": seed, "number": number}), flush=True)
            keep(target, wrong)
        tried[name] += 1
        number += 1
        if number % 500 == 0:
            print(json.dumps({"tried": tried}), flush=True)
    print(json.dumps({"tried": tried}), flush=True)


def keep(path: Path, why: str) -> None:
    """Keep a file that fell outside, and why, unless there is one like it."""
    found = Path(__file__).parent / "found"
    found.mkdir(exist_ok=True)
    name = f"{zlib.crc32(why.encode()):08x}-{path.name}"
    if not (found / name).exists():
        (found / name).write_bytes(path.read_bytes())
        (found / f"{name}.why").write_text(why + "\n")


# ---------------------------------------------------------------------------------------------------------
# The process that watches
# ---------------------------------------------------------------------------------------------------------


def main() -> int:
    """Run readers until the time is up, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--mutants", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", help=argparse.SUPPRESS)
    args = parser.parse_args()
    until = time.monotonic() + args.seconds
    if args.work:
        work(Path(args.work), args.seed, until, args.mutants)
        return 0
    tried: dict[str, int] = {}
    outside: list[dict[str, Any]] = []
    seed = args.seed
    while time.monotonic() < until and sum(tried.values()) < args.mutants:
        seen, crashed = _watched(seed, until - time.monotonic(), args.mutants - sum(tried.values()), outside)
        for name, count in seen.items():
            tried[name] = tried.get(name, 0) + count
        seed += 1
        if not crashed:
            break
    for each in outside:
        print(json.dumps(each))
    print(f"{sum(tried.values()):,} mutants of {len(tried)} files tried, {len(outside)} fell outside")
    print(", ".join(f"{name} {count:,}" for name, count in sorted(tried.items())))
    return 1 if outside else 0


def _watched(seed: int, seconds: float, most: int, outside: list[dict[str, Any]]) -> tuple[dict[str, int], bool]:
    """Run one reading process; return how many mutants it tried of each file, and whether it crashed."""
    home = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="svmpress-fuzz-", dir=home))
    tried: dict[str, int] = {}
    command = [sys.executable, __file__, "--work", folder, "--seed", str(seed)]
    command += ["--seconds", str(seconds), "--mutants", str(most)]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system",
           "MALLOC_ARENA_MAX": "1", "OMP_STACKSIZE": "1m"}  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            said = json.loads(line)
            tried = said.get("tried", tried)
            if "outside" in said:
                outside.append(said)
        code = process.wait()
        if code:
            now = (folder / "now").read_text() if (folder / "now").exists() else "? ? the good files"
            _, number, name = now.split(maxsplit=2)
            outside.append({"outside": f"the reader ended with {code}", "file": name, "seed": seed, "number": number})
            if (folder / name).exists():
                keep(folder / name, f"the reader ended with {code}")
    finally:
        process.kill()
        shutil.rmtree(folder, ignore_errors=True)
    return tried, code != 0


if __name__ == "__main__":
    sys.exit(main())
