"""Two-phase batches: compute the gradients of a batch from one snapshot, then apply them in a fixed order."""

from __future__ import annotations

from functools import partial

import numpy as np

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
        self._inputs_per_image = data.labels_per_image
        # A batch ends with a whole image, so it may be longer than asked for by the labels of one image.
        self._max_positives = 2 * self.schedule.batch + int(data.labels_per_image.max(initial=0))
        feature_rows = self._max_positives if config.has_features else 0
        self._feature_gradients = np.empty((feature_rows, self._width), np.float32)

    def _train(self, plan: EpochPlan, number: int, step: Step) -> RoundStats:
        batches = plan.batches(number, self.schedule.batch)
        chunks = sum(len(edges) - 1 for edges in batches)
        states, counts = plan.random_states(number, chunks), cache_aligned(chunks, COUNTS, np.int64)
        first, last = plan.round_starts[number : number + 2]
        inputs_before = np.concatenate([[0], np.cumsum(self._inputs_per_image[plan.images[first:last]])])
        loss, done = 0.0, 0
        for edges in batches:
            own = slice(done, done := done + len(edges) - 1)
            draws, inputs = plan.draws_before[edges], inputs_before[edges - first]
            batch = BatchLayout(
                plan.images[edges[0] : edges[-1]],
                edges - edges[0],
                draws - draws[0],
                inputs - inputs[0],
                states[own],
                counts[own],
            )
            # Two tasks per worker, so that one that is slowed down can be helped; calls cost more than small kernels.
            tasks = 1 if self._workers.count == 1 else 2 * self._workers.count
            pieces = ranges(len(edges) - 1, min(tasks, len(edges) - 1))
            loss += sum(self._workers.run([partial(self._compute, batch, step, *piece) for piece in pieces]))
            self._workers.run(self._apply_tasks(batch, step))
        return RoundStats(counts.sum(axis=0), loss)

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
