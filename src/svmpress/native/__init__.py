"""The extension module in C, where it was built: predictions and objectives, compiled for several instruction sets."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

from svmpress.errors import InputError

__all__ = ["instruction_set", "load"]


def load() -> tuple[ModuleType | None, str]:
    """Return the extension module, or None and the reason why it is not used."""
    if os.environ.get("SVMPRESS_RUNTIME", "").lower() == "numpy":
        return None, "SVMPRESS_RUNTIME=numpy"
    try:
        return importlib.import_module("svmpress.native._compiled"), ""
    except ModuleNotFoundError:
        return None, "no compiled predictor: svmpress was installed without a C compiler"
    except ImportError as e:  # built for another machine, or damaged
        return None, f"the compiled predictor cannot be loaded: {e}"


def instruction_set(module: ModuleType) -> str:
    """Return the instruction set to use: the fastest, or what ``SVMPRESS_ISA`` says."""
    have = [name for name, _ in module.instruction_sets()]
    wanted = os.environ.get("SVMPRESS_ISA", have[0])
    if wanted not in have:
        raise InputError(f"SVMPRESS_ISA is {wanted!r}, but this machine and build know {', '.join(have)}")
    return wanted
