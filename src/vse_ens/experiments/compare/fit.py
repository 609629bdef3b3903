"""Fitting one entry with a stopwatch: only its own work counts, not compiling, measuring or showing progress."""

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
# The first measurement of a curve, and by how much later, at least, each next one comes.
_FIRST_SECONDS = 0.02
_LATER = 1.3

Point = tuple[float, float]
Stopped = Literal["", "budget", "interrupt"]


@dataclass(frozen=True)
class Fit:
    """What came of it, ready to be evaluated."""

    scorer: Scorer
    seconds: float
    stopped: Stopped = ""
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
        # Two slices, so that the kernel that joins slices is compiled as well; the serial engine has none.
        slices = 2 if method.engine == "fast" else None
        for _ in Trainer(method.override(epochs=1, slices=slices), tiny, workers).epochs():
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
    seconds = 0.0
    stopped: Stopped = ""
    curve = _Curve(lambda: mean_metrics(_scores(trainer, split), *split, workers)[CURVE_METRIC])
    with Interrupt() as interrupt:
        for step in trainer.rounds():
            seconds += time.perf_counter() - began
            last = step
            progress(step)
            if interrupt.requested:
                stopped = "interrupt"
            elif budget is not None and seconds >= budget and not trainer.finished:
                stopped = "budget"
            if stopped:
                break
            if not trainer.finished:
                curve.look(seconds)
            began = time.perf_counter()
    under_way = 0 if last.report else EpochReport.of(last.epoch, last.stats, trainer.learning_rate).draws
    return Fit(
        FunctionScorer(split.train.images, split.train.labels, _scores(trainer, split)),
        seconds,
        stopped,
        epochs=last.epoch - 1 + last.rounds_done / last.rounds,
        draws=sum(report.draws for report in trainer.history) + under_way,
        curve=tuple(curve.points),
    )


class _Curve:
    """Measures now and then."""

    def __init__(self, measure: Callable[[], float]) -> None:
        self.points: list[Point] = []
        self._measure = measure
        self._due = _FIRST_SECONDS

    def look(self, seconds: float) -> None:
        """Measure if it is time."""
        if seconds < self._due:
            return
        began = time.perf_counter()
        self.points.append((seconds, self._measure()))
        # As long again as measuring took, at least: a curve should not cost more than what it is of.
        self._due = max(seconds * _LATER, seconds + time.perf_counter() - began)


def _scores(trainer: Trainer, split: Split) -> Callable[[NDArray[np.int64]], NDArray[np.float32]]:
    """The scores of the model as it is."""
    model, train = trainer.model, split.train
    return lambda images: model.scores(images, train, train.features)
