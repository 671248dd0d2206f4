"""The paper's study for docs/study.md: goes on from the committed records, and writes the page.

    python benchmarks/study.py --data DIR                  what is missing, cheap models first; then page and figures
    python benchmarks/study.py --data DIR --minutes 60     so long at most; the same command goes on
    python benchmarks/study.py --data DIR --renew          after the code has changed: one revision in the end

Sizes are the shares that the page's tables have; --all-sizes adds those between them. Figures need the extra plots.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import Any

from study_report import RECORDS, ROOT, write_page
from svmpress.errors import SvmpressError
from svmpress.storage import replacing
from svmpress.study import METHODS, SETS, Plan, runner
from svmpress.study.plan import RATIOS
from svmpress.study.records import merged, read, to_line


def names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def stop_after(minutes: float) -> None:
    """Interrupt this process after so many minutes: what is finished by then is in the records."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 60 * minutes)


def tidy() -> None:
    """Leave out of the records what later ones stand in for."""
    records = merged([read(RECORDS)])
    with replacing(RECORDS) as (file,):
        file.writelines(map(to_line, records))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder with the sets as NPZ files")
    parser.add_argument("--sets", type=names, default=SETS, help="of the paper's (default: all)")
    parser.add_argument("--methods", type=names, default=tuple(METHODS), help="(default: all)")
    parser.add_argument("--seeds", type=names, default=("0", "1", "2"), help="(default: 0,1,2)")
    parser.add_argument("--all-sizes", action="store_true", help="those between the shares of the tables, too")
    parser.add_argument("--minutes", type=float, help="stop after so long")
    parser.add_argument("--jobs", type=int, default=runner.cores(), help="processes (default: one a core)")
    parser.add_argument("--renew", action="store_true", help="run again what other code than the present made")
    parser.add_argument("--teachers", type=Path, default=ROOT / ".cache" / "teachers", help="folder of trained SVMs")
    args = parser.parse_args()
    seeds, ratios = tuple(map(int, args.seeds)), None if args.all_sizes else RATIOS
    try:
        if args.minutes is not None:
            stop_after(args.minutes)
        runner.run(
            Plan(args.sets, args.methods, seeds, ratios=ratios),
            {name: METHODS[name] for name in args.methods},
            RECORDS.parent,
            folder=args.data,
            teachers=args.teachers,
            jobs=args.jobs,
            renew=args.renew,
            say=lambda text: print(text, file=sys.stderr, flush=True),
        )
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
    except SvmpressError as e:
        raise SystemExit(str(e)) from e
    signal.setitimer(signal.ITIMER_REAL, 0)
    tidy()
    write_page()


if __name__ == "__main__":
    main()
