"""Timed fitting of one entry; compilation, evaluation and progress output are not part of the time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vse_ens.baselines.base import Baseline
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations, Split
from vse_ens.evaluate.rank import mean_metrics
from vse_ens.evaluate.scorer import FunctionScorer, Scorer
from vse_ens.run.interrupt import Interrupt
from vse_ens.train.progress import EpochReport, Progress
from vse_ens.train.trainer import Trainer

CURVE_METRIC = "recall@10"
# Training time before the first point of a curve, and the minimum ratio of the times of consecutive points.
_FIRST_SECONDS = 0.02
_TIME_RATIO = 1.3

Point = tuple[float, float]
StopReason = Literal["", "budget", "interrupt"]


@dataclass(frozen=True)
class FitResult:
    """A fitted scorer with its training time."""

    scorer: Scorer
    seconds: float
    stopped: StopReason = ""
    """Why training ended early; empty if it did not."""
    epochs: float | None = None
    """Completed epochs; None for a baseline."""
    draws: int | None = None
    curve: tuple[Point, ...] = ()
    """(seconds of training, value of ``CURVE_METRIC``) points before the end."""


def warm_up(method: Config | Baseline, workers: int | None) -> None:
    """Fit a tiny data set, so that compiling kernels and importing libraries is not timed later."""
    tiny = Annotations.from_pairs((f"image {n}", f"label {(n + m) % 6}") for n in range(6) for m in range(3))
    if isinstance(method, Config):
        # Two slices also compile the kernel that merges slices; the serial engine has none.
        slices = 2 if method.engine == "fast" else None
        for _ in Trainer(method.override(epochs=1, slices=slices), tiny, workers).epochs():
            pass
    else:
        method.fit(tiny)


def fit_baseline(baseline: Baseline, split: Split) -> FitResult:
    """Fit a baseline in one call, which cannot be stopped early."""
    start = time.perf_counter()
    fitted = baseline.fit(split.train)
    return FitResult(fitted, time.perf_counter() - start)


def train_model(
    config: Config,
    split: Split,
    *,
    budget: float | None,
    workers: int | None,
    progress: Callable[[Progress], None],
) -> FitResult:
    """Train to the end of the schedule, to the first round after ``budget`` seconds, or to Ctrl-C.

    Between rounds the held-out labels are evaluated for the curve, at times spaced about evenly on a logarithmic scale.
    """
    start = time.perf_counter()
    trainer = Trainer(config, split.train, workers)
    seconds = 0.0
    stopped: StopReason = ""
    curve = _Curve(lambda: mean_metrics(_scores(trainer, split), *split, workers)[CURVE_METRIC])
    with Interrupt() as interrupt:
        for step in trainer.rounds():
            seconds += time.perf_counter() - start
            last = step
            progress(step)
            if interrupt.requested:
                stopped = "interrupt"
            elif budget is not None and seconds >= budget and not trainer.finished:
                stopped = "budget"
            if stopped:
                break
            if not trainer.finished:
                curve.measure_if_due(seconds)
            start = time.perf_counter()
    unfinished_draws = 0 if last.report else EpochReport.of(last.epoch, last.stats, trainer.learning_rate).draws
    return FitResult(
        FunctionScorer(split.train.images, split.train.labels, _scores(trainer, split)),
        seconds,
        stopped,
        epochs=last.epoch - 1 + last.rounds_done / last.rounds,
        draws=sum(report.draws for report in trainer.history) + unfinished_draws,
        curve=tuple(curve.points),
    )


class _Curve:
    """Points of a metric over training time."""

    def __init__(self, measure: Callable[[], float]) -> None:
        self.points: list[Point] = []
        self._measure = measure
        self._due = _FIRST_SECONDS

    def measure_if_due(self, seconds: float) -> None:
        """Add a point if enough training has passed since the last one."""
        if seconds < self._due:
            return
        start = time.perf_counter()
        self.points.append((seconds, self._measure()))
        # Training continues for at least as long as the measurement took, so a curve never costs more than training.
        self._due = max(seconds * _TIME_RATIO, seconds + time.perf_counter() - start)


def _scores(trainer: Trainer, split: Split) -> Callable[[NDArray[np.int64]], NDArray[np.float32]]:
    """Return the score function of the current model."""
    model, train = trainer.model, split.train
    return lambda images: model.scores(images, train, train.features)
