"""The rivals on a split that no other benchmark uses: tune within a budget, fit with three seeds, test once.

A part of this benchmark is one rival on one data set.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.core.benchmark import Benchmark, Parts, Raw, Score
from benchmarks.core.data_sets import real
from benchmarks.core.parts import measure_parts
from benchmarks.core.process import call
from benchmarks.peers.base import Fitted, Settings
from benchmarks.peers.race import ONE_THREAD
from benchmarks.rivals import figures
from benchmarks.rivals.base import OURS, Rival
from benchmarks.rivals.dual_ease import suited
from benchmarks.rivals.figures import HELD_OUT, METRICS, SPLIT_SEED, TUNING_IMAGES, part_name, split_name
from benchmarks.rivals.linear import Edlae, Ials, ItemKnn, Rp3Beta, Slim
from benchmarks.rivals.neural import Logistic, MaskedMlp, MultDae, MultVae, RecVae, SetTransformer
from benchmarks.rivals.ours import DefaultRival, EaseRival, ImageKnnRival, PopularityRival
from benchmarks.rivals.trees import Trees
from vse_ens.data.annotations import Annotations, Split
from vse_ens.data.splits import leave_one_out
from vse_ens.evaluate.metrics import coverage, per_image
from vse_ens.evaluate.rank import FunctionScorer, evaluate
from vse_ens.evaluate.rankings import GROUPS, group_of
from vse_ens.streams import Streams

RIVALS: dict[str, Rival] = {
    rival.name: rival
    for rival in (
        DefaultRival(),
        EaseRival(),
        ImageKnnRival(),
        Edlae(),
        Slim(),
        MultDae(),
        MultVae(),
        RecVae(),
        MaskedMlp(),
        SetTransformer(),
        Logistic(),
        Trees(),
        Ials(),
        Rp3Beta(),
        ItemKnn(),
        PopularityRival(),
    )
}
_ANSWERED = 200
# Images on which kernels are compiled.
_PREPARED = 2_000


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run; ``budget`` is the CPU seconds of tuning per rival and data set."""

    real: tuple[str, ...] = (
        "corel5k",
        "iaprtc12",
        "mirflickr25k",
        "openimages_v1val_sample",
        "nuswide81",
        "eurlex4k",
        "lastfm2k",
    )
    rivals: tuple[str, ...] = tuple(RIVALS)
    seeds: tuple[int, ...] = (0, 1, 2)
    budget: float = 60.0


def parts(sizes: Sizes) -> list[str]:
    """Return the names of all parts, by data set."""
    return [part_name(rival, data_set) for data_set in sizes.real for rival in sizes.rivals]


def measure_part(sizes: Sizes, part: str) -> Raw:
    """Measure one part in a process of its own; ``skipped`` is a sentence if it could not be measured."""
    name, data_set = split_name(part)
    rival = RIVALS[name]
    reason = rival.missing() or "".join(real((data_set,))[1])
    if reason:
        return {"skipped": reason}
    found: Raw = call(run, data_set, name, sizes.seeds, sizes.budget, **ONE_THREAD)
    return found


def run(data_set: str, name: str, seeds: Sequence[int], budget: float) -> Raw:
    """Tune, fit and test one rival on one data set, by name."""
    return tune_and_test(RIVALS[name], real((data_set,))[0][data_set], seeds, budget)


def tune_and_test(rival: Rival, data: Annotations, seeds: Sequence[int], budget: float) -> Raw:
    """Return the chosen settings, the CPU seconds of choosing them, and the figures of each seed on the test labels."""
    split = data.leave_one_out(seed=SPLIT_SEED)
    rival = suited(rival, split.train)
    facts = {"images": len(data.images), "labels": len(data.labels), "test": split.test.pairs}
    if reason := rival.unfit(len(data.images), len(data.labels)):
        return {**facts, "skipped": reason}
    rival.prepare(some_images(split.train, _PREPARED))
    began = time.process_time()
    tuned = rival.tune(tuning_split(split.train), budget)
    seconds = time.process_time() - began
    fits = [
        fit_and_test(rival, split, tuned.settings, tuned.epochs, seed)
        for seed in (seeds[:1] if rival.deterministic else seeds)
    ]
    return {
        **facts,
        "settings": tuned.settings,
        "epochs": tuned.epochs,
        "tried": tuned.tried,
        "budget": budget,
        "remark": rival.remark,
        "tuning_seconds": seconds,
        "fits": fits,
    }


