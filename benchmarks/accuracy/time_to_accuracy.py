"""How long each sampler trains until it is as good as `opt-auc` ever gets."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.contenders import VSE_ENS_LOGISTIC, contender
from benchmarks.core.benchmark import Benchmark, Raw, Score, Table, say
from benchmarks.core.data_sets import real
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations, Split
from vse_ens.evaluate.means import mean_metrics
from vse_ens.experiments.fitting import warm_up
from vse_ens.model.model import Model
from vse_ens.train.trainer import Trainer

_METRIC = "recall@10"
_REFERENCE = "opt-auc"
_NEAR = 0.99


@dataclass(frozen=True)
class Sizes:
    """How much is measured: ``evaluations`` points, evenly over the epochs of each contender's preset."""

    real: tuple[str, ...] = ("iaprtc12", "openimages_v1val_sample")
    contenders: tuple[str, ...] = (_REFERENCE, "vse-ens", VSE_ENS_LOGISTIC, "warp")
    evaluations: int = 25
    epochs: int | None = None


def measure(sizes: Sizes) -> Raw:
    """A curve of every contender on every data set."""
    found, skipped = real(sizes.real)
    curves: Raw = {}
    for data_set, data in found.items():
        split = data.leave_one_out(seed=0)
        curves[data_set] = {}
        for name in sizes.contenders:
            say(f"{name} on {data_set}")
            config = contender(name).override(epochs=sizes.epochs, validate=False)
            curves[data_set][name] = learning_curve(config, split, sizes.evaluations)
    return {"curves": curves, "skipped": skipped}


def learning_curve(config: Config, split: Split, evaluations: int) -> list[Raw]:
    """Every metric on the held-out labels, after so many epochs and seconds of training."""
    warm_up(config, None)
    trainer = Trainer(config, split.train)
    every = max(1, config.epochs // evaluations)
    curve, seconds = [], 0.0
    started = time.perf_counter()
    for report in trainer.epochs():
        seconds += time.perf_counter() - started
        if report.epoch % every == 0 or trainer.finished:
            found = mean_metrics(partial(_scores, trainer.model, split.train), *split)
            curve.append({"epoch": report.epoch, "seconds": seconds, **found})
        started = time.perf_counter()
    return curve


def _scores(model: Model, known: Annotations, images: NDArray[np.int64]) -> NDArray[np.float32]:
    return model.scores(images, known)


def score(raw: Raw) -> Score:
    """Training time to the reference's best, and to nearly that."""
    rows = []
    for data_set, curves in raw["curves"].items():
        target = max(point[_METRIC] for point in curves[_REFERENCE])
        for name, curve in curves.items():
            rows.append(
                (
                    data_set,
                    name,
                    f"{max(point[_METRIC] for point in curve):.4f}",
                    _reached(curve, target),
                    _reached(curve, _NEAR * target),
                    f"{curve[-1]['seconds']:.1f} s, {curve[-1]['epoch']} epochs",
                )
            )
    columns = (
        "data",
        "model",
        f"best {_METRIC}",
        f"to `{_REFERENCE}`'s best",
        f"to {_NEAR:.0%} of that",
        "whole run",
    )
    note = (
        "Training wall-clock on all cores, compiling and evaluating left out; held-out labels of leave-one-out, "
        "seed 0. The best is picked on those same labels, for all models alike."
    )
    return Score(tables=[Table(columns, rows)], notes=[note])


def _reached(curve: list[Raw], target: float) -> str:
    for point in curve:
        if point[_METRIC] >= target:
            return f"{point['seconds']:.1f} s"
    return "not reached"


TIME_TO_ACCURACY = Benchmark(
    "time-to-accuracy",
    "Negatives from the top of the ranking teach more: fewer epochs to the accuracy of uniform ones.",
    Sizes(),
    Sizes(("iaprtc12",), contenders=(_REFERENCE, "vse-ens"), evaluations=2, epochs=2),
    measure,
    score,
)
