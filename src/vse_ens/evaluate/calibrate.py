"""Learn a `Calibration` from held-out labels.

A calibration turns scores into probabilities in two steps. A softmax with a fitted temperature turns the scores of an
image into shares of 1. An isotonic regression then maps the share of a suggestion to the rate at which such suggestions
were right for held-out labels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vse_ens.data.annotations import Annotations, Split
from vse_ens.errors import DataError
from vse_ens.evaluate.metrics import Numbers
from vse_ens.evaluate.reliability import bin_starts
from vse_ens.kernels.arrays import Csr
from vse_ens.model.calibration import LABELS, Calibration, Counts, Curve, Temperature, log_totals, softmax_shares
from vse_ens.model.embeddings import Floats
from vse_ens.model.model import Model

# Scores per block: fits the cache, and stays below the size that the C library returns to the system after each use.
# Matrix products of fewer rows are slow.
_BLOCK_SCORES = 1_000_000
_MIN_ROWS = 32
# Scores in the sample from which the temperature is fitted, and its minimum number of images.
_SAMPLE_SCORES = 2_000_000
_MIN_IMAGES = 64
# Suggestions per image that the calibration learns from: more than users usually see.
_TOP = 20
# The same where no label is known: of equal shares, later ones are right less often.
_COLD_TOP = 5
# Search range of the temperature, as logarithm to base 2, and the number of bisections.
_LOWEST, _HIGHEST, _BISECTIONS = -10.0, 10.0, 14
# Exponents of the growth of the temperature with the number of known labels; 0.16 to 0.34 was best on real data.
_EXPONENTS = (0.0, 0.125, 0.25, 0.375, 0.5)
# With features, which count less the more labels are known, it may shrink instead.
_ANY_EXPONENTS = (-1.0, -0.75, -0.5, -0.25, *_EXPONENTS)
_ZERO = np.zeros(1, np.float32)


def calibrate(model: Model, split: Split, features: Any = None) -> Calibration:
    """Learn how often the suggestions of a model are right, from at most one held-out label per image.

    ``model`` and its label weights were trained on ``split.train``. Scores are computed block by block, which bounds
    RAM for any number of labels.
    """
    known, held_out = split
    images = np.flatnonzero(held_out.labels_per_image)
    if len(images) < held_out.pairs or not len(images):
        raise DataError("calibration needs one held-out label per image, for at least one image")
    targets, counts = held_out.indices.astype(np.int64), known.labels_per_image[images]
    rows = max(_BLOCK_SCORES // len(known.labels), _MIN_ROWS)
    sample_size = max(_SAMPLE_SCORES // len(known.labels), _MIN_IMAGES)

    def scores(chosen: NDArray[np.int64]) -> Floats:
        return mask_known(model.scores(chosen, known, features), known.rows(chosen))

    sample = np.arange(0, len(images), -(-len(images) // sample_size))
    temperature = _as_float32(fit_temperature(scores(images[sample]), counts[sample], targets[sample]))
    blocks = [slice(first, first + rows) for first in range(0, len(images), rows)]
    outcomes = [top_outcomes(scores(images[one]), counts[one], targets[one], temperature) for one in blocks]
    shares, hits = map(np.concatenate, zip(*outcomes, strict=True))
    return Calibration({LABELS: fit_curve(temperature, shares, hits)})


def fit_temperature(
    scores: Floats, counts: Counts, targets: NDArray[np.int64], exponents: tuple[float, ...] = _EXPONENTS
) -> Temperature:
    """Return the temperature that maximizes the likelihood of the held-out labels under a softmax of the scores."""
    rows = np.arange(len(scores))
    gaps = scores - scores.max(axis=1, keepdims=True)
    candidates: list[tuple[float, Temperature]] = []
    for exponent in exponents:
        scaled = gaps / Temperature(1.0, exponent).of(counts)[:, None]
        base = _fit_base(scaled, scaled[rows, targets])
        scaled /= np.float32(base)
        totals = np.log(np.exp(scaled).sum(axis=1))
        likelihood = float((scaled[rows, targets] - totals).mean(dtype=np.float64))
        candidates.append((likelihood, Temperature(base, exponent)))
    return max(candidates)[1]


def _fit_base(gaps: Floats, target_gaps: Floats) -> float:
    """Bisect for the single maximum of the likelihood: there the expected gap equals that of the held-out labels."""
    target = float(target_gaps.mean(dtype=np.float64))
    finite = np.maximum(gaps, np.finfo(np.float32).min)
    low, high = _LOWEST, _HIGHEST
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        weights = np.exp(gaps / np.float32(math.exp2(middle)))
        expected = np.einsum("ij,ij->i", weights, finite) / weights.sum(axis=1)
        low, high = (middle, high) if float(expected.mean(dtype=np.float64)) > target else (low, middle)
    return math.exp2((low + high) / 2)


def _as_float32(temperature: Temperature) -> Temperature:
    """Round as the model file does, so that a loaded model gives the same confidences."""
    return Temperature(*np.array(temperature, np.float32).tolist())


def fit_curve(temperature: Temperature, shares: Floats, hits: NDArray[np.bool_], *, is_one: bool = True) -> Curve:
    """Fit probability as an increasing function of the share; ``hits`` says which suggestions were right.

    With ``is_one`` exactly one label was held out of each image, see `confidence_from_rate`; else all of them.
    """
    # Imported here: SciPy's optimizers take longer to load than the rest of the package.
    from scipy.optimize import isotonic_regression

    means, rates, counts = bin_rates(shares, hits)
    levels = isotonic_regression(rates, weights=counts).x
    # Bins of one level become one knot in their middle, so that confidence increases between knots as the share does.
    first = np.flatnonzero(np.diff(levels, prepend=-1.0) > 0)
    middles = np.add.reduceat(means * counts, first) / np.add.reduceat(counts, first)
    knots, values = _extend_to_one(middles, confidence_from_rate(levels[first]) if is_one else levels[first])
    return Curve(temperature, np.append(_ZERO, knots), np.append(_ZERO, values))


def bin_rates(shares: Floats, hits: NDArray[np.bool_]) -> tuple[Numbers, Numbers, Numbers]:
    """Return mean share, rate of hits and size per bin of suggestions; there are about as many bins as hits per bin."""
    order = np.argsort(shares, kind="stable")
    ordered = shares[order]
    cumulated = np.cumsum(hits[order])
    bins = max(math.isqrt(int(cumulated[-1])), 1)
    starts = bin_starts(ordered, np.searchsorted(cumulated, cumulated[-1] * np.arange(1, bins) / bins, side="right"))
    counts = np.diff(starts, append=len(ordered)).astype(np.float64)
    means: Numbers = np.add.reduceat(ordered, starts, dtype=np.float64) / counts
    # The softmax probability is a prior with the weight of one suggestion: no bin without a hit gets confidence 0.
    rates: Numbers = (np.add.reduceat(hits[order], starts, dtype=np.float64) + means / (1 + means)) / (counts + 1)
    return means, rates, counts


def _extend_to_one(shares: Numbers, confidences: Numbers) -> tuple[Floats, Floats]:
    """Add a knot at share 1; its confidence grows in proportion to the share, at most half-way to 1.

    Without it, all suggestions above the last knot would have the same confidence.
    """
    share, last = shares[-1], confidences[-1]
    if share < 1:
        shares, confidences = np.append(shares, 1.0), np.append(confidences, min(last / share, (1 + last) / 2))
    return shares.astype(np.float32), np.maximum.accumulate(confidences).astype(np.float32)


def confidence_from_rate(rates: Numbers) -> Numbers:
    """Return the probability that a suggestion is the missing label, from the rate of hits on held-out labels.

    Let the data lack a label y of an image from which x is held out here. Either may be suggested, and only x counts as
    a hit. In use x is known, and y is suggested with probability P(y = a | x != a) = f / (1 - f), since
    P(y = a) = P(x = a) = f. Two labels cannot both have a probability above one half: for f near one half some images
    lack nothing, and the probability lies between f and 1. It is capped half-way between them.
    """
    return np.minimum(rates / np.maximum(1 - rates, np.finfo(np.float64).tiny), (1 + rates) / 2)


def top_outcomes(
    scores: Floats, counts: Counts, targets: NDArray[np.int64], temperature: Temperature
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the shares of the best suggestions of all rows, and which of them are right.

    ``scores`` are -inf for known labels, ``counts`` are the numbers of known labels, ``targets`` the held-out labels.
    """
    labels = np.argpartition(scores, -min(_TOP, scores.shape[1]), axis=1)[:, -_TOP:]
    temperatures = temperature.of(counts)
    best = np.take_along_axis(scores, labels, axis=1)
    shares = expected_shares(softmax_shares(best, log_totals(scores, temperatures)[:, None], temperatures[:, None]))
    # Known labels have a share of 0; so have labels with a share too small for a float, which carry no information.
    positive = shares > 0
    return shares[positive], (labels == targets[:, None])[positive]


