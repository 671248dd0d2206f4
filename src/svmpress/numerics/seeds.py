"""Seeds of whatever stands for one: a number, a generator of NumPy, or None; and rows that are chosen by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmpress.errors import InputError

_SEEDS = 2**32
"""How many seeds scikit-learn has."""


def seed_of(random_state: Any) -> int:
    """Return the seed that ``random_state`` means; as in scikit-learn, None takes NumPy's global generator.

    Examples
    --------
    >>> seed_of(3), seed_of(np.random.default_rng(0)) == seed_of(np.random.default_rng(0))
    (3, True)
    """
    if (
        isinstance(random_state, (int, np.integer))
        and not isinstance(random_state, bool)
        and 0 <= random_state < _SEEDS
    ):
        return int(random_state)
    if random_state is None:
        random_state = np.random.mtrand._rand
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31, dtype=np.int64))
    raise InputError(
        f"random_state must be a whole number from 0 to {_SEEDS - 1}, a Generator or RandomState of NumPy, or None, "
        f"not {str(random_state)[:40]}"
    )


def chosen_rows(n: int, most: int, seed: int) -> NDArray[np.intp]:
    """Return at most so many of n positions, chosen at random, rising.

    Examples
    --------
    >>> chosen_rows(3, 10, seed=0).tolist(), len(chosen_rows(10, 3, seed=0))
    ([0, 1, 2], 3)
    """
    return np.sort(np.random.default_rng(seed).permutation(n)[:most])
