"""How the rounds of an epoch are trained: here, one after another; `vse_ens.train.shards` has another way."""

from __future__ import annotations

from typing import Protocol

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.model.embeddings import Embeddings
from vse_ens.run.pool import WorkerTiming
from vse_ens.run.threads import Workers
from vse_ens.streams import Streams
from vse_ens.train.engines.base import RoundStats
from vse_ens.train.engines.make import make_engine
from vse_ens.train.schedule import EpochPlan


class Course(Protocol):
    """Trains embeddings in place, epoch by epoch, round by round."""

    @property
    def timings(self) -> tuple[WorkerTiming, ...]:
        """How each worker of a cluster spent the last round."""

    def begin(self, epoch: int) -> int:
        """Plan an epoch, counted from 0: how many rounds it has."""

    def run_round(self, number: int, learning_rate: float) -> RoundStats:
        """Train one round of the epoch."""

    def settle(self) -> None:
        """Bring home what is trained elsewhere: then the embeddings are whole."""


class SerialCourse:
    """One engine, all images."""

    timings: tuple[WorkerTiming, ...] = ()

    def __init__(self, config: Config, data: Annotations, embeddings: Embeddings, workers: Workers) -> None:
        self._config = config
        self._data = data
        self._engine = make_engine(config, data, embeddings, workers)
        self._plan: EpochPlan | None = None

    def begin(self, epoch: int) -> int:
        """Plan an epoch."""
        stream = Streams(self._config.seed).child("train", epoch)
        self._plan = EpochPlan.of(self._data, self._engine.schedule, stream)
        return self._plan.rounds

    def run_round(self, number: int, learning_rate: float) -> RoundStats:
        """Train one round of the epoch."""
        if self._plan is None:
            raise RuntimeError("an epoch has to begin before its rounds")
        return self._engine.run_round(self._plan, number, learning_rate)

    def settle(self) -> None:
        """Nothing is trained elsewhere."""
