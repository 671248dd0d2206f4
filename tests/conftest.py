"""What all tests share: one fixture that runs a test on every array library, and one tolerance per dtype."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import array_api_compat
import numpy as np
import pytest
from hypothesis import settings
from scipy import sparse

import libsvm_programs
import svmpress.compression
from svmpress.methods import Auto
from svmpress.numerics import Backend, to_numpy

libsvm_programs.offer()  # before tests are collected, which look for the programs

# the same examples on every run, and no clock: machines that run tests are busy
settings.register_profile("svmpress", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("svmpress")

BACKENDS = ["numpy", "array_api_strict", pytest.param("torch", marks=pytest.mark.torch)]


def _strict() -> Backend:
    import array_api_strict

    return Backend(array_api_strict, array_api_compat.device(array_api_strict.zeros(1)))


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each array library in turn; torch's share carries the marker ``torch``.

    Use ``backend.asarray(a, "float32")`` to bring NumPy data there, and ``svmpress.numerics.to_numpy`` to come back.
    """
    if request.param == "array_api_strict":
        return _strict()
    return Backend.of("torch" if request.param == "torch" else "cpu")


def tolerance(dtype: Any) -> float:
    """Return the relative error that is put down to rounding: a few thousand units in the last place."""
    return 4096 * float(np.finfo(dtype).eps)


@pytest.fixture
def assert_close() -> Callable[..., None]:
    """Compare with a tolerance that follows from the dtype of ``actual``, relative to the largest value expected.

    ``ulps`` widens it for problems that lose more, by a stated factor.
    """

    def check(actual: Any, expected: Any, *, dtype: Any = None, ulps: float = 1.0) -> None:
        actual, expected = to_numpy(actual), np.asarray(expected)
        assert actual.shape == expected.shape
        kind = dtype or (actual.dtype if actual.dtype.kind == "f" else np.float64)
        rtol = ulps * tolerance(kind)
        largest = float(np.max(np.abs(expected), initial=0.0))
        np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol * max(largest, 1e-30))

    return check


@pytest.fixture
def rng() -> np.random.Generator:
    """A seeded generator, fresh for each test."""
    return np.random.default_rng(20140101)


@pytest.fixture
def sparse_rows(rng: np.random.Generator) -> sparse.csr_array:
    """Twelve CSR rows of five features, two thirds zeros, one row and one column empty; no negative value."""
    full = rng.uniform(0.1, 2.0, size=(12, 5)) * (rng.uniform(size=(12, 5)) < 1 / 3)
    full[4], full[:, 2] = 0, 0
    return sparse.csr_array(full)


@pytest.fixture(autouse=True)
def _short_compressions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give compressions by name a part of their usual work, unless the test is slow or the method is its subject."""
    if request.node.get_closest_marker("slow") is None and "methods" not in request.path.parts:
        monkeypatch.setitem(svmpress.compression.METHODS, "auto", partial(Auto, work=3e8))
