"""Generated data of an exact shape, for a data set that is not at hand.

The pictures are those of `vse_ens.data.datasets.scenes`, made fuller or thinner until every count is the one asked for. What a
stand-in shows is how methods scale with the shape; it says nothing about accuracy on the data it stands for.
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

# An image that needs more labels than it was drawn with takes them from so many others of its scene, one after another.
_MOST_LENDERS = 6

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Shape:
    """How large a data set is once one label of each image that has several is held out."""

    images: int
    labels: int
    train: int
    test: int
    """Held-out pairs: as many images have two labels or more, and the others have one."""

    def __post_init__(self) -> None:
        if min(self.images, self.labels, self.train, self.test) < 1:
            raise ConfigError(f"images, labels, train and test pairs must each be at least 1, got {self}")
        if self.test > self.images:
            raise ConfigError(f"one label of an image is held out: {self.test:,} of {self.images:,} images is too many")
        if not self.images <= self.train <= self.images - self.test + self.test * (self.labels - 1):
            raise ConfigError(
                f"{self.images:,} images, {self.test:,} of them with two to {self.labels:,} labels and the others with "
                f"one, cannot have {self.train:,} pairs left to train on"
            )
        if self.pairs < self.labels:
            raise ConfigError(f"{self.pairs:,} pairs are too few for each of {self.labels:,} labels to have one")

    @property
    def pairs(self) -> int:
        """All pairs."""
        return self.train + self.test

    def smaller(self, share: float) -> Shape:
        """A ``share`` of the images and pairs with the same labels, as far as there are pairs for them."""
        images = max(2, round(share * self.images))
        test = min(images, max(1, round(share * self.test)))
        train = max(images, round(share * self.train))
        return Shape(images, min(self.labels, train + test), train, test)


def stand_in(shape: Shape, seed: int = 0) -> Annotations:
    """Generated annotations of exactly this shape; the same for the same shape and seed."""
    stream = Streams(seed).child("stand-in")
    drawn = _draw(shape, seed)
    sizes = _sizes(shape, np.bincount(drawn.image, minlength=shape.images), stream.child("sizes"))
    image, label = _choose(drawn, sizes, shape.labels, stream.child("pairs"))
    label = _use_every_label(label, shape.labels, stream.child("labels"))
    words = drawn.words[: shape.labels]
    vocabulary = Vocabulary.from_ids(words, "label")
    renumbered = vocabulary.numbers(words)
    images = Vocabulary(pa.array(image_ids(0, shape.images), pa.large_string()), "image")
    return Annotations.from_numbers(images, vocabulary, image, renumbered[label])


@dataclass(frozen=True)
class _Drawn:
    """Scenes as they come: pairs sorted by image, labels numbered from the most popular, and each image's scene."""

    image: Numbers
    label: Numbers
    scene: NDArray[np.int32]
    words: tuple[str, ...]


def _draw(shape: Shape, seed: int) -> _Drawn:
    chunks = list(stream_scenes(shape.images, max(shape.labels, MIN_LABELS), seed))
    image = np.concatenate([chunk.image for chunk in chunks])
    label = np.concatenate([chunk.label for chunk in chunks]).astype(np.int64)
    kept = label < shape.labels
    scene = np.concatenate([chunk.scene for chunk in chunks])[:, 0]
    return _Drawn(image[kept], label[kept], scene, chunks[0].words)


def _sizes(shape: Shape, drawn: Numbers, stream: Streams) -> Numbers:
    """How many labels each image is to have: in proportion to what was drawn, and exact in sum."""
    # The images with the fewest labels are those that keep one; who of equals is a matter of chance.
    order = np.lexsort((stream.words(shape.images), drawn))
    several = order[shape.images - shape.test :]
    sizes = np.ones(shape.images, np.int64)
    more = _apportion(shape.train - shape.images, np.maximum(drawn[several] - 2, 0) + 0.5, shape.labels - 2)
    sizes[several] = 2 + more
    return sizes


