"""The command line: arguments in, one library call, printing out.

Results go to standard output (``--json`` for machines), progress and remarks to standard error. Exit codes: 0 done;
2 bad input, with one sentence that says what is wrong; 3 a search whose goal nothing met; 130 interrupted; 141 nobody
reads the output; 143 terminated. Output files appear whole or not at all.

Each command is a module with ``add(commands)``, which declares its arguments, and ``run(args)``, which returns a
:class:`~svmpress.cli.common.Report`. What a command computes with is imported inside ``run``, where it
is needed: ``add`` runs for all commands, ``run`` for one.
"""

from svmpress.cli.app import COMMANDS, build_parser, main
from svmpress.cli.streams import mend_streams

__all__ = [
    "COMMANDS",
    "build_parser",
    "main",
    "mend_streams",
]
