"""Fitting one entry with a stopwatch: only its own work counts, not compiling, measuring or showing progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vse_ens.baselines.contract import Baseline
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations, Split
from vse_ens.evaluate.means import mean_metrics
from vse_ens.evaluate.scorer import FunctionScorer, Scorer
from vse_ens.run.interrupt import Interrupt
from vse_ens.train.report import EpochReport
from vse_ens.train.trainer import Progress, Trainer

CURVE_METRIC = "recall@10"
# The first measurement of a curve, and by how much later, at least, each next one comes.
_FIRST_SECONDS = 0.02
_LATER = 1.3

Point = tuple[float, float]


@dataclass(frozen=True)
class Fit:
    """What came of it, ready to be evaluated."""

    scorer: Scorer
    seconds: float
    stopped: Literal["", "budget", "interrupt"] = ""
    """What ended it before its own end."""
    epochs: float | None = None
    """Epochs done, for what is trained in epochs."""
    draws: int | None = None
    curve: tuple[Point, ...] = ()
    """Seconds of training, and the metric then."""


def warm_up(method: Config | Baseline, workers: int | None) -> None:
    """Have kernels compiled and libraries imported by a tiny fit: neither is part of a method's time."""
    tiny = Annotations.from_pairs((f"image {n}", f"label {(n + m) % 6}") for n in range(6) for m in range(3))
    if isinstance(method, Config):
        # Two slices, so that the kernel that joins slices is compiled as well.
        for _ in Trainer(method.override(epochs=1, validate=False, slices=2), tiny, workers).epochs():
            pass
    else:
        method.fit(tiny)


def fit_baseline(baseline: Baseline, split: Split) -> Fit:
    """Fit at once; nothing can stop it on the way."""
    began = time.perf_counter()
    fitted = baseline.fit(split.train)
    return Fit(fitted, time.perf_counter() - began)


def train_model(
    config: Config,
    split: Split,
    *,
    budget: float | None,
    workers: int | None,
    progress: Callable[[Progress], None],
) -> Fit:
    """Train to the end of the schedule, to the first round past ``budget`` seconds, or to Ctrl-C.

    Between rounds, at times about evenly apart by their logarithm, the held-out labels are ranked for the curve.
    """
    began = time.perf_counter()
    trainer = Trainer(config, split.train, workers)
    seconds, due, epochs, draws, draws_before = 0.0, _FIRST_SECONDS, 0.0, 0, 0
    stopped: Literal["", "budget", "interrupt"] = ""
    curve: list[Point] = []
    with Interrupt() as interrupt:
        for step in trainer.rounds():
            paused = time.perf_counter()
            seconds += paused - began
            epochs = step.epoch - 1 + step.rounds_done / step.rounds
            draws = draws_before + EpochReport.of(step.epoch, step.work, 0.0).draws
            if step.report is not None:
                draws_before = draws
            progress(step)
            if interrupt.requested or (budget is not None and seconds >= budget and not trainer.finished):
                stopped = "interrupt" if interrupt.requested else "budget"
                break
            if seconds >= due and not trainer.finished:
                curve.append((seconds, _measure(trainer, split, workers)))
                # As long again as measuring took, at least: a curve should not cost more than what it is of.
                due = max(seconds * _LATER, seconds + time.perf_counter() - paused)
            began = time.perf_counter()
    scorer = FunctionScorer(split.train.images, split.train.labels, _scores(trainer, split.train))
    return Fit(scorer, seconds, stopped, epochs, draws, tuple(curve))


def _measure(trainer: Trainer, split: Split, workers: int | None) -> float:
    return mean_metrics(_scores(trainer, split.train), split.train, split.test, workers)[CURVE_METRIC]


def _scores(trainer: Trainer, train: Annotations) -> Callable[[NDArray[np.int64]], NDArray[np.float32]]:
    embeddings = trainer.embeddings
    return lambda images: embeddings.scores(embeddings.vectors(images, train.features))
