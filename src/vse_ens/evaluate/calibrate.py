"""Learn a `Calibration` from held-out labels, in blocks of score rows.

What a calibration is learnt from: the shares of the best suggestions of held-out images, and which were right.

It is gathered in tasks that any worker of a pool can do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Split
from vse_ens.errors import DataError
from vse_ens.evaluate.isotonic import isotonic
from vse_ens.evaluate.reliability import bin_starts
from vse_ens.evaluate.ties import Numbers
from vse_ens.kernels.arrays import Csr
from vse_ens.model.blas import one_thread
from vse_ens.model.calibration import Calibration, Counts, Temperature, log_totals, shares_of
from vse_ens.model.embeddings import Floats
from vse_ens.model.model import Model
from vse_ens.run.pool import LocalPool, Payload, Pool
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

    def block(first: int) -> Payload:
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
    starts = bin_starts(ranked, np.searchsorted(right, right[-1] * np.arange(1, wanted) / wanted, side="right"))
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


FACTORY = f"{__name__}.HeldOutScoreTask"

# The best suggestions of an image that are learnt from: what people see, and some more.
_TOP = 20


class Shares(NamedTuple):
    """Suggestions of some images, in a row."""

    shares: Floats
    hits: NDArray[np.bool_]


def best_shares(scores: Floats, counts: Counts, targets: NDArray[np.int64], temperature: Temperature) -> Shares:
    """Of rows of scores, with -inf for known labels, how many these are, and the held-out label of each row."""
    labels = np.argpartition(scores, -min(_TOP, scores.shape[1]), axis=1)[:, -_TOP:]
    temperatures = temperature.of(counts)
    found = np.take_along_axis(scores, labels, axis=1)
    best = later_shares(shares_of(found, log_totals(scores, temperatures)[:, None], temperatures[:, None]))
    # Known labels have none, and what is too small for a float tells nothing.
    some = best > 0
    return Shares(best[some], (labels == targets[:, None])[some])


def later_shares(shares: Floats) -> Floats:
    """The share that each of the best labels of a row may expect to have when the label that is held out is known.

    That is the mean of p_a / (1 - p_x) over all other labels x, by their chance to be the one held out. What the best
    leave over is shared by labels so small that 1 - p_x is 1.
    """
    exact = shares.astype(np.float64)
    odds = exact / np.maximum(1 - exact, np.finfo(np.float32).tiny)
    others = odds.sum(axis=1, keepdims=True) - odds + np.maximum(1 - exact.sum(axis=1, keepdims=True), 0)
    return np.asarray(np.clip(odds * others, shares, 1), np.float32)


def without(scores: Floats, known: Csr) -> Floats:
    """The scores, changed in place: -inf for the known labels of each row."""
    scores[np.repeat(np.arange(len(scores)), np.diff(known.indptr)), known.indices] = -np.inf
    return scores


def bench_settings(model: Model, temperature: Temperature) -> Payload:
    """What a bench is told: all that scores by vectors; those of the images come with the tasks."""
    nothing = np.empty((0, model.embeddings.dimensions), np.float32)
    scoring = replace(model.embeddings, image_vectors=nothing, feature_map=nothing, input_vectors=nothing)
    return {
        "arrays": replace(model, embeddings=scoring).arrays(),
        "memory_weight": model.label_weights_scale,
        "temperature": list(temperature),
    }


class HeldOutScoreTask:
    """Scores images by their vectors and known labels, and gathers what became of their best suggestions.

    A task is a list of blocks, each scored by one thread; how blocks are put together changes nothing.
    """

    def __init__(self, settings: Payload, workers: Workers) -> None:
        self._model = Model.from_arrays(settings["arrays"], settings["memory_weight"])
        self._temperature = Temperature(*settings["temperature"])
        self._workers = workers

    def __call__(self, task: Payload) -> Payload:
        """The shares of all blocks, and which were right."""
        with one_thread():
            found = self._workers.run([self._work(block) for block in task["blocks"]])
        return {
            "shares": np.concatenate([one.shares for one in found]),
            "hits": np.concatenate([one.hits for one in found]),
        }

    def _work(self, block: Payload) -> Callable[[int], Shares]:
        return lambda _worker: self._shares(**block)

    def _shares(
        self,
        vectors: Floats,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        targets: NDArray[np.int64],
    ) -> Shares:
        # Kernels are compiled for rows that may be written to; those of a cluster may not.
        known = Csr(np.require(indptr, requirements="W"), np.require(indices, requirements="W"))
        scores = without(self._model.scores_of(vectors, *known), known)
        return best_shares(scores, np.diff(known.indptr), targets, self._temperature)
