"""``svmpress export --target web``: a model as JavaScript."""

from __future__ import annotations

import argparse
from pathlib import Path

from svmpress.cli.common import Report, format_bytes, refuse_same_file, table
from svmpress.cli.models import load_model
from svmpress.errors import InputError

SUFFIXES = (".js", ".mjs", ".html")
_PAGES = (".html",)


def run(args: argparse.Namespace) -> Report:
    """Write the module and what belongs to it: beside it for a file, else into a folder."""
    from svmpress import exports

    if args.format is not None:
        raise InputError("--format is for model files; a web model is JavaScript")
    refuse_same_file(args.output, args.model)
    model = load_model(args, args.model)
    found = exports.obstacles(model, "web")
    if found:
        raise InputError(f"cannot write {args.output} as JavaScript: {'; '.join(found)}")
    if Path(args.output).suffix.lower() in _PAGES:
        title = Path(args.model).stem
        files: tuple[Path, ...] = (
            exports.export_page(model, args.output, image=args.image, span=args.span, title=title),
        )
    elif args.image is not None or args.span is not None:
        raise InputError(
            "--image and --span are for a page to try the model in: let the name of the output end in .html"
        )
    else:
        files = exports.export_web(model, args.output)
    sizes = {file.name: file.stat().st_size for file in files}
    facts = {"output": args.output, "target": "web", "vectors": model.n_vectors, "files": sizes}
    rows = {name: format_bytes(size) for name, size in sizes.items()}
    return Report(facts, table({"written to": args.output, "target": "web", **rows}))
