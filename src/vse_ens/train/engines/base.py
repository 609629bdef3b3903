"""What all engines share: the tables under training, the sampler, and the refresh of the rankings before a round."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.errors import ModelError
from vse_ens.kernels.arrays import COUNTS, Csr, Step
from vse_ens.kernels.rank_table import RankScratch, rank_factors
from vse_ens.kernels.sgd import SgdScratch
from vse_ens.model.embeddings import Embeddings
from vse_ens.run.threads import Workers
from vse_ens.streams import Streams
from vse_ens.train.sampling import make_sampling, rank_weights
from vse_ens.train.schedule import EpochPlan, Plan, Schedule
from vse_ens.train.tables import features_of, shared_tables

PARALLEL_RANKING = 100_000
"""Below this many numbers, ranking a table takes less time than waking a second thread."""

Epoch = TypeVar("Epoch", bound=Plan)


@dataclass
class RoundStats:
    """Counts, loss and time of one or more rounds."""

    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(COUNTS, np.int64))
    loss: float = 0.0
    seconds: float = 0.0
    refresh_seconds: float = 0.0

    def add(self, other: RoundStats) -> None:
        """Add the numbers of further rounds."""
        self.counts = self.counts + other.counts
        self.loss += other.loss
        self.seconds += other.seconds
        self.refresh_seconds += other.refresh_seconds


class Engine(Generic[Epoch]):
    """Trains embeddings in place, one round at a time.

    Results are the same bytes on any number of workers, on one kind of CPU: work is cut by the schedule, never by the
    machine.
    """

    def __init__(self, config: Config, data: Annotations, embeddings: Embeddings, workers: Workers) -> None:
        labels = len(data.labels)
        self.schedule = Schedule.of(config, labels)
        self._config = config
        self._workers = workers
        self._embeddings = embeddings
        self._tables = shared_tables(embeddings)
        self._pairs = Csr(data.indptr, data.indices)
        self._features = features_of(config, data)
        self._width = embeddings.dimensions  # k, or more where rows are padded
        self._sampling = make_sampling(config, data, self._width)
        self._rank_weights = (
            rank_weights(labels, config.rank_weight, config.top_n) if config.loss == "warp" else np.zeros(1, np.float32)
        )

    def plan(self, epoch: int, stream: Streams) -> Epoch:
        """Plan an epoch, counted from 0, from its random stream."""
        raise NotImplementedError

    def run_round(self, plan: Epoch, number: int, learning_rate: float) -> RoundStats:
        """Train one round of an epoch."""
        raise NotImplementedError

    def _step(self, learning_rate: float) -> Step:
        return Step(
            learning_rate=np.float32(learning_rate),
            regularization=np.float32(self._config.regularization),
            bias_rate=np.float32(learning_rate if self._config.label_bias else 0.0),
            bias_regularization=np.float32(self._config.bias_regularization),
            margin=np.float32(self._config.margin),
            rank_weight=self._rank_weights,
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what the next round needs beside the tables; nothing if a round begins with a refresh."""
        return {}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from what `state` returned."""

    def _save_rankings(self) -> dict[str, NDArray[Any]]:
        """Return the rankings and standard deviations of the last refresh, for `state`."""
        return {"rankings": self._sampling.rankings.copy(), "spread": self._sampling.spread.copy()}

    def _restore_rankings(self, arrays: Mapping[str, NDArray[Any]]) -> bool:
        """Continue with the rankings of a saved state; return whether it has any."""
        if "rankings" not in arrays:
            return False
        own, labels = self._sampling, len(self._tables.labels)
        for name, array in (("rankings", own.rankings), ("spread", own.spread)):
            if name not in arrays or arrays[name].dtype != array.dtype or arrays[name].shape != array.shape:
                raise ModelError(
                    f"the checkpoint is damaged: the array {name!r} must be {array.dtype} of shape {array.shape}; "
                    "start without --resume"
                )
        if arrays["rankings"].size and not 0 <= arrays["rankings"].min() <= arrays["rankings"].max() < labels:
            raise ModelError(
                f"the checkpoint is damaged: the array 'rankings' must lie in 0..{labels - 1}; start without --resume"
            )
        own.rankings[:], own.spread[:] = arrays["rankings"], arrays["spread"]
        return True

    def reload_tables(self) -> None:
        """Drop derived copies after the tables were overwritten from outside."""


class FastEngine(Engine[EpochPlan]):
    """An engine that visits images in random order, each with all of its labels."""

    def __init__(self, config: Config, data: Annotations, embeddings: Embeddings, workers: Workers) -> None:
        super().__init__(config, data, embeddings, workers)
        self._data = data
        labels = len(data.labels)
        ranked_labels = labels if config.sampler == "vse-ens" else 1
        self._rank_scratch = [RankScratch.allocate(ranked_labels) for _ in range(workers.count)]
        longest = int(data.labels_per_image.max(initial=0))
        scores = labels if config.sampler == "naive" else 0
        self._scratch = [SgdScratch.allocate(self._width, longest, scores) for _ in range(workers.count)]

    def plan(self, epoch: int, stream: Streams) -> EpochPlan:  # noqa: ARG002
        """Plan an epoch: the order of the images and where its rounds begin."""
        return EpochPlan.of(self._data, self.schedule, stream)

    def run_round(self, plan: EpochPlan, number: int, learning_rate: float) -> RoundStats:
        """Refresh the rankings, then train one round of an epoch."""
        started = time.perf_counter()
        if self._config.sampler == "vse-ens":
            self._refresh_rankings()
        refreshed = time.perf_counter()
        stats = self._train(plan, number, self._step(learning_rate))
        stats.refresh_seconds = refreshed - started
        stats.seconds = time.perf_counter() - started
        return stats

    def _train(self, plan: EpochPlan, number: int, step: Step) -> RoundStats:
        raise NotImplementedError

    def _refresh_rankings(self) -> None:
        """Sort the labels by each factor and compute sigma_f (eq. 8), before every round."""
        self._rank(np.arange(self._width + 1))

    def _rank(self, factors: NDArray[np.int64]) -> None:
        def rank(first: int, last: int, worker: int) -> None:
            rank_factors(self._tables, self._sampling, factors[first:last], self._rank_scratch[worker])

        pieces = self._workers.count if len(self._tables.labels) * len(factors) > PARALLEL_RANKING else 1
        self._workers.run([partial(rank, *edges) for edges in ranges(len(factors), pieces)])


def ranges(count: int, pieces: int) -> list[tuple[int, int]]:
    """Split ``range(count)`` into near-equal, non-empty ranges."""
    edges = [count * piece // pieces for piece in range(pieces + 1)]
    return [(first, last) for first, last in pairwise(edges) if last > first]
