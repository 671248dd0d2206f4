"""What a small model costs, counted alike for every method.

A prediction with m vectors takes m kernel values, and

    m d + w     multiply-adds

where w counts the coefficients that are not zero: ``m M`` of a model whose M machines share their vectors, which makes
``m (d + M)``; m of one where each vector serves a single machine. d is the number of features; for sparse rows it is
the mean number of non-zeros of a row, as a product with a sparse row touches no others. Vectors that occur more than
once in a model, because several machines took the same one, are one vector: its kernel value is computed once. Bytes
are those of the native file, in double precision.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from svmpress import formats
from svmpress.model import KernelModel
from svmpress.numerics import Rows, is_csr
from svmpress.study.task import Built, Task


def row_width(X: Rows) -> float:
    """Return the features that a product with a row touches: all, or the mean number of non-zeros of sparse rows.

    Examples
    --------
    >>> row_width(np.zeros((3, 7)))
    7.0
    """
    return X.nnz / max(1, X.shape[0]) if is_csr(X) else float(X.shape[1])


def array_bytes(a: Rows) -> int:
    """Return the bytes of an array in a file, CSR as its three parts.

    Examples
    --------
    >>> array_bytes(np.zeros((3, 2)))
    48
    """
    return sum(int(part.nbytes) for part in ((a.data, a.indices, a.indptr) if is_csr(a) else (a,)))


def file_bytes(model: KernelModel) -> int:
    """Return the size of the saved model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.svmpress"
        formats.save(model, path)
        return path.stat().st_size


def merged(model: KernelModel) -> KernelModel:
    """Return the model with every dense vector once: the coefficients of copies are added up."""
    e = model.expansion
    if is_csr(e.vectors):
        return model
    vectors, place = np.unique(e.vectors, axis=0, return_inverse=True)
    if vectors.shape[0] == e.n_vectors:
        return model
    coef = np.zeros((vectors.shape[0], e.n_outputs))
    np.add.at(coef, np.ravel(place), e.coef)
    return replace(model, expansion=replace(e, vectors=vectors, coef=coef, coef_mask=None))


def built(task: Task, size: int, model: KernelModel, seconds: float, notes: str = "") -> Built:
    """Return a model as an answer of the study, with what it costs."""
    e = model.expansion
    return Built(
        size=size,
        vectors=e.n_vectors,
        multiply_adds=round(e.n_vectors * row_width(task.X_test)) + int(np.count_nonzero(e.coef)),
        file_bytes=file_bytes(model),
        seconds=seconds,
        predict=model.predict,
        notes=notes,
        machine_vectors=int(np.count_nonzero(e.coef)),
    )
