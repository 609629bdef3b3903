"""Training engines: one round of training, on any number of workers to the same bytes on one kind of CPU."""

from __future__ import annotations

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.model.embeddings import Embeddings
from vse_ens.run.threads import Workers
from vse_ens.train.engines.base import Engine as Engine
from vse_ens.train.engines.base import RoundStats as RoundStats
from vse_ens.train.engines.base import Training as Training
from vse_ens.train.engines.batches import BatchEngine as BatchEngine
from vse_ens.train.engines.serial import SerialEngine as SerialEngine
from vse_ens.train.engines.slices import SliceEngine as SliceEngine


def make_engine(config: Config, data: Annotations, embeddings: Embeddings, workers: Workers) -> Engine:
    """Return the engine for the configuration's engine, tower and loss."""
    training = Training.of(config, data, embeddings, workers)
    if config.engine == "serial":
        return SerialEngine(training)
    if config.has_context or config.loss == "softmax":
        return BatchEngine(training)
    return SliceEngine(training)
