"""Accuracy of the paper's sampler and of uniform negatives, by number of labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy.fitting import learning_curve
from benchmarks.core.benchmark import Benchmark, Raw, Score, Table, log
from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.splits import leave_one_out
from vse_ens.presets import configure

_METRIC = "recall@10"
_SAMPLERS = ("uniform", "vse-ens")
_HELD_OUT = 5_000


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run. Each vocabulary of ``words`` has the same number of images; its rarest words do not occur."""

    words: tuple[int, ...] = (300, 1_000, 3_000, 10_000, 30_000)
    images: int = 80_000
    negatives: tuple[int, ...] = (8, 32)
    epochs: int = 6


def measure(sizes: Sizes) -> Raw:
    """Return learning curves of both samplers for every vocabulary and number of negatives."""
    cases = []
    for words in sizes.words:
        data = scenes(sizes.images, words)
        split = leave_one_out(data, 0, max_images=_HELD_OUT)
        for negatives in sizes.negatives:
            curves = {}
            for sampler in _SAMPLERS:
                log(f"{sampler}, {negatives} negatives, {len(data.labels):,} labels")
                config = configure(
                    "context", sampler=sampler, negatives=negatives, label_pairs=0, epochs=sizes.epochs
                ).without_validation()
                curves[sampler] = [
                    {name: point[name] for name in ("epoch", "seconds", _METRIC)}
                    for point in learning_curve(config, split, sizes.epochs)
                ]
            cases.append({"labels": len(data.labels), "negatives": negatives, "curves": curves})
    return {"images": sizes.images, "epochs": sizes.epochs, "cases": cases, "skipped": []}


def score(raw: Raw) -> Score:
    """Compare the samplers after the same number of epochs, and after the same time."""
    rows = []
    for case in raw["cases"]:
        plain, adaptive = (case["curves"][sampler] for sampler in _SAMPLERS)
        limit = plain[-1]["seconds"]
        seconds, reached = ([point[name] for point in adaptive] for name in ("seconds", _METRIC))
        in_time = float(np.interp(limit, seconds, reached))
        rows.append(
            (
                f"{case['labels']:,}",
                str(case["negatives"]),
                f"{plain[-1][_METRIC]:.4f}",
                f"{adaptive[-1][_METRIC]:.4f}",
                f"{adaptive[-1][_METRIC] - plain[-1][_METRIC]:+.4f}",
                f"{in_time:.4f}",
                f"{in_time - plain[-1][_METRIC]:+.4f}",
                f"{limit:.1f} s",
                f"{adaptive[-1]['seconds']:.1f} s",
            )
        )
    columns = (
        "labels",
        "negatives",
        "`uniform`",
        "`vse-ens`, same epochs",
        "difference",
        "`vse-ens`, same time",
        "difference",
        "training, `uniform`",
        "training, `vse-ens`",
    )
    note = (
        f"{_METRIC}; context tower, softmax, no label pairs, no label weights, {raw['epochs']} epochs, all cores; "
        f"`scenes` of {raw['images']:,} images, one label of {_HELD_OUT:,} of them held out. "
        "Same time: the learning curve of `vse-ens` when `uniform` has finished; its learning rate has decayed less by "
        "then."
    )
    return Score(tables=[Table(columns, rows)], notes=[note])


VOCABULARIES = Benchmark(
    "vocabularies",
    "The paper's sampler gains more over uniform negatives the more labels there are.",
    Sizes(),
    Sizes(words=(100, 1_500), images=1_000, negatives=(8,), epochs=3),
    measure,
    score,
    measures=("kernels", "presets", "train"),
)
