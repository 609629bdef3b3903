"""Training engines: one round of training, on any number of workers to the same bytes on one kind of CPU."""

from __future__ import annotations

from typing import Any

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.model.embeddings import Embeddings
from vse_ens.run.threads import Workers
from vse_ens.train.engines.base import Engine, RoundStats
from vse_ens.train.engines.context import ContextEngine
from vse_ens.train.engines.serial import SerialEngine
from vse_ens.train.engines.sgd import SgdEngine
from vse_ens.train.engines.softmax import SoftmaxEngine

__all__ = ["ContextEngine", "Engine", "RoundStats", "SerialEngine", "SgdEngine", "SoftmaxEngine", "make_engine"]


def make_engine(config: Config, data: Annotations, embeddings: Embeddings, workers: Workers) -> Engine[Any]:
    """Return the engine for the configuration's engine, tower and loss."""
    if config.engine == "serial":
        return SerialEngine(config, data, embeddings, workers)
    if config.has_context:
        return ContextEngine(config, data, embeddings, workers)
    engine = SoftmaxEngine if config.loss == "softmax" else SgdEngine
    return engine(config, data, embeddings, workers)
