"""Images behind a label: held-out pairs of a label, ranked among all images that are not known to have it.

A part of this benchmark is one method on one data set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.core.benchmark import Benchmark, Check, Parts, Raw, Score, Table
from benchmarks.core.data_sets import real
from benchmarks.core.parts import measure_parts
from benchmarks.core.process import call
from benchmarks.peers.race import ONE_THREAD
from benchmarks.rivals.base import OURS, Rival
from benchmarks.rivals.dual_ease import suited
from benchmarks.rivals.figures import part_name, split_name, title
from benchmarks.rivals.run import RIVALS, tuning_split
from vse_ens.annotator import Annotator
from vse_ens.data.annotations import Annotations, Split
from vse_ens.streams import Streams

Numbers = NDArray[np.int64]
Columns = Callable[[int], NDArray[np.floating]]
"""Returns what all images are ranked by for a label, given by its number: larger is better."""

FOUND = 50
_LEAST = 5
_BLOCK = 2_048
_ERRORS = 1.96


@dataclass(frozen=True)
class Sizes:
    """Sizes of a run; ``labels`` is the most labels of a data set."""

    real: tuple[str, ...] = (
        "corel5k",
        "iaprtc12",
        "lastfm2k",
        "openimages_v1val_sample",
        "mirflickr25k",
        "nuswide81",
        "eurlex4k",
    )
    # Popularity is the same for all images.
    methods: tuple[str, ...] = tuple(name for name in RIVALS if name != "popularity")
    labels: int = 100
    budget: float = 60.0
    """CPU seconds of tuning per method and data set."""
    epochs: int | None = None
    """Of the default."""


def chosen_labels(test: Annotations, most: int) -> Numbers:
    """Return the numbers of some labels that have enough held-out pairs, drawn by a stream of this benchmark."""
    labels = np.flatnonzero(test.images_per_label >= _LEAST)
    words = Streams(0).child("search", "labels").words(len(test.labels))[labels]
    return np.sort(labels[np.argsort(words)][:most])


def parts(sizes: Sizes) -> list[str]:
    """Return the names of all parts, by data set."""
    return [part_name(method, data_set) for data_set in sizes.real for method in sizes.methods]


def measure_part(sizes: Sizes, part: str) -> Raw:
    """Measure one part in a process of its own; ``skipped`` is a sentence if it could not be measured."""
    method, data_set = split_name(part)
    reason = RIVALS[method].missing() or "".join(real((data_set,))[1])
    if reason:
        return {"skipped": reason}
    found: Raw = call(run, data_set, method, sizes.labels, sizes.budget, sizes.epochs, **ONE_THREAD)
    return found


def run(data_set: str, method: str, labels: int, budget: float, epochs: int | None) -> Raw:
    """Rank the images of one data set by one method."""
    return rank_images(real((data_set,))[0][data_set], method, labels, budget, epochs)


def rank_images(data: Annotations, method: str, most: int, budget: float, epochs: int | None = None) -> Raw:
    """Fit a method to the training part and return its figures of each chosen label."""
    split = data.leave_one_out(seed=0)
    rival = suited(RIVALS[method], split.train)
    if reason := rival.unfit(len(data.images), len(data.labels)):
        return {"skipped": reason}
    labels = chosen_labels(split.test, most)
    columns = model_columns(split.train, epochs) if method == OURS else rival_columns(rival, split, labels, budget)
    figures = [image_metrics(columns(label), split, label) for label in labels.tolist()]
    return {
        "images": len(data.images),
        "labels": len(labels),
        "pairs": int(split.test.images_per_label[labels].sum()),
        **{name: [one[name] for one in figures] for name in ("average_precision", "chance", "found")},
    }


def model_columns(train: Annotations, epochs: int | None) -> Columns:
    """Return the ranking of `Annotator.search` for single labels."""
    settings: dict[str, Any] = {} if epochs is None else {"epochs": epochs}
    model = Annotator("context", seed=0, **settings).fit(train, progress=False)

    def column(label: int) -> NDArray[np.float64]:
        found = model.search([train.labels.id(label)], top=len(train.images))
        values = np.full(len(train.images), -np.inf)
        # The order of the list, not its confidences, which may be equal.
        values[train.images.numbers([one.image for one in found])] = -np.arange(len(found))
        return values

    return column


def rival_columns(rival: Rival, split: Split, labels: Numbers, budget: float) -> Columns:
    """Return the scores of a rival for some labels; it is tuned to rank the labels of images, as everywhere."""
    train = split.train
    tuned = rival.tune(tuning_split(train), budget)
    ((_, fitted),) = rival.train(rival.load(train), tuned.settings, [tuned.epochs], seed=0)
    scores = np.concatenate([fitted(images)[:, labels] for images in _blocks(len(train.images))])
    place = {label: number for number, label in enumerate(labels.tolist())}
    return lambda label: scores[:, place[label]]


def _blocks(images: int) -> Iterator[Numbers]:
    return (np.arange(start, min(start + _BLOCK, images)) for start in range(0, images, _BLOCK))


def image_metrics(values: NDArray[np.floating], split: Split, label: int) -> dict[str, float]:
    """Return the average precision of the held-out images of a label, that of chance, and the share found first.

    The images that are known to have the label are left out; equal values are in an order drawn for the label.
    """
    candidates = np.setdiff1d(np.arange(len(values)), split.train.images_with(label))
    candidates = candidates[np.argsort(Streams(0).child("search", "ties", label).words(len(candidates)))]
    order = candidates[np.argsort(-values[candidates], kind="stable")]
    right = np.isin(order, split.test.images_with(label))
    ranks = np.flatnonzero(right) + 1
    hits = np.arange(1, len(ranks) + 1)
    return {
        "average_precision": float((hits / ranks).mean()),
        "chance": chance(len(ranks), len(order)),
        "found": float((ranks <= FOUND).mean()),
    }


def chance(right: int, images: int) -> float:
    """Return the expected average precision of a random order."""
    # By the i-th of n images, given that it is right, (right - 1) / (n - 1) of the i - 1 before it are right as well.
    mean_inverse = float((1.0 / np.arange(1, images + 1)).mean())
    before = (right - 1) / max(images - 1, 1)
    return mean_inverse + before * (1.0 - mean_inverse)


def measure(sizes: Sizes) -> Raw:
    """Measure all parts without storing them."""
    return measure_parts(PARTS, sizes).raw


def _corrected(raw: Raw) -> NDArray[np.float64]:
    """Return the average precision of each label between that of chance, 0, and a perfect order, 1."""
    precision, random = np.array(raw["average_precision"]), np.array(raw["chance"])
    return np.asarray((precision - random) / (1.0 - random))


def score(raw: Raw) -> Score:
    """Return the means over labels, and whether the default is ahead of every other method."""
    found: dict[str, dict[str, Raw]] = {}
    for part, stored in raw["parts"].items():
        if "found" in stored["raw"]:
            method, data_set = split_name(part)
            found.setdefault(data_set, {})[method] = stored["raw"]
    checks, rows = [], []
    for data_set, methods in found.items():
        others = [method for method in methods if method != OURS]
        if OURS in methods and others:
            for name in ("average_precision", "found"):
                ahead = np.mean(methods[OURS][name]) - max(np.mean(methods[other][name]) for other in others)
                shown = f"{data_set}: {name.replace('_', ' ')}, default minus the best other"
                checks.append(Check(shown, float(ahead), "at least", 0.0, digits=3))
        facts = next(iter(methods.values()))
        size = f"{data_set} ({facts['images']:,} images; {facts['labels']:,} labels, {facts['pairs']:,} pairs)"
        for method, one in sorted(methods.items(), key=lambda item: -np.mean(item[1]["average_precision"])):
            rows.append((size, title(method), *_cells(one, methods.get(OURS) if method != OURS else None)))
    note = (
        f"Leave-one-out, seed 0; up to 100 labels with at least {_LEAST} held-out pairs. For each, all images that are "
        "not known to have it are ranked: by `search` of the default, whose seed is 0, by the scores of the others. "
        "They are tuned to rank the labels of images, as in `rivals`, on the training part. Means over labels: average "
        f"precision; the share of the held-out images that are among the first {FOUND}; and the average "
        "precision between that of a random order, 0, and that of a perfect one, 1, with an interval of 95 % over "
        "labels; the same of the difference to the default, label by label. Held-out pairs are the only ones that "
        "count as right: labels that the data lacks count as wrong."
    )
    columns = ("data", "method", "average precision", f"first {FOUND}", "chance-corrected", "default minus it")
    return Score(checks, [Table(columns, rows)], [note])


def _cells(one: Raw, ours: Raw | None) -> tuple[str, ...]:
    lead = "-" if ours is None else _interval(_corrected(ours) - _corrected(one), "+")
    means = (f"{np.mean(one[name]):.3f}" for name in ("average_precision", "found"))
    return (*means, _interval(_corrected(one)), lead)


def _interval(values: NDArray[np.float64], sign: str = "") -> str:
    error = _ERRORS * values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{values.mean():{sign}.3f} ± {error:.3f}"


def _measures(part: str) -> tuple[str, ...]:
    return MODEL if split_name(part)[0] == OURS else tuple(RIVALS[split_name(part)[0]].measures)


MODEL = ("curate", "evaluate", "kernels", "label_weights", "model", "presets", "train")
PARTS = Parts(parts, measure_part, _measures)
SEARCH = Benchmark(
    "search",
    "`search` finds the images behind a label better than the scores of the best baselines.",
    Sizes(),
    Sizes(("corel5k",), (OURS, "EASE", "image kNN"), labels=10, budget=1.0, epochs=2),
    measure,
    score,
    measures=("baselines", *MODEL),
    timed=False,
    parts=PARTS,
)
