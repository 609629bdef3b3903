"""Labels that WARP tries per draw, by epoch: the paper's figure 1, which motivates its sampler."""

from __future__ import annotations

import time
from dataclasses import dataclass

from benchmarks.core.benchmark import Benchmark, Raw, Score, Table, log
from benchmarks.core.data_sets import real
from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import scenes
from vse_ens.presets import preset
from vse_ens.train.trainer import Trainer

# Epochs shown in the table; all are stored.
_SHOWN = (1, 2, 3, 5, 10, 20, 30, 50, 100)


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run. Training ends after ``epochs`` epochs or ``seconds`` seconds."""

    real: tuple[str, ...]
    scenes_images: int
    scenes_labels: int
    epochs: int
    seconds: float
    presets: tuple[str, ...] = ("warp", "paper-warp")


def measure(sizes: Sizes) -> Raw:
    """Return the counts of each epoch on every data set."""
    found, skipped = real(sizes.real)
    sets = {name: data.leave_one_out(seed=0).train for name, data in found.items()}
    sets["scenes"] = scenes(sizes.scenes_images, sizes.scenes_labels)
    curves = {}
    for name, data in sets.items():
        for method in sizes.presets:
            log(f"{method} on {name}: {data!r}")
            curves[f"{name}, {method}"] = _curve(preset(method), data, sizes)
    return {"curves": curves, "skipped": skipped}


def _curve(config: Config, data: Annotations, sizes: Sizes) -> Raw:
    deadline = time.monotonic() + sizes.seconds
    epochs = []
    for report in Trainer(config.override(epochs=sizes.epochs), data).epochs():
        epochs.append({key: getattr(report, key) for key in ("draws", "tries", "violations", "given_up", "seconds")})
        if time.monotonic() > deadline:
            break
    return {"images": len(data.images), "labels": len(data.labels), "pairs": data.pairs, "epochs": epochs}


def score(raw: Raw) -> Score:
    """Return tries per draw by epoch."""
    curves = raw["curves"]
    longest = max(len(curve["epochs"]) for curve in curves.values())
    shown = [epoch for epoch in _SHOWN if epoch <= longest]
    rows = [
        (f"{name} ({curve['labels']:,} labels)", *(_tries(curve["epochs"], epoch) for epoch in shown))
        for name, curve in curves.items()
    ]
    notes = ["Labels tried per draw, mean of an epoch; `-` if the time limit came first."]
    return Score(tables=[Table(("data", *(f"epoch {epoch}" for epoch in shown)), rows)], notes=notes)


def _tries(epochs: list[Raw], number: int) -> str:
    if number > len(epochs):
        return "-"
    return f"{epochs[number - 1]['tries'] / epochs[number - 1]['draws']:.1f}"


WARP_TRIES = Benchmark(
    "warp-tries",
    "The better a WARP model, the more labels it tries per draw until one violates the margin.",
    Sizes(("iaprtc12", "openimages_v1val_sample"), 20_000, 6_000, epochs=100, seconds=25.0),
    Sizes(("iaprtc12",), 500, 300, epochs=2, seconds=5.0),
    measure,
    score,
    measures=("kernels", "presets", "train"),
    timed=False,
)
