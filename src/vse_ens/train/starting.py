"""Which trainer, and where it trains: here or on a cluster, from pairs in memory or from sorted-out parts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.partition import Partition
from vse_ens.errors import ConfigError
from vse_ens.run.pool import LocalPool, Pool
from vse_ens.run.threads import Workers
from vse_ens.train.footprint import check_footprint
from vse_ens.train.shards.trainer import PartitionTrainer
from vse_ens.train.trainer import Trainer


@contextmanager
def trainer_for(
    config: Config,
    data: Annotations | Partition,
    workers: int | None = None,
    cluster: str | None = None,
    address: str | None = None,
) -> Iterator[Trainer | PartitionTrainer]:
    """A trainer whose workers end with the block.

    The vectors of a partition's images are kept beside it, in the folder ``rows``.
    """
    with ExitStack() as stack:
        pool = _pool(cluster, address, workers, stack)
        if isinstance(data, Partition):
            pool = pool or LocalPool(stack.enter_context(Workers(workers)))
            yield PartitionTrainer(config, data, pool, data.folder.with_name("rows"))
        else:
            check_footprint(config, data, workers)
            yield Trainer(config, data, workers, pool)


def _pool(cluster: str | None, address: str | None, workers: int | None, stack: ExitStack) -> Pool | None:
    if cluster is None:
        if address is not None:
            raise ConfigError("address is that of a cluster: say of which kind, cluster='ray'")
        return None
    if cluster != "ray":
        raise ConfigError(f"cluster must be 'ray', got {cluster!r}")
    from vse_ens.run.ray_pool import RayPool

    pool = RayPool(address, workers)
    stack.callback(pool.close)
    return pool
