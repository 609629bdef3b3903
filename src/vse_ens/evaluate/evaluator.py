"""Rank all labels for every image with held-out ones: blocks of scores, bounded memory, all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.data.vocabulary import Vocabulary
from vse_ens.errors import ConfigError, DataError
from vse_ens.evaluate.popularity import boundaries
from vse_ens.evaluate.rankings import Rankings
from vse_ens.evaluate.scorer import Scorer
from vse_ens.kernels.ranking import IS_KNOWN, Found, Pairs, rank_rows
from vse_ens.run.threads import Workers

DEFAULT_MEMORY = 16_000_000
"""Bytes of a block of scores. More is no faster: a block should stay near the cache, and below what the C library
returns to the system and asks for again."""

# A product of a few rows takes another path through BLAS and rounds in another way: a block has so many, if there are.
_FEWEST_ROWS = 16
# Rows a worker takes at a time.
_PIECE = 64


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
    """Where the held-out labels stand among all labels their image is not known to have.

    ``known`` has the vocabularies of ``scorer``; ``held_out`` may have others. What the model does not know counts as a
    miss, and is never left out: a held-out label it has never seen is not ranked, an image it has never seen gets an
    empty ranking. ``top`` leading labels are kept of every image. ``memory`` bounds the bytes of a block of scores;
    neither it nor the number of ``workers`` changes the result. ``progress`` is told how many images are done.
    """
    if top < 1:
        raise ConfigError(f"top must be at least 1, got {top}")
    if known.images != scorer.images or known.labels != scorer.labels:
        raise ConfigError("the known pairs must have the image and label ids of the model that is evaluated")
    chosen = np.flatnonzero(held_out.labels_per_image)
    if not len(chosen):
        raise DataError("there is no held-out pair to evaluate on")
    images = scorer.images.translate(held_out.images)[chosen]
    asked = Pairs(
        np.concatenate([[0], np.cumsum(held_out.labels_per_image[chosen])]),
        scorer.labels.translate(held_out.labels).astype(np.int32)[held_out.indices],
    )
    found = Found(
        np.zeros(held_out.pairs, np.int32),
        np.zeros(held_out.pairs, np.int32),
        np.full((len(chosen), top), -1, np.int32),
    )
    candidates = np.full(len(chosen), -1, np.int32)
    ranked = np.flatnonzero(images >= 0)
    candidates[ranked] = len(scorer.labels) - known.labels_per_image[images[ranked]]

    with Workers(workers) as team:
        for rows in _blocks(ranked, len(scorer.labels), memory):
            _rank(scorer, images[rows], rows, Pairs(known.indptr, known.indices), asked, found, team)
            _refuse(held_out, chosen, rows, asked, found)
            if progress:
                progress(int(rows[-1]) + 1)

    names = _together(scorer.labels, held_out.labels)
    leading = names.translate(scorer.labels).astype(np.int32)
    label = asked.labels
    seen = np.where(label >= 0, known.images_per_label[label], 0) if len(known.labels) else np.zeros_like(label)
    return Rankings(
        images=Vocabulary.trusted(held_out.images.arrow.take(chosen), held_out.images.kind),
        labels=names,
        ranked_labels=len(scorer.labels),
        candidates=candidates,
        top=np.where(found.top >= 0, leading[found.top], found.top) if len(leading) else found.top,
        indptr=asked.indptr,
        label=names.translate(held_out.labels).astype(np.int32)[held_out.indices],
        above=found.above,
        tied=found.tied,
        seen=seen.astype(np.int64),
        common=boundaries(known.images_per_label),
    )


def _rank(
    scorer: Scorer,
    images: NDArray[np.int64],
    rows: NDArray[np.int64],
    known: Pairs,
    asked: Pairs,
    found: Found,
    team: Workers,
) -> None:
    scores = np.ascontiguousarray(scorer.scores(images), np.float32)
    if scores.shape != (len(images), len(scorer.labels)):
        raise ConfigError(
            f"scores of {len(images)} images and {len(scorer.labels)} labels have the wrong shape {scores.shape}"
        )

    def piece(first: int) -> Callable[[int], None]:
        last = min(first + _PIECE, len(rows))
        return lambda _worker: rank_rows(scores, rows, images, first, last, known, asked, found)

    team.run([piece(first) for first in range(0, len(rows), _PIECE)])


def _refuse(
    held_out: Annotations, chosen: NDArray[np.int64], rows: NDArray[np.int64], asked: Pairs, found: Found
) -> None:
    """Scores that are not numbers, and labels both known and held out, have no rank."""
    first = asked.indptr[rows[0]]
    wrong = np.flatnonzero(found.above[first : asked.indptr[rows[-1] + 1]] < 0)
    if not len(wrong):
        return
    pair = int(first + wrong[0])
    image = held_out.images.id(int(chosen[np.searchsorted(asked.indptr, pair, side="right") - 1]))
    if found.above[pair] == IS_KNOWN:
        label = held_out.labels.id(int(held_out.indices[pair]))
        raise DataError(
            f"the label {label!r} of image {image!r} is both held out and known from training; "
            "evaluate on pairs that were not trained on"
        )
    raise DataError(
        f"the scores of image {image!r} are not all numbers: the model has diverged; "
        "train it again with a lower learning rate"
    )


def _blocks(rows: NDArray[np.int64], labels: int, memory: int) -> Iterator[NDArray[np.int64]]:
    """Rows in blocks of about the same size, whose scores fit into ``memory``."""
    size = max(2 * _FEWEST_ROWS, memory // (4 * max(labels, 1)))
    if len(rows):
        yield from np.array_split(rows, -(-len(rows) // size))


def _together(labels: Vocabulary, more: Vocabulary) -> Vocabulary:
    if (labels.translate(more) >= 0).all():
        return labels
    return labels.joined(more)
