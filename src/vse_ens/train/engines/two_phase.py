"""Two-phase batches: compute the gradients of a batch from one snapshot, then apply them in a fixed order."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels.arrays import COUNTS, Step, cache_aligned
from vse_ens.kernels.two_phase import BatchLayout, apply_feature_gradients
from vse_ens.model.embeddings import Embeddings
from vse_ens.run.threads import Task, Workers
from vse_ens.train.engines.base import FastEngine, RoundStats, ranges
from vse_ens.train.schedule import EpochPlan


class TwoPhaseEngine(FastEngine):
    """Trains batch by batch.

    In the first phase workers compute the gradients of chunks of the batch from the same snapshot of the tables. In the
    second each worker adds them to the table rows it owns, in the order of the batch. There are no copies of tables and
    no races, and the result does not depend on the number of workers.
    """

    def __init__(self, config: Config, data: Annotations, embeddings: Embeddings, workers: Workers) -> None:
        super().__init__(config, data, embeddings, workers)
        self._positives_per_image = data.labels_per_image
        self._inputs_per_image = data.labels_per_image
        # A batch ends with a whole image, so it may be longer than asked for by the labels of one image.
        self._max_positives = 2 * self.schedule.batch + int(data.labels_per_image.max(initial=0))
        feature_rows = self._max_positives if config.has_features else 0
        self._feature_gradients = np.empty((feature_rows, self._width), np.float32)

    def _train(self, plan: EpochPlan, number: int, step: Step) -> RoundStats:
        batches = plan.batches(number, self.schedule.batch)
        states = plan.random_states(number, sum(map(len, batches)))
        stats = RoundStats()
        first_state = 0
        for chunks in batches:
            batch = self._layout(chunks, states[first_state : first_state + len(chunks)])
            # Two tasks per worker, so that one that is slowed down can be helped; calls cost more than small kernels.
            tasks = 1 if self._workers.count == 1 else 2 * self._workers.count
            pieces = ranges(len(chunks), min(tasks, len(chunks)))
            loss = sum(self._workers.run([partial(self._compute, batch, step, *edges) for edges in pieces]))
            self._workers.run(self._apply_tasks(batch, step))
            stats.add(RoundStats(batch.counts.sum(axis=0), float(loss)))
            first_state += len(chunks)
        return stats

    def _layout(self, chunks: list[NDArray[np.int64]], states: NDArray[np.uint64]) -> BatchLayout:
        images = np.concatenate(chunks)
        first_visits = np.concatenate([[0], np.cumsum([len(chunk) for chunk in chunks])])

        def starts(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
            before: NDArray[np.int64] = np.concatenate([[0], np.cumsum(sizes[images])])[first_visits]
            return before

        first_draws = starts(self._positives_per_image)
        same = self._inputs_per_image is self._positives_per_image
        first_entries = first_draws if same else starts(self._inputs_per_image)
        counts = cache_aligned(len(chunks), COUNTS, np.int64)
        return BatchLayout(images, first_visits, first_draws, first_entries, states, counts)

    def _compute(self, batch: BatchLayout, step: Step, first_chunk: int, last_chunk: int, worker: int) -> float:
        """First phase: write the gradients of some chunks; return their loss."""
        raise NotImplementedError

    def _apply_tasks(self, batch: BatchLayout, step: Step) -> list[Task]:
        """Second phase: tasks that add the gradients of the batch to ranges of table rows."""
        raise NotImplementedError

    def _feature_tasks(self, batch: BatchLayout) -> list[Task]:
        """Tasks that apply the image gradients of a batch to the feature map; none without features."""
        if not self._config.has_features:
            return []

        def apply(first: int, last: int, _worker: int) -> None:
            apply_feature_gradients(self._tables, self._features, batch.images, self._feature_gradients, first, last)

        return [partial(apply, *edges) for edges in ranges(len(self._tables.feature_map), self._workers.count)]
