"""More rows than one machine takes, with a scheduler, a protocol and workers that exist: those of Dask."""

from svmpress.distributed.compressing import is_sharded, shards_of

__all__ = ["is_sharded", "shards_of"]
