"""How a model comes to the workers: as one key of the graph, which every worker fetches once.

A model that is an argument of each task would be sent, unpickled and laid out for the predictor as often as there are
partitions. Here one task makes the model, and all others take its result: Dask copies that from worker to worker, and
computes it again where a worker was lost. The key is the digest of the model, which two questions about the same model
share.
"""

from __future__ import annotations

import hashlib
import pickle
from typing import Any

from svmpress.errors import MissingExtraError
from svmpress.model import KernelModel


def packed(model: KernelModel) -> tuple[str, bytes]:
    """Return the key of a model and its bytes."""
    parcel = pickle.dumps(model, protocol=5)
    return f"svmpress-model-{hashlib.sha256(parcel).hexdigest()[:32]}", parcel


def unpack(parcel: bytes) -> KernelModel:
    """Return the model of what :func:`packed` made: on a worker, of bytes that its client sent."""
    model: KernelModel = pickle.loads(parcel)
    return model


def deliver(model: KernelModel) -> Any:
    """Return a ``dask.delayed`` object that is the model on every worker.

    Examples
    --------
    >>> import numpy as np
    >>> from svmpress.decoders import Identity
    >>> from svmpress.kernels import RBF
    >>> from svmpress.model import KernelExpansion
    >>> f = KernelExpansion(RBF(1.0), np.zeros((1, 2)), np.ones((1, 1)), np.zeros(1))
    >>> deliver(KernelModel(f, Identity(), "regression")).compute(scheduler="sync")
    KernelModel(1 vectors of 2 features, RBF(gamma=1.0), regression)
    """
    try:
        from dask.delayed import delayed
    except ImportError as e:
        raise MissingExtraError("svmpress.distributed", "dask", "dask") from e
    key, parcel = packed(model)
    return delayed(unpack, pure=True)(parcel, dask_key_name=key)
