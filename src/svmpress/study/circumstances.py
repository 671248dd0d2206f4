"""What the study was run with and on: the first section of its page."""

from __future__ import annotations

from collections.abc import Iterable

from svmpress.study.averages import methods_of
from svmpress.study.figures import STYLES, label
from svmpress.study.methods import QUICK_ITERATIONS, QUICK_WORK
from svmpress.study.plan import FULL, RATIOS, shares
from svmpress.study.records import DONE, FAILED, SKIPPED, UNFINISHED, Records
from svmpress.study.tables import dmoz_note, machines_table, not_run, share, table1


def what_was_run(records: Records) -> list[str]:
    """Return the paragraphs of the section."""
    counts = {
        status: sum(c.status == status for c in records.cells.values())
        for status in (DONE, SKIPPED, UNFINISHED, FAILED)
    }
    seeds = sorted({seed for _, _, seed, _ in records.cells})
    methods = methods_of(records, tuple(STYLES))
    runs = records.runs
    rows = {r.rows for r in runs}
    limits = sorted({r.limit for r in runs if r.limit is not None})
    sentences = [
        f"{len(records.sets)} data sets, {len(methods) + 1} methods, seeds {', '.join(map(str, seeds))}. "
        f"Models built and measured: {counts[DONE]:,}. Cells without one, listed at the end: not applicable "
        f"{counts[SKIPPED]:,}, not finished in time {counts[UNFINISHED]:,}, failed {counts[FAILED]:,}, not run "
        f"{_not_run(records)}.",
        f"Methods: {'; '.join(label(m) for m in (FULL, *methods))}.",
        "Each model is judged on the test rows, which no method sees. (Scores on them were looked at while svmpress "
        "was developed; they are not wholly untouched.) *Same answer* is the share of test rows on which a model "
        "answers as the full SVM does. Multiply-adds of a prediction are one for each feature of each vector "
        "(of sparse rows: for each non-zero, on average) and one for each coefficient that is not zero. "
        "Build times contain everything from the trained SVM, or from the rows where a method trains its own, to the "
        "small model (of the SVC on a subsample: the search for the rows, a dozen trainings; of networks, boosting, "
        "Fourier and Nystroem features: their cross-validation); times of prediction are "
        "the best of several runs over 1,000 test rows in one batch.",
        "svmpress, Reduced-SVM, the SVC on a subsample, Nystroem, networks, boosting and Fourier features know the "
        "labels of the training rows, LARS-SVM and CVM those of the support vectors; the reduced set, k-means and "
        "random vectors are fitted to values of the SVM "
        "alone. Where held-out rows prefer it, svmpress fits classes and not the SVM's values: such a model can be "
        "better than the SVM, answers less like it, and has one output a class instead of one a pair ([method.md]"
        "(method.md)).",
    ]
    if rows - {None}:
        most = max(r for r in rows if r is not None)
        sentences.append(
            f"This was a quick run: at most {most:,} training rows of each set and {most // 2:,} test rows, drawn at "
            "random with seed 0. Its numbers are not those of the whole sets: one of so few test rows is "
            f"{100 / min(s.test for s in records.sets.values()):.2f} points."
        )
    if any(r.quick for r in runs):
        sentences.append(
            f"svmpress was given {QUICK_WORK:.0e} operations for a model and CVM {QUICK_ITERATIONS} iterations for a "
            "machine, a small part of what they take by default: both can do better."
        )
    if runs:
        sentences.append(_with_what(records))
    if limits:
        sentences.append(
            f"A method was given {', '.join(f'{x:g}' for x in limits)} seconds for a unit of work: all sizes together "
            "of one that grows along a path (LARS-SVM, Reduced-SVM, reduced set, refits), one size of another."
        )
    several = machines_table(records)
    if several:
        sentences.append(
            "The records are of runs on different machines, or with different settings; times of cells from different "
            "machines are not comparable, and in the tables below those that are not of the full SVM's have an "
            "asterisk:"
        )
        sentences.append("\n".join(several))
    note = [dmoz_note()] if "ohsumed" in records.sets else []
    return ["## What was run", *sentences, "\n".join(table1(records)), *note]


def _not_run(records: Records) -> str:
    """Return how many cells were not run, those of the tables' shares apart where there are other sizes."""
    absent = not_run(records)
    tables = {name: shares(about.vectors, RATIOS) for name, about in records.sets.items()}
    of_tables = sum(method == FULL or size in tables[name] for name, method, _, size in absent)
    if of_tables == len(absent):
        return f"{len(absent):,}"
    parts = ", ".join(share(ratio) for ratio in RATIOS)
    return f"{of_tables:,} at the shares of the tables ({parts}) and {len(absent) - of_tables:,} at sizes between them"


def _with_what(records: Records) -> str:
    """Say with which programs and on which machine; of several machines there is a table."""
    runs = records.runs
    versions = (
        f"svmpress {_each(c.version for c in records.done() if c.version)}{_revisions(records)}, Python "
        f"{_each(r.python for r in runs)}, NumPy {_each(r.numpy for r in runs)}, scikit-learn "
        f"{_each(r.sklearn for r in runs)}"
    )
    busy = "Times were taken while other models were being built."
    devices = sorted({c.device for c in records.done() if c.device})
    if devices:
        busy += f" Some models of svmpress were compressed on {', '.join(devices)}; the table says which."
    if machines_table(records):
        return f"{versions}. {busy}"
    return (
        f"{versions}, on {_each(str(r.cores) for r in runs)} cores; "
        f"{_each(str(c.threads) for c in records.done())} thread(s) to a model, "
        f"{_each(str(r.jobs) for r in runs)} models at a time; svmpress predicted with "
        f"{_each(r.predictor for r in runs)}. {busy}"
    )


def _revisions(records: Records) -> str:
    """Name the revisions of the code that models were built with, where they are known."""
    codes = [c.code for c in records.done()]
    known = sorted({code for code in codes if code})
    if not known:
        return ""
    unknown = f"; of {codes.count(None):,} models it is not known" if None in codes else ""
    return f" (revision{'s' * (len(known) > 1)} {', '.join(known)}{unknown})"


def _each(values: Iterable[str]) -> str:
    return ", ".join(sorted(set(values)))
