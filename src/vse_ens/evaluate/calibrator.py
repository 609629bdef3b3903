"""Learn a `Calibration` from held-out labels, in blocks of score rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Split
from vse_ens.data.rows import Rows
from vse_ens.errors import DataError
from vse_ens.evaluate.calibration import Calibration, log_totals, shares_of
from vse_ens.evaluate.isotonic import isotonic
from vse_ens.evaluate.reliability import piles
from vse_ens.evaluate.standing import Numbers
from vse_ens.model.embeddings import Floats
from vse_ens.model.model import Model
from vse_ens.run.blas import one_thread

# The best suggestions of an image that are learnt from: what people see, and some more.
_TOP = 20
# Scores in a block: near the cache, and below what the C library returns to the system and asks for again. Products of
# fewer rows are slow.
_BLOCK_SCORES = 1_000_000
_FEWEST_ROWS = 32
# Scores of the sample from which the temperature is found; it has some images in any case.
_SAMPLE_SCORES = 4_000_000
_FEWEST_IMAGES = 64
_ZERO = np.zeros(1, np.float32)
# Between which temperatures the best is looked for, by their logarithm to base 2, and in how many halvings.
_COLDEST, _HOTTEST, _HALVINGS = -10.0, 10.0, 24


def calibrate(model: Model, split: Split, features: Any = None) -> Calibration:
    """How often the suggestions of a model are right, by labels held out of its training: one of each image at most.

    ``model`` has learnt from ``split.train``, and so has its memory. A block of scores at a time, so that memory stays
    bounded however many labels there are; the same on any number of cores.
    """
    known, held_out = split
    images = np.flatnonzero(held_out.labels_per_image)
    if len(images) < held_out.pairs or not len(images):
        raise DataError("confidence is learnt from one held-out label an image, of one image or more")
    targets = held_out.indices.astype(np.int64)

    def candidates(places: NDArray[np.int64]) -> Floats:
        scores = model.scores(images[places], known, features)
        return without(scores, Rows(*known.rows(images[places])))

    rows = max(_BLOCK_SCORES // len(known.labels), _FEWEST_ROWS)
    sampled = max(_SAMPLE_SCORES // len(known.labels), _FEWEST_IMAGES)
    with one_thread():
        sample = np.arange(0, len(images), -(-len(images) // sampled))
        calibrator = Calibrator(best_temperature(candidates(sample), targets[sample]))
        for first in range(0, len(images), rows):
            places = np.arange(first, min(first + rows, len(images)))
            calibrator.add(candidates(places), targets[places])
    return calibrator.finish()


def without(scores: Floats, known: Rows) -> Floats:
    """The scores, changed in place: -inf for the known labels of each row."""
    scores[np.repeat(np.arange(len(scores)), np.diff(known.indptr)), known.indices] = -np.inf
    return scores


def best_temperature(scores: Floats, targets: NDArray[np.int64]) -> float:
    """The temperature at which the held-out labels have the greatest likelihood under a softmax of the scores.

    The likelihood has a single peak: there, the mean score that the softmax expects is that of the held-out labels.
    """
    gaps = scores - scores.max(axis=1, keepdims=True)
    found = float(gaps[np.arange(len(gaps)), targets].mean(dtype=np.float64))
    finite = np.maximum(gaps, np.finfo(np.float32).min)

    def too_low(temperature: float) -> bool:
        chances = np.exp(gaps / np.float32(temperature))
        expected = np.einsum("ij,ij->i", chances, finite) / chances.sum(axis=1)
        return float(expected.mean(dtype=np.float64)) > found

    low, high = _COLDEST, _HOTTEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if too_low(math.exp2(middle)) else (low, middle)
    return math.exp2((low + high) / 2)


class Calibrator:
    """Gathers the best suggestions of held-out images: their shares, and which were right."""

    def __init__(self, temperature: float) -> None:
        # As it is saved: a loaded model must give the same confidences.
        self._temperature = float(np.float32(temperature))
        self._shares: list[Floats] = []
        self._hits: list[NDArray[np.bool_]] = []

    def add(self, scores: Floats, targets: NDArray[np.int64]) -> None:
        """Rows of scores, with -inf for known labels, and the held-out label of each row."""
        labels = np.argpartition(scores, -min(_TOP, scores.shape[1]), axis=1)[:, -_TOP:]
        found = np.take_along_axis(scores, labels, axis=1)
        real = found > -np.inf
        shares = shares_of(found, log_totals(scores, self._temperature)[:, None], self._temperature)
        self._shares.append(shares[real])
        self._hits.append((labels == targets[:, None])[real])

    def finish(self) -> Calibration:
        """The rising function of the share that fits what was gathered."""
        shares, hits = np.concatenate(self._shares), np.concatenate(self._hits)
        # Shares that are too small for a float are 0, and 0 is a knot already.
        some = shares > 0
        knots, values = _fitted(shares[some], hits[some])
        return Calibration(self._temperature, np.append(_ZERO, knots), np.append(_ZERO, values))


def _fitted(shares: Floats, hits: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Mean share and part of hits of piles of suggestions, which have about as many hits each as there are piles."""
    order = np.argsort(shares, kind="stable")
    ranked = shares[order]
    right = np.cumsum(hits[order])
    wanted = max(math.isqrt(int(right[-1])), 1)
    starts = piles(ranked, np.searchsorted(right, right[-1] * np.arange(1, wanted) / wanted, side="right"))
    counts = np.diff(starts, append=len(ranked))
    means: Numbers = np.add.reduceat(ranked, starts, dtype=np.float64) / counts
    # The softmax's own opinion has the weight of one suggestion: a pile without a hit is no proof of impossibility.
    rates = (np.add.reduceat(hits[order], starts, dtype=np.float64) + means) / (counts + 1)
    return means.astype(np.float32), isotonic(rates, counts.astype(np.float64)).astype(np.float32)
