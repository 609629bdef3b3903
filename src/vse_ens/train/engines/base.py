"""What engines are composed of: the arrays under training, and the rankings of the sampler."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.errors import ModelError
from vse_ens.kernels.arrays import COUNTS, Csr, Features, Sampling, Step, TrainingArrays
from vse_ens.kernels.rank_table import Probes, RankScratch, find_moved_factors
from vse_ens.model.embeddings import Embeddings
from vse_ens.run.threads import Workers
from vse_ens.streams import Streams
from vse_ens.train.sampling import make_sampling, rank_weights
from vse_ens.train.tables import features_of, shared_tables

PARALLEL_RANKING = 100_000
"""Below this many numbers, ranking a table takes less time than waking a second thread."""


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


class Engine(Protocol):
    """Trains embeddings in place, one round at a time.

    Results are the same bytes on any number of workers, on one kind of CPU: work is cut by the schedule, never by the
    machine.
    """

    rankings: Rankings
    """All that the next round needs in addition to the tables."""

    def plan(self, epoch: int, stream: Streams) -> Any:
        """Plan an epoch, counted from 0, from its random stream; return an `EpochPlan` or a `SerialPlan`."""

    def run_round(self, plan: Any, number: int, learning_rate: float) -> RoundStats:
        """Train one round of an epoch."""


@dataclass(frozen=True)
class Training:
    """What an engine trains, on which data, with which sampler and which workers."""

    config: Config
    data: Annotations
    embeddings: Embeddings
    workers: Workers
    arrays: TrainingArrays
    sampling: Sampling
    rank_weights: NDArray[np.float32]

    @classmethod
    def of(
        cls,
        config: Config,
        data: Annotations,
        embeddings: Embeddings,
        workers: Workers,
        features: Features | None = None,
    ) -> Training:
        """Put the embeddings and the data into the form that kernels take; ``features`` replace those of the data."""
        tables, pairs = shared_tables(embeddings), Csr(data.indptr, data.indices)
        arrays = TrainingArrays(embeddings.image_vectors, tables, features or features_of(config, data), pairs)
        weights = np.zeros(1, np.float32)
        if config.loss == "warp":
            weights = rank_weights(len(data.labels), config.rank_weight, config.top_n)
        sampling = make_sampling(config, data, embeddings.dimensions)
        return cls(config, data, embeddings, workers, arrays, sampling, weights)

    @property
    def width(self) -> int:
        """The length of the vectors: k, or more where rows are padded."""
        return self.embeddings.dimensions

    @property
    def longest(self) -> int:
        """The largest number of labels of an image."""
        return int(self.data.labels_per_image.max(initial=0))

    @property
    def scores(self) -> int:
        """The scores that a draw of the sampler `naive` compares."""
        return len(self.data.labels) if self.config.sampler == "naive" else 0

    def step(self, learning_rate: float) -> Step:
        """Return the constants of the steps of a round."""
        return Step(
            learning_rate=np.float32(learning_rate),
            regularization=np.float32(self.config.regularization),
            bias_rate=np.float32(learning_rate if self.config.label_bias else 0.0),
            bias_regularization=np.float32(self.config.bias_regularization),
            margin=np.float32(self.config.margin),
            rank_weight=self.rank_weights,
        )


class Rankings:
    """The rankings of the sampler `vse-ens`, which a refresh sorts on all workers; other samplers have none.

    ``sort`` is the kernel. With ``probes``, a refresh after the first one sorts only by factors whose ranking no longer
    holds. Those ``kept`` from round to round are a part of checkpoints.
    """

    def __init__(
        self,
        training: Training,
        sort: Callable[..., None],
        factors: int,
        probes: Probes | None = None,
        *,
        kept: bool = True,
    ) -> None:
        self.used = training.config.sampler == "vse-ens"
        self.known = False
        """Whether there are rankings to draw from."""
        self.sort = sort
        self._tables, self._sampling, self._workers = training.arrays.tables, training.sampling, training.workers
        scratches = range(self._workers.count if self.used else 0)
        self._scratch = [RankScratch.allocate(len(training.data.labels)) for _ in scratches]
        self._probes, self._kept = probes, kept
        self._factors = np.arange(factors)
        self._moved = np.empty(factors, np.int64)

    def refresh(self) -> float:
        """Sort the labels by each factor and compute sigma_f (eq. 8); return the seconds that it took."""
        if not self.used:
            return 0.0
        started, factors = time.perf_counter(), self._factors
        if self.known and self._probes is not None:
            factors = self._moved[: find_moved_factors(self._tables, self._sampling, self._probes, self._moved)]

        def sort(first: int, last: int, worker: int) -> None:
            self.sort(self._tables, self._sampling, factors[first:last], self._scratch[worker])

        pieces = self._workers.count if len(self._tables.labels) * len(factors) > PARALLEL_RANKING else 1
        self._workers.run([partial(sort, *edges) for edges in ranges(len(factors), pieces)])
        self.known = True
        return time.perf_counter() - started

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the rankings and standard deviations of the last refresh, if there was one and they are kept."""
        if not self.known or not self._kept:
            return {}
        return {"rankings": self._sampling.rankings.copy(), "spread": self._sampling.spread.copy()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue with the rankings of a saved state; if it has none, the next refresh sorts all."""
        self.known = "rankings" in arrays and self._kept
        if not self.known:
            return
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


def ranges(count: int, pieces: int) -> list[tuple[int, int]]:
    """Split ``range(count)`` into near-equal, non-empty ranges."""
    edges = [count * piece // pieces for piece in range(pieces + 1)]
    return [(first, last) for first, last in pairwise(edges) if last > first]
