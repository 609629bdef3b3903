"""Two-phase batches: compute the gradients of a batch from one snapshot, then apply them in a fixed order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels.arrays import COUNTS, Step, cache_lines
from vse_ens.kernels.two_phase import (
    FEATURE_MAP,
    RANGES_DONE,
    BatchLayout,
    Progress,
    RowRanges,
    apply_feature_gradients,
)
from vse_ens.model.embeddings import Embeddings
from vse_ens.run.threads import Workers
from vse_ens.train.engines.base import FastEngine, RoundStats, ranges
from vse_ens.train.schedule import EpochPlan

# How often a worker looks whether the others have finished a phase before it sleeps: for a sixth of a millisecond, by
# which workers rarely differ if the machine has nothing else to do. If it has, the core is better left to others.
_LOOKS = 600_000
_MAX_SLEEP = 1e-3  # seconds; the others wake it before
# Draws whose labels are enough to see where the work of the second phase lies.
_SAMPLE = 128


class Batch(NamedTuple):
    """A batch, and how far the workers have got with it."""

    layout: BatchLayout
    progress: Progress
    ranges: list[RowRanges]
    """The row ranges of the second phase, of one table after the other."""


Phase = Callable[[Batch, int], bool]
"""Called with a batch and the number of a worker; returns False to be called again after a short time."""


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
        batches = self._batches(plan, number)
        phases, phase_done, sleeping = self._phases(step), threading.Condition(), set[int]()

        def work(worker: int) -> None:
            for batch in batches:
                hasty = batch._replace(progress=batch.progress._replace(looks=1))
                for phase in phases:
                    done = phase(batch, worker)
                    while not done:
                        with phase_done:
                            sleeping.add(worker)
                            phase_done.wait(_MAX_SLEEP)
                            sleeping.discard(worker)
                        done = phase(hasty, worker)
                    if sleeping:
                        with phase_done:
                            phase_done.notify_all()

        self._workers.run([work] * self._workers.count)
        counts = sum(batch.layout.counts.sum(axis=0) for batch in batches)
        return RoundStats(counts[:COUNTS], sum(float(batch.layout.losses.sum()) for batch in batches))

    def _batches(self, plan: EpochPlan, number: int) -> list[Batch]:
        """Return the batches of a round, of which nothing is done yet."""
        first_image, last_image = plan.round_starts[number : number + 2]
        inputs = self._inputs_per_image[plan.images[first_image:last_image]]
        inputs_before = np.concatenate([[0], np.cumsum(inputs)])
        edges_of = plan.batches(number, self.schedule.batch)
        states = plan.random_states(number, sum(len(edges) - 1 for edges in edges_of))
        ranges_of = [equal_work(rows, changed, self._workers.count) for rows, changed in self._changed_tables()]
        counters = cache_lines(len(edges_of) + 1, np.int64)
        counters[0, RANGES_DONE] = sum(map(len, ranges_of))
        batches = []
        for before, edges in enumerate(edges_of):
            chunks = len(edges) - 1
            own, states = np.split(states, [chunks])
            layout = BatchLayout(
                plan.images[edges[0] : edges[-1]],
                edges - edges[0],
                plan.draws_before[edges] - plan.draws_before[edges[0]],
                inputs_before[edges - first_image] - inputs_before[edges[0] - first_image],
                own,
                cache_lines(chunks, np.int64),
                np.zeros(chunks),
            )
            progress = Progress(counters[before + 1], counters[before], chunks, int(counters[0, RANGES_DONE]), _LOOKS)
            batches.append(Batch(layout, progress, ranges_of))
        return batches

    def _changed_tables(self) -> list[tuple[int, NDArray[np.int32]]]:
        """Return the rows of every table that the second phase changes, and a sample of those that it changed last."""
        changed = self._drawn_labels()[:_SAMPLE]
        return [
            (len(self._tables.labels), changed[changed >= 0]),
            (len(self._tables.feature_map), np.empty(0, np.int32)),
        ]

    def _phases(self, step: Step) -> list[Phase]:
        """Return the kernels of both phases, which are called one after the other for each batch."""
        phases: list[Phase] = [partial(self._compute, step), partial(self._apply_to_labels, step)]
        if not self._config.has_features:
            return phases

        def apply_to_features(batch: Batch, _worker: int) -> bool:
            return apply_feature_gradients(
                self._tables.feature_map,
                self._features,
                batch.layout.images,
                batch.progress,
                batch.ranges[FEATURE_MAP],
                self._feature_gradients,
            )

        return [*phases, apply_to_features]

    def _drawn_labels(self) -> NDArray[np.int32]:
        """Return the labels of every draw of the last batch; -1 stands for none."""
        raise NotImplementedError

    def _compute(self, step: Step, batch: Batch, worker: int) -> bool:
        """First phase: compute the gradients of a batch."""
        raise NotImplementedError

    def _apply_to_labels(self, step: Step, batch: Batch, worker: int) -> bool:
        """Second phase: add the gradients of a batch to the labels."""
        raise NotImplementedError


def equal_work(rows: int, changed: NDArray[np.int32], pieces: int) -> RowRanges:
    """Split ``range(rows)`` into non-empty ranges with about equal numbers of the changed rows.

    Ranges of equal length, which are returned if no row has changed, are not equal work: frequent labels may be
    neighbours.
    """
    if len(changed):
        inner = np.sort(changed)[len(changed) * np.arange(1, pieces) // pieces]
        edges = np.unique(np.concatenate([[0], inner, [rows]]))
        found = list(pairwise(edges.tolist()))
    else:
        found = ranges(rows, pieces)
    return np.array(found, np.int64).reshape(-1, 2)
