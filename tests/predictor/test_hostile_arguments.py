"""Arguments of the extension that lie about sizes: an error, and no memory of anybody else."""

from __future__ import annotations

import numpy as np
import pytest

from svmpress import native

compiled, _ = native.load()
pytestmark = pytest.mark.skipif(compiled is None, reason="the extension is not built")
HUGE = [2**31, 2**61, 2**62, 2**63 - 1]


def arguments(**changes):
    """A model of 8 vectors with 3 features and 6 outputs, for the baseline instruction set in double precision."""
    lanes = dict(compiled.instruction_sets())["baseline"] // 8
    panels, wide = 8 // lanes, -(-6 // lanes) * lanes
    parts = {
        "isa": "baseline",
        "itemsize": 8,
        "kernel": 0,
        "degree": 0.0,
        "row_factor": -1.0,
        "n_features": 3,
        "n_outputs": 6,
        "vectors": np.zeros(panels * 3 * lanes),
        "offset": np.zeros(8),
        "offset_sparse": np.zeros(8),
        "centre": np.zeros(-(-3 // lanes) * lanes),
        "coef": np.zeros(wide * 8),
        "groups": np.array([[0, panels, 6, -1, 0]]),
        "columns": np.zeros(6, np.int64),
        "intercept": np.zeros(6),
    }
    return parts | changes, panels


def test_the_arguments_are_good_to_begin_with():
    parts, _ = arguments()
    out = np.empty((2, 6))
    assert compiled.Packed(**parts).predict_dense(np.zeros((2, 3)), out, 1, None, None) == -1


@pytest.mark.parametrize("name", ["n_features", "n_outputs"])
@pytest.mark.parametrize("size", HUGE)
@pytest.mark.parametrize("empty", [False, True])
def test_sizes_that_no_memory_has(name, size, empty):
    parts, _ = arguments(**{name: size})
    if empty:
        parts |= {key: np.zeros(0) for key in ("vectors", "offset", "offset_sparse", "coef")}
        parts["groups"] = np.zeros((0, 5), np.int64)
    with pytest.raises(ValueError, match=r"expected|out of range"):
        compiled.Packed(**parts)


ELSEWHERE = [
    (field, value) for field in range(5) for value in (*HUGE, 7, -1, -(2**63)) if (field, value < 0) != (3, True)
]
"""A negative start of the columns stands for all outputs."""


@pytest.mark.parametrize(("field", "value"), ELSEWHERE)
def test_groups_that_point_elsewhere(field, value):
    parts, panels = arguments()
    group = [0, panels, 6, 0, 0]
    group[field] = value
    parts["groups"] = np.array([group])
    with pytest.raises(ValueError, match="the groups do not cover"):
        compiled.Packed(**parts)


@pytest.mark.parametrize("column", [-1, 6, 2**62, 2**63 - 1])
def test_columns_that_are_no_outputs(column):
    parts, panels = arguments(groups=None)
    parts["groups"], parts["columns"] = np.array([[0, panels, 6, 0, 0]]), np.array([0, 1, 2, 3, 4, column])
    with pytest.raises(ValueError, match="the groups do not cover"):
        compiled.Packed(**parts)


def test_rows_that_are_one_row_again_and_again():
    """A broadcast row has no memory for what its shape says, and no result could have."""
    parts, _ = arguments()
    X = np.broadcast_to(np.zeros(3), (2**58, 3))
    with pytest.raises(ValueError, match="out has the wrong size"):
        compiled.Packed(**parts).predict_dense(X, np.empty((2, 6)), 1, None, None)


def test_an_answer_that_overflows_is_reported():
    parts, _ = arguments(kernel=3, degree=3.0)
    parts["vectors"][:] = 1e150
    parts["coef"][:] = 1.0
    out = np.empty((3, 6))
    rows = np.array([[0.0, 0, 0], [0, 0, 0], [1e10, 0, 0]])
    assert compiled.Packed(**parts).predict_dense(rows, out, 1, None, None) == 2
    csr = compiled.Packed(**parts).predict_csr(
        np.array([1e10]), np.array([0], np.int32), np.array([0, 0, 0, 1]), out, 1
    )
    assert csr == 2
