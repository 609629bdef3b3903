"""Which engine trains a configuration."""

from __future__ import annotations

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.model.embeddings import Embeddings
from vse_ens.run.threads import Workers
from vse_ens.train.engines.base import Engine, SgdEngine, SoftmaxEngine
from vse_ens.train.engines.context import ContextEngine


def make_engine(config: Config, data: Annotations, embeddings: Embeddings, workers: Workers) -> Engine:
    """The engine that suits the tower and the loss."""
    if config.has_context:
        return ContextEngine(config, data, embeddings, workers)
    engine = SoftmaxEngine if config.loss == "softmax" else SgdEngine
    return engine(config, data, embeddings, workers)
