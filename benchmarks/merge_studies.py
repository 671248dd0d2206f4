"""Journals of a study that ran on several machines, or in several folders, as one.

    python benchmarks/merge_studies.py benchmarks/results/study.jsonl OUT/study.jsonl THERE/study.jsonl@1a2b3c4

The first file is written; the others are read, after the first if it is there. Of each cell the last record counts, but
what is done stays done. ``@`` gives the revision of a journal's code, where the machine had a copy without its history.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from svmpress.errors import SvmpressError
from svmpress.storage import replacing
from svmpress.study.records import Record, SetRecord, merged, read, to_line


def journal(name: str) -> list[Record]:
    path, _, code = name.partition("@")
    records = read(path)
    return [r if isinstance(r, SetRecord) or not code else replace(r, code=code) for r in records]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path)
    parser.add_argument("journals", nargs="+", metavar="JOURNAL[@REVISION]")
    args = parser.parse_args()
    try:
        here = [read(args.target)] if args.target.exists() else []
        records = merged([*here, *map(journal, args.journals)])
        with replacing(args.target) as (file,):
            file.writelines(map(to_line, records))
    except SvmpressError as e:
        raise SystemExit(str(e)) from e
    print(f"{len(records):,} records in {args.target}")


if __name__ == "__main__":
    main()
