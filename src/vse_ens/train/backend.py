"""Where the pairs and vectors of a training live and where its rounds run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.partition.store import Partition
from vse_ens.errors import ConfigError, DataError, ModelError
from vse_ens.label_weights.learn import learn_label_weights
from vse_ens.model.checks import check_label_pairs
from vse_ens.model.embeddings import Embeddings
from vse_ens.model.weights import LabelWeights
from vse_ens.run.pool import LocalPool, Pool, WorkerTiming
from vse_ens.run.threads import Workers
from vse_ens.streams import Streams
from vse_ens.train.engines import Engine, RoundStats, make_engine
from vse_ens.train.engines.serial import SerialPlan
from vse_ens.train.pair_selection import frequent_label_pairs
from vse_ens.train.ram_estimate import check_ram
from vse_ens.train.schedule import EpochPlan, resolve_auto
from vse_ens.train.sharded.sources import InMemorySource, PairSource, PartitionSource
from vse_ens.train.tables import padded
from vse_ens.train.validation import ValidationSet, choose_held_out, make_validation_set

Arrays = dict[str, NDArray[Any]]
# What the names of an engine's arrays begin with in a checkpoint.
_ENGINE = "engine."


class Backend(ABC):
    """Holds the pairs and the vectors under training, and trains them round by round.

    `LocalBackend` trains everything in this process. `vse_ens.train.sharded.backend.ShardedBackend` trains shards of
    the images, in this process or on a cluster. ``config`` has the settings left to the data filled in.
    """

    def __init__(self, config: Config, source: PairSource, workers: int | None, pool: Pool | None = None) -> None:
        source.check(config)
        self.config = resolve_auto(config, source.known)
        self.known = source.known
        """All pairs. They may be mapped from disk, so read them in blocks."""
        self.pool = pool
        """The workers of a cluster; None on one machine."""
        self.timings: tuple[WorkerTiming, ...] = ()
        """How each worker of a cluster spent the last round."""
        self._workers = Workers(workers)
        self._working_pool: Pool = pool or LocalPool(self._workers)
        self._source = self._train_source = source
        self._store = source.vector_store(self.config)
        """Where image vectors are kept that are not in the embeddings; None if all are."""
        self._best: Embeddings | None = None
        self._all_pairs = False

    @property
    def training_pairs(self) -> Annotations:
        """The pairs that are not held out."""
        return self._train_source.known

    @property
    def _pairs(self) -> PairSource:
        """The pairs training sees."""
        return self._source if self._all_pairs else self._train_source

    def hold_out(self) -> ValidationSet:
        """Withhold one label of some images from training."""
        chosen = choose_held_out(self.config, self.known)
        self._train_source = self._source.without(chosen)
        return make_validation_set(self.known, self._train_source.known, chosen)

    def initialize(self, all_pairs: bool = False) -> None:
        """Draw new start vectors; train on the pairs that are not held out, or on all."""
        self._all_pairs = all_pairs
        self._reset()
        config, label_pairs = self.config, None
        if config.has_context:
            label_pairs = frequent_label_pairs(self._pairs.countable, config.label_pairs, self._working_pool)
        if isinstance(self._source, InMemorySource) and not all_pairs:
            check_ram(config, self.known, self._workers.count, label_pairs)
        self._use(padded(self._pairs.initial(config, label_pairs)))

    @abstractmethod
    def begin_epoch(self, epoch: int) -> int:
        """Plan an epoch, counted from 0; return its number of rounds."""

    @abstractmethod
    def run_round(self, number: int, learning_rate: float) -> RoundStats:
        """Train one round of the epoch."""

    @abstractmethod
    def close(self) -> None:
        """Free what trains and end the worker threads; the next epoch starts new ones."""

    @abstractmethod
    def _reset(self) -> None:
        """Drop what was made for the tables so far, which are replaced."""

    @abstractmethod
    def save_vectors(self) -> None:
        """Collect image vectors that are held elsewhere."""

    @property
    def tables(self) -> Embeddings:
        """The tables under training, not copied; image vectors may be held elsewhere."""
        return self._current

    def validation_embeddings(self, images: NDArray[np.int64], best: bool = False) -> Embeddings:
        """Return the current or best embeddings, with the vectors of ``images`` only."""
        self.save_vectors()
        embeddings = self._chosen(best)
        if not self.config.has_ids:
            return embeddings
        rows = self._store.rows(images, best) if self._store else embeddings.image_vectors[images]
        return replace(embeddings, image_vectors=rows)

    def snapshot_best(self) -> None:
        """Keep the vectors as they are now as those of the best epoch."""
        self.save_vectors()
        self._best = self._current.copy()
        if self._store:
            self._store.mark_best()

    def export(self, best: bool = False) -> Embeddings:
        """Return a copy of the current or best embeddings, with the vectors of all images and without padding."""
        self.save_vectors()
        embeddings = self._chosen(best).resized(self.config.dimensions)
        return self._store.assemble(embeddings, best and self._best is not None) if self._store else embeddings

    def learn_label_weights(self, regularization: float, all_pairs: bool = False) -> LabelWeights:
        """Learn the label weights from the pairs that are not held out, or from all."""
        source = self._source if all_pairs else self._train_source
        return learn_label_weights(source.countable, regularization, self._working_pool)

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Return arrays and JSON from which `restore` continues."""
        self.save_vectors()
        arrays = {f"current.{name}": array for name, array in self._current.arrays().items()}
        if self._best is not None:
            arrays |= {f"best.{name}": array for name, array in self._best.arrays().items()}
        return arrays, {"all_pairs": self._all_pairs}

    def restore(self, arrays: Mapping[str, NDArray[Any]], state: Mapping[str, Any]) -> None:
        """Continue from a saved state."""
        self._all_pairs = state["all_pairs"]
        self._reset()
        has_best = any(name.startswith("best.") for name in arrays)
        self._best = read_embeddings(arrays, "best.", self._current) if has_best else None
        self._use(read_embeddings(arrays, "current.", self._current))

    def _use(self, embeddings: Embeddings) -> None:
        self._current = embeddings
        if self._store:
            self._store.begin(embeddings.dimensions)

    def _chosen(self, best: bool) -> Embeddings:
        return self._best if best and self._best is not None else self._current


