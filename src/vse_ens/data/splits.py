"""Hold out pairs for testing. All choices are made by number, so the order of the input rows does not matter."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations, NewImagesSplit, Split
from vse_ens.errors import ConfigError, DataError
from vse_ens.streams import Streams

BLOCK_IMAGES = 1 << 18
"""Images processed at a time."""


class HeldOut(NamedTuple):
    """One held-out label for each of some images."""

    images: NDArray[np.int64]
    """Image numbers, ascending."""
    positions: NDArray[np.int64]
    """The index of each held-out pair among all pairs."""


def leave_one_out(
    data: Annotations, seed: int = 0, *, name: str = "leave-one-out", max_images: int | None = None
) -> Split:
    """Hold out one label, chosen uniformly, of every image that has two or more (the paper, section 4.1).

    With ``max_images``, of at most that many images, chosen at random. ``name`` is the name of the random stream.
    """
    chosen = one_label_each(data.indptr, seed, name, max_images)
    if not len(chosen.images):
        raise DataError("leave-one-out needs images with two or more labels, and no image has that many")
    held_out = np.zeros(data.pairs, dtype=bool)
    held_out[chosen.positions] = True
    return Split(data.with_pairs(~held_out), data.with_pairs(held_out))


def one_label_each(indptr: NDArray[np.int64], seed: int, name: str, max_images: int | None = None) -> HeldOut:
    """Return the pairs that `leave_one_out` holds out.

    ``indptr`` may be a memory map. It is read in blocks, and RAM grows with the chosen images only.
    """
    streams = Streams(seed).child("split", name)
    ranks, images, positions = np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64)
    eligible = 0
    for first in range(0, len(indptr) - 1, BLOCK_IMAGES):
        starts = indptr[first : first + BLOCK_IMAGES + 1]
        counts = np.diff(starts)
        rows = np.flatnonzero(counts >= 2)
        picks = streams.below(np.maximum(counts, 1), first)
        ranks = np.append(ranks, streams.child("images").words(len(rows), eligible))
        images, positions = np.append(images, first + rows), np.append(positions, (starts[:-1] + picks)[rows])
        eligible += len(rows)
        if max_images is not None and eligible > max_images:
            drawn = np.argpartition(ranks, max_images)[:max_images]
            ranks, images, positions = ranks[drawn], images[drawn], positions[drawn]
    order = np.argsort(images)
    return HeldOut(images[order], positions[order])


def random(data: Annotations, share: float = 0.2, seed: int = 0) -> Split:
    """Hold out a ``share`` of all pairs, rounded to whole pairs, regardless of their image."""
    _check_share("share", share)
    held_out = _choose(Streams(seed).child("split", "random"), data.pairs, share)
    _check_train("random", held_out, share)
    return Split(data.with_pairs(~held_out), data.with_pairs(held_out))


def new_images(data: Annotations, share: float = 0.1, reveal: float = 0.5, seed: int = 0) -> NewImagesSplit:
    """Hold out a ``share`` of the images that have two or more labels, and reveal a ``reveal`` part of their labels.

    Of n labels, ``round(reveal * n)`` are revealed, but at least one, and at least one stays hidden. All three parts
    have the same vocabulary of images; a held-out image has no pair in ``train``.
    """
    _check_share("share", share)
    _check_share("reveal", reveal)
    streams = Streams(seed).child("split", "new-images")
    counts = data.labels_per_image
    eligible = np.flatnonzero(counts >= 2)
    if not len(eligible):
        raise DataError("new-images needs images with two or more labels, and no image has that many")
    chosen = np.zeros(len(data.images), dtype=bool)
    chosen[eligible] = _choose(streams.child("images"), len(eligible), share)

    pair_image = data.image_numbers()
    held_out = chosen[pair_image]
    _check_train("new-images", held_out, share)
    revealed_count = np.clip(np.rint(reveal * counts).astype(np.int64), 1, np.maximum(counts - 1, 1))
    # Shuffle the labels of every image: the first `revealed_count` of them are revealed.
    order = np.lexsort((streams.child("labels").words(data.pairs), pair_image))
    rank = np.empty(data.pairs, dtype=np.int64)
    rank[order] = np.arange(data.pairs) - np.repeat(data.indptr[:-1], counts)
    revealed = rank < revealed_count[pair_image]
    return NewImagesSplit(
        data.with_pairs(~held_out), data.with_pairs(held_out & revealed), data.with_pairs(held_out & ~revealed)
    )


def _choose(stream: Streams, count: int, share: float) -> NDArray[np.bool_]:
    """Return a random subset of round(share * count) of ``count`` items, at least one, as a mask."""
    chosen = np.zeros(count, dtype=bool)
    size = min(max(1, round(share * count)), count)
    chosen[np.argsort(stream.words(count), kind="stable")[:size]] = True
    return chosen


def _check_share(name: str, share: float) -> None:
    if not 0.0 < share < 1.0:
        raise ConfigError(f"{name} must lie between 0 and 1, got {share}")


def _check_train(protocol: str, held_out: NDArray[np.bool_], share: float) -> None:
    if held_out.all():
        raise DataError(
            f"{protocol} with a share of {share} of {len(held_out)} pairs leaves none to learn from; lower the share"
        )
