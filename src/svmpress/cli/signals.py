"""How the program ends when it is asked to: within a second, with 130 or 143, and without a traceback.

A signal becomes an exception in the main thread, so that files in the making are given up in good order. But Python
sees a signal only between two of its own steps, and the training of an SVM is one step of minutes. So a thread watches:
what has not ended after a moment is ended. Without the extension in C it is a thread of Python, which has to wait for
calls that share no lock.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

from svmpress import native

_PATIENCE = 0.7
"""Seconds that the main thread has to end by itself."""
_SIGNALS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


@contextlib.contextmanager
def ending_on_signals() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGINT and SystemExit on SIGTERM; end the process if nothing comes of it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ended = threading.Event()
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    woken = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    handled = {n: signal.getsignal(n) for n in _SIGNALS}
    for number, before in handled.items():
        if before is not signal.SIG_IGN:  # as nohup and a shell's & want it
            signal.signal(number, _stop)
    compiled, _ = native.load()
    if compiled is not None:
        compiled.watch(reader, round(1000 * _PATIENCE))
    else:
        threading.Thread(target=_watch, args=(reader, ended), daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        for number, before in handled.items():
            signal.signal(number, before)
        signal.set_wakeup_fd(woken)
        os.close(writer)  # which ends the thread


def _stop(number: int, frame: Any) -> None:
    for other in _SIGNALS:  # one is enough: a second would interrupt the giving up
        signal.signal(other, signal.SIG_IGN)
    sys.unraisablehook = lambda _: None  # what swallows the exception has nothing to tell a person
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _watch(reader: int, ended: threading.Event) -> None:
    while got := os.read(reader, 1):
        if got[0] in set(_SIGNALS) and not ended.wait(_PATIENCE):
            with contextlib.suppress(OSError):
                os.write(2, f"svmpress: {_SIGNALS[signal.Signals(got[0])]}\n".encode())
            os._exit(128 + got[0])
    os.close(reader)
