"""More rows than one machine takes: Dask, with a scheduler, a protocol and workers that exist.

predict(model, X), decision_function, predict_proba    of a Dask array or DataFrame, lazily
predict_files(model, files, folder, client)            from files to Parquet parts
cluster(address) or cluster(workers=N)                 a client, and one sentence where there is no cluster
shards_of(X, y)                                        rows of Dask as what a compression asks for sums
"""

from svmpress.distributed.clusters import check_workers, cluster, fair_threads, while_there
from svmpress.distributed.compressing import is_sharded, shards_of
from svmpress.distributed.delivery import deliver, unpack
from svmpress.distributed.files import FilesScored, predict_files
from svmpress.distributed.scoring import decision_function, predict, predict_proba

__all__ = [
    "FilesScored",
    "check_workers",
    "cluster",
    "decision_function",
    "deliver",
    "fair_threads",
    "is_sharded",
    "predict",
    "predict_files",
    "predict_proba",
    "shards_of",
    "unpack",
    "while_there",
]
