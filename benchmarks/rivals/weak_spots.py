"""Shapes of data on which a method may fail: the default against EASE, item kNN and popularity, each on its own data.

Every data set is real or made of real images, except where none of the shape exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.core.benchmark import Benchmark, Parts, Raw, Score, Table
from benchmarks.core.data_sets import real
from benchmarks.core.parts import measure_parts
from benchmarks.rivals.base import OURS, Rival
from benchmarks.rivals.dual_ease import suited
from benchmarks.rivals.figures import METRICS, SPLIT_SEED, title
from benchmarks.rivals.run import RIVALS, fit_and_test, some_images, tuning_split
from vse_ens.data.annotations import Annotations, Split
from vse_ens.data.datasets.scenes import scenes
from vse_ens.data.splits import leave_one_out
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.streams import Streams

_METHODS = (OURS, "EASE", "item kNN", "popularity")
_BUDGET = 20.0


@dataclass(frozen=True)
class Spot:
    """A shape of data."""

    name: str
    source: str
    """The data set it is made of."""
    splits: Callable[[Annotations, int], Iterator[Split]]
    """From the data and the number of repetitions; a repetition is another choice of images or of held-out labels."""
    repetitions: int = 1


def _split(data: Annotations, number: int = 0) -> Split:
    return leave_one_out(data, SPLIT_SEED, name=f"weak-spots-{number}")


def _transposed(data: Annotations, repetitions: int) -> Iterator[Split]:
    """Labels as images: some thousand rows with 20 to 1,400 labels each, of a vocabulary of 20,000 with few pairs."""
    keys = data.indices.astype(np.uint64) << np.uint64(32) | data.image_numbers().astype(np.uint64)
    rows, columns = Vocabulary(data.labels.arrow, "image"), Vocabulary(data.images.arrow, "label")
    turned = Annotations.from_keys(rows, columns, np.sort(keys))
    return (_split(turned, number) for number in range(repetitions))


def _albums(data: Annotations, repetitions: int) -> Iterator[Split]:
    """Unions of the labels of 24 to 73 similar images."""
    return (_split(albums(data, 1_500, number), number) for number in range(repetitions))


def albums(data: Annotations, count: int, number: int = 0) -> Annotations:
    """Return ``count`` unions of 24 to 73 images each that share a label, which is drawn by frequency."""
    stream = Streams(SPLIT_SEED).child("weak-spots", "albums", number)
    by_label = [data.images_with(label) for label in range(len(data.labels))]
    topics = data.indices[stream.below(np.full(count, data.pairs), 0)]
    sizes = 24 + stream.child("sizes").below(np.full(count, 50), 0)
    keys = []
    for album, (topic, size) in enumerate(zip(topics.tolist(), sizes.tolist(), strict=True)):
        about = by_label[topic]
        drawn = about[stream.child("images", album).below(np.full(size, len(about)), 0)]
        keys.append(np.unique(data.rows(drawn)[1]).astype(np.uint64) | np.uint64(album) << np.uint64(32))
    ids = Vocabulary.from_ids([f"album {number:05}" for number in range(count)], "image")
    return Annotations.from_keys(ids, data.labels, np.concatenate(keys))


def _one_known(data: Annotations, repetitions: int) -> Iterator[Split]:
    """All images train; those with one label left are tested."""
    del repetitions
    split = _split(data)
    yield Split(split.train, _only(split.test, split.train.labels_per_image == 1))


def _one_label(data: Annotations, repetitions: int) -> Iterator[Split]:
    """Four of five images keep one label; the others are tested."""
    del repetitions
    stream = Streams(SPLIT_SEED).child("weak-spots", "one-label")
    cut = stream.words(len(data.images)) % np.uint64(5) != 0
    kept = data.indptr[:-1] + stream.child("labels").below(np.maximum(data.labels_per_image, 1), 0)
    keep = ~cut[data.image_numbers()]
    keep[kept[cut & (data.labels_per_image > 0)]] = True
    yield _split(data.with_pairs(keep))


def _tiny(data: Annotations, repetitions: int) -> Iterator[Split]:
    """Return splits of 200 images chosen at random, with the labels that these have."""
    for number in range(repetitions):
        chosen = some_images(data, 200, number)
        pairs = [chosen[pair] for pair in range(chosen.pairs)]
        yield _split(Annotations.from_pairs(pairs), number)


def _rare(data: Annotations, repetitions: int) -> Iterator[Split]:
    """All labels train; those with 2 to 5 training images are tested."""
    del repetitions
    split = _split(data)
    seen = split.train.images_per_label[split.test.indices]
    yield Split(split.train, split.test.with_pairs((seen >= 2) & (seen <= 5)))


def _only(test: Annotations, images: NDArray[np.bool_]) -> Annotations:
    return test.with_pairs(images[test.image_numbers()])


SPOTS = [
    Spot("many labels per image: albums of scenes", "", _albums, 10),
    Spot("one known label, of test images", "mirflickr25k", _one_known),
    Spot("one label on 4 of 5 training images", "iaprtc12", _one_label),
    Spot("200 images", "iaprtc12", _tiny, 10),
    Spot("rare labels, on 2 to 5 training images", "openimages_v1val_sample", _rare),
    Spot("many labels per image: mirflickr25k, transposed", "mirflickr25k", _transposed),
]


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run; ``repetitions`` limits those of every shape."""

    spots: tuple[str, ...] = tuple(spot.name for spot in SPOTS)
    repetitions: int | None = None
    methods: tuple[str, ...] = _METHODS


