"""Two-phase batches: compute the gradients of a batch from one snapshot, then apply them in a fixed order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels.arrays import COUNTS, Step, cache_aligned
from vse_ens.kernels.two_phase import Round, apply_feature_gradients
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

Phase = Callable[[Round, int, int], bool]
"""Called with the numbers of a batch and of a worker; returns False to be called again after a short time."""


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
        hasty = round_._replace(looks=1)
        phases, phase_done, sleeping = self._phases(step), threading.Condition(), set[int]()

        def work(worker: int) -> None:
            for batch in range(len(round_.chunks_taken)):
                for phase in phases:
                    done = phase(round_, batch, worker)
                    while not done:
                        with phase_done:
                            sleeping.add(worker)
                            phase_done.wait(_MAX_SLEEP)
                            sleeping.discard(worker)
                        done = phase(hasty, batch, worker)
                    if sleeping:
                        with phase_done:
                            phase_done.notify_all()

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
        ranges_of = [equal_work(rows, changed, self._workers.count) for rows, changed in self._changed_tables()]
        return Round.begin(
            images=images,
            first_images=np.append([batch[0] for batch in batches], last) - first,
            first_chunks=first_chunks,
            first_visits=edges - starts,
            first_draws=plan.draws_before[edges] - plan.draws_before[starts],
            first_entries=inputs_before[edges - first] - inputs_before[starts - first],
            random_states=plan.random_states(number, chunks),
            counts=cache_aligned(chunks, COUNTS, np.int64),
            losses=np.zeros(chunks),
            ranges=np.array([edges for found in ranges_of for edges in found]).reshape(-1, 2),
            first_ranges=np.cumsum([0, *map(len, ranges_of)]),
            looks=_LOOKS,
        )

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

        def apply_to_features(round_: Round, batch: int, _worker: int) -> bool:
            return apply_feature_gradients(self._tables, self._features, round_, batch, self._feature_gradients)

        return [*phases, apply_to_features]

    def _drawn_labels(self) -> NDArray[np.int32]:
        """Return the labels of every draw of the last batch; -1 stands for none."""
        raise NotImplementedError

    def _compute(self, step: Step, round_: Round, batch: int, worker: int) -> bool:
        """First phase: compute the gradients of a batch."""
        raise NotImplementedError

    def _apply_to_labels(self, step: Step, round_: Round, batch: int, worker: int) -> bool:
        """Second phase: add the gradients of a batch to the labels."""
        raise NotImplementedError


def equal_work(rows: int, changed: NDArray[np.int32], pieces: int) -> list[tuple[int, int]]:
    """Split ``range(rows)`` into non-empty ranges with about equal numbers of the changed rows.

    Ranges of equal length, which are returned if no row has changed, are not equal work: frequent labels may be
    neighbours.
    """
    if not len(changed):
        return ranges(rows, pieces)
    inner = np.sort(changed)[len(changed) * np.arange(1, pieces) // pieces].tolist()
    return [(first, last) for first, last in pairwise([0, *inner, rows]) if last > first]