def tuning_split(train: Annotations) -> Split:
    """Hold out labels of a third of the images: of all, it would leave a label less on every image than in the end."""
    few = some_images(train, TUNING_IMAGES)
    return leave_one_out(few, SPLIT_SEED, name="tune-rival", max_images=min(HELD_OUT, len(train.images) // 3))


def some_images(data: Annotations, most: int, number: int = 0) -> Annotations:
    """Return the pairs of ``most`` images chosen at random; the vocabularies stay. ``number`` numbers the choices."""
    if len(data.images) <= most:
        return data
    chosen = np.zeros(len(data.images), bool)
    chosen[np.argsort(Streams(SPLIT_SEED).child("rivals", "images", number).words(len(chosen)))[:most]] = True
    return data.with_pairs(chosen[data.image_numbers()])


def fit_and_test(rival: Rival, split: Split, settings: Settings, epochs: int, seed: int) -> Raw:
    """Return metrics, CPU seconds of fitting, CPU seconds of an answer, and the size."""
    data = rival.load(split.train)
    began = time.process_time()
    ((_, fitted),) = rival.train(data, settings, [epochs], seed)
    seconds = time.process_time() - began
    if not isinstance(fitted, Fitted):
        raise TypeError(f"{rival.name} must yield a Fitted, not {fitted!r}")
    rankings = evaluate(FunctionScorer(split.train.images, split.train.labels, fitted), *split, workers=1)
    values = per_image(rankings)
    group = group_of(rankings.seen, rankings.common)
    recall = values["recall@10"]  # one label per image, so that images and pairs are the same
    return {
        "seed": seed,
        "seconds": seconds,
        "answer_seconds": answer_seconds(fitted, split.test),
        "bytes": fitted.bytes,
        **{name: float(values[name].mean()) for name in METRICS},
        "coverage@10": coverage(rankings, 10),
        "groups": {
            name: {"pairs": int((group == number).sum()), "recall@10": float(recall[group == number].mean())}
            for number, name in enumerate(GROUPS)
            if (group == number).any()
        },
    }


def answer_seconds(fitted: Fitted, test: Annotations) -> float:
    """Return the mean CPU seconds of the scores of one image, one after another, for some images or a second."""
    images = np.flatnonzero(test.labels_per_image)[:_ANSWERED]
    fitted(images[:1])
    began, seconds, answers = time.process_time(), 0.0, 0
    while answers < len(images) and seconds < 1.0:
        fitted(images[answers : answers + 1])
        answers += 1
        seconds = time.process_time() - began
    return seconds / answers


def measure(sizes: Sizes) -> Raw:
    """Measure all parts without storing them."""
    return measure_parts(PARTS, sizes).raw


def score(raw: Raw) -> Score:
    """Return the tables, and how many parts are still to be measured."""
    found = figures.score(raw)
    every = parts(Sizes())
    missing = [part for part in every if "fits" not in raw["parts"].get(part, {"raw": {}})["raw"]]
    if missing:
        note = f"{len(missing)} of {len(every)} parts are not measured yet: `python -m benchmarks rivals` continues."
        found.notes.append(note)
    return found


PARTS = Parts(parts, measure_part, lambda part: RIVALS[split_name(part)[0]].measures)
RIVALS_BENCHMARK = Benchmark(
    "rivals",
    "The default is at least as accurate as every method that a sceptic would name, each tuned within the same budget.",
    Sizes(),
    Sizes(("corel5k",), (OURS, "EASE", "image kNN", "popularity", "item kNN", "Mult-DAE"), seeds=(0,), budget=1.0),
    measure,
    score,
    measures=("baselines", "kernels", "label_weights", "presets", "train"),
    repetitions=lambda sizes: len(sizes.seeds),
    timed=False,
    parts=PARTS,
)
