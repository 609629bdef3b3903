"""The shards of one worker process: each has its pairs, its image vectors and an engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.partition.parts import numbered
from vse_ens.data.partition.store import Partition
from vse_ens.kernels.arrays import DRAWS, Csr
from vse_ens.model.embeddings import Embeddings, Floats
from vse_ens.run.pool import Payload
from vse_ens.run.threads import Workers
from vse_ens.streams import Streams
from vse_ens.train.engines import RoundStats, SliceEngine, make_engine
from vse_ens.train.schedule import EpochPlan, Schedule
from vse_ens.train.sharded.merge import TableDelta, TablePiece, copy_piece, delta_between, shared_tables
from vse_ens.train.sharded.vector_store import read_rows, write_rows
from vse_ens.train.tables import initial_rows

FACTORY = f"{__name__}.ShardActor"


class ShardActor:
    """Trains some shards one after another on one set of working tables."""

    def __init__(self, settings: Payload, workers: Workers) -> None:
        self._config = Config.from_dict(settings["config"])
        self._settings = settings
        self._workers = workers
        self._shards: dict[int, Shard] = {}

    @property
    def keeps_state(self) -> bool:
        """Whether shards hold image vectors."""
        return self._config.has_ids

    def add_shard(self, shard: int, arguments: Payload) -> None:
        """Add a shard with its pairs, image vectors and features.

        Pairs and image vectors may be given by the paths of their files; without any, image vectors are drawn from the
        seed.
        """
        if "partition" in arguments:
            rows = Partition.open(arguments["partition"]).rows(shard)
        else:
            rows = Csr(_own(arguments["indptr"]), _own(arguments["indices"]))
        data = numbered(rows, self._settings["labels"])
        if self._config.has_features:
            data = data.with_features(_features(arguments, self._settings["features"]))
        own = replace(self._working, image_vectors=self._image_vectors(shard, len(data.images), arguments))
        self._shards[shard] = Shard(self._config, shard, data, own, self._workers)

    def _image_vectors(self, shard: int, images: int, arguments: Payload) -> Floats:
        if not self._config.has_ids:
            return self._working.image_vectors
        if "image_vectors" in arguments:
            return np.array(arguments["image_vectors"])
        if "path" in arguments:
            return np.array(read_rows(arguments["path"], (images, self._settings["width"])))
        vectors = np.zeros((images, self._settings["width"]), np.float32)
        vectors[:, : self._config.dimensions] = initial_rows(self._config, shard, images)
        return vectors

    def run_shard(self, shard: int, shared: Sequence[Payload], arguments: Payload) -> tuple[Sequence[Payload], Payload]:
        """Train one shard until the next exchange; return its deltas and a report."""
        deltas, stats = self._shards[shard].run(shared, **arguments)
        return deltas, {**vars(stats), "amount": int(stats.counts[DRAWS])}

    def save_shard(self, shard: int, arguments: Payload) -> Payload:
        """Return the image vectors of a shard, or the file in ``folder`` they were written to."""
        rows = self._shards[shard].embeddings.image_vectors
        return write_rows(arguments["folder"], shard, rows) if "folder" in arguments else {"image_vectors": rows}

    def load_shard(self, shard: int, state: Payload) -> None:
        """Set the image vectors of a shard; an empty state leaves them."""
        if state:
            vectors = self._shards[shard].embeddings.image_vectors
            np.copyto(vectors, read_rows(state["path"], vectors.shape) if "path" in state else state["image_vectors"])

    @cached_property
    def _working(self) -> Embeddings:
        """The tables to train on, filled at the start of every exchange period."""
        labels, width = self._settings["labels"], self._settings["width"]
        label_pairs = _own(self._settings["label_pairs"])
        inputs = labels + len(label_pairs) if self._config.has_context else 0

        def table(rows: int) -> Floats:
            return np.zeros((rows, width), np.float32)

        return Embeddings(
            label_vectors=table(labels),
            label_bias=np.zeros(labels, np.float32),
            image_vectors=table(0),
            feature_map=table(self._settings["features"]),
            input_vectors=table(inputs),
            label_pairs=label_pairs,
            label_squares=np.zeros(labels if inputs else 0, np.float32),
            input_squares=np.zeros(inputs, np.float32),
        )


def _features(arguments: Payload, columns: int) -> Any:
    features = arguments["features"]
    if isinstance(features, np.ndarray):
        return _own(features)
    return sparse.csr_matrix(tuple(map(_own, features)), shape=(len(arguments["indptr"]) - 1, columns))


def _own(array: NDArray[Any]) -> NDArray[Any]:
    """Return a writable array, as kernels are compiled for; arrays from another process are read-only."""
    return np.require(array, requirements="W")


class Shard:
    """Trains its images on a copy of the shared tables.

    ``embeddings`` hold the vectors of its images. Their shared tables are filled at the start of every exchange period,
    and may be used by other shards of this process.
    """

    def __init__(
        self, config: Config, number: int, data: Annotations, embeddings: Embeddings, workers: Workers
    ) -> None:
        self._config = config
        self._number = number
        self._data = data
        self.embeddings = embeddings
        self._engine = make_engine(config, data, embeddings, workers)
        self._planned: tuple[int, int, EpochPlan] | None = None

    def run(
        self, pieces: Sequence[TablePiece], epoch: int, exchange: int, exchanges: int, learning_rate: float
    ) -> tuple[list[TableDelta], RoundStats]:
        """Train one of the equal exchange periods of an epoch; return the delta of each piece of the shared tables."""
        working = shared_tables(self.embeddings)
        for piece in pieces:
            copy_piece(working, piece)
        if isinstance(self._engine, SliceEngine):  # other engines keep nothing that depends on the tables
            self._engine.reload_tables()
        plan = self._plan(epoch, exchanges)
        stats = RoundStats()
        for number in range(plan.rounds * exchange // exchanges, plan.rounds * (exchange + 1) // exchanges):
            stats.add(self._engine.run_round(plan, number, learning_rate))
        return [delta_between(piece, working) for piece in pieces], stats

    def _plan(self, epoch: int, exchanges: int) -> EpochPlan:
        """Plan an epoch with at least one engine round per exchange period."""
        if self._planned is None or self._planned[:2] != (epoch, exchanges):
            schedule = Schedule.of(self._config, len(self._data.labels))
            shortened = replace(schedule, round_draws=max(1, min(schedule.round_draws, self._data.pairs // exchanges)))
            stream = Streams(self._config.seed).child("train", epoch, "shard", self._number)
            self._planned = epoch, exchanges, EpochPlan.of(self._data, shortened, stream)
        return self._planned[2]
