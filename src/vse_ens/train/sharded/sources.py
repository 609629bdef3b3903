"""The pairs of a training: in memory, or partitioned by shard on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.features.attach import plain_features
from vse_ens.data.partition.build import without_pairs
from vse_ens.data.partition.parts import shard_images
from vse_ens.data.partition.store import Partition
from vse_ens.data.splits import HeldOut
from vse_ens.errors import ConfigError
from vse_ens.model.embeddings import Embeddings
from vse_ens.run.pool import Payload
from vse_ens.train.sharded.vector_store import ShardVectorStore
from vse_ens.train.tables import initial_embeddings, initial_tables


class InMemorySource:
    """Pairs in the memory of this process, which sends each shard its part."""

    def __init__(self, data: Annotations) -> None:
        self.known = self.countable = data

    def check(self, config: Config) -> None:
        """Refuse more shards than images."""
        if config.shards > len(self.known.images):
            raise ConfigError(
                f"shards must be at most the number of images, {len(self.known.images)}; got {config.shards}"
            )

    def without(self, chosen: HeldOut) -> InMemorySource:
        """Return the pairs without the held-out ones."""
        kept = np.ones(self.known.pairs, np.bool_)
        kept[chosen.positions] = False
        return InMemorySource(self.known.with_pairs(kept))

    def initial(self, config: Config, label_pairs: NDArray[np.int32] | None) -> Embeddings:
        """Draw all start vectors."""
        return initial_embeddings(config, self.known, label_pairs)

    def vector_store(self, config: Config) -> None:
        """Keep image vectors in the embeddings."""

    def shard_arguments(self, config: Config, embeddings: Embeddings, states: list[Payload]) -> list[Payload]:  # noqa: ARG002
        """Return the pairs, image vectors and features of each shard."""
        found: list[Payload] = []
        for shard in range(config.shards):
            own = shard_images(len(self.known.images), shard, config.shards)
            rows = self.known.rows(own)
            arguments: dict[str, Any] = {
                "indptr": rows.indptr,
                "indices": rows.indices,
                "image_vectors": embeddings.image_vectors[own] if config.has_ids else embeddings.image_vectors,
            }
            if config.has_features:
                arguments["features"] = _features(plain_features(self.known.features)[own])
            found.append(arguments)
        return found


class PartitionSource:
    """Pairs partitioned by shard on storage that all workers share; each shard reads its own files.

    The pairs that remain after labels are held out, and the image vectors, are written to ``folder``.
    """

    def __init__(self, partition: Partition, folder: Path) -> None:
        self._folder = folder
        self.countable = partition
        """The pairs in the form that counting label pairs takes: workers map the files."""
        self.known = partition.known

    def check(self, config: Config) -> None:
        """Refuse another number of shards than the partition's, and settings that need more than pairs."""
        counts = self.countable.counts
        if config.shards != counts.shards:
            raise ConfigError(
                f"shards must be {counts.shards}, the number {self.countable.folder} was made for; got {config.shards}"
            )
        if config.shards > counts.images:
            raise ConfigError(f"shards must be at most the number of images, {counts.images}; got {config.shards}")
        check_partitioned(config)

    def without(self, chosen: HeldOut) -> PartitionSource:
        """Write the pairs without the held-out ones."""
        return PartitionSource(without_pairs(self.countable, chosen, self._folder / "train"), self._folder)

    def initial(self, config: Config, label_pairs: NDArray[np.int32] | None) -> Embeddings:
        """Draw all start vectors except those of images, which shards draw."""
        return initial_tables(config, self.known, label_pairs)

    def vector_store(self, config: Config) -> ShardVectorStore:
        """Keep image vectors in files of the folder."""
        return ShardVectorStore(self._folder, len(self.known.images), config.shards)

    def shard_arguments(self, config: Config, embeddings: Embeddings, states: list[Payload]) -> list[Payload]:  # noqa: ARG002
        """Return the folder of the pairs and the files of the image vectors, the ``states`` that shards saved last."""
        folder = str(self.countable.folder.absolute())
        return [{"partition": folder, **state} for state in states or [{}] * config.shards]


PairSource = InMemorySource | PartitionSource


def _features(features: Any) -> Any:
    """Return rows of image features as an array, or the three of a sparse matrix."""
    if isinstance(features, np.ndarray):
        return features
    rows = features.tocsr()
    return [rows.data, rows.indices, rows.indptr]


def check_partitioned(config: Config) -> None:
    """Refuse settings that a folder of Parquet files cannot be trained with, before it is partitioned."""
    if config.shards < 2:
        raise ConfigError(f"shards must be at least 2 for a folder of Parquet files, got {config.shards}")
    if config.has_features:
        raise ConfigError(
            f"tower {config.tower} needs the features of all images in one place, but a folder of Parquet files is "
            "trained shard by shard; use another tower, or one file of pairs"
        )
