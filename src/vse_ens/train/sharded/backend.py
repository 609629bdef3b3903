"""Pairs that are sorted out by shard: neither they nor the image vectors are ever in one place."""

from __future__ import annotations

from pathlib import Path

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.partition.holdout import without_pairs
from vse_ens.data.partition.store import Partition
from vse_ens.errors import ConfigError
from vse_ens.label_weights.learn import learn_label_weights
from vse_ens.model.embeddings import Embeddings
from vse_ens.model.weights import LabelWeights
from vse_ens.run.pool import LocalPool, Pool
from vse_ens.run.threads import Workers
from vse_ens.train.homes import FolderHome, Home
from vse_ens.train.pair_selection import frequent_label_pairs
from vse_ens.train.sharded.course import ShardedCourse
from vse_ens.train.tables import initial_tables, padded
from vse_ens.train.validation import ValidationSet, choose_held_out, make_validation_set


def check_parts(config: Config) -> None:
    """Refuse what no folder of parts can be trained with: to be told before its pairs are sorted out."""
    if config.shards < 2:
        raise ConfigError(f"shards must be at least 2 for a folder of parts, got {config.shards}")
    if config.has_features:
        raise ConfigError(
            f"tower {config.tower} needs features of all images in one place, and a folder of parts is trained "
            "shard by shard; use another tower, or give one file of pairs"
        )


class Parted:
    """The pairs of a partition, as `vse_ens.train.material.Material`.

    ``folder`` is on storage that all workers share. What is left when labels are held out goes there, and so do the
    images' own vectors, a file a shard.
    """

    def __init__(self, partition: Partition, folder: Path) -> None:
        self._partition = partition
        self._folder = folder
        self.known: Annotations = partition.known

    def check(self, config: Config) -> None:
        """Refuse other shards than those of the partition, and what needs more than pairs."""
        counts = self._partition.counts
        if config.shards != counts.shards:
            raise ConfigError(
                f"shards must be {counts.shards}, as {self._partition.folder} was made for, got {config.shards}"
            )
        if config.shards > counts.images:
            raise ConfigError(f"shards must be no more than the {counts.images} images, got {config.shards}")
        check_parts(config)

    def hold_out(self, config: Config) -> tuple[Parted, ValidationSet]:
        """Files of what is left, and what is held out."""
        chosen = choose_held_out(config, self.known)
        part = Parted(without_pairs(self._partition, chosen, self._folder / "train"), self._folder)
        return part, make_validation_set(self.known, part.known, chosen)

    def start(self, config: Config, pool: Pool) -> Embeddings:
        """All but the images' own vectors."""
        label_pairs = frequent_label_pairs(self._partition, config.label_pairs, pool) if config.has_context else None
        return padded(initial_tables(config, self.known, label_pairs))

    def home(self, config: Config) -> Home:  # noqa: ARG002
        """Files of the folder."""
        return FolderHome(self._folder, len(self.known.images))

    def course(
        self, config: Config, embeddings: Embeddings, home: Home, workers: Workers, pool: Pool | None
    ) -> ShardedCourse:
        """By shards, each of which reads its own files."""
        states = home.shard_states() or [{}] * config.shards
        parts = [{"partition": str(self._partition.folder.absolute()), **state} for state in states]
        return ShardedCourse(config, self.known.pairs, embeddings, pool or LocalPool(workers), parts, home)

    def memory(self, regularization: float, pool: Pool) -> LabelWeights:
        """Counted by workers that map the files into memory."""
        return learn_label_weights(self._partition, regularization, pool)
