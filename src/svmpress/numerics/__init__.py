"""Arrays of any library, threads, linear systems, optimisers: arithmetic that knows nothing of SVMs."""

from svmpress.numerics import arrays
from svmpress.numerics.arguments import check_labels, check_threads
from svmpress.numerics.arrays import (
    DEFAULT_MAX_BYTES,
    Array,
    Backend,
    Floats,
    Rows,
    any_negative,
    blocks,
    dense,
    device_of,
    dot,
    is_csr,
    namespace,
    solve_positive,
    squared_distances,
    take,
    to_numpy,
    transposed_dot,
)
from svmpress.numerics.columns import common_columns, select_columns
from svmpress.numerics.lazy import lazy_property
from svmpress.numerics.optimisers import (
    STEPS_REMEMBERED,
    Progress,
    RefineStatus,
    TracePoint,
    Watcher,
    memory_for,
    minimise_watched,
)
from svmpress.numerics.parallel import one_blas_thread, one_scipy_thread, side_by_side, threads
from svmpress.numerics.seeds import seed_of
from svmpress.numerics.systems import ROUNDING, STACK_BYTES, MaskedSystems, Piece, pieces, solve_ridged
from svmpress.numerics.tables import as_array, check_names, column_names, ordered_columns

__all__ = [
    "DEFAULT_MAX_BYTES",
    "ROUNDING",
    "STACK_BYTES",
    "STEPS_REMEMBERED",
    "Array",
    "Backend",
    "Floats",
    "MaskedSystems",
    "Piece",
    "Progress",
    "RefineStatus",
    "Rows",
    "TracePoint",
    "Watcher",
    "any_negative",
    "arrays",
    "as_array",
    "blocks",
    "check_labels",
    "check_names",
    "check_threads",
    "column_names",
    "common_columns",
    "dense",
    "device_of",
    "dot",
    "is_csr",
    "lazy_property",
    "memory_for",
    "minimise_watched",
    "namespace",
    "one_blas_thread",
    "one_scipy_thread",
    "ordered_columns",
    "pieces",
    "seed_of",
    "select_columns",
    "side_by_side",
    "solve_positive",
    "solve_ridged",
    "squared_distances",
    "take",
    "threads",
    "to_numpy",
    "transposed_dot",
]
