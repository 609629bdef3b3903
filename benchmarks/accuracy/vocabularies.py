"""From how many labels on the paper's sampler is worth its cost, against uniform negatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy.time_to_accuracy import learning_curve
from benchmarks.core.benchmark import Benchmark, Raw, Score, Table, say
from vse_ens.config import configure
from vse_ens.data.scenes import scenes
from vse_ens.data.splits import leave_one_out

_METRIC = "recall@10"
_SAMPLERS = ("uniform", "vse-ens")
_HELD_OUT = 5_000


@dataclass(frozen=True)
class Sizes:
    """How much is measured: the same number of scenes with each number of words, of which the rarest do not occur."""

    words: tuple[int, ...] = (300, 1_000, 3_000, 10_000, 30_000)
    images: int = 80_000
    negatives: tuple[int, ...] = (8, 32)
    epochs: int = 6


def measure(sizes: Sizes) -> Raw:
    """A learning curve of both samplers for every vocabulary and number of negatives."""
    cases = []
    for words in sizes.words:
        data = scenes(sizes.images, words)
        split = leave_one_out(data, 0, most_images=_HELD_OUT)
        for negatives in sizes.negatives:
            curves = {}
            for sampler in _SAMPLERS:
                say(f"{sampler}, {negatives} negatives, {len(data.labels):,} labels")
                config = configure(
                    "context", sampler=sampler, negatives=negatives, combinations=0, epochs=sizes.epochs
                ).unjudged()
                curves[sampler] = [
                    {name: point[name] for name in ("epoch", "seconds", _METRIC)}
                    for point in learning_curve(config, split, sizes.epochs)
                ]
            cases.append({"labels": len(data.labels), "negatives": negatives, "curves": curves})
    return {"images": sizes.images, "epochs": sizes.epochs, "cases": cases, "skipped": []}


def score(raw: Raw) -> Score:
    """Both after as many epochs, and after as much time."""
    rows = []
    for case in raw["cases"]:
        plain, adaptive = (case["curves"][sampler] for sampler in _SAMPLERS)
        enough = plain[-1]["seconds"]
        seconds, reached = ([point[name] for point in adaptive] for name in ("seconds", _METRIC))
        in_time = float(np.interp(enough, seconds, reached))
        rows.append(
            (
                f"{case['labels']:,}",
                str(case["negatives"]),
                f"{plain[-1][_METRIC]:.4f}",
                f"{adaptive[-1][_METRIC]:.4f}",
                f"{adaptive[-1][_METRIC] - plain[-1][_METRIC]:+.4f}",
                f"{in_time:.4f}",
                f"{in_time - plain[-1][_METRIC]:+.4f}",
                f"{enough:.1f} s",
                f"{adaptive[-1]['seconds']:.1f} s",
            )
        )
    columns = (
        "labels",
        "negatives",
        "`uniform`",
        "`vse-ens`, as many epochs",
        "difference",
        "`vse-ens`, as much time",
        "difference",
        "`uniform` trains",
        "`vse-ens` trains",
    )
    note = (
        f"{_METRIC}; context tower, softmax, no combinations and no memory, {raw['epochs']} epochs, all cores; "
        f"`scenes` of {raw['images']:,} images, one label of {_HELD_OUT:,} of them held out. As much time: where the "
        "learning curve of `vse-ens` is when `uniform` has done its epochs; its learning rate has then decayed less."
    )
    return Score(tables=[Table(columns, rows)], notes=[note])


VOCABULARIES = Benchmark(
    "vocabularies",
    "The more labels there are, the more the paper's sampler is worth.",
    Sizes(),
    Sizes(words=(100, 1_500), images=1_000, negatives=(8,), epochs=3),
    measure,
    score,
)
