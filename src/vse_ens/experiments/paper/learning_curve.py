"""How accuracy rises with training time: one model on one split, measured as it learns."""

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

# The first epochs are all measured: fast models have learnt most of it by then.
_FIRST_EPOCHS = 5
# A run whose best point is this share of its epochs ago has nothing more to show.
_PATIENCE = 1 / 2

Ending = Literal["all epochs done", "no better any more", "out of time"]


@dataclass(frozen=True)
class Limits:
    """How closely a run is watched, and when it ends before its epochs do."""

    points: int = 30
    """About so many measurements over all epochs."""
    seconds: float = float("inf")
    """Training time, measurements not counted."""
    scores: int = 120_000_000
    """For a point so many scores are computed at most: of as many images as have that many with all labels."""


@dataclass(frozen=True)
class Point:
    """Where a model was after so much training."""

    epoch: int
    seconds: float
    recall: float


@dataclass(frozen=True)
class Learnt:
    """A run: its curve, what each epoch did, and the model of its best point."""

    points: list[Point]
    epochs: list[EpochReport]
    ending: Ending
    best: Embeddings


def learn(
    config: Config,
    split: Split,
    limits: Limits = Limits(),  # noqa: B008  # immutable
    *,
    workers: int | None = None,
    tell: Callable[[EpochReport], None] = lambda _report: None,
) -> Learnt:
    """Train a model and measure recall@10 on held-out pairs as it goes.

    The clock counts training alone: compiling, which is done before, and measuring are left out. ``tell`` hears of
    every epoch.
    """
    warm_up(config, workers)
    held_out = some_pairs(split.test, max(1, limits.scores // len(split.test.labels)), config.seed)
    trainer = Trainer(config.without_validation(), split.train, workers)
    every = max(1, config.epochs // limits.points)
    points: list[Point] = []
    best, best_point = trainer.embeddings.copy(), Point(0, 0.0, 0.0)
    ending: Ending = "all epochs done"
    seconds = 0.0
    began = time.perf_counter()
    for report in trainer.epochs():
        seconds += time.perf_counter() - began
        tell(report)
        late = seconds >= limits.seconds
        if report.epoch <= _FIRST_EPOCHS or report.epoch % every == 0 or trainer.finished or late:
            model = trainer.embeddings
            recall = mean_metrics(scores_by(model, split.train), split.train, held_out, workers)[METRIC]
            points.append(Point(report.epoch, seconds, recall))
            if recall > best_point.recall:
                best, best_point = model.copy(), points[-1]
            elif report.epoch - best_point.epoch > _PATIENCE * config.epochs:
                ending = "no better any more"
                break
        if late:
            ending = "out of time"
            break
        began = time.perf_counter()
    return Learnt(points, trainer.history, ending, best)


def scores_by(model: Embeddings, known: Annotations) -> Callable[[NDArray[np.int64]], NDArray[np.float32]]:
    """A model as an evaluator takes it: the scores of all labels for some images."""
    return lambda images: model.scores(model.vectors(images, known=known))


def some_pairs(data: Annotations, most: int, seed: int) -> Annotations:
    """The same data with at most so many of its pairs, chosen at random."""
    if data.pairs <= most:
        return data
    keep = np.zeros(data.pairs, dtype=bool)
    keep[np.argsort(Streams(seed).child("learning curve").words(data.pairs), kind="stable")[:most]] = True
    return data.with_pairs(keep)


def time_to(points: list[Point], level: float) -> Point | None:
    """The first point at or above a level, if there is one."""
    return next((point for point in points if point.recall >= level), None)