def expected_shares(shares: Floats) -> Floats:
    """Return the expected share of each of the best labels of a row once the held-out label is known.

    This is the mean of p_a / (1 - p_x) over all other labels x, weighted by their probability to be the held-out one.
    The labels outside of the best ones are so unlikely that 1 - p_x is taken as 1.
    """
    exact = shares.astype(np.float64)
    odds = exact / np.maximum(1 - exact, np.finfo(np.float32).tiny)
    others = odds.sum(axis=1, keepdims=True) - odds + np.maximum(1 - exact.sum(axis=1, keepdims=True), 0)
    return np.asarray(np.clip(odds * others, shares, 1), np.float32)


def mask_known(scores: Floats, known: Csr) -> Floats:
    """Set the scores of the known labels of each row to -inf, in place."""
    scores[np.repeat(np.arange(len(scores)), np.diff(known.indptr)), known.indices] = -np.inf
    return scores


def cold_temperature(scores: Floats, truth: Annotations) -> float:
    """Return the softmax temperature that fits the labels of images best, given scores that knew none of them."""
    row, counts = truth.image_numbers(), truth.labels_per_image
    gaps = scores - scores.max(axis=1, keepdims=True)
    own = np.bincount(row, gaps[row, truth.indices], len(gaps)) / np.maximum(counts, 1)
    chosen = counts > 0
    return _fit_base(gaps[chosen], own[chosen].astype(np.float32))


def cold_curve(scores: Floats, truth: Annotations) -> Curve:
    """Return the curve of images of which no label is known, from scores that knew none: is a suggestion recorded?"""
    best = np.argpartition(scores, -min(_COLD_TOP, scores.shape[1]), axis=1)[:, -_COLD_TOP:]
    one = np.ones((len(scores), 1), np.float32)
    shares = softmax_shares(np.take_along_axis(scores, best, axis=1), log_totals(scores, 1.0)[:, None], one)
    has = np.zeros(scores.shape, np.bool_)
    has[truth.image_numbers(), truth.indices] = True
    hits = np.take_along_axis(has, best, axis=1)
    return fit_curve(Temperature(1.0, 0.0), shares.ravel(), hits.ravel(), is_one=False)


def held_out_curve(scores: Floats, counts: Counts, masked: Csr, targets: NDArray[np.int64]) -> Curve:
    """Return the curve of images given their scores by ``counts`` labels, and the one label that was held out of each.

    The ``masked`` labels are all others that the image has.
    """
    scores = mask_known(scores, masked)
    temperature = _as_float32(fit_temperature(scores, counts, targets, _ANY_EXPONENTS))
    return fit_curve(temperature, *top_outcomes(scores, counts, targets, temperature))
