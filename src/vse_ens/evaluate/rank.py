"""Rank all labels for every image with held-out labels, in blocks of scores, with bounded RAM, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError, DataError, NotFiniteError
from vse_ens.evaluate.metrics import per_image
from vse_ens.evaluate.rankings import Rankings, group_thresholds
from vse_ens.kernels.arrays import Csr
from vse_ens.kernels.ranks import IS_KNOWN, RankResults, rank_rows
from vse_ens.kernels.topk import KeyScratch
from vse_ens.run.threads import Workers

DEFAULT_MEMORY = 16_000_000
"""Bytes per block of scores. More is no faster: a block should fit the cache, and stay below the size that the C
library returns to the system after each use."""

# With very many labels, these rows of a block share one pass over the label vectors.
_MIN_ROWS = 32
# Rows per task of a worker.
_TASK_ROWS = 64


class Scorer(Protocol):
    """Scores all its labels for its images; higher is better.

    The scores of labels that an image is known to have do not matter: evaluation leaves them out. A label with the
    score -inf is ranked last and never suggested. NaN is an error.
    """

    @property
    def images(self) -> Vocabulary:
        """The images that it scores."""

    @property
    def labels(self) -> Vocabulary:
        """The labels that it scores."""

    @property
    def scores(self) -> Callable[[NDArray[np.int64]], NDArray[np.float32]]:
        """A function, usually a method, from image numbers to scores: one row per image, one column per label."""


@dataclass(frozen=True)
class FunctionScorer:
    """A `Scorer` made of a function of image numbers."""

    images: Vocabulary
    labels: Vocabulary
    scores: Callable[[NDArray[np.int64]], NDArray[np.float32]]


class RankBlock(NamedTuple):
    """Images, and the labels to find the rank of."""

    images: NDArray[np.int64]
    """Image numbers."""
    held_out: Csr
    """One row per image."""


Ranker = Callable[[Iterable[RankBlock]], Iterator[RankResults]]
"""Yields the results of each block, in order."""


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
    """Rank the held-out labels among all labels that their image is not known to have, by the scores of ``scorer``.

    ``known`` has the vocabularies of ``scorer``. The other arguments are as in `rank_held_out`. The number of
    ``workers`` does not change the result.
    """
    if known.images != scorer.images or known.labels != scorer.labels:
        raise ConfigError("the known pairs must have the image and label ids of the model that is evaluated")
    pairs = Csr(known.indptr, known.indices)
    with Workers(workers) as threads:

        def rank(blocks: Iterable[RankBlock]) -> Iterator[RankResults]:
            return (rank_block(scorer.scores, len(known.labels), pairs, block, top, threads) for block in blocks)

        return rank_held_out(rank, known, held_out, top=top, memory=memory, progress=progress)


def mean_metrics(
    scores: Callable[[NDArray[np.int64]], NDArray[np.float32]],
    known: Annotations,
    held_out: Annotations,
    workers: int | None = None,
) -> dict[str, float]:
    """Return the means over images of all metrics in `vse_ens.evaluate.metrics`, by name, without intervals."""
    rankings = evaluate(FunctionScorer(known.images, known.labels, scores), known, held_out, workers=workers)
    return {name: float(values.mean()) for name, values in per_image(rankings).items()}


def rank_held_out(
    rank: Ranker,
    known: Annotations,
    held_out: Annotations,
    *,
    top: int = 10,
    memory: int = DEFAULT_MEMORY,
    progress: Callable[[int], None] | None = None,
) -> Rankings:
    """Rank the held-out labels among all labels of ``known`` except those of the image, by any ranker.

    ``held_out`` may have other ids. Unknown ids count as misses and are never left out: an unknown label is not ranked,
    an unknown image has an empty ranking. The ``top`` best labels of each image are kept. ``memory`` limits the bytes
    of a block of scores and does not change the result. ``progress`` is called with the number of finished images.
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
    whole = RankBlock(images[ranked], Csr(_starts(counts[ranked]), label[ranked_pairs]))

    empty = np.empty_like(whole.held_out.indices)
    results = RankResults(empty, empty.copy(), _no_labels(ranked, top))
    ranges = _row_ranges(len(ranked), len(known.labels), memory)
    for (first, last), part in zip(ranges, rank(_slice(whole, *rows) for rows in ranges), strict=True):
        start, stop = whole.held_out.indptr[[first, last]]
        _check_ranked(held_out, ranked_pairs, start, part)
        results.above[start:stop], results.tied[start:stop], results.top[first:last] = part
        if progress:
            progress(int(ranked[last - 1]) + 1)

    above, tied = np.zeros((2, held_out.pairs), np.int32)
    above[ranked_pairs], tied[ranked_pairs] = results.above, results.tied
    best = _no_labels(chosen, top)
    best[ranked] = results.top
    candidates = np.full(len(chosen), -1, np.int32)
    candidates[ranked] = len(known.labels) - (known.indptr[whole.images + 1] - known.indptr[whole.images])

    names = known.labels
    if (names.translate(held_out.labels) < 0).any():
        names = names.joined(held_out.labels)
    own_names = names.translate(known.labels).astype(np.int32)
    seen = np.where(label >= 0, known.images_per_label[label], 0) if len(known.labels) else np.zeros_like(label)
    return Rankings(
        images=Vocabulary.trusted(held_out.images.arrow.take(chosen), held_out.images.kind),
        labels=names,
        ranked_labels=len(known.labels),
        candidates=candidates,
        top=np.where(best >= 0, own_names[best], best) if len(own_names) else best,
        indptr=_starts(counts),
        label=names.translate(held_out.labels).astype(np.int32)[held_out.indices],
        above=above,
        tied=tied,
        seen=seen.astype(np.int64),
        common=group_thresholds(known.images_per_label),
    )


