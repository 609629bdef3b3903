"""Who ranks labels for blocks of images: this process, by any scorer. Others have a `Ranker` of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.errors import ConfigError
from vse_ens.kernels.ranking import Found, Pairs, rank_rows
from vse_ens.run.threads import Workers

# Rows a worker takes at a time.
_PIECE = 64


class Block(NamedTuple):
    """Some images, and the labels whose place in the ranking of each is asked for."""

    images: NDArray[np.int64]
    """By number."""
    held_out: Pairs
    """A row for each of them."""


Ranker = Callable[[Iterable[Block]], Iterator[Found]]
"""What it finds for each block, in order; `Found` has the rows of the block."""


def rank_block(
    scores: Callable[[NDArray[np.int64]], NDArray[np.float32]],
    labels: int,
    known: Pairs,
    block: Block,
    top: int,
    team: Workers,
) -> Found:
    """Rank all ``labels`` but the ``known`` ones of every image, and keep the ``top`` best."""
    images, held_out = block
    found = Found(
        np.zeros(len(held_out.labels), np.int32),
        np.zeros(len(held_out.labels), np.int32),
        np.full((len(images), top), -1, np.int32),
    )
    table = np.ascontiguousarray(scores(images), np.float32)
    if table.shape != (len(images), labels):
        raise ConfigError(f"scores of {len(images)} images and {labels} labels have the wrong shape {table.shape}")
    rows = np.arange(len(images))

    def piece(first: int) -> Callable[[int], None]:
        last = min(first + _PIECE, len(rows))
        return lambda _worker: rank_rows(table, rows, images, first, last, known, held_out, found)

    team.run([piece(first) for first in range(0, len(rows), _PIECE)])
    return found
