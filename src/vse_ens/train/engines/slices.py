"""Losses with one negative per positive: hinge, warp, logistic."""

from __future__ import annotations

import time
from functools import partial

import numpy as np

from vse_ens.kernels import losses, samplers
from vse_ens.kernels.arrays import COUNTS, SharedTables, cache_lines
from vse_ens.kernels.rank_table import rank_factors
from vse_ens.kernels.sgd import SgdScratch, merge_slice_updates, sgd_kernel
from vse_ens.run.threads import Task
from vse_ens.streams import Streams
from vse_ens.train.engines.base import Rankings, RoundStats, Training, ranges
from vse_ens.train.sampling import ranking_probes
from vse_ens.train.schedule import EpochPlan, Schedule


class SliceEngine:
    """Stochastic gradient descent by slices.

    All slices of a round start from one snapshot of the shared tables and visit their images one after another. Their
    updates are then merged in slice order (`merge_slice_updates`). With one slice this is plain serial SGD.
    """

    def __init__(self, training: Training) -> None:
        config, labels, width = training.config, len(training.data.labels), training.width
        self.training = training
        self._schedule = Schedule.of(config, labels)
        probes = ranking_probes(config, labels)
        self.rankings = Rankings(training, rank_factors, width + 1, probes)
        self._kernel = sgd_kernel(
            width, samplers.CODES[config.sampler], losses.CODES[config.loss], config.has_ids, config.has_features
        )
        workers, slices = range(training.workers.count), self._schedule.slices
        self._scratch = [SgdScratch.allocate(width, training.longest, training.scores) for _ in workers]
        tables = training.arrays.tables
        self._copies = [np.repeat(table[None], slices, axis=0) for table in tables] if slices > 1 else []

    def plan(self, epoch: int, stream: Streams) -> EpochPlan:  # noqa: ARG002
        """Plan an epoch: the order of the images and where its rounds begin."""
        return EpochPlan.of(self.training.data, self._schedule, stream)

    def run_round(self, plan: EpochPlan, number: int, learning_rate: float) -> RoundStats:
        """Refresh the rankings, then train one round of an epoch."""
        started = time.perf_counter()
        refreshing = self.rankings.refresh()
        training, step = self.training, self.training.step(learning_rate)
        slices = plan.slices(number, self._schedule.slices)
        states = plan.random_states(number, len(slices))
        counts = cache_lines(len(slices), np.int64)

        def train(index: int, worker: int) -> float:
            arrays = training.arrays
            if self._copies:
                arrays = arrays._replace(tables=SharedTables(*(copy[index] for copy in self._copies)))
            return self._kernel(
                arrays, slices[index], training.sampling, step, self._scratch[worker], states[index], counts[index]
            )

        loss = sum(training.workers.run([partial(train, index) for index in range(len(slices))]))
        if self._copies:
            self._merge()
        return RoundStats(counts.sum(axis=0)[:COUNTS], float(loss), time.perf_counter() - started, refreshing)

    def reload_tables(self) -> None:
        """Start all slices from the tables as they are now, and sort all rankings before the next round."""
        self.rankings.known = False
        for copies, table in zip(self._copies, self.training.arrays.tables, strict=False):
            copies[:] = table

    def _merge(self) -> None:
        def merge(table: np.ndarray, copies: np.ndarray, first: int, last: int, _worker: int) -> None:
            merge_slice_updates(table, copies, first, last)

        tasks: list[Task] = []
        for table, copies in zip(self.training.arrays.tables, self._copies, strict=True):
            # The bias is merged as a table of one column.
            rows, slices = (table, copies) if table.ndim == 2 else (table[:, None], copies[:, :, None])
            pieces = ranges(len(table), self.training.workers.count)
            tasks += [partial(merge, rows, slices, *edges) for edges in pieces]
        self.training.workers.run(tasks)
