"""``svmpress predict``."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from svmpress.cli.columns import add_files, files_of
from svmpress.cli.common import Report, add_command, add_data_arguments, bars, data_choices, refuse_same_file
from svmpress.cli.models import add_model_arguments, load_model
from svmpress.cli.predict_cluster import check_cluster_arguments, predict_on_cluster
from svmpress.cli.streams import output

if TYPE_CHECKING:
    from svmpress.data import TableWriter
    from svmpress.model import KernelModel

_EPILOG = """\
Files are read, answered and written in blocks, so they may be larger than memory. Several files, the data
files of a folder, and those that a pattern matches are answered one after the other. Labels in them are
ignored.

The suffix of FILE says what is written. .csv, .tsv and .parquet are tables: the file of each row if there
are several, the columns named by --id and those of text, and the answer. Anything else is text, one answer
a line with 17 digits, as svm-predict writes it; with --proba as svm-predict -b 1 does.

With --workers or --dask the output is a folder of Parquet files, one for each file of rows, or for about a
million rows of a large Parquet file. Each is whole or not there; the same command, started again, goes on
with those that are missing. The workers of a cluster must see the same files by the same names.

examples:
  svmpress predict small.model test.svm -o labels.txt
  svmpress predict small.svmpress measurements.parquet -o answers.parquet --id sample
  svmpress predict small.svmpress 'days/*.csv' -o answers.csv --columns width,height
  svmpress predict small.model test.svm --scores -o scores.txt
  zcat big.svm.gz | svmpress predict small.model - -o labels.txt
  svmpress predict small.svmpress 'days/*.parquet' -o answers/ --workers 8
  svmpress predict small.svmpress 'days/*.parquet' -o answers/ --dask tcp://10.0.0.1:8786
"""


def add(commands: Any) -> None:
    """Declare the command."""
    p = add_command(
        commands,
        "predict",
        run,
        usage="MODEL DATA [DATA ...] [-o FILE] [options]",
        help="Predict the rows of data files: lines as svm-predict writes them, or a table.",
        epilog=_EPILOG,
    )
    p.add_argument("model", metavar="MODEL", help="model file")
    add_files(p, "data file, with or without labels")
    p.add_argument(
        "-o", "--output", metavar="FILE", help="file, or folder, to write (default: standard output, as is -)"
    )
    what = p.add_mutually_exclusive_group()
    what.add_argument("--scores", action="store_true", help="write decision values instead of labels")
    what.add_argument(
        "--proba",
        action="store_true",
        help="write the likeliest class and the probability of each, where the model has probabilities",
    )
    where = p.add_mutually_exclusive_group()
    where.add_argument(
        "--workers", type=int, metavar="N", help="predict in N processes of this machine; -o is a folder"
    )
    where.add_argument(
        "--dask", metavar="ADDRESS", help="predict on the Dask cluster of this scheduler; -o is a folder"
    )
    add_model_arguments(p)
    add_data_arguments(p, split="test")


def run(args: argparse.Namespace) -> Report:
    """Predict, write, and say how fast."""
    from svmpress.data import answers, streaming
    from svmpress.errors import InputError

    to_stdout = args.output in (None, "-")
    if args.json and to_stdout:
        raise InputError("--json describes the run on standard output, so the labels need a file: give -o FILE")
    files = files_of(args.data)
    if not to_stdout:
        refuse_same_file(args.output, args.model, *files)
    if args.workers is not None or args.dask is not None:
        check_cluster_arguments(args, files)
    model = load_model(args, args.model)
    options = streaming.read_options(model, **({"labels": None, "keep_text": True} | data_choices(args)))
    question: streaming.Question = "scores" if args.scores else "probabilities" if args.proba else "labels"
    if args.workers is not None or args.dask is not None:
        return predict_on_cluster(args, model, files, options, question)
    rows, busy, start = 0, 0.0, time.perf_counter()
    with output(args.output) as file, bars(args) as progress, _writer(args, file, model) as writer:
        for part in streaming.predict_file(model, files, options, question=question, progress=progress):
            if isinstance(writer, _Lines):
                writer.write(answers.own_answers(part, question))
            else:
                writer.write(answers.answer_columns(part, question, part.block.file if len(files) > 1 else None))
            rows, busy = rows + len(part.values), busy + part.seconds
        file.flush()
    took = time.perf_counter() - start
    facts = {
        "output": args.output,
        "files": len(files),
        "rows": rows,
        "seconds": took,
        "seconds_predicting": busy,
        "rows_per_second": rows / took,
    }
    text = f"{rows:,} rows in {took:.2f} s, {rows / took:,.0f} rows/s ({busy:.2f} s of it predicting)"
    return Report(facts, text, to_stderr=to_stdout)


# ---------------------------------------------------------------------------------------------------------
# Lines and tables
# ---------------------------------------------------------------------------------------------------------


class _Lines:
    """One answer a line; probabilities as svm-predict writes them, after a line with the classes."""

    def __init__(self, file: IO[bytes], head: str) -> None:
        self._file, self._head = file, head

    def write(self, columns: Mapping[str, Any]) -> None:
        from svmpress.data import streaming

        texts = [streaming.as_lines(a) for a in columns.values()]
        if len(texts) > 1:
            texts = [f"{' '.join(parts)}\n" for parts in zip(*(text.splitlines() for text in texts), strict=True)]
        self._file.write((self._head + "".join(texts)).encode("utf-8", "surrogatepass"))
        self._head = ""


@contextmanager
def _writer(args: argparse.Namespace, file: Any, model: KernelModel) -> Iterator[TableWriter]:
    from svmpress import data

    form = data.table_format(args.output)
    if form is not None:
        with data.table_writer(file, form) as writer:
            yield writer
    else:
        yield _Lines(file, _head(model) if args.proba else "")


def _head(model: KernelModel) -> str:
    """Return the line before probabilities."""
    from svmpress import data

    if model.task == "outlier":
        return "label normal outlier\n"
    classes = [] if model.classes_ is None else [data.label_text(c) for c in model.classes_.tolist()]
    return f"labels {' '.join(classes)}\n"
