"""Who trains on a cluster: pairs in memory are handed out to its workers, a folder of parts they read themselves."""

from __future__ import annotations

from pathlib import Path

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.columns import Column
from vse_ens.data.part_files import PartFiles
from vse_ens.data.partition import Partition
from vse_ens.data.partitioning import partition
from vse_ens.errors import ConfigError
from vse_ens.run.pool import Pool
from vse_ens.train.checkpoint import shards_folder
from vse_ens.train.shards.trainer import PartitionTrainer
from vse_ens.train.trainer import Trainer


def check_shards(config: Config) -> None:
    """Refuse a model of one shard, which a cluster could not share out: to be asked before one is started."""
    if config.shards < 2:
        raise ConfigError(
            "shards must be at least 2 on a cluster, and as many as it has cores to use all of them; they are part of "
            f"the model, got {config.shards}"
        )


def in_memory(config: Config, data: Annotations, pool: Pool, workers: int | None = None) -> Trainer:
    """Trains on pairs that this process holds, with all that a training on one machine can do."""
    return Trainer(config, data, workers, pool)


def from_parts(
    config: Config, source: str | Path, pool: Pool, checkpoint: Path, image: Column = None, label: Column = None
) -> tuple[PartitionTrainer, Partition]:
    """Trains on a folder of Parquet parts, which are sorted out by shard beside the checkpoint: once.

    ``checkpoint`` must be on storage that all workers reach. No label is held out: all epochs are trained.
    """
    folder = shards_folder(checkpoint)
    pairs = partition(PartFiles.find(source, image, label), folder / "pairs", config.shards)
    return PartitionTrainer(config.unjudged(), pairs, pool, folder / "vectors"), pairs
