"""Compile an exported folder for a simulated device, run it there, and read what it says."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from svmpress.errors import InputError, SvmpressError
from svmpress.storage import PathLike

_SECONDS = 300
_COMMON = (
    "-std=c99",
    "-Os",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-ffunction-sections",
    "-fdata-sections",
    "-Wl,--gc-sections",
)


@dataclass(frozen=True)
class Device:
    """A simulated device.

    Parameters
    ----------
    title : str
    compiler, size, simulator : str
        Programs.
    flags : tuple of str
    machine : str
        What the simulator calls it.
    hertz : float
        Of the processor on the simulator's clock.
    """

    title: str
    compiler: str
    size: str
    simulator: str
    flags: tuple[str, ...]
    machine: str
    hertz: float

    @property
    def is_avr(self) -> bool:
        """Whether cycles are counted, as simavr does; instructions otherwise."""
        return self.compiler == "avr-gcc"


def _arm(title: str, machine: str, core: str, hertz: float, *more: str) -> Device:
    flags = (f"-mcpu=cortex-{core}", "-mthumb", *more)
    return Device(title, "arm-none-eabi-gcc", "arm-none-eabi-size", "qemu-system-arm", flags, machine, hertz)


DEVICES = {
    "uno": Device(
        "Arduino Uno, ATmega328P", "avr-gcc", "avr-size", "simavr", ("-mmcu=atmega328p",), "atmega328p", 16e6
    ),
    "microbit": _arm("micro:bit, Cortex-M0", "microbit", "m0", 16e6),
    "m3": _arm("MPS2 AN385, Cortex-M3", "mps2-an385", "m3", 25e6),
    "m4": _arm("MPS2 AN386, Cortex-M4F", "mps2-an386", "m4", 25e6, "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"),
    "m7": _arm("MPS2 AN500, Cortex-M7", "mps2-an500", "m7", 25e6, "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard"),
}
"""Simulated devices by name."""


@dataclass(frozen=True)
class Measured:
    """What a prediction takes on a device.

    Parameters
    ----------
    device : str
    rows, wrong : int
        Rows of the self-test, and how many of them were answered otherwise than by the emulator.
    flash : int
        Bytes of a whole firmware, which reads rows and answers them, for the Uno; of the model alone elsewhere.
    ram : int
        Bytes of that firmware with the row, and of the stack at its deepest; elsewhere of row and stack.
    cycles : int
        Of one prediction; instructions on Cortex-M.
    milliseconds : float or None
        At the clock of the Uno; instructions are no time.
    """

    device: str
    rows: int
    wrong: int
    flash: int
    ram: int
    cycles: int
    milliseconds: float | None


def missing(name: str) -> list[str]:
    """Return the programs that a simulated device needs and that are not installed."""
    device = _device(name)
    return [p for p in (device.compiler, device.size, device.simulator) if shutil.which(p) is None]


def measure(folder: PathLike, device: str = "uno", *, prefix: str = "svm") -> Measured:
    """Run the self-test of an exported folder on a simulated device, and measure a prediction.

    Parameters
    ----------
    folder : path
        Written by :func:`svmpress.export_c`.
    device : "uno", "microbit", "m3", "m4" or "m7"
    prefix : str

    Raises
    ------
    InputError
        When the programs that it takes are not installed, or the code does not fit the device.
    """
    lacking = missing(device)
    if lacking:
        raise InputError(f"to measure on {DEVICES[device].title} install {', '.join(lacking)}")
    with tempfile.TemporaryDirectory() as made:
        here = Path(made)
        for name in (f"{prefix}.h", f"{prefix}.c", "selftest.c"):
            text = (Path(folder) / name).read_text(encoding="utf-8")
            (here / name).write_text(text, encoding="utf-8")
        for resource in files("svmpress.exports.devices").joinpath("firmware").iterdir():
            with as_file(resource) as path:
                text = path.read_text(encoding="utf-8")
            if prefix != "svm":
                text = re.sub(r"\bsvm(?=_|\.[ch]\b)", prefix, text)
                text = re.sub(r"\bSVM(?=_)", prefix.upper(), text)
            (here / path.name).write_text(text, encoding="utf-8")
        kind = DEVICES[device]
        return _on_avr(kind, device, here, prefix) if kind.is_avr else _on_arm(kind, device, here, prefix)


def _on_avr(kind: Device, name: str, here: Path, prefix: str) -> Measured:
    _compile(kind, here, "product.elf", "product_avr.c", f"{prefix}.c")
    _compile(kind, here, "measure.elf", "measure_avr.c", f"{prefix}.c")
    flash, static = _sizes(kind, here / "product.elf")
    said = _run([kind.simulator, "-m", kind.machine, "-f", str(int(kind.hertz)), "measure.elf"], here)
    facts = _facts(said)
    cycles = facts["cycles"]
    milliseconds = 1000 * cycles / kind.hertz
    return Measured(name, facts["rows"], facts["wrong"], flash, static + facts["stack"], cycles, milliseconds)


def _on_arm(kind: Device, name: str, here: Path, prefix: str) -> Measured:
    link = ("-nostartfiles", "-T", "arm.ld", "--specs=nosys.specs")
    _compile(kind, here, "measure.elf", "measure_arm.c", f"{prefix}.c", *link, "-lm")
    _compile(kind, here, "model.o", "-c", f"{prefix}.c")
    flash, _ = _sizes(kind, here / "model.o")
    command = [kind.simulator, "-M", kind.machine, "-kernel", "measure.elf", "-icount", "shift=0"]
    said = _run([*command, "-semihosting", "-nographic", "-monitor", "none", "-serial", "none"], here)
    facts = _facts(said)
    row = _row_bytes(here / f"{prefix}.h", prefix)
    instructions = round(facts["ticks"] * 1e9 / kind.hertz)
    return Measured(name, facts["rows"], facts["wrong"], flash, row + facts["stack"], instructions, None)


def _row_bytes(header: Path, prefix: str) -> int:
    text = header.read_text(encoding="utf-8")
    (inputs,) = re.findall(rf"#define {prefix.upper()}_INPUTS (\d+)", text)
    return int(inputs) * (1 if f"typedef uint8_t {prefix}_input" in text else 4)


def _device(name: str) -> Device:
    if name not in DEVICES:
        raise InputError(f"unknown device {name!r}; choose one of {', '.join(DEVICES)}")
    return DEVICES[name]


def _compile(kind: Device, here: Path, output: str, *sources: str) -> None:
    command = [kind.compiler, *kind.flags, *_COMMON, "-I.", *sources, "-o", output]
    if "-c" not in sources and "-lm" not in sources:
        command.append("-lm")
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False, timeout=_SECONDS)
    if done.returncode and re.search(r"will not fit|overflowed|is too large", done.stderr):
        raise InputError(f"the code does not fit the flash or the RAM of {kind.title}")
    if done.returncode:
        errors = re.findall(r"(?:error|Error): (.*)", done.stderr) or [done.stderr.strip()]
        raise InputError(f"the code does not compile for {kind.title}: {errors[0].strip()}")


def _sizes(kind: Device, path: Path) -> tuple[int, int]:
    """Return the bytes of flash and of static RAM."""
    said = _run([kind.size, str(path)], path.parent).splitlines()[1].split()
    text, data, bss = (int(n) for n in said[:3])
    return text + data, data + bss


def _run(command: list[str], here: Path) -> str:
    try:
        done = subprocess.run(
            command,
            cwd=here,
            capture_output=True,
            check=False,
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as e:
        raise SvmpressError(f"{command[0]} did not end within {_SECONDS} s") from e
    return (done.stdout + done.stderr).decode(errors="replace")


def _facts(said: str) -> dict[str, int]:
    found = {name: int(value) for name, value in re.findall(r"(stack|cycles|ticks|wrong|rows)=(\d+)", said)}
    if not {"stack", "wrong", "rows"} <= set(found):
        raise SvmpressError(f"the simulated device did not finish: {' '.join(said.split())[-300:]}")
    return found
