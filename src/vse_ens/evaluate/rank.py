"""Who ranks labels for blocks of images: this process, by any scorer. Others have a `Ranker` of their own.

Rank all labels for every image with held-out ones: blocks of scores, bounded memory, all cores.

The metrics of scores in one call, without intervals: what training looks at after every epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError, DataError
from vse_ens.evaluate.metrics import per_image
from vse_ens.evaluate.rankings import Rankings, group_thresholds
from vse_ens.evaluate.scorer import FunctionScorer, Scorer
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.ranks import IS_KNOWN, RankResults, rank_rows
from vse_ens.run.threads import Workers

# Rows a worker takes at a time.
_PIECE = 64


class Block(NamedTuple):
    """Some images, and the labels whose place in the ranking of each is asked for."""

    images: NDArray[np.int64]
    """By number."""
    held_out: Csr
    """A row for each of them."""


Ranker = Callable[[Iterable[Block]], Iterator[RankResults]]
"""What it finds for each block, in order; `Found` has the rows of the block."""


def rank_block(
    scores: Callable[[NDArray[np.int64]], NDArray[np.float32]],
    labels: int,
    known: Csr,
    block: Block,
    top: int,
    team: Workers,
) -> RankResults:
    """Rank all ``labels`` but the ``known`` ones of every image, and keep the ``top`` best."""
    images, held_out = block
    found = RankResults(
        np.zeros(len(held_out.indices), np.int32),
        np.zeros(len(held_out.indices), np.int32),
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


DEFAULT_MEMORY = 16_000_000
"""Bytes of a block of scores. More is no faster: a block should stay near the cache, and below what the C library
returns to the system and asks for again."""

# A product of a few rows takes another path through BLAS and rounds in another way: a block has so many, if there are.
_FEWEST_ROWS = 16


def evaluate(
    scorer: Scorer,
    known: Annotations,
    held_out: Annotations,
    *,
    top: int = 10,
    memory: int = DEFAULT_MEMORY,
    workers: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Rankings:
    """Where the held-out labels stand among all labels their image is not known to have, by a scorer.

    ``known`` has the vocabularies of ``scorer``; the other arguments are those of `ranked_by`. The number of
    ``workers`` does not change the result.
    """
    if known.images != scorer.images or known.labels != scorer.labels:
        raise ConfigError("the known pairs must have the image and label ids of the model that is evaluated")
    pairs = Csr(known.indptr, known.indices)
    with Workers(workers) as team:

        def rank(blocks: Iterable[Block]) -> Iterator[RankResults]:
            return (rank_block(scorer.scores, len(known.labels), pairs, block, top, team) for block in blocks)

        return rank_held_out(rank, known, held_out, top=top, memory=memory, progress=progress)


def rank_held_out(
    rank: Ranker,
    known: Annotations,
    held_out: Annotations,
    *,
    top: int = 10,
    memory: int = DEFAULT_MEMORY,
    progress: Callable[[int], None] | None = None,
) -> Rankings:
    """The same by whoever ranks: blocks of the images of ``known``, by all its labels but those an image has.

    ``held_out`` may have ids of its own. What the model does not know counts as a miss, and is never left out: a
    held-out label it has never seen is not ranked, an image it has never seen gets an empty ranking. ``top`` leading
    labels are kept of every image. ``memory`` bounds the bytes of a block of scores and does not change the result.
    ``progress`` is told how many images are done.
    """
    if top < 1:
        raise ConfigError(f"top must be at least 1, got {top}")
    chosen = np.flatnonzero(held_out.labels_per_image)
    if not len(chosen):
        raise DataError("there is no held-out pair to evaluate on")
    counts = held_out.labels_per_image[chosen]
    images = known.images.translate(held_out.images)[chosen]
    label = known.labels.translate(held_out.labels).astype(np.int32)[held_out.indices]
    ranked = np.flatnonzero(images >= 0)
    ranked_pairs = np.repeat(images >= 0, counts)
    asked = Block(images[ranked], Csr(_starts(counts[ranked]), label[ranked_pairs]))

    found = RankResults(
        np.empty_like(asked.held_out.indices), np.empty_like(asked.held_out.indices), _no_labels(ranked, top)
    )
    cuts = _cuts(len(ranked), len(known.labels), memory)
    for (first, last), part in zip(cuts, rank(_part(asked, *cut) for cut in cuts), strict=True):
        start, stop = asked.held_out.indptr[[first, last]]
        _refuse(held_out, ranked_pairs, start, part)
        found.above[start:stop], found.tied[start:stop], found.top[first:last] = part
        if progress:
            progress(int(ranked[last - 1]) + 1)

    above, tied = np.zeros((2, held_out.pairs), np.int32)
    above[ranked_pairs], tied[ranked_pairs] = found.above, found.tied
    leading = _no_labels(chosen, top)
    leading[ranked] = found.top
    candidates = np.full(len(chosen), -1, np.int32)
    candidates[ranked] = len(known.labels) - (known.indptr[asked.images + 1] - known.indptr[asked.images])

    names = _together(known.labels, held_out.labels)
    own_names = names.translate(known.labels).astype(np.int32)
    seen = np.where(label >= 0, known.images_per_label[label], 0) if len(known.labels) else np.zeros_like(label)
    return Rankings(
        images=Vocabulary.trusted(held_out.images.arrow.take(chosen), held_out.images.kind),
        labels=names,
        ranked_labels=len(known.labels),
        candidates=candidates,
        top=np.where(leading >= 0, own_names[leading], leading) if len(own_names) else leading,
        indptr=_starts(counts),
        label=names.translate(held_out.labels).astype(np.int32)[held_out.indices],
        above=above,
        tied=tied,
        seen=seen.astype(np.int64),
        common=group_thresholds(known.images_per_label),
    )


def _starts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts)])


def _no_labels(rows: NDArray[np.int64], top: int) -> NDArray[np.int32]:
    return np.full((len(rows), top), -1, np.int32)


def _cuts(rows: int, labels: int, memory: int) -> list[tuple[int, int]]:
    """First and last row, that one not included, of blocks of about the same size whose scores fit into ``memory``."""
    size = max(2 * _FEWEST_ROWS, memory // (4 * max(labels, 1)))
    parts = np.array_split(np.arange(rows), -(-rows // size)) if rows else []
    return [(int(part[0]), int(part[-1]) + 1) for part in parts]


def _part(asked: Block, first: int, last: int) -> Block:
    indptr, labels = asked.held_out
    start, stop = indptr[first], indptr[last]
    return Block(asked.images[first:last], Csr(indptr[first : last + 1] - start, labels[start:stop]))


def _refuse(held_out: Annotations, ranked: NDArray[np.bool_], before: int, found: RankResults) -> None:
    """Scores that are not numbers, and labels both known and held out, have no rank.

    ``ranked`` tells which of the held-out pairs are, and ``before`` how many of these are in the blocks before.
    """
    wrong = np.flatnonzero(found.above < 0)
    if not len(wrong):
        return
    pair = int(np.flatnonzero(ranked)[before + wrong[0]])
    image = held_out.images.id(int(np.searchsorted(held_out.indptr, pair, side="right") - 1))
    if found.above[wrong[0]] == IS_KNOWN:
        label = held_out.labels.id(int(held_out.indices[pair]))
        raise DataError(
            f"the label {label!r} of image {image!r} is both held out and known from training; "
            "evaluate on pairs that were not trained on"
        )
    raise DataError(
        f"the scores of image {image!r} are not all numbers: the model has diverged; "
        "train it again with a lower learning rate"
    )


def _together(labels: Vocabulary, more: Vocabulary) -> Vocabulary:
    if (labels.translate(more) >= 0).all():
        return labels
    return labels.joined(more)


def mean_metrics(
    scores: Callable[[NDArray[np.int64]], NDArray[np.float32]],
    known: Annotations,
    held_out: Annotations,
    workers: int | None = None,
) -> dict[str, float]:
    """Means over images of every metric in `vse_ens.evaluate.metrics`, by name."""
    rankings = evaluate(FunctionScorer(known.images, known.labels, scores), known, held_out, workers=workers)
    return {name: float(values.mean()) for name, values in per_image(rankings).items()}
