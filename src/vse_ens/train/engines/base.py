"""One round of training, by slices or by batches. Both give the same bytes on any number of workers."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels import losses, samplers
from vse_ens.kernels.arrays import COUNTS, Features, SharedTables, Step, cache_aligned
from vse_ens.kernels.rank_table import RankScratch, rank_factors
from vse_ens.kernels.sgd import SgdScratch, merge_slice_updates, sgd_kernel
from vse_ens.kernels.softmax import BatchGradients, apply_label_gradients, softmax_kernel
from vse_ens.kernels.two_phase import apply_feature_gradients
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.run.threads import Task, Workers
from vse_ens.train.sampling import make_sampling, rank_weights
from vse_ens.train.schedule import EpochPlan, Schedule
from vse_ens.train.tables import features_of, pairs_of, shared_tables

# A table of fewer numbers is ranked in less time than it takes to wake another thread, twice.
_WORTH_SHARING = 100_000


@dataclass
class RoundStats:
    """What a stretch of training did."""

    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(COUNTS, np.int64))
    loss: float = 0.0
    seconds: float = 0.0
    refresh_seconds: float = 0.0

    def add(self, other: RoundStats) -> None:
        """Add another stretch."""
        self.counts = self.counts + other.counts
        self.loss += other.loss
        self.seconds += other.seconds
        self.refresh_seconds += other.refresh_seconds


class Engine:
    """Trains embeddings in place, a round at a time."""

    def __init__(self, config: Config, data: Annotations, embeddings: Embeddings, workers: Workers) -> None:
        self._config = config
        self._workers = workers
        self._schedule = Schedule.of(config, len(data.labels))
        self._embeddings = embeddings
        self._tables = shared_tables(embeddings)
        self._pairs = pairs_of(data)
        self._features = features_of(config, data)
        self._width = embeddings.dimensions  # k, or more where rows are padded
        self._sampling = make_sampling(config, data, self._width)
        self._rank_weights = (
            rank_weights(len(data.labels), config.rank_weight, config.top_n)
            if config.loss == "warp"
            else np.zeros(1, np.float32)
        )
        self._rank_scratch = [
            RankScratch.allocate(len(data.labels) if config.sampler == "vse-ens" else 1) for _ in range(workers.count)
        ]
        self._scratch = [
            SgdScratch.allocate(
                self._width,
                int(data.labels_per_image.max(initial=0)),
                len(data.labels) if config.sampler == "naive" else 0,
            )
            for _ in range(workers.count)
        ]

    @property
    def schedule(self) -> Schedule:
        """How long rounds are."""
        return self._schedule

    def tables_changed(self) -> None:
        """The tables were given other numbers from outside: forget what was kept of them."""

    def run_round(self, plan: EpochPlan, number: int, learning_rate: float) -> RoundStats:
        """Refresh the rankings, then train one round of an epoch."""
        started = time.perf_counter()
        if self._config.sampler == "vse-ens":
            self._refresh()
        refreshed = time.perf_counter()
        step = Step(
            learning_rate=np.float32(learning_rate),
            regularization=np.float32(self._config.regularization),
            bias_rate=np.float32(learning_rate if self._config.label_bias else 0.0),
            bias_regularization=np.float32(self._config.bias_regularization),
            margin=np.float32(self._config.margin),
            rank_weight=self._rank_weights,
        )
        work = self._train(plan, number, step)
        work.refresh_seconds = refreshed - started
        work.seconds = time.perf_counter() - started
        return work

    def _train(self, plan: EpochPlan, number: int, step: Step) -> RoundStats:
        raise NotImplementedError

    def _refresh(self) -> None:
        def rank(first: int, last: int, worker: int) -> None:
            rank_factors(self._tables, self._sampling, first, last, self._rank_scratch[worker])

        factors = self._width + 1
        pieces = self._workers.count if self._tables.labels.size > _WORTH_SHARING else 1
        self._workers.run([partial(rank, *edge) for edge in ranges(factors, pieces)])


class SgdEngine(Engine):
    """Losses with one negative: slices start from one snapshot of the shared tables and take their images in turn;
    then their changes are combined in slice order (`merge_slices`). With one slice, plain stochastic gradient descent.
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
        slices = self._schedule.slices
        self._copies = [np.repeat(table[None], slices, axis=0) for table in self._tables] if slices > 1 else []

    def tables_changed(self) -> None:
        """Let all slices start from the tables as they are now."""
        for copies, table in zip(self._copies, self._tables, strict=False):
            copies[:] = table

    def _train(self, plan: EpochPlan, number: int, step: Step) -> RoundStats:
        slices = plan.slices(number, self._schedule.slices)
        states = plan.states(number, len(slices))
        counts = cache_aligned(len(slices), COUNTS, np.int64)

        def train(piece: int, worker: int) -> float:
            tables = SharedTables(*(copy[piece] for copy in self._copies)) if self._copies else self._tables
            return self._kernel(
                self._embeddings.image_vectors,
                tables,
                self._features,
                self._pairs,
                slices[piece],
                self._sampling,
                step,
                self._scratch[worker],
                states[piece],
                counts[piece],
            )

        total = sum(self._workers.run([partial(train, piece) for piece in range(len(slices))]))
        if self._copies:
            self._merge()
        return RoundStats(counts.sum(axis=0), float(total))

    def _merge(self) -> None:
        tasks = []
        for table, copies in zip(self._tables, self._copies, strict=True):
            # A bias is a table of one column.
            flat, wide = (table, copies) if table.ndim == 2 else (table[:, None], copies[:, :, None])
            tasks += [partial(_merge_rows, flat, wide, *edge) for edge in ranges(len(table), self._workers.count)]
        self._workers.run(tasks)


