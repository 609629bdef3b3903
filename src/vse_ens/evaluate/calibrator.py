"""Learn a `Calibration` from held-out labels, in blocks of score rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Split
from vse_ens.errors import DataError
from vse_ens.evaluate.calibration import Calibration, Counts, Temperature
from vse_ens.evaluate.held_out_shares import FACTORY, bench_settings, without
from vse_ens.evaluate.isotonic import isotonic
from vse_ens.evaluate.reliability import piles
from vse_ens.evaluate.standing import Numbers
from vse_ens.model.blas import one_thread
from vse_ens.model.embeddings import Floats
from vse_ens.model.model import Model
from vse_ens.run.pool import LocalPool, Plain, Pool
from vse_ens.run.threads import Workers

# Scores in a block: near the cache, and below what the C library returns to the system and asks for again. Products of
# fewer rows are slow.
_BLOCK_SCORES = 1_000_000
_FEWEST_ROWS = 32
# Blocks of a task: enough for a worker of some threads, few enough that all workers get some.
_TASK_BLOCKS = 4
# Scores of the sample from which the temperature is found; it has some images in any case.
_SAMPLE_SCORES = 2_000_000
_FEWEST_IMAGES = 64
_ZERO = np.zeros(1, np.float32)
# Between which temperatures the best is looked for, by their logarithm to base 2, and in how many halvings.
_COLDEST, _HOTTEST, _HALVINGS = -10.0, 10.0, 14
# How the temperature may grow with the number of known labels; on real data 0.16 to 0.34 was best.
_EXPONENTS = (0.0, 0.125, 0.25, 0.375, 0.5)


def calibrate(model: Model, split: Split, features: Any = None, pool: Pool | None = None) -> Calibration:
    """How often the suggestions of a model are right, by labels held out of its training: one of each image at most.

    ``model`` has learnt from ``split.train``, and so has its memory. A block of scores at a time, so that memory stays
    bounded however many labels there are; the same on any number of cores, and by the workers of any ``pool``.
    """
    known, held_out = split
    images = np.flatnonzero(held_out.labels_per_image)
    if len(images) < held_out.pairs or not len(images):
        raise DataError("confidence is learnt from one held-out label an image, of one image or more")
    targets, counts = held_out.indices.astype(np.int64), known.labels_per_image[images]
    rows = max(_BLOCK_SCORES // len(known.labels), _FEWEST_ROWS)
    sampled = max(_SAMPLE_SCORES // len(known.labels), _FEWEST_IMAGES)

    def block(first: int) -> Plain:
        chosen = images[first : first + rows]
        vectors = model.embeddings.vectors(chosen, features, known)
        return {"vectors": vectors, **known.rows(chosen)._asdict(), "targets": targets[first : first + rows]}

    with one_thread():
        sample = np.arange(0, len(images), -(-len(images) // sampled))
        scores = without(model.scores(images[sample], known, features), known.rows(images[sample]))
        temperature = as_saved(best_temperature(scores, counts[sample], targets[sample]))
        blocks = [block(first) for first in range(0, len(images), rows)]
    tasks = [{"blocks": blocks[first : first + _TASK_BLOCKS]} for first in range(0, len(blocks), _TASK_BLOCKS)]
    found = list((pool or LocalPool(Workers(1))).map(FACTORY, bench_settings(model, temperature), tasks))
    shares, hits = (np.concatenate([one[name] for one in found]) for name in ("shares", "hits"))
    return fitted(temperature, shares, hits)


def best_temperature(scores: Floats, counts: Counts, targets: NDArray[np.int64]) -> Temperature:
    """The temperature at which the held-out labels have the greatest likelihood under a softmax of the scores."""
    rows = np.arange(len(scores))
    gaps = scores - scores.max(axis=1, keepdims=True)
    found: list[tuple[float, Temperature]] = []
    for exponent in _EXPONENTS:
        scaled = gaps / Temperature(1.0, exponent).of(counts)[:, None]
        base = _best_base(scaled, scaled[rows, targets])
        scaled /= np.float32(base)
        totals = np.log(np.exp(scaled).sum(axis=1))
        likelihood = float((scaled[rows, targets] - totals).mean(dtype=np.float64))
        found.append((likelihood, Temperature(base, exponent)))
    return max(found)[1]


def _best_base(gaps: Floats, target_gaps: Floats) -> float:
    """The likelihood has a single peak: where the gap that the softmax expects is that of the held-out labels."""
    wanted = float(target_gaps.mean(dtype=np.float64))
    finite = np.maximum(gaps, np.finfo(np.float32).min)
    low, high = _COLDEST, _HOTTEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        chances = np.exp(gaps / np.float32(math.exp2(middle)))
        expected = np.einsum("ij,ij->i", chances, finite) / chances.sum(axis=1)
        low, high = (middle, high) if float(expected.mean(dtype=np.float64)) > wanted else (low, middle)
    return math.exp2((low + high) / 2)


def as_saved(temperature: Temperature) -> Temperature:
    """As floats: a loaded model must give the same confidences."""
    return Temperature(*np.array(temperature, np.float32).tolist())


def fitted(temperature: Temperature, shares: Floats, hits: NDArray[np.bool_]) -> Calibration:
    """The rising function of the share that fits which suggestions were right."""
    knots, values = _fitted(shares, hits)
    return Calibration(temperature, np.append(_ZERO, knots), np.append(_ZERO, values))


def _fitted(shares: Floats, hits: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Mean share and confidence of piles of suggestions, which have about as many hits each as there are piles."""
    order = np.argsort(shares, kind="stable")
    ranked = shares[order]
    right = np.cumsum(hits[order])
    wanted = max(math.isqrt(int(right[-1])), 1)
    starts = piles(ranked, np.searchsorted(right, right[-1] * np.arange(1, wanted) / wanted, side="right"))
    counts = np.diff(starts, append=len(ranked)).astype(np.float64)
    means: Numbers = np.add.reduceat(ranked, starts, dtype=np.float64) / counts
    # The softmax's own opinion has the weight of one suggestion: a pile without a hit is no proof of impossibility.
    rates = (np.add.reduceat(hits[order], starts, dtype=np.float64) + means / (1 + means)) / (counts + 1)
    levels = isotonic(rates, counts)
    # Piles of one level become one knot in their middle: between the knots the confidence rises, as the share does.
    first = np.flatnonzero(np.diff(levels, prepend=-1.0) > 0)
    middles = np.add.reduceat(means * counts, first) / np.add.reduceat(counts, first)
    return _with_end(middles, confidence_of(levels[first]))


def _with_end(shares: Numbers, confidences: Numbers) -> tuple[Floats, Floats]:
    """The same and a share of 1: above the last knot the confidence grows as the share does, half the way to 1 at most.

    Else the surest suggestions of a data set would all be as sure.
    """
    share, last = shares[-1], confidences[-1]
    if share < 1:
        shares, confidences = np.append(shares, 1.0), np.append(confidences, min(last / share, (1 + last) / 2))
    return shares.astype(np.float32), np.maximum.accumulate(confidences).astype(np.float32)


def confidence_of(rates: Numbers) -> Numbers:
    """The chance that a suggestion is the label an image lacks, from the chance that it is the one held out as well.

    Where the data lack a label y of an image, from which x is held out here, x and y take each other's places, and only
    x counts as right. In use x is known: what is suggested then is y with the chance P(y = a | x != a) = f / (1 - f),
    since P(y = a) = P(x = a) = f. Two labels cannot both have a chance above one half: where f comes near it, some
    data lack nothing, and the truth is between f and 1. Half-way there is where the confidence stays.
    """
    return np.minimum(rates / np.maximum(1 - rates, np.finfo(np.float64).tiny), (1 + rates) / 2)