def _apportion(total: int, weights: NDArray[np.float64], most: int) -> Numbers:
    """``total`` shared out by weight in whole numbers, none above ``most``."""
    shares = np.zeros(len(weights), np.int64)
    while left := total - int(shares.sum()):
        free = np.flatnonzero(shares < most)
        wanted = left * weights[free] / weights[free].sum()
        given = wanted.astype(np.int64)
        # What rounding down left over goes to those that lost most by it.
        short = np.argsort(given - wanted, kind="stable")[: left - int(given.sum())]
        given[short] += 1
        shares[free] = np.minimum(shares[free] + given, most)
    return shares


def _choose(drawn: _Drawn, sizes: Numbers, labels: int, stream: Streams) -> tuple[Numbers, Numbers]:
    """As many labels of each image as wanted: its own first, then of others of its scene, then the most popular."""
    image, label = drawn.image, drawn.label
    key = [image * labels + label]
    turn = [np.zeros(len(image), np.int64)]
    counts = np.bincount(image, minlength=len(sizes))
    starts = np.concatenate([[0], np.cumsum(counts)])
    short = np.flatnonzero(counts < sizes)
    lender = np.arange(len(sizes))
    following = _next_of_scene(drawn.scene)
    for number in range(1, _MOST_LENDERS + 1 if len(short) else 1):
        lender = following[lender]
        lent = counts[lender[short]]
        place = np.repeat(starts[lender[short]], lent) + _running(lent)
        key.append(np.repeat(short, lent) * labels + label[place])
        turn.append(np.full(len(place), number))
    kept = _first_of_each(np.concatenate(key), np.concatenate(turn), sizes, labels, stream)
    missing = np.flatnonzero(np.bincount(kept // labels, minlength=len(sizes)) < sizes)
    if len(missing):
        popular = np.arange(labels)
        key = [kept, (missing[:, None] * labels + popular).ravel()]
        turn = [np.zeros(len(kept), np.int64), np.tile(1 + popular, len(missing))]
        kept = _first_of_each(np.concatenate(key), np.concatenate(turn), sizes, labels, stream.child("popular"))
    return kept // labels, kept % labels


def _first_of_each(key: Numbers, turn: Numbers, sizes: Numbers, labels: int, stream: Streams) -> Numbers:
    """Of the distinct keys (image and label in one) of each image the first as many as wanted, by turn, then chance."""
    order = np.lexsort((turn, key))
    key, turn = key[order], turn[order]
    distinct = np.diff(key, prepend=-1) != 0
    key, turn = key[distinct], turn[distinct]
    order = np.lexsort((stream.words(len(key)), turn, key // labels))
    key = key[order]
    counts = np.bincount(key // labels, minlength=len(sizes))
    kept: Numbers = key[_running(counts) < np.repeat(sizes, counts)]
    return kept


def _running(counts: Numbers) -> Numbers:
    """0, 1, 2, ... up to each count in turn."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def _next_of_scene(scene: NDArray[np.int32]) -> Numbers:
    """For every image the next one of the same scene, and the first one again for the last."""
    order = np.argsort(scene, kind="stable")
    of_scene = np.bincount(scene)
    of_scene = of_scene[of_scene > 0]
    following = np.empty(len(scene), np.int64)
    following[order[:-1]] = order[1:]
    ends = np.cumsum(of_scene) - 1
    following[order[ends]] = order[ends - of_scene + 1]
    return following


def _use_every_label(label: Numbers, labels: int, stream: Streams) -> Numbers:
    """Labels without a pair take one over from labels with several: no image can have them already."""
    unused = np.flatnonzero(np.bincount(label, minlength=labels) == 0)
    # All pairs of a label in a random order but its first one may be taken over.
    order = np.lexsort((stream.words(len(label)), label))
    spare = order[_running(np.bincount(label, minlength=labels)) > 0]
    taken = spare[np.argsort(stream.child("taken").words(len(spare)), kind="stable")[: len(unused)]]
    label = label.copy()
    label[taken] = unused
    return label
