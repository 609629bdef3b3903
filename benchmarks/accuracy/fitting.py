"""One configuration trained on one split: how well it ranks what was held out, and how long it trained."""

from __future__ import annotations

import time

from vse_ens.config import Config
from vse_ens.data.annotations import Split
from vse_ens.evaluate.means import mean_metrics
from vse_ens.experiments.fitting import warm_up
from vse_ens.train.trainer import Trainer


def attempt(config: Config, split: Split) -> dict[str, float]:
    """Train to the end, then rank the held-out labels: every metric, ``seconds``, and the ``epochs`` that were kept."""
    warm_up(config, None)
    began = time.perf_counter()
    trainer = Trainer(config, split.train)
    for _ in trainer.epochs():
        pass
    model = trainer.model
    seconds = time.perf_counter() - began
    figures = mean_metrics(lambda images: model.scores(images, split.train), *split)
    return {**figures, "seconds": seconds, "epochs": trainer.best_epoch}


def overall(figures: dict[str, float]) -> float:
    """What the preset `context` calls best: the mean of recall@10, map and auc."""
    return (figures["recall@10"] + figures["map"] + figures["auc"]) / 3
