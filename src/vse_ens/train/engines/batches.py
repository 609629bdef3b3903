"""Two-phase batches: compute the gradients of a batch from one snapshot, then apply them in a fixed order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.kernels import losses, samplers
from vse_ens.kernels.arrays import COUNTS, Step, cache_lines
from vse_ens.kernels.context import ContextScratch, InputGradients, apply_input_gradients
from vse_ens.kernels.context_losses import MAX_SHARING, apply_shared_gradients, context_kernel
from vse_ens.kernels.rank_table import rank_factors
from vse_ens.kernels.sgd import SgdScratch
from vse_ens.kernels.softmax import softmax_kernel
from vse_ens.kernels.two_phase import (
    FEATURE_MAP,
    INPUTS,
    LABELS,
    RANGES_DONE,
    BatchCursor,
    BatchLayout,
    LabelGradients,
    RowRanges,
    apply_feature_gradients,
    apply_label_gradients,
)
from vse_ens.streams import Streams
from vse_ens.train.engines.base import Rankings, RoundStats, Training, ranges
from vse_ens.train.schedule import CHUNKS, EpochPlan, Schedule
from vse_ens.train.tables import context_tables

# A worker spins this often for the others to finish a phase, then sleeps. It takes a sixth of a millisecond, by which
# workers rarely differ if the machine has nothing else to do. If it has, the core is better left to others.
_SPINS = 600_000
_MAX_SLEEP = 1e-3  # seconds; the others wake it before
# Draws whose labels are enough to see where the work of the second phase lies.
_SAMPLE = 128
# Vocabularies whose positives share negatives, which nearly halves the time of an epoch. In between, the label weights
# take most of a training, so that sharing would save little; it is slightly less accurate on the Open Images sample.
_SHARED_UP_TO, _SHARED_FROM = 3_000, 10_000


class Batch(NamedTuple):
    """A batch, how far the workers have got with it, and the row ranges of each table in its second phase."""

    layout: BatchLayout
    cursor: BatchCursor
    ranges: list[RowRanges]

    @property
    def draws(self) -> int:
        """The number of positives."""
        return int(self.layout.first_draws[-1])


BatchKernel = Callable[[BatchCursor], bool]
"""A kernel with all arguments but one; it returns False if the phase before is not done: call it again later."""


class BatchEngine:
    """Trains batch by batch.

    In the first phase workers compute the gradients of chunks of the batch from the same snapshot of the tables. In the
    second each worker adds them to the table rows it owns, in the order of the batch. There are no copies of tables and
    no races, and the result does not depend on the number of workers.
    """

    def __init__(self, training: Training) -> None:
        self.training = training
        self._schedule = Schedule.of(training.config, len(training.data.labels))
        self.rankings = Rankings(training, rank_factors, training.width + 1, kept=False)
        # A batch ends with a whole image, so it may be longer than asked for by the labels of one image.
        max_positives = 2 * self._schedule.batch + training.longest
        kernels = ContextKernels if training.config.has_context else SoftmaxKernels
        self.kernels: ContextKernels | SoftmaxKernels = kernels(training, max_positives)

    def plan(self, epoch: int, stream: Streams) -> EpochPlan:  # noqa: ARG002
        """Plan an epoch: the order of the images and where its rounds begin."""
        return EpochPlan.of(self.training.data, self._schedule, stream)

    def run_round(self, plan: EpochPlan, number: int, learning_rate: float) -> RoundStats:
        """Refresh the rankings, then train one round of an epoch."""
        started = time.perf_counter()
        refreshing = self.rankings.refresh()
        step, batches = self.training.step(learning_rate), self._batches(plan, number)
        phase_done, sleeping = threading.Condition(), set[int]()

        def work(worker: int) -> None:
            for batch in batches:
                impatient = batch.cursor._replace(spins=1)
                for kernel in self.kernels.of_batch(batch, step, worker):
                    done = kernel(batch.cursor)
                    while not done:  # after spinning too long, a worker sleeps
                        with phase_done:
                            sleeping.add(worker)
                            phase_done.wait(_MAX_SLEEP)
                            sleeping.discard(worker)
                        done = kernel(impatient)
                    if sleeping:
                        with phase_done:
                            phase_done.notify_all()

        self.training.workers.run([work] * self.training.workers.count)
        counts = sum(batch.layout.counts.sum(axis=0) for batch in batches)
        loss = sum(float(batch.layout.losses.sum()) for batch in batches)
        return RoundStats(counts[:COUNTS], loss, time.perf_counter() - started, refreshing)

    def _batches(self, plan: EpochPlan, number: int) -> list[Batch]:
        """Return the batches of a round, of which nothing is done yet."""
        first_image, last_image = plan.round_starts[number : number + 2]
        inputs = self.kernels.inputs_per_image[plan.images[first_image:last_image]]
        inputs_before = np.concatenate([[0], np.cumsum(inputs)])
        edges_of = plan.batches(number, self._schedule.batch)
        states = plan.random_states(number, sum(len(edges) - 1 for edges in edges_of))
        pieces = self.training.workers.count
        ranges_of = [equal_work(rows, changed, pieces) for rows, changed in self.kernels.changed_tables()]
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
            cursor = BatchCursor(counters[before + 1], counters[before], chunks, int(counters[0, RANGES_DONE]), _SPINS)
            batches.append(Batch(layout, cursor, ranges_of))
        return batches


class SoftmaxKernels:
    """The kernels of towers without context, trained with softmax (`vse_ens.kernels.softmax`), and their buffers.

    They hold batches of up to ``max_positives`` positives.
    """

    def __init__(self, training: Training, max_positives: int) -> None:
        config, width, workers = training.config, training.width, range(training.workers.count)
        self.inputs_per_image = np.zeros(len(training.data.images), np.int64)
        self.training = training
        self._compute = softmax_kernel(width, samplers.CODES[config.sampler], config.has_ids, config.has_features)
        self.gradients = LabelGradients.allocate(max_positives, config.negatives, width)
        self.vector_changes = _vector_changes(training, max_positives)
        self._scratch = [SgdScratch.allocate(width, training.longest) for _ in workers]
        self._selected = [np.empty(self.gradients.rows.size + 1, np.int32) for _ in workers]

    def of_batch(self, batch: Batch, step: Step, worker: int) -> list[BatchKernel]:
        """Return the kernels that a worker calls for a batch, in order."""
        arrays, gradients, selected = self.training.arrays, self.gradients, self._selected[worker]
        scratch, sampling, rows = self._scratch[worker], self.training.sampling, batch.ranges[LABELS]
        return [
            partial(self._compute, arrays, gradients, self.vector_changes, sampling, step, scratch, batch.layout),
            partial(apply_label_gradients, arrays.tables, gradients, step, selected, batch.draws, rows),
            *_feature_kernels(self.training, self.vector_changes, batch),
        ]

    def changed_tables(self) -> list[tuple[int, NDArray[np.int32]]]:
        """Return the rows of the label table and of the feature map."""
        return _changed_tables(self.training, self.gradients)


class ContextKernels:
    """The kernels of towers with context (`vse_ens.kernels.context`), and their buffers, as `SoftmaxKernels`."""

    def __init__(self, training: Training, max_positives: int) -> None:
        config, width, counts = training.config, training.width, training.data.labels_per_image
        labels, has_label_pairs = len(training.data.labels), len(training.embeddings.label_pairs) > 0
        softmax = config.loss == "softmax"
        negatives = config.negatives if softmax else 1
        self.training = training
        self._tables = context_tables(training.embeddings)
        self._sharing = MAX_SHARING if softmax and not _SHARED_UP_TO < labels < _SHARED_FROM else 1
        self._compute = context_kernel(
            width,
            samplers.CODES[config.sampler],
            losses.CODES[config.loss],
            self._sharing,
            config.has_ids,
            config.has_features,
            has_label_pairs,
        )
        # The most inputs of an image: its labels, and as many of their label pairs as are used.
        most_pairs = self._tables.label_pairs.pairs_per_label * counts if has_label_pairs else 0
        self.inputs_per_image = counts + np.minimum(counts * (counts - 1) // 2, most_pairs)
        inputs = int(np.ceil((self.inputs_per_image / np.maximum(counts, 1)).max(initial=1))) * max_positives
        self.gradients = LabelGradients.allocate(max_positives, negatives, width)
        self.input_gradients = InputGradients.allocate(max_positives, max_positives, inputs, CHUNKS, width)
        self.vector_changes = _vector_changes(training, max_positives)
        entries, shared = max(inputs, negatives), negatives if softmax else 0
        self._scratch = [
            ContextScratch.allocate(width, training.longest, has_label_pairs, entries, training.scores, shared)
            for _ in range(training.workers.count)
        ]

    def of_batch(self, batch: Batch, step: Step, worker: int) -> list[BatchKernel]:
        """Return the kernels that a worker calls for a batch, in order."""
        # Numba looks at every array of every argument: these kernels are given the arrays that they use, not groups.
        arrays, tables, layout, scratch = self.training.arrays, self._tables, batch.layout, self._scratch[worker]
        selected = scratch.selected
        written = self.gradients, self.input_gradients, self.vector_changes
        return [
            partial(self._compute, arrays, tables, *written, self.training.sampling, step, scratch, layout),
            partial(
                apply_shared_gradients,
                arrays.tables,
                tables.label_squares,
                self.gradients,
                step,
                self._sharing,
                selected,
                arrays.pairs.indptr,
                layout.images,
                batch.ranges[LABELS],
            ),
            *_feature_kernels(self.training, self.vector_changes, batch),
            partial(
                apply_input_gradients,
                tables.inputs,
                tables.input_squares,
                self.input_gradients,
                step,
                scratch.gradient,
                selected,
                layout.first_entries,
                batch.ranges[INPUTS],
            ),
        ]

    def changed_tables(self) -> list[tuple[int, NDArray[np.int32]]]:
        """Return the rows of the label table, of the feature map and of the inputs."""
        changed_inputs = self.input_gradients.entries[: self.input_gradients.filled[0], 0]
        return [*_changed_tables(self.training, self.gradients), (len(self._tables.inputs), changed_inputs)]


def _vector_changes(training: Training, visits: int) -> NDArray[np.float32]:
    """Return a buffer for the changes of image vectors that the feature map follows."""
    return np.empty((visits if training.config.has_features else 0, training.width), np.float32)


def _feature_kernels(training: Training, vector_changes: NDArray[np.float32], batch: Batch) -> list[BatchKernel]:
    if not training.config.has_features:
        return []
    feature_map, features = training.arrays.tables.feature_map, training.arrays.features
    rows = batch.ranges[FEATURE_MAP]
    return [partial(apply_feature_gradients, feature_map, features, vector_changes, batch.layout.images, rows)]


def _changed_tables(training: Training, gradients: LabelGradients) -> list[tuple[int, NDArray[np.int32]]]:
    changed = gradients.rows[:_SAMPLE]
    labels, _, feature_map = training.arrays.tables
    return [(len(labels), changed[changed >= 0]), (len(feature_map), np.empty(0, np.int32))]


def equal_work(rows: int, changed: NDArray[np.int32], pieces: int) -> RowRanges:
    """Split ``range(rows)`` into non-empty ranges with about equal numbers of the changed rows.

    Ranges of equal length, which are returned if no row has changed, are not equal work: frequent labels may be
    neighbors.
    """
    if len(changed):
        inner = np.sort(changed)[len(changed) * np.arange(1, pieces) // pieces]
        edges = np.unique(np.concatenate([[0], inner, [rows]]))
        found = list(pairwise(edges.tolist()))
    else:
        found = ranges(rows, pieces)
    return np.array(found, np.int64).reshape(-1, 2)
