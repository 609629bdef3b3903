"""Synthetic stand-ins with an exact shape, for data sets without a file.

The images come from `vse_ens.data.datasets.scenes`; labels are added and removed until every count matches. A stand-in
shows how methods scale with the shape. It says nothing about accuracy on the real data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.datasets.scenes import stream_scenes
from vse_ens.data.datasets.scenes.files import image_ids
from vse_ens.data.datasets.scenes.world import MIN_LABELS
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError
from vse_ens.streams import Streams

# An image that needs more labels than it was generated with takes them from up to this many other images of its scene.
_MAX_DONORS = 6

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Shape:
    """The size of a data set after one label per image with several labels is held out."""

    images: int
    labels: int
    train: int
    test: int
    """Held-out pairs, which is the number of images with two or more labels; the others have one."""

    def __post_init__(self) -> None:
        if min(self.images, self.labels, self.train, self.test) < 1:
            raise ConfigError(f"images, labels, train and test pairs must each be at least 1, got {self}")
        if self.test > self.images:
            raise ConfigError(f"test pairs must not exceed images, got {self.test:,} and {self.images:,}")
        if not self.images <= self.train <= self.images - self.test + self.test * (self.labels - 1):
            raise ConfigError(
                f"{self.images:,} images, {self.test:,} of them with two to {self.labels:,} labels and the others with "
                f"one, cannot have {self.train:,} training pairs"
            )
        if self.pairs < self.labels:
            raise ConfigError(f"{self.pairs:,} pairs are too few for each of {self.labels:,} labels to have one")

    @property
    def pairs(self) -> int:
        """Training and held-out pairs together."""
        return self.train + self.test

    def scaled(self, fraction: float) -> Shape:
        """Return the shape with a ``fraction`` of the images and pairs, and as many of the labels as pairs allow."""
        images = max(2, round(fraction * self.images))
        test = min(images, max(1, round(fraction * self.test)))
        train = max(images, round(fraction * self.train))
        return Shape(images, min(self.labels, train + test), train, test)


def stand_in(shape: Shape, seed: int = 0) -> Annotations:
    """Generate annotations of exactly this shape; the same shape and seed give the same data."""
    stream = Streams(seed).child("stand-in")
    generated = _generate(shape, seed)
    sizes = _sizes(shape, np.bincount(generated.image, minlength=shape.images), stream.child("sizes"))
    image, label = _choose(generated, sizes, shape.labels, stream.child("pairs"))
    label = _use_every_label(label, shape.labels, stream.child("labels"))
    words = generated.words[: shape.labels]
    vocabulary = Vocabulary.from_ids(words, "label")
    renumbered = vocabulary.numbers(words)
    images = Vocabulary(pa.array(image_ids(0, shape.images), pa.large_string()), "image")
    return Annotations.from_numbers(images, vocabulary, image, renumbered[label])


@dataclass(frozen=True)
class _Generated:
    """Generated pairs sorted by image, with labels numbered by descending frequency, and the scene of each image."""

    image: Numbers
    label: Numbers
    scene: NDArray[np.int32]
    words: tuple[str, ...]


def _generate(shape: Shape, seed: int) -> _Generated:
    chunks = list(stream_scenes(shape.images, max(shape.labels, MIN_LABELS), seed))
    image = np.concatenate([chunk.image for chunk in chunks])
    label = np.concatenate([chunk.label for chunk in chunks]).astype(np.int64)
    kept = label < shape.labels
    scene = np.concatenate([chunk.scene for chunk in chunks])[:, 0]
    return _Generated(image[kept], label[kept], scene, chunks[0].words)


def _sizes(shape: Shape, label_counts: Numbers, stream: Streams) -> Numbers:
    """Return the number of labels of each image: about proportional to the generated counts, with an exact sum."""
    # The images with the fewest labels keep one; ties are broken at random.
    order = np.lexsort((stream.words(shape.images), label_counts))
    several = order[shape.images - shape.test :]
    sizes = np.ones(shape.images, np.int64)
    extra = _apportion(shape.train - shape.images, np.maximum(label_counts[several] - 2, 0) + 0.5, shape.labels - 2)
    sizes[several] = 2 + extra
    return sizes


def _apportion(total: int, weights: NDArray[np.float64], limit: int) -> Numbers:
    """Distribute ``total`` by weight in whole numbers of at most ``limit``."""
    parts = np.zeros(len(weights), np.int64)
    while left := total - int(parts.sum()):
        free = np.flatnonzero(parts < limit)
        exact = left * weights[free] / weights[free].sum()
        rounded = exact.astype(np.int64)
        # The remainder goes to the parts that lost most by rounding down.
        short = np.argsort(rounded - exact, kind="stable")[: left - int(rounded.sum())]
        rounded[short] += 1
        parts[free] = np.minimum(parts[free] + rounded, limit)
    return parts


def _choose(generated: _Generated, sizes: Numbers, labels: int, stream: Streams) -> tuple[Numbers, Numbers]:
    """Choose ``sizes`` labels per image: its own first, then those of images of its scene, then the most frequent."""
    image, label = generated.image, generated.label
    key = [image * labels + label]
    priority = [np.zeros(len(image), np.int64)]
    counts = np.bincount(image, minlength=len(sizes))
    starts = np.concatenate([[0], np.cumsum(counts)])
    short = np.flatnonzero(counts < sizes)
    donor = np.arange(len(sizes))
    following = _next_of_scene(generated.scene)
    for number in range(1, _MAX_DONORS + 1 if len(short) else 1):
        donor = following[donor]
        donated = counts[donor[short]]
        position = np.repeat(starts[donor[short]], donated) + _positions(donated)
        key.append(np.repeat(short, donated) * labels + label[position])
        priority.append(np.full(len(position), number))
    kept = _first_per_image(np.concatenate(key), np.concatenate(priority), sizes, labels, stream)
    missing = np.flatnonzero(np.bincount(kept // labels, minlength=len(sizes)) < sizes)
    if len(missing):
        frequent = np.arange(labels)
        key = [kept, (missing[:, None] * labels + frequent).ravel()]
        priority = [np.zeros(len(kept), np.int64), np.tile(1 + frequent, len(missing))]
        kept = _first_per_image(np.concatenate(key), np.concatenate(priority), sizes, labels, stream.child("popular"))
    return kept // labels, kept % labels


def _first_per_image(key: Numbers, priority: Numbers, sizes: Numbers, labels: int, stream: Streams) -> Numbers:
    """Keep ``sizes`` distinct keys (image and label combined) per image, by priority and then at random."""
    order = np.lexsort((priority, key))
    key, priority = key[order], priority[order]
    distinct = np.diff(key, prepend=-1) != 0
    key, priority = key[distinct], priority[distinct]
    order = np.lexsort((stream.words(len(key)), priority, key // labels))
    key = key[order]
    counts = np.bincount(key // labels, minlength=len(sizes))
    kept: Numbers = key[_positions(counts) < np.repeat(sizes, counts)]
    return kept


def _positions(counts: Numbers) -> Numbers:
    """Return 0, 1, 2, ... count - 1 for each count, concatenated."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def _next_of_scene(scene: NDArray[np.int32]) -> Numbers:
    """Return the next image of the same scene for every image, cyclically."""
    order = np.argsort(scene, kind="stable")
    counts = np.bincount(scene)
    counts = counts[counts > 0]
    following = np.empty(len(scene), np.int64)
    following[order[:-1]] = order[1:]
    ends = np.cumsum(counts) - 1
    following[order[ends]] = order[ends - counts + 1]
    return following


def _use_every_label(label: Numbers, labels: int, stream: Streams) -> Numbers:
    """Give each unused label a pair of a label with several; no image can have an unused label already."""
    unused = np.flatnonzero(np.bincount(label, minlength=labels) == 0)
    # All pairs of a label except its first, in random order, may be reassigned.
    order = np.lexsort((stream.words(len(label)), label))
    spare = order[_positions(np.bincount(label, minlength=labels)) > 0]
    reassigned = spare[np.argsort(stream.child("taken").words(len(spare)), kind="stable")[: len(unused)]]
    label = label.copy()
    label[reassigned] = unused
    return label
