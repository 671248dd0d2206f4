"""The tables of the study, as Markdown, from records alone.

Table 1 of the paper with the real statistics of the data, accuracy by share of the vectors kept, and what models cost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from svmpress.study.averages import Curves, Point, at, methods_of, sets_of
from svmpress.study.figures import STYLES, label
from svmpress.study.methods import METHODS
from svmpress.study.plan import FULL, RATIOS, shares
from svmpress.study.records import FAILED, SKIPPED, UNFINISHED, Cell, Key, Machine, Records

_PAPER_DMOZ = (7184, 1796, 16498, 16)
"""Rows to train and test, features and classes of the set that is not to be had."""
NOT_RUN = "not run"
_STATUS_TEXT = {SKIPPED: "not applicable", UNFINISHED: "not finished", FAILED: "failed"}


def row(cells: Iterable[object]) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def table(head: Sequence[str], rows: Iterable[Iterable[object]], *, left: int = 1) -> list[str]:
    r"""Return a table, the first ``left`` columns to the left and numbers to the right.

    Examples
    --------
    >>> print("\n".join(table(["set", "rows"], [["magic", 15216]])))
    | set | rows |
    |---|--:|
    | magic | 15216 |
    """
    return [row(head), f"{'|---' * left}{'|--:' * (len(head) - left)}|", *(row(cells) for cells in rows)]


def share(ratio: float) -> str:
    """Return a share for people: ``10 %``."""
    return f"{100 * ratio:g} %"


def points_of(found: Curves, records: Records, name: str, method: str, ratio: float) -> Point | None:
    """Return the point of a method at a share of the teacher's vectors."""
    return at(found.get((name, method), []), max(1, round(ratio * records.sets[name].vectors)))


def table1(records: Records) -> list[str]:
    """Return Table 1: rows, features, classes, and the teacher of each set."""
    about = [records.sets[name] for name in sets_of(records)]
    lines: list[tuple[str, list[str]]] = [
        ("training rows", [f"{s.train:,}" for s in about]),
        ("test rows", [f"{s.test:,}" for s in about]),
        ("features", [f"{s.features:,}" for s in about]),
        ("classes", [f"{s.classes}" for s in about]),
        ("support vectors", [f"{s.vectors:,}" for s in about]),
        ("C", [f"{s.C:g}" for s in about]),
        ("gamma", [f"{s.gamma:g}" for s in about]),
        ("test accuracy of the full SVM, %", [f"{100 * s.accuracy:.2f}" for s in about]),
        ("seconds to train it", [f"{s.train_seconds:.3g}" for s in about]),
    ]
    return table(["", *(s.name for s in about)], [[name, *cells] for name, cells in lines])


def dmoz_note() -> str:
    """Return what the paper's sixth set was."""
    train, test, features, classes = _PAPER_DMOZ
    return (
        f"The paper's sixth set, DMOZ ({train:,} and {test:,} rows, {features:,} features, {classes} classes), is "
        "not to be had; Ohsumed, medical abstracts in 23 classes, stands in for it."
    )


def accuracy_table(records: Records, found: Curves, name: str) -> list[str]:
    """Return the accuracy of each method on one set, by share of the vectors that were tried, in percent."""
    methods = methods_of(records, tuple(STYLES))
    ratios = ratios_tried(records)
    sizes = [max(1, round(ratio * records.sets[name].vectors)) for ratio in ratios]
    head = ["method", *(f"{share(ratio)} ({size:,})" for ratio, size in zip(ratios, sizes, strict=True))]
    rows = []
    for method in methods:
        cells = [_accuracy(records, found, name, method, ratio) for ratio in ratios]
        if any(cells):
            rows.append([label(method), *cells])
    return table(head, rows)


def percent(point: Point) -> str:
    """Return the accuracy of a point, with the deviation over seeds if there are several."""
    spread = f" ± {100 * point.spread:.2f}" if point.seeds > 1 else ""
    return f"{100 * point.accuracy:.2f}{spread}"


def _accuracy(records: Records, found: Curves, name: str, method: str, ratio: float) -> str:
    point = points_of(found, records, name, method, ratio)
    return percent(point) if point is not None else absence(records, name, method, ratio)


def absence(records: Records, name: str, method: str, ratio: float) -> str:
    """Return why there is no model of a method at a share; empty where it cannot make one."""
    size = max(1, round(ratio * records.sets[name].vectors))
    known = [c for c in records.cells.values() if (c.set, c.method) == (name, method)]
    if known and all(c.status == SKIPPED for c in known):
        return ""
    here = [c.status for c in known if c.size == size]
    return ("" if here[0] == SKIPPED else _STATUS_TEXT[here[0]]) if here else NOT_RUN


def cost_table(records: Records, found: Curves, name: str, ratio: float) -> list[str]:
    """Return what the models of one set cost at a share of the vectors, the full SVM first."""
    head = ["method", "accuracy, %", "same answer, %", "kernel evaluations", "multiply-adds", "file, KiB"]
    head += ["seconds to build", "ms for 1,000 predictions"]
    full = found.get((name, FULL))
    chosen = [(FULL, full[0])] if full else []
    absent: list[list[str]] = []
    for method in methods_of(records, tuple(STYLES)):
        point = points_of(found, records, name, method, ratio)
        if point is not None:
            chosen.append((method, point))
        elif why := absence(records, name, method, ratio):
            absent.append([label(method), why, *[""] * (len(head) - 2)])
    return table(head, [*(_costs(method, p) for method, p in chosen), *absent])


