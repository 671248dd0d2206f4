from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

FEW_OUTPUTS: Final[int]

def instruction_sets() -> list[tuple[str, int]]: ...
def watch(file: int, milliseconds: int, /) -> None: ...
def apply(isa: str, kernel: int, x: NDArray[Any], /) -> None: ...

class Packed:
    def __new__(
        cls,
        isa: str,
        itemsize: int,
        kernel: int,
        degree: float,
        row_factor: float,
        n_features: int,
        n_outputs: int,
        vectors: NDArray[Any],
        offset: NDArray[Any],
        offset_sparse: NDArray[Any],
        centre: NDArray[Any],
        coef: NDArray[Any],
        groups: NDArray[Any],
        columns: NDArray[Any],
        intercept: NDArray[Any],
        checks: NDArray[Any] = ...,
        check_intercept: NDArray[Any] = ...,
    ) -> Packed: ...
    def predict_dense(
        self,
        X: NDArray[Any],
        out: NDArray[Any],
        threads: int,
        shift: NDArray[Any] | None,
        factor: NDArray[Any] | None,
        /,
    ) -> int: ...
    def vote_dense(
        self,
        X: NDArray[Any],
        out: NDArray[np.int64],
        threads: int,
        shift: NDArray[Any] | None,
        factor: NDArray[Any] | None,
        /,
    ) -> int: ...
    def predict_csr(
        self, values: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], out: NDArray[Any], threads: int, /
    ) -> int: ...

class Objective:
    def __new__(
        cls,
        isa: str,
        rows: NDArray[Any] | tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
        n_features: int,
        n_outputs: int,
        groups: NDArray[np.int64],
        targets: NDArray[Any],
        outputs: NDArray[np.int64],
        weights: NDArray[Any],
        sides: NDArray[Any] | None,
    ) -> Objective: ...
    def equations(
        self,
        kernel: int,
        gamma: float,
        coef0: float,
        degree: float,
        V: NDArray[Any],
        shift: NDArray[Any] | None,
        grams: NDArray[Any],
        moments: NDArray[Any],
        kept: NDArray[Any] | None,
        pieces: NDArray[np.int64] | None,
        threads: int,
        /,
    ) -> None: ...
    def slopes(
        self,
        kernel: int,
        gamma: float,
        coef0: float,
        degree: float,
        V: NDArray[Any],
        coef: NDArray[Any],
        intercept: NDArray[Any],
        factor: float,
        trust: bool,
        width: bool,
        kept: NDArray[Any] | None,
        known: bool,
        dV: NDArray[Any],
        dA: NDArray[Any] | None,
        threads: int,
        /,
    ) -> tuple[float, float]: ...
