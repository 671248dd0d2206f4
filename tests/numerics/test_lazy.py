"""Attributes that are computed when they are first read."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from svmpress.numerics import lazy_property


class Holder:
    """An object whose attribute counts how often it was computed, and can be made to wait."""

    def __init__(self, wait_for: threading.Event | None = None) -> None:
        self.computed, self.wait_for, self.begun = 0, wait_for, threading.Event()

    @lazy_property
    def attribute(self) -> object:
        """What is kept."""
        self.computed += 1
        self.begun.set()
        if self.wait_for is not None:
            self.wait_for.wait()
        return object()


def test_computed_once_and_kept_for_each_object():
    one, other = Holder(), Holder()
    assert one.attribute is one.attribute
    assert one.attribute is not other.attribute
    assert (one.computed, other.computed) == (1, 1)


def test_of_the_class_it_is_the_property_with_its_docstring():
    assert isinstance(Holder.attribute, lazy_property)
    assert Holder.attribute.__doc__ == "What is kept."


def test_threads_that_compute_at_the_same_time_get_the_same_value():
    go = threading.Event()
    holder = Holder(go)
    found = []
    threads = [threading.Thread(target=lambda: found.append(holder.attribute)) for _ in range(4)]
    for thread in threads:
        thread.start()
    holder.begun.wait()
    go.set()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len({id(each) for each in found}) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_process_forked_while_another_thread_computes_does_not_wait_for_that_thread():
    go = threading.Event()
    busy = Holder(go)
    thread = threading.Thread(target=lambda: busy.attribute)
    thread.start()
    busy.begun.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if Holder().attribute is not None else 1)
    go.set()
    thread.join()
    until = time.monotonic() + 60
    ended = 0
    while not ended and time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)
    if not ended:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert ended, "the child waits for a lock that nobody in it holds"
    assert os.waitstatus_to_exitcode(status) == 0
