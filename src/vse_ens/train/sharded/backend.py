"""Training by shards: long rounds, after each of which the updates of all shards are merged."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from vse_ens.data.partition.parts import shard_images
from vse_ens.run.pool import LocalPool, MergeSpec, Payload
from vse_ens.train.backend import Arrays, Backend
from vse_ens.train.engines import RoundStats
from vse_ens.train.sharded.actor import FACTORY
from vse_ens.train.sharded.merge import (
    apply_delta,
    exchanges_per_epoch,
    join_deltas,
    merge_deltas,
    shared_tables,
    split_tables,
)

_MERGE = MergeSpec(
    *(f"{function.__module__}.{function.__name__}" for function in (merge_deltas, split_tables, join_deltas))
)
# A lost shard is restored from its last saved state and the tables of the rounds since, which are repeated. Saving may
# take one part in this many of the time, and tables of at most these many bytes are kept for repeating.
_SAVE_EVERY = 20.0
_MAX_UNSAVED_BYTES = 1 << 30


class ShardedBackend(Backend):
    """Trains the shards of a model in a pool: on a cluster, or one after another in this process."""

    _epoch, _exchanges = 0, 1

    def _reset(self) -> None:
        self._is_open = False
        self._unsaved_bytes, self._unsaved_seconds, self._saving_seconds = 0, 0.0, 0.0

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

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Add the files of the image vectors."""
        arrays, state = super().state()
        return arrays, state | {"store": self._store.state() if self._store else {}}

    def restore(self, arrays: Mapping[str, NDArray[Any]], state: Mapping[str, Any]) -> None:
        """Continue from a saved state, with the files of the image vectors."""
        super().restore(arrays, state)
        if self._store:
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
        if self._store:
            self._store.receive(self._working_pool.save(self._store.save_arguments()))
        else:
            table, shards = self._current.image_vectors, self.config.shards
            for shard, saved in enumerate(self._working_pool.save({})):
                table[shard_images(len(table), shard, shards)] = saved["image_vectors"]
        self._unsaved_bytes, self._unsaved_seconds = 0, 0.0
        self._saving_seconds = time.perf_counter() - started

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
        arguments = self._pairs.shard_arguments(
            self.config, embeddings, self._store.shard_states() if self._store else []
        )
        self._working_pool.open(FACTORY, settings, arguments)
        self._is_open = True


def _total(reports: list[Payload], seconds: float) -> RoundStats:
    """Add up the reports of all shards; they may have run in parallel, so the time is what passed."""
    stats = RoundStats()
    for report in reports:
        stats.add(RoundStats(report["counts"], report["loss"], report["seconds"], report["refresh_seconds"]))
    refreshing = stats.refresh_seconds / stats.seconds if stats.seconds else 0.0
    stats.seconds, stats.refresh_seconds = seconds, refreshing * seconds
    return stats