def measure_part(sizes: Sizes, name: str) -> Raw:
    """Tune, fit and test every method on one shape, in this process."""
    spot = next(spot for spot in SPOTS if spot.name == name)
    found, skipped = real((spot.source,)) if spot.source else ({"": scenes(20_000, 3_000)}, [])
    if skipped:
        return {"skipped": skipped[0]}
    missing = {method: sentence for method in sizes.methods if (sentence := RIVALS[method].missing())}
    rivals = [RIVALS[method] for method in sizes.methods if method not in missing]
    splits = list(spot.splits(found[spot.source], min(spot.repetitions, sizes.repetitions or spot.repetitions)))
    result = _shape(splits) | {"methods": {rival.name: _fits(rival, splits) for rival in rivals}}
    return result | ({"left_out": missing} if missing else {})


def measure(sizes: Sizes) -> Raw:
    """Measure all shapes without storing them."""
    return measure_parts(PARTS, sizes).raw


def _shape(splits: list[Split]) -> Raw:
    train = splits[0].train
    return {
        "images": len(train.images),
        "labels": len(train.labels),
        "pairs": train.pairs,
        "test": sum(split.test.pairs for split in splits),
        "labels_per_image": np.percentile(train.labels_per_image, [5, 50, 95]).tolist(),
    }


def _fits(rival: Rival, splits: list[Split]) -> list[Raw]:
    """Return the figures of each split; settings are chosen on the training part of each."""
    fits = []
    for split in splits:
        method = suited(rival, split.train)
        tuned = method.tune(tuning_split(split.train), _BUDGET)
        found = fit_and_test(method, split, tuned.settings, tuned.epochs, seed=0)
        fits.append({"test": split.test.pairs, "settings": tuned.settings, **found})
    return fits


def mean(fits: list[Raw], metric: str) -> float:
    """Return the mean over all test labels of all repetitions."""
    return float(np.average([fit[metric] for fit in fits], weights=[fit["test"] for fit in fits]))


def score(raw: Raw) -> Score:
    """Return one table per shape, with the lead of the default over the best other method."""
    rows: list[tuple[str, ...]] = []
    for name, case in ((name, part["raw"]) for name, part in raw["parts"].items() if "methods" in part["raw"]):
        low, middle, high = case["labels_per_image"]
        shape = (
            f"{name} ({case['images']:,} images, {case['labels']:,} labels, {low:.0f} to {high:.0f} a training "
            f"image, median {middle:.0f}; {case['test']:,} test labels)"
        )
        others = [method for method in case["methods"] if method != OURS]
        for method, fits in case["methods"].items():
            lead = "-"
            if method == OURS and others:
                leads = [
                    mean(fits, metric) - max(mean(case["methods"][other], metric) for other in others)
                    for metric in METRICS[:2]
                ]
                lead = " / ".join(f"**{one:+.4f}**" if one < 0 else f"{one:+.4f}" for one in leads)
            rows.append((shape, title(method), *(f"{mean(fits, metric):.4f}" for metric in METRICS), lead))
            shape = ""
    columns = ("data", "method", *METRICS, "default minus the best other: recall@10 / mrr")
    note = (
        f"Leave-one-out, seed {SPLIT_SEED}; model seed 0; all labels except the known ones of an image are ranked. "
        f"EASE and item kNN are tuned on labels of a third of the images of the training part, within {_BUDGET:g} "
        "CPU seconds. A negative difference is bold. The standard error of a recall of 0.5 is 0.5 divided by the "
        "square root of the number of test labels."
    )
    cases = [part["raw"] for part in raw["parts"].values()]
    left_out = dict.fromkeys(sentence for case in cases for sentence in case.get("left_out", {}).values())
    return Score(tables=[Table(columns, rows)], notes=[note, *(f"Left out: {sentence}" for sentence in left_out)])


MEASURES = ("baselines", "kernels", "label_weights", "presets", "train")
PARTS = Parts(lambda sizes: sizes.spots, measure_part, lambda _: MEASURES)
WEAK_SPOTS = Benchmark(
    "weak-spots",
    "The default is at least as accurate as EASE and kNN where data is scarce, or has an unusual shape.",
    Sizes(),
    Sizes(("one known label, of test images",), repetitions=1, methods=("EASE", "popularity")),
    measure,
    score,
    measures=MEASURES,
    timed=False,
    parts=PARTS,
)
