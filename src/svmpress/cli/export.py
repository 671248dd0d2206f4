"""``svmpress export``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from svmpress.cli import export_c, export_web, export_whole
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
from svmpress.cli.models import add_model_arguments, load_model
from svmpress.errors import InputError

TARGETS = {"web": export_web, "c": export_c}
"""Targets that are no model files, by name: a module with ``SUFFIXES`` and ``run(args)``."""

_EPILOG = f"""\
A LibSVM file holds no input scaling: it goes beside the model as FILE.range, for svm-scale -r.
A LibSVM vector serves one class only, so a model of many classes that share their vectors needs copies;
the command says how many before it writes.
An ONNX file is a graph of plain operators for onnxruntime and the like; such a graph is not read back.
A file ending in .js or .mjs is a module of JavaScript for browsers and node; a folder (--target web) gets a page
that tries it, too. A file ending in .html is a page with sliders for the features, or a canvas to draw on (--image).

{export_c.EPILOG}
examples:
  svmpress export small.svmpress -o small.model
  svmpress export small.svmpress -o small.onnx
  svmpress export big.model -o big.svmpress
  svmpress export small.svmpress -o model.js
  svmpress export small.svmpress --target web -o web/
  svmpress export small.svmpress -o model.js --weights int8 --data train.svm
  svmpress export small.svmpress -o firmware/ --target c --data train.svm --weights int4
  svmpress export small.svmpress -o try.html --image 28x28 --span 0 255
"""


def add(commands: Any) -> None:
    """Declare the command."""
    p = add_command(
        commands,
        "export",
        run,
        usage="MODEL -o FILE [options]",
        help="Write a model in another format, or as a program.",
        epilog=_EPILOG,
    )
    p.add_argument("model", metavar="MODEL", help="model file")
    p.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="file to write, or folder; the suffix names its format"
    )
    p.add_argument(
        "--target",
        choices=("file", *TARGETS),
        help="what to make: a model file, a program for the web, or a folder of C code for a device (default: by the "
        "suffix of the output)",
    )
    p.add_argument("--format", metavar="NAME", help="format of that file (default: by its suffix)")
    p.add_argument(
        "--image",
        type=export_whole.image_size,
        metavar="HxW",
        help="features are the pixels of a picture, 28x28 say: for a page, which has a canvas then, and for C code",
    )
    p.add_argument(
        "--span",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="least and largest value of the features on a page (default: told by the vectors)",
    )
    onnx = p.add_argument_group("ONNX files")
    onnx.add_argument("--opset", type=int, metavar="N", help="version of the operators, 13 to 17 (default: 13)")
    onnx.add_argument("--float64", action="store_true", help="double precision (default: float32)")
    onnx.add_argument("--no-probabilities", action="store_true", help="leave out what the model has of them")
    add_model_arguments(p)
    export_whole.add_arguments(p)


def run(args: argparse.Namespace) -> Report:
    """Convert a model file, or hand over to the module of its target."""
    suffix = Path(args.output).suffix.lower()
    meant = next((name for name, module in TARGETS.items() if suffix in module.SUFFIXES), "file")
    target = args.target or (meant if args.format is None else "file")
    if target != "file" and _options(args):
        raise InputError(
            f"--opset, --float64 and --no-probabilities are for ONNX files; {args.output} is to be for {target}"
        )
    if target != "c":
        _refuse_options_of_programs(args, target)
    export_whole.refuse_how_to_read_nothing(args)
    if target == "file" and (args.image is not None or args.span is not None):
        raise InputError(
            "--image and --span are for a page to try the model in: let the name of the output end in .html"
        )
    return _to_file(args) if target == "file" else TARGETS[target].run(args)


def _refuse_options_of_programs(args: argparse.Namespace, target: str) -> None:
    of_devices = export_whole.options(args, of_devices=True)
    if of_devices:
        raise InputError(f"{of_devices[0]} is for C code: say --target c, and name a folder (-o FOLDER)")
    given = export_whole.options(args)
    if target == "file" and given:
        raise InputError(f"{given[0]} is for programs: say --target c (-o FOLDER) or --target web (-o model.js)")


def _to_file(args: argparse.Namespace) -> Report:
    from svmpress import formats

    form = destination(args.output, args.format, args.model)
    model = load_model(args, args.model)
    options = _options(args)
    refuse_obstacles(model, args.output, form, **options)
    note = copies_remark(model, form)
    if note:
        remark(args, f"note: {note}")
    formats.save(model, args.output, form, **options)
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


def _options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the format that the arguments set."""
    chosen = {
        "opset": args.opset,
        "dtype": "float64" if args.float64 else None,
        "probabilities": False if args.no_probabilities else None,
    }
    return {name: value for name, value in chosen.items() if value is not None}
