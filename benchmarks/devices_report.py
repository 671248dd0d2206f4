"""The report of ``benchmarks/devices.py``: tables of its records, and the measured half of ``docs/devices.md``."""

from __future__ import annotations

from typing import Any

MARK = "<!-- measured: python benchmarks/devices.py --table -->"

CELLS = ("mnist-16k", "mnist-30k", "mnist-16k-no-pooling", "segment", "penbased", "letters")

_HEAD = "| | vectors | flash | RAM | time at 16 MHz | accuracy | full SVM | asked for |\n" + "|---" * 8 + "|\n"


def verdicts(record: dict[str, Any]) -> dict[str, bool]:
    """Return which limits a record keeps."""
    uno, limits = record["devices"]["uno"], record["limits"]
    if isinstance(uno, str):
        return dict.fromkeys(("flash", "ram", "milliseconds", "accuracy"), False)
    goal = limits["goal"] if limits["goal"] is not None else record["accuracy_full"] - 0.015
    return {
        "flash": uno["flash"] <= limits["flash"],
        "ram": uno["ram"] <= limits["ram"],
        "milliseconds": uno["milliseconds"] <= limits["milliseconds"],
        "accuracy": record["accuracy"] >= goal,
    }


def _marked(text: str, kept: bool) -> str:
    return text if kept else f"**{text}**"


def table(records: list[dict[str, Any]]) -> str:
    """Return the table of all cells on the Uno; what misses its limit is bold."""
    lines = []
    for r in records:
        uno, limits, kept = r["devices"]["uno"], r["limits"], verdicts(r)
        goal = "full - 1.5 points" if limits["goal"] is None else f"{limits['goal']:.1%}"
        asked = f"{limits['flash']:,} B, {limits['ram']:,} B, {limits['milliseconds']:g} ms, {goal}"
        start = f"| {r['cell']} | {r['vectors']} of {r['weights']}"
        accuracy = _marked(f"{r['accuracy']:.2%}", kept["accuracy"])
        end = f"{accuracy} | {r['accuracy_full']:.2%} | {asked} |"
        if isinstance(uno, str):
            lines.append(f"{start} | does not fit | | | {end}")
            continue
        flash, ram = f"{uno['flash']:,} B", f"{uno['ram']:,} B"
        time = f"{uno['milliseconds']:.1f} ms"
        lines.append(
            f"{start} | {_marked(flash, kept['flash'])} | {_marked(ram, kept['ram'])} | "
            f"{_marked(time, kept['milliseconds'])} | {end}"
        )
    return _HEAD + "\n".join(lines) + "\n"


def against_floats(records: list[dict[str, Any]]) -> str:
    """Return what 8 bits cost and save beside floats, without fine-tuning."""
    lines = [
        "| | accuracy, float | int8, solved again | int8, fine-tuned | cycles, float | cycles, int8 | faster |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in records:
        if not r["variants"]:
            continue
        one, other = r["variants"]["float"], r["variants"]["int8"]
        tuned = f"{r['accuracy']:.2%}" if r["weights"] == "int8" else ""
        accuracies = f"{one['accuracy']:.2%} | {other['accuracy']:.2%} | {tuned}"
        cycles = ["does not fit" if isinstance(v["uno"], str) else f"{v['uno']['cycles']:,}" for v in (one, other)]
        faster = ""
        if not isinstance(one["uno"], str) and not isinstance(other["uno"], str):
            faster = f"{one['uno']['cycles'] / other['uno']['cycles']:.1f} times"
        lines.append(f"| {r['cell']} | {accuracies} | {cycles[0]} | {cycles[1]} | {faster} |")
    return "\n".join(lines) + "\n"


def arms(records: list[dict[str, Any]]) -> str:
    """Return instructions on Cortex-M."""
    lines = ["| | Cortex-M0, instructions | Cortex-M4F, instructions | flash of the model, M4F |", "|---|---|---|---|"]
    for r in records:
        found = [r["devices"].get(d) for d in ("microbit", "m4")]
        shown = ["" if not isinstance(f, dict) else f"{f['cycles']:,}" for f in found]
        flash = f"{found[1]['flash']:,} B" if isinstance(found[1], dict) else ""
        lines.append(f"| {r['cell']} | {shown[0]} | {shown[1]} | {flash} |")
    return "\n".join(lines) + "\n"


def peers(records: list[dict[str, Any]]) -> str:
    """Return what other converters make of the same sets."""
    lines = ["| | | flash | RAM | time | accuracy |", "|---|---|---|---|---|---|"]
    for r in records:
        if not r["peers"]:
            continue
        uno = r["devices"]["uno"]
        if isinstance(uno, dict):
            ours = f"{uno['flash']:,} B | {uno['ram']:,} B | {uno['milliseconds']:.1f} ms | {r['accuracy']:.2%}"
            lines.append(f"| {r['cell']} | svmpress | {ours} |")
        for name, peer in r["peers"].items():
            f = peer["found"]
            if isinstance(f, str):
                lines.append(f"| {r['cell']} | {name} ({peer['version']}) | {f.replace('|', '/')} | | | |")
            else:
                lines.append(
                    f"| {r['cell']} | {name} ({peer['version']}) | {f['flash']:,} B | {f['ram']:,} B | "
                    f"{f['milliseconds']:.1f} ms | {f['accuracy']:.2%} |"
                )
    return "\n".join(lines) + "\n"


def per_vector(records: list[dict[str, Any]]) -> str:
    """Return what bounds cells with pooling, as a sentence."""
    pooled = [r for r in records if r.get("pool", 1) > 1 and isinstance(r["devices"]["uno"], dict)]
    if not pooled:
        return ""
    each = max(r["devices"]["uno"]["cycles"] / r["vectors"] for r in pooled)
    return (
        f"Of pooled mnist time is scarcer than flash: a vector takes {each:,.0f} cycles, and the number of vectors was "
        "chosen by that.\n\n"
    )


def not_run(records: list[dict[str, Any]]) -> str:
    """Return which cells have no record, as a sentence."""
    missing = [name for name in CELLS if name not in {r["cell"] for r in records}]
    return f"Not run yet: {', '.join(missing)}.\n\n" if missing else ""


def page(before: str, records: list[dict[str, Any]]) -> str:
    """Return the page with its words kept and its measured half made from records."""
    words = before.split(MARK, maxsplit=1)[0].rstrip()
    if not records:
        return f"{words}\n\n{MARK}\n\nNo run has been recorded.\n"
    wrong = sum(d["wrong"] for r in records for d in r["devices"].values() if isinstance(d, dict))
    rows = sum(d["rows"] for r in records for d in r["devices"].values() if isinstance(d, dict))
    held = sum(all(verdicts(r).values()) for r in records)
    return (
        f"{words}\n\n{MARK}\n\n## What was measured\n\n"
        f"{held} of {len(records)} cells keep all that was asked for; what is missed is bold. Flash and RAM are those "
        "of the whole firmware, the row in RAM included. "
        f"Of {rows} rows on simulated devices {wrong} were answered otherwise than by the emulator.\n\n"
        f"{table(records)}\n"
        f"{per_vector(records)}{not_run(records)}"
        "### 8 bits beside floats\n\n"
        "The compressed SVMs on the Uno: in floats, rounded and solved again, and fine-tuned.\n\n"
        f"{against_floats(records)}\n### Cortex-M\n\n{arms(records)}\n### Others\n\n"
        "SVM converters get rows that are scaled already; the forest is the one that is most accurate on held-out "
        "training rows of those that fit the flash.\n\n"
        f"{peers(records)}"
    )
