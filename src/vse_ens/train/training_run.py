"""What `Annotator.fit` and `Annotator.partial_fit` need around a trainer.

That is data by shard, a reserved folder, workers, checkpoints, Ctrl-C, callbacks and a progress bar.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from vse_ens import __version__
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.collections.detect import find_collection
from vse_ens.data.features.attach import attach_features
from vse_ens.data.partition.build import partition
from vse_ens.data.partition.parts import PartFiles
from vse_ens.data.partition.store import Partition
from vse_ens.errors import ConfigError, ModelError
from vse_ens.label_weights.learn import learn_label_weights
from vse_ens.model.calibration import Calibration
from vse_ens.model.cpu import cpu_kind
from vse_ens.model.loaded import LoadedModel
from vse_ens.model.model import Model
from vse_ens.model.neighbors import ImageNeighbors
from vse_ens.progress import ProgressBar, ProgressOption
from vse_ens.run.interrupt import Interrupt
from vse_ens.run.pool import LocalPool, Pool, open_pool
from vse_ens.run.threads import Workers
from vse_ens.storage.atomic import reserve
from vse_ens.train.callbacks import Callback, CallbackList
from vse_ens.train.checkpoint import Checkpoints
from vse_ens.train.feature_fit import check_features, refit_features
from vse_ens.train.incremental import IncrementalTrainer, update_epochs
from vse_ens.train.progress import Progress
from vse_ens.train.run_files import check_run_files, shards_folder
from vse_ens.train.sharded.sources import check_partitioned
from vse_ens.train.trainer import Trainer


class TrainingRun:
    """One training: `start` it, then call `after_round` for each of ``trainer.rounds()`` until that returns True.

    The folder ``checkpoint`` is reserved as long as the context is open. If an error leaves the context after `start`,
    `on_fit_error` of the callbacks is called.
    """

    trainer: Trainer

    def __init__(
        self,
        callbacks: Sequence[Callback],
        checkpoint: str | Path | None,
        progress: ProgressOption = None,
        *,
        resume: bool = False,
        allow_mixed_cpus: bool = False,
    ) -> None:
        self.callbacks = CallbackList(callbacks)
        self.resumed = False
        self._resume, self._allow_mixed_cpus = resume, allow_mixed_cpus
        self._path = None if checkpoint is None else Path(checkpoint)
        self._checkpoints: Checkpoints | None = None
        self._bar = _TrainingBar(progress)
        self._interrupt = Interrupt()
        self._stopped = self._started = False
        self._cpus = {cpu_kind()}
        self._pool: Pool | None = None
        self._stack = ExitStack()

    def __enter__(self) -> TrainingRun:
        with ExitStack() as stack:
            if self._path is not None:
                stack.enter_context(reserve(self._path, error=ModelError))
                check_run_files(self._path)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stack:
            if error is not None and self._started:
                self.callbacks.error(error)

    def start(
        self,
        config: Config,
        pairs: Annotations | Partition,
        workers: int | None = None,
        cluster: Literal["ray"] | None = None,
        address: str | None = None,
    ) -> None:
        """Make the trainer, restore it from a checkpoint if asked to, and tell the callbacks."""
        if isinstance(pairs, Annotations) and pairs.features is not None:
            check_features(config)
        self._pool = pool = self._stack.enter_context(open_pool(cluster, address, workers, self._allow_mixed_cpus))
        self._stack.enter_context(self._interrupt)
        # On a cluster ``workers`` is the number of its workers; this process uses all cores.
        self.trainer = Trainer(config, pairs, None if pool else workers, pool)
        self.trainer.prepare()
        if self._path is not None:
            self._checkpoints = Checkpoints(self._path, pairs, allow_mixed_cpus=self._allow_mixed_cpus)
            self.resumed = self._resume and self._checkpoints.resume(self.trainer)
        self._stack.enter_context(self._bar)
        self._started = True
        known = self.trainer.known
        self.callbacks.start(self.trainer.config, images=len(known.images), labels=len(known.labels), pairs=known.pairs)

    def after_round(self, step: Progress) -> bool:
        """Report a round, and write a checkpoint if it is due; return whether a callback or Ctrl-C ends the run."""
        self._bar.show(step)
        if step.report:
            try:
                self._stopped = self.callbacks.epoch(self.trainer.history)
            except BaseException:
                self._write_checkpoint()  # what was trained is not lost
                raise
        if self._stopped or self._interrupt.requested:
            return True
        if self._checkpoints:
            self._checkpoints.after_round(self.trainer)
        return False

    def finish(self) -> bool:
        """Return whether the training was interrupted before its end; if so, write a checkpoint."""
        interrupted = (self._stopped or self._interrupt.requested) and not self.trainer.finished
        if interrupted:
            self._write_checkpoint()
        return interrupted

    def _write_checkpoint(self) -> None:
        if self._checkpoints:
            self._checkpoints.try_write(self.trainer)

    def facts(self, model: Model) -> dict[str, Any]:
        """Return facts about the training of a model, as the model file has them."""
        trainer = self.trainer
        cpus = {
            *self._cpus,
            *(self._checkpoints.cpus if self._checkpoints else ()),
            *(self._pool.cpus if self._pool else ()),
        }
        return {
            "version": __version__,
            "epochs": len(trainer.history),
            "best_epoch": trainer.best_epoch,
            "model_epochs": trainer.model_epochs,
            "complete": trainer.finished,
            "generations": 0,
            "label_weights_scale": model.label_weights_scale,
            "neighbors_scale": model.neighbors.scale if model.neighbors else 0.0,
            "label_weights_regularization": trainer.label_weights_regularization,
            **({"features_regularization": trainer.features_regularization} if model.features else {}),
            "cpus": sorted(cpus),
        }


class _TrainingBar(ProgressBar):
    """The progress of a training."""

    def __init__(self, progress: ProgressOption) -> None:
        super().__init__("training", progress)

    def show(self, step: Progress) -> None:
        """Show the epoch and the time left, or call the function that was given."""
        if self._given:
            return self._given(step)
        done = step.epoch - 1 + step.rounds_done / step.rounds
        phase = "epoch" if step.final else "trial epoch"  # a trial finds out how many epochs are best
        return self.update(done / step.epochs, f"{phase} {step.epoch:,} of {step.epochs:,}")


def training_pairs(data: Any, features: Any, partitioned: Callable[[Any], Partition] | None) -> Annotations | Partition:
    """Return the pairs in memory, with features, or partitioned by shard; ``partitioned`` is None without a checkpoint.

    By shard are a folder of Parquet files, and an address such as ``s3://bucket/pairs``.
    """
    is_parts = isinstance(data, PartFiles)
    if isinstance(data, str | Path):
        is_parts = "://" in str(data) or (Path(data).is_dir() and find_collection(data) is None)
    if not is_parts and not isinstance(data, Partition):
        pairs = Annotations.of(data)
        return pairs if features is None else attach_features(pairs, features)
    if features is not None:
        raise ConfigError("features need all pairs in one file; leave features out of a folder of Parquet files")
    if isinstance(data, Partition):
        return data
    if partitioned is None:
        raise ConfigError("a folder of Parquet files needs checkpoint, a folder on storage that all workers share")
    return partitioned(data)


def partition_parts(
    parts: Any, config: Config, checkpoint: str | Path, progress: Callable[[int], None] | None = None
) -> Partition:
    """Partition a folder of Parquet files by shard, beside ``checkpoint``."""
    check_partitioned(config)
    check_run_files(Path(checkpoint))
    files = parts if isinstance(parts, PartFiles) else PartFiles.find(parts)
    return partition(files, shards_folder(Path(checkpoint)) / "pairs", config.shards, progress=progress)


def train_added_pairs(
    loaded: LoadedModel,
    known: Annotations,
    config: Config,
    training: Mapping[str, Any],
    *,
    workers: int | None = None,
    progress: ProgressOption = None,
) -> tuple[Model, Calibration | None, dict[str, Any]]:
    """Return a model of the ``known`` pairs, which include those of ``loaded``, its calibration and its facts."""
    cpus = sorted({cpu_kind(), *training.get("cpus", ())})
    generation = training["generations"] + 1
    trainer = IncrementalTrainer(
        config,
        loaded.model.balanced(loaded.known, -config.balance).embeddings,
        loaded.known,
        known,
        epochs=update_epochs(config, training["best_epoch"]),
        generation=generation,
        workers=workers,
    )
    with _TrainingBar(progress) as bar:
        for step in trainer.rounds():
            bar.show(step)
    weights = None
    if loaded.model.label_weights is not None:
        with Workers(workers) as team:
            weights = learn_label_weights(known, training["label_weights_regularization"], LocalPool(team))
    calibration = loaded.calibration
    if calibration is not None and calibration.completeness is not None:
        completeness = calibration.completeness.for_labels(loaded.known.labels, known.labels)
        calibration = calibration.with_completeness(completeness)
    neighbors = loaded.model.neighbors and ImageNeighbors(known, loaded.model.neighbors.scale)
    learned, features = None, loaded.model.features
    if features is not None:
        learned = refit_features(features, known, training["features_regularization"])
    embeddings = trainer.embeddings.with_features(known.features)
    model = Model(embeddings, weights, loaded.model.label_weights_scale, neighbors)
    model = model.balanced(known, config.balance).completed(known, config.balance, learned)
    if calibration is not None:
        calibration = calibration.for_pairs(known)
    return model, calibration, {**training, "generations": generation, "cpus": cpus}
