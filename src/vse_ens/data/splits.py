"""What is held out. Every choice is made by number, and numbers follow the sorted ids: row order cannot matter."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations, NewImagesSplit, Split
from vse_ens.errors import ConfigError, DataError
from vse_ens.streams import Streams

# Images that are looked at at a time.
_BLOCK = 1 << 18


class HeldOut(NamedTuple):
    """One label of each of some images."""

    images: NDArray[np.int64]
    """Rising."""
    places: NDArray[np.int64]
    """Of the labels among all pairs."""


def leave_one_out(
    data: Annotations, seed: int = 0, *, name: str = "leave-one-out", most_images: int | None = None
) -> Split:
    """Hold out one label, chosen uniformly, of every image that has two or more (the paper, section 4.1).

    With ``most_images``, of so many images at most, chosen at random; ``name`` names the random stream.
    """
    chosen = one_label_each(data.indptr, seed, name, most_images)
    if not len(chosen.images):
        raise DataError("leave-one-out needs images with two or more labels, and no image has that many")
    held = np.zeros(data.pairs, dtype=bool)
    held[chosen.places] = True
    return Split(data.with_pairs(~held), data.with_pairs(held))


def one_label_each(indptr: NDArray[np.int64], seed: int, name: str, most_images: int | None = None) -> HeldOut:
    """Which labels `leave_one_out` holds out, by where the labels of every image begin.

    These may be a memory map: they are looked at in blocks, and what is kept follows the images that are chosen.
    """
    streams = Streams(seed).child("split", name)
    lots, images, places = np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64)
    several = 0
    for first in range(0, len(indptr) - 1, _BLOCK):
        starts = indptr[first : first + _BLOCK + 1]
        counts = np.diff(starts)
        own = np.flatnonzero(counts >= 2)
        picks = streams.below(np.maximum(counts, 1), first)
        lots = np.append(lots, streams.child("images").words(len(own), several))
        images, places = np.append(images, first + own), np.append(places, (starts[:-1] + picks)[own])
        several += len(own)
        if most_images is not None and several > most_images:
            drawn = np.argpartition(lots, most_images)[:most_images]
            lots, images, places = lots[drawn], images[drawn], places[drawn]
    order = np.argsort(images)
    return HeldOut(images[order], places[order])


def random(data: Annotations, share: float = 0.2, seed: int = 0) -> Split:
    """Hold out ``share`` of all pairs, rounded to whole pairs, whichever image they belong to."""
    _check_share("share", share)
    held = _choose(Streams(seed).child("split", "random"), data.pairs, share)
    _check_rest("random", held, share)
    return Split(data.with_pairs(~held), data.with_pairs(held))


def new_images(data: Annotations, share: float = 0.1, reveal: float = 0.5, seed: int = 0) -> NewImagesSplit:
    """Hold out ``share`` of the images that have two or more labels, and reveal a ``reveal`` part of their labels.

    Of n labels, ``round(reveal * n)`` are revealed, but at least one, and at least one stays hidden. The vocabulary of
    images is the same in all three parts; a held-out image has no pair in ``train``.
    """
    _check_share("share", share)
    _check_share("reveal", reveal)
    streams = Streams(seed).child("split", "new-images")
    counts = data.labels_per_image
    several = np.flatnonzero(counts >= 2)
    if not len(several):
        raise DataError("new-images needs images with two or more labels, and no image has that many")
    chosen = np.zeros(len(data.images), dtype=bool)
    chosen[several] = _choose(streams.child("images"), len(several), share)

    pair_image = data.image_numbers()
    outside = chosen[pair_image]
    _check_rest("new-images", outside, share)
    revealed_count = np.clip(np.rint(reveal * counts).astype(np.int64), 1, np.maximum(counts - 1, 1))
    # Shuffle the labels inside every image: the first `revealed_count` of them are revealed.
    order = np.lexsort((streams.child("labels").words(data.pairs), pair_image))
    place = np.empty(data.pairs, dtype=np.int64)
    place[order] = np.arange(data.pairs) - np.repeat(data.indptr[:-1], counts)
    shown = place < revealed_count[pair_image]
    return NewImagesSplit(
        data.with_pairs(~outside), data.with_pairs(outside & shown), data.with_pairs(outside & ~shown)
    )


def _choose(stream: Streams, count: int, share: float) -> NDArray[np.bool_]:
    """A random subset of round(share * count) places, at least one."""
    chosen = np.zeros(count, dtype=bool)
    wanted = min(max(1, round(share * count)), count)
    chosen[np.argsort(stream.words(count), kind="stable")[:wanted]] = True
    return chosen


def _check_share(name: str, share: float) -> None:
    if not 0.0 < share < 1.0:
        raise ConfigError(f"{name} must lie between 0 and 1, got {share}")


def _check_rest(protocol: str, held: NDArray[np.bool_], share: float) -> None:
    if held.all():
        raise DataError(
            f"{protocol} with a share of {share} of {len(held)} pairs leaves none to learn from; ask for less"
        )
