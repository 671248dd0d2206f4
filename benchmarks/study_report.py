"""The page and the figures of the study, from its records: docs/study.md and benchmarks/results/figures/.

svmpress study --data DIR --out OUT --jobs 16           run it; OUT/study.jsonl holds the records
python benchmarks/merge_studies.py benchmarks/results/study.jsonl OUT/study.jsonl
python benchmarks/study_report.py                       write the page and draw the figures
python benchmarks/study_report.py --no-figures          write the page alone
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
    "The records were made over time, by runs of one study that each went on with what was missing, or had been made "
    "by code that changed since. Nearly all times of prediction of "
    "one-vs-one models whose vectors belong to a class or a pair (LibSVM layout, CVM, LARS-SVM, Reduced-SVM, SVC on a "
    "subsample) on letters, 20news and ohsumed are of a predictor before revision 9eaaad6, which counts the votes of "
    "small models with many classes up to four times faster: in the LibSVM layout 0.4 ms instead of 1.5 for 26 classes "
    "and 76 vectors."
)
"""What a reader of the committed records must know, and the records do not tell."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=Path, default=RECORDS)
    parser.add_argument("--no-figures", action="store_true", help="leave the figures as they are")
    args = parser.parse_args()
    with Bars() as progress:
        done = publish(
            Records.load(args.records),
            PAGE,
            folder=FIGURES,
            draw=not args.no_figures,
            docs=True,
            suffixes=(".png", ".pdf"),
            command=COMMAND,
            remark=REMARK,
            progress=progress,
        )
    print(done.page, *done.pictures, sep="\n")


if __name__ == "__main__":
    main()
