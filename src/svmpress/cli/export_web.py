"""``svmpress export --target web``: a model as JavaScript."""

from __future__ import annotations

import argparse

from svmpress.cli.common import Report, format_bytes, refuse_same_file, table
from svmpress.cli.models import load_model
from svmpress.errors import InputError

SUFFIXES = (".js", ".mjs")


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
    files = exports.export_web(model, args.output)
    sizes = {file.name: file.stat().st_size for file in files}
    facts = {"output": args.output, "target": "web", "vectors": model.n_vectors, "files": sizes}
    rows = {name: format_bytes(size) for name, size in sizes.items()}
    return Report(facts, table({"written to": args.output, "target": "web", **rows}))
