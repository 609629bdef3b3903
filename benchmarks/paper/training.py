"""One training with the paper's algorithm: accuracy, CPU time, and the work of its sampler by iteration."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper.numbers import ITERATIONS
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations, Split
from vse_ens.errors import DataError, TrainingError
from vse_ens.evaluate.metrics import per_image
from vse_ens.evaluate.rank import FunctionScorer, evaluate, mean_metrics
from vse_ens.evaluate.rankings import Rankings
from vse_ens.experiments.compare.run import warm_up
from vse_ens.model.embeddings import Embeddings
from vse_ens.presets import preset
from vse_ens.streams import Streams
from vse_ens.train.progress import EpochReport
from vse_ens.train.trainer import Trainer

READINGS = {"deviation": 0.01, "variance": 0.1}
"""The standard deviation of the initial vectors for both readings of N(0, 0.01)."""

METRICS = ("precision@5", "recall@5", "precision@10", "recall@10", "map", "auc@10", "auc")
"""The six columns of table 2, with the paper's AUC as ``auc@10``, and the AUC of the full ranking."""

CURVE_METRIC = "recall@10"
# The first epochs are all measured, because fast models gain most of their accuracy there.
_FIRST_EPOCHS = 5

Ending = Literal["done", "out of time", "diverged"]
Observer = Callable[[int, Embeddings], None]


class Stopped(Exception):  # noqa: N818  # not an error
    """The user has stopped the experiments."""


@dataclass(frozen=True)
class Limits:
    """How often a training is measured, and when it ends early."""

    points: int = 50
    """Approximate number of points of the learning curve."""
    scores: int = 120_000_000
    """Maximum number of scores computed for one point; it limits the number of evaluated pairs."""
    seconds: float = float("inf")
    """Maximum CPU time of the training, without measurements."""


def paper_config(model: str, seed: int = 0, reading: str = "deviation") -> Config:
    """Return the paper's settings of a model, with one of the two readings of N(0, 0.01)."""
    return preset(f"paper-{model}").override(seed=seed, init_scale=READINGS[reading], epochs=ITERATIONS[model])


@dataclass
class TrainingRun:
    """Trains one model on one core, and measures it on held-out labels.

    No point of the curve selects anything: the model after the last iteration counts, and the one after an iteration
    that was chosen on other labels, if any.
    """

    config: Config
    split: Split
    limits: Limits = Limits()
    stopped: Callable[[], bool] = lambda: False
    on_epoch: Callable[[int], None] = lambda _epoch: None
    observe: Observer = lambda _epoch, _embeddings: None
    """Receives the vectors before training and at every point of the curve."""
    stop_at: int | None = None
    """An iteration whose model is ranked as well, as if the training had ended there."""
    stopped_rankings: Rankings | None = None
    seconds: float = 0.0
    points: list[tuple[int, float, float]] = field(default_factory=list)
    """(iteration, CPU seconds, recall@10)."""
    epochs: list[dict[str, Any]] = field(default_factory=list)

    def run(self) -> dict[str, Any]:
        """Train and return the result as plain numbers and lists."""
        warm_up(self.config, 1)
        trainer = Trainer(self.config.without_validation(), self.split.train, 1)
        self.observe(0, trainer.embeddings)
        ending, rankings = self._train_and_rank(trainer)
        stopped = {} if self.stop_at is None else {"stopped": {"at": self.stop_at, **ranked(self.stopped_rankings)}}
        return {
            **stopped,
            "config": self.config.to_dict(),
            "iterations": len(self.epochs),
            "ending": ending,
            "seconds": self.seconds,
            "projected_seconds": self._projected(),
            "points": [list(point) for point in self.points],
            "epochs": self.epochs,
            **ranked(rankings),
        }

    def _train_and_rank(self, trainer: Trainer) -> tuple[Ending, Rankings | None]:
        # Vectors may be finite, and their products not: the evaluator then finds scores that are not numbers.
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                return self._train(trainer), self._rank(trainer.embeddings)
            except (TrainingError, DataError):
                return "diverged", None

    def _train(self, trainer: Trainer) -> Ending:
        held_out = sample_pairs(self.split.test, max(1, self.limits.scores // len(self.split.test.labels)))
        every = max(1, self.config.epochs // self.limits.points)
        rounds = trainer.rounds()
        before = 0.0
        while True:
            # The CPU time of this thread, which does all of the training: other work does not count.
            started = time.thread_time()
            progress = next(rounds, None)
            self.seconds += time.thread_time() - started
            if progress is None:
                return "done"
            if self.stopped():
                raise Stopped
            if (report := progress.report) is None:
                continue
            self.epochs.append(_counts(report, self.seconds - before))
            before = self.seconds
            self.on_epoch(report.epoch)
            if report.epoch == self.stop_at:
                self.stopped_rankings = self._rank(trainer.embeddings)
            out_of_time = self.seconds >= self.limits.seconds and not trainer.finished
            if report.epoch <= _FIRST_EPOCHS or report.epoch % every == 0 or out_of_time or trainer.finished:
                self._measure(report.epoch, trainer.embeddings, held_out)
            if out_of_time:
                return "out of time"

    def _measure(self, epoch: int, model: Embeddings, held_out: Annotations) -> None:
        scores = score_function(model, self.split.train)
        recall = mean_metrics(scores, self.split.train, held_out, workers=1)[CURVE_METRIC]
        self.points.append((epoch, self.seconds, recall))
        self.observe(epoch, model)

    def _rank(self, model: Embeddings) -> Rankings:
        train = self.split.train
        scorer = FunctionScorer(train.images, train.labels, score_function(model, train))
        return evaluate(scorer, train, self.split.test, workers=1)

    def _projected(self) -> float | None:
        """Return the CPU time of all iterations, at the pace of the last one if the training ended early."""
        left = self.config.epochs - len(self.epochs)
        return self.seconds + left * self.epochs[-1]["seconds"] if self.epochs else None


def sample_pairs(data: Annotations, count: int) -> Annotations:
    """Return the data with at most ``count`` of its pairs, chosen at random."""
    if data.pairs <= count:
        return data
    keep = np.zeros(data.pairs, dtype=bool)
    keep[np.argsort(Streams(0).child("learning curve").words(data.pairs), kind="stable")[:count]] = True
    return data.with_pairs(keep)


def score_function(model: Embeddings, known: Annotations) -> Callable[[NDArray[np.int64]], NDArray[np.float32]]:
    """Return a function from image numbers to the scores of all labels, as the evaluator expects it."""
    return lambda images: model.scores(model.vectors(images, known=known))


def ranks_of(rankings: Rankings) -> NDArray[np.int64]:
    """Return the rank of every held-out label from 1; a tie counts as its middle, rounded down."""
    return np.asarray(rankings.above.astype(np.int64) + 1 + np.maximum(rankings.tied - 1, 0) // 2)


def ranked(rankings: Rankings | None) -> dict[str, Any]:
    """Return the metrics of a model and the ranks of the held-out labels; zeros and none if it diverged."""
    if rankings is None:
        return {"metrics": dict.fromkeys(METRICS, 0.0), "ranks": []}
    return {"metrics": _means(rankings), "ranks": ranks_of(rankings).tolist()}


def _means(rankings: Rankings) -> dict[str, float]:
    values = per_image(rankings)
    return {name: float(values[name].mean()) for name in METRICS}


def _counts(epoch: EpochReport, seconds: float) -> dict[str, Any]:
    return {
        "draws": epoch.draws,
        "tries": epoch.tries,
        "violations": epoch.violations,
        "given_up": epoch.given_up,
        "seconds": seconds,
    }
