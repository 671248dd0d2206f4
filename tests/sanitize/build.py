"""Build the extension with AddressSanitizer and UBSan beside a copy of the package: ``build.py FOLDER``.

The sources and flags are those of ``native/meson.build``, but for the optimisation: sanitizers make it slow.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "svmpress"
SETS = {"baseline": []}
if platform.machine() in ("x86_64", "AMD64"):
    SETS |= {
        "avx2": ["-mavx2", "-mfma"],
        "avx512": ["-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mfma"],
    }
FLAGS = ["-std=gnu11", "-O1", "-g", "-fPIC", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined",
         "-fno-omit-frame-pointer", "-ffp-contract=fast", "-Wno-psabi", "-Wno-format"]  # fmt: skip


def build(folder: Path) -> None:
    """Copy the package into a folder and compile its extension there."""
    package = folder / "svmpress"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    native = package / "native"
    compiler = shutil.which("cc") or "gcc"
    headers = [f"-I{sysconfig.get_paths()['include']}", "-DPy_LIMITED_API=0x030b0000"]
    jobs = [(f"fused_{isa}.o", "fused.c", [f"-DISA={isa}", *flags]) for isa, flags in SETS.items()]
    jobs += [(f"{path.stem}.o", path.name, headers) for path in native.glob("*.c") if path.name != "fused.c"]
    running = [
        subprocess.Popen([compiler, *FLAGS, *flags, "-c", source, "-o", target], cwd=native)
        for target, source, flags in jobs
    ]
    codes = [process.wait() for process in running]
    if any(codes):
        raise SystemExit("the extension could not be compiled")
    objects = [target for target, _, _ in jobs]
    command = [compiler, "-shared", *FLAGS, *objects, "-lm", "-lpthread", "-o", "_compiled.abi3.so"]
    subprocess.run(command, cwd=native, check=True)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
