"""Two-phase batches: compute the gradients of a batch from one snapshot, then apply them in a fixed order."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels.arrays import COUNTS, Step, cache_aligned
from vse_ens.kernels.two_phase import FEATURE_ROWS, INPUT_ROWS, LABEL_ROWS, Round
from vse_ens.model.embeddings import Embeddings
from vse_ens.run.threads import Workers
from vse_ens.train.engines.base import FastEngine, RoundStats, ranges
from vse_ens.train.schedule import EpochPlan

# Seconds until a worker looks again that waits for others for long: they share a core with another process.
_NAP = 5e-5
SAMPLE = 128
"""Draws whose labels are enough to see where the work of the second phase lies."""


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
        round_ = self._round(plan, number)
        batches = len(round_.chunks_taken)

        def work(worker: int) -> None:
            done = 0
            while (done := self._train_batches(round_, done, step, worker)) < batches:
                time.sleep(_NAP)

        self._workers.run([work] * self._workers.count)
        return RoundStats(round_.counts.sum(axis=0), float(round_.losses.sum()))

    def _round(self, plan: EpochPlan, number: int) -> Round:
        batches = plan.batches(number, self.schedule.batch)
        edges = np.concatenate(batches)
        starts = np.repeat([batch[0] for batch in batches], [len(batch) for batch in batches])
        first, last = plan.round_starts[number : number + 2]
        images = plan.images[first:last]
        inputs_before = np.concatenate([[0], np.cumsum(self._inputs_per_image[images])])
        first_chunks = np.cumsum([0, *(len(batch) - 1 for batch in batches)])
        chunks = int(first_chunks[-1])
        return Round(
            images=images,
            first_images=np.append([batch[0] for batch in batches], last) - first,
            first_chunks=first_chunks,
            first_visits=edges - starts,
            first_draws=plan.draws_before[edges] - plan.draws_before[starts],
            first_entries=inputs_before[edges - first] - inputs_before[starts - first],
            random_states=plan.random_states(number, chunks),
            counts=cache_aligned(chunks, COUNTS, np.int64),
            losses=np.zeros(chunks),
            ranges=self._ranges(),
            chunks_taken=np.zeros(len(batches), np.int64),
            chunks_done=np.zeros(len(batches), np.int64),
            ranges_taken=np.zeros(len(batches), np.int64),
            ranges_done=np.zeros(len(batches), np.int64),
        )

    def _ranges(self) -> NDArray[np.int64]:
        """Return the rows of the tables in ranges that are about equal work, one of each table for every worker."""
        tables = [(LABEL_ROWS, len(self._tables.labels), self._changed_labels())]
        if self._config.has_context:
            tables.append((INPUT_ROWS, len(self._embeddings.input_vectors), self._changed_inputs()))
        if self._config.has_features:
            tables.append((FEATURE_ROWS, len(self._tables.feature_map), np.empty(0, np.int32)))
        pieces = self._workers.count
        return np.array(
            [(table, *edges) for table, rows, changed in tables for edges in equal_work(rows, changed, pieces)]
        )

    def _train_batches(self, round_: Round, start: int, step: Step, worker: int) -> int:
        """Train batches from number ``start`` on; return the number of the one at which to go on."""
        raise NotImplementedError

    def _changed_labels(self) -> NDArray[np.int32]:
        """Return label rows that the last batch changed, or a sample of them; -1 stands for none."""
        raise NotImplementedError

    def _changed_inputs(self) -> NDArray[np.int32]:
        """Return the same for the rows of inputs."""
        return np.empty(0, np.int32)


def equal_work(rows: int, changed: NDArray[np.int32], pieces: int) -> list[tuple[int, int]]:
    """Split ``range(rows)`` into ranges with about equal numbers of the changed rows; of near-equal length without any.

    Ranges of equal length are not equal work: frequent labels may be neighbours.
    """
    changed = np.sort(changed[changed >= 0])
    if pieces == 1 or not len(changed):
        return ranges(rows, pieces)
    inner = changed[len(changed) * np.arange(1, pieces) // pieces].tolist()
    return [(first, last) for first, last in pairwise([0, *inner, rows]) if last > first]
