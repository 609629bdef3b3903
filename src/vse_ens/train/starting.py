"""Which trainer, and where it trains: here or on a cluster, from pairs in memory or from sorted-out parts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.partition.store import Partition
from vse_ens.run.pool import open_pool
from vse_ens.train.ram_estimate import check_ram
from vse_ens.train.sharded.backend import Parted
from vse_ens.train.trainer import Trainer


@contextmanager
def trainer_for(
    config: Config,
    data: Annotations | Partition,
    workers: int | None = None,
    cluster: str | None = None,
    address: str | None = None,
) -> Iterator[Trainer]:
    """A trainer whose workers end with the block.

    ``workers`` are those of the cluster, where there is one: what is done here then takes all cores. What is made of a
    partition on the way is kept beside it, in the folder ``training``.
    """
    with open_pool(cluster, address, workers) as pool:
        workers = None if pool else workers
        if isinstance(data, Partition):
            yield Trainer(config, Parted(data, data.folder.with_name("training")), workers, pool)
        else:
            check_ram(config, data, workers)
            yield Trainer(config, data, workers, pool)
