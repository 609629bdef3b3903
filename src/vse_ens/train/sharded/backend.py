"""Training by shards: long rounds, after each of which the updates of all shards are merged."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.partition.store import Partition
from vse_ens.label_weights.learn import learn_label_weights
from vse_ens.model.embeddings import Embeddings
from vse_ens.model.weights import LabelWeights
from vse_ens.run.pool import LocalPool, MergeSpec, Payload, Pool, WorkerTiming
from vse_ens.run.threads import Workers
from vse_ens.train.backend import Arrays, pack_embeddings, unpack_embeddings
from vse_ens.train.engines import RoundStats
from vse_ens.train.pair_selection import frequent_label_pairs
from vse_ens.train.ram_estimate import check_ram
from vse_ens.train.schedule import resolve_auto
from vse_ens.train.sharded.actor import FACTORY
from vse_ens.train.sharded.merge import (
    apply_delta,
    exchanges_per_epoch,
    join_deltas,
    merge_deltas,
    shared_tables,
    split_tables,
)
from vse_ens.train.sharded.sources import InMemorySource, PartitionSource, ShardSource
from vse_ens.train.tables import padded
from vse_ens.train.validation import ValidationSet, choose_held_out, make_validation_set

_MERGE = MergeSpec(
    *(f"{function.__module__}.{function.__name__}" for function in (merge_deltas, split_tables, join_deltas))
)
# A lost shard is restored from its last saved state and the tables of the rounds since, which are repeated. Saving may
# take one part in this many of the time, and tables of at most these many bytes are kept for repeating.
_SAVE_EVERY = 20.0
_MAX_UNSAVED_BYTES = 1 << 30


class ShardedBackend:
    """Trains the shards of a model in a pool: on a cluster, or one after another in this process.

    ``folder`` is where a partition's remaining pairs and image vectors are written: beside the partition by default.
    """

    def __init__(
        self,
        config: Config,
        data: Annotations | Partition,
        workers: int | None = None,
        pool: Pool | None = None,
        folder: Path | None = None,
    ) -> None:
        self._source: ShardSource
        if isinstance(data, Annotations):
            self._source = InMemorySource(data)
        else:
            self._source = PartitionSource(data, folder or data.folder.with_name("training"))
        self._source.check(config)
        self.known = self._source.known
        self.config = resolve_auto(config, self.known)
        self.pool = pool
        self.timings: tuple[WorkerTiming, ...] = ()
        self._workers = Workers(workers)
        self._working_pool: Pool = pool or LocalPool(self._workers)
        self._train_source: ShardSource = self._source
        self._store = self._source.vector_store(self.config)
        self._best: Embeddings | None = None
        self._all_pairs = False
        self._is_open = False
        self._epoch, self._exchanges = 0, 1
        self._unsaved_bytes, self._unsaved_seconds, self._saving_seconds = 0, 0.0, 0.0

    def hold_out(self) -> ValidationSet:
        """Withhold one label of some images from training."""
        chosen = choose_held_out(self.config, self.known)
        self._train_source = self._source.without(chosen)
        return make_validation_set(self.known, self._train_source.known, chosen)

    def initialize(self, all_pairs: bool = False) -> None:
        """Draw new start vectors; train on the pairs that are not held out, or on all."""
        self._all_pairs = all_pairs
        config, label_pairs = self.config, None
        if config.has_context:
            label_pairs = frequent_label_pairs(self._pairs.countable, config.label_pairs, self._working_pool)
        if isinstance(self._source, InMemorySource) and not all_pairs:
            check_ram(config, self.known, self._workers.count, label_pairs)
        self._use(padded(self._pairs.initial(config, label_pairs)))

    def begin_epoch(self, epoch: int) -> int:
        """Plan an epoch: one round per exchange."""
        if not self._is_open:
            self._open_pool()
        self._epoch = epoch
        self._exchanges = exchanges_per_epoch(
            self.config, len(self._current.label_vectors), self._pairs.known.pairs, epoch
        )
        return self._exchanges

    def run_round(self, number: int, learning_rate: float) -> RoundStats:
        """Train every shard until the next exchange, then merge their updates."""
        tables = shared_tables(self._current)
        arguments = {
            "epoch": self._epoch,
            "exchange": number,
            "exchanges": self._exchanges,
            "learning_rate": learning_rate,
        }
        started = time.perf_counter()
        result = self._working_pool.run(tables, arguments, _MERGE)
        apply_delta(tables, result.merged)
        self.timings = result.timings
        self._unsaved_bytes += sum(table.nbytes for table in tables.values())
        self._unsaved_seconds += time.perf_counter() - started
        if self._unsaved_bytes > _MAX_UNSAVED_BYTES or self._unsaved_seconds >= _SAVE_EVERY * self._saving_seconds:
            self.save_vectors()
        return _total(result.reports, time.perf_counter() - started)

    @property
    def tables(self) -> Embeddings:
        """The tables under training; image vectors are those saved last."""
        return self._current

    def validation_embeddings(self, images: NDArray[np.int64], best: bool = False) -> Embeddings:
        """Return the current or best embeddings, with the vectors of ``images`` only."""
        self.save_vectors()
        embeddings = self._chosen(best)
        if not self.config.has_ids:
            return embeddings
        return replace(embeddings, image_vectors=self._store.rows(embeddings, images, best))

    def snapshot_best(self) -> None:
        """Keep the current vectors as those of the best epoch."""
        self.save_vectors()
        self._best = self._current.copy()
        self._store.mark_best()

    def export(self, best: bool = False) -> Embeddings:
        """Return a copy of the current or best embeddings, with the vectors of all images and without padding."""
        self.save_vectors()
        return self._store.assemble(self._chosen(best), self.config.dimensions, best and self._best is not None)

    def learn_label_weights(self, regularization: float, all_pairs: bool = False) -> LabelWeights:
        """Learn the label weights from the pairs that are not held out, or from all."""
        source = self._source if all_pairs else self._train_source
        return learn_label_weights(source.countable, regularization, self._working_pool)

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Return arrays and JSON from which `restore` continues."""
        self.save_vectors()
        return pack_embeddings(self._current, self._best), {"all_pairs": self._all_pairs, "store": self._store.state()}

    def restore(self, arrays: Mapping[str, NDArray[Any]], state: Mapping[str, Any]) -> None:
        """Continue from a saved state."""
        self._all_pairs = state["all_pairs"]
        current, self._best = unpack_embeddings(arrays, self._current)
        self._use(current)
        self._store.restore(state["store"])

    def close(self) -> None:
        """Free the shards of this process and end its threads; the next epoch starts new ones."""
        if self.pool is None:
            self.save_vectors()
            self._working_pool, self._is_open = LocalPool(self._workers), False
        self._workers.close()

    def save_vectors(self) -> None:
        """Collect the image vectors from the shards."""
        if not self.config.has_ids or not self._unsaved_bytes:
            return
        started = time.perf_counter()
        self._store.receive(self._working_pool.save(self._store.save_arguments()))
        self._unsaved_bytes, self._unsaved_seconds = 0, 0.0
        self._saving_seconds = time.perf_counter() - started

    @property
    def training_pairs(self) -> Annotations:
        """The pairs that are not held out."""
        return self._train_source.known

    @property
    def _pairs(self) -> ShardSource:
        """The pairs training sees."""
        return self._source if self._all_pairs else self._train_source

    def _use(self, embeddings: Embeddings) -> None:
        self._current = embeddings
        self._store.begin(embeddings)
        self._is_open = False
        self._unsaved_bytes, self._unsaved_seconds, self._saving_seconds = 0, 0.0, 0.0

    def _open_pool(self) -> None:
        """Hand each shard its pairs and its start vectors."""
        embeddings = self._current
        settings = {
            "config": self.config.to_dict(),
            "labels": len(embeddings.label_vectors),
            "width": embeddings.dimensions,
            "features": len(embeddings.feature_map),
            "label_pairs": embeddings.label_pairs,
        }
        arguments = self._pairs.shard_arguments(self.config, embeddings, self._store)
        self._working_pool.open(FACTORY, settings, arguments)
        self._is_open = True

    def _chosen(self, best: bool) -> Embeddings:
        return self._best if best and self._best is not None else self._current


def _total(reports: list[Payload], seconds: float) -> RoundStats:
    """Add up the reports of all shards; they may have run in parallel, so the time is what passed."""
    stats = RoundStats()
    for report in reports:
        stats.add(RoundStats(report["counts"], report["loss"], report["seconds"], report["refresh_seconds"]))
    refreshing = stats.refresh_seconds / stats.seconds if stats.seconds else 0.0
    stats.seconds, stats.refresh_seconds = seconds, refreshing * seconds
    return stats