class SoftmaxEngine(Engine):
    """The softmax loss: two-phase batches, see `vse_ens.kernels.softmax`."""

    def __init__(self, config: Config, data: Annotations, embeddings: Embeddings, workers: Workers) -> None:
        super().__init__(config, data, embeddings, workers)
        self._kernel = softmax_kernel(self._width, samplers.CODES[config.sampler], config.has_ids, config.has_features)
        # A batch ends with a whole image, so it may be longer than asked for by one image's labels.
        most = 2 * self._schedule.batch + int(data.labels_per_image.max(initial=0))
        self._changes = BatchGradients.allocate(most, config.negatives, self._width)
        self._moves = np.empty((most if config.has_features else 0, self._width), np.float32)

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
        degrees = [int((self._pairs.indptr[chunk + 1] - self._pairs.indptr[chunk]).sum()) for chunk in chunks]
        first_draws = np.concatenate([[0], np.cumsum(degrees)])
        first_visits = np.concatenate([[0], np.cumsum([len(chunk) for chunk in chunks])])
        counts = cache_aligned(len(chunks), COUNTS, np.int64)

        def compute(piece: int, worker: int) -> float:
            return self._kernel(
                self._embeddings.image_vectors,
                self._tables,
                self._features,
                self._pairs,
                chunks[piece],
                int(first_draws[piece]),
                self._changes,
                self._moves[first_visits[piece] :],
                self._sampling,
                step,
                self._scratch[worker],
                states[piece],
                counts[piece],
            )

        total = sum(self._workers.run([partial(compute, piece) for piece in range(len(chunks))]))
        draws = int(first_draws[-1])
        tasks: list[Task] = [
            partial(_apply_rows, self._tables, self._changes, draws, step, *edge)
            for edge in ranges(len(self._tables.labels), self._workers.count)
        ]
        if self._config.has_features:
            tasks += move_feature_rows(
                self._tables, self._features, np.concatenate(chunks), self._moves, self._workers.count
            )
        self._workers.run(tasks)
        return RoundStats(counts.sum(axis=0), float(total))


def _merge_rows(table: Floats, copies: Floats, first: int, last: int, _worker: int) -> None:
    merge_slice_updates(table, copies, first, last)


def _apply_rows(
    tables: SharedTables, changes: BatchGradients, draws: int, step: Step, first: int, last: int, _worker: int
) -> None:
    apply_label_gradients(tables, changes, draws, step, first, last)


def move_feature_rows(
    tables: SharedTables, features: Features, images: NDArray[np.int64], moves: Floats, pieces: int
) -> list[Task]:
    """Tasks that apply the moves of a batch's images to the feature map."""
    return [
        partial(_apply_moves, tables, features, images, moves, *edge)
        for edge in ranges(len(tables.feature_map), pieces)
    ]


def _apply_moves(
    tables: SharedTables,
    features: Features,
    images: NDArray[np.int64],
    moves: Floats,
    first: int,
    last: int,
    _worker: int,
) -> None:
    apply_feature_gradients(tables, features, images, moves, first, last)


def ranges(count: int, pieces: int) -> list[tuple[int, int]]:
    """So many near-equal ranges; how a table is shared out among workers does not change a sum."""
    edges = [count * piece // pieces for piece in range(pieces + 1)]
    return [(a, b) for a, b in pairwise(edges) if b > a]