def make_backend(
    config: Config,
    data: Annotations | Partition,
    workers: int | None = None,
    pool: Pool | None = None,
    folder: Path | None = None,
) -> Backend:
    """Return the backend for pairs in memory or partitioned by shard, on one machine or on a cluster.

    ``folder`` is where a partition's remaining pairs and image vectors are written: beside the partition by default.
    """
    known = data if isinstance(data, Annotations) else data.known
    if not known.pairs:
        raise DataError("there is no pair to learn from")
    if len(known.labels) < 2:
        raise DataError(f"learning to rank needs at least two labels, got {len(known.labels)}")
    if isinstance(data, Annotations):
        source: PairSource = InMemorySource(data)
        if config.shards == 1 and pool is None:
            return LocalBackend(config, source, workers)
    else:
        source = PartitionSource(data, folder or data.folder.with_name("training"))
    if config.engine == "serial":
        raise ConfigError("engine serial trains in one process on pairs in memory; set engine to fast for shards")
    from vse_ens.train.sharded.backend import ShardedBackend

    if pool is not None and config.shards < 2:
        raise ConfigError(
            "shards must be at least 2 on a cluster, and at least its number of cores to use them all: shards are part "
            f"of the model; got {config.shards}"
        )
    return ShardedBackend(config, source, workers, pool)


class LocalBackend(Backend):
    """All pairs and vectors in this process, trained by one engine."""

    _engine: Engine | None
    _plan: EpochPlan | SerialPlan | None
    _engine_state: Arrays

    def _reset(self) -> None:
        self._engine, self._engine_state, self._plan = None, {}, None

    def begin_epoch(self, epoch: int) -> int:
        """Plan an epoch: the order of its pairs and where its rounds begin."""
        if self._engine is None:
            self._engine = make_engine(self.config, self._pairs.known, self._current, self._workers)
            self._engine.rankings.restore(self._engine_state)
        self._plan = self._engine.plan(epoch, Streams(self.config.seed).child("train", epoch))
        return self._plan.rounds

    def run_round(self, number: int, learning_rate: float) -> RoundStats:
        """Train one round of the epoch."""
        if self._engine is None or self._plan is None:
            raise RuntimeError("begin_epoch must be called before run_round")
        return self._engine.run_round(self._plan, number, learning_rate)

    def save_vectors(self) -> None:
        """Do nothing: all vectors are here."""

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Add the state of the engine."""
        arrays, state = super().state()
        engine = self._engine.rankings.state() if self._engine else self._engine_state
        return arrays | {f"{_ENGINE}{name}": array for name, array in engine.items()}, state

    def restore(self, arrays: Mapping[str, NDArray[Any]], state: Mapping[str, Any]) -> None:
        """Continue from a saved state, with that of the engine."""
        super().restore(arrays, state)
        self._engine_state = {
            name.removeprefix(_ENGINE): np.array(array) for name, array in arrays.items() if name.startswith(_ENGINE)
        }

    def close(self) -> None:
        """Free the engine and end the worker threads."""
        if self._engine:
            self._engine_state = self._engine.rankings.state()
        self._engine, self._plan = None, None
        self._workers.close()


def read_embeddings(arrays: Mapping[str, NDArray[Any]], prefix: str, like: Embeddings) -> Embeddings:
    """Return a copy of the embeddings in a checkpoint whose arrays, which are read-only, have names with ``prefix``.

    Types and shapes must be those of ``like``, the start vectors of the run; only the number of label pairs may differ.
    """
    own = {name.removeprefix(prefix): np.array(array) for name, array in arrays.items() if name.startswith(prefix)}
    if not own:
        raise ModelError("it holds no vectors")
    _check_like(own, like)
    return Embeddings.from_arrays(own)


def _check_like(arrays: Arrays, like: Embeddings) -> None:
    expected = like.arrays()
    if arrays.keys() != expected.keys():
        name = min(arrays.keys() ^ expected.keys())
        raise ModelError(f"the array {name!r} {'is missing' if name in expected else 'does not belong to this run'}")
    labels = len(like.label_vectors)
    pairs = len(arrays["label_pairs"]) if like.has_context and arrays["label_pairs"].ndim else 0
    lengths = {"label_pairs": pairs, "input_vectors": labels + pairs, "input_squares": labels + pairs}
    for name, array in arrays.items():
        shape = expected[name].shape
        if like.has_context and name in lengths:
            shape = (lengths[name], *shape[1:])
        if array.dtype != expected[name].dtype or array.shape != shape:
            raise ModelError(f"the array {name!r} must be {expected[name].dtype} of shape {shape}")
    if like.has_context:
        check_label_pairs(arrays["label_pairs"], labels)
