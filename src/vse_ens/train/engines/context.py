"""Rounds of the context tower, with any loss: two-phase batches, see `vse_ens.kernels.context`."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels import losses, samplers
from vse_ens.kernels.arrays import COUNTS, Step, cache_aligned
from vse_ens.kernels.context import (
    ContextGradients,
    ContextScratch,
    apply_input_gradients,
    apply_label_gradients,
    context_kernel,
)
from vse_ens.model.embeddings import Embeddings
from vse_ens.run.threads import Task, Workers
from vse_ens.train.engines.base import Engine, RoundStats, move_feature_rows, ranges
from vse_ens.train.schedule import CHUNKS, EpochPlan
from vse_ens.train.tables import context_tables


class ContextEngine(Engine):
    """Trains label vectors, input vectors and, where the tower has them, the images' own parts."""

    def __init__(self, config: Config, data: Annotations, embeddings: Embeddings, workers: Workers) -> None:
        super().__init__(config, data, embeddings, workers)
        self._context = context_tables(embeddings)
        has_combinations = len(embeddings.label_pairs) > 0
        self._kernel = context_kernel(
            self._width,
            samplers.CODES[config.sampler],
            losses.CODES[config.loss],
            config.has_ids,
            config.has_features,
            has_combinations,
        )
        counts = data.labels_per_image
        longest = int(counts.max(initial=0))
        # The most inputs an image can have: its labels, and of their combinations no more than are used.
        combined = np.minimum(counts * (counts - 1) // 2, self._context.label_pairs.pairs_per_label * counts)
        self._draws, self._inputs = counts, counts + combined if has_combinations else counts
        # A batch ends with a whole image, so it may be longer than asked for by one image's labels.
        draws = 2 * self._schedule.batch + longest
        ratio = int(np.ceil((self._inputs / np.maximum(counts, 1)).max(initial=1)))
        negatives = config.negatives if config.loss == "softmax" else 1
        self._changes = ContextGradients.allocate(draws, draws, ratio * draws, CHUNKS, negatives, self._width)
        self._moves = np.empty((draws if config.has_features else 0, self._width), np.float32)
        self._context_scratch = [
            ContextScratch.allocate(
                self._width, longest, has_combinations, len(data.labels) if config.sampler == "naive" else 0
            )
            for _ in range(workers.count)
        ]

    def _train(self, plan: EpochPlan, number: int, step: Step) -> RoundStats:
        batches = plan.batches(number, self._schedule.batch)
        states = plan.states(number, sum(map(len, batches)))
        work = RoundStats()
        used = 0
        for chunks in batches:
            work.add(self._train_batch(chunks, states[used : used + len(chunks)], step))
            used += len(chunks)
        return work

    def _train_batch(self, chunks: list[NDArray[np.int64]], states: NDArray[np.uint64], step: Step) -> RoundStats:
        first_visits = np.concatenate([[0], np.cumsum([len(chunk) for chunk in chunks])])
        images = np.concatenate(chunks)

        def starts(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
            """What lies before each chunk, by the sizes of all images."""
            before: NDArray[np.int64] = np.concatenate([[0], np.cumsum(sizes[images])])[first_visits]
            return before

        first_draws, first_entries = starts(self._draws), starts(self._inputs)
        counts = cache_aligned(len(chunks), COUNTS, np.int64)

        def compute(piece: int, worker: int) -> float:
            return self._kernel(
                self._embeddings.image_vectors,
                self._tables,
                self._context,
                self._features,
                self._pairs,
                chunks[piece],
                piece,
                int(first_draws[piece]),
                int(first_visits[piece]),
                int(first_entries[piece]),
                self._changes,
                self._moves[first_visits[piece] :],
                self._sampling,
                step,
                self._context_scratch[worker],
                states[piece],
                counts[piece],
            )

        total = sum(self._workers.run([partial(compute, piece) for piece in range(len(chunks))]))
        draws = int(first_draws[-1])

        def move_labels(first: int, last: int, _worker: int) -> None:
            apply_label_gradients(self._tables, self._context, self._changes, draws, step, first, last)

        def move_inputs(first: int, last: int, _worker: int) -> None:
            apply_input_gradients(self._context, self._changes, first_entries[:-1], step, first, last)

        pieces = self._workers.count
        tasks: list[Task] = [partial(move_labels, *edge) for edge in ranges(len(self._tables.labels), pieces)]
        tasks += [partial(move_inputs, *edge) for edge in ranges(len(self._context.inputs), pieces)]
        if self._config.has_features:
            tasks += move_feature_rows(self._tables, self._features, images, self._moves, pieces)
        self._workers.run(tasks)
        return RoundStats(counts.sum(axis=0), float(total))
