"""`partial_fit`: new images and labels join a trained model, against training from scratch on all."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, say
from benchmarks.core.data_sets import real
from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations, Split
from vse_ens.data.filters import keep_frequent
from vse_ens.data.scenes import scenes
from vse_ens.streams import Streams

_METRIC = "recall@10"
_NEW_IMAGES = 0.1
_NEW_LABELS = 5
_TOP = 5


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    real: tuple[str, ...] = ("iaprtc12",)
    presets: tuple[str, ...] = ("context", "vse-ens")
    epochs: int | None = None


class Growth(NamedTuple):
    """What is known first, and what comes later: pairs of new images, and those of new labels."""

    old: Annotations
    more: Annotations


def measure(sizes: Sizes) -> Raw:
    """Every preset on every data set; kernels are compiled before, by the same on a tiny one."""
    found, skipped = real(sizes.real)
    sets: Raw = {}
    for name, data in found.items():
        split = data.leave_one_out(seed=0)
        old, more = growth(split.train)
        sets[name] = {
            "old": {"images": len(old.images), "labels": len(old.labels), "pairs": old.pairs},
            "more": {"pairs": more.pairs},
            "presets": {},
        }
        for preset in sizes.presets:
            say(f"{preset} on {name}")
            _grow(preset, scenes(200, 60).leave_one_out(), epochs=2)
            sets[name]["presets"][preset] = _grow(preset, split, sizes.epochs)
    return {"sets": sets, "skipped": skipped}


def growth(data: Annotations) -> Growth:
    """Pairs without a tenth of the images and five labels of middling frequency, chosen at random; and the others."""
    streams = Streams(0).child("benchmark", "growing")
    images, labels = np.ones(len(data.images), bool), np.ones(len(data.labels), bool)
    shuffled = np.argsort(streams.child("images").words(len(images)))
    images[shuffled[: round(_NEW_IMAGES * len(images))]] = False
    middling = np.array_split(np.argsort(data.images_per_label, kind="stable"), 3)[1]
    labels[middling[np.argsort(streams.child("labels").words(len(middling)))[:_NEW_LABELS]]] = False
    known = images[data.image_numbers()] & labels[data.indices]
    # What has no pair is not in the vocabulary either.
    return Growth(keep_frequent(data.with_pairs(known)), keep_frequent(data.with_pairs(~known)))


def _grow(preset: str, split: Split, epochs: int | None) -> Raw:
    old, more = growth(split.train)
    scratch, scratch_seconds = _timed_fit(preset, split.train, epochs)
    model, old_seconds = _timed_fit(preset, old, epochs)
    images = list(old.images)
    before = _suggestions(model, images, old)
    recall_before = model.evaluate(split.test)[_METRIC]
    began = time.perf_counter()
    model.partial_fit(more)
    seconds = time.perf_counter() - began
    return {
        "scratch": {"seconds": scratch_seconds, _METRIC: scratch.evaluate(split.test)[_METRIC]},
        "old": {"seconds": old_seconds, _METRIC: recall_before},
        "grown": {"seconds": seconds, _METRIC: model.evaluate(split.test)[_METRIC]},
        "overlap": {
            "grown": _overlap(before, _suggestions(model, images, old)),
            "scratch": _overlap(before, _suggestions(scratch, images, old)),
        },
    }


def _timed_fit(preset: str, data: Annotations, epochs: int | None) -> tuple[Annotator, float]:
    model = Annotator(preset)
    if epochs is not None:
        model.set_params(epochs=epochs)
    began = time.perf_counter()
    model.fit(data)
    return model, time.perf_counter() - began


def _suggestions(model: Annotator, images: list[str], old: Annotations) -> list[set[str]]:
    """The leading labels of each image among those that were known first."""
    known = set(old.labels)
    listed = [[one.label for one in row] for row in model.annotate(images, top=_TOP + _NEW_LABELS)]
    return [set([label for label in row if label in known][:_TOP]) for row in listed]


def _overlap(before: list[set[str]], after: list[set[str]]) -> float:
    return float(np.mean([len(one & other) / max(len(one), 1) for one, other in zip(before, after, strict=True)]))


def score(raw: Raw) -> Score:
    """What growing loses in accuracy, what it saves in time, and how close old suggestions stay."""
    checks, rows, notes = [], [], []
    for name, facts in raw["sets"].items():
        old, more = facts["old"], facts["more"]
        notes.append(
            f"{name}, leave-one-out, seed 0: a model of {old['images']:,} images, {old['labels']:,} labels and "
            f"{old['pairs']:,} pairs meets {more['pairs']:,} new pairs, those of a tenth of the images and of "
            f"{_NEW_LABELS} labels that it has not seen. Same old suggestions: the share of the first {_TOP} of every "
            f"old image, before, that are among the first {_TOP} afterwards, new labels left out."
        )
        for preset, found in facts["presets"].items():
            scratch, grown = found["scratch"], found["grown"]
            lost = scratch[_METRIC] - grown[_METRIC]
            ratio = grown["seconds"] / scratch["seconds"]
            checks.append(Check(f"{name}, {preset}: {_METRIC} that growing loses", lost, "at most", 0.01, digits=4))
            checks.append(Check(f"{name}, {preset}: time over training from scratch", ratio, "at most", 0.2))
            overlap = {"old": "-", **{kind: f"{share:.2f}" for kind, share in found["overlap"].items()}}
            for title, kind in (("before", "old"), ("grown", "grown"), ("from scratch on all", "scratch")):
                rows.append(
                    (
                        name,
                        preset,
                        title,
                        f"{found[kind][_METRIC]:.4f}",
                        f"{found[kind]['seconds']:.2f} s",
                        overlap[kind],
                    )
                )
    return Score(checks, [Table(("data", "preset", "model", _METRIC, "training", "same old suggestions"), rows)], notes)


GROWING = Benchmark(
    "growing",
    "New images and labels join a trained model in a fraction of the time of training again.",
    Sizes(),
    Sizes(("corel5k",), epochs=3),
    measure,
    score,
)
