"""The page and the figures of the study, from its records: docs/study.md and benchmarks/results/figures/.

    python benchmarks/study.py --data DIR                 run what is missing of the study, then all of this
    python benchmarks/study_report.py                     write the page and draw the figures
    python benchmarks/study_report.py --no-figures        write the page alone

Records of runs elsewhere come in by

    python benchmarks/merge_studies.py benchmarks/results/study.jsonl OUT/study.jsonl
"""

from __future__ import annotations

import argparse
from pathlib import Path

from svmpress.cli.progress import Bars
from svmpress.study import Records, publish

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "benchmarks" / "results" / "study.jsonl"
PAGE = ROOT / "docs" / "study.md"
FIGURES = "../benchmarks/results/figures"
"""From the page."""
COMMAND = "python benchmarks/study_report.py"
REMARK = (
    "The machine was busy with other programs while these models were built, and a process had a small and changing "
    "part of a core: seconds to build are up to twenty times those of a quiet machine, and not to be compared. Nothing "
    "else depends on it."
)
"""What a reader of the committed records must know, and the records do not tell."""


def write_page(records: Path = RECORDS, *, draw: bool = True) -> None:
    """Write the page and, if asked for, draw the figures; say what was written."""
    with Bars() as progress:
        done = publish(
            Records.load(records),
            PAGE,
            folder=FIGURES,
            draw=draw,
            docs=True,
            suffixes=(".png", ".pdf"),
            command=COMMAND,
            remark=REMARK,
            progress=progress,
        )
    print(done.page, *done.pictures, *([done.note] if done.note else []), sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--no-figures", action="store_true", help="leave the figures as they are")
    args = parser.parse_args()
    write_page(args.records, draw=not args.no_figures)


if __name__ == "__main__":
    main()
