"""Labels that are likely missing: the best suggestions of all images together."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations
from vse_ens.model.calibration import Calibration, log_totals, shares_of
from vse_ens.model.embeddings import Floats
from vse_ens.model.model import Model
from vse_ens.model.topk import row_blocks


class Missing(NamedTuple):
    """Pairs that are not known, the likeliest first."""

    images: NDArray[np.int64]
    labels: NDArray[np.int64]
    confidences: Floats


class _Cells(NamedTuple):
    """Some pairs by image x labels + label."""

    numbers: NDArray[np.int64]
    scores: Floats
    confidences: Floats

    def joined(self, more: _Cells) -> _Cells:
        """Both."""
        return _Cells(
            np.concatenate([self.numbers, more.numbers]),
            np.concatenate([self.scores, more.scores]),
            np.concatenate([self.confidences, more.confidences]),
        )

    def best(self, count: int) -> _Cells:
        """The surest, of equally sure ones those with the higher scores."""
        order = np.lexsort((self.numbers, -self.scores, -self.confidences))[:count]
        return _Cells(self.numbers[order], self.scores[order], self.confidences[order])


def likely_missing(
    model: Model,
    known: Annotations,
    top: int,
    calibration: Calibration | None = None,
    progress: Callable[[int], None] | None = None,
) -> Missing:
    """The ``top`` likeliest labels that images are not known to have.

    The confidence is that of suggestions; without a calibration, the label's share of the image's softmax.
    """
    every = len(known.labels)
    found = _Cells(np.empty(0, np.int64), np.empty(0, np.float32), np.empty(0, np.float32))
    for block in row_blocks(len(known.images), every):
        here = _best_of(model, known, np.arange(block.start, block.stop), top, calibration)
        found = found.joined(here).best(top)
        if progress:
            progress(block.stop - block.start)
    return Missing(found.numbers // every, found.numbers % every, found.confidences)


def _best_of(
    model: Model, known: Annotations, images: NDArray[np.int64], top: int, calibration: Calibration | None
) -> _Cells:
    counts = known.labels_per_image[images]
    scores = model.scores(images, known)
    scores[np.repeat(np.arange(len(images)), counts), known.rows(images).indices] = -np.inf
    heat = calibration.temperature.of(counts) if calibration else np.ones(len(images), np.float32)
    totals = log_totals(scores, heat)
    shares = shares_of(scores, totals[:, None], heat[:, None]).ravel()
    # The confidence rises with the share; where it no longer does, all are candidates and their scores decide.
    edge = -np.partition(-shares, top - 1)[top - 1] if top < len(shares) else np.float32(0)
    if calibration:
        edge = min(edge, calibration.shares[-1])
    flat = scores.ravel()
    numbers = np.flatnonzero((shares >= edge) & (flat > -np.inf))
    rows = numbers // scores.shape[1]
    sure = shares[numbers]
    if calibration:
        sure = calibration.confidences(flat[numbers], totals[rows], counts[rows])
    return _Cells(numbers + images[0] * scores.shape[1], flat[numbers], sure).best(top)
