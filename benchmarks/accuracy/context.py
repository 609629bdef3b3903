"""Accuracy and training time of the default preset, compared with EASE."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.core.baseline_tuning import tune_ease
from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.data_sets import REAL, real
from vse_ens.annotator import Annotator
from vse_ens.baselines.base import Baseline
from vse_ens.baselines.ease import Ease
from vse_ens.data.annotations import Annotations, Split
from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.splits import leave_one_out
from vse_ens.evaluate.rank import evaluate
from vse_ens.evaluate.report import Report, summarize
from vse_ens.experiments.compare.run import warm_up
from vse_ens.model.blas import one_thread
from vse_ens.presets import configure

_METRICS = ("recall@10", "mrr", "auc")
_FLOORS = {
    "iaprtc12": (0.667, 0.388, 0.938),
    "openimages_v1val_sample": (0.757, 0.540, 0.972),
    "mirflickr25k": (0.416, 0.258, 0.875),
    "corel5k": (0.755, 0.487, 0.958),
    "nuswide81": (0.832, 0.547, 0.930),
}
# The regularization of EASE is not tuned where one fit takes minutes: tuning takes seven times as long.
_UNTUNED = 10.0
_HELD_OUT = 5_000


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run: real data sets, and ``images`` synthetic scenes for each vocabulary of ``words``."""

    real: tuple[str, ...] = REAL
    seeds: tuple[int, ...] = (0, 1, 2)
    words: tuple[int, ...] = (20_000,)
    images: int = 100_000
    epochs: int | None = None


def measure(sizes: Sizes) -> Raw:
    """Fit both methods on every data set with one core: one worker and one BLAS thread."""
    found, skipped = real(sizes.real)
    warm_up(configure("context"), 1)
    warm_up(Ease(), 1)
    sets: Raw = {}
    with one_thread():
        for name, split, seeds in _splits(sizes, found):
            tuned = name in found
            log(f"EASE on {name}: {len(split.train.labels):,} labels")
            ease = _ease(split, tuned)
            fits = []
            for seed in seeds:
                log(f"context, seed {seed}, on {name}")
                fits.append(_context(split, seed, sizes.epochs))
            sets[name] = {
                "images": len(split.train.images),
                "labels": len(split.train.labels),
                "pairs": split.train.pairs,
                "test": split.test.pairs,
                "ease": ease,
                "context": fits,
            }
    return {"sets": sets, "skipped": skipped}


def _splits(sizes: Sizes, found: dict[str, Annotations]) -> Iterator[tuple[str, Split, tuple[int, ...]]]:
    for name, data in found.items():
        yield name, data.leave_one_out(seed=0), sizes.seeds
    for words in sizes.words:
        split = leave_one_out(scenes(sizes.images, words), 0, max_images=_HELD_OUT)
        yield f"scenes of {words:,} words", split, sizes.seeds[:1]


def _ease(split: Split, tuned: bool) -> Raw:
    began = time.perf_counter()
    method: Baseline = tune_ease(split.train).best if tuned else Ease(regularization=_UNTUNED)
    chosen = time.perf_counter()
    fitted = method.fit(split.train)
    seconds = time.perf_counter() - chosen
    return {
        "regularization": method.to_dict()["regularization"],
        "tuning_seconds": chosen - began if tuned else None,
        "seconds": seconds,
        "metrics": _figures(summarize(evaluate(fitted, split.train, split.test))),
    }


def _context(split: Split, seed: int, epochs: int | None) -> Raw:
    model = Annotator("context", seed=seed, workers=1)
    if epochs is not None:
        model.set_params(epochs=epochs)
    began = time.perf_counter()
    model.fit(split.train)
    seconds = time.perf_counter() - began
    return {
        "seed": seed,
        "seconds": seconds,
        "training": model.training_,
        "metrics": _figures(model.evaluate(split.test)),
    }


def _figures(report: Report) -> dict[str, float]:
    return {metric: report[metric] for metric in _METRICS}


def score(raw: Raw) -> Score:
    """Return checks of the mean over seeds against the floors and against tuned EASE."""
    floors, leads, rows = [], [], []
    for name, facts in raw["sets"].items():
        ease, fits = facts["ease"], facts["context"]
        means = {metric: float(np.mean([fit["metrics"][metric] for fit in fits])) for metric in _METRICS}
        if name in _FLOORS:
            for metric, floor in zip(_METRICS, _FLOORS[name], strict=True):
                floors.append(Check(f"{name}: {metric}", means[metric], "at least", floor, digits=4))
                lead = means[metric] - ease["metrics"][metric]
                leads.append(Check(f"{name}: {metric} minus that of tuned EASE", lead, "at least", 0.0, digits=4))
        title = f"{name} ({facts['labels']:,} labels)"
        seconds = float(np.mean([fit["seconds"] for fit in fits]))
        rows.append((title, "context, mean", *_shown(means), f"{seconds:.2f} s", ""))
        rows += [
            ("", f"context, seed {fit['seed']}", *_shown(fit["metrics"]), f"{fit['seconds']:.2f} s", "") for fit in fits
        ]
        tuning = "not tuned" if ease["tuning_seconds"] is None else f"{ease['tuning_seconds']:.2f} s"
        rows.append(
            (
                "",
                f"EASE, lambda {ease['regularization']:g}",
                *_shown(ease["metrics"]),
                f"{ease['seconds']:.2f} s",
                tuning,
            )
        )
    note = (
        "Leave-one-out, seed 0. All labels except the known ones of an image are ranked. Preset `context` without "
        "options; EASE with its regularization tuned on a validation split of the training part. Both on one core, "
        "without compilation. On `scenes`, one label of 5,000 images is held out."
    )
    return Score([*floors, *leads], [Table(("data", "model", *_METRICS, "training", "tuning"), rows)], [note])


def _shown(metrics: dict[str, float]) -> list[str]:
    return [f"{metrics[metric]:.4f}" for metric in _METRICS]


CONTEXT = Benchmark(
    "context",
    "The default preset, without options, is better than tuned EASE in every metric on every data set.",
    Sizes(),
    Sizes(("corel5k",), seeds=(0, 1), words=(600,), images=1_000, epochs=2),
    measure,
    score,
    measures=("baselines", "kernels", "label_weights", "presets", "train"),
    repetitions=lambda sizes: len(sizes.seeds),
)
