"""Learning curves: recall@10 over training time of one model on one split."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations, Split
from vse_ens.evaluate.rank import mean_metrics
from vse_ens.experiments.compare.fit import warm_up
from vse_ens.model.embeddings import Embeddings
from vse_ens.streams import Streams
from vse_ens.train.progress import EpochReport
from vse_ens.train.trainer import Trainer

METRIC = "recall@10"

# The first epochs are all measured, because fast models gain most of their accuracy there.
_FIRST_EPOCHS = 5
# A run ends if the best point is more than this fraction of all epochs ago.
_PATIENCE = 1 / 2

Ending = Literal["all epochs done", "no improvement", "out of time"]


@dataclass(frozen=True)
class Limits:
    """The number of measurements of a run, and when it ends early."""

    points: int = 30
    """Approximate number of measurements over all epochs."""
    seconds: float = float("inf")
    """Maximum training time, without measurements."""
    scores: int = 120_000_000
    """Maximum number of scores computed for one point; it limits the number of evaluated pairs."""


@dataclass(frozen=True)
class Point:
    """One point of a learning curve."""

    epoch: int
    seconds: float
    recall: float


@dataclass(frozen=True)
class LearningCurve:
    """The points of a run, its epochs, and the model of its best point."""

    points: list[Point]
    epochs: list[EpochReport]
    ending: Ending
    best: Embeddings


def measure_learning_curve(
    config: Config,
    split: Split,
    limits: Limits = Limits(),  # noqa: B008  # immutable
    *,
    workers: int | None = None,
    on_epoch: Callable[[EpochReport], None] = lambda _report: None,
) -> LearningCurve:
    """Train a model and measure recall@10 on held-out pairs during training.

    The time excludes compilation, which happens before, and measurements. ``on_epoch`` is called after every epoch.
    """
    warm_up(config, workers)
    held_out = sample_pairs(split.test, max(1, limits.scores // len(split.test.labels)), config.seed)
    trainer = Trainer(config.without_validation(), split.train, workers)
    every = max(1, config.epochs // limits.points)
    points: list[Point] = []
    best, best_point = trainer.embeddings.copy(), Point(0, 0.0, 0.0)
    ending: Ending = "all epochs done"
    seconds = 0.0
    start = time.perf_counter()
    for report in trainer.epochs():
        seconds += time.perf_counter() - start
        on_epoch(report)
        out_of_time = seconds >= limits.seconds
        if report.epoch <= _FIRST_EPOCHS or report.epoch % every == 0 or trainer.finished or out_of_time:
            model = trainer.embeddings
            recall = mean_metrics(score_function(model, split.train), split.train, held_out, workers)[METRIC]
            points.append(Point(report.epoch, seconds, recall))
            if recall > best_point.recall:
                best, best_point = model.copy(), points[-1]
            elif report.epoch - best_point.epoch > _PATIENCE * config.epochs:
                ending = "no improvement"
                break
        if out_of_time:
            ending = "out of time"
            break
        start = time.perf_counter()
    return LearningCurve(points, trainer.history, ending, best)


def score_function(model: Embeddings, known: Annotations) -> Callable[[NDArray[np.int64]], NDArray[np.float32]]:
    """Return a function from image numbers to the scores of all labels, as the evaluator expects it."""
    return lambda images: model.scores(model.vectors(images, known=known))


def sample_pairs(data: Annotations, count: int, seed: int) -> Annotations:
    """Return the data with at most ``count`` of its pairs, chosen at random."""
    if data.pairs <= count:
        return data
    keep = np.zeros(data.pairs, dtype=bool)
    keep[np.argsort(Streams(seed).child("learning curve").words(data.pairs), kind="stable")[:count]] = True
    return data.with_pairs(keep)


def first_reaching(points: list[Point], level: float) -> Point | None:
    """Return the first point at or above a level, or None."""
    return next((point for point in points if point.recall >= level), None)
