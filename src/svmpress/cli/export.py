"""``svmpress export``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from svmpress.cli import export_c
from svmpress.cli.common import (
    Report,
    add_command,
    copies_remark,
    destination,
    format_bytes,
    refuse_obstacles,
    remark,
    table,
)

_EPILOG = f"""\
A LibSVM file holds no input scaling: it goes beside the model as FILE.range, for svm-scale -r.
A LibSVM vector serves one class only, so a model of many classes that share their vectors needs copies;
the command says how many before it writes.

{export_c.EPILOG}
examples:
  svmpress export small.svmpress -o small.model
  svmpress export big.model -o big.svmpress
  svmpress export small.svmpress -o firmware/ --target c --data train.svm --weights int4
"""


def add(commands: Any) -> None:
    """Declare the command."""
    p = add_command(
        commands,
        "export",
        run,
        usage="MODEL -o FILE [options]",
        help="Write a model in another format, or as code for another machine.",
        epilog=_EPILOG,
    )
    p.add_argument("model", metavar="MODEL", help="model file")
    p.add_argument("-o", "--output", metavar="FILE", required=True, help="file to write; the suffix names its format")
    p.add_argument(
        "--target", choices=("file", "c"), default="file", help="file (default), or c: a folder of C code for a device"
    )
    p.add_argument("--format", metavar="NAME", help="format of that file (default: by its suffix)")
    export_c.add_arguments(p)


def run(args: argparse.Namespace) -> Report:
    """Convert a model file."""
    if args.target == "c":
        return export_c.run(args)
    from svmpress import formats

    form = destination(args.output, args.format, args.model)
    model = formats.load(args.model)
    refuse_obstacles(model, args.output, form)
    note = copies_remark(model, form)
    if note:
        remark(args, f"note: {note}")
    formats.save(model, args.output, form)
    size = Path(args.output).stat().st_size
    facts = {
        "output": args.output,
        "format": form,
        "file_bytes": size,
        "vectors": model.n_vectors,
        "vectors_stored": formats.save_cost(model, form),
        "notes": [note] if note else [],
    }
    return Report(facts, table({"written to": args.output, "format": form, "size": format_bytes(size)}))
