"""Labels that are likely missing: the best suggestions over all images."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.model.calibration import KIND_SHIFT, LABELS, Calibration, Counts, log_totals, softmax_shares
from vse_ens.model.embeddings import Floats
from vse_ens.model.loaded import LoadedModel
from vse_ens.model.topk import row_blocks


class Missing(NamedTuple):
    """Pairs that are not known, most likely first."""

    images: NDArray[np.int64]
    labels: NDArray[np.int64]
    confidences: Floats


class _Candidates(NamedTuple):
    """Pairs by number: image number x labels + label number."""

    numbers: NDArray[np.int64]
    scores: Floats
    confidences: Floats

    def joined(self, more: _Candidates) -> _Candidates:
        return _Candidates(
            np.concatenate([self.numbers, more.numbers]),
            np.concatenate([self.scores, more.scores]),
            np.concatenate([self.confidences, more.confidences]),
        )

    def best(self, count: int) -> _Candidates:
        """Return those with the highest confidence; ties are broken by score."""
        order = np.lexsort((self.numbers, -self.scores, -self.confidences))[:count]
        return _Candidates(self.numbers[order], self.scores[order], self.confidences[order])


def likely_missing(loaded: LoadedModel, top: int, progress: Callable[[int], None] | None = None) -> Missing:
    """Return the ``top`` most likely labels that images are not known to have.

    The confidence is computed as for suggestions: the probability that the label is right. Without a calibration it is
    the softmax share of the label.
    """
    every = len(loaded.known.labels)
    best = _Candidates(np.empty(0, np.int64), np.empty(0, np.float32), np.empty(0, np.float32))
    for block in row_blocks(len(loaded.known.images), every):
        more = _best_of(loaded, np.arange(block.start, block.stop), top)
        best = best.joined(more).best(top)
        if progress:
            progress(block.stop - block.start)
    return Missing(best.numbers // every, best.numbers % every, best.confidences)


def _best_of(loaded: LoadedModel, images: NDArray[np.int64], top: int) -> _Candidates:
    known, calibration = loaded.known, loaded.calibration
    counts = loaded.evidence(images)
    scores = loaded.model.scores(images, known)
    scores[np.repeat(np.arange(len(images)), known.labels_per_image[images]), known.rows(images).indices] = -np.inf
    temperatures = loaded.temperature(counts)
    totals = log_totals(scores, temperatures)
    shares = softmax_shares(scores, totals[:, None], temperatures[:, None]).ravel()
    flat = scores.ravel()
    if calibration and (counts >> KIND_SHIFT).any():  # shares of different kinds of images do not compare
        labels = np.arange(scores.shape[1])
        every = calibration.probabilities_of_shares(shares.reshape(scores.shape), counts[:, None])
        sure = calibration.confidences(every, counts[:, None], labels).ravel()
        shares, threshold = sure, _top_value(sure, top)
    else:
        threshold = _top_value(shares, top)
        if calibration:
            threshold = _lowest_share(calibration, counts, scores.shape[1], threshold)
    numbers = np.flatnonzero((shares >= threshold) & (flat > -np.inf))
    rows = numbers // scores.shape[1]
    confidences = shares[numbers]
    if calibration:
        probabilities = calibration.held_out_probabilities(flat[numbers], totals[rows], counts[rows])
        confidences = calibration.confidences(probabilities, counts[rows], numbers % scores.shape[1])
    return _Candidates(numbers + images[0] * scores.shape[1], flat[numbers], confidences).best(top)


def _top_value(values: Floats, top: int) -> float:
    return float(-np.partition(-values, top - 1)[top - 1]) if top < len(values) else 0.0


def _lowest_share(calibration: Calibration, counts: Counts, labels: int, share: float) -> float:
    """Return a share below which no label is as sure as each of those at or above ``share``.

    A confidence grows with the share up to the last knot, and with factors of the image and of the label. Beyond the
    last knot all are candidates, and their scores decide.
    """
    factors = calibration.expected_counts(np.ones(1, np.float32), np.unique(counts)[:, None], np.arange(labels))
    ratio = float(factors.min() / factors.max()) if factors.size and factors.max() > 0 else 0.0
    _, shares, values = calibration.curves[LABELS]
    lowest = float(np.interp(share, shares, values)) * ratio
    # A little lower, for rounding; the last knot before that probability is reached.
    knot = int(np.searchsorted(values, lowest * (1 - 1e-5))) - 1
    return min(share, float(shares[max(knot, 0)]))
