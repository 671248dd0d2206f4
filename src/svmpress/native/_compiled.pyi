from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

FEW_OUTPUTS: Final[int]

def instruction_sets() -> list[tuple[str, int]]: ...
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
