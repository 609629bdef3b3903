"""What the configuration leaves to the data, and the order of training.

An epoch is cut into rounds, a round into slices or batches. The cuts depend on the data and the configuration, never on
the machine: slices and batches are part of the model. docs/context.md says how the rules of `resolve_auto` were found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels.arrays import cache_lines
from vse_ens.kernels.random import shuffle
from vse_ens.streams import Streams

# A shorter round would spend more time on refreshing the rankings than on drawing. It concerns vocabularies below about
# 300 labels, where the paper's |A| ln |A| is a few hundred draws.
MIN_ROUND_DRAWS = 2_048
# With the context tower that limit is this many times higher: its accuracy was the same.
_CONTEXT_ROUND = 4
# (labels, slices): from this many labels a round is long enough to be split into slices. Each slice costs a copy of the
# label table and its part of the merge: with two, about a tenth of a worker's time.
_SLICES = ((100_000, 8), (20_000, 4), (3_000, 2))
CHUNKS = 8
"""Chunks of a batch that may run in parallel."""

# With more labels per image there are too many label pairs to learn.
_MAX_LABELS_PER_IMAGE = 12
_MAX_LABEL_PAIRS = 200_000
# Negatives are drawn from about this many top ranks, and from at most this share of a small vocabulary.
_RANK_DEPTH = 200
_MAX_RANK_SCALE = 0.55


def resolve_auto(config: Config, data: Annotations) -> Config:
    """Return the configuration with every setting left to the data filled in."""
    resolved: dict[str, float] = {}
    if config.rank_scale == 0.0:
        resolved["rank_scale"] = round(min(_MAX_RANK_SCALE, _RANK_DEPTH / max(len(data.labels), 1)), 4)
    if config.label_pairs < 0:
        few = config.has_context and data.pairs <= _MAX_LABELS_PER_IMAGE * len(data.images)
        resolved["label_pairs"] = _MAX_LABEL_PAIRS if few else 0
    return config.override(**resolved)


@dataclass(frozen=True)
class Schedule:
    """The length of rounds, and the number of slices or the batch size."""

    round_draws: int
    slices: int
    batch: int

    @classmethod
    def of(cls, config: Config, labels: int) -> Schedule:
        """Return the schedule of a model; what the configuration leaves open follows from the number of labels."""
        slices = 1 if config.has_context or config.loss == "softmax" else config.slices or _slices(config, labels)
        # With slices a round is twice as long: half as many merges, and with two slices each still draws |A| ln |A|.
        natural = config.refresh * labels * math.log(max(labels, 2)) * (1 if slices == 1 else 2)
        draws = max(int(natural), MIN_ROUND_DRAWS * (_CONTEXT_ROUND if config.has_context else 1))
        # A batch much larger than the vocabulary adds many stale gradients to the same rows, and diverges.
        # So does one of many images with features: all move the same map, in much the same direction.
        most = 64 if config.has_features else 1_024 if config.has_context else 4_096
        batch = config.batch or min(most, max(32, 2 * labels))
        return cls(draws, slices, batch)


@dataclass(frozen=True)
class EpochPlan:
    """One epoch: the images in random order, and where its rounds begin."""

    images: NDArray[np.int64]
    draws_before: NDArray[np.int64]
    """Number of pairs of all images before each position; one entry more than images."""
    round_starts: NDArray[np.int64]
    stream: Streams

    @classmethod
    def of(cls, data: Annotations, schedule: Schedule, stream: Streams) -> EpochPlan:
        """Plan the epoch of a random stream."""
        images = np.flatnonzero(data.labels_per_image)
        shuffle(images, np.array(stream.child("order").key()[:1], dtype=np.uint64))
        before = np.concatenate([[0], np.cumsum(data.labels_per_image[images])])
        return cls(images, before, _cut(before, 0, len(images), schedule.round_draws), stream)

    @property
    def rounds(self) -> int:
        """The number of rounds."""
        return len(self.round_starts) - 1

    def slices(self, number: int, count: int) -> list[NDArray[np.int64]]:
        """Return the images of each slice of a round: equal numbers of draws, as far as whole images allow."""
        first, last = self.round_starts[number], self.round_starts[number + 1]
        draws = self.draws_before[last] - self.draws_before[first]
        wanted = self.draws_before[first] + draws * np.arange(1, count) // count
        inner = np.clip(np.searchsorted(self.draws_before, wanted), first, last)
        edges = [first, *inner.tolist(), last]
        return [self.images[a:b] for a, b in pairwise(edges)]

    def batches(self, number: int, size: int) -> list[NDArray[np.int64]]:
        """Return where the chunks of each batch of a round begin, and at last where the batch ends.

        These are positions among the images of the epoch. No chunk is empty.
        """
        first, last = int(self.round_starts[number]), int(self.round_starts[number + 1])
        edges = _cut(self.draws_before, first, last, size)
        return [_near_equal(a, b, min(CHUNKS, b - a)) for a, b in pairwise(edges.tolist())]

    def random_states(self, number: int, count: int) -> NDArray[np.uint64]:
        """Return the random states that the slices or chunks of a round start from: the first number of each row."""
        states = cache_lines(count, np.uint64)
        states[:, 0] = self.stream.child("round", number).words(count)
        return states


def _cut(before: NDArray[np.int64], first: int, last: int, size: int) -> NDArray[np.int64]:
    """Return positions that cut images ``first`` to ``last`` into equal runs of about ``size`` draws."""
    draws = int(before[last] - before[first])
    pieces = max(1, round(draws / size))
    wanted = before[first] + draws * np.arange(pieces + 1) // pieces
    places = np.searchsorted(before, wanted)
    return np.unique(np.clip(places, first, last))


def _near_equal(first: int, last: int, pieces: int) -> NDArray[np.int64]:
    """Return the edges of near-equal ranges from ``first`` to ``last``."""
    edges: NDArray[np.int64] = first + (last - first) * np.arange(pieces + 1) // pieces
    return edges


def _slices(config: Config, labels: int) -> int:
    # Every image trains the whole feature map, on which the updates of slices agree most.
    if config.has_features:
        return 1
    return next((slices for least, slices in _SLICES if labels >= least), 1)
