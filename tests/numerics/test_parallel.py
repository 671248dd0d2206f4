"""Threads: who may use how many, and when."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.linalg
from threadpoolctl import ThreadpoolController

from svmpress.numerics import one_blas_thread, one_scipy_thread, side_by_side


def threads_of(owner) -> list[int]:
    """The threads of each BLAS that came with a package; none where it uses that of the system."""
    home = Path(owner.__file__).resolve().parent
    found = ThreadpoolController().info()
    return [b["num_threads"] for b in found if b["filepath"].startswith((f"{home}/", f"{home}.libs"))]


def test_scipy_computes_on_one_thread_while_numpy_may_use_all():
    before = threads_of(np), threads_of(scipy)
    assert before[1] or not before[0]  # wheels bring a BLAS each; elsewhere they share one
    with one_scipy_thread():
        assert threads_of(np) == before[0]
        assert all(n == 1 for n in threads_of(scipy))
        with one_blas_thread():
            assert all(blas["num_threads"] == 1 for blas in ThreadpoolController().info() if blas["user_api"] == "blas")
        assert threads_of(np) == before[0]
    assert (threads_of(np), threads_of(scipy)) == before


def test_results_come_in_order_whoever_is_first():
    assert side_by_side(lambda i: i * i, range(20)) == [i * i for i in range(20)]
    assert side_by_side(str, []) == []
