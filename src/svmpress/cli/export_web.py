"""``svmpress export --target web``: a model as JavaScript."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from svmpress.cli.common import Report, bars, format_bytes, refuse_same_file, remark, table
from svmpress.cli.export_whole import accuracy_of, options, rows_of, settle
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
    is_page = Path(args.output).suffix.lower() in _PAGES
    is_whole = _is_whole(args, is_page)
    model = load_model(args, args.model)
    found = exports.obstacles(model, "web")
    if found:
        raise InputError(f"cannot write {args.output} as JavaScript: {'; '.join(found)}")
    facts: dict[str, Any] = {"output": args.output, "target": "web", "vectors": model.n_vectors}
    if is_page:
        title = Path(args.model).stem
        files: tuple[Path, ...] = (
            exports.export_page(model, args.output, image=args.image, span=args.span, title=title),
        )
    elif is_whole:
        files, found_out = _in_whole_numbers(args, model)
        facts |= found_out
    elif args.image is not None or args.span is not None:
        raise InputError(
            "--image and --span are for a page to try the model in: let the name of the output end in .html"
        )
    else:
        files = exports.export_web(model, args.output)
    sizes = {file.name: file.stat().st_size for file in files}
    rows = {name: format_bytes(size) for name, size in sizes.items()}
    shown: dict[str, Any] = {"written to": args.output, "target": "web"}
    if is_whole:
        shown["vectors"] = f"{facts['vectors']:,} of {facts['weights']}, {facts['outputs']} outputs"
    if facts.get("accuracy") is not None:
        shown["test accuracy"] = f"{facts['accuracy']:.2%} (the model: {facts['accuracy_of_model']:.2%})"
    return Report({**facts, "files": sizes}, table({**shown, **rows}))


def _is_whole(args: argparse.Namespace, is_page: bool) -> bool:
    """Return whether whole numbers were asked for; refuse options that have no meaning without them."""
    if args.weights in (None, "float"):
        others = [name for name in options(args) if name != "--weights"]
        if others:
            raise InputError(f"{others[0]} is for whole numbers: say --weights int8, say, or leave it out")
        return False
    if is_page:
        raise InputError("a page to try the model in holds floats: leave out --weights, or write a folder")
    if args.span is not None:
        raise InputError("--span is for a page to try the model in: let the name of the output end in .html")
    return True


def _in_whole_numbers(args: argparse.Namespace, model: Any) -> tuple[tuple[Path, ...], dict[str, Any]]:
    """Quantise a model and write it; return the files, and what there is to say of it."""
    from svmpress import exports

    settle(args)
    with bars(args) as progress:
        X, y = rows_of(args, args.data, model, progress, "train")
        X_test, y_test = rows_of(args, args.test, model, progress, "test", may_choose=args.data is None)
        q = exports.quantize(
            model, X, y, weights=args.weights, coef=args.coef, input=args.input, image=args.image, pool=args.pool,
            augment=args.augment, random_state=args.seed, progress=progress,
        )  # fmt: skip
    if X is None and not args.quiet:
        remark(args, "note: without --data numbers are only rounded; rows let coefficients make up for that")
    return exports.export_web(q, args.output), {
        "weights": args.weights,
        "outputs": q.n_outputs,
        "number_bytes": q.number_bytes,
        "accuracy": None if X_test is None else accuracy_of(q, X_test, y_test),
        "accuracy_of_model": None if X_test is None else accuracy_of(model, X_test, y_test, args),
    }
