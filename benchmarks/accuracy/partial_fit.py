"""`partial_fit` with new images and labels, compared with training from scratch on all pairs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmarks.core.benchmark import Benchmark, Check, Raw, Score, Table, log
from benchmarks.core.data_sets import real
from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations, Split
from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.filters import keep_frequent
from vse_ens.streams import Streams

_METRIC = "recall@10"
_NEW_IMAGES = 0.1
_NEW_LABELS = 5
_TOP = 5


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run."""

    real: tuple[str, ...] = ("iaprtc12",)
    presets: tuple[str, ...] = ("context", "vse-ens")
    epochs: int | None = None


class Increment(NamedTuple):
    """The pairs of the first training, and later ones: all pairs of new images and of new labels."""

    old: Annotations
    new: Annotations


def measure(sizes: Sizes) -> Raw:
    """Measure every preset on every data set, after a run on tiny data that compiles the kernels."""
    found, skipped = real(sizes.real)
    sets: Raw = {}
    for name, data in found.items():
        split = data.leave_one_out(seed=0)
        old, new = hold_back(split.train)
        sets[name] = {
            "old": {"images": len(old.images), "labels": len(old.labels), "pairs": old.pairs},
            "new": {"pairs": new.pairs},
            "presets": {},
        }
        for preset in sizes.presets:
            log(f"{preset} on {name}")
            _extend(preset, scenes(200, 60).leave_one_out(), epochs=2)
            sets[name]["presets"][preset] = _extend(preset, split, sizes.epochs)
    return {"sets": sets, "skipped": skipped}


def hold_back(data: Annotations) -> Increment:
    """Hold back the pairs of a tenth of the images and of five labels of medium frequency, chosen at random."""
    streams = Streams(0).child("benchmark", "growing")
    images, labels = np.ones(len(data.images), bool), np.ones(len(data.labels), bool)
    shuffled = np.argsort(streams.child("images").words(len(images)))
    images[shuffled[: round(_NEW_IMAGES * len(images))]] = False
    medium = np.array_split(np.argsort(data.images_per_label, kind="stable"), 3)[1]
    labels[medium[np.argsort(streams.child("labels").words(len(medium)))[:_NEW_LABELS]]] = False
    known = images[data.image_numbers()] & labels[data.indices]
    # Images and labels without pairs leave the vocabularies.
    return Increment(keep_frequent(data.with_pairs(known)), keep_frequent(data.with_pairs(~known)))


def _extend(preset: str, split: Split, epochs: int | None) -> Raw:
    old, new = hold_back(split.train)
    scratch, scratch_seconds = _timed_fit(preset, split.train, epochs)
    model, old_seconds = _timed_fit(preset, old, epochs)
    images = list(old.images)
    before = _suggestions(model, images, old)
    recall_before = model.evaluate(split.test)[_METRIC]
    began = time.perf_counter()
    model.partial_fit(new)
    seconds = time.perf_counter() - began
    return {
        "scratch": {"seconds": scratch_seconds, _METRIC: scratch.evaluate(split.test)[_METRIC]},
        "old": {"seconds": old_seconds, _METRIC: recall_before},
        "updated": {"seconds": seconds, _METRIC: model.evaluate(split.test)[_METRIC]},
        "overlap": {
            "updated": _overlap(before, _suggestions(model, images, old)),
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
    """Return the top suggestions for each image among the old labels."""
    known = set(old.labels)
    listed = [[one.label for one in row] for row in model.annotate(images, top=_TOP + _NEW_LABELS)]
    return [set([label for label in row if label in known][:_TOP]) for row in listed]


def _overlap(before: list[set[str]], after: list[set[str]]) -> float:
    return float(np.mean([len(one & other) / max(len(one), 1) for one, other in zip(before, after, strict=True)]))


def score(raw: Raw) -> Score:
    """Return loss of accuracy, time, and the share of old suggestions that are unchanged."""
    checks, rows, notes = [], [], []
    for name, facts in raw["sets"].items():
        old, new = facts["old"], facts["new"]
        notes.append(
            f"{name}, leave-one-out, seed 0: a model of {old['images']:,} images, {old['labels']:,} labels and "
            f"{old['pairs']:,} pairs is updated with {new['pairs']:,} new pairs: those of a tenth of the images and of "
            f"{_NEW_LABELS} labels that it has not seen. Unchanged suggestions: the share of the first {_TOP} of every "
            f"old image that are still among its first {_TOP}, new labels excluded."
        )
        for preset, found in facts["presets"].items():
            scratch, updated = found["scratch"], found["updated"]
            lost = scratch[_METRIC] - updated[_METRIC]
            ratio = updated["seconds"] / scratch["seconds"]
            checks.append(Check(f"{name}, {preset}: loss of {_METRIC}", lost, "at most", 0.01, digits=4))
            checks.append(Check(f"{name}, {preset}: time / training from scratch", ratio, "at most", 0.2))
            overlap = {"old": "-", **{kind: f"{share:.2f}" for kind, share in found["overlap"].items()}}
            for title, kind in (("before", "old"), ("updated", "updated"), ("from scratch", "scratch")):
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
    return Score(
        checks, [Table(("data", "preset", "model", _METRIC, "training", "unchanged suggestions"), rows)], notes
    )


PARTIAL_FIT = Benchmark(
    "partial-fit",
    "Adding images and labels to a trained model takes a fraction of the time of training from scratch.",
    Sizes(),
    Sizes(("corel5k",), epochs=3),
    measure,
    score,
    measures=("kernels", "label_weights", "presets", "train"),
)
