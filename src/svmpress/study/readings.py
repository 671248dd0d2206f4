"""The paper's claim, read in the second way that its text allows: a tenth of the support vectors of each machine.

What this costs is counted twice. *Counted by machine*, each machine evaluates its own vectors, whatever the others
evaluate: the sum of what they keep. *Distinct*, a vector that several machines have is evaluated once. For the source
the two are far apart, as one row is a support vector of many machines. For CVM they are equal, since each machine moves
its vectors elsewhere; LARS-SVM, which moves none, keeps some of what is shared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from svmpress.study.averages import Curves, Point, sets_of
from svmpress.study.plan import FULL
from svmpress.study.records import Records
from svmpress.study.tables import NOT_RUN, absence, points_of, share, table

_CVM, _LARS = "cvm-per-machine", "lars-svm-per-machine"


def per_machine(records: Records, found: Curves, ratio: float, most_lost: float) -> list[str]:
    """Return the paragraphs on a share of each machine's support vectors; none where there are no machines to speak of.

    Parameters
    ----------
    records : Records
    found : Curves
    ratio : float
        The share of the claim.
    most_lost : float
        The accuracy that a model may lose and be close.
    """
    names = [name for name in sets_of(records) if records.sets[name].classes > 2]
    if not any((name, _CVM) in found or (name, FULL) in found for name in names):
        return []
    close, tried, rows = [], [], []
    for name in names:
        point = points_of(found, records, name, _CVM, ratio)
        cells = [name, f"{_machines(records, name):,}", *_costs(records, found, name, ratio)]
        if point is None:
            rows.append([*cells, absence(records, name, _CVM, ratio), ""])
            continue
        tried.append(name)
        lost = records.sets[name].accuracy - point.accuracy
        if lost <= most_lost + 1e-9:
            close.append(name)
        verdict = "yes" if name in close else f"no, {100 * lost:.1f} lost"
        rows.append([*cells, f"{100 * point.accuracy:.2f}", verdict])
    head = ["set", "machines", "full SVM, by machine", "full SVM, distinct", f"{share(ratio)} by machine"]
    head += ["CVM, distinct", "LARS-SVM, distinct", "CVM of the full SVM's", "CVM, %", "close?"]
    return [
        f"**{share(ratio)} of each machine.** A support vector of one pair of classes is mostly one of others too. "
        "Kernel values that a prediction takes, *by machine* where each evaluates its own vectors, *distinct* where a "
        "vector that several have is evaluated once. CVM's vectors have moved in each machine by itself, so none are "
        "shared; LARS-SVM keeps rows where they are.",
        "\n".join(table(head, rows)),
        _verdict(records, found, ratio, close, tried, names),
    ]


def _machines(records: Records, name: str) -> int:
    classes = records.sets[name].classes
    return classes * (classes - 1) // 2


def _costs(records: Records, found: Curves, name: str, ratio: float) -> list[str]:
    """Return kernel values: of the full SVM and of the share by machine, distinct ones, and the ratio of these."""
    full = found.get((name, FULL))
    distinct = records.sets[name].vectors
    by_machine = full[0].machine_vectors if full else 0
    cvm, lars = (points_of(found, records, name, method, ratio) for method in (_CVM, _LARS))
    kept = cvm.machine_vectors if cvm else ratio * by_machine
    evaluated = cvm.vectors if cvm else kept
    about = "" if cvm else "about "
    return [
        f"{by_machine:,.0f}" if by_machine else "",
        f"{distinct:,}",
        f"{about}{kept:,.0f}" if kept else "",
        f"{about}{evaluated:,.0f}" if evaluated else "",
        f"{lars.vectors:,.0f}" if lars else NOT_RUN,
        f"{about}{share(round(evaluated / distinct, 2))}" if evaluated else "",
    ]


def _verdict(
    records: Records, found: Curves, ratio: float, close: Sequence[str], tried: Sequence[str], names: Sequence[str]
) -> str:
    """Say on how many sets the claim holds, and what it costs there."""
    if not tried:
        return "Read in this way, the claim was not tried."
    points = {name: point for name in tried if (point := points_of(found, records, name, _CVM, ratio)) is not None}
    parts = [f"{name}, {_cost(records, name, point)}" for name, point in points.items()]
    holds = f" ({', '.join(close)})" if close else ""
    missing = [name for name in names if name not in tried]
    more = f" On {', '.join(missing)} it was not run." if missing else ""
    return (
        f"Read per machine, the claim holds on {len(close)} of {len(tried)} sets of more than two classes{holds}. A "
        f"prediction then takes, of the full SVM's kernel values: {'; '.join(parts)}. With two classes there is one "
        f"machine, and the two readings are one.{more} A decision by elimination (DAG) asks K−1 of K(K−1)/2 "
        f"machines for a prediction, so that it could do with fewer: {_with_dag(records, points)}."
    )


def _with_dag(records: Records, points: Mapping[str, Point]) -> str:
    """Return the kernel values of as many machines as a DAG asks, each with the mean number of vectors."""
    each = {name: p.machine_vectors * 2 / records.sets[name].classes for name, p in points.items()}
    return ", ".join(f"about {n:,.0f} on {name}" for name, n in each.items())


def _cost(records: Records, name: str, point: Point) -> str:
    ratio = point.vectors / records.sets[name].vectors
    return share(round(ratio, 2)) + (", more than the full SVM itself" if ratio > 1 else "")
