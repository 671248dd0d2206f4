"""From files of rows to a folder of Parquet parts, each whole or not there, on the workers of a cluster.

A part is a file of rows, or some consecutive row groups of a large Parquet file. Its answers are a file of the same
number, so what is finished is known by its name, and a run that was interrupted goes on with what is missing. The file
``_svmpress.json`` in the folder tells of which model, files and question the parts are; readers of Parquet folders pass
over names that begin with an underscore.

Workers read and write by the same paths as their client: both folders must be on a file system that all of them see.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svmpress import __version__, data, formats
from svmpress.data import answers, streaming
from svmpress.distributed.clusters import check_workers, fair_threads, while_there
from svmpress.distributed.delivery import deliver
from svmpress.errors import InputError, SvmpressWarning
from svmpress.model import KernelModel
from svmpress.storage import PathLike, replacing

if TYPE_CHECKING:
    from distributed import Client

MANIFEST = "_svmpress.json"
"""What tells of which model and files the parts of a folder are."""

_PART_ROWS = 2**20
"""Rows of a part at least, where a file can be divided."""


@dataclass(frozen=True)
class Part:
    """Rows that are answered together.

    Parameters
    ----------
    name : str
        The file of their answers.
    file : str
    row_groups : (int, int), optional
        The first of a Parquet file, and the first that is no longer of this part; None: the whole file.
    rows : int, optional
        How many, where the file says so.
    """

    name: str
    file: str
    row_groups: tuple[int, int] | None = None
    rows: int | None = None

    def __str__(self) -> str:
        """Return what messages call it."""
        if self.row_groups is None:
            return self.file
        return f"{self.file}, row groups {self.row_groups[0]} to {self.row_groups[1] - 1}"


@dataclass(frozen=True)
class FilesScored:
    """What :func:`predict_files` did.

    Parameters
    ----------
    parts : int
        In the folder now.
    skipped : int
        Of these, how many were there already.
    rows : int
        Answered in this run.
    seconds : float
        Of prediction alone, over all tasks.
    empty : tuple of str
        Parquet files without rows; they have no part.
    """

    parts: int
    skipped: int
    rows: int
    seconds: float
    empty: tuple[str, ...] = ()


def predict_files(
    model: KernelModel,
    files: Sequence[PathLike],
    folder: PathLike,
    client: Client,
    *,
    question: streaming.Question = "labels",
    options: data.ReadOptions | None = None,
    progress: streaming.Progress | None = None,
) -> FilesScored:
    """Answer the rows of files on a cluster, and write a folder of Parquet files, ``part-000000.parquet`` and so on.

    Parameters
    ----------
    model : KernelModel
    files : sequence of paths
        As :func:`svmpress.data.data_files` lists them; answers are in their order.
    folder : path
        Parts that are there from an earlier run of the same task are not made again.
    client : distributed.Client
        Of a cluster whose workers see the same files.
    question : "labels", "scores" or "probabilities"
    options : svmpress.data.ReadOptions, optional
        How to read the files; None: as :func:`svmpress.data.streaming.read_options` has it for the model.
    progress : callable, optional
        Called with ``("predicting", rows, rows of all)``; parts where the files do not say how many rows they have.

    Raises
    ------
    InputError
        Naming the part: rows that cannot be used, a cluster that went away, workers that cannot do the work. Parts that
        were finished stay, and the same call goes on from there.
    """
    options = options or streaming.read_options(model, labels=None)
    parts, empty = plan([os.path.abspath(name) for name in files], options.format)
    options = _settled_on_first_rows(model, parts, options, question)
    target = Path(os.path.abspath(folder))
    task = {
        "svmpress": __version__,
        "model": _digest(model),
        "question": question,
        "options": _plain(asdict(options)),
        "files": [_identity(name) for name in sorted({part.file for part in parts})],
        "parts": [asdict(part) for part in parts],
    }
    check_workers(client, model)
    _claim(target, task)
    _check_folder(client, target)
    if not client.scheduler_info(n_workers=-1)["workers"]:
        warnings.warn("the cluster has no workers: the work begins when one comes", SvmpressWarning, stacklevel=2)
    missing = [part for part in parts if not (target / part.name).exists()]
    tally = _Tally(parts, missing, progress)
    with while_there(client, "; parts that are finished stay, and the same call makes the others"):
        for rows, seconds in _scored(client, model, missing, target, options, question):
            tally.add(rows, seconds)
    return FilesScored(len(parts), len(parts) - len(missing), tally.rows, tally.seconds, empty)


def _scored(
    client: Client,
    model: KernelModel,
    parts: Sequence[Part],
    folder: Path,
    options: data.ReadOptions,
    question: streaming.Question,
) -> Iterator[tuple[int, float]]:
    """Yield rows and seconds of each part as it is finished; what is left when this ends early is given up."""
    from distributed import as_completed

    delivered = client.compute(deliver(model))
    run = os.urandom(8).hex()  # a part that is to be made again must not be taken from a run before
    futures = [
        client.submit(
            score_part, delivered, part, str(folder), options, question, pure=False, key=f"{part} ({part.name}) {run}"
        )
        for part in parts
    ]
    try:
        for future in as_completed(futures, loop=client.loop):
            yield future.result()
    finally:
        with contextlib.suppress(Exception):  # a cluster that is gone has nothing left to give up
            client.cancel(futures, force=True)


def score_part(
    model: KernelModel, part: Part, folder: str, options: data.ReadOptions, question: streaming.Question
) -> tuple[int, float]:
    """Answer the rows of a part and write them, on a worker; return how many, and the seconds of prediction alone."""
    rows, seconds = 0, 0.0
    options = replace(options, row_groups=part.row_groups)
    with replacing(Path(folder) / part.name) as (file,), data.table_writer(file, "parquet") as writer:
        found = streaming.predict_file(model, part.file, options, question=question, n_threads=fair_threads())
        for answered in found:
            writer.write(answers.answer_columns(answered, question, part.file))
            rows, seconds = rows + len(answered.values), seconds + answered.seconds
    return rows, seconds


class _Tally:
    """Rows that are answered, and what to show of them."""

    def __init__(self, parts: Sequence[Part], missing: Sequence[Part], progress: streaming.Progress | None) -> None:
        known = [part.rows for part in parts if part.rows is not None]
        self._total = sum(known) if len(known) == len(parts) else 0
        self._done = self._total - sum(part.rows or 0 for part in missing) if self._total else 0
        self._progress = progress
        self.rows, self.seconds = 0, 0.0
        self._show()

    def add(self, rows: int, seconds: float) -> None:
        """Count a part."""
        self.rows, self.seconds = self.rows + rows, self.seconds + seconds
        self._show()

    def _show(self) -> None:
        if self._progress is not None:
            self._progress("predicting", self._done + self.rows, self._total)


# ---------------------------------------------------------------------------------------------------------
# What is to be done
# ---------------------------------------------------------------------------------------------------------


def plan(
    files: Iterable[str], format: data.DataFormat | None = None, part_rows: int = _PART_ROWS
) -> tuple[list[Part], tuple[str, ...]]:
    """Return the parts of files, in their order, and the Parquet files that have no rows.

    A Parquet file is divided between row groups, where a part has as many rows as it should.

    Examples
    --------
    >>> plan(["/rows/monday.csv", "/rows/tuesday.csv"])[0][1]
    Part(name='part-000001.parquet', file='/rows/tuesday.csv', row_groups=None, rows=None)
    """
    found: list[tuple[str, tuple[int, int] | None, int | None]] = []
    empty = []
    for file in files:
        sizes = data.row_group_sizes(file, format)
        if sizes is None:
            found.append((file, None, None))
        elif sum(sizes) == 0:
            empty.append(file)
        else:
            found += [(file, groups, rows) for groups, rows in _divided(sizes, part_rows)]
    if not found:
        raise InputError(f"no file has rows; the first is {empty[0]}" if empty else "there are no files to predict")
    return [Part(f"part-{k:06d}.parquet", *parts) for k, parts in enumerate(found)], tuple(empty)


def _divided(sizes: Sequence[int], part_rows: int) -> Iterator[tuple[tuple[int, int] | None, int]]:
    """Yield row groups that make a part, and their rows; None for all groups of a file."""
    first, rows, left = 0, 0, sum(sizes)
    for k, size in enumerate(sizes):
        rows, left = rows + size, left - size
        if rows >= part_rows and left >= part_rows / 2:
            yield (first, k + 1), rows
            first, rows = k + 1, 0
    yield (None if first == 0 else (first, len(sizes))), rows


def _settled_on_first_rows(
    model: KernelModel, parts: Sequence[Part], options: data.ReadOptions, question: streaming.Question
) -> data.ReadOptions:
    """Return how to read all files: the columns of each are those of the first, as they are for one process.

    A block of the first file is answered here, so that what is wrong with all of them is said before a cluster is at
    work.
    """
    some = replace(options, row_groups=parts[0].row_groups)
    first = next(streaming.predict_file(model, parts[0].file, some, question=question))
    answers.answer_columns(first, question, parts[0].file)
    return data.following(options, first.block)


def _claim(folder: Path, task: dict[str, Any]) -> None:
    """Make the folder of this task, or see that the one that stands there is."""
    manifest = folder / MANIFEST
    try:
        folder.mkdir(exist_ok=True)
        others = sorted(p.name for p in folder.iterdir() if not p.name.startswith("."))
        text = manifest.read_text(encoding="utf-8") if others and MANIFEST in others else ""
    except OSError as e:
        raise InputError(f"cannot write to the folder {folder}: {e.strerror or e}") from e
    if not text:
        if others:
            raise InputError(f"the folder {folder} holds other things, such as {others[0]!r}: choose another one")
        with replacing(manifest) as (file,):
            file.write(json.dumps(task, indent=1).encode())
        return
    try:
        before = json.loads(text)
        differs = next((key for key in task if before.get(key) != _plain(task[key])), None)
    except (ValueError, AttributeError):
        raise InputError(f"{manifest} is not what svmpress wrote: choose another folder") from None
    if differs is not None:
        what = {"svmpress": "version of svmpress", "options": "way of reading"}.get(differs, differs.removesuffix("s"))
        raise InputError(f"the folder {folder} holds parts of another {what}: choose another one, or remove it")


def _check_folder(client: Client, folder: Path) -> None:
    with while_there(client):
        seen = client.run(os.path.isdir, str(folder))
    blind = next((worker for worker, there in seen.items() if not there), None)
    if blind is not None:
        raise InputError(f"the worker {blind} does not see the folder {folder}: choose one that all workers share")


def _digest(model: KernelModel) -> str:
    """Return what tells this model from others: the digest of its native file, which is the same for the same model."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "model.svmpress"
        formats.save(model, path)
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def _identity(file: str) -> list[Any]:
    """Return what changes when a file does."""
    try:
        about = os.stat(file)
    except OSError as e:
        raise InputError(f"cannot read {file}: {e.strerror or e}") from e
    return [file, about.st_size, about.st_mtime_ns]


def _plain(value: Any) -> Any:
    """Return a value as it comes back from JSON."""
    return json.loads(json.dumps(value))