def _costs(method: str, p: Point) -> list[str]:
    same = "" if method.startswith("dlib") else f"{100 * p.agreement:.2f}"  # which has an SVM of its own
    sizes = [f"{p.vectors:,.0f}", f"{p.multiply_adds:,.0f}", f"{p.file_bytes / 1024:,.1f}"]
    times = [seconds(p, p.build_seconds), seconds(p, 1e3 * p.predict_seconds)]
    return [label(method), f"{100 * p.accuracy:.2f}", same, *sizes, *times]


def seconds(point: Point, value: float) -> str:
    """Return a time of a point, with an asterisk if it was taken on another machine than that of the full SVM."""
    return f"{value:,.3g}{'*' * point.elsewhere}"


def gaps_table(records: Records) -> list[str]:
    """Return the cells without a model, put together by method and reason; empty if there are none."""
    groups: dict[tuple[str, str, str], list[Cell]] = defaultdict(list)
    for cell in records.cells.values():
        if cell.status in _STATUS_TEXT:
            groups[cell.method, cell.status, cell.notes].append(cell)
    names = sets_of(records)
    rows = []
    for (method, status, notes), cells in sorted(groups.items()):
        there = [name for name in names if any(c.set == name for c in cells)]
        where = ", ".join(f"{name} ({_span([c for c in cells if c.set == name])})" for name in there)
        rows.append([label(method), _STATUS_TEXT[status], where, notes.replace("|", "\\|")])
    return table(["method", "", "sets (sizes)", "why"], rows, left=4) if rows else []


def _span(cells: Sequence[Cell]) -> str:
    sizes = sorted({c.size for c in cells})
    return f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"


# ---------------------------------------------------------------------------------------------------------
# Records of several runs
# ---------------------------------------------------------------------------------------------------------


def machines_table(records: Records) -> list[str]:
    """Return what was measured on which machine; empty if there is one only."""
    on: dict[Machine, list[Cell]] = defaultdict(list)
    for cell in records.done():
        if cell.key in records.machines:
            on[records.machines[cell.key]].append(cell)
    if len(on) < 2:
        return []
    rows = []
    for (cores, jobs, threads, predictor, device), cells in sorted(on.items(), reverse=True):
        there = ", ".join(name for name in sets_of(records) if any(c.set == name for c in cells))
        rows.append([there, cores, jobs, threads, device, predictor, f"{len(cells):,}"])
    of_svmpress = ["svmpress compresses on", "svmpress predicts with"]
    return table(["sets", "cores", "models at a time", "threads to a model", *of_svmpress, "models measured"], rows)


def ratios_tried(records: Records) -> list[float]:
    """Return the shares of the tables that were tried on any set."""
    sizes = {(name, size) for name, method, _, size in records.cells if method != FULL}
    of_sets = [(name, about.vectors) for name, about in records.sets.items()]
    return [r for r in RATIOS if any((name, size) in sizes for name, n in of_sets for size in shares(n, [r]))]


def not_run(records: Records) -> list[Key]:
    """Return the cells that records know nothing of, though other methods or seeds have their size on their set.

    A share of the tables that was tried on one set is missed on the others. A method that is not applicable to a set at
    any size that was tried is not missed at others.
    """
    methods = [FULL, *methods_of(records, tuple(STYLES))] if records.cells else []
    seeds = sorted({seed for _, _, seed, _ in records.cells})
    tried = {(c.set, c.method) for c in records.cells.values()}
    possible = {(c.set, c.method) for c in records.cells.values() if c.status != SKIPPED}
    absent = []
    for name in sets_of(records):
        sizes = _sizes(records, name)
        for method in methods:
            if (name, method) in tried - possible:
                continue
            for size in [records.sets[name].vectors] if method == FULL else sizes:
                have = [seed for seed in seeds if (name, method, seed, size) in records.cells]
                if method in METHODS and not METHODS[method].seeded:
                    wanted = [] if have else seeds[:1]
                else:
                    wanted = [seed for seed in seeds if seed not in have]
                absent += [(name, method, seed, size) for seed in wanted]
    return absent


def _sizes(records: Records, name: str) -> list[int]:
    """Return the sizes of a set that were tried, and those that are shares tried on other sets."""
    here = {size for of, method, _, size in records.cells if of == name and method != FULL}
    return sorted(here | shares(records.sets[name].vectors, ratios_tried(records)))


def not_run_table(records: Records) -> list[str]:
    """Return the cells of :func:`not_run`, methods that lack the same ones put together; empty if there are none."""
    lacking: dict[tuple[str, str], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for name, method, seed, size in not_run(records):
        lacking[method, name][seed].append(size)
    by_method: dict[str, dict[tuple[str, str], list[str]]] = defaultdict(lambda: defaultdict(list))
    for (method, name), of_seed in lacking.items():
        seeds_of: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for seed, sizes in of_seed.items():
            seeds_of[tuple(sizes)].append(seed)
        for sizes_, seeds in seeds_of.items():
            by_method[method][", ".join(map(str, seeds)), _listed(records, name, method, sizes_)].append(name)
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for method, entries in by_method.items():
        for (seeds_text, sizes_text), names in entries.items():
            groups[seeds_text, "; ".join(f"{name}: {sizes_text}" for name in names)].append(method)
    rows = [["; ".join(map(label, methods)), seeds, where] for (seeds, where), methods in groups.items()]
    return table(["methods", "seeds", "sets and sizes"], rows, left=3) if rows else []


def _listed(records: Records, name: str, method: str, sizes: Sequence[int]) -> str:
    """Return sizes for people: all of them is a word."""
    every = _sizes(records, name)
    return "all" if method == FULL or len(sizes) == len(every) else ", ".join(f"{size:,}" for size in sizes)
