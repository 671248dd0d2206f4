"""The program, also as ``python -m svmpress``."""

import os
import signal
import sys
from typing import NoReturn


def start() -> NoReturn:
    """Run the program; a Ctrl-C may come while its modules are being loaded, when there is nothing to give up yet."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda n, _: os._exit(128 + n))
    from svmpress.cli import main, mend_streams

    mend_streams()
    sys.exit(main())


if __name__ == "__main__":
    start()
