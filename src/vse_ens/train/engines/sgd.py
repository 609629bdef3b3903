"""Losses with one negative per positive: hinge, warp, logistic."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels import losses, samplers
from vse_ens.kernels.arrays import COUNTS, SharedTables, Step, cache_lines
from vse_ens.kernels.rank_table import find_moved_factors
from vse_ens.kernels.sgd import merge_slice_updates, sgd_kernel
from vse_ens.model.embeddings import Embeddings
from vse_ens.run.threads import Task, Workers
from vse_ens.train.engines.base import FastEngine, RoundStats, ranges
from vse_ens.train.sampling import ranking_probes
from vse_ens.train.schedule import EpochPlan


class SgdEngine(FastEngine):
    """Stochastic gradient descent by slices.

    All slices of a round start from one snapshot of the shared tables and visit their images one after another. Their
    updates are then merged in slice order (`merge_slice_updates`). With one slice this is plain serial SGD.
    """

    def __init__(self, config: Config, data: Annotations, embeddings: Embeddings, workers: Workers) -> None:
        super().__init__(config, data, embeddings, workers)
        self._kernel = sgd_kernel(
            self._width,
            samplers.CODES[config.sampler],
            losses.CODES[config.loss],
            config.has_ids,
            config.has_features,
        )
        self._probes = ranking_probes(config, len(data.labels))
        self._moved = np.empty(self._width + 1, np.int64)
        self._ranked = False
        slices = self.schedule.slices
        self._copies = [np.repeat(table[None], slices, axis=0) for table in self._tables] if slices > 1 else []

    def reload_tables(self) -> None:
        """Start all slices from the tables as they are now, and sort all rankings before the next round."""
        self._ranked = False
        for copies, table in zip(self._copies, self._tables, strict=False):
            copies[:] = table

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the rankings: the next round keeps those that still hold."""
        return self._save_rankings() if self._ranked else {}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue with the rankings of a saved state; without any, all are sorted before the next round."""
        self._ranked = self._restore_rankings(arrays)

    def _refresh_rankings(self) -> None:
        """Sort the labels by each factor whose ranking no longer holds; before the first round by every factor."""
        if not self._ranked:
            super()._refresh_rankings()
            self._ranked = True
            return
        self._rank(self._moved[: find_moved_factors(self._tables, self._sampling, self._probes, self._moved)])

    def _train(self, plan: EpochPlan, number: int, step: Step) -> RoundStats:
        slices = plan.slices(number, self.schedule.slices)
        states = plan.random_states(number, len(slices))
        counts = cache_lines(len(slices), np.int64)

        def train(index: int, worker: int) -> float:
            tables = SharedTables(*(copy[index] for copy in self._copies)) if self._copies else self._tables
            return self._kernel(
                self._embeddings.image_vectors,
                tables,
                self._features,
                self._pairs,
                slices[index],
                self._sampling,
                step,
                self._scratch[worker],
                states[index],
                counts[index],
            )

        loss = sum(self._workers.run([partial(train, index) for index in range(len(slices))]))
        if self._copies:
            self._merge()
        return RoundStats(counts.sum(axis=0)[:COUNTS], float(loss))

    def _merge(self) -> None:
        def merge(table: np.ndarray, copies: np.ndarray, first: int, last: int, _worker: int) -> None:
            merge_slice_updates(table, copies, first, last)

        tasks: list[Task] = []
        for table, copies in zip(self._tables, self._copies, strict=True):
            # The bias is merged as a table of one column.
            rows, slices = (table, copies) if table.ndim == 2 else (table[:, None], copies[:, :, None])
            tasks += [partial(merge, rows, slices, *edges) for edges in ranges(len(table), self._workers.count)]
        self._workers.run(tasks)
