"""Training of one configuration on one split, and its accuracy at the end or epoch by epoch."""

from __future__ import annotations

import time
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.core.benchmark import Raw
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations, Split
from vse_ens.evaluate.rank import mean_metrics
from vse_ens.experiments.compare.run import warm_up
from vse_ens.model.model import Model
from vse_ens.presets import configure
from vse_ens.train.trainer import Trainer

VSE_ENS_LOGISTIC = "vse-ens, logistic"


def named_config(name: str) -> Config:
    """Return a preset, or `vse-ens` with the logistic loss in place of the hinge loss."""
    if name == VSE_ENS_LOGISTIC:
        return configure("vse-ens", loss="logistic")
    return configure(name)


def fit_and_rank(config: Config, split: Split) -> dict[str, float]:
    """Train and rank the held-out labels.

    Returns every metric, the ``seconds`` of training and the number of ``epochs`` of the kept model.
    """
    warm_up(config, None)
    began = time.perf_counter()
    trainer = Trainer(config, split.train)
    for _ in trainer.epochs():
        pass
    model = trainer.model
    seconds = time.perf_counter() - began
    metrics = mean_metrics(partial(_scores, model, split.train), *split)
    return {**metrics, "seconds": seconds, "epochs": trainer.best_epoch}


def learning_curve(config: Config, split: Split, evaluations: int) -> list[Raw]:
    """Return every metric on the held-out labels at about ``evaluations`` epochs, with the seconds of training."""
    warm_up(config, None)
    trainer = Trainer(config, split.train)
    every = max(1, config.epochs // evaluations)
    curve, seconds = [], 0.0
    started = time.perf_counter()
    for report in trainer.epochs():
        seconds += time.perf_counter() - started
        if report.epoch % every == 0 or trainer.finished:
            metrics = mean_metrics(partial(_scores, trainer.model, split.train), *split)
            curve.append({"epoch": report.epoch, "seconds": seconds, **metrics})
        started = time.perf_counter()
    return curve


def overall(metrics: dict[str, float]) -> float:
    """Return the mean of recall@10, map and auc, by which the preset `context` selects a model."""
    return (metrics["recall@10"] + metrics["map"] + metrics["auc"]) / 3


def _scores(model: Model, known: Annotations, images: NDArray[np.int64]) -> NDArray[np.float32]:
    return model.scores(images, known)
