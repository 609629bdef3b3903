"""The order of the work: an epoch is cut into rounds, a round into slices or batches.

Cut by the data and the configuration, never by the machine: slices and batches are part of the model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vse_ens.config import Config
from vse_ens.data.annotations import Annotations
from vse_ens.kernels.arrays import cache_aligned
from vse_ens.kernels.random import shuffle
from vse_ens.streams import Streams

# A round shorter than this would spend more time on its refresh than on its draws; it concerns vocabularies below some
# 300 labels only, where the paper's |A| ln |A| is a few hundred draws.
_SHORTEST_ROUND = 2_048
# From so many labels on a round is long enough to be worth sharing out, and into so many slices. Each slice costs a
# copy of the label table and its part of the merge: at two about a tenth of a worker's time.
_SLICES = ((100_000, 8), (20_000, 4), (3_000, 2))
CHUNKS = 8
"""Pieces of a batch that may run side by side."""


@dataclass(frozen=True)
class Schedule:
    """How long rounds are and into how many pieces they are cut."""

    round_draws: int
    slices: int
    batch: int

    @classmethod
    def of(cls, config: Config, labels: int) -> Schedule:
        """The schedule of a model: from the number of labels where the configuration leaves it open."""
        slices = 1 if config.has_context or config.loss == "softmax" else config.slices or _slices(config, labels)
        # With slices a round is twice as long: half the merges, and with two of them each still draws |A| ln |A|.
        natural = config.refresh * labels * math.log(max(labels, 2)) * (1 if slices == 1 else 2)
        draws = max(int(natural), _SHORTEST_ROUND)
        # A batch much larger than the vocabulary adds many stale steps to the same rows, and diverges.
        batch = config.batch or min(1_024 if config.has_context else 4_096, max(32, 2 * labels))
        return cls(draws, slices, batch)


@dataclass(frozen=True)
class EpochPlan:
    """One epoch: images in a random order, and where its rounds begin."""

    images: NDArray[np.int64]
    draws_before: NDArray[np.int64]
    """How many pairs the images before each place have; one entry more than images."""
    round_starts: NDArray[np.int64]
    stream: Streams

    @classmethod
    def of(cls, data: Annotations, schedule: Schedule, stream: Streams) -> EpochPlan:
        """The plan of the epoch whose stream is given."""
        images = np.flatnonzero(data.labels_per_image)
        shuffle(images, np.array(stream.child("order").key()[:1], dtype=np.uint64))
        before = np.concatenate([[0], np.cumsum(data.labels_per_image[images])])
        return cls(images, before, _cut(before, 0, len(images), schedule.round_draws), stream)

    @property
    def rounds(self) -> int:
        """How many rounds the epoch has."""
        return len(self.round_starts) - 1

    def slices(self, number: int, count: int) -> list[NDArray[np.int64]]:
        """The images of each slice of a round: equal draws, as nearly as whole images allow."""
        first, last = self.round_starts[number], self.round_starts[number + 1]
        draws = self.draws_before[last] - self.draws_before[first]
        wanted = self.draws_before[first] + draws * np.arange(1, count) // count
        inner = np.clip(np.searchsorted(self.draws_before, wanted), first, last)
        edges = [first, *inner.tolist(), last]
        return [self.images[a:b] for a, b in pairwise(edges)]

    def batches(self, number: int, size: int) -> list[list[NDArray[np.int64]]]:
        """The images of each batch of a round, in a fixed number of chunks that may run side by side."""
        first, last = int(self.round_starts[number]), int(self.round_starts[number + 1])
        edges = _cut(self.draws_before, first, last, size)
        return [[chunk for chunk in np.array_split(self.images[a:b], CHUNKS) if len(chunk)] for a, b in pairwise(edges)]

    def states(self, number: int, count: int) -> NDArray[np.uint64]:
        """The random state each piece of a round starts from."""
        states = cache_aligned(count, 1, np.uint64)
        states[:, 0] = self.stream.child("round", number).words(count)
        return states


def _cut(before: NDArray[np.int64], first: int, last: int, size: int) -> NDArray[np.int64]:
    """Places that cut images ``first`` to ``last`` into runs of about ``size`` draws, the last one no stub."""
    draws = int(before[last] - before[first])
    pieces = max(1, round(draws / size))
    wanted = before[first] + draws * np.arange(pieces + 1) // pieces
    places = np.searchsorted(before, wanted)
    return np.unique(np.clip(places, first, last))


def _slices(config: Config, labels: int) -> int:
    # Every image trains the whole feature map, where the changes of slices agree most.
    if config.has_features:
        return 1
    return next((slices for least, slices in _SLICES if labels >= least), 1)