def rank_block(
    scores: Callable[[NDArray[np.int64]], NDArray[np.float32]],
    labels: int,
    known: Csr,
    block: RankBlock,
    top: int,
    threads: Workers,
) -> RankResults:
    """Rank all ``labels`` except the ``known`` ones of each image, and keep the ``top`` best."""
    images, held_out = block
    results = RankResults(
        np.zeros(len(held_out.indices), np.int32),
        np.zeros(len(held_out.indices), np.int32),
        np.full((len(images), top), -1, np.int32),
    )
    table = np.ascontiguousarray(scores(images), np.float32)
    if table.shape != (len(images), labels):
        raise ConfigError(f"scores of {len(images)} images and {labels} labels have the wrong shape {table.shape}")
    rows = np.arange(len(images))

    def task(first: int) -> Callable[[int], None]:
        last = min(first + _TASK_ROWS, len(rows))
        return lambda _worker: rank_rows(
            table, rows, images, first, last, known, held_out, results, KeyScratch.allocate(labels)
        )

    threads.run([task(first) for first in range(0, len(rows), _TASK_ROWS)])
    return results


def _starts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts)])


def _no_labels(rows: NDArray[np.int64], top: int) -> NDArray[np.int32]:
    return np.full((len(rows), top), -1, np.int32)


def _row_ranges(rows: int, labels: int, memory: int) -> list[tuple[int, int]]:
    """Return first and end row of blocks of about equal size with at most ``memory`` bytes of scores each."""
    size = max(_MIN_ROWS, memory // (4 * max(labels, 1)))
    parts = np.array_split(np.arange(rows), -(-rows // size)) if rows else []
    return [(int(part[0]), int(part[-1]) + 1) for part in parts]


def _slice(block: RankBlock, first: int, last: int) -> RankBlock:
    indptr, labels = block.held_out
    start, stop = indptr[first], indptr[last]
    return RankBlock(block.images[first:last], Csr(indptr[first : last + 1] - start, labels[start:stop]))


def _check_ranked(held_out: Annotations, ranked: NDArray[np.bool_], before: int, results: RankResults) -> None:
    """Raise for scores that are not numbers, and for labels both known and held out.

    ``ranked`` marks the ranked pairs of ``held_out``; ``before`` of them belong to the previous blocks.
    """
    wrong = np.flatnonzero(results.above < 0)
    if not len(wrong):
        return
    pair = int(np.flatnonzero(ranked)[before + wrong[0]])
    image = held_out.images.id(int(np.searchsorted(held_out.indptr, pair, side="right") - 1))
    if results.above[wrong[0]] == IS_KNOWN:
        label = held_out.labels.id(int(held_out.indices[pair]))
        raise DataError(
            f"the label {label!r} of image {image!r} is both held out and known from training; "
            "evaluate on pairs that were not trained on"
        )
    raise NotFiniteError(
        f"the scores of image {image!r} are not all numbers: the model has diverged; "
        "train it again with a lower learning rate"
    )
