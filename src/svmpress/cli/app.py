"""The program: all commands under one parser, and exit codes."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator, Sequence

from svmpress import __version__
from svmpress.cli import compress, demo, evaluate, export, inspect, predict, report, search, study, train
from svmpress.cli.common import Parser, emit, limited
from svmpress.cli.completion import SHELLS, ShowCompletion
from svmpress.cli.signals import ending_on_signals
from svmpress.cli.streams import forget_stdout, to_stdout
from svmpress.errors import SvmpressError

COMMANDS = (train, compress, search, predict, evaluate, report, inspect, export, study, demo)
"""The modules of the commands, in the order of the help."""

_EPILOG = """\
a first session:
  svmpress train train.svm -o big.model
  svmpress compress big.model -o small.model --ratio 0.1 --data train.svm
  svmpress evaluate small.model test.svm --reference big.model
  svmpress predict small.model test.svm -o labels.txt

'svmpress COMMAND --help' says more. Data files: svmlight/LibSVM text, CSV, NPZ, Parquet.
"""


def build_parser() -> Parser:
    """Return the parser with all commands."""
    parser = Parser(
        prog="svmpress",
        usage="svmpress COMMAND ...",
        description="Compress a trained kernel SVM to a few percent of its support vectors.",
        epilog=_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"svmpress {__version__}")
    parser.add_argument(
        "--completion",
        choices=SHELLS,
        metavar="SHELL",
        action=ShowCompletion,
        help="print a script that completes words in bash or zsh",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for command in COMMANDS:
        command.add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments after the program's name; those of the process by default.
    """
    try:
        args = build_parser().parse_args(argv)
    except SystemExit as e:  # argparse has printed the help or the error
        return e.code if isinstance(e.code, int) else 2
    try:
        with _plain_warnings(), ending_on_signals(), limited(args):
            found = args.run(args)
            with to_stdout():
                emit(found, args)
                sys.stdout.flush()
    except SvmpressError as e:
        _say(f"error: {e}")
        return 2
    except MemoryError:
        _say("error: there is not enough memory for this")
        return 2
    except KeyboardInterrupt:
        _say("interrupted")
        return 130
    except BrokenPipeError:  # the reader of our output has gone: nothing is left to say, not even at exit
        forget_stdout()
        return 141
    return int(found.code)


def _say(message: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"svmpress: {' '.join(message.split())}\n")


@contextlib.contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show warnings as one line, without the place in the source that raised them."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: _say(f"warning: {message}")
        yield
