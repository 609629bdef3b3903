"""Epochs by shards: long rounds, after each of which what the shards changed is combined."""

from __future__ import annotations

import time
from collections.abc import Sequence

from vse_ens.config import Config
from vse_ens.model.embeddings import Embeddings
from vse_ens.run.pool import MergeSpec, Payload, Pool, WorkerTiming
from vse_ens.train.engines.base import RoundStats
from vse_ens.train.homes import Home
from vse_ens.train.sharded.actor import FACTORY
from vse_ens.train.sharded.merge import apply_changes, cut_tables, exchanges, join_changes, merge_changes, shared_tables

_MERGING = MergeSpec(
    *(f"{function.__module__}.{function.__name__}" for function in (merge_changes, cut_tables, join_changes))
)
# A shard that is lost is made again from its last saved state and the tables of the rounds since, which are repeated.
# Saving takes at most one part in so many of the time, and no more bytes of tables than these are kept for it.
_TIMES_SAVING = 20.0
_MOST_KEPT = 1 << 30


class ShardedCourse:
    """Trains embeddings in place by the shards of a pool."""

    def __init__(
        self, config: Config, pairs: int, embeddings: Embeddings, pool: Pool, parts: Sequence[Payload], home: Home
    ) -> None:
        labels = len(embeddings.label_vectors)
        self._config = config
        self._embeddings = embeddings
        self._pool = pool
        self._home = home
        self._pairs = pairs
        self._epoch, self._stretches = 0, 1
        self._unsaved_bytes, self._unsaved_seconds, self._saving_seconds = 0, 0.0, 0.0
        self.timings: tuple[WorkerTiming, ...] = ()
        settings = {
            "config": config.to_dict(),
            "labels": labels,
            "width": embeddings.dimensions,
            "features": len(embeddings.feature_map),
            "label_pairs": embeddings.label_pairs,
        }
        pool.open(FACTORY, settings, parts)

    def begin(self, epoch: int) -> int:
        """Plan an epoch."""
        self._epoch = epoch
        self._stretches = exchanges(self._config, len(self._embeddings.label_vectors), self._pairs, epoch)
        return self._stretches

    def run_round(self, number: int, learning_rate: float) -> RoundStats:
        """Let every shard train, then combine."""
        tables = shared_tables(self._embeddings)
        stretch = {
            "epoch": self._epoch,
            "stretch": number,
            "stretches": self._stretches,
            "learning_rate": learning_rate,
        }
        began = time.perf_counter()
        done = self._pool.run(tables, stretch, _MERGING)
        apply_changes(tables, done.merged)
        self.timings = done.timings
        self._unsaved_bytes += sum(table.nbytes for table in tables.values())
        self._unsaved_seconds += time.perf_counter() - began
        if self._unsaved_bytes > _MOST_KEPT or self._unsaved_seconds >= _TIMES_SAVING * self._saving_seconds:
            self.settle()
        return _work(done.reports, time.perf_counter() - began)

    def settle(self) -> None:
        """Have the images' own vectors, which are trained in the shards, brought home."""
        if not self._config.has_ids or not self._unsaved_bytes:
            return
        began = time.perf_counter()
        self._home.receive(self._pool.save(self._home.arguments()))
        self._unsaved_bytes, self._unsaved_seconds, self._saving_seconds = 0, 0.0, time.perf_counter() - began


def _work(reports: list[Payload], seconds: float) -> RoundStats:
    """What all shards did, in the time that passed: they may have worked side by side."""
    work = RoundStats()
    for report in reports:
        work.add(RoundStats(report["counts"], report["loss"], report["seconds"], report["refresh_seconds"]))
    refreshing = work.refresh_seconds / work.seconds if work.seconds else 0.0
    work.seconds, work.refresh_seconds = seconds, refreshing * seconds
    return work
