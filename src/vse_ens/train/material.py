"""What a model is learnt from: pairs in memory, or (`vse_ens.train.sharded.backend`) pairs that are in no one place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.features.matrix import plain_features
from vse_ens.data.partition.parts import shard_images
from vse_ens.errors import ConfigError
from vse_ens.label_weights.learn import learn_label_weights
from vse_ens.model.embeddings import Embeddings
from vse_ens.model.weights import LabelWeights
from vse_ens.run.pool import LocalPool, Payload, Pool
from vse_ens.run.threads import Workers
from vse_ens.train.course import Course, SerialCourse
from vse_ens.train.homes import Home, TableHome
from vse_ens.train.pair_selection import frequent_label_pairs
from vse_ens.train.sharded.actor import feature_arguments
from vse_ens.train.sharded.course import ShardedCourse
from vse_ens.train.tables import initial_embeddings, padded
from vse_ens.train.validation import ValidationSet, choose_held_out, make_validation_set


class Material(Protocol):
    """Pairs to learn from, wherever they are."""

    @property
    def known(self) -> Annotations:
        """The ids and the pairs, which may be mapped into memory: not to be read as a whole."""

    def check(self, config: Config) -> None:
        """Refuse settings that do not go with it."""

    def hold_out(self, config: Config) -> tuple[Material, ValidationSet]:
        """Keep one label of some images from training: what is left, and these."""

    def start(self, config: Config, pool: Pool) -> Embeddings:
        """What training starts from, padded; without the images' own vectors where these are kept elsewhere."""

    def home(self, config: Config) -> Home:
        """Where the images' own vectors are kept."""

    def course(self, config: Config, embeddings: Embeddings, home: Home, workers: Workers, pool: Pool | None) -> Course:
        """What trains the embeddings: in the pool where there is one, else by the workers."""

    def memory(self, regularization: float, pool: Pool) -> LabelWeights:
        """The label-label memory of all pairs."""


class InMemory:
    """Pairs that this process holds."""

    def __init__(self, data: Annotations) -> None:
        self.known = data

    def check(self, config: Config) -> None:
        """Refuse more shards than images."""
        if config.shards > len(self.known.images):
            raise ConfigError(f"shards must be no more than the {len(self.known.images)} images, got {config.shards}")

    def hold_out(self, config: Config) -> tuple[InMemory, ValidationSet]:
        """What is left, and what is held out."""
        chosen = choose_held_out(config, self.known)
        kept = np.ones(self.known.pairs, np.bool_)
        kept[chosen.positions] = False
        part = self.known.with_pairs(kept)
        return InMemory(part), make_validation_set(self.known, part, chosen)

    def start(self, config: Config, pool: Pool) -> Embeddings:
        """All that is trained."""
        label_pairs = frequent_label_pairs(self.known, config.label_pairs, pool) if config.has_context else None
        return padded(initial_embeddings(config, self.known, label_pairs))

    def home(self, config: Config) -> Home:
        """In the embeddings."""
        return TableHome(config.shards)

    def course(self, config: Config, embeddings: Embeddings, home: Home, workers: Workers, pool: Pool | None) -> Course:
        """All images as one, or by shards."""
        if config.shards == 1:
            return SerialCourse(config, self.known, embeddings, workers)
        parts = list(self._parts(config, embeddings))
        return ShardedCourse(config, self.known.pairs, embeddings, pool or LocalPool(workers), parts, home)

    def _parts(self, config: Config, embeddings: Embeddings) -> Iterator[Payload]:
        """What each shard begins with."""
        for shard in range(config.shards):
            own = shard_images(len(self.known.images), shard, config.shards)
            rows = self.known.rows(own)
            part = {
                "indptr": rows.indptr,
                "indices": rows.indices,
                "image_vectors": embeddings.image_vectors[own] if config.has_ids else embeddings.image_vectors,
            }
            features = config.has_features
            yield part | (feature_arguments(plain_features(self.known.features)[own]) if features else {})

    def memory(self, regularization: float, pool: Pool) -> LabelWeights:
        """Counted where the pool works."""
        return learn_label_weights(self.known, regularization, pool)
